"""Brings a file up to `schema.sql`.

The schema is declared once, complete. A file is compared with it and gets the missing tables, columns, indexes,
triggers and views in one transaction. So there is no chain of versions, and a partly updated file can always be
completed. What the schema is after that is stored too, so that a file from which something has gone is noticed when it
is opened.

A change that moves data is a migration: it has a name, runs once per file, and is recorded in it. It runs inside the
transaction that creates new tables and columns, before indexes and triggers are created, so it sees both the old rows
and the new columns. In a new file the migrations are only recorded.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path

import apsw

from agent_cli import clock
from agent_cli.errors import FileRefused, StoreError
from agent_cli.store import events, jobs, meta
from agent_cli.store.db import Database

Steps = Mapping[str, Callable[[Database], None]]


def queue_indexing(db: Database) -> None:
    """Queue for indexing all rows that were written before there was an index."""
    db.execute(
        """insert or ignore into stale (kind, row) select 'm', id from message
           where finish is not null and role in ('user', 'assistant') and text <> ''"""
    )
    db.execute("insert or ignore into stale (kind, row) select 'n', id from note")
    db.execute("insert or ignore into stale (kind, row) select 'y', id from summary")


def set_fact_trust(db: Database) -> None:
    """Facts older than the column `trust` get the trust of their origin."""
    db.execute("update fact set trust = origin where trust = ''")


def requeue_secrets(db: Database) -> None:
    """Queue rows that may hold a secret, to be indexed without it, and facts, to be indexed with their query words."""
    long = f"*{'[^ ]' * 16}*"
    for kind, table in (("m", "message"), ("n", "note"), ("y", "summary")):
        db.execute(
            f"""insert or ignore into stale (kind, row) select ?1, t.id from {table} t
                where exists (select 1 from passage where kind = ?1 and row = t.id)
                  and (text glob ?2 or text glob '*[0-9][0-9][0-9]*' or text like '%pass%' or text like '%kennwort%'
                       or text like '%pwd%' or text like '%secret%' or text like '%token%' or text like '%key%'
                       or text like '%phrase%')""",
            (kind, long),
        )
    db.execute("insert or ignore into stale (kind, row) select 'f', id from fact where state = 'accepted'")


def queue_days(db: Database) -> None:
    """Queue summaries of the days with messages that are older than such summaries, the latest day first."""
    now = clock.now()
    for (day,) in db.rows(
        """select distinct date(m.at, m.utc_offset || ' minutes') from message m join session s on s.id = m.session_id
           where s.owner = 'person' and s.source is null and m.role in ('user', 'assistant') and m.text <> ''
             and date(m.at) is not null and m.at >= '0002' and m.at < '9999'
           order by 1 desc"""
    ):
        end = datetime.combine(date.fromisoformat(day) + timedelta(days=1), time(), now.tzinfo)
        jobs.add(db, "grain", day, now, end)


def clamp_future_sessions(db: Database) -> None:
    """Give sessions that an import dated in the future the latest time of the sessions before them."""
    db.execute(
        """update session as s set last_at = coalesce((select max(b.last_at) from session b
             where b.id < s.id and b.last_at <= ?1), ?1), closed_at = min(closed_at, ?1) where last_at > ?1""",
        (clock.utc(clock.now()),),
    )


def keep_default_model(db: Database) -> None:
    """The model that answered last was the default; from now on it is remembered by itself."""
    db.execute(
        """insert or ignore into meta
           select 'default model', m.model from message m join session s on s.id = m.session_id
           where m.owner = 'person' and s.source is null and m.model not in ('', 'offline', 'scripted')
           order by m.id desc limit 1"""
    )


def copy_long_messages(db: Database) -> None:
    """Give the passages of long messages a copy of their text, as `passages.cut` does: to cut one takes too long."""
    for (id,) in db.rows(
        """select id from message m where octet_length(text) > 100000
             and exists (select 1 from passage where kind = 'm' and row = m.id)
             and not exists (select 1 from stale where kind = 'm' and row = m.id)"""
    ):
        text = str(db.value("select text from message where id = ?", (id,)))
        pieces = db.rows("select id, start, length from passage where kind = 'm' and row = ? and masked is null", (id,))
        db.execute_many(
            "update passage set text = ? where id = ?",
            [(text[start : start + length], passage) for passage, start, length in pieces],
        )


def join_fact_ends(db: Database) -> None:
    """Facts have one end: what was the date of expiry of an accepted fact or a proposal."""
    if not db.value("select 1 from pragma_table_info('fact') where name = 'expires_at'"):
        return
    db.execute("update fact set valid_to = expires_at where valid_to is null and expires_at is not null")
    db.execute("update fact set state = 'superseded' where state = 'expired' and valid_to = expires_at")
    db.execute(
        """update fact_version set was = json_set(was, '$.valid_to', was ->> 'expires_at')
           where was ->> 'expires_at' is not null and was ->> 'valid_to' is null"""
    )
    db.execute("drop index if exists fact_expires")
    db.execute("alter table fact drop column expires_at")


def chain_events(db: Database) -> None:
    """Append an event whose link holds all that was logged before there were links."""
    if events.latest_number(db):
        events.append(db, clock.now, "log chained", "", actor="program")


def set_terminals(db: Database) -> None:
    """Single questions from before the terminal was kept are continued by `-c` like those that were typed."""
    if not db.value("select 1 from session where terminal is not null"):
        db.execute("update session set terminal = '' where kind = 'ask' and owner = 'person'")


STEPS: Steps = {
    "index all": queue_indexing,
    "trust facts": set_fact_trust,
    "without secrets": requeue_secrets,
    "queue days": queue_days,
    "end future": clamp_future_sessions,
    "default model": keep_default_model,
    "copy long": copy_long_messages,
    "one end": join_fact_ends,
    "chain events": chain_events,
    "typed before": set_terminals,
}


def pending_migrations(db: Database, steps: Steps) -> list[str]:
    """The names of the steps that have not run in this file, in order."""
    done = {name for (name,) in db.rows("select name from migration")}
    return [name for name in steps if name not in done]


def run_migrations(db: Database, now: datetime, steps: Steps, *, fresh: bool) -> None:
    """Run the pending steps; only record them in a `fresh` file. Call it inside a transaction."""
    for name in pending_migrations(db, steps):
        if not fresh:
            steps[name](db)
        db.execute("insert into migration values (?, ?)", (name, clock.utc(now)))


APPLICATION_ID = 0x41474E54  # "AGNT" in the file's header identifies this program's files
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
    """Create what is missing and run the pending migrations, all in one transaction.

    Returns what had gone from a file that had all of it. Raises StoreError when that cannot be made again.
    """
    if is_current(db, schema, steps):
        return []
    wanted = Database()
    wanted.script(schema)
    with db.write():
        if damaged_tables(db):
            raise StoreError(f"{db.path}: {_DAMAGED}; `agent db check` says what to do")
        missing = differences(db, wanted) if _was_current(db, schema) else []
        fresh = not _names(db)
        db.execute(f"pragma application_id = {APPLICATION_ID}")
        _create_tables(db, wanted)
        _create_columns(db, wanted)
        _create_rest(db, wanted, ("trigger", "view"))  # those of the old schema may not fit the new columns
        run_migrations(db, now, steps, fresh=fresh)
        _create_rest(db, wanted, _RECREATED)
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
    return _has_meta(db) and bool(db.value("select value is ? from meta where key = 'schema'", (schema,)))


def _has_meta(db: Database) -> bool:
    return bool(db.value("select 1 from sqlite_schema where name = 'meta' and type = 'table'"))


def damaged_tables(db: Database) -> list[str]:
    """The tables that have lost a column since the file had all.

    Damage has hidden it in a comment, perhaps: the values of the others then stand in the wrong place.
    """
    if not _was_current(db, SCHEMA):
        return []
    return [each[11:].partition(".")[0] for each in differences(db) if each.startswith("the column ")]


def differences(db: Database, wanted: Database | None = None) -> list[str]:
    """What the file lacks of the schema, as in "the column note.title"."""
    if wanted is None:
        wanted = Database()
        wanted.script(SCHEMA)
    existing, found = _names(db), []
    for (kind, name), sql in _names(wanted).items():
        if (kind, name) not in existing or (kind in _RECREATED and existing[kind, name] != sql):
            found.append(f"the {kind} {name}")
        elif kind == "table":
            found += [f"the column {name}.{column}" for column in _missing_columns(db, wanted, name)]
    return found


def _missing_columns(db: Database, wanted: Database, table: str) -> list[str]:
    existing = {row[1] for row in db.rows(f'pragma table_xinfo("{table}")')}
    return [row[1] for row in wanted.rows(f'pragma table_xinfo("{table}")') if row[1] not in existing]


_SHAPE = """select group_concat(sql, char(10) order by name) from sqlite_schema
    where name in (select value from json_each(?))"""


def _names_in(schema: str) -> list[str]:
    """The names of all that a schema creates."""
    return re.findall(r"^create (?:unique )?(?:table|index|view|trigger) (\w+)", schema, re.MULTILINE)


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
            _make(db, sql)


def _create_columns(db: Database, wanted: Database) -> None:
    for kind, table in _names(wanted):
        if kind != "table":
            continue
        missing = _missing_columns(db, wanted, table)
        targets = {row[3]: row for row in wanted.rows(f'pragma foreign_key_list("{table}")')}
        for _, column, type_, needed, default, key, *_ in wanted.rows(f'pragma table_xinfo("{table}")'):
            if column not in missing:
                continue
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


def _create_rest(db: Database, wanted: Database, kinds: Sequence[str]) -> None:
    existing = _names(db)
    for (kind, name), sql in _names(wanted).items():
        if kind not in kinds or existing.get((kind, name)) == sql:
            continue
        if (kind, name) in existing:
            _make(db, f'drop {kind} "{name}"')
        _make(db, sql)


def _make(db: Database, sql: str) -> None:
    """Change the schema. Raises StoreError where its damage stands against it: rows that do not fit, a wrong name."""
    try:
        db.execute(sql)
    except apsw.SQLError as error:
        raise StoreError(f"{db.path}: {_DAMAGED} ({error}); `agent db check` says what to do") from error
