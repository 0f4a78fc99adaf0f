"""Retention: deletes old messages and summaries, the finest level first, once the next level contains them.

Off by default. A row may be deleted when the next coarser summary was made after it and names it among its sources; a
summary, once none of its own sources is still to be deleted. The messages of a session are deleted together. Facts keep
their quotes, and the input history stays. No tombstones are kept: an import may restore what was deleted.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import accumulate, groupby
from typing import Any

from dateutil.relativedelta import relativedelta

from agent_cli import clock
from agent_cli.memory.conversations import callers, digest, log, sessions
from agent_cli.memory.dates import periods
from agent_cli.memory.facts import facts
from agent_cli.memory.planner import rows
from agent_cli.memory.scope import PERSON
from agent_cli.memory.search import index, recall_log, word_tables
from agent_cli.memory.summaries import period_summaries, summaries
from agent_cli.store import changes, events, ids, jobs, meta
from agent_cli.store.db import Database
from agent_cli.values import frozen

JOB = "retain"
WORKING, SESSION = "working", "session"  # the levels below periods: messages and session summaries
LIMITS = (WORKING, *periods.UNITS)  # levels with a limit; session summaries share that of days
LEVELS = (WORKING, SESSION, *periods.UNITS)
PRESETS = {
    "short": ("48h", "30d", "6w", "6mo", "4q", "2y"),
    "medium": ("120h", "60d", "12w", "12mo", "8q", "4y"),
    "long": ("240h", "120d", "24w", "24mo", "16q", "8y"),
}
# Why something old is kept.
OPEN, PINNED, NOT_SUMMARISED, HAS_SOURCES = "open", "pinned", "not summarised", "made of what stays"
_UNITS = {  # of ages: names and lengths
    "h": ("hour", relativedelta(hours=1)),
    "d": ("day", relativedelta(days=1)),
    "w": ("week", relativedelta(weeks=1)),
    "mo": ("month", relativedelta(months=1)),
    "q": ("quarter", relativedelta(months=3)),
    "y": ("year", relativedelta(years=1)),
}
_BATCH = 400  # rows of a transaction, or those of one session: others wait for a moment
_FEW, _CAREFUL = 200, 20  # up to this many rows the index pages are rewritten at once, this many rows in a transaction
_KEY, _PAUSE = "retained", timedelta(days=1)  # in meta: when this was last queued


@frozen
class Limit:
    count: int
    unit: str  # h, d, w, mo, q, y

    def __str__(self) -> str:
        return f"{self.count} {_UNITS[self.unit][0]}{'s' if self.count > 1 else ''}"

    def before(self, now: datetime) -> datetime:
        """The moment before which everything is old; by months, the same day and hour, or the last day of the month."""
        never = datetime.min.replace(year=2, tzinfo=now.tzinfo)  # older than anything
        try:
            begin: datetime = now - self.count * _UNITS[self.unit][1]
            return max(never, begin)
        except (ValueError, OverflowError):
            return never


Policy = Mapping[str, Limit]
"""The limit of each level that has one; the others are kept."""


@frozen
class RetentionCandidate:
    """Something old: the messages of a session, or a summary."""

    level: str
    row: int  # id of the session or summary
    handle: str
    period: str  # its key; for a session, the day of its last message
    count: int  # messages, or 1
    kept_because: str  # empty: it may be deleted


def policy(table: Mapping[str, str]) -> Policy:
    """The limits of the setting `retention`, which was checked as it was read."""
    ages = dict(zip(LIMITS, PRESETS[table["preset"]], strict=True)) if "preset" in table else {}
    ages |= {level: value for level, value in table.items() if level != "preset"}
    read = {level: re.fullmatch(r"(\d+) ?(h|d|w|mo|q|y)", ages.get(level, "keep")) for level in LIMITS}
    return {level: Limit(int(match[1]), match[2]) for level, match in read.items() if match}


def limit_of(limits: Policy, level: str) -> Limit | None:
    return limits.get("day" if level == SESSION else level)


def queue(db: Database, now: datetime) -> None:
    """Queue the job, at most once a day."""
    if meta.is_due(db, _KEY, now, _PAUSE):
        with db.write():
            meta.stamp(db, _KEY, now)
            jobs.add(db, JOB, "all", now)


def plan(db: Database, limits: Policy, now: datetime) -> list[RetentionCandidate]:
    """Everything older than its limit, the finest level first, each with the reason why it is kept, if any."""
    found: list[RetentionCandidate] = []
    for level in LEVELS:
        removed = frozenset((each.level, each.row) for each in found if not each.kept_because)
        found += _old(_Search(db, limits, now, level, removed=removed))
    return found


def stored_counts(db: Database) -> dict[str, int]:
    counted: dict[str, int] = dict(db.rows("select grain, count(*) from summary group by grain"))
    return {WORKING: db.value("select count(*) from message"), **{level: counted.get(level, 0) for level in LEVELS[1:]}}


def run(db: Database, limits: Policy, time: clock.Clock) -> Iterator[tuple[str, int]]:
    """Delete what may be deleted, the finest level first; yields (level, rows) after each batch, a transaction."""
    now = time()
    removed = merge = False
    for level in LEVELS:
        search = _Search(db, limits, now, level)
        erasable = [each for each in _old(search) if not each.kept_because]
        *before, total = accumulate((each.count for each in erasable), initial=0)
        lazily = total > _FEW
        numbers = [rows // (_BATCH if lazily else _CAREFUL) for rows in before]  # of the batch of each
        for _, batch in groupby(zip(erasable, numbers, strict=True), lambda each: each[1]):
            count = _remove(search, [each.row for each, _ in batch], time, lazily)
            removed, merge = removed or bool(count), merge or lazily
            yield level, count
    if merge:
        for _ in word_tables.condense(db):
            yield "index", 0
    if removed:
        with db.write():
            index.drop_unused(db)
        db.truncate_journal(0.1)  # best effort, because retention does not promise erasure


def _remove(search: "_Search", batch: Sequence[int], time: clock.Clock, lazily: bool) -> int:
    """Erase these rows, except what has become protected meanwhile; returns how many messages or summaries went."""
    db, level = search.db, search.level
    with db.write(), changes.during(db, "removing"):
        erasable = [each.row for each in _old(replace(search, only=batch)) if not each.kept_because]
        if not erasable:
            return 0
        if level != WORKING:
            index.erase(db, "y", erasable, lazily=lazily)
            summaries.erase(db, erasable)
        else:
            of_sessions = "select id from message where session_id in (select value from json_each(?)) order by id"
            messages = db.column(of_sessions, (erasable,))
            index.erase(db, "m", messages, lazily=lazily)  # while it can read them; then what refers to them
            recall_log.erase_for_messages(db, messages)
            rows.detach(db, "task", "message_id", messages)
            callers.erase_answered(db, messages)
            facts.drop_source(db, messages)
            digest.erase(db, erasable)
            sessions.drop_openings(db, erasable)
            log.erase(db, messages)
            erasable = messages
        events.append(db, time, "retention", f"{level} {len(erasable)}", actor="program")
    return len(erasable)


# What is old, and why it is kept.

_READERS = [summaries.JOB, "learn", "reflect"]  # jobs that read a session
_DAY_PENDING = """exists (select 1 from job where kind = 'grain' and state <> 'done'
                                and subject = y.period || iif(y.owner = :person, '', ' ' || y.owner))"""
# For a session s with its summary t: whether the summary of one of its days is missing or does not contain it. A day is
# made from the summaries of sessions that lie entirely within it, and from the messages of others.
_NOT_IN_DAY_SUMMARY = f"""exists (
    select 1 from (
        select date(m.at, m.utc_offset || ' minutes') as key, max(m.at) as last, count(*) over () as days
        from said m where m.session_id = s.id and m.role in ('user', 'assistant') and m.text <> ''
          and m.model <> 'offline' group by 1) d
    left join summary y on y.owner = s.owner and y.period = d.key and y.period <> ''
    where y.id is null or y.at < d.last or (d.days = 1 and y.at < t.at)
       or not exists (select 1 from summary_source o where o.summary_id = y.id and o.sentence = 0
                      and (o.kind, o.row) in (values ('session', s.id), ('summary', t.id)))
       or {_DAY_PENDING})"""
# The same when its messages are deleted: whether no day names it, or one that does is older or pending.
_NOT_NAMED_BY_DAY = f"""(
    select count(*) = 0 or max(y.at) < s.last_at or (count(*) = 1 and max(y.at) < t.at) or max({_DAY_PENDING})
    from summary_source o join summary y on y.id = o.summary_id and y.grain = 'day'
    where o.sentence = 0 and (o.kind, o.row) in (values ('session', s.id), ('summary', t.id)))"""
_JOB_PENDING = """exists (
    select 1 from job where state <> 'done' and kind in (select value from json_each(:readers))
    and (subject = 's' || s.id
         or s.id = (select session_id from message where id = iif(subject like 'm%', substr(subject, 2), null))))"""
# (level, id) of the sources of a summary that exist and have a limit.
_REMAINING_SOURCES = """select 'working', s.id from summary_source o join session s on s.id = o.row
    where o.summary_id = ?1 and o.sentence = 0 and o.kind = 'session' and not s.pinned
      and 'working' in (select value from json_each(?2))
      and exists (select 1 from message where session_id = s.id)
    union
    select t.grain, t.id from summary_source o
      join summary t on (o.kind = 'summary' and t.id = o.row) or (o.kind = 'session' and t.session_id = o.row)
      left join session s on s.id = t.session_id
    where o.summary_id = ?1 and o.sentence = 0 and not t.pinned and not coalesce(s.pinned, 0)
      and t.grain in (select value from json_each(?2))"""


@frozen
class _Search:
    """A search for what is old of a level. `only`: the ids among which it is searched."""

    db: Database
    limits: Policy
    now: datetime
    level: str
    only: Sequence[int] | None = None
    removed: frozenset[tuple[str, int]] = frozenset()  # (level, row) of what the plan has deleted already

    def rows(self, columns: str, table: str, rest: str, **values: object) -> list[tuple[Any, ...]]:
        """The rows of a query on a table, with its alias; `rest` follows the table."""
        among = f"json_each(:only) c cross join {table} on {table.split()[1]}.id = c.value"
        values |= {"only": self.only, "person": PERSON, "readers": _READERS}
        return self.db.rows(f"select {columns} from {table if self.only is None else among} {rest}", values)


def _old(search: _Search) -> list[RetentionCandidate]:
    limit = limit_of(search.limits, search.level)
    if limit is None:
        return []
    old = {WORKING: _old_messages, SESSION: _old_session_summaries}.get(search.level, _old_period_summaries)
    return list(old(search, limit.before(search.now)))


def _old_messages(search: _Search, before: datetime) -> Iterator[RetentionCandidate]:
    for id, last_at, offset, count, reason in search.rows(
        f"""s.id, s.last_at, s.utc_offset, (select count(*) from message where session_id = s.id),
            case when s.pinned then '{PINNED}'
                 when s.closed_at is null
                      or exists (select 1 from message where session_id = s.id and finish is null) then '{OPEN}'
                 when s.kind = 'chat' and coalesce(t.at < s.last_at, true)
                      and exists (select 1 from said where session_id = s.id) then '{NOT_SUMMARISED}'
                 when {_JOB_PENDING} or {_NOT_IN_DAY_SUMMARY} then '{NOT_SUMMARISED}' else '' end""",
        "session s",
        """left join summary t on t.session_id = s.id
           where s.last_at < :before and exists (select 1 from message where session_id = s.id) order by s.id""",
        before=clock.utc(before),
    ):
        day = clock.local(last_at, offset).date().isoformat()
        yield RetentionCandidate(WORKING, id, ids.handle("session", id), day, count, reason)


def _old_session_summaries(search: _Search, before: datetime) -> Iterator[RetentionCandidate]:
    for id, session, last_at, offset, has_messages, reason in search.rows(
        f"""t.id, s.id, coalesce(t.last_at, t.at), s.utc_offset,
            exists (select 1 from message where session_id = s.id),
            case when t.pinned or s.pinned then '{PINNED}' when s.closed_at is null then '{OPEN}'
                 when t.at < s.last_at or {_JOB_PENDING} or {_NOT_IN_DAY_SUMMARY} or {_NOT_NAMED_BY_DAY}
                      then '{NOT_SUMMARISED}' else '' end""",
        "summary t",
        "join session s on s.id = t.session_id where t.grain = 'session' order by t.id",
    ):
        day = periods.containing(clock.local(last_at, offset).date(), "day")
        if day.ends_at(search.now) <= before:
            waiting = WORKING in search.limits and has_messages and (WORKING, session) not in search.removed
            because = reason or (HAS_SOURCES if waiting else "")
            yield RetentionCandidate(SESSION, id, ids.handle("summary", id), day.key, 1, because)


def _old_period_summaries(search: _Search, before: datetime) -> Iterator[RetentionCandidate]:
    limited = [each for each in LEVELS if limit_of(search.limits, each)]
    for id, owner, key, at, pinned in search.rows(
        "t.id, t.owner, t.period, t.at, t.pinned",
        "summary t",
        "where t.grain = :level order by t.period, t.id",
        level=search.level,
    ):
        period, reason = periods.parse(key), ""
        if period.ends_at(search.now) > before:
            continue
        if pinned:
            reason = PINNED
        elif not _is_summarised(search, owner, period, id, at):
            reason = NOT_SUMMARISED
        elif {*search.db.rows(_REMAINING_SOURCES, (id, limited))} - search.removed:
            reason = HAS_SOURCES
        yield RetentionCandidate(search.level, id, ids.handle("summary", id), key, 1, reason)


def _is_summarised(search: _Search, owner: str, period: periods.Period, id: int, at: str) -> bool:
    """Whether all periods around it have ended, have a later summary with this one as a source, and await no other."""
    db, around = search.db, periods.enclosing(period)
    subjects = [period_summaries.subject(owner, each.key) for each in (period, *around)]
    if any(jobs.is_pending(db, period_summaries.JOB, subject) for subject in subjects):
        return False
    includes = """select 1 from summary y join summary_source o
                    on o.summary_id = y.id and o.sentence = 0 and o.kind = 'summary' and o.row = ?
                  where y.owner = ? and y.period = ? and y.period <> '' and y.at >= ?"""
    return all(each.has_ended(search.now) and db.value(includes, (id, owner, each.key, at)) for each in around)
