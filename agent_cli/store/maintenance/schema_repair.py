"""Makes a file readable whose schema is damaged: a copy in which each table has the columns that this program knows.

SQLite refuses a whole file for one wrong byte in the statement that made a table or an index. The rows are not touched
by that: with the page that a table begins on, and its columns, they can be read.
"""

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from agent_cli.store import schema
from agent_cli.store.db import Database
from agent_cli.store.maintenance import row_check
from agent_cli.values import frozen

_ALIKE = 0.9  # of the bytes of two statements, in their places
_COUNTERS = ("sqlite_sequence", "create table sqlite_sequence (name, seq)")


@frozen
class _Entry:
    """An entry of the schema, as far as it can be read."""

    name: str
    root: int
    sql: str


def readable_copy(damaged: Path, copy: Path) -> None:
    """Copy the file and write its schema anew. Raises StoreError when not even the list of tables can be read."""
    for end in ("", "-wal"):
        with suppress(FileNotFoundError):
            shutil.copyfile(damaged.with_name(damaged.name + end), copy.with_name(copy.name + end))
    wanted = Database()
    wanted.script(schema.SCHEMA)
    db = Database(copy)
    try:
        db.execute("pragma writable_schema = on")  # with it SQLite reads on after an entry that it cannot read
        entries = _entries(db)
        found = [(table, _of_table(wanted, table, entries)) for table in schema.TABLES]
        made = [_statement(wanted, table, entry) for table, entry in found if entry]
        counters = [(*_COUNTERS, each.root) for each in entries if each.name == _COUNTERS[0]]
        with db.write():
            db.execute("delete from sqlite_schema")
            for name, sql, root in [*made, *counters]:
                db.execute("insert into sqlite_schema values ('table', ?1, ?1, ?3, ?2)", (name, sql, root))
    finally:
        db.close()
        wanted.close()


def _entries(db: Database) -> list[_Entry]:
    rows = db.rows("select cast(name as blob), rootpage, cast(sql as blob) from sqlite_schema where rootpage > 1")
    return [
        _Entry(row_check.readable(name or b""), int(root), row_check.readable(sql or b"")) for name, root, sql in rows
    ]


def _of_table(wanted: Database, table: str, entries: Sequence[_Entry]) -> _Entry | None:
    """The entry of a table: by its name, or else by its statement."""
    known = str(wanted.value("select sql from sqlite_schema where name = ?", (table,)))
    named = [each for each in entries if each.name == table and each.sql.lower().startswith("c")]
    return next(iter(named), None) or next((each for each in entries if _is_alike(each.sql, known)), None)


def _is_alike(one: str, other: str) -> bool:
    same = sum(a == b for a, b in zip(one, other, strict=False))
    return same >= _ALIKE * max(len(one), len(other))


def _statement(wanted: Database, table: str, entry: _Entry) -> tuple[str, str, int]:
    """(Name, statement, first page): the columns in the order of the file, without what is checked of them."""
    columns = row_check.columns(wanted, table)
    if len(entry.sql) != len(str(wanted.value("select sql from sqlite_schema where name = ?", (table,)))):
        columns = [column for column in columns if f" {column[0]} " in entry.sql]  # an older file lacks some
        columns.sort(key=lambda column: entry.sql.find(f" {column[0]} "))  # columns that were added later stand last
    key = [f'"{name}"' for name, _, is_key in columns if is_key]
    has_rowid = "without rowid" not in str(wanted.value("select sql from sqlite_schema where name = ?", (table,)))
    typed = [
        f'"{name}" {type_}{" primary key" if is_key and has_rowid and type_ == "INTEGER" else ""}'
        for name, type_, is_key in columns
    ]
    end = "" if has_rowid else f", primary key ({', '.join(key)})"
    return table, f'create table "{table}" ({", ".join(typed)}{end}){"" if has_rowid else " without rowid"}', entry.root
