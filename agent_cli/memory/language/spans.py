"""Dates in words: the days of a question ("last week", "gestern"), from when until when a statement is true ("since
2020"), and relative dates written out, so that it stays true ("on 20 November" for "yesterday").

The libraries that find dates in free text read "may" and "sun" in plain sentences as dates; here a word counts only
with the preposition that makes it a time. "On 3 May" may be the date of a birthday or an appointment, so a phrase that
only names a time (`AT`) is told apart from those that say from when or until when something is true. All times are
those of the zone of `now`.
"""

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache, partial
from itertools import count
from types import ModuleType

from agent_cli.memory.language import languages
from agent_cli.text import QUOTED, Pattern
from agent_cli.values import frozen

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
    "<BARE>": f"(?P<day>{DAY})"
    + languages.expand(rf"(?!['’]|,? (?:(?:<BEFORE_DATE> )?(?:\d|{MONTH})|<OF_WHICH_DAY>\b))"),
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
    """Whether a digit, or a word that ends as a month or begins as a unit, is there: else nothing is compiled."""
    words = _WORD.findall(text.lower())
    return _DIGIT(text) or any(word.startswith(_STARTS) or word.endswith(_ENDS) for word in words)


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


def without(sentence: str, *, times: bool) -> str:
    """The sentence without phrases that say from or until when, and "now". `times`: nor any that names a time."""
    cut = PHRASE.sub(lambda phrase: phrase[0] if phrase["at"] and not times else " ", sentence)
    left, edge = " ".join(cut.split()).strip(" ,"), _EDGE if times else _EDGE_NOW
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
    return day + direction * timedelta(days=(direction * (number - day.weekday()) - 1) % 7 + 1)


@cache
def relative(language: ModuleType) -> Pattern:
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


_MAX_SENTENCE = 600  # characters in which a bare weekday is dated
_MAX_QUESTION = 2000  # characters of one that count, as in a search
_MOMENT = timedelta(milliseconds=1)  # the end of a statement is the last moment at which it is true
_HINT = languages.pattern("<DATE_HINTS>")


@frozen
class Span:
    """None is open. Of a question up to `until` (exclusive), with the words matched; of a statement until the last
    moment at which it is true."""

    since: datetime | None = None
    until: datetime | None = None
    words: str = ""

    def has_passed(self, now: datetime) -> bool:
        """Whether nothing of it is to come, but the rest of today at the end of a longer time."""
        began_before = self.since is not None and self.since.date() < now.date()
        return self.until is not None and self.until <= now + timedelta(days=began_before)


_Bounds = tuple[datetime | None, datetime | None]


def of_question(question: str, now: datetime) -> Span | None:
    """The days that a question names, or None."""
    question = question[:_MAX_QUESTION]
    if not (may_hold_date(question) or _HINT.search(question)):
        return None  # most questions: no rule is compiled
    for pattern in _RULES:
        for match in pattern.finditer(question):
            with suppress(ValueError, OverflowError, LookupError):  # 31 February, 9999, a look-alike letter in a month
                return Span(*_days_named(groups(match), _midnight(now)), match[0])
    return None


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _days_named(parts: Mapping[str, str], today: datetime) -> _Bounds:
    """What the groups of a rule mean. Raises ValueError for what is to come or does not exist."""
    if "date" in parts:
        first, end = days(parts["date"], today, ahead=False)
        return (None, first) if "before" in parts else (first, None if "after" in parts else end)
    if "day" in parts:
        first = weekday(today, parts["day"], -1)
        return first, end_of("day", first)
    if "week_number" in parts:  # of a year, or that began last
        week, year = int(parts["week_number"]), int(parts.get("year", today.isocalendar()[0]))
        first = datetime.fromisocalendar(year, week, 1).replace(tzinfo=today.tzinfo)
        if "year" not in parts and first > today:
            first = datetime.fromisocalendar(year - 1, week, 1).replace(tzinfo=today.tzinfo)
        return first, end_of("week", first)
    if "quarter_number" in parts:  # of a year, or the last that began
        began = int(parts["quarter_number"]) * 3 - 2
        first = today.replace(year=int(parts.get("year", today.year - (began > today.month))), month=began, day=1)
        return first, month(first, 3)
    if "quarter" in parts:
        first = month(today.replace(month=(today.month - 1) // 3 * 3 + 1), -3 if "last" in parts else 0)
        return first, month(first, 3)
    if "unit" in parts and "ahead" not in parts:
        length = (1, 7, 30, 365)[index(parts["unit"], DAY_UNITS)]
        few = 7 if length == 1 else 3
        begin = today - timedelta(days=length * (number(parts["number"]) if "number" in parts else few))
        slack, one = timedelta(days=length // 4), timedelta(days=1)
        return (begin - slack, begin + slack + one) if "ago" in parts else (begin, today + one)
    unit, first = relative_days(parts, today)
    if first > today or "until" in parts:
        raise ValueError
    return first, None if "since" in parts else end_of(unit, first)


_DAY, _YEAR = rf"(?P<date>{DAY_DATE})\b", rf"(?P<year>{YEAR})"
_PLURAL = "|".join(unit.removesuffix("?") for units in languages.values("TIME_UNITS") for unit in units.split()[3:])
_OF_YEAR = rf"(?:,? (?:of )?{_YEAR})?"
_UNITS = rf"(?:<FEW>|(?P<number>{NUMBER})) (?P<unit>{'|'.join(DAY_UNITS)})|(?P<unit2>{_PLURAL})"
_ABSOLUTE = (
    rf"(?P<before><UP_TO>) (?:the )?{_DAY}",
    rf"(?P<after><SINCE_THEN>) (?:the )?{_DAY}",
    _DAY,
    rf"<LAST_UNITS> (?:{_UNITS})\b",
)
_CALENDAR = (
    rf"(?:<IN_WEEK>) (?P<week_number>\d{{1,2}})\b{_OF_YEAR}(?! <OF_WHAT_FOLLOWS>)",
    rf"{_YEAR}-W(?P<week_number>\d\d)\b",
    rf"(?:(?:(?P<last><LAST>)|<THIS>) (?P<quarter><QUARTER>)|(?:<IN_MONTH> )?Q(?P<quarter_number>[1-4])\b{_OF_YEAR})",
    rf"{_YEAR}-Q(?P<quarter_number>[1-4])\b",
    rf"<ON_DAY> (?P<day>{DAY})\b",
    rf"<IN_MONTH> (?P<date>{MONTH_DATE})\b",
    rf"(?:(?P<date>{MONTH_OF_YEAR})|<IN_YEAR> (?P<date2>{YEAR}))\b",
)
_RULES = (
    *(languages.pattern(languages.spaced(rf"\b{each}")) for each in _ABSOLUTE),
    *(relative(language) for language in languages.ALL),
    *(languages.pattern(languages.spaced(rf"\b{each}")) for each in _CALENDAR),
)

# From when until when a statement is true. A month or a year counts whole: "since June 2025" begins with its first day,
# "until December 2026" ends with its last. A date without a year is the last one before today after "since" and in a
# sentence about the past, else the next one. "On 3 May" begins something only where the sentence says that something
# began ("I moved on 3 May"): a birthday or an appointment has a date too.

_CHANGE, _FUTURE = languages.pattern("<CHANGE>"), languages.pattern("<FUTURE>")
_PAST, _PERFECT = languages.pattern("<PAST>"), languages.pattern("<PERFECT>")


def of_statement(statement: str, now: datetime, *, begins: bool = False) -> Span:
    """What the words say, written at `now`. `begins`: "in June" is its beginning, whatever the verb."""
    plain = QUOTED.sub(lambda quoted: " " * len(quoted[0]), statement)
    begins, ahead = begins or bool(_CHANGE.search(plain)), bool(_FUTURE.search(plain))
    since = until = None
    for phrase in PHRASE.finditer(plain):
        with suppress(ValueError, OverflowError):  # 31 February
            first, last = _bounds(phrase, plain, _midnight(now), begins, ahead)
            since, until = since or first, until or last
    return Span(since, None if since and until and until < since else until)


def _bounds(phrase: re.Match[str], statement: str, today: datetime, begins: bool, ahead: bool) -> _Bounds:
    """(since, until) of a phrase. Raises ValueError for a date that does not exist."""
    is_past = bool(_PAST.search(statement))
    to_come = ahead or not is_past
    match next(name for name in _KINDS if phrase[name]):
        case "range":  # "from 3 to 10 May 2026": the first date takes from the second what it does not say
            start, end = days(phrase["last"], today, ahead=to_come)
            first = phrase["first"].rstrip(".")
            begin = start.replace(day=int(first)) if len(first) < 3 else None
            return begin or days(phrase["first"], start, ahead=False)[0], end - _MOMENT
        case "duration" if _PERFECT.search(statement):
            amount, unit = number(phrase["n"].lower()), index(phrase["unit"].lower(), DAY_UNITS)
            if unit < 2:
                return today - timedelta(days=amount * (1, 7)[unit]), None
            return month(today, -amount * (1, 12)[unit - 2]), None
        case "until":
            return None, days(phrase["date"], today, ahead=not is_past)[1] - _MOMENT
        case "since" | "from" as which:
            return days(phrase["date"], today, ahead=which == "from" and to_come)[0], None
        case "at" if begins:
            return days(phrase["date"], today, ahead=ahead)[0], None
    return None, None


# Relative dates, written out in the language of the word. Ambiguous words ("soon", "in two weeks" after a past tense)
# and quoted text are left as they are. Of "3/4/2026" the locale says which number is the month, and that is written
# out, so that the person sees how it was read. "next Friday" is the first one after today, and so is "on Friday" unless
# the sentence is about the past, or perhaps about each Friday.

_MAY_BE_RELATIVE = languages.pattern(r"<DATE_HINTS>|\d/\d")
_UNSURE_DAY = languages.pattern(
    rf"\b(?:<NOT_ONCE>|{MONTH}|(?:{DAY})\W+(?:\w+ ){{0,2}}(?:{DAY}))\b|\?|\d\.\d+\.|\b(?:{DAY})s\b"
)
_NOT_PAST = languages.pattern(r"\b<NOT_PAST>\b")
_PAST_TENSE = Pattern(languages.alternatives("PAST_TENSE"))
_AFTER_DAY = Pattern(rf"\b(?:{DAY})s?\s*$", re.IGNORECASE)


def resolve(text: str, now: datetime) -> str:
    """The text, written at `now`, with its relative dates replaced."""
    if not _MAY_BE_RELATIVE.search(text):
        return text
    parts, at = [], 0
    for start, end in [*(quoted.span() for quoted in QUOTED.finditer(text)), (len(text), len(text))]:
        piece = text[at:start]
        for language in reversed(languages.ALL):  # the first has what any language may say
            piece = relative(language).sub(partial(_replacement, language, _midnight(now), not at), piece)
        parts += [piece, text[start:end]]
        at = end
    return "".join(parts)


def _replacement(language: ModuleType, today: datetime, first: bool, match: re.Match[str]) -> str:
    """What stands for a match; itself where it is no date after all. `first`: whether its text begins a statement."""
    before, parts = match.string[: match.start()], groups(match)
    opened = before.rstrip(" \"'“„(")
    starts_sentence = (first and not opened) or opened.endswith((".", "!", "?", "\n"))
    if match[0][0].isupper() and not starts_sentence and not match[0].isupper():
        return match[0]  # probably a name: "the film Yesterday"
    bound = parts.get("since") or parts.get("until")
    whole, is_bare = match.string, "day" in parts
    if is_bare and (len(whole) > _MAX_SENTENCE or _UNSURE_DAY.search(whole)):
        return match[0]
    plain = _NOT_PAST.sub("", whole) if is_bare else whole
    is_past = bool(_PAST_TENSE.search(plain))  # "it was done in two days": a duration
    if is_bare:
        parts |= {"weekday": parts["day"], "last" if is_past else "next": ""}
    is_unsure = is_past and ("ahead" in parts or "until" in parts or (is_bare and _FUTURE.search(plain)))
    if is_unsure or (bound and _AFTER_DAY.search(before)):
        return match[0]
    try:
        words = _written(parts, bound or parts.get("before", ""), language, today)
    except (ValueError, OverflowError, LookupError):
        return match[0]
    return words[0].upper() + words[1:] if starts_sentence and match[0][0].isupper() else words


def _written(parts: Mapping[str, str], preposition: str, language: ModuleType, today: datetime) -> str:
    unit, day_meant = relative_days(parts, today)
    name = language.MONTHS.split()[day_meant.month - 1].split("|")[0].capitalize()
    named = {"day": day_meant.day, "month": name, "year": day_meant.year}
    written = language.WRITTEN_DATE.format(**named)
    if "slashed" in parts or "owns" in parts:
        return f"{parts.get('in_front', '')} {written}{parts.get('owns', '')}".lstrip()
    part = languages.table("WRITTEN_PARTS").get(parts.get("part", ""), parts.get("part", ""))
    usual, behind = language.WRITTEN["night" if part == "night" else "part" if part else unit]
    words = f"{preposition or usual} {behind.format(part=part, date=written, **named)}"
    contracted = languages.table("CONTRACTED").items()
    return next((f"{short}{words[len(long) :]}" for long, short in contracted if words.startswith(long)), words)
