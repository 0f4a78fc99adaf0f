"""Retention: deletes old messages and summaries, the finest level first, once the next level contains them.

Off by default. retention_candidates.py decides what may be deleted. A coarser summary keeps its text, its details and
the ids of deleted sources, so that it can keep their sentences when it is made anew. Facts keep their quotes, and the
input history stays. No tombstones are kept: an import may restore what was deleted.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice

from agent_cli import clock
from agent_cli.errors import ConfigError
from agent_cli.memory.conversations import callers, log, rolling_summary, sessions
from agent_cli.memory.dates import periods
from agent_cli.memory.facts import facts
from agent_cli.memory.lifecycle import retention_candidates
from agent_cli.memory.lifecycle.retention_candidates import SESSION, WORKING, RemovedRows, RetentionCandidate
from agent_cli.memory.planner import tasks
from agent_cli.memory.search import index, recall_log, word_tables
from agent_cli.memory.summaries import summaries
from agent_cli.store import events, jobs, meta
from agent_cli.store.db import Database
from agent_cli.values import frozen

JOB = "retain"
LIMITS = (WORKING, *periods.UNITS)  # levels with a limit; session summaries share that of days
LEVELS = (WORKING, SESSION, *periods.UNITS)
PRESETS = {
    "short": ("48h", "30d", "6w", "6mo", "4q", "2y"),
    "medium": ("120h", "60d", "12w", "12mo", "8q", "4y"),
    "long": ("240h", "120d", "24w", "24mo", "16q", "8y"),
}
_MONTHS = {"mo": 1, "q": 3, "y": 12}
_NAMES = {"h": "hour", "d": "day", "w": "week", "mo": "month", "q": "quarter", "y": "year"}
_BATCH = 400  # rows of a transaction: blocks other writers for a tenth of a second
_FEW, _CAREFUL = 200, 20  # up to this many rows the index pages are rewritten at once, this many rows in a transaction
_KEY = "retained"  # in meta: when this was last queued
_PAUSE = timedelta(days=1)


@frozen
class Limit:
    """An age limit."""

    count: int
    unit: str  # h, d, w, mo, q, y

    def __str__(self) -> str:
        return f"{self.count} {_NAMES[self.unit]}{'s' if self.count > 1 else ''}"

    def before(self, now: datetime) -> datetime:
        """The moment before which everything is old; by months, the same day and hour, or the last day of the month."""
        never = datetime.min.replace(year=2, tzinfo=now.tzinfo)  # older than anything
        if self.unit not in _MONTHS:
            hours = self.count * {"h": 1, "d": 24, "w": 168}[self.unit]
            return now - timedelta(hours=hours) if hours < (now - never) / timedelta(hours=1) else never
        month = now.year * 12 + now.month - 1 - self.count * _MONTHS[self.unit]
        if month // 12 < never.year:
            return never
        first = now.replace(year=month // 12, month=month % 12 + 1, day=1)
        last = periods.containing(first.date(), "month").end - timedelta(days=1)
        return first.replace(day=min(now.day, last.day))


Policy = Mapping[str, Limit]
"""The limit of each level that has one; the others are kept."""


def policy(table: Mapping[str, str]) -> Policy:
    """The limits of the setting `retention`. Raises ConfigError."""
    ages = dict(zip(LIMITS, PRESETS[table["preset"]], strict=True)) if "preset" in table else {}
    ages |= {level: value for level, value in table.items() if level != "preset"}
    return {level: _limit(level, ages[level]) for level in LIMITS if ages.get(level, "keep") != "keep"}


def _limit(level: str, age: str) -> Limit:
    match = re.fullmatch(r"(\d+) ?(h|d|w|mo|q|y)", age)
    if match is None:
        raise ConfigError(f'retention: {level} = {age!r} must be "keep" or an age, as in "48h" or "6mo"')
    return Limit(int(match[1]), match[2])


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
        found += _old(db, limits, level, now, removed=removed)
    return found


def run(db: Database, limits: Policy, time: clock.Clock) -> Iterator[tuple[str, int]]:
    """Delete what may be deleted, the finest level first; yields (level, rows) after each batch, a transaction.

    The caller may stop after any batch; the next run continues.
    """
    now = time()
    removed = merge = False
    for level in LEVELS:
        erasable = [each for each in _old(db, limits, level, now) if not each.kept_because]
        lazily = sum(each.count for each in erasable) > _FEW
        for batch in _batches(db, level, [each.row for each in erasable], _BATCH if lazily else _CAREFUL):
            count = _remove(db, limits, level, batch, now, time, lazily)
            removed, merge = removed or bool(count), merge or lazily
            yield level, count
    if merge:
        for _ in word_tables.condense(db):
            yield "index", 0
    if removed:
        with db.write():
            index.drop_unused(db)
        db.truncate_journal(0.1)  # best effort, because retention does not promise erasure


def stored_counts(db: Database) -> dict[str, int]:
    """The number of messages, and of summaries of each level."""
    counted: dict[str, int] = dict(db.rows("select grain, count(*) from summary group by grain"))
    return {WORKING: db.value("select count(*) from message"), **{level: counted.get(level, 0) for level in LEVELS[1:]}}


def limit_of(limits: Policy, level: str) -> Limit | None:
    return limits.get("day" if level == SESSION else level)


def _old(
    db: Database,
    limits: Policy,
    level: str,
    now: datetime,
    only: Sequence[int] | None = None,
    removed: RemovedRows = frozenset(),
) -> list[RetentionCandidate]:
    limit = limit_of(limits, level)
    if limit is None:
        return []
    before = limit.before(now)
    if level == WORKING:
        return retention_candidates.messages(db, before, only)
    if level == SESSION:
        return retention_candidates.of_sessions(db, before, now, only, working=WORKING in limits, removed=removed)
    limited = [each for each in LEVELS if limit_of(limits, each)]
    return retention_candidates.of_periods(db, level, before, now, only, limited=limited, removed=removed)


def _batches(db: Database, level: str, erasable: Sequence[int], size: int) -> Iterator[list[tuple[int, int]]]:
    """Batches of (session, message), or of (summary, summary)."""
    rows = iter([(row, row) for row in erasable])
    if level == WORKING:
        rows = (
            (session, message)
            for session in erasable
            for (message,) in db.rows("select id from message where session_id = ? order by id", (session,))
        )
    while batch := list(islice(rows, size)):
        yield batch


def _remove(
    db: Database,
    limits: Policy,
    level: str,
    batch: Sequence[tuple[int, int]],
    now: datetime,
    time: clock.Clock,
    lazily: bool,
) -> int:
    """Erase a batch, except what has become protected meanwhile; returns the number of rows."""
    with db.write():
        rows = list(dict.fromkeys(row for row, _ in batch))
        removable = {each.row for each in _old(db, limits, level, now, only=rows) if not each.kept_because}
        erasable = [part for row, part in batch if row in removable]
        if not erasable:
            return 0
        (index.erase_lazily if lazily else index.erase_many)(db, "m" if level == WORKING else "y", erasable)
        if level == WORKING:
            _erase_messages(db, sorted(removable), erasable)
        else:
            summaries.erase(db, erasable)
        events.append(db, time, "retention", f"{level} {len(erasable)}", actor="program")
    return len(erasable)


def _erase_messages(db: Database, sessions_: Sequence[int], erasable: Sequence[int]) -> None:
    """Erase messages after all references to them; the index has removed them already, while it could read them."""
    recall_log.erase_for_messages(db, erasable)
    tasks.detach(db, (), erasable)
    callers.erase_answered(db, erasable)
    facts.drop_source(db, erasable)
    rolling_summary.erase(db, sessions_)
    sessions.drop_openings(db, sessions_)
    log.erase(db, erasable)
