"""Checks the whole file: its pages, its schema, its indexes, and of its rows what SQLite's own check does not see:
texts that are not UTF-8, times and JSON that cannot be read."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial

import apsw

from agent_cli import kinds, text
from agent_cli.errors import StoreBusy, StoreError
from agent_cli.store import events, ids, schema
from agent_cli.store.db import Database, IndexDamaged
from agent_cli.values import frozen

_MAX_PROBLEMS = 5  # of each kind
DERIVED = ("passage", "speaker", "area", "day", "stale", "fact_mark", "entity", "alias", "relation")
_INDEX_TABLES = ("words_", "trigrams_", "bits_", "vectors_")  # their names begin so
_JSON = {"message": "parts", "tool_call": "arguments", "fact_version": "was", "skill_version": "was"}
_JSON |= {"prompt": "pasted", "recollection": "legs"}

Problem = tuple[str, bool]
"""What is wrong, and whether that is derived data."""


@frozen
class CheckResult:
    canonical: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()


def check(db: Database) -> CheckResult:
    """Check everything; what cannot even be checked is a problem too. Raises StoreBusy."""
    canonical: list[str] = []
    derived: list[str] = []
    parts: dict[str, Callable[[Database], Iterator[Problem]]] = {"integrity": _integrity, "schema": _schema}
    parts |= {"foreign keys": _foreign_keys, "rows": _rows, "events": _events}
    if not db.read_only:
        with suppress(StoreError):  # told already
            indexes = db.column("select name from sqlite_schema where sql like '%using fts5%'")
            parts |= {f"index {name}": partial(_word_index, name) for name in indexes}
    for name, problems in parts.items():
        try:
            for problem, of_derived in problems(db):
                (derived if of_derived else canonical).append(text.one_line(problem, 200))
        except StoreBusy:
            raise
        except StoreError as error:
            canonical.append(f"the {name} cannot be checked: {error.__cause__ or error}")
    return CheckResult(tuple(canonical), tuple(derived))


def damaged_pages(db: Database) -> list[str]:
    """What SQLite finds damaged of canonical data."""
    return [problem for problem, is_derived in _integrity(db) if not is_derived]


def _integrity(db: Database) -> Iterator[Problem]:
    objects = db.rows("select name, tbl_name, rootpage from sqlite_schema")
    owners: dict[str, str] = {name: table for name, table, _ in objects}
    roots: dict[str, str] = {str(page): name for name, _, page in objects if page}
    try:
        found = db.column(f"pragma integrity_check({_MAX_PROBLEMS})")
    except apsw.SQLError as error:  # of an index whose declaration cannot be read
        raise StoreError(f"{db.path}: the database is damaged") from error
    for row in found:
        if row == "ok":
            continue
        tree = re.match(r"Tree (\d+) ", row)
        named = [roots.get(tree[1], "")] if tree else re.findall(r"\w+", row)
        tables = {owners[name] for name in named if name in owners}
        yield f"{'/'.join(named)}: {row}" if tree else row, bool(tables) and all(map(is_derived, tables))


def _schema(db: Database) -> Iterator[Problem]:
    for each in schema.differences(db):
        yield f"{each} is missing or was changed", is_derived(each.split()[-1].partition(".")[0])


def _foreign_keys(db: Database) -> Iterator[Problem]:
    for table, row, parent, _ in db.rows("pragma foreign_key_check")[:_MAX_PROBLEMS]:
        yield f"{table} {row} refers to a {parent} that does not exist", is_derived(table)


def _rows(db: Database) -> Iterator[Problem]:
    """The rows with a text that is damaged, and the tables that cannot be read to their end."""
    for table in tables(db):
        try:
            for problem in _damaged_texts(db, table):
                yield problem, is_derived(table)
        except StoreError as error:
            yield f"{table}: cannot be read to its end ({error.__cause__ or error})", is_derived(table)


def _damaged_texts(db: Database, table: str) -> Iterator[str]:
    found = columns(db, table)
    key = [name for name, _, is_key in found if is_key]
    texts = [name for name, type_, _ in found if type_ == "TEXT"]
    for row in db.each(f'select {", ".join(map(text_as_bytes, [*key, *texts]))} from "{table}"') if texts else ():
        for column, value in zip(texts, row[len(key) :], strict=True):
            if isinstance(value, bytes) and (why := fault(table, column, value)):
                yield f"{_row_name(table, row[: len(key)])}: {why}"


def _row_name(table: str, key: Sequence[object]) -> str:
    """A row as a person types it, or its table and key."""
    if table in kinds.BY_NAME and len(key) == 1 and isinstance(key[0], int):
        return ids.handle(table, key[0])
    words = [each.decode("utf-8", "replace") if isinstance(each, bytes) else str(each) for each in key]
    return " ".join([table, *words])


def _events(db: Database) -> Iterator[Problem]:
    if broken := events.broken_link(db):
        yield f"{broken}: an event was changed, removed or added here: the chain of the log is broken", False


def _word_index(name: str, db: Database) -> Iterator[Problem]:
    try:
        with db.index_access(), db.write():
            db.execute(f"insert into {name} ({name}, rank) values ('integrity-check', 1)")
    except IndexDamaged:
        yield f"the index {name} does not fit its texts", True


def is_derived(table: str) -> bool:
    return table in DERIVED or table.startswith(_INDEX_TABLES)


def tables(db: Database) -> list[str]:
    """The tables of the schema that are there."""
    there = set(db.column("select name from sqlite_schema where type = 'table'"))
    return [name for name in schema.TABLES if name in there]


def columns(db: Database, table: str) -> list[tuple[str, str, bool]]:
    """(Name, type, whether it belongs to the key) of each column."""
    return [(row[1], row[2], bool(row[5])) for row in db.rows(f'pragma table_info("{table}")')]


def text_as_bytes(column: str) -> str:
    """A column in SQL, its texts as bytes: they may be none."""
    return f'iif(typeof("{column}") = \'text\', cast("{column}" as blob), "{column}")'


def fault(table: str, column: str, value: bytes) -> str:
    """What is wrong with a text; empty when nothing is."""
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"byte {error.start + 1} of its {column} is not text"
    is_time = text and (column == "at" or column.endswith("_at"))
    try:
        if column == _JSON.get(table):
            json.loads(text)
        elif is_time:
            datetime.fromisoformat(text)
    except ValueError:
        return f"its time ({column}) cannot be read: {text[:40]!r}" if is_time else f"its {column} cannot be read"
    return ""
