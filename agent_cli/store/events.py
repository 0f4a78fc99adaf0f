"""The audit log: what was ruled, written, decided. Ids, kinds and hashes, never text: forgetting can be complete."""

from typing import Any

from agent_cli import clock
from agent_cli.store import ids, keyed
from agent_cli.store.db import Database


def append(
    db: Database, time: clock.Clock, kind: str, subject: str, *, actor: str, session: int | None = None, of: str = ""
) -> None:
    """Record that something of this kind happened to a subject (a handle or a tool's name).

    `of` is hashed under a key of the file, so that equal things can be told to be equal and nothing can be guessed.
    """
    now = time()
    with db.write():
        hash = keyed.digest(db, of) if of else ""
        db.execute(
            """insert into event (uid, kind, actor, session_id, subject, hash, at, utc_offset)
               values (?, ?, ?, ?, ?, ?, ?, ?)""",
            (ids.new(now), kind, actor, session, subject, hash, clock.utc(now), clock.offset(now)),
        )


def recent(db: Database, limit: int = 100) -> list[dict[str, Any]]:
    """The newest events, newest first."""
    rows = db.rows(
        "select id, kind, actor, session_id, subject, hash, at from event order by id desc limit ?", (limit,)
    )
    names = ("id", "kind", "actor", "session", "subject", "hash", "at")
    return [{**dict(zip(names, row, strict=True)), "id": ids.handle("event", row[0])} for row in rows]


def count(db: Database, kind: str) -> int:
    """How often something of this kind happened."""
    return int(db.value("select count(*) from event where kind = ?", (kind,)))
