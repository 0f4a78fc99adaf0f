"""Replaces relative dates in a statement by absolute ones, so that it stays true: "yesterday" is "on 20 November 2026".

By rules, in English and German, in the language of the word. Ambiguous words ("on Friday", "soon", "in two weeks" after
a past tense) and quoted text are left as they are. Of "3/4/2026" the locale says which number is the month, and that is
written out, so that the person sees how it was read.
"next Friday" is the first one after today, as "nächsten Freitag" is.
"""

import os
import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import cache

from agent_cli.memory.dates import time_range
from agent_cli.memory.language import date_phrases, english, german
from agent_cli.text import Pattern

_ENGLISH, _GERMAN = ([names.split("|")[0].capitalize() for names in language.MONTHS] for language in (english, german))

_HINT = Pattern(
    r"day|night|tomorrow|week|month|year|morning|evening|afternoon|gestern|heute|morgen|woche|monat|jahr|heuer"
    r"|tag|abend|mittag|mittwoch|\d/\d"
    r"|(?:last|next|letzt|nächst)",
    re.IGNORECASE,
)
QUOTED = Pattern(r"\"[^\"\n]*\"|“[^“”\n]*”|„[^„“”\n]*[“”]|«[^«»\n]*»|`[^`\n]*`")
_PAST_TENSE = Pattern(
    r"\b(?:\w{2,}ed|was|were|did|had|made|wrote|built|ran|read|took|got|went|learnt|hat|habe|haben|war|waren"
    r"|wurde\w*)\b"
)

_Writer = Callable[[re.Match[str], datetime], str | None]


def resolve(text: str, now: datetime) -> str:
    """The text, written at `now`, with its relative dates replaced."""
    if not _HINT.search(text):
        return text
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    parts, at = [], 0
    for quoted in QUOTED.finditer(text):
        parts += [_replace_all(text[at : quoted.start()], today, not at), quoted[0]]
        at = quoted.end()
    return "".join([*parts, _replace_all(text[at:], today, not at)])


def day_and_month(first: int, second: int, *, slashed: bool) -> tuple[int, int]:
    """24.12. and 24/12: the day first, except with slashes when the locale says otherwise or only that is possible."""
    month_first = slashed and second < 32 and (second > 12 or (first < 13 and _month_first()))
    return (second, first) if month_first else (first, second)


def _month_first() -> bool:
    locale = next((os.environ[name] for name in ("LC_ALL", "LC_TIME", "LANG") if os.environ.get(name)), "")
    return locale.startswith("en_US")


def _replace_all(text: str, today: datetime, first: bool) -> str:
    for pattern, write in _rules():
        text = pattern.sub(lambda match, write=write: _replacement(match, write, today, first), text)  # type: ignore[misc]
    return text


def _replacement(match: re.Match[str], write: _Writer, today: datetime, first: bool) -> str:
    before = match.string[: match.start()].rstrip(" \"'“„(")
    starts_sentence = (first and not before) or before.endswith((".", "!", "?", "\n"))
    if match[0][0].isupper() and not starts_sentence and not match[0].isupper():
        return match[0]  # probably a name: "the film Yesterday"
    try:
        date_words = write(match, today)
    except (ValueError, OverflowError, LookupError):
        return match[0]
    if date_words is None:
        return match[0]
    return date_words[0].upper() + date_words[1:] if starts_sentence and match[0][0].isupper() else date_words


_SLASHED = r"(?P<first>\d{1,2})/(?P<second>\d{1,2})/(?P<year>(?:19|20)\d\d)"


def _format_day(day: datetime, months: Sequence[str], dot: str = "") -> str:
    return f"{day.day}{dot} {months[day.month - 1]} {day.year}"


def _add_months(day: datetime, months: int) -> datetime:
    count = day.year * 12 + day.month - 1 + months
    return day.replace(year=count // 12, month=count % 12 + 1, day=1)


def _monday(day: datetime, weeks: int) -> datetime:
    return day - timedelta(days=day.weekday()) + timedelta(weeks=weeks)


def _weekday(day: datetime, name: str, direction: int) -> datetime:
    """The day of this name before (-1) or after (1) today, or in this week (0)."""
    number = time_range.index_of(name, time_range.DAYS)
    if direction == 0:
        return _monday(day, 0) + timedelta(days=number)
    if direction < 0:
        return day - timedelta(days=(day.weekday() - number - 1) % 7 + 1)
    return day + timedelta(days=(number - day.weekday() - 1) % 7 + 1)


def _direction(word: str) -> int:
    """Last is -1, this 0, next 1."""
    folded = word.casefold()
    if folded.startswith(("last", "past", "letzt", "vergangen", "vorig")):
        return -1
    return 0 if folded.startswith(("this", "dies")) else 1


# English: a preposition is added unless there is one already.

_BEFORE = r"(?:(?P<before>since|until|till|by|from|before|after|of|for)\s+)?(?:(?:on|in|during) )?(?:the )?"
_DIRECTION = r"(?P<way>last|past|this|next|coming)"
_DAYS = "|".join(name for each in time_range.DAYS for name in each.split("|"))
_AFTER_DAY = Pattern(rf"\b(?:{_DAYS})s?\s*$", re.IGNORECASE)


def _with_preposition(match: re.Match[str], preposition: str, date_words: str) -> str:
    before = match.groupdict().get("before")
    return f"{before} {date_words}" if before else f"{preposition} {date_words}"


def _english_day(match: re.Match[str], day: datetime) -> str:
    part = match.groupdict().get("part")
    date_words = _format_day(day, _ENGLISH)
    if match.groupdict().get("owns"):
        return date_words + match["owns"]
    if part and part != "night":
        return _with_preposition(match, "on", f"the {part.lower()} of {date_words}")
    return _with_preposition(match, "in" if part else "on", f"the night of {date_words}" if part else date_words)


def _english_week(match: re.Match[str], today: datetime) -> str:
    return _with_preposition(
        match, "in", f"the week of {_format_day(_monday(today, _direction(match['way'])), _ENGLISH)}"
    )


def _english_unit(match: re.Match[str], today: datetime) -> str:
    direction, unit = _direction(match["way"]), match["unit"].lower()
    if unit == "year":
        return _with_preposition(match, "in", str(today.year + direction))
    if unit == "weekend":
        return _with_preposition(
            match, "on", f"the weekend of {_format_day(_monday(today, direction) + timedelta(days=5), _ENGLISH)}"
        )
    month = _add_months(today, direction)
    return _with_preposition(match, "in", f"{_ENGLISH[month.month - 1]} {month.year}")


def _english_month(match: re.Match[str], today: datetime) -> str:
    month = [name.lower() for name in _ENGLISH].index(match["month"].lower()) + 1
    back = month >= today.month if _direction(match["way"]) < 0 else -(month <= today.month)
    return _with_preposition(match, "in", f"{_ENGLISH[month - 1]} {today.year - back}")


def _english_count(match: re.Match[str], today: datetime, direction: int) -> str | None:
    if direction > 0 and _PAST_TENSE.search(match.string):
        return None  # a duration: "it was done in two days"
    number, unit = time_range.number(match["n"]) * direction, match["unit"].lower()
    if unit.startswith("day"):
        return _with_preposition(match, "on", _format_day(today + timedelta(days=number), _ENGLISH))
    if unit.startswith("week"):
        return _with_preposition(match, "in", f"the week of {_format_day(_monday(today, number), _ENGLISH)}")
    if unit.startswith("month"):
        month = _add_months(today, number)
        return _with_preposition(match, "in", f"{_ENGLISH[month.month - 1]} {month.year}")
    return _with_preposition(match, "in", str(today.replace(year=today.year + number, day=1).year))


def _english_bound(match: re.Match[str], today: datetime) -> str | None:
    """Since the last Monday, until the next; "Monday until Friday" is no date."""
    direction = -1 if match["before"].casefold() == "since" else 1
    if _AFTER_DAY.search(match.string[: match.start()]) or (direction > 0 and _PAST_TENSE.search(match.string)):
        return None
    return _english_day(match, _weekday(today, match["day"], direction))


def _slashed(match: re.Match[str], today: datetime) -> str:
    day, month = day_and_month(int(match["first"]), int(match["second"]), slashed=True)
    found = today.replace(year=int(match["year"]), month=month, day=day)
    german = match["german"]
    if german:
        return f"{german} {_format_day(found, _GERMAN, '.')}"
    return _format_day(found, _ENGLISH)


# German: the preposition before is part of the match, because it contracts with the article that follows.

_GERMAN_BEFORE = r"(?:(?P<before>seit|bis|ab|von|vor|nach)\s+)?"
_GERMAN_DIRECTION = r"(?P<way>(?:letzte|vergangene|vorige|nächste|kommende|diese)[nrsm]?)"
_CONTRACTED = {"bis": "bis zum", "von": "vom"}
_PARTS = {
    "früh": "Morgen",
    "morgen": "Morgen",
    "vormittag": "Vormittag",
    "mittag": "Mittag",
    "nachmittag": "Nachmittag",
    "abend": "Abend",
}


def _german_day(match: re.Match[str], day: datetime) -> str:
    date_words, parts = _format_day(day, _GERMAN, "."), match.groupdict()
    if parts.get("part"):
        part = parts["part"].casefold()
        return f"in der Nacht des {date_words}" if part == "nacht" else f"am {_PARTS[part]} des {date_words}"
    before = (parts.get("before") or "").casefold()
    return f"{_CONTRACTED.get(before, f'{before} dem')} {date_words}" if before else f"am {date_words}"


def _german_week(match: re.Match[str], today: datetime) -> str:
    week = f"Woche vom {_format_day(_monday(today, _direction(match['way'])), _GERMAN, '.')}"
    before = (match["before"] or "").casefold()
    return f"{'bis zur' if before == 'bis' else f'{before} der'} {week}" if before else f"in der {week}"


def _german_unit(match: re.Match[str], today: datetime) -> str:
    direction, unit, before = _direction(match["way"]), match["unit"].casefold(), (match["before"] or "").casefold()
    if unit == "jahr":
        return f"{before} {today.year + direction}" if before else f"im Jahr {today.year + direction}"
    if unit == "wochenende":
        weekend = f"Wochenende vom {_format_day(_monday(today, direction) + timedelta(days=5), _GERMAN, '.')}"
        return f"{_CONTRACTED.get(before, f'{before} dem')} {weekend}" if before else f"am {weekend}"
    month = _add_months(today, direction)
    return f"{before or 'im'} {_GERMAN[month.month - 1]} {month.year}"


def _german_count(match: re.Match[str], today: datetime, direction: int) -> str | None:
    if direction > 0 and _PAST_TENSE.search(match.string):
        return None  # a duration: "it was done in two days"
    number, unit = time_range.number(match["n"]) * direction, match["unit"].casefold()
    if unit.startswith("tag"):
        return f"am {_format_day(today + timedelta(days=number), _GERMAN, '.')}"
    if unit.startswith("woche"):
        return f"in der Woche vom {_format_day(_monday(today, number), _GERMAN, '.')}"
    if unit.startswith("monat"):
        month = _add_months(today, number)
        return f"im {_GERMAN[month.month - 1]} {month.year}"
    return f"im Jahr {today.year + number}"


def _german_bound(match: re.Match[str], today: datetime) -> str | None:
    direction = -1 if match["before"].casefold() == "seit" else 1
    if _AFTER_DAY.search(match.string[: match.start()]) or (direction > 0 and _PAST_TENSE.search(match.string)):
        return None
    return _german_day(match, _weekday(today, match["day"], direction))


@cache
def _rules() -> list[tuple[re.Pattern[str], _Writer]]:
    """In the order in which they are applied; compiled when first needed."""
    number = rf"(?P<n>\d{{1,3}}|{'|'.join(date_phrases.NUMBERS)})"
    part = r"(?:\s+(?P<part>morning|afternoon|evening|night))?(?P<owns>['’]s)?"
    teil = r"(?:\s+(?P<part>früh|vormittag|mittag|nachmittag|abend|nacht|morgen))?"
    months = "|".join(_ENGLISH)

    def on(days: int) -> _Writer:
        return lambda match, today: _english_day(match, today + timedelta(days=days))

    def am(days: int) -> _Writer:
        return lambda match, today: _german_day(match, today + timedelta(days=days))

    rules: list[tuple[str, _Writer]] = [
        (rf"{_BEFORE}day before yesterday{part}", on(-2)),
        (rf"{_BEFORE}day after tomorrow{part}", on(2)),
        (rf"{_BEFORE}yesterday{part}", on(-1)),
        (rf"{_BEFORE}tomorrow{part}", on(1)),
        (rf"{_BEFORE}today{part}", on(0)),
        (rf"{_BEFORE}this (?P<part>morning|afternoon|evening)", on(0)),
        (rf"{_BEFORE}last (?P<part>night)", on(-1)),
        (
            rf"{_BEFORE}tonight",
            lambda m, today: _with_preposition(m, "on", f"the evening of {_format_day(today, _ENGLISH)}"),
        ),
        (
            rf"{_BEFORE}(?P<day>{_DAYS})(?: of)? (?P<way>last|this|next) week",
            lambda m, today: _english_day(m, _weekday(_monday(today, _direction(m["way"])), m["day"], 0)),
        ),
        (rf"{_BEFORE}{_DIRECTION} week", _english_week),
        (rf"{_BEFORE}{_DIRECTION} (?P<unit>month|year|weekend)", _english_unit),
        (
            rf"{_BEFORE}{_DIRECTION} (?P<day>{_DAYS}){part}",
            lambda m, day: _english_day(m, _weekday(day, m["day"], _direction(m["way"]))),
        ),
        (rf"(?P<before>since|until|till) (?P<day>{_DAYS})", _english_bound),
        (rf"(?P<before>from) (?P<day>{_DAYS}) on(?:wards?)?(?! \d)", _english_bound),
        (rf"(?P<before>as of|starting) (?P<day>{_DAYS})", _english_bound),
        (rf"{_BEFORE}(?P<way>last|next) (?P<month>{months})", _english_month),
        (rf"{number} (?P<unit>days?|weeks?|months?|years?) ago", lambda m, today: _english_count(m, today, -1)),
        (rf"in {number} (?P<unit>days?|weeks?|months?|years?)(?:['’]? time)?", lambda m, d: _english_count(m, d, 1)),
        (rf"{_GERMAN_BEFORE}vorgestern{teil}", am(-2)),
        (rf"{_GERMAN_BEFORE}gestern{teil}", am(-1)),
        (rf"{_GERMAN_BEFORE}heute{teil}", am(0)),
        (rf"{_GERMAN_BEFORE}übermorgen{teil}", am(2)),
        (rf"(?<!guten )(?<!am )(?<!jeden )(?<!des )(?-i:{_GERMAN_BEFORE}morgen){teil}(?= )", am(1)),
        (r"(?-i:(?<!am )(?<!des )morgen)(?=[.!,]|$)", am(1)),
        (rf"(?:in der |in |während der )?{_GERMAN_BEFORE}{_GERMAN_DIRECTION} woche", _german_week),
        (
            rf"(?:in |im |am )?{_GERMAN_BEFORE}(?:de[mnr] )?{_GERMAN_DIRECTION} (?P<unit>monat|jahr|wochenende)e?s?",
            _german_unit,
        ),
        (r"heuer", lambda m, today: f"im Jahr {today.year}"),
        (
            rf"(?:am )?{_GERMAN_BEFORE}{_GERMAN_DIRECTION} (?P<day>{_DAYS})",
            lambda m, day: _german_day(m, _weekday(day, m["day"], _direction(m["way"]))),
        ),
        (rf"(?P<before>seit|ab|bis)(?: zum| dem)? (?P<day>{_DAYS})", _german_bound),
        (rf"(?P<german>seit|ab|bis|am|dem|zum)? ?{_SLASHED}", _slashed),
        (rf"vor {number} (?P<unit>tag\w*|woche\w*|monat\w*|jahr\w*)", lambda m, today: _german_count(m, today, -1)),
        (rf"in {number} (?P<unit>tag\w*|woche\w*|monat\w*|jahr\w*)", lambda m, today: _german_count(m, today, 1)),
    ]
    return [(re.compile(rf"(?<![\w-]){pattern}(?![\w-])", re.IGNORECASE), write) for pattern, write in rules]
