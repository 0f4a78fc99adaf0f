"""What notes, tasks and schedules have in common: each is a row with a handle, whose changes are in the audit log."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from agent_cli import clock, kinds
from agent_cli.clock import Clock
from agent_cli.errors import UsageError
from agent_cli.memory.lineage import Ids, Owner, Table, Walk, delete
from agent_cli.memory.scope import Scope
from agent_cli.store import events, ids
from agent_cli.store.db import Database, Row

Before = Callable[[Database, Ids], None]


def insert(
    db: Database, kind: str, scope: Scope, now: datetime, what: str, words: str, *, actor: str, **columns: Any
) -> int:
    row = {"uid": ids.new(now), "owner": scope.owner, "place": scope.place, "at": clock.utc(now)}
    row |= {"utc_offset": clock.offset(now)} | columns
    with db.write():
        id = db.insert(kind, row)
        handle, session = ids.handle(kind, id), columns.get("session_id")
        events.append(db, lambda: now, f"{kind} {what}", handle, actor=actor, session=session, content=words)
    return id


def get(db: Database, kind: str, columns: str, id: int, owner: str) -> Row:
    """These columns of a row. Raises UsageError when this owner has no such row."""
    row = db.row(f"select {columns} from {kind} where id = ? and owner = ?", (id, owner))
    if row is None:
        command = kinds.BY_NAME[kind].commands
        raise UsageError(f"there is no {kind} {ids.handle(kind, id)}; `agent {command} list` shows them all")
    return row


def change(
    db: Database, kind: str, id: int, time: Clock, what: str, *, actor: str = "person", words: str = "", **columns: Any
) -> None:
    with db.write():
        db.update(kind, id, columns)
        events.append(db, time, f"{kind} {what}", ids.handle(kind, id), actor=actor, content=words)


def detach(db: Database, kind: str, column: str, erased: Iterable[int]) -> None:
    """Keep rows that refer to erased ones. Runs in the caller's transaction."""
    db.execute(f"update {kind} set {column} = null where {column} in (select value from json_each(?))", (erased,))


def owner(table: Table, refers: Mapping[str, str], before: Before = lambda db, found: None) -> Owner:
    """Erases rows of a table; those that stay lose what refers to erased rows of others (columns by table)."""

    def erase(db: Database, walk: Walk, time: Clock) -> None:
        if found := walk[table.name]:
            before(db, found)
            delete(db, table.name, found)
        for source, column in refers.items():
            detach(db, table.name, column, walk[source])

    return Owner([table], erase)
