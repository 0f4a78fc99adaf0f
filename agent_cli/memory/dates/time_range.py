"""The range of days that a question names: "last week", "in March", "before 3 May", "gestern", "letzte Woche".

By rules. The libraries that find dates in free text take 0.3 s to import, and read "may" and "sun" in plain sentences
as dates; here a word counts only with the preposition that makes it a time.
"""

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta

from agent_cli.memory.language import date_phrases, languages
from agent_cli.text import Pattern
from agent_cli.values import frozen


@frozen
class TimeRange:
    """From `since` up to `until` (exclusive), in the zone of `now`; None is open. `words`: the words matched."""

    since: datetime | None
    until: datetime | None
    words: str

    def has_passed(self, now: datetime) -> bool:
        """Whether nothing of it is to come, but the rest of today at the end of a longer time."""
        began_before = self.since is not None and self.since.date() < now.date()
        return self.until is not None and self.until <= now + timedelta(days=began_before)


_Bounds = tuple[datetime | None, datetime | None]
_Rule = tuple[Pattern | re.Pattern[str], Callable[[dict[str, str], datetime], _Bounds]]
_HINT = languages.pattern("<DATE_HINTS>")
_MAX_QUESTION = 2000  # characters of one that count, as in a search


def find(question: str, now: datetime) -> TimeRange | None:
    """The range that a question names, or None."""
    question = question[:_MAX_QUESTION]
    if not (date_phrases.may_hold_date(question) or _HINT.search(question)):
        return None  # most questions: no rule is compiled
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    for pattern, make in _RULES:
        for match in pattern.finditer(question):
            try:
                since, until = make(date_phrases.groups(match), today)
            except (ValueError, OverflowError, LookupError):
                continue  # 31 February, the year 9999, a look-alike letter in a month
            return TimeRange(since, until, match[0])
    return None


def _dated(parts: dict[str, str], today: datetime) -> _Bounds:
    return date_phrases.days(parts["date"], today, ahead=False)


def _relative(parts: dict[str, str], today: datetime) -> _Bounds:
    """Raises ValueError for what is to come."""
    if "ago" in parts:
        days = (1, 7, 30, 365)[date_phrases.index(parts["unit"], date_phrases.DAY_UNITS)]
        around, slack = today - timedelta(days=date_phrases.number(parts["number"]) * days), days // 4
        return around - timedelta(days=slack), around + timedelta(days=slack + 1)
    unit, first = date_phrases.relative_days(parts, today)
    if first > today or "until" in parts:
        raise ValueError
    return first, None if "since" in parts else date_phrases.end_of(unit, first)


def _weekday(parts: dict[str, str], today: datetime) -> _Bounds:
    first = date_phrases.weekday(today, parts["day"], -1)
    return first, date_phrases.end_of("day", first)


def _last_units(parts: dict[str, str], today: datetime) -> _Bounds:
    """The last so many days, weeks, months or years, with today; a few are three, of days seven."""
    days = (1, 7, 30, 365)[date_phrases.index(parts["unit"], date_phrases.DAY_UNITS)]
    few = 7 if days == 1 else 3
    many = date_phrases.number(parts["number"]) if "number" in parts else few
    return today - timedelta(days=many * days), today + timedelta(days=1)


def _week(parts: dict[str, str], today: datetime) -> _Bounds:
    """The calendar week of this number that began last, or that of a year. Raises ValueError."""
    year = int(parts["year"]) if "year" in parts else today.isocalendar()[0]
    day = date.fromisocalendar(year, int(parts["number"]), 1)
    if "year" not in parts and day > today.date():
        day = date.fromisocalendar(year - 1, int(parts["number"]), 1)
    first = today.replace(year=day.year, month=day.month, day=day.day)
    return first, first + timedelta(days=7)


def _quarter(parts: dict[str, str], today: datetime) -> _Bounds:
    """The present quarter, the last one, or one by its number, of a year or the last that began."""
    first = today.replace(month=(today.month - 1) // 3 * 3 + 1, day=1)
    if "last" in parts:
        first = date_phrases.month(first, -3)
    elif "number" in parts:
        begun = int(parts["number"]) * 3 - 2 <= today.month
        year = int(parts["year"]) if "year" in parts else today.year - (not begun)
        first = today.replace(year=year, month=int(parts["number"]) * 3 - 2, day=1)
    return first, date_phrases.month(first, 3)


_DAY_UNITS = "|".join(date_phrases.DAY_UNITS)
_PLURAL = "|".join(unit.removesuffix("?") for language in languages.ALL for unit in language.TIME_UNITS.split()[3:])
_OF_YEAR = rf"(?:,?\s+(?:of\s+)?(?P<year>{date_phrases.YEAR}))?"
_RULES: tuple[_Rule, ...] = (
    (
        languages.pattern(rf"\b<UP_TO>\s+(?:the\s+)?(?P<date>{date_phrases.DAY_DATE})\b"),
        lambda parts, today: (None, _dated(parts, today)[0]),
    ),
    (
        languages.pattern(rf"\b<SINCE_THEN>\s+(?:the\s+)?(?P<date>{date_phrases.DAY_DATE})\b"),
        lambda parts, today: (_dated(parts, today)[0], None),
    ),
    (languages.pattern(rf"\b(?P<date>{date_phrases.DAY_DATE})\b"), _dated),
    (
        languages.pattern(
            languages.spaced(
                rf"\b<LAST_UNITS> (?:(?:<FEW>|(?P<number>{date_phrases.NUMBER})) (?P<unit>{_DAY_UNITS})"
                rf"|(?P<unit2>{_PLURAL}))\b"
            )
        ),
        _last_units,
    ),
    *((date_phrases.relative(language), _relative) for language in languages.ALL),
    (
        languages.pattern(
            languages.spaced(rf"\b(?:<IN_WEEK>) (?P<number>\d{{1,2}})\b{_OF_YEAR}(?! <OF_WHAT_FOLLOWS>)")
        ),
        _week,
    ),
    (languages.pattern(rf"\b(?P<year>{date_phrases.YEAR})-W(?P<number>\d\d)\b"), _week),
    (
        languages.pattern(
            languages.spaced(
                rf"\b(?:(?:(?P<last><LAST>)|<THIS>) <QUARTER>|(?:<IN_MONTH> )?Q(?P<number>[1-4])\b{_OF_YEAR})"
            )
        ),
        _quarter,
    ),
    (languages.pattern(rf"\b(?P<year>{date_phrases.YEAR})-Q(?P<number>[1-4])\b"), _quarter),
    (languages.pattern(rf"\b<ON_DAY>\s+(?P<day>{date_phrases.DAY})\b"), _weekday),
    (languages.pattern(rf"\b<IN_MONTH>\s+(?P<date>{date_phrases.MONTH_DATE})\b"), _dated),
    (
        languages.pattern(
            rf"\b(?P<date>{date_phrases.MONTH_OF_YEAR})\b|\b<IN_YEAR>\s+(?P<date2>{date_phrases.YEAR})\b"
        ),
        _dated,
    ),
)
