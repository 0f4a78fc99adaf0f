"""From when until when a statement is true, by the dates in its words: "since 2020", "until 3 May", "ab Jänner".

A month or a year counts whole: "since June 2025" begins with its first day, "until December 2026" ends with its last.
A date without a year is the last one before today after "since" and in a sentence about the past, else the next one.
"On 3 May" begins something only where the sentence says that something began ("I moved on 3 May"): a birthday or an
appointment has a date too. Times are those of the zone of `now`.
"""

import re
from datetime import datetime, timedelta

from agent_cli.memory.dates import absolute_dates
from agent_cli.memory.language import date_phrases, languages
from agent_cli.text import Pattern
from agent_cli.values import frozen

_MOMENT = timedelta(milliseconds=1)  # an end is the last moment at which it is true
_CHANGE = Pattern(languages.alternatives("CHANGE"), re.IGNORECASE)
_FUTURE = Pattern(languages.alternatives("FUTURE"), re.IGNORECASE)
_PAST = Pattern(languages.alternatives("PAST"), re.IGNORECASE)
_PERFECT = Pattern(languages.alternatives("PERFECT"), re.IGNORECASE)
_Days = tuple[datetime, datetime]  # from the first midnight up to the second


@frozen
class Validity:
    """The first and the last moment at which a statement is true; None is open."""

    since: datetime | None = None
    until: datetime | None = None


def find(statement: str, now: datetime, *, begins: bool = False) -> Validity:
    """What the words say, written at `now`; an end before its beginning is left out.

    `begins`: "in June" is its beginning, whatever the verb.
    """
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    plain = absolute_dates.QUOTED.sub(lambda quoted: " " * len(quoted[0]), statement)
    begins, ahead = begins or bool(_CHANGE.search(plain)), bool(_FUTURE.search(plain))
    since = until = None
    for phrase in date_phrases.PHRASE.finditer(plain):
        try:
            first, last = _bounds(phrase, plain, today, begins, ahead)
        except (ValueError, OverflowError):
            continue  # 31 February
        since, until = since or first, until or last
    if since and until and until < since:
        until = None
    return Validity(since, until)


def _bounds(
    phrase: re.Match[str], statement: str, today: datetime, begins: bool, ahead: bool
) -> tuple[datetime | None, datetime | None]:
    """(since, until) of a phrase. Raises ValueError for a date that does not exist."""
    match date_phrases.kind(phrase):
        case "range":
            return _range(phrase["first"], phrase["last"], today, ahead or not _PAST.search(statement))
        case "since":
            return _days(phrase["date"], today, ahead=False)[0], None
        case "duration" if _PERFECT.search(statement):
            return _before(phrase, today), None
        case "until":
            return None, _days(phrase["date"], today, ahead=not _PAST.search(statement))[1] - _MOMENT
        case "from":
            return _days(phrase["date"], today, ahead=ahead or not _PAST.search(statement))[0], None
        case "at" if begins:
            return _days(phrase["date"], today, ahead=ahead)[0], None
    return None, None


def _range(first: str, last: str, today: datetime, ahead: bool) -> _Days:
    """ "From 3 to 10 May 2026": the first date takes from the second what it does not say."""
    start, end = _days(last, today, ahead=ahead)
    if re.fullmatch(r"\d{1,2}\.?", first):
        begin = start.replace(day=int(first.rstrip(".")))
    else:
        begin = _days(first, start, ahead=False)[0]
    return begin, end - _MOMENT


def _before(phrase: re.Match[str], today: datetime) -> datetime:
    """So many days, weeks, months or years before today."""
    number = int(phrase["n"]) if phrase["n"].isdigit() else date_phrases.NUMBERS[phrase["n"].lower()]
    unit = next(n for n in range(4) if phrase[f"unit{n}"])
    if unit < 2:
        return today - timedelta(days=number * (1, 7)[unit])
    return _month(today.year, today.month - number * (1, 12)[unit - 2], today)


def _days(words: str, today: datetime, *, ahead: bool) -> _Days:
    """The days of a date; without a year the next ones, or the last ones that have begun. Raises ValueError."""
    found = date_phrases.PARTS.fullmatch(words)
    if found is None:
        raise ValueError(words)
    parts = found.groupdict()
    if parts["iso"]:
        year, month, *day = map(int, parts["iso"].split("-"))
        days = _of(year, month, day[0] if day else 0, today)
    elif parts["numeric"]:
        numbers = [int(each) for each in parts["numeric"].split(".") if each]
        year = numbers[2] + (2000 if numbers[2] < 100 else 0) if len(numbers) > 2 else 0
        days = _in_year(year, numbers[1], numbers[0], today, ahead)
    elif parts["season"]:
        month = 3 + 3 * _index(parts["season"], date_phrases.SEASONS)
        days = _in_year(int(parts["year3"] or 0), month, 0, today, ahead, months=3)
    elif parts["year4"]:
        days = _month(int(parts["year4"]), 1, today), _month(int(parts["year4"]) + 1, 1, today)
    else:
        month = _index(parts["month"] or parts["month2"], date_phrases.MONTHS) + 1
        day_of_month = int(parts["day"] or parts["day2"] or 0)
        days = _in_year(int(parts["year"] or parts["year2"] or 0), month, day_of_month, today, ahead)
    return _part(days, parts)


def _part(days: _Days, parts: dict[str, str | None]) -> _Days:
    """The first quarter of a time that is "early", the half in its middle, the last quarter of a "late" one."""
    start, end = days
    quarter = timedelta(days=(end - start).days // 4)
    if parts["early"]:
        return start, start + quarter
    if parts["middle"]:
        return start + quarter, end - quarter
    return (end - quarter, end) if parts["late"] else days


def _in_year(year: int, month: int, day: int, today: datetime, ahead: bool, months: int = 1) -> _Days:
    """The days of a date; year 0: the next, or the last that has begun."""
    if year:
        return _of(year, month, day, today, months)
    if ahead:
        return next(days for n in range(-1, 5) if (days := _of(today.year + n, month, day, today, months))[1] > today)
    return next(days for n in range(5) if (days := _of(today.year - n, month, day, today, months))[0] <= today)


def _of(year: int, month: int, day: int, today: datetime, months: int = 1) -> _Days:
    if day:
        start = today.replace(year=year, month=month, day=day)
        return start, start + timedelta(days=1)
    if not 1 <= month <= 12:
        raise ValueError(month)
    return _month(year, month, today), _month(year, month + months, today)


def _month(year: int, month: int, today: datetime) -> datetime:
    """The first day of a month, which may be counted beyond a year."""
    count = year * 12 + month - 1
    return today.replace(year=count // 12, month=count % 12 + 1, day=1)


def _index(name: str, names: tuple[str, ...]) -> int:
    return next(n for n, each in enumerate(names) if name.lower() in each.split("|"))
