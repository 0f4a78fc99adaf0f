"""Days, weeks, months, quarters and years, with the keys a person types: 2026-11-20, 2026-W47, 2026-11, 2026-Q4, 2026.

Each consists of smaller periods. Weeks are those of ISO 8601. A month consists of the weeks that lie wholly in it and
of the single days before and after them, so that each day belongs to exactly one month.
"""

import re
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

from agent_cli.errors import UsageError

_KEYS = {"day": r"\d{4}-\d\d-\d\d", "week": r"\d{4}-W\d\d", "month": r"\d{4}-\d\d", "quarter": r"\d{4}-Q[1-4]"}
_KEYS["year"] = r"\d{4}"
UNITS = tuple(_KEYS)
_SMALLER = {"day": "", "week": "day", "month": "day week", "quarter": "month", "year": "quarter"}


class Period(NamedTuple):  # compared by its first day
    """The days from `first` up to but not including `end`."""

    first: date
    end: date
    unit: str
    key: str

    def contains(self, other: "Period") -> bool:
        return self.first <= other.first and other.end <= self.end

    def has_ended(self, now: datetime) -> bool:
        return self.end <= now.date()

    def ends_at(self, now: datetime) -> datetime:
        """The midnight at which it ends, in the time zone of the present."""
        return datetime.combine(self.end, time(), now.tzinfo)


def containing(day: date, unit: str) -> Period:
    if unit == "day":
        return Period(day, day + timedelta(days=1), unit, day.isoformat())
    if unit == "week":
        first = day - timedelta(days=day.weekday())
        year, week, _ = day.isocalendar()
        return Period(first, first + timedelta(days=7), unit, f"{year:04}-W{week:02}")
    months = {"month": 1, "quarter": 3, "year": 12}[unit]
    first_month = (day.month - 1) // months * months  # from 0
    end = day.year * 12 + first_month + months  # in months since the year 0
    keys = {"month": f"-{day.month:02}", "quarter": f"-Q{first_month // 3 + 1}", "year": ""}
    first = day.replace(month=first_month + 1, day=1)
    return Period(first, date(end // 12, end % 12 + 1, 1), unit, f"{day.year:04}{keys[unit]}")


def parse(words: str) -> Period:
    """The period of a key. Raises UsageError."""
    key = words.strip().upper()
    unit = next((unit for unit, pattern in _KEYS.items() if re.fullmatch(pattern, key)), "")
    if not unit:
        raise UsageError(f"{words!r} is not a period: write it like 2026-11-20, 2026-W47, 2026-11, 2026-Q4 or 2026")
    first = key + {"week": "-1", "month": "-01", "year": "-01-01"}.get(unit, "")
    if unit == "quarter":
        first = f"{key[:5]}{3 * int(key[-1]) - 2:02}-01"
    try:
        if not 1 < int(key[:4]) < 9999:  # datetime has no day before year 1 or after year 9999
            raise ValueError(key)
        return containing(date.fromisoformat(first), unit)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"there is no {unit} {key} in the calendar") from error


def from_words(words: str, now: datetime) -> Period:
    """The period of a key, or the present one of a unit, as in `week`. Raises UsageError."""
    word = words.strip().lower()
    if word in ("today", "yesterday", *UNITS):
        day = now.date() - timedelta(days=word == "yesterday")
        return containing(day, word if word in UNITS else "day")
    return parse(words)


def parts(period: Period) -> list[Period]:
    """The next smaller periods it consists of, in order; none for a day."""
    days = [period.first + timedelta(days=n) for n in range((period.end - period.first).days)]
    smaller = {containing(day, unit) for day in days for unit in _SMALLER[period.unit].split()}
    return sorted(each for each in smaller if period.unit != "month" or period in enclosing(each))


def with_all(related: Callable[[Period], list[Period]], period: Period) -> list[Period]:
    """Itself with all its `parts`, or with all that are `enclosing` it, the smallest units first."""
    found = level = {period}
    while level := {other for each in level for other in related(each)}:
        found = found | level
    return in_order(found)


def in_order(found: Iterable[Period]) -> list[Period]:
    """Sorted by unit, the smallest first, then by time."""
    return sorted(found, key=lambda each: (UNITS.index(each.unit), each))


def enclosing(period: Period) -> list[Period]:
    """The next larger periods it is a part of; two for a day whose week lies in two months."""
    if period.unit == "year":
        return []
    larger = containing(period.first, UNITS[UNITS.index(period.unit) + 1])
    if period.unit == "week":
        return [larger] if larger.contains(period) else []
    month = containing(period.first, "month")
    return [larger, month] if period.unit == "day" and not month.contains(larger) else [larger]
