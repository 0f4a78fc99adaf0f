"""Tokens, cost and time of answers, per turn, session, model or day."""

from typing import Any, Literal

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


def of_turn(db: Database, session: int, question: int) -> tuple[int, int]:
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


def used(db: Database, owner: str, per: Per, limit: int) -> list[dict[str, Any]]:
    """The usage of each day, model, session or turn, the latest first: seconds, and cost by the configured prices."""
    rows = db.rows(
        f"""select {_KEYS[per]} as key, count(*), sum(m.tokens_in), sum(m.tokens_out), sum(m.cost),
                   sum(m.duration_ms) / 1000.0
            from message m where m.owner = ? and m.role = 'assistant' and m.finish is not null and m.model <> ''
            group by key having key is not null order by max(m.id) desc limit ?""",
        (owner, limit),
    )
    return [
        {
            per: ids.handle("session" if per == "session" else "message", key) if isinstance(key, int) else key,
            "answers": answers,
            "tokens_in": tokens_in,
            "tokens_out": tokens_out,
            "cost": round(cost, 6),
            "seconds": round(seconds, 1),
        }
        for key, answers, tokens_in, tokens_out, cost, seconds in rows
    ]
