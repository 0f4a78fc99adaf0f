"""Brings a file up to `schema.sql`: it gets the missing tables, columns, indexes, triggers and views in one
transaction. The schema is stored too, so that a file from which something has gone is noticed when it is opened.

A change that moves data is a migration: it runs once per file, after new tables and columns and before new indexes and
triggers. In a new file the migrations are only recorded.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import apsw

from agent_cli import clock
from agent_cli.errors import FileRefused, StoreError
from agent_cli.store import meta
from agent_cli.store.db import APPLICATION_ID, Database, Row

Steps = Mapping[str, Callable[[Database], None]]

STEPS: Steps = {}  # of the formats that were released


def pending_migrations(db: Database, steps: Steps) -> list[str]:
    """The names of the steps that have not run in this file, in order."""
    done = set(db.column("select name from migration"))
    return [name for name in steps if name not in done]


VERSION = 7  # raised with each change of schema.sql after which older programs must not write
SCHEMA = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")
TABLES = tuple(re.findall(r"^create table (\w+)", SCHEMA, re.MULTILINE))
_DAMAGED = "the schema in it is damaged"
_RECREATED = ("index", "trigger", "view")  # without data of their own: a changed one is dropped and created again


def check(db: Database) -> None:
    """Raise FileRefused when the file belongs to a newer version or to another program. Writes nothing."""
    version, application, used = db.rows(  # in one statement: another process may be creating the file
        """select user_version, application_id, exists (select 1 from sqlite_schema)
           from pragma_user_version, pragma_application_id"""
    )[0]
    if application not in (0, APPLICATION_ID) or (application == 0 and used):
        raise FileRefused(f"{db.path}: this database belongs to another program; name another file with --db")
    if version > VERSION:
        raise FileRefused(
            f"{db.path}: a newer agent wrote this file (format {version}, this program knows {VERSION}); "
            "update agent-cli, or name another file with --db"
        )


def reconcile(db: Database, now: datetime, schema: str = SCHEMA, steps: Steps = STEPS) -> list[str]:
    """Create what is missing and run the migrations in one transaction; returns what had gone. Raises StoreError."""
    if is_current(db, schema, steps):
        return []
    wanted = Database()
    wanted.execute(schema)
    with db.write():
        if damaged_tables(db):
            raise StoreError(f"{db.path}: {_DAMAGED}; `agent db check` says what to do")
        missing = differences(db, wanted) if _was_current(db, schema) else []
        fresh = not _names(db)
        db.execute(f"pragma application_id = {APPLICATION_ID}")
        _create(db, wanted, ("table",))
        _create_columns(db, wanted)
        _create(db, wanted, ("trigger", "view"))  # those of the old schema may not fit the new columns
        for name in pending_migrations(db, steps):
            if not fresh:
                steps[name](db)
            db.execute("insert into migration values (?, ?)", (name, clock.utc(now)))
        _create(db, wanted, _RECREATED)
        meta.put(db, "schema", schema)
        meta.put(db, "shape", db.value(_SHAPE, (_names_in(schema),)))
        db.execute(f"pragma user_version = {VERSION}")
    wanted.close()
    return missing


def is_current(db: Database, schema: str = SCHEMA, steps: Steps = STEPS) -> bool:
    """Whether the file has this schema and all migrations. Writes nothing."""
    if not _was_current(db, schema):
        return False
    same = db.value(f"select value is ({_SHAPE}) from meta where key = 'shape'", (_names_in(schema),))
    return bool(same) and not pending_migrations(db, steps)


def _was_current(db: Database, schema: str) -> bool:
    """Whether the file had this schema when it was last reconciled. Compared in SQL: the text may be damaged."""
    has_meta = db.value("select 1 from sqlite_schema where name = 'meta' and type = 'table'")
    return bool(has_meta and db.value("select value is ? from meta where key = 'schema'", (schema,)))


def damaged_tables(db: Database) -> list[str]:
    """The tables that have lost a column since the file had all: the values of the others may be in the wrong place."""
    if not _was_current(db, SCHEMA):
        return []
    return [each[11:].partition(".")[0] for each in differences(db) if each.startswith("the column ")]


def differences(db: Database, wanted: Database | None = None) -> list[str]:
    """What the file lacks of the schema, as in "the column note.title"."""
    if wanted is None:
        wanted = Database()
        wanted.execute(SCHEMA)
    existing, found = _names(db), []
    for (kind, name), sql in _names(wanted).items():
        if (kind, name) not in existing or (kind in _RECREATED and existing[kind, name] != sql):
            found.append(f"the {kind} {name}")
        elif kind == "table":
            found += [f"the column {name}.{column}" for _, column, *_ in _missing_columns(db, wanted, name)]
    return found


def _missing_columns(db: Database, wanted: Database, table: str) -> list[Row]:
    """The rows of `pragma table_xinfo`."""
    existing = {row[1] for row in db.rows(f'pragma table_xinfo("{table}")')}
    return [row for row in wanted.rows(f'pragma table_xinfo("{table}")') if row[1] not in existing]


_SHAPE = """select group_concat(sql, char(10) order by name) from sqlite_schema
    where name in (select value from json_each(?))"""


def _names_in(schema: str) -> list[str]:
    return re.findall(r"^create (?:unique )?(?:table|index|view|trigger) (\w+)", schema, re.MULTILINE)


def _names(db: Database) -> dict[tuple[str, str], str]:
    """The SQL of everything in the schema, by (type, name)."""
    rows = db.rows(
        "select type, name, sql from sqlite_schema where sql is not null and name not like 'sqlite~_%' escape '~'"
    )
    return {(kind, name): sql for kind, name, sql in rows}


def _create_columns(db: Database, wanted: Database) -> None:
    for kind, table in _names(wanted):
        if kind != "table":
            continue
        targets = {row[3]: row for row in wanted.rows(f'pragma foreign_key_list("{table}")')}
        for _, column, type_, needed, default, key, *_ in _missing_columns(db, wanted, table):
            if key or (needed and default is None and db.value(f'select 1 from "{table}" limit 1')):
                raise StoreError(
                    f"{db.path}: the column {table}.{column} is missing and cannot be made again; "
                    "`agent db check` says what to do"
                )
            sql = f'alter table "{table}" add column "{column}" {type_}'
            sql += f" not null default {default}" if needed else f" default {default}" if default is not None else ""
            if column in targets:
                sql += f' references "{targets[column][2]}" ("{targets[column][4]}")'
            _make(db, sql)


def _create(db: Database, wanted: Database, kinds: Sequence[str]) -> None:
    """Create what is missing of these kinds, and anew what has changed, except for tables."""
    existing = _names(db)
    for (kind, name), sql in _names(wanted).items():
        former = existing.get((kind, name))
        if kind not in kinds or former == sql or (former and kind == "table"):
            continue
        if former:
            _make(db, f'drop {kind} "{name}"')
        _make(db, sql)


def _make(db: Database, sql: str) -> None:
    """Change the schema. Raises StoreError where its damage stands against it: rows that do not fit, a wrong name."""
    try:
        db.execute(sql)
    except apsw.SQLError as error:
        raise StoreError(f"{db.path}: {_DAMAGED} ({error}); `agent db check` says what to do") from error
