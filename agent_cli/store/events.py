"""The audit log of every action: ids, kinds and hashes, never text, so forgetting is complete.

Each event holds a hash of itself and of the hash before it, so that an event is found that was changed, taken out or
put in by other means (`broken_link`). What was salvaged from a damaged file has no links of its own.
"""

import json
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from agent_cli import clock
from agent_cli.messages import Origin
from agent_cli.store import holder, ids, keyed_hash
from agent_cli.store.db import Database

_CHAINED = "uid, kind, actor, session_id, subject, hash, at, utc_offset, terminal, process, parent"


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
    """Record that something happened to a subject (a handle or a tool's name); of the content a keyed hash is kept."""
    now, actor = time(), db.person if actor == "person" else actor
    with db.write():
        hash = keyed_hash.digest(db, content) if content else ""
        place = (holder.terminal_name(os.getpid()), os.getpid(), os.getppid())
        row = (ids.new(now), kind, actor, session, subject, hash, clock.utc(now), clock.offset(now), *place)
        columns = dict(zip(_CHAINED.split(", "), row, strict=True))
        db.insert("event", {**columns, "link": _link(_last_link(db), row)})


def actor_of(origin: Origin) -> str:
    """Who writes what has this origin: the person also pastes, pipes and names files."""
    return "person" if origin in ("typed", "pasted", "piped", "file") else origin


def broken_link(db: Database) -> str:
    """The first event that does not follow from those before it, or the last one when later ones are gone; or empty."""
    link, is_chained, last = "", False, 0
    for last, stored, *row in db.each(f"select id, link, {_CHAINED} from event order by id"):
        link = _link(link, row)
        is_chained = is_chained or bool(stored)
        if is_chained and stored != link:
            return ids.handle("event", last)
    count = db.value("select seq from sqlite_sequence where name = 'event'") or 0
    return ids.handle("event", last) if last != count or (last and not is_chained) else ""


def _last_link(db: Database) -> str:
    """The link of the newest event; where it has none, that of all events until now."""
    found = db.row("select link from event order by id desc limit 1")
    if found is None or found[0]:
        return str(found[0]) if found else ""
    link = ""
    for row in db.each(f"select {_CHAINED} from event order by id"):
        link = _link(link, row)
    return link


def _link(before: str, row: Sequence[object]) -> str:
    import hashlib  # not every command writes an event

    return hashlib.blake2b(json.dumps([before, *row]).encode(), digest_size=32).hexdigest()


def format_line(row: Mapping[str, Any]) -> str:
    when = clock.local(row["at"], row["utc_offset"])
    session = ids.handle("session", row["session"]) if row["session"] else ""
    return (
        f"{row['id']:<7}  {when:%Y-%m-%d %H:%M:%S}  {row['kind']:<21} {row['subject']:<14} {session:<6} {row['actor']}"
    )


def listing(db: Database, limit: int, kinds: Sequence[str] = (), since: datetime | None = None) -> list[dict[str, Any]]:
    """The newest events, newest last. `kinds`: prefixes of kinds. They are read by number: an index on the kind would
    cost each writer more than it saves the few readers."""
    conditions = [f"instr(kind, ?{n}) = 1" for n in range(3, 3 + len(kinds))]
    query = f"""select id, kind, actor, session_id as session, subject, hash, at, utc_offset, terminal, process, parent
                from event where id > ?1 and ({" or ".join(conditions) or "true"}) order by id desc limit ?2"""
    rows = db.records(query, (last_before(db, since) if since else 0, limit, *kinds))
    return [row | {"id": ids.handle("event", row["id"])} for row in reversed(rows)]


def subjects_since(db: Database, moment: datetime, kind: str, session: int) -> list[str]:
    """The subjects of events of a session since this moment, of kinds that begin so."""
    query = "select subject from event where id > ? and session_id = ? and instr(kind, ?) = 1 order by id"
    return db.column(query, (last_before(db, moment), session, kind))


def kinds(db: Database) -> list[str]:
    return db.column("select distinct kind from event order by kind")


def last_before(db: Database, moment: datetime) -> int:
    """The number before the first event since this moment, found by the indexed identifiers, which sort by time."""
    found = db.value("select id from event where uid >= ? order by uid limit 1", (ids.lowest(moment),))
    return latest_number(db) if found is None else int(found) - 1


def count(db: Database, kind: str) -> int:
    return int(db.value("select count(*) from event where kind = ?", (kind,)))


def latest_number(db: Database) -> int:
    """The number of the newest event; 0 when there is none."""
    return int(db.value("select max(id) from event") or 0)
