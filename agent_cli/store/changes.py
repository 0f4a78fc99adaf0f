"""What has changed here since the last exchange with the person's other machines.

Triggers note each row that is new, changed or gone; they exist only while `agent sync` is used, so nobody else pays for
them. A changed column gets a stamp: the time in milliseconds, or one more than the highest stamp seen, so that a change
made after another always has the higher stamp, whatever the clocks say. A column that never changed has stamp 0.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from agent_cli.store import ids, schema
from agent_cli.store.db import Database, Row
from agent_cli.values import frozen

TABLES = ("session", "message", "tool_call", "note", "fact", "skill", "summary", "task")  # referring ones later
SOURCES = ("message", "session", "summary", "fact")  # of what a summary may be made
FORGOTTEN = "forgotten"  # kind of a hash of erased text
_LOCAL = {  # columns that only this machine uses, and others that no segment has
    "session": "opened_at holder terminal opening profile read_to reflected_to unlearned_to",
}
_SOFT = {"message": "undone_by", "fact": "target_id", "skill": "target_id"}  # references to rows that may come later
_SENT = {
    "tool_call": "(select owner from message where id = {0}.message_id) = 'person'",
    "message": "{0}.owner = 'person' and {0}.finish is not null",  # a reply that streams is sent when it is finished
}
_STAMPED = "(select clock from sync_state)"


@frozen
class Table:
    """A table whose rows go to other machines. `refs`: the tables that columns refer to; `parents`: such columns
    without which a row is nothing."""

    name: str
    columns: tuple[str, ...]
    texts: frozenset[str]  # columns that hold text; the others hold numbers
    refs: Mapping[str, str]
    required: frozenset[str]  # that are never null
    parents: frozenset[str]
    soft: str  # a reference to a row of the same table that may come later


NEVER = (0, False)
Data = dict[str, Any]
"""A row as it is sent: columns, with uids in place of ids; stamps, {column: [stamp, base]}; sources."""


@cache
def tables() -> dict[str, Table]:
    db = Database()
    db.execute(schema.SCHEMA)
    return {name: _table(db, name) for name in TABLES}


def _table(db: Database, name: str) -> Table:
    local = {"id", "uid", *_LOCAL.get(name, "").split()}
    query = 'select name, type, "notnull" and dflt_value is null from pragma_table_info(?)'
    found = [row for row in db.rows(query, (name,)) if row[0] not in local]
    soft = {_SOFT[name]: name} if name in _SOFT else {}
    refs = dict(db.rows('select "from", "table" from pragma_foreign_key_list(?)', (name,))) | soft
    required = frozenset(column for column, _, is_required in found if is_required)
    parents = {*refs} & (required | ({"session_id"} if name in ("fact", "summary") else set()))
    texts = frozenset(column for column, type_, _ in found if type_ == "TEXT" or column in refs)
    columns = tuple(column for column, _, _ in found)
    return Table(name, columns, texts, refs, required, frozenset(parents), _SOFT.get(name, ""))


# Turning it on and off.


def is_on(db: Database) -> bool:
    return bool(db.value("select 1 from sync_state"))


def turn_on(db: Database) -> None:
    """See to it that changes are noted; where they were not until now, every row is to be sent."""
    wanted, existing = _triggers(), _existing(db)
    if is_on(db) and wanted == existing:
        return
    with db.write():
        db.execute("insert into sync_state (id, clock) values (1, 0) on conflict (id) do nothing")
        for name in existing:
            db.execute(f"drop trigger {name}")
        for sql in wanted.values():
            db.execute(sql)
        if wanted.keys() - existing.keys():
            send_all(db)


def turn_off(db: Database) -> None:
    """Note nothing any more, and forget what was noted."""
    with db.write():
        for name in _existing(db):
            db.execute(f"drop trigger {name}")
        for table in ("unsent", "change", "deleted", "alias", "position", "waiting", "unsettled", "state"):
            db.execute(f"delete from sync_{table}")


def _existing(db: Database) -> dict[str, str]:
    """The SQL of the triggers in the file, by name."""
    query = "select name, sql from sqlite_schema where type = 'trigger' and name like 'sync~_%' escape '~'"
    return dict(db.rows(query))


def send_all(db: Database) -> None:
    """Note every row as one to be sent, after all that is gone. Runs in the caller's transaction."""
    db.execute("delete from sync_unsent")
    db.execute(f"insert into sync_unsent (kind, uid) select '{FORGOTTEN}', hash from forgotten")  # before what knows it
    db.execute("insert into sync_unsent (kind, uid) select kind, uid from sync_deleted where everywhere")
    for name in TABLES:
        rows = f"select '{name}', uid from {name} where {_is_sent(name, name)} order by id"
        db.execute(f"insert into sync_unsent (kind, uid) {rows}")


def _is_sent(table: str, row: str) -> str:
    """The condition that a row is the person's, and complete."""
    return _SENT.get(table, "{0}.owner = 'person'").format(row)


@cache
def _triggers() -> dict[str, str]:
    made = {}
    unsent = "insert into sync_unsent (kind, uid) {} on conflict (kind, uid) do nothing"

    def add(name: str, when: str, on: str, conditions: Iterable[str], *steps: str) -> None:
        where = " and ".join(["(select applying from sync_state) = 0", *conditions])
        made[f"sync_{name}"] = (
            f"CREATE TRIGGER sync_{name} after {when} on {on} when {where} begin {'; '.join(steps)}; end"
        )

    for table in tables().values():
        name, columns = table.name, ", ".join(table.columns)
        is_sent, was_sent = (_is_sent(name, row) for row in ("new", "old"))
        new = unsent.format(f"values ('{name}', new.uid)")
        add(f"{name}_new", "insert", name, [is_sent], new)
        if name == "message":
            add("message_whole", "update of finish", name, [is_sent, "old.finish is null"], new)
        differs = " or ".join(f"new.{each} is not old.{each}" for each in table.columns)
        changed = ", ".join(f"('{each}', new.{each} is not old.{each})" for each in table.columns)
        waits = f"exists (select 1 from sync_unsent where kind = '{name}' and uid = new.uid)"
        add(
            f"{name}_changed",
            f"update of {columns}",
            name,
            [was_sent, f"({differs})"],
            "update sync_state set clock = max(clock + 1, cast(unixepoch('subsec') * 1000 as integer))",
            f"""insert into sync_change select new.uid, c.column1, {_STAMPED}, 0, 1 from (values {changed}) c
                where c.column2 on conflict (uid, name) do update set base = iif(local and {waits}, base, stamp),
                stamp = excluded.stamp, local = 1""",
            new,
        )
        everywhere = "(select not removing from sync_state)"
        add(
            f"{name}_deleted",
            "delete",
            name,
            [was_sent],
            f"insert into sync_deleted values (old.uid, '{name}', {everywhere}) on conflict (uid) do nothing",
            "delete from sync_change where uid = old.uid",
            f"delete from sync_unsent where kind = '{name}' and uid = old.uid",
            unsent.format(f"select '{name}', old.uid where {everywhere}"),
        )
    of_fact = "select 'fact', uid from fact where id = new.fact_id and owner = 'person'"
    add("source_new", "insert", "fact_source", [], unsent.format(of_fact))
    for when in ("insert", "update"):
        add(f"forgotten_{when}", when, FORGOTTEN, [], unsent.format(f"values ('{FORGOTTEN}', new.hash)"))
    return made


@contextmanager
def during(db: Database, flag: str) -> Iterator[None]:
    """What is done within, in the caller's transaction, is not noted: what is written comes from another machine
    ("applying"), or what is deleted stays on the others ("removing")."""
    db.execute(f"update sync_state set {flag} = 1")
    yield
    db.execute(f"update sync_state set {flag} = 0")


# What is to be sent.


def unsent(db: Database, limit: int) -> list[Row]:
    """(id, kind, uid), the oldest first."""
    return db.rows("select id, kind, uid from sync_unsent order by id limit ?", (limit,))


def count_unsent(db: Database) -> int:
    return int(db.value("select count(*) from sync_unsent"))


def sent(db: Database, up_to: int) -> None:
    db.execute("delete from sync_unsent where id <= ?", (up_to,))


def outdated(db: Database) -> set[str]:
    """The rows of which no segment of this machine may hold anything: they are gone, or sent anew."""
    query = """with row as (select uid from sync_deleted where everywhere
                            union select uid from sync_unsent where kind <> ?)
               select uid from row union select a.uid from sync_alias a join row on row.uid = a.canonical"""
    return set(db.column(query, (FORGOTTEN,)))


def read(db: Database, table: Table, uids: Iterable[str]) -> dict[str, Data]:
    """The rows with these uids as they are sent. A row that is gone is missing."""
    wanted = list(uids)
    columns = [
        f"(select uid from {table.refs[each]} where id = t.{each})" if each in table.refs else f"t.{each}"
        for each in table.columns
    ]
    query = f"select t.uid, {', '.join(columns)} from json_each(?) c cross join {table.name} t on t.uid = c.value"
    found: dict[str, Data] = {
        uid: {"columns": dict(zip(table.columns, values, strict=True)), "stamps": {}}
        for uid, *values in db.rows(query, (wanted,))
    }
    stamps = "select uid, name, stamp, base from sync_change where uid in (select value from json_each(?))"
    for uid, name, stamp, base in db.rows(stamps, (wanted,)):
        if uid in found:
            found[uid]["stamps"][name] = [stamp, base]
    for uid, source in _sources(db, table.name, wanted):
        found[uid].setdefault("sources", []).append(source)
    return found


_ROW = "case s.kind {} end".format(
    " ".join(f"when '{kind}' then (select uid from {kind} where id = s.row)" for kind in SOURCES)
)


def _sources(db: Database, table: str, uids: Sequence[str]) -> list[tuple[str, list[Any]]]:
    """(uid of a fact, [uid of a message, quote, at]) or (uid of a summary, [kind, uid, sentence])."""
    queries = {
        "fact": """select f.uid, m.uid, s.quote, s.at from json_each(?) c cross join fact f on f.uid = c.value
                   join fact_source s on s.fact_id = f.id join message m on m.id = s.message_id""",
        "summary": f"""select y.uid, s.kind, {_ROW}, s.sentence from json_each(?) c
                       cross join summary y on y.uid = c.value join summary_source s on s.summary_id = y.id""",
    }
    rows = db.rows(queries[table], (uids,)) if table in queries else []
    return [(uid, source) for uid, *source in rows if table == "fact" or source[1]]


# What is known of rows.


def find(db: Database, kind: str, uid: str) -> tuple[str, int | None, bool | None]:
    """Of a row, the uid by which it is known, its id, and whether it was deleted everywhere; None: it is not here, or
    it was not deleted."""
    query = f"""select uid, (select id from {kind} where uid = k.uid),
                       (select everywhere from sync_deleted where uid = k.uid)
                from (select coalesce((select canonical from sync_alias where uid = ?1), ?1) as uid) k"""
    (row,) = db.rows(query, (uid,))
    return row


def mark_deleted(db: Database, kind: str, uid: str, *, everywhere: bool = True, sent: bool = False) -> None:
    """Note that a row is gone; `sent`: other machines are told of it too."""
    query = """insert into sync_deleted values (?, ?, ?) on conflict (uid) do update
                  set everywhere = max(everywhere, excluded.everywhere)"""
    db.execute(query, (uid, kind, int(everywhere)))
    if sent:
        send(db, kind, uid)


def remaining(db: Database, kind: str) -> list[int]:
    """The rows that are deleted on another machine and not yet here."""
    query = f"""select distinct t.id from sync_waiting w join {kind} t on t.uid = w.uid
                where w.kind = ? and w.data = '{{}}' order by 1"""
    return db.column(query, (kind,))


def aliases(db: Database, uid: str) -> list[str]:
    return db.column("select uid from sync_alias where canonical = ?", (uid,))


def merge(db: Database, kind: str, uid: str, other: str) -> str:
    """Record that two rows are the same; the later uid names it from now on, and is returned."""
    former, later = sorted((uid, other))
    db.execute("update sync_alias set canonical = ? where canonical = ?", (later, former))
    db.execute("insert or replace into sync_alias values (?, ?)", (former, later))
    if later != uid:
        db.execute(f"update {kind} set uid = ? where uid = ?", (later, uid))
        db.execute("update or replace sync_change set uid = ? where uid = ?", (later, uid))
        db.execute("update or replace sync_unsent set uid = ? where uid = ? and kind = ?", (later, uid, kind))
    return later


def rename(db: Database, kind: str, id: int) -> None:
    """Let a row go on as a new one, on every machine with the same uid; what refers to it is sent again. Runs in the
    caller's transaction."""
    if not is_on(db):
        return
    former = str(db.value(f"select uid from {kind} where id = ?", (id,)))
    uid = _next_uid(db, kind, former)
    db.execute(f"update {kind} set uid = ? where id = ?", (uid, id))
    mark_deleted(db, kind, former, sent=True)
    send(db, kind, uid)
    for name, table in tables().items():
        for column in (each for each, target in table.refs.items() if target == kind):
            for referring in db.column(f"select uid from {name} where {column} = ? order by id", (id,)):
                send(db, name, referring)


def renamed(db: Database, kind: str, uid: str) -> int | None:
    """The row that is deleted on another machine, and has gone on there as this one."""
    query = f"select t.id, t.uid from sync_deleted g cross join {kind} t on t.uid = g.uid where g.kind = ?"
    return next((id for id, former in db.rows(query, (kind,)) if _next_uid(db, kind, former) == uid), None)


def _next_uid(db: Database, kind: str, uid: str) -> str:
    """Another uid, which sorts where this one does; of no row that is here, or was deleted."""
    import hashlib  # rarely needed

    digest = int.from_bytes(hashlib.sha256(uid.encode()).digest()[:10])
    uid = uid[:10] + ids.letters(digest)[10:]
    return uid if find(db, kind, uid)[1:] == (None, None) else _next_uid(db, kind, uid)


def send(db: Database, kind: str, uid: str) -> None:
    """Note a row as one to be sent. Runs in the caller's transaction."""
    db.execute("insert or ignore into sync_unsent (kind, uid) values (?, ?)", (kind, uid))


def changes_of(db: Database, uid: str) -> dict[str, tuple[int, bool]]:
    """The stamp of each column that has changed, and whether it was changed here."""
    rows = db.rows("select name, stamp, local from sync_change where uid = ?", (uid,))
    return {name: (stamp, bool(local)) for name, stamp, local in rows}


def insist(db: Database, kind: str, uid: str, name: str, stamp: int) -> None:
    """Note that a column is to be as it is here, though another machine has changed it with this stamp."""
    db.execute("update sync_state set clock = clock + 1")
    db.execute(f"insert or replace into sync_change values (?, ?, {_STAMPED}, ?, 1)", (uid, name, stamp))
    send(db, kind, uid)


def set_stamps(db: Database, uid: str, stamps: Mapping[str, Sequence[int]]) -> None:
    """Set the stamps of columns that another machine has changed."""
    query = """insert into sync_change values (?, ?, ?, ?, 0) on conflict (uid, name) do update
                  set stamp = excluded.stamp, base = excluded.base, local = 0"""
    db.execute_many(query, [(uid, name, stamp, base) for name, (stamp, base) in stamps.items()])


def pass_stamps(db: Database, stamps: Iterable[Sequence[int]]) -> None:
    """See to it that what changes here from now on has higher stamps than these."""
    latest = max((stamp for stamp, _ in stamps), default=0)
    db.execute("update sync_state set clock = max(clock, ?)", (latest,))


# Where the exchange stands.


def position(db: Database, machine: str) -> int:
    return int(db.value("select number from sync_position where machine = ?", (machine,)) or 0)


def set_position(db: Database, machine: str, number: int) -> None:
    query = "insert into sync_position values (?, ?) on conflict (machine) do update set number = excluded.number"
    db.execute(query, (machine, number))


def drop_positions(db: Database, present: Sequence[str]) -> int:
    """Begin anew with all machines but these, should they return; how many there were."""
    query = "delete from sync_position where machine not in (select value from json_each(?))"
    return db.execute(query, (present,))


def wait(db: Database, kind: str, uid: str, data: Data) -> None:
    text = json.dumps(data, ensure_ascii=False)
    db.execute("insert into sync_waiting (kind, uid, data) values (?, ?, ?)", (kind, uid, text))


def waiting(db: Database) -> list[tuple[int, str, str, Data]]:
    rows = db.rows("select id, kind, uid, data from sync_waiting order by id")
    return [(id, kind, uid, json.loads(data)) for id, kind, uid, data in rows]


def count_waiting(db: Database) -> int:
    return int(db.value("select count(*) from sync_waiting"))


def mark_unsettled(db: Database, kind: str, id: int) -> None:
    """Note that a row of another machine was taken, and nothing done yet that follows from it."""
    db.execute("insert or ignore into sync_unsettled values (?, ?)", (kind, id))


def settle(db: Database, kind: str) -> list[int]:
    """The rows that were noted so and are still there; they no longer are."""
    query = f"select id from sync_unsettled u join {kind} t on t.id = u.row where u.kind = ? order by id"
    found = db.column(query, (kind,))
    db.execute("delete from sync_unsettled where kind = ?", (kind,))
    return found
