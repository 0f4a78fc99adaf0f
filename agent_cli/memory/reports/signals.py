"""What the log says about the person's days, as queries: what is due, days in a row, what the tools did.

Nothing is counted ahead and kept: each is asked anew, and stays quick beside a million events and messages, for a time
is found by the identifiers, which sort by it and have an index. A day is that of the clock at which a thing was done.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta

from agent_cli import clock
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

_FURTHEST = timedelta(hours=14)  # that a clock can be away from UTC


@frozen
class Due:
    """Open tasks, by their numbers: due before this moment, later today, and how many there are in all."""

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
    days_said: int  # in a row, on which something was said
    days_done: int  # in a row, on which a task was done
    due: Due
    calls: tuple[Calls, ...]


def read(db: Database, owner: str, now: datetime, since: datetime) -> Signals:
    """All of them. `since`: from when on calls are counted."""
    return Signals(
        turns(db, owner, now.date()),
        days_said(db, owner, now),
        days_done(db, owner, now),
        due(db, owner, now),
        calls(db, owner, since),
    )


def turns(db: Database, owner: str, day: date) -> int:
    """How many messages the person wrote on a day."""
    return int(
        db.value(
            """select count(*) from said
               where uid >= ?1 and uid < ?2 and date(at, utc_offset || ' minutes') = ?3 and owner = ?4
                     and role = 'user'""",
            (*_within(day), owner),
        )
    )


def days_said(db: Database, owner: str, now: datetime) -> int:
    """For how many days in a row the person has said something, up to today or yesterday."""

    def said(day: date) -> bool:
        return bool(
            db.value(
                """select 1 from said
                   where uid >= ?1 and uid < ?2 and date(at, utc_offset || ' minutes') = ?3 and owner = ?4
                         and role = 'user' limit 1""",
                (*_within(day), owner),
            )
        )

    return _in_a_row(said, now.date())


def days_done(db: Database, owner: str, now: datetime) -> int:
    """For how many days in a row a task was done that is still known, up to today or yesterday."""

    def done(day: date) -> bool:
        return bool(
            db.value(
                """select 1 from event e join task t on t.id = cast(substr(e.subject, 2) as integer)
                   where e.uid >= ?1 and e.uid < ?2 and date(e.at, e.utc_offset || ' minutes') = ?3 and t.owner = ?4
                         and e.kind = 'task done' limit 1""",
                (*_within(day), owner),
            )
        )

    return _in_a_row(done, now.date())


def due(db: Database, owner: str, now: datetime) -> Due:
    """What is to be done, the longest overdue first."""
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
    """How often each tool was called since then, and how often it was refused; the most used first."""
    rows = db.rows(
        """select e.subject, sum(e.kind like 'call allowed%') as allowed, sum(e.kind like 'call refused%')
           from event e join session s on s.id = e.session_id
           where e.uid >= ?1 and e.kind like 'call %' and s.owner = ?2
           group by e.subject order by allowed desc, e.subject""",
        (ids.lowest(since), owner),
    )
    return tuple(Calls(*row) for row in rows)


def _within(day: date) -> tuple[str, str, str]:
    """Between which identifiers all of a day lies, wherever it was, and the day itself."""
    begins = datetime.combine(day, time(), UTC)
    return ids.lowest(begins - _FURTHEST), ids.lowest(begins + timedelta(days=1) + _FURTHEST), day.isoformat()


def _in_a_row(on: Callable[[date], bool], today: date) -> int:
    """A day that has only begun ends no row."""
    day = today if on(today) else today - timedelta(days=1)
    last = day
    while on(day):
        day -= timedelta(days=1)
    return (last - day).days
