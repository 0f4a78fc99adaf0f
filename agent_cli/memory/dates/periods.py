"""Days, weeks, months, quarters and years, with the keys a person types: 2026-11-20, 2026-W47, 2026-11, 2026-Q4, 2026.

Each consists of smaller periods. Weeks are those of ISO 8601. A month consists of the weeks that lie wholly in it and
of the single days before and after them, so that each day belongs to exactly one month.
"""

import re
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

from agent_cli import clock
from agent_cli.errors import UsageError

UNITS = ("day", "week", "month", "quarter", "year")
_KEYS = {
    "day": r"\d{4}-\d\d-\d\d",
    "week": r"\d{4}-W\d\d",
    "month": r"\d{4}-\d\d",
    "quarter": r"\d{4}-Q[1-4]",
    "year": r"\d{4}",
}


class Period(NamedTuple):  # compared by its first day
    """The days from `first` up to but not including `end`."""

    first: date
    end: date
    unit: str
    key: str

    def contains(self, other: "Period") -> bool:
        """Whether it includes all of the other period."""
        return self.first <= other.first and other.end <= self.end

    def has_ended(self, now: datetime) -> bool:
        """Whether it has ended, by the person's clock."""
        return self.end <= now.date()

    def ends_at(self, now: datetime) -> datetime:
        """The midnight at which it ends, in the time zone of the present."""
        return datetime.combine(self.end, time(), now.tzinfo)


def containing(day: date, unit: str) -> Period:
    """The period of this unit that contains a day."""
    match unit:
        case "day":
            return Period(day, day + timedelta(days=1), unit, day.isoformat())
        case "week":
            first = day - timedelta(days=day.weekday())
            year, week, _ = day.isocalendar()
            return Period(first, first + timedelta(days=7), unit, f"{year:04}-W{week:02}")
        case "month":
            return _of_months(day.year, day.month, 1, unit, f"{day.year:04}-{day.month:02}")
        case "quarter":
            quarter = (day.month + 2) // 3
            return _of_months(day.year, 3 * quarter - 2, 3, unit, f"{day.year:04}-Q{quarter}")
        case "year":
            return _of_months(day.year, 1, 12, unit, f"{day.year:04}")
    raise ValueError(unit)


def parse(words: str) -> Period:
    """The period of a key. Raises UsageError."""
    key = words.strip().upper()
    for unit, pattern in _KEYS.items():
        if re.fullmatch(pattern, key):
            try:
                if not 1 < int(key[:4]) < 9999:  # datetime has no day before year 1 or after year 9999
                    raise ValueError(key)
                return containing(_first_day(unit, key), unit)
            except (ValueError, OverflowError) as error:
                raise UsageError(f"there is no {unit} {key} in the calendar") from error
    raise UsageError(f"{words!r} is not a period: write it like 2026-11-20, 2026-W47, 2026-11, 2026-Q4 or 2026")


def from_words(words: str, now: datetime) -> Period:
    """The period of a key, or the present one of a unit, as in `week`. Raises UsageError."""
    if words.strip().lower() in ("today", *UNITS):
        return containing(now.date(), "day" if words.strip().lower() == "today" else words.strip().lower())
    if words.strip().lower() == "yesterday":
        return containing(now.date() - timedelta(days=1), "day")
    return parse(words)


def parts(period: Period) -> list[Period]:
    """The next smaller periods it consists of, in order; none for a day."""
    match period.unit:
        case "week":
            return [containing(day, "day") for day in _days(period.first, period.end)]
        case "month":
            weeks = {containing(day, "week") for day in _days(period.first, period.end)}
            whole = {week for week in weeks if period.contains(week)}
            torn = [day for day in _days(period.first, period.end) if containing(day, "week") not in whole]
            return sorted([*whole, *(containing(day, "day") for day in torn)])
        case "quarter":
            return _of_year_part(period, 1, "month")
        case "year":
            return _of_year_part(period, 3, "quarter")
    return []


def all_parts(period: Period) -> list[Period]:
    """All smaller periods it consists of, down to the days, the smallest units first; itself last."""
    found, level = {period}, {period}
    while level := {part for each in level for part in parts(each)}:
        found |= level
    return in_order(found)


def all_enclosing(period: Period) -> list[Period]:
    """All larger periods it is a part of, up to the year, the smallest units first."""
    found: set[Period] = set()
    level = {period}
    while level := {whole for each in level for whole in enclosing(each)}:
        found |= level
    return in_order(found)


def in_order(found: Iterable[Period]) -> list[Period]:
    """Sorted by unit, the smallest first, then by time."""
    return sorted(found, key=lambda each: (UNITS.index(each.unit), each))


def enclosing(period: Period) -> list[Period]:
    """The next larger periods it is a part of; two for a day whose week lies in two months."""
    day = period.first
    match period.unit:
        case "day":
            week, month = containing(day, "week"), containing(day, "month")
            return [week] if month.contains(week) else [week, month]
        case "week":
            month = containing(day, "month")
            return [month] if month.contains(period) else []
        case "month":
            return [containing(day, "quarter")]
        case "quarter":
            return [containing(day, "year")]
    return []


def day_of(stored: str, minutes: int) -> date:
    """The local day of a stored UTC time; `minutes` is the offset stored with it."""
    return clock.local(stored, minutes).date()


def _first_day(unit: str, key: str) -> date:
    year = int(key[:4])
    match unit:
        case "day":
            return date.fromisoformat(key)
        case "week":
            return date.fromisocalendar(year, int(key[6:]), 1)
        case "month":
            return date(year, int(key[5:]), 1)
        case "quarter":
            return date(year, 3 * int(key[6:]) - 2, 1)
    return date(year, 1, 1)


def _of_months(year: int, month: int, count: int, unit: str, key: str) -> Period:
    end = year * 12 + month - 1 + count  # in months since the year 0
    return Period(date(year, month, 1), date(end // 12, end % 12 + 1, 1), unit, key)


def _of_year_part(period: Period, months: int, unit: str) -> list[Period]:
    first = period.first.month
    count = 3 if period.unit == "quarter" else 12
    return [containing(period.first.replace(month=month), unit) for month in range(first, first + count, months)]


def _days(first: date, end: date) -> list[date]:
    return [first + timedelta(days=n) for n in range((end - first).days)]
