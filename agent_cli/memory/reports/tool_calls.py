"""The tool calls of the log, each with its result."""

from datetime import datetime
from typing import Any

from agent_cli.store import ids
from agent_cli.store.db import Database


def listing(
    db: Database, owner: str, limit: int, since: datetime | None = None, after: int | None = None
) -> list[dict[str, Any]]:
    """The newest calls, newest last; with `after`, instead the first whose result came after this message.

    A running call has no result. `asked_in`: the message of the model with the call.
    """
    ended = """and m.session_id in (select session_id from message where id > ?3 and role = 'tool')
               and result > ?3"""
    rows = db.rows(
        f"""select m.id, (select min(a.id) from message a
                          where a.session_id = m.session_id and a.id > m.id and a.role = 'tool'
                                and a.answers = c.call_id) as result,
                   c.name, c.arguments, m.session_id, m.at, m.utc_offset
            from tool_call c join message m on m.id = c.message_id
            where m.owner = ?1 and c.uid >= ?2 and ?3 >= 0 {"" if after is None else ended}
            order by c.id {"desc" if after is None else "asc"} limit ?4""",
        (owner, ids.lowest(since) if since else "", after or 0, limit),
    )
    found = [_described(db, *row) for row in rows]
    return found[::-1] if after is None else found


def _described(
    db: Database, message: int, result: int | None, name: str, arguments: str, session: int, at: str, offset: int
) -> dict[str, Any]:
    return {
        "result": ids.handle("message", result) if result else None,
        "tool": name,
        "outcome": _outcome(db, result) if result else "no result",
        "arguments": arguments,
        "asked_in": ids.handle("message", message),
        "session": session,
        "at": at,
        "utc_offset": offset,
    }


def _outcome(db: Database, result: int) -> str:
    failed, begins = db.rows("select failed, substr(text, 1, 9) from message where id = ?", (result,))[0]
    if not failed:
        return "done"
    return {"refused: ": "refused", "not run: ": "not run"}.get(begins, "failed")


def latest(db: Database) -> int:
    """The id of the newest message."""
    return int(db.value("select max(id) from message") or 0)
