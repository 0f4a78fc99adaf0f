"""What the log records: tokens, cost and time of answers, tool calls with their results, and events.

Of the events an owner sees those of their own sessions and rows. Events about the file itself or about deleted rows
belong to the person.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal

from agent_cli import kinds
from agent_cli.memory.scope import CALLER_PLACE, PERSON
from agent_cli.store import ids
from agent_cli.store.db import Database

Per = Literal["day", "model", "session", "turn"]

# A turn is a message of the person and all answers up to the next.
_KEYS = {
    "day": "date(m.at, m.utc_offset || ' minutes')",
    "model": "m.model",
    "session": "m.session_id",
    "turn": """(select max(id) from message where session_id = m.session_id and role = 'user' and id < m.id)""",
}


def tokens_of_turn(db: Database, session: int, question: int) -> tuple[int, int]:
    """The tokens in and out of all replies to a message of the person."""
    [(tokens_in, tokens_out)] = db.rows(
        """select coalesce(sum(tokens_in), 0), coalesce(sum(tokens_out), 0) from message
           where session_id = :session and role = 'assistant' and id > :question and not exists (
               select 1 from message later
               where later.session_id = :session and later.role = 'user' and later.id > :question
                 and later.id < message.id)""",
        {"session": session, "question": question},
    )
    return tokens_in, tokens_out


def token_usage(db: Database, owner: str, per: Per, limit: int) -> list[dict[str, Any]]:
    """The usage of each day, model, session or turn, the latest first: seconds, and cost by the configured prices."""
    rows = db.rows(
        f"""select {_KEYS[per]} as key, count(*), sum(m.tokens_in), sum(m.tokens_out), sum(m.cost),
                   sum(m.duration_ms) / 1000.0
            from message m where m.owner = ? and m.role = 'assistant' and m.finish is not null and m.model <> ''
            group by key having key is not null order by max(m.id) desc limit ?""",
        (owner, limit),
    )
    kind, names = "session" if per == "session" else "message", (per, "answers", "tokens_in", "tokens_out")
    return [
        {
            **dict(zip(names, (ids.handle(kind, key) if isinstance(key, int) else key, *counts), strict=True)),
            "cost": round(cost, 6),
            "seconds": round(seconds, 1),
        }
        for key, *counts, cost, seconds in rows
    ]


def tool_calls(
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
    found = [
        {
            "result": ids.handle("message", result) if result else None,
            "tool": name,
            "outcome": _outcome(db, result) if result else "no result",
            "arguments": arguments,
            "asked_in": ids.handle("message", message),
            "session": session,
            "at": at,
            "utc_offset": offset,
        }
        for message, result, name, arguments, session, at, offset in rows
    ]
    return found[::-1] if after is None else found


def _outcome(db: Database, result: int) -> str:
    failed, begins = db.rows("select failed, substr(text, 1, 9) from message where id = ?", (result,))[0]
    return {"refused: ": "refused", "not run: ": "not run"}.get(begins, "failed") if failed else "done"


def newest_message(db: Database) -> int:
    return int(db.value("select max(id) from message") or 0)


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


def events_after(db: Database, owner: str, number: int, limit: int = 500) -> tuple[list[dict[str, Any]], int]:
    """The events of this owner after an id, among the next `limit` events of all, and the id of the last one read."""
    rows = db.rows(
        f"""select e.id, e.kind, e.actor, e.session_id, e.subject, e.hash, e.at, {_OWNER}
            from event e where e.id > ? order by e.id limit ?""",
        (number, limit),
    )
    columns = ("id", "kind", "actor", "session", "subject", "hash", "at")
    seen = []
    for *values, of in rows:
        if of == owner or (of is None and owner == PERSON):
            row = dict(zip(columns, values, strict=True))
            session = ids.handle("session", row["session"]) if row["session"] else None
            seen.append({**row, "id": ids.handle("event", row["id"]), "session": session})
    return seen, rows[-1][0] if rows else number


def callers_events(db: Database, number: int) -> Iterator[tuple[int, str, str, str, int, int]]:
    """(number, kind, subject, name of the caller, tokens in and out) of the calls, replies and failed turns in sessions
    of callers, after an event of this number."""
    yield from db.each(
        f"""select e.id, e.kind, e.subject, substr(s.place, {len(CALLER_PLACE) + 1}), coalesce(m.tokens_in, 0),
                   coalesce(m.tokens_out, 0)
            from event e join session s on s.id = e.session_id
            left join message m on e.kind like 'reply%' and m.id = cast(substr(e.subject, 2) as integer)
            where e.id > ? and s.place like '{CALLER_PLACE}%'
              and (e.kind like 'call %' or e.kind like 'reply%' or e.kind like 'turn %') order by e.id""",
        (number,),
    )
