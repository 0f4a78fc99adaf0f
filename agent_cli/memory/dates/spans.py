"""The days that words mean: those of a question ("last week", "gestern"), from when until when a statement is true
("since 2020"), and relative dates written out, so that it stays true ("on 20 November" for "yesterday").

The libraries that find dates in free text read "may" and "sun" in plain sentences as dates; here a word counts only
with the preposition that makes it a time. All times are those of the zone of `now`.
"""

import re
from datetime import date, datetime, timedelta
from functools import partial
from types import ModuleType

from agent_cli.memory.language import date_phrases, languages
from agent_cli.text import Pattern
from agent_cli.values import frozen

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
    if not (date_phrases.may_hold_date(question) or _HINT.search(question)):
        return None  # most questions: no rule is compiled
    for pattern in _RULES:
        for match in pattern.finditer(question):
            try:
                since, until = _days_named(date_phrases.groups(match), _midnight(now))
            except (ValueError, OverflowError, LookupError):
                continue  # 31 February, the year 9999, a look-alike letter in a month
            return Span(since, until, match[0])
    return None


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _days_named(parts: dict[str, str], today: datetime) -> _Bounds:
    """What the groups of a rule mean. Raises ValueError for what is to come or does not exist."""
    if "date" in parts:
        first, end = date_phrases.days(parts["date"], today, ahead=False)
        return (None, first) if "before" in parts else (first, None if "after" in parts else end)
    if "day" in parts:
        first = date_phrases.weekday(today, parts["day"], -1)
        return first, date_phrases.end_of("day", first)
    if "week_number" in parts:  # of a year, or that began last
        number, year = int(parts["week_number"]), int(parts.get("year", today.isocalendar()[0]))
        monday = date.fromisocalendar(year, number, 1)
        if "year" not in parts and monday > today.date():
            monday = date.fromisocalendar(year - 1, number, 1)
        first = today.replace(year=monday.year, month=monday.month, day=monday.day)
        return first, first + timedelta(days=7)
    if "quarter_number" in parts:  # of a year, or the last that began
        month = int(parts["quarter_number"]) * 3 - 2
        first = today.replace(year=int(parts.get("year", today.year - (month > today.month))), month=month, day=1)
        return first, date_phrases.month(first, 3)
    if "quarter" in parts:
        first = date_phrases.month(today.replace(month=(today.month - 1) // 3 * 3 + 1), -3 if "last" in parts else 0)
        return first, date_phrases.month(first, 3)
    if "unit" in parts and "ahead" not in parts:
        days = (1, 7, 30, 365)[date_phrases.index(parts["unit"], date_phrases.DAY_UNITS)]
        few = 7 if days == 1 else 3
        begin = today - timedelta(days=days * (date_phrases.number(parts["number"]) if "number" in parts else few))
        slack = timedelta(days=days // 4)
        one = timedelta(days=1)
        return (begin - slack, begin + slack + one) if "ago" in parts else (begin, today + one)
    unit, first = date_phrases.relative_days(parts, today)
    if first > today or "until" in parts:
        raise ValueError
    return first, None if "since" in parts else date_phrases.end_of(unit, first)


_DAY, _YEAR = rf"(?P<date>{date_phrases.DAY_DATE})\b", rf"(?P<year>{date_phrases.YEAR})"
_PLURAL = "|".join(unit.removesuffix("?") for units in languages.values("TIME_UNITS") for unit in units.split()[3:])
_OF_YEAR = rf"(?:,? (?:of )?{_YEAR})?"
_UNITS = (
    rf"(?:<FEW>|(?P<number>{date_phrases.NUMBER})) (?P<unit>{'|'.join(date_phrases.DAY_UNITS)})|(?P<unit2>{_PLURAL})"
)
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
    rf"<ON_DAY> (?P<day>{date_phrases.DAY})\b",
    rf"<IN_MONTH> (?P<date>{date_phrases.MONTH_DATE})\b",
    rf"(?:(?P<date>{date_phrases.MONTH_OF_YEAR})|<IN_YEAR> (?P<date2>{date_phrases.YEAR}))\b",
)
_RULES = (
    *(languages.pattern(languages.spaced(rf"\b{each}")) for each in _ABSOLUTE),
    *(date_phrases.relative(language) for language in languages.ALL),
    *(languages.pattern(languages.spaced(rf"\b{each}")) for each in _CALENDAR),
)

# From when until when a statement is true. A month or a year counts whole: "since June 2025" begins with its first day,
# "until December 2026" ends with its last. A date without a year is the last one before today after "since" and in a
# sentence about the past, else the next one. "On 3 May" begins something only where the sentence says that something
# began ("I moved on 3 May"): a birthday or an appointment has a date too.

_CHANGE, _FUTURE = languages.pattern("<CHANGE>"), languages.pattern("<FUTURE>")
_PAST, _PERFECT = languages.pattern("<PAST>"), languages.pattern("<PERFECT>")
_QUOTED = Pattern(r"\"[^\"\n]*\"|“[^“”\n]*”|„[^„“”\n]*[“”]|«[^«»\n]*»|`[^`\n]*`")


def of_statement(statement: str, now: datetime, *, begins: bool = False) -> Span:
    """What the words say, written at `now`; an end before its beginning is left out. `begins`: "in June" is its
    beginning, whatever the verb."""
    plain = _QUOTED.sub(lambda quoted: " " * len(quoted[0]), statement)
    begins, ahead = begins or bool(_CHANGE.search(plain)), bool(_FUTURE.search(plain))
    since = until = None
    for phrase in date_phrases.PHRASE.finditer(plain):
        try:
            first, last = _bounds(phrase, plain, _midnight(now), begins, ahead)
        except (ValueError, OverflowError):
            continue  # 31 February
        since, until = since or first, until or last
    return Span(since, None if since and until and until < since else until)


def _bounds(phrase: re.Match[str], statement: str, today: datetime, begins: bool, ahead: bool) -> _Bounds:
    """(since, until) of a phrase. Raises ValueError for a date that does not exist."""
    kind, is_past = date_phrases.kind(phrase), bool(_PAST.search(statement))
    to_come = ahead or not is_past
    match kind:
        case "range":  # "from 3 to 10 May 2026": the first date takes from the second what it does not say
            start, end = date_phrases.days(phrase["last"], today, ahead=to_come)
            first = phrase["first"].rstrip(".")
            begin = start.replace(day=int(first)) if len(first) < 3 else None
            return begin or date_phrases.days(phrase["first"], start, ahead=False)[0], end - _MOMENT
        case "duration" if _PERFECT.search(statement):
            number = date_phrases.number(phrase["n"].lower())
            unit = date_phrases.index(phrase["unit"].lower(), date_phrases.DAY_UNITS)
            if unit < 2:
                return today - timedelta(days=number * (1, 7)[unit]), None
            return date_phrases.month(today, -number * (1, 12)[unit - 2]), None
        case "until":
            return None, date_phrases.days(phrase["date"], today, ahead=not is_past)[1] - _MOMENT
        case "since" | "from":
            return date_phrases.days(phrase["date"], today, ahead=kind == "from" and to_come)[0], None
        case "at" if begins:
            return date_phrases.days(phrase["date"], today, ahead=ahead)[0], None
    return None, None


# Relative dates, written out in the language of the word. Ambiguous words ("on Friday", "soon", "in two weeks" after a
# past tense) and quoted text are left as they are. Of "3/4/2026" the locale says which number is the month, and that is
# written out, so that the person sees how it was read. "next Friday" is the first one after today.

_MAY_BE_RELATIVE = languages.pattern(r"<DATE_HINTS>|\d/\d")
_PAST_TENSE = Pattern(languages.alternatives("PAST_TENSE"))
_AFTER_DAY = Pattern(rf"\b(?:{date_phrases.DAY})s?\s*$", re.IGNORECASE)


def resolve(text: str, now: datetime) -> str:
    """The text, written at `now`, with its relative dates replaced."""
    if not _MAY_BE_RELATIVE.search(text):
        return text
    parts, at = [], 0
    for start, end in [*(quoted.span() for quoted in _QUOTED.finditer(text)), (len(text), len(text))]:
        piece = text[at:start]
        for language in reversed(languages.ALL):  # the first has what any language may say
            piece = date_phrases.relative(language).sub(partial(_replacement, language, _midnight(now), not at), piece)
        parts += [piece, text[start:end]]
        at = end
    return "".join(parts)


def _replacement(language: ModuleType, today: datetime, first: bool, match: re.Match[str]) -> str:
    """What stands for a match; itself where it is no date after all. `first`: whether its text begins a statement."""
    before, parts = match.string[: match.start()], date_phrases.groups(match)
    opened = before.rstrip(" \"'“„(")
    starts_sentence = (first and not opened) or opened.endswith((".", "!", "?", "\n"))
    if match[0][0].isupper() and not starts_sentence and not match[0].isupper():
        return match[0]  # probably a name: "the film Yesterday"
    bound = parts.get("since") or parts.get("until")
    is_past = bool(_PAST_TENSE.search(match.string))  # "it was done in two days": a duration
    if (is_past and ("ahead" in parts or "until" in parts)) or (bound and _AFTER_DAY.search(before)):
        return match[0]
    try:
        words = _written(parts, bound or parts.get("before", ""), language, today)
    except (ValueError, OverflowError, LookupError):
        return match[0]
    return words[0].upper() + words[1:] if starts_sentence and match[0][0].isupper() else words


def _written(parts: dict[str, str], preposition: str, language: ModuleType, today: datetime) -> str:
    unit, day_meant = date_phrases.relative_days(parts, today)
    month = language.MONTHS.split()[day_meant.month - 1].split("|")[0].capitalize()
    named = {"day": day_meant.day, "month": month, "year": day_meant.year}
    date = language.WRITTEN_DATE.format(**named)
    if "slashed" in parts or "owns" in parts:
        return f"{parts.get('in_front', '')} {date}{parts.get('owns', '')}".lstrip()
    part = languages.table("WRITTEN_PARTS").get(parts.get("part", ""), parts.get("part", ""))
    alone, behind = language.WRITTEN["night" if part == "night" else "part" if part else unit]
    words = str((behind if preposition else alone).format(before=preposition, part=part, date=date, **named))
    contracted = languages.table("CONTRACTED").items()
    return next((f"{short}{words[len(long) :]}" for long, short in contracted if words.startswith(long)), words)
