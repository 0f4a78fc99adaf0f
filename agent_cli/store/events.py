"""The audit log of permissions, writes and decisions: ids, kinds and hashes, never text, so forgetting is complete."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from agent_cli import clock
from agent_cli.store import ids, keyed_hash
from agent_cli.store.db import Database

_HIGHEST = "\U0010ffff"  # sorts after every letter


def append(
    db: Database,
    time: clock.Clock,
    kind: str,
    subject: str,
    *,
    actor: str,
    session: int | None = None,
    content: str = "",
) -> None:
    """Record that something of this kind happened to a subject (a handle or a tool's name).

    `content` is hashed with the file's key: equal contents can be recognised, and nothing can be guessed.
    """
    now = time()
    with db.write():
        hash = keyed_hash.digest(db, content) if content else ""
        db.execute(
            """insert into event (uid, kind, actor, session_id, subject, hash, at, utc_offset)
               values (?, ?, ?, ?, ?, ?, ?, ?)""",
            (ids.new(now), kind, actor, session, subject, hash, clock.utc(now), clock.offset(now)),
        )


def recent(db: Database, limit: int = 100) -> list[dict[str, Any]]:
    """The newest events, newest first."""
    return listing(db, limit)[::-1]


def listing(
    db: Database, limit: int, kinds: Sequence[str] = (), since: datetime | None = None, after: int | None = None
) -> list[dict[str, Any]]:
    """The newest events, newest last. `kinds`: prefixes of kinds. `after`: the first events after this number instead.

    At most 0.1 s for a million events: they are read by number. An index on the kind would cost each writer more than
    it saves the few readers.
    """
    first = max(after or 0, last_before(db, since) if since else 0)
    conditions = [f"kind >= ?{n} and kind < ?{n} || '{_HIGHEST}'" for n in range(3, 3 + len(kinds))]
    rows = db.rows(
        f"""select id, kind, actor, session_id, subject, hash, at, utc_offset from event
            where id > ?1 and ({" or ".join(conditions) or "true"})
            order by id {"desc" if after is None else "asc"} limit ?2""",
        (first, limit, *kinds),
    )
    names = ("id", "kind", "actor", "session", "subject", "hash", "at", "utc_offset")
    found = [{**dict(zip(names, row, strict=True)), "id": ids.handle("event", row[0])} for row in rows]
    return found[::-1] if after is None else found


def subjects_since(db: Database, moment: datetime, kind: str, session: int) -> list[str]:
    """The subjects of events of a session since this moment, of kinds that begin so."""
    rows = db.rows(
        f"""select subject from event
            where id > ? and session_id = ? and kind >= ?3 and kind < ?3 || '{_HIGHEST}' order by id""",
        (last_before(db, moment), session, kind),
    )
    return [subject for (subject,) in rows]


def kinds(db: Database) -> list[str]:
    """All kinds of which there is an event."""
    return [kind for (kind,) in db.rows("select distinct kind from event order by kind")]


def last_before(db: Database, moment: datetime) -> int:
    """The number before the first event since this moment, found by the indexed identifiers, which sort by time."""
    found = db.value("select id from event where uid >= ? order by uid limit 1", (ids.lowest(moment),))
    return latest_number(db) if found is None else int(found) - 1


def count(db: Database, kind: str) -> int:
    """The number of events of this kind."""
    return int(db.value("select count(*) from event where kind = ?", (kind,)))


def latest_number(db: Database) -> int:
    """The number of the newest event; 0 when there is none."""
    return int(db.value("select max(id) from event") or 0)
