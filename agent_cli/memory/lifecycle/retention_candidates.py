"""What is old, and whether it may go: of each message, session summary and summary of a period, read for retention.

A thing may go when the next grain has taken it in: a coarser summary stands, was made after it, and names it among all
that it was made from. What a grain took in that is itself no more cannot be proved, and stays. So the order is strict:
a summary also stays as long as something it was made of is still to go, and a session goes whole: while it goes on,
none of its messages is old. One session that is continued for ever keeps all its days.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from agent_cli import clock
from agent_cli.memory.dates import periods
from agent_cli.memory.dates.periods import Period
from agent_cli.memory.scope import PERSON
from agent_cli.memory.summaries import period_summaries, session_summary
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

WORKING, SESSION = "working", "session"  # the grains below those of periods: messages, and summaries of sessions
OPEN, PINNED, WAITS, HELD = "open", "pinned", "not taken in", "made of what stays"  # why something old is kept

_READERS = [session_summary.JOB, "learn", "reflect"]  # jobs that have yet to read a session

# Of a session s with its summary t: whether some day on which something was said in it has not taken it in. A day is
# made from the summary of a conversation that lies whole in it, else from what was said.
_UNTOLD = """exists (
    select 1 from (
        select date(m.at, m.utc_offset || ' minutes') as key, max(m.at) as last, count(*) over () as days
        from said m where m.session_id = s.id and m.role in ('user', 'assistant') and m.text <> ''
          and m.model <> 'offline' group by 1) d
    left join summary y on y.owner = s.owner and y.period = d.key and y.period <> ''
    where y.id is null or y.at < d.last or (d.days = 1 and y.at < t.at)
       or not exists (select 1 from summary_source o where o.summary_id = y.id and o.sentence = 0
                      and (o.kind, o.row) in (values ('session', s.id), ('summary', t.id)))
       or exists (select 1 from job where kind = 'grain' and state <> 'done'
                  and subject = y.period || iif(y.owner = :person, '', ' ' || y.owner)))"""
# The same once its messages are gone: whether the days that name it are none, or were made before it was.
_UNNAMED = """(
    select count(*) = 0 or max(y.at) < s.last_at or (count(*) = 1 and max(y.at) < t.at) or max(exists (
               select 1 from job where kind = 'grain' and state <> 'done'
               and subject = y.period || iif(y.owner = :person, '', ' ' || y.owner)))
    from summary_source o join summary y on y.id = o.summary_id and y.grain = 'day'
    where o.sentence = 0 and (o.kind, o.row) in (values ('session', s.id), ('summary', t.id)))"""
_TO_BE_READ = """exists (select 1 from job where state <> 'done' and subject = 's' || s.id
                         and kind in (select value from json_each(:readers)))"""


@frozen
class Item:
    """Something old: the messages of a session, or a summary."""

    grain: str
    row: int  # of the session or of the summary
    handle: str
    period: str  # its key; of a session the day of its last words
    count: int  # messages, or 1
    kept: str  # why it stays; empty: it may go


Gone = frozenset[tuple[str, int]]
"""What is taken for gone already: the grain, and the number of the session or the summary."""


def messages(db: Database, before: datetime, only: Sequence[int] | None = None) -> list[Item]:
    """Sessions in which nothing was said since, that have messages; all, or only those of these numbers."""
    rows = db.rows(
        f"""select s.id, s.last_at, s.utc_offset, (select count(*) from message where session_id = s.id),
                case when s.pinned then '{PINNED}'
                     when s.closed_at is null
                          or exists (select 1 from message where session_id = s.id and finish is null) then '{OPEN}'
                     when s.kind = 'chat' and coalesce(t.at < s.last_at, true)
                          and exists (select 1 from said where session_id = s.id) then '{WAITS}'
                     when {_TO_BE_READ} or {_UNTOLD} then '{WAITS}' else '' end
            from {_among("session", only)} left join summary t on t.session_id = s.id
            where s.last_at < :before and exists (select 1 from message where session_id = s.id) order by s.id""",
        {"before": clock.utc(before), "only": only, "person": PERSON, "readers": _READERS},
    )
    return [
        Item(WORKING, id, ids.handle("session", id), periods.day_of(last_at, offset).isoformat(), count, kept)
        for id, last_at, offset, count, kept in rows
    ]


def of_sessions(
    db: Database,
    before: datetime,
    now: datetime,
    only: Sequence[int] | None = None,
    *,
    working: bool = False,
    gone: Gone = frozenset(),
) -> list[Item]:
    """Old summaries of sessions. `working`: messages are to go before them."""
    rows = db.rows(
        f"""select t.id, s.id, coalesce(t.last_at, t.at), s.utc_offset,
                exists (select 1 from message where session_id = s.id),
                case when t.pinned or s.pinned then '{PINNED}' when s.closed_at is null then '{OPEN}'
                     when t.at < s.last_at or {_TO_BE_READ} or {_UNTOLD} or {_UNNAMED} then '{WAITS}' else '' end
            from {_among("summary", only)} join session s on s.id = t.session_id
            where t.grain = 'session' order by t.id""",
        {"only": only, "person": PERSON, "readers": _READERS},
    )
    found = []
    for id, session, last_at, offset, stands, kept in rows:
        day = periods.containing(periods.day_of(last_at, offset), "day")
        if day.ends_at(now) <= before:
            held = working and stands and (WORKING, session) not in gone
            found.append(Item(SESSION, id, ids.handle("summary", id), day.key, 1, kept or (HELD if held else "")))
    return found


def of_periods(
    db: Database,
    grain: str,
    before: datetime,
    now: datetime,
    only: Sequence[int] | None = None,
    *,
    limited: Collection[str] = (),
    gone: Gone = frozenset(),
) -> list[Item]:
    """Old summaries of a grain. `limited`: the grains of which something is to go before them."""
    rows = db.rows(
        f"""select t.id, t.owner, t.period, t.at, t.pinned from {_among("summary", only)}
            where t.grain = :grain order by t.period, t.id""",
        {"only": only, "grain": grain},
    )
    found = []
    for id, owner, key, at, pinned in rows:
        period = periods.parse(key)
        if period.ends_at(now) <= before:
            kept = PINNED if pinned else _kept(db, owner, period, id, at, now, limited, gone)
            found.append(Item(grain, id, ids.handle("summary", id), key, 1, kept))
    return found


def _kept(
    db: Database, owner: str, period: Period, id: int, at: str, now: datetime, limited: Collection[str], gone: Gone
) -> str:
    if _waits(db, owner, period) or not all(
        each.has_ended(now) and _took_in(db, owner, each, id, at) for each in periods.enclosing(period)
    ):
        return WAITS
    return HELD if any(each not in gone for each in _standing(db, id, limited)) else ""


def _waits(db: Database, owner: str, period: Period) -> bool:
    """Whether its summary is to be made anew."""
    subject = period.key if owner == PERSON else f"{period.key} {owner}"
    return bool(
        db.value(
            "select 1 from job where kind = ? and subject = ? and state <> 'done'", (period_summaries.JOB, subject)
        )
    )


def _took_in(db: Database, owner: str, coarser: Period, id: int, at: str) -> bool:
    found = db.value(
        """select 1 from summary y join summary_source o
             on o.summary_id = y.id and o.sentence = 0 and o.kind = 'summary' and o.row = ?
           where y.owner = ? and y.period = ? and y.period <> '' and y.at >= ?""",
        (id, owner, coarser.key, at),
    )
    return bool(found) and not _waits(db, owner, coarser)


def _standing(db: Database, id: int, limited: Collection[str]) -> Sequence[tuple[Any, ...]]:
    """What a summary was made of that still stands and is to go before it."""
    return db.rows(
        """select 'working', s.id from summary_source o join session s on s.id = o.row
           where o.summary_id = ?1 and o.sentence = 0 and o.kind = 'session' and not s.pinned
             and 'working' in (select value from json_each(?2))
             and exists (select 1 from message where session_id = s.id)
           union
           select t.grain, t.id from summary_source o
             join summary t on (o.kind = 'summary' and t.id = o.row) or (o.kind = 'session' and t.session_id = o.row)
             left join session s on s.id = t.session_id
           where o.summary_id = ?1 and o.sentence = 0 and not t.pinned and not coalesce(s.pinned, 0)
             and t.grain in (select value from json_each(?2))""",
        (id, limited),
    )


def _among(table: str, only: Sequence[int] | None) -> str:
    letter = {"session": "s", "summary": "t"}[table]
    if only is None:
        return f"{table} {letter}"
    return f"json_each(:only) c cross join {table} {letter} on {letter}.id = c.value"
