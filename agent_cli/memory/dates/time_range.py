"""The range of days that a question names: "last week", "in March", "before 3 May", "gestern", "letzte Woche".

By rules, in English and German. The libraries that find dates in free text take 0.3 s to import, and read "may" and
"sun" in plain sentences as dates; here a word counts only with the preposition that makes it a time.
"""

import re
from collections.abc import Callable
from datetime import datetime, timedelta

from agent_cli.memory.language.date_phrases import MONTHS, NUMBERS
from agent_cli.values import frozen

_MONTH = "|".join(MONTHS)
DAYS = (
    "monday|montag",
    "tuesday|dienstag",
    "wednesday|mittwoch",
    "thursday|donnerstag",
    "friday|freitag",
    "saturday|samstag|sonnabend",
    "sunday|sonntag",
)
_UNITS = {"day": 1, "tag": 1, "week": 7, "woch": 7, "month": 30, "monat": 30, "year": 365, "jahr": 365}


_HINTS = (  # every match contains one of them, or a digit
    *(name for names in (*MONTHS, *DAYS) for name in names.split("|")),
    *_UNITS,
    "yesterday",
    "last night",
    "gestern",
    "today",
    "this morning",
    "heute",
)


@frozen
class TimeRange:
    """From `since` up to `until` (exclusive), in the zone of `now`; None is open. `words`: the words matched."""

    since: datetime | None
    until: datetime | None
    words: str


def find(question: str, now: datetime) -> TimeRange | None:
    """The range that a question names, or None."""
    folded = question.casefold()
    if not (any(hint in folded for hint in _HINTS) or any(letter.isdigit() for letter in folded)):
        return None  # most questions: no rule is compiled
    for pattern, make in _RULES:
        match = re.search(pattern, question, re.IGNORECASE)
        if match:
            try:
                since, until = make(match, now.replace(hour=0, minute=0, second=0, microsecond=0))
            except (ValueError, OverflowError, LookupError):
                continue  # 31 February, the year 9999, a look-alike letter in a month
            return TimeRange(since, until, match[0])
    return None


_Bounds = tuple[datetime | None, datetime | None]
_RangeRule = tuple[str, Callable[[re.Match[str], datetime], _Bounds]]  # compiled when first used: 10 ms


def _rule(pattern: str, make: Callable[[re.Match[str], datetime], _Bounds]) -> _RangeRule:
    return rf"\b(?:{pattern})\b", make


def _days(start: datetime, count: int) -> _Bounds:
    return start, start + timedelta(days=count)


def _week(day: datetime, back: int) -> _Bounds:
    return _days(day - timedelta(days=day.weekday() + 7 * back), 7)


def _month(day: datetime, back: int = 0) -> _Bounds:
    months = day.year * 12 + day.month - 1 - back
    start = day.replace(year=months // 12, month=months % 12 + 1, day=1)
    return start, (start + timedelta(days=32)).replace(day=1)


def _year(day: datetime, back: int = 0) -> _Bounds:
    start = day.replace(year=day.year - back, month=1, day=1)
    return start, start.replace(year=start.year + 1)


def number(word: str) -> int:
    """A number in digits or words. Raises LookupError."""
    return int(word) if word.isdigit() else NUMBERS[word.lower()]


def _days_of_unit(word: str) -> int:
    return {word.lower().startswith(begin): days for begin, days in _UNITS.items()}[True]


def index_of(word: str, names: tuple[str, ...]) -> int:
    """The index of a name in MONTHS or DAYS. Raises ValueError."""
    return [word.lower() in name.split("|") for name in names].index(True)


def _in_month(match: re.Match[str], day: datetime) -> _Bounds:
    month = index_of(match["month"], MONTHS) + 1
    year = int(match["year"] or day.year - (month > day.month))
    return _month(day.replace(year=year, month=month, day=1))


def _date(match: re.Match[str], day: datetime) -> datetime:
    if match["iso"]:
        return day.replace(year=int(match["iso"][:4]), month=int(match["iso"][5:7]), day=int(match["iso"][8:]))
    name, number, year = (
        (match["m1"], match["d1"], match["y1"]) if match["m1"] else (match["m2"], match["d2"], match["y2"])
    )
    month = index_of(name, MONTHS) + 1
    found = day.replace(year=int(year or day.year), month=month, day=int(number))
    return found if year or found <= day else found.replace(year=found.year - 1)


def _weekday(match: re.Match[str], day: datetime) -> _Bounds:
    back = (day.weekday() - index_of(match["day"], DAYS) - 1) % 7 + 1
    return _days(day - timedelta(days=back), 1)


def _ago(match: re.Match[str], day: datetime) -> _Bounds:
    unit = _days_of_unit(match["unit"])
    around = day - timedelta(days=number(match["n"]) * unit)
    slack = unit // 4
    return around - timedelta(days=slack), around + timedelta(days=slack + 1)


_N = rf"(?P<n>\d{{1,3}}|{'|'.join(NUMBERS)})"
_UNIT = r"(?P<unit>days?|weeks?|months?|years?|tag\w*|woche\w*|monat\w*|jahr\w*)"
_FULL_DATE = (
    rf"(?P<iso>\d{{4}}-\d\d-\d\d)|(?P<d1>\d{{1,2}})(?:\.|st|nd|rd|th)?\s+(?:of\s+)?"
    rf"(?P<m1>{_MONTH})(?:,?\s+(?P<y1>\d{{4}}))?"
    rf"|(?P<m2>{_MONTH})\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<y2>\d{{4}}))?"
)
_LAST = r"last|past|letzte[nrs]?|vergangene[nrs]?|vorige[nrs]?"
_THIS = r"this|diese[nrsm]?"

_RULES: tuple[_RangeRule, ...] = (
    _rule(
        rf"(?:before|until|vor(?: dem)?|bis(?: zum)?)\s+(?:the\s+)?(?:{_FULL_DATE})",
        lambda m, day: (None, _date(m, day)),
    ),
    _rule(
        rf"(?:after|since|nach(?: dem)?|seit(?: dem)?)\s+(?:the\s+)?(?:{_FULL_DATE})",
        lambda m, day: (_date(m, day), None),
    ),
    _rule(_FULL_DATE, lambda m, day: _days(_date(m, day), 1)),
    _rule("day before yesterday|vorgestern", lambda m, day: _days(day - timedelta(days=2), 1)),
    _rule("yesterday|last night|gestern", lambda m, day: _days(day - timedelta(days=1), 1)),
    _rule("today|this morning|heute", lambda m, day: _days(day, 1)),
    _rule(rf"{_N}\s+{_UNIT}\s+ago", _ago),
    _rule(rf"vor\s+{_N}\s+{_UNIT}", _ago),
    _rule(rf"(?:{_LAST})\s+(?:week|woche)", lambda m, day: _week(day, 1)),
    _rule(rf"(?:{_THIS})\s+(?:week|woche)", lambda m, day: _week(day, 0)),
    _rule(rf"(?:{_LAST})\s+(?:month|monat)", lambda m, day: _month(day, 1)),
    _rule(rf"(?:{_THIS})\s+(?:month|monat)", lambda m, day: _month(day)),
    _rule(rf"(?:{_LAST})\s+(?:year|jahr)", lambda m, day: _year(day, 1)),
    _rule(rf"(?:{_THIS})\s+(?:year|jahr)", lambda m, day: _year(day)),
    _rule(rf"(?:{_LAST}|on|am)\s+(?P<day>{'|'.join(DAYS)})", _weekday),
    _rule(rf"(?:in|im|during|last|this)\s+(?P<month>{_MONTH})(?:,?\s+(?P<year>\d{{4}}))?", _in_month),
    _rule(rf"(?P<month>{_MONTH})\s+(?P<year>\d{{4}})", _in_month),
    _rule(
        r"(?:in|im jahr|during)\s+(?P<year>(?:19|20)\d\d)",
        lambda m, day: _year(day.replace(year=int(m["year"]), month=1, day=1)),
    ),
)
