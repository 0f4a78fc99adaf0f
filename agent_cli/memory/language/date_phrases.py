"""The grammar of dates: the names of months, days and units, phrases such as "since 2020" and "from 3 to 10 May", and
the days that a date means.

"On 3 May" may be the date of a birthday or an appointment, so a phrase that only names a time (`AT`) is told apart from
those that say from when or until when something is true.
"""

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache
from itertools import count
from types import ModuleType

from agent_cli.memory.language import languages
from agent_cli.text import Pattern

MONTHS, SEASONS, DAYS = (languages.ordered(name) for name in ("MONTHS", "SEASONS", "DAYS"))
_SHORT_MONTHS = tuple(f"{names}|{'|'.join(f'{name[:3]}' for name in names.split('|'))}" for names in MONTHS)
_SHORT_DAYS = languages.ordered("SHORT_DAYS")
_ANY_DAY = tuple(f"(?:{names})s?|{short}" for names, short in zip(DAYS, _SHORT_DAYS, strict=True))
TIME_UNITS = languages.ordered("TIME_UNITS")
"""From the second to the year."""
DAY_UNITS = TIME_UNITS[3:]
_NUMBERS = languages.table("NUMBERS") | dict.fromkeys(languages.phrases("INDEFINITE"), 1)

MONTH, DAY, UNIT = ("|".join(names) for names in (MONTHS, DAYS, TIME_UNITS))
SHORT_MONTH, SHORT_DAY = "|".join(_SHORT_MONTHS), "|".join(_SHORT_DAYS)
NUMBER_WORDS = "|".join(languages.table("NUMBERS"))
NUMBER = rf"\d{{1,3}}|{'|'.join(_NUMBERS)}"
_GROUPS = {  # of relative dates
    "<DAY>": f"(?P<weekday>{DAY})",
    "<MONTH>": f"(?P<named>{MONTH})",
    "<NUMBER>": f"(?P<number>{NUMBER})",
    "<SLASHED>": r"(?P<slashed>\d{1,2}/\d{1,2}/(?:19|20)\d\d)",
}
_DAYS_OFF = {"before_yesterday": -2, "yesterday": -1, "today": 0, "tomorrow": 1, "after_tomorrow": 2}
_WAYS = {"last": -1, "this": 0, "next": 1, "since": -1, "until": 1, "ago": -1, "ahead": 1}

_WORD, _DIGIT = Pattern(r"\w+"), Pattern(r"\d")
YEAR = r"(?:19|20)\d\d"
_MONTH, _SEASON = f"(?:{MONTH})", f"(?:{'|'.join(SEASONS)})"
_ORDINAL = languages.alternatives("ORDINAL")
_PARTS = languages.expand(
    r"(?:(?:(?P<early><EARLY>)|(?P<middle><MIDDLE>)|(?P<late><LATE>))[ -])?(?:<PART_OF_DAY> )?(?:<BEFORE_DATE> )?"
    rf"(?:(?P<iso>\d{{4}}-\d\d(?:-\d\d)?)|(?P<numeric>\d{{1,2}}\.\d{{1,2}}\.(?:{YEAR}|\d\d(?!\d))?)"
    rf"|(?P<day>\d{{1,2}}){_ORDINAL} (?P<month>{_MONTH})(?:,? (?P<year>{YEAR}))?"
    rf"|(?P<month2>{_MONTH})(?: (?P<day2>\d{{1,2}})(?!\d){_ORDINAL})?(?:,? (?P<year2>{YEAR}))?"
    rf"|(?P<season>{_SEASON})(?:,? (?P<year3>{YEAR}))?|(?P<year4>{YEAR}))"
)
DATE = re.sub(r"\?P<\w+>", "?:", _PARTS)
_NO_YEAR = r"(?!,? \d{4})"
DAY_DATE = (
    rf"(?:\d{{4}}-\d\d-\d\d|\d{{1,2}}{_ORDINAL} {_MONTH}(?:,? {YEAR})?{_NO_YEAR}"
    rf"|{_MONTH} \d{{1,2}}(?!\d){_ORDINAL}(?:,? {YEAR})?{_NO_YEAR})"
)
MONTH_OF_YEAR = rf"{_MONTH},? {YEAR}"
MONTH_DATE = rf"(?:{MONTH_OF_YEAR}|{_MONTH}{_NO_YEAR})"
PARTS = Pattern(_PARTS, re.IGNORECASE)
"""The parts of a date, as named groups."""

_ENDS = tuple(name for names in (*MONTHS, *SEASONS) for name in names.split("|"))
_STARTS = tuple(re.split(r"\(|\w\?", name)[0] for names in DAY_UNITS for name in names.split("|"))


def may_hold_date(text: str) -> bool:
    """Whether a text may hold a phrase: in each is a digit, a word that ends as a month or season does, or one that
    begins as a unit does. ("Today" and "email" do not: there the large pattern need not be compiled.)"""
    if _DIGIT.search(text):
        return True
    return any(word.startswith(_STARTS) or word.endswith(_ENDS) for word in _WORD.findall(text.lower()))


_PHRASES = languages.expand(  # a date takes a millisecond to compile: it stands here as rarely as may be
    rf"(?P<range><FROM> (?P<first>{DATE}|\d{{1,2}}\.?) ?<TO> ?(?P<last>{DATE}))"
    rf"|(?P<duration><DURATION> (?P<n>{NUMBER}) (?P<unit>{'|'.join(DAY_UNITS)}))"
    rf"|(?:(?P<since><SINCE>)|(?P<until><UNTIL>)|(?P<from><FROM>)|(?P<at><AT>)) (?P<date>{DATE})"
    r"(?(from)(?: <ONWARDS>)?)"
)
PHRASE = Pattern(rf"(?<![\w-])(?:{_PHRASES})(?![\w-])", re.IGNORECASE, hint=may_hold_date)
"""A phrase with a date; one of the groups named in `_KINDS` is set, the others are its dates."""
_KINDS = ("range", "duration", "since", "until", "from", "at")

TIME_WORDS = "(?:<NOW>|<LATELY>)"
"""Words for a time that are no date."""
_EDGE_NOW, _EDGE = (languages.pattern(rf"^{words},? (?=\S+ \S)|,? {words}$") for words in ("<NOW>", TIME_WORDS))
_FUTURE_AUXILIARY = languages.pattern("<FUTURE_AUXILIARY>")


def without_future(sentence: str, statement: str) -> str:
    """The sentence without "will" and "going to", if the statement has a date: a plan with a date is certain."""
    if _FUTURE_AUXILIARY.search(sentence) and PHRASE.search(statement):
        return _FUTURE_AUXILIARY.sub("", sentence)
    return sentence


def kind(phrase: re.Match[str]) -> str:
    return next(name for name in _KINDS if phrase[name])


def without(sentence: str, *, times: bool) -> str:
    """The sentence without the phrases that say from when or until when, and without "now" at its ends. `times`: also
    without those that only name a time."""

    def cut(phrase: re.Match[str]) -> str:
        return " " if times or kind(phrase) != "at" else phrase[0]

    left, edge = " ".join(PHRASE.sub(cut, sentence).split()).strip(" ,"), _EDGE if times else _EDGE_NOW
    while (shorter := edge.sub("", left)) != left:
        left = shorter
    return re.sub(r" ,", ",", left)


def any_of(patterns: Iterable[str]) -> str:
    """One expression for several, whose groups of one name get numbers; `groups` takes them off."""
    numbers = count()
    return "|".join(re.sub(r"\?P<(\w+)>", lambda group: f"?P<{group[1]}{next(numbers)}>", each) for each in patterns)


def groups(match: re.Match[str]) -> dict[str, str]:
    """What the named groups matched, in lower case, by their names without numbers."""
    return {name.rstrip("0123456789"): value.lower() for name, value in match.groupdict().items() if value}


def index(name: str, names: tuple[str, ...]) -> int:
    """The index of a name, in lower case, in a list of expressions. Raises ValueError."""
    return [bool(re.fullmatch(each, name)) for each in names].index(True)


def number(word: str) -> int:
    """A number in digits or words. Raises LookupError."""
    return int(word) if word.isdigit() else _NUMBERS[word]


def month_number(name: str) -> int:
    """From 1 on, of a name or its first three letters. Raises ValueError."""
    return index(name.rstrip("."), _SHORT_MONTHS) + 1


def day_number(name: str) -> int:
    """0 for Monday, of a name, its plural or abbreviation. Raises ValueError."""
    return index(name, _ANY_DAY)


def month(day: datetime, months: int = 0) -> datetime:
    """The first day of the month of a day, or of one so many months later."""
    count = day.year * 12 + day.month - 1 + months
    return day.replace(year=count // 12, month=count % 12 + 1, day=1)


def monday(day: datetime, weeks: int = 0) -> datetime:
    return day - timedelta(days=day.weekday()) + timedelta(weeks=weeks)


def weekday(day: datetime, name: str, direction: int) -> datetime:
    """The day of this name before (-1) or after (1) a day, or in its week (0)."""
    number = day_number(name)
    if direction == 0:
        return monday(day) + timedelta(days=number)
    if direction < 0:
        return day - timedelta(days=(day.weekday() - number - 1) % 7 + 1)
    return day + timedelta(days=(number - day.weekday() - 1) % 7 + 1)


@cache
def relative(language: ModuleType) -> Pattern:
    """Matches the relative dates of a language."""
    group = _GROUPS | {"<UNIT>": f"(?P<unit>{'|'.join(language.TIME_UNITS.split()[3:])})"}
    written = [re.sub(r"\n *", "", rule) for rule in getattr(language, "RELATIVE_DATES", (languages.NEVER,))]
    rules = [re.sub(r"<[A-Z]+>", lambda name: group[name[0]], rule) for rule in written]
    return Pattern(rf"(?<![\w-])(?=\w)(?:{languages.spaced(any_of(rules))})(?![\w-])", re.IGNORECASE)


def relative_days(parts: Mapping[str, str], today: datetime) -> tuple[str, datetime]:
    """The unit of time that a relative date means, and its first day. `parts`: its groups. Raises ValueError."""
    way = next((way for name, way in _WAYS.items() if name in parts), 0)
    if "slashed" in parts:
        first, second, year = map(int, parts["slashed"].split("/"))
        day_of_month, number_of_month = day_and_month(first, second, slashed=True)
        return "day", today.replace(year=year, month=number_of_month, day=day_of_month)
    if "weekday" in parts:
        in_week = "week" in parts
        return "day", weekday(monday(today, way) if in_week else today, parts["weekday"], 0 if in_week else way)
    if "named" in parts:
        named = month_number(parts["named"])
        years = -(named >= today.month) if way < 0 else named <= today.month
        return "month", today.replace(year=today.year + years, month=named, day=1)
    if "number" in parts:
        unit = ("day", "week", "month", "year")[index(parts["unit"], DAY_UNITS)]
        count = way * number(parts["number"])
    else:
        unit = next((unit for unit in ("week", "weekend", "month", "year") if unit in parts), "day")
        count = next((days for name, days in _DAYS_OFF.items() if name in parts), way)
    if unit == "day":
        return unit, today + timedelta(days=count)
    if unit == "month":
        return unit, month(today, count)
    if unit == "year":
        return unit, today.replace(year=today.year + count, month=1, day=1)
    return unit, monday(today, count) + timedelta(days=5 if unit == "weekend" else 0)


def day_and_month(first: int, second: int, *, slashed: bool) -> tuple[int, int]:
    """24.12. and 24/12: the day first, except with slashes when the locale says otherwise or only that is possible."""
    locale = next((os.environ[name] for name in ("LC_ALL", "LC_TIME", "LANG") if os.environ.get(name)), "")
    month_first = slashed and second < 32 and (second > 12 or (first < 13 and locale.startswith("en_US")))
    return (second, first) if month_first else (first, second)


def end_of(unit: str, first: datetime) -> datetime:
    """The first midnight after the day, week, weekend, month or year that begins with a day."""
    if unit in ("month", "year"):
        return month(first, 1 if unit == "month" else 12)
    return first + timedelta(days={"day": 1, "week": 7, "weekend": 2}[unit])


Days = tuple[datetime, datetime]
"""From the first midnight up to the second."""


def days(words: str, today: datetime, *, ahead: bool) -> Days:
    """The days of a date; without a year the next ones, or the last ones that have begun. Raises ValueError."""
    if (found := PARTS.fullmatch(words)) is None:
        raise ValueError(words)
    parts, months = groups(found), 1
    year, day_of_month = (int(parts[name]) if name in parts else None for name in ("year", "day"))
    if "iso" in parts:
        year, number, *day = map(int, parts["iso"].split("-"))
        day_of_month = day[0] if day else None
    elif "numeric" in parts:
        day_of_month, number, *years = [int(each) for each in parts["numeric"].split(".") if each]
        year = years[0] + (2000 if years[0] < 100 else 0) if years else None
    elif "season" in parts:
        number, months = 3 + 3 * index(parts["season"], SEASONS), 3
    elif "month" in parts:
        number = month_number(parts["month"])
    else:
        number, months = 1, 12
    start, end = in_year(year, number, day_of_month, today, ahead=ahead, months=months)
    quarter = timedelta(days=(end - start).days // 4)
    if "early" in parts:
        return start, start + quarter
    if "middle" in parts:
        return start + quarter, end - quarter
    return (end - quarter, end) if "late" in parts else (start, end)


def in_year(
    year: int | None, number: int, day_of_month: int | None, today: datetime, *, ahead: bool, months: int = 1
) -> Days:
    """The days of a month, or one of it; without a year of the next, or the last that has begun. Raises ValueError."""
    around = [today.year + n for n in range(-1, 9)] if ahead else [today.year - n for n in range(9)]
    for each in around if year is None else [year]:
        with suppress(ValueError):  # 29 February
            start = today.replace(year=each, month=number, day=1 if day_of_month is None else day_of_month)
            end = start + timedelta(days=1) if day_of_month else month(start, months)
            if year is not None or (end > today if ahead else start <= today):
                return start, end
    raise ValueError(day_of_month)
