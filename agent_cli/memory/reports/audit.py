"""The part of the audit log that an owner may see.

An event belongs to the owner of its session, or of the row it is about. Events about the file itself or about deleted
rows belong to the person.
"""

from typing import Any

from agent_cli import kinds
from agent_cli.memory.scope import PERSON
from agent_cli.store import ids
from agent_cli.store.db import Database

_SUBJECTS = " ".join(
    f"when '{kind.letter}' then (select owner from {kind.table} where id = cast(substr(e.subject, 2) as integer))"
    for kind in kinds.KINDS
    if kind.owned
)
_OWNER = f"""case
    when e.session_id is not null then (select owner from session where id = e.session_id)
    when length(e.subject) between 2 and 19 and substr(e.subject, 2) not glob '*[^0-9]*'
        then case substr(e.subject, 1, 1) {_SUBJECTS} end
    end"""


def latest(db: Database) -> int:
    """The id of the last event; 0 when there is none."""
    return int(db.value("select max(id) from event") or 0)


def after(db: Database, owner: str, number: int, limit: int = 500) -> tuple[list[dict[str, Any]], int]:
    """The events of this owner after an id, among the next `limit` events of all, and the id of the last one read."""
    rows = db.rows(
        f"""select e.id, e.kind, e.actor, e.session_id, e.subject, e.hash, e.at, {_OWNER}
            from event e where e.id > ? order by e.id limit ?""",
        (number, limit),
    )
    seen = [row for row in rows if row[-1] == owner or (row[-1] is None and owner == PERSON)]
    return [_described(row) for row in seen], rows[-1][0] if rows else number


def _described(row: tuple[Any, ...]) -> dict[str, Any]:
    id, kind, actor, session, subject, hash, at, _ = row
    return {
        "id": ids.handle("event", id),
        "kind": kind,
        "actor": actor,
        "session": ids.handle("session", session) if session else None,
        "subject": subject,
        "hash": hash,
        "at": at,
    }
