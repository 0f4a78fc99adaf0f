"""Brings a file up to `schema.sql`.

The schema is declared once, complete. A file is compared with it and gets the missing tables, columns, indexes,
triggers and views in one transaction; a change that moves data is a named step in migrations.py. So there is no chain
of versions, and a partly updated file can always be completed.
"""

from datetime import datetime
from pathlib import Path

from agent_cli.errors import StoreError
from agent_cli.store import meta, migrations
from agent_cli.store.db import Database

APPLICATION_ID = 0x41474E54  # "AGNT" in the file's header identifies this program's files
VERSION = 6  # raised with each change of schema.sql after which older programs must not write

SCHEMA = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")
_RECREATED = ("index", "trigger", "view")  # without data of their own: a changed one is dropped and created again


def check(db: Database) -> None:
    """Raise StoreError when the file belongs to a newer version or to another program. Writes nothing."""
    version, application, used = db.rows(  # in one statement: another process may be creating the file
        """select user_version, application_id, exists (select 1 from sqlite_schema)
           from pragma_user_version, pragma_application_id"""
    )[0]
    if application not in (0, APPLICATION_ID) or (application == 0 and used):
        raise StoreError(f"{db.path}: this database belongs to another program; name another file with --db")
    if version > VERSION:
        raise StoreError(
            f"{db.path}: a newer agent wrote this file (format {version}, this program knows {VERSION}); "
            "update agent-cli, or name another file with --db"
        )


def reconcile(db: Database, now: datetime, schema: str = SCHEMA, steps: migrations.Steps = migrations.STEPS) -> None:
    """Create what is missing and run the pending migrations, all in one transaction."""
    if is_current(db, schema, steps):
        return
    wanted = Database()
    wanted.script(schema)
    with db.write():
        fresh = not _names(db)
        db.execute(f"pragma application_id = {APPLICATION_ID}")
        _create_tables(db, wanted)
        _create_columns(db, wanted)
        migrations.run(db, now, steps, fresh=fresh)
        _create_rest(db, wanted)
        meta.put(db, "schema", schema)
        db.execute(f"pragma user_version = {VERSION}")
    wanted.close()


def is_current(db: Database, schema: str = SCHEMA, steps: migrations.Steps = migrations.STEPS) -> bool:
    """Whether the file has this schema and all migrations. Writes nothing."""
    if not db.value("select 1 from sqlite_schema where name = 'meta'"):
        return False
    return meta.get(db, "schema") == schema and not migrations.pending(db, steps)


def _names(db: Database) -> dict[tuple[str, str], str]:
    """The SQL of everything in the schema, by (type, name)."""
    rows = db.rows(
        "select type, name, sql from sqlite_schema where sql is not null and name not like 'sqlite~_%' escape '~'"
    )
    return {(kind, name): sql for kind, name, sql in rows}


def _create_tables(db: Database, wanted: Database) -> None:
    existing = _names(db)
    for (kind, name), sql in _names(wanted).items():
        if kind == "table" and (kind, name) not in existing:
            db.execute(sql)


def _create_columns(db: Database, wanted: Database) -> None:
    for kind, table in _names(wanted):
        if kind != "table":
            continue
        existing = {row[1] for row in db.rows(f'pragma table_xinfo("{table}")')}
        targets = {row[3]: row for row in wanted.rows(f'pragma foreign_key_list("{table}")')}
        for _, column, type_, needed, default, *_ in wanted.rows(f'pragma table_xinfo("{table}")'):
            if column in existing:
                continue
            sql = f'alter table "{table}" add column "{column}" {type_}'
            sql += f" not null default {default}" if needed else f" default {default}" if default is not None else ""
            if column in targets:
                sql += f' references "{targets[column][2]}" ("{targets[column][4]}")'
            db.execute(sql)


def _create_rest(db: Database, wanted: Database) -> None:
    existing = _names(db)
    for (kind, name), sql in _names(wanted).items():
        if kind not in _RECREATED or existing.get((kind, name)) == sql:
            continue
        if (kind, name) in existing:
            db.execute(f'drop {kind} "{name}"')
        db.execute(sql)
