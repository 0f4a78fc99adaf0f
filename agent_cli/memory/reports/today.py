"""The present day in lines: conversations, notes, facts, and tasks done or due.

Past days have summaries. This is read from the tables, so it needs no model and includes the last message.
"""

from collections.abc import Iterator
from datetime import datetime, time, timedelta
from typing import Any

from agent_cli import clock
from agent_cli.memory.conversations import sessions
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.text import one_line

_MOST = 12  # lines of a kind
_WIDE = 120  # characters of a line


def format_day(db: Database, owner: str, now: datetime) -> str:
    """The lines of the day, the newest of each kind first; empty when nothing happened."""
    begin = datetime.combine(now.date(), time(), now.tzinfo)
    day = {"owner": owner, "since": clock.utc(begin), "until": clock.utc(begin + timedelta(days=1))}
    parts = {
        "said": _said(db, day),
        "noted": _noted(db, day),
        "learned": _learned(db, day),
        "done": _done(db, day),
        "due": _due(db, day),
    }
    lines: list[str] = []
    for name, found in parts.items():
        rows = list(found)
        more = [f"and {len(rows) - _MOST} more"] if len(rows) > _MOST else []
        lines += [f"{name}: {'; '.join([*rows[:_MOST], *more])}"] if rows else []
    return "\n".join(lines)


def _said(db: Database, day: dict[str, Any]) -> Iterator[str]:
    """Each session with its name and number of messages, scheduled runs and side questions included."""
    rows = db.rows(
        """select session_id, count(*) from said
           where owner = :owner and role = 'user' and at >= :since and at < :until
             and session_id in (select id from session where owner = :owner and last_at >= :since and hidden_at is null)
           group by session_id order by max(id) desc""",
        day,
    )
    for id, count in rows:
        session = sessions.get(db, id, day["owner"])
        counted = f"{count} messages" if count > 1 else "1 message"
        yield f"{session.handle} “{one_line(sessions.name(db, session), _WIDE)}” ({counted})"


def _noted(db: Database, day: dict[str, Any]) -> Iterator[str]:
    rows = db.rows(
        """select id, iif(title = '', text, title) from note
           where owner = :owner and hidden_at is null and changed_at >= :since and changed_at < :until
           order by changed_at desc, id desc""",
        day,
    )
    return (_line("note", id, words) for id, words in rows)


def _learned(db: Database, day: dict[str, Any]) -> Iterator[str]:
    rows = db.rows(
        """select id, statement from fact
           where owner = :owner and state = 'accepted' and hidden_at is null and decided_at >= :since
             and decided_at < :until order by id desc""",
        day,
    )
    return (_line("fact", id, words) for id, words in rows)


def _done(db: Database, day: dict[str, Any]) -> Iterator[str]:
    rows = db.rows(
        """select id, text from task
           where owner = :owner and hidden_at is null and done_at >= :since and done_at < :until
           order by done_at desc""",
        day,
    )
    return (_line("task", id, words) for id, words in rows)


def _due(db: Database, day: dict[str, Any]) -> Iterator[str]:
    """Open tasks due by the end of the day, the longest overdue first."""
    rows = db.rows(
        """select id, text, due_at from task
           where owner = :owner and state = 'open' and hidden_at is null and due_at < :until order by due_at""",
        day,
    )
    for id, words, due_at in rows:
        late = " (overdue)" if due_at < day["since"] else ""
        yield f"{_line('task', id, words)}{late}"


def _line(kind: str, id: int, words: str) -> str:
    return f"{ids.handle(kind, id)} {one_line(words, _WIDE)}"
