"""The history of facts and skills: every change with the row as it was before, so that it can be shown and undone.

Changes made together are one batch, and are undone together. facts.py and skills.py write the rows themselves.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any, Literal, TypeVar

from agent_cli import clock
from agent_cli.store import events, ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

VersionedKind = Literal["fact", "skill"]
Row = TypeVar("Row")


@frozen
class Version:
    """A row as it was before a change. `was`: its columns; empty where the change created it."""

    change: str
    was: Mapping[str, Any]
    actor: str
    undone: bool
    at: str
    utc_offset: int


def record(
    db: Database,
    kind: VersionedKind,
    id: int,
    change: str,
    before: Any,
    time: clock.Clock,
    *,
    actor: str,
    batch: str,
    text: str,
    undone: bool = False,
) -> None:
    """Record a row as it was before a change (None: it is new).

    `text`: its present words, of which the event log keeps a hash. Runs in the caller's transaction.
    """
    now = time()
    was = None if before is None else json.dumps(asdict(before), ensure_ascii=False)
    db.execute(
        f"""insert into {kind}_version ({kind}_id, change, was, batch, actor, undone, at, utc_offset)
            values (?, ?, ?, ?, ?, ?, ?, ?)""",
        (id, change, was, batch, actor, int(undone), clock.utc(now), clock.offset(now)),
    )
    events.append(db, time, f"{kind} {change}", ids.handle(kind, id), actor=actor, content=text)


def history(db: Database, kind: VersionedKind, id: int) -> list[Version]:
    """The versions of a row, the oldest first."""
    rows = db.rows(
        f"select change, was, actor, undone, at, utc_offset from {kind}_version where {kind}_id = ? order by id", (id,)
    )
    return [
        Version(change, json.loads(was) if was else {}, actor, bool(undone), at, offset)
        for change, was, actor, undone, at, offset in rows
    ]


def of_batch(db: Database, kind: VersionedKind, batch: str) -> list[tuple[int, str, str, int]]:
    """What a batch did, the last first: the id of each row, its last change there, the time and its offset from UTC."""
    return db.rows(
        f"""select {kind}_id, change, at, utc_offset from {kind}_version
            where id in (select max(id) from {kind}_version where batch = ? and undone = 0 group by {kind}_id)
            order by id desc""",
        (batch,),
    )


def changed_since(db: Database, kind: VersionedKind, batch: str, actor: str | None = None) -> int | None:
    """The id of a row of this batch that was changed after it, by this actor or by anyone."""
    found = db.value(
        f"""select l.{kind}_id from {kind}_version v join {kind}_version l on l.{kind}_id = v.{kind}_id and l.id > v.id
            where v.batch = ?1 and v.undone = 0 and l.batch <> ?1 and l.undone = 0
              and l.actor = coalesce(?2, l.actor) limit 1""",
        (batch, actor),
    )
    return None if found is None else int(found)


def undo_batch(
    db: Database, kind: VersionedKind, batch: str, now: str, restore: Callable[[int, Mapping[str, Any]], Row]
) -> list[Row]:
    """Undo a batch, the last change first; returns each row as it is then.

    `restore` writes the former columns of a row and records that; a row that the batch created becomes rejected.
    """
    undone = []
    with db.write():
        for version, id, was in db.rows(
            f"select id, {kind}_id, was from {kind}_version where batch = ? and undone = 0 order by id desc", (batch,)
        ):
            undone.append(restore(id, json.loads(was) if was else {"state": "rejected", "decided_at": now}))
            db.execute(f"update {kind}_version set undone = 1 where id = ?", (version,))
    return undone


def clear(db: Database, kind: VersionedKind, column: str, values: Iterable[int], **replacements: str | None) -> None:
    """Where a former row has one of these values in a column, overwrite it, and other columns, with `replacements`.

    Erased words are then neither shown nor restored. Runs in the caller's transaction.
    """
    changed = "".join(f", '$.{name}', ?" for name in replacements)
    db.execute(
        f"""update {kind}_version set was = json_set(was{changed})
            where was ->> '{column}' in (select value from json_each(?))""",
        (*replacements.values(), values),
    )


def drop(db: Database, kind: VersionedKind, versions: Iterable[int]) -> None:
    """Delete versions by their own ids. Runs in the caller's transaction."""
    db.execute(f"delete from {kind}_version where id in (select value from json_each(?))", (versions,))


def erase(db: Database, kind: VersionedKind, found: Iterable[int]) -> None:
    """Delete all versions of these rows. Runs in the caller's transaction."""
    db.execute(f"delete from {kind}_version where {kind}_id in (select value from json_each(?))", (found,))
