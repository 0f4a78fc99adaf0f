"""Figures about the person's days: tasks due, streaks of days, tool calls.

Each is a query without stored counts. They stay fast with a million rows, because ids sort by time and are indexed. A
day is that of the local clock at the time of the row.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta

from agent_cli import clock, text
from agent_cli.store import ids
from agent_cli.store.db import Database
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
