"""Days, weeks, months, quarters and years, by the keys a person types: 2026-11-20, 2026-W47, 2026-11, 2026-Q4, 2026.

Each is made of finer ones. Weeks are those of ISO 8601, and at the ends of a month a week is torn: so a month is made
of the weeks that lie whole in it and of single days before and after them; nothing falls into two months or into none.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from agent_cli import clock
from agent_cli.errors import UsageError

GRAINS = ("day", "week", "month", "quarter", "year")
_KEYS = {
    "day": r"\d{4}-\d\d-\d\d",
    "week": r"\d{4}-W\d\d",
    "month": r"\d{4}-\d\d",
    "quarter": r"\d{4}-Q[1-4]",
    "year": r"\d{4}",
}


@dataclass(frozen=True, order=True)
class Period:
    """From `first`, before `end`."""

    first: date
    end: date
    grain: str
    key: str

    def holds(self, other: "Period") -> bool:
        """Whether all of another lies in it."""
        return self.first <= other.first and other.end <= self.end

    def over(self, now: datetime) -> bool:
        """Whether it has ended, by the person's clock."""
        return self.end <= now.date()

    def ends_at(self, now: datetime) -> datetime:
        """The midnight at which it ends, in the time zone of the present."""
        return datetime.combine(self.end, time(), now.tzinfo)


def of(day: date, grain: str) -> Period:
    """The period of a grain that a day lies in."""
    match grain:
        case "day":
            return Period(day, day + timedelta(days=1), grain, day.isoformat())
        case "week":
            first = day - timedelta(days=day.weekday())
            year, week, _ = day.isocalendar()
            return Period(first, first + timedelta(days=7), grain, f"{year:04}-W{week:02}")
        case "month":
            return _months(day.year, day.month, 1, grain, f"{day.year:04}-{day.month:02}")
        case "quarter":
            quarter = (day.month + 2) // 3
            return _months(day.year, 3 * quarter - 2, 3, grain, f"{day.year:04}-Q{quarter}")
        case "year":
            return _months(day.year, 1, 12, grain, f"{day.year:04}")
    raise ValueError(grain)


def parse(words: str) -> Period:
    """The period of a key. Raises UsageError."""
    key = told.strip().upper()
    for grain, pattern in _KEYS.items():
        if re.fullmatch(pattern, key):
            try:
                if not 1 < int(key[:4]) < 9999:  # there the calendar has no day before, or none after
                    raise ValueError(key)
                return of(_first(grain, key), grain)
            except (ValueError, OverflowError) as error:
                raise UsageError(f"there is no {grain} {key} in the calendar") from error
    raise UsageError(f"{told!r} is no period: write it like 2026-11-20, 2026-W47, 2026-11, 2026-Q4 or 2026")


def named(told: str, now: datetime) -> Period:
    """The period of a key, or the present one of a grain, as in `week`. Raises UsageError."""
    if told.strip().lower() in ("today", *GRAINS):
        return of(now.date(), "day" if told.strip().lower() == "today" else told.strip().lower())
    if told.strip().lower() == "yesterday":
        return of(now.date() - timedelta(days=1), "day")
    return parse(told)


def finer(period: Period) -> list[Period]:
    """What its summary is made of, in order; of a day nothing."""
    match period.grain:
        case "week":
            return [of(day, "day") for day in _days(period.first, period.end)]
        case "month":
            weeks = {of(day, "week") for day in _days(period.first, period.end)}
            whole = {week for week in weeks if period.holds(week)}
            torn = [day for day in _days(period.first, period.end) if of(day, "week") not in whole]
            return sorted([*whole, *(of(day, "day") for day in torn)])
        case "quarter":
            return _every(period, 1, "month")
        case "year":
            return _every(period, 3, "quarter")
    return []


def within(period: Period) -> list[Period]:
    """All that its summary is made of, down to the days, the finest first; itself last."""
    found, level = {period}, {period}
    while level := {part for each in level for part in finer(each)}:
        found |= level
    return ordered(found)


def above(period: Period) -> list[Period]:
    """All whose summaries are made of its own, up to the year, the finest first."""
    found: set[Period] = set()
    level = {period}
    while level := {whole for each in level for whole in coarser(each)}:
        found |= level
    return ordered(found)


def ordered(found: Iterable[Period]) -> list[Period]:
    """The finest first, and those of one grain as they follow each other."""
    return sorted(found, key=lambda each: (GRAINS.index(each.grain), each))


def coarser(period: Period) -> list[Period]:
    """Those whose summaries are made of its own: of a day in a torn week two."""
    day = period.first
    match period.grain:
        case "day":
            week, month = of(day, "week"), of(day, "month")
            return [week] if month.holds(week) else [week, month]
        case "week":
            month = of(day, "month")
            return [month] if month.holds(period) else []
        case "month":
            return [of(day, "quarter")]
        case "quarter":
            return [of(day, "year")]
    return []


def day_of(stored: str, minutes: int) -> date:
    """The day of a stored time, as the person's clock and calendar showed it then."""
    return clock.local(stored, minutes).date()


def _first(grain: str, key: str) -> date:
    year = int(key[:4])
    match grain:
        case "day":
            return date.fromisoformat(key)
        case "week":
            return date.fromisocalendar(year, int(key[6:]), 1)
        case "month":
            return date(year, int(key[5:]), 1)
        case "quarter":
            return date(year, 3 * int(key[6:]) - 2, 1)
    return date(year, 1, 1)


def _months(year: int, month: int, count: int, grain: str, key: str) -> Period:
    end = year * 12 + month - 1 + count  # in months since the year 0
    return Period(date(year, month, 1), date(end // 12, end % 12 + 1, 1), grain, key)


def _every(period: Period, months: int, grain: str) -> list[Period]:
    first = period.first.month
    count = 3 if period.grain == "quarter" else 12
    return [of(period.first.replace(month=month), grain) for month in range(first, first + count, months)]


def _days(first: date, end: date) -> list[date]:
    return [first + timedelta(days=n) for n in range((end - first).days)]
