"""Finds the old messages and summaries for retention, and why each has to be kept, if it has.

A row may be deleted when the next coarser summary exists, was made after it, and names it among its sources. A summary
is also kept as long as one of its own sources is still to be deleted. The messages of a session are deleted together,
so none of them is old while the session continues.
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

WORKING, SESSION = "working", "session"  # the levels below periods: messages and session summaries
# Why something old is kept.
OPEN, PINNED, NOT_SUMMARISED, HAS_SOURCES = "open", "pinned", "not summarised", "made of what stays"

_READERS = [session_summary.JOB, "learn", "reflect"]  # jobs that read a session

# For a session s with its summary t: whether the summary of one of its days is missing or does not contain it. A day is
# made from the summaries of sessions that lie entirely within it, and from the messages of others.
_NOT_IN_DAY_SUMMARY = """exists (
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
# The same when its messages are deleted: whether no day names it, or one that does is older or pending.
_NOT_NAMED_BY_DAY = """(
    select count(*) = 0 or max(y.at) < s.last_at or (count(*) = 1 and max(y.at) < t.at) or max(exists (
               select 1 from job where kind = 'grain' and state <> 'done'
               and subject = y.period || iif(y.owner = :person, '', ' ' || y.owner)))
    from summary_source o join summary y on y.id = o.summary_id and y.grain = 'day'
    where o.sentence = 0 and (o.kind, o.row) in (values ('session', s.id), ('summary', t.id)))"""
_JOB_PENDING = """exists (
    select 1 from job where state <> 'done' and kind in (select value from json_each(:readers))
    and (subject = 's' || s.id
         or s.id = (select session_id from message where id = iif(subject like 'm%', substr(subject, 2), null))))"""


@frozen
class RetentionCandidate:
    """Something old: the messages of a session, or a summary."""

    level: str
    row: int  # id of the session or summary
    handle: str
    period: str  # its key; for a session, the day of its last message
    count: int  # messages, or 1
    kept_because: str  # empty: it may be deleted


RemovedRows = frozenset[tuple[str, int]]
"""(level, id of the session or summary) of what a plan has deleted already."""


def messages(db: Database, before: datetime, only: Sequence[int] | None = None) -> list[RetentionCandidate]:
    """Sessions with messages, none of them since `before`; all, or only those with these ids."""
    rows = db.rows(
        f"""select s.id, s.last_at, s.utc_offset, (select count(*) from message where session_id = s.id),
                case when s.pinned then '{PINNED}'
                     when s.closed_at is null
                          or exists (select 1 from message where session_id = s.id and finish is null) then '{OPEN}'
                     when s.kind = 'chat' and coalesce(t.at < s.last_at, true)
                          and exists (select 1 from said where session_id = s.id) then '{NOT_SUMMARISED}'
                     when {_JOB_PENDING} or {_NOT_IN_DAY_SUMMARY} then '{NOT_SUMMARISED}' else '' end
            from {_from_clause("session", only)} left join summary t on t.session_id = s.id
            where s.last_at < :before and exists (select 1 from message where session_id = s.id) order by s.id""",
        {"before": clock.utc(before), "only": only, "person": PERSON, "readers": _READERS},
    )
    return [
        RetentionCandidate(
            WORKING, id, ids.handle("session", id), periods.day_of(last_at, offset).isoformat(), count, reason
        )
        for id, last_at, offset, count, reason in rows
    ]


def of_sessions(
    db: Database,
    before: datetime,
    now: datetime,
    only: Sequence[int] | None = None,
    *,
    working: bool = False,
    removed: RemovedRows = frozenset(),
) -> list[RetentionCandidate]:
    """Old session summaries. `working`: messages have a limit too, so they are deleted first."""
    rows = db.rows(
        f"""select t.id, s.id, coalesce(t.last_at, t.at), s.utc_offset,
                exists (select 1 from message where session_id = s.id),
                case when t.pinned or s.pinned then '{PINNED}' when s.closed_at is null then '{OPEN}'
                     when t.at < s.last_at or {_JOB_PENDING} or {_NOT_IN_DAY_SUMMARY} or {_NOT_NAMED_BY_DAY}
                          then '{NOT_SUMMARISED}' else '' end
            from {_from_clause("summary", only)} join session s on s.id = t.session_id
            where t.grain = 'session' order by t.id""",
        {"only": only, "person": PERSON, "readers": _READERS},
    )
    found = []
    for id, session, last_at, offset, has_messages, reason in rows:
        day = periods.containing(periods.day_of(last_at, offset), "day")
        if day.ends_at(now) <= before:
            waiting = working and has_messages and (WORKING, session) not in removed
            found.append(
                RetentionCandidate(
                    SESSION, id, ids.handle("summary", id), day.key, 1, reason or (HAS_SOURCES if waiting else "")
                )
            )
    return found


def of_periods(
    db: Database,
    unit: str,
    before: datetime,
    now: datetime,
    only: Sequence[int] | None = None,
    *,
    limited: Collection[str] = (),
    removed: RemovedRows = frozenset(),
) -> list[RetentionCandidate]:
    """Old summaries of periods of a unit. `limited`: the levels with a limit, which are deleted first."""
    rows = db.rows(
        f"""select t.id, t.owner, t.period, t.at, t.pinned from {_from_clause("summary", only)}
            where t.grain = :grain order by t.period, t.id""",
        {"only": only, "grain": unit},
    )
    found = []
    for id, owner, key, at, pinned in rows:
        period = periods.parse(key)
        if period.ends_at(now) <= before:
            reason = PINNED if pinned else _kept_because(db, owner, period, id, at, now, limited, removed)
            found.append(RetentionCandidate(unit, id, ids.handle("summary", id), key, 1, reason))
    return found


def _kept_because(
    db: Database,
    owner: str,
    period: Period,
    id: int,
    at: str,
    now: datetime,
    limited: Collection[str],
    removed: RemovedRows,
) -> str:
    if _is_pending(db, owner, period) or not all(
        each.has_ended(now) and _includes(db, owner, each, id, at) for each in periods.enclosing(period)
    ):
        return NOT_SUMMARISED
    return HAS_SOURCES if any(each not in removed for each in _remaining_sources(db, id, limited)) else ""


def _is_pending(db: Database, owner: str, period: Period) -> bool:
    """Whether a job is to make the summary of this period."""
    subject = period.key if owner == PERSON else f"{period.key} {owner}"
    return bool(
        db.value(
            "select 1 from job where kind = ? and subject = ? and state <> 'done'", (period_summaries.JOB, subject)
        )
    )


def _includes(db: Database, owner: str, coarser: Period, id: int, at: str) -> bool:
    found = db.value(
        """select 1 from summary y join summary_source o
             on o.summary_id = y.id and o.sentence = 0 and o.kind = 'summary' and o.row = ?
           where y.owner = ? and y.period = ? and y.period <> '' and y.at >= ?""",
        (id, owner, coarser.key, at),
    )
    return bool(found) and not _is_pending(db, owner, coarser)


def _remaining_sources(db: Database, id: int, limited: Collection[str]) -> Sequence[tuple[Any, ...]]:
    """(level, id) of the sources of a summary that exist and have a limit."""
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


def _from_clause(table: str, only: Sequence[int] | None) -> str:
    letter = {"session": "s", "summary": "t"}[table]
    if only is None:
        return f"{table} {letter}"
    return f"json_each(:only) c cross join {table} {letter} on {letter}.id = c.value"
