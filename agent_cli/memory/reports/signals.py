"""The person's days: figures (tasks due, streaks of days, tool calls), and the present day in lines.

Past days have summaries. Each figure is a query without stored counts, so none needs a model, and all include the last
message. They stay fast with a million rows, because ids sort by time and are indexed. A day is that of the local clock
at the time of the row.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from agent_cli import clock, text
from agent_cli.memory.conversations import sessions
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.text import one_line
from agent_cli.values import frozen

PERIOD = timedelta(days=30)  # in which calls are counted
_TASKS_NAMED = 5  # tasks that are named by their handles
_FURTHEST = timedelta(hours=14)  # the largest offset from UTC


@frozen
class Due:
    """Ids of open tasks that are overdue or due later today, and the number of all open tasks."""

    overdue: tuple[int, ...]
    today: tuple[int, ...]
    open: int


@frozen
class Calls:
    """How often a tool was called."""

    tool: str
    allowed: int
    refused: int


@frozen
class Signals:
    turns_today: int
    days_said: int  # consecutive days with a message of the person
    days_done: int  # consecutive days with a completed task
    due: Due
    calls: tuple[Calls, ...]


def read(db: Database, owner: str, now: datetime, since: datetime) -> Signals:
    """All figures. `since`: the start of the time in which calls are counted."""
    return Signals(
        turns(db, owner, now.date()),
        days_said(db, owner, now),
        days_done(db, owner, now),
        due(db, owner, now),
        calls(db, owner, since),
    )


def turns(db: Database, owner: str, day: date) -> int:
    """The number of messages the person wrote on a day."""
    return int(
        db.value(
            """select count(*) from said
               where uid >= ?1 and uid < ?2 and date(at, utc_offset || ' minutes') = ?3 and owner = ?4
                     and role = 'user'""",
            (*_day_bounds(day), owner),
        )
    )


def days_said(db: Database, owner: str, now: datetime) -> int:
    """The number of consecutive days with a message of the person, up to today or yesterday."""

    def said(day: date) -> bool:
        return bool(
            db.value(
                """select 1 from said
                   where uid >= ?1 and uid < ?2 and date(at, utc_offset || ' minutes') = ?3 and owner = ?4
                         and role = 'user' limit 1""",
                (*_day_bounds(day), owner),
            )
        )

    return _streak(said, now.date())


def days_done(db: Database, owner: str, now: datetime) -> int:
    """The number of consecutive days with a completed task that is not erased, up to today or yesterday."""

    def done(day: date) -> bool:
        return bool(
            db.value(
                """select 1 from event e join task t on t.id = cast(substr(e.subject, 2) as integer)
                   where e.uid >= ?1 and e.uid < ?2 and date(e.at, e.utc_offset || ' minutes') = ?3 and t.owner = ?4
                         and e.kind = 'task done' limit 1""",
                (*_day_bounds(day), owner),
            )
        )

    return _streak(done, now.date())


def due(db: Database, owner: str, now: datetime) -> Due:
    """The open tasks due by the end of the day, the longest overdue first."""
    night = datetime.combine(now.date() + timedelta(days=1), time(), now.tzinfo)
    rows = db.rows(
        """select id, due_at < ?2 from task
           where owner = ?1 and state = 'open' and hidden_at is null and due_at is not null and due_at < ?3
           order by due_at, id""",
        (owner, clock.utc(now), clock.utc(night)),
    )
    every = db.value("select count(*) from task where owner = ? and state = 'open' and hidden_at is null", (owner,))
    overdue = tuple(id for id, late in rows if late)
    return Due(overdue, tuple(id for id, late in rows if not late), int(every))


def calls(db: Database, owner: str, since: datetime) -> tuple[Calls, ...]:
    """How often each tool was called since then, and how often refused; the most used first."""
    rows = db.rows(
        """select e.subject, sum(e.kind like 'call allowed%') as allowed, sum(e.kind like 'call refused%')
           from event e join session s on s.id = e.session_id
           where e.uid >= ?1 and e.kind like 'call %' and s.owner = ?2
                 and e.kind not in ('call unknown', 'call invalid')
           group by e.subject order by allowed desc, e.subject""",
        (ids.lowest(since), owner),
    )
    return tuple(Calls(*row) for row in rows)


def _day_bounds(day: date) -> tuple[str, str, str]:
    """The lowest and highest id of a day in any time zone, and the day itself."""
    begins = datetime.combine(day, time(), UTC)
    return ids.lowest(begins - _FURTHEST), ids.lowest(begins + timedelta(days=1) + _FURTHEST), day.isoformat()


def _streak(on: Callable[[date], bool], today: date) -> int:
    """The number of consecutive days up to today, or up to yesterday while nothing has happened today."""
    day = today if on(today) else today - timedelta(days=1)
    last = day
    while on(day):
        day -= timedelta(days=1)
    return (last - day).days


def format_lines(found: Signals) -> list[str]:
    """What they say, in lines for a person."""
    activity = f"{text.counted(found.turns_today, 'question')} today; in use {_in_a_row(found.days_said)}"
    lines = [activity] if found.days_said else []
    if found.due.open:
        due = [("overdue", found.due.overdue), ("due today", found.due.today)]
        parts = [
            f"{found.due.open} open",
            *(f"{len(tasks)} {name} ({_handles(tasks)})" for name, tasks in due if tasks),
        ]
        lines.append(f"tasks: {', '.join(parts)}")
    if found.days_done:
        lines.append(f"a task was done {_in_a_row(found.days_done)}")
    if found.calls:
        lines.append(f"tools in {PERIOD.days} days: {', '.join(map(_format_calls, found.calls))}")
    return lines


def _handles(tasks: tuple[int, ...]) -> str:
    named = [ids.handle("task", id) for id in tasks[:_TASKS_NAMED]]
    return " ".join([*named, "…"] if len(tasks) > _TASKS_NAMED else named)


def _format_calls(calls: Calls) -> str:
    return f"{calls.tool} {calls.allowed}" + (f" ({calls.refused} refused)" if calls.refused else "")


def _in_a_row(days: int) -> str:
    return f"{text.counted(days, 'day')} in a row"


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
        "due": _tasks_due(db, day),
        "planned": _planned(db, day),
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


def _planned(db: Database, day: dict[str, Any]) -> Iterator[str]:
    """The open tasks made today that are not due today."""
    rows = db.rows(
        """select id, text from task
           where owner = :owner and state = 'open' and hidden_at is null and at >= :since and at < :until
             and (due_at is null or due_at >= :until) order by id desc""",
        day,
    )
    return (_line("task", id, words) for id, words in rows)


def _tasks_due(db: Database, day: dict[str, Any]) -> Iterator[str]:
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
