"""Retention: what is old goes, the finest first, once the grain above has taken it in. Off until the person says so.

Whether a thing has been taken in is told in taken_in.py. What is left keeps its text, its details and the numbers of
what it was made from, which are there no more: so a summary that is made anew keeps the sentences that came of them.
Facts keep their quotes, and the input history stays. Nothing is remembered as forgotten: an import may bring it back.
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
from agent_cli.memory.search import index, recall_log
from agent_cli.memory.summaries import summaries
from agent_cli.store import events, jobs, meta
from agent_cli.store.db import Database
from agent_cli.values import frozen

JOB = "retain"
LIMITS = (WORKING, *periods.UNITS)  # what has a limit of its own: a session's summary has that of a day
LEVELS = (WORKING, SESSION, *periods.UNITS)
PRESETS = {
    "short": ("48h", "30d", "6w", "6mo", "4q", "2y"),
    "medium": ("120h", "60d", "12w", "12mo", "8q", "4y"),
    "long": ("240h", "120d", "24w", "24mo", "16q", "8y"),
}
_MONTHS = {"mo": 1, "q": 3, "y": 12}
_NAMES = {"h": "hour", "d": "day", "w": "week", "mo": "month", "q": "quarter", "y": "year"}
_BATCH = 400  # rows of a transaction: a tenth of a second, in which nobody else can write
_FEW, _CAREFUL = 200, 20  # up to so many rows each leaves the pages of the index at once, so many in a transaction
_KEY = "retained"  # in meta: when this was last queued
_PAUSE = timedelta(days=1)


@frozen
class Limit:
    """How long something is kept."""

    count: int
    unit: str  # h, d, w, mo, q, y

    def __str__(self) -> str:
        return f"{self.count} {_NAMES[self.unit]}{'s' if self.count > 1 else ''}"

    def before(self, now: datetime) -> datetime:
        """What was over by then is old. Of months the same day and hour, or the last day of a shorter month."""
        never = datetime.min.replace(year=2, tzinfo=now.tzinfo)  # nothing is so old
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
"""The limit of each grain that has one; what has none is kept."""


def policy(table: Mapping[str, str]) -> Policy:
    """What the setting means. Raises ConfigError."""
    ages = dict(zip(LIMITS, PRESETS[table["preset"]], strict=True)) if "preset" in table else {}
    ages |= {level: value for level, value in table.items() if level != "preset"}
    return {grain: _limit(grain, ages[grain]) for grain in LIMITS if ages.get(grain, "keep") != "keep"}


def _limit(level: str, age: str) -> Limit:
    match = re.fullmatch(r"(\d+) ?(h|d|w|mo|q|y)", age)
    if match is None:
        raise ConfigError(f'retention: {level} = {age!r} must be "keep" or an age, as in "48h" or "6mo"')
    return Limit(int(match[1]), match[2])


def queue(db: Database, now: datetime) -> None:
    """Have it done, at most once a day."""
    if meta.is_due(db, _KEY, now, _PAUSE):
        with db.write():
            meta.stamp(db, _KEY, now)
            jobs.add(db, JOB, "all", now)


def plan(db: Database, limits: Policy, now: datetime) -> list[RetentionCandidate]:
    """All that is old, the finest first, and of each why it stays, or nothing: then it would go now."""
    found: list[RetentionCandidate] = []
    for level in LEVELS:
        removed = frozenset((each.level, each.row) for each in found if not each.kept_because)
        found += _old(db, limits, level, now, removed=removed)
    return found


def run(db: Database, limits: Policy, time: clock.Clock) -> Iterator[tuple[str, int]]:
    """Remove what may go, the finest first, a transaction for each batch; gives (grain, rows) after each.

    Whoever runs it may stop after any batch: what is left goes the next time.
    """
    now = time()
    removed = merge = False
    for level in LEVELS:
        going = [each for each in _old(db, limits, level, now) if not each.kept_because]
        lazily = sum(each.count for each in going) > _FEW
        for batch in _batches(db, level, [each.row for each in going], _BATCH if lazily else _CAREFUL):
            count = _remove(db, limits, level, batch, now, time, lazily)
            removed, merge = removed or bool(count), merge or lazily
            yield level, count
    if merge:
        for _ in index.condense(db):
            yield "index", 0
    if removed:
        with db.write():
            index.drop_unused(db)
        db.truncate_journal(0.1)  # best effort: nobody asked that this be beyond recovery


def stored_counts(db: Database) -> dict[str, int]:
    """How many messages there are, and summaries of each grain."""
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


def _batches(db: Database, level: str, going: Sequence[int], size: int) -> Iterator[list[tuple[int, int]]]:
    """(session, message) of what goes, or the numbers of summaries twice, so many at a time."""
    rows = iter([(row, row) for row in going])
    if level == WORKING:
        rows = (
            (session, message)
            for session in going
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
    """Erase a batch, but for what has come to be kept meanwhile."""
    with db.write():
        rows = list(dict.fromkeys(row for row, _ in batch))
        removable = {each.row for each in _old(db, limits, level, now, only=rows) if not each.kept_because}
        going = [part for row, part in batch if row in removable]
        if not going:
            return 0
        (index.erase_lazily if lazily else index.erase_many)(db, "m" if level == WORKING else "y", going)
        if level == WORKING:
            _erase_messages(db, sorted(removable), going)
        else:
            summaries.erase(db, going)
        events.append(db, time, "retention", f"{level} {len(going)}", actor="program")
    return len(going)


def _erase_messages(db: Database, sessions_: Sequence[int], going: Sequence[int]) -> None:
    """Whoever refers to a message goes before it; the index has been told already, by its very words."""
    recall_log.erase_for_messages(db, going)
    tasks.detach(db, (), going)
    callers.erase_answered(db, going)
    facts.drop_source(db, going)
    rolling_summary.erase(db, sessions_)
    sessions.drop_openings(db, sessions_)
    log.erase(db, going)
