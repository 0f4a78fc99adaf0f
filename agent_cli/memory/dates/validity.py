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
from agent_cli.values import frozen

_MOMENT = timedelta(milliseconds=1)  # an end is the last moment at which it is true
_CHANGE, _FUTURE = languages.pattern("<CHANGE>"), languages.pattern("<FUTURE>")
_PAST, _PERFECT = languages.pattern("<PAST>"), languages.pattern("<PERFECT>")


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
    kind, to_come = date_phrases.kind(phrase), ahead or not _PAST.search(statement)
    match kind:
        case "range":
            return _range(phrase["first"], phrase["last"], today, to_come)
        case "duration" if _PERFECT.search(statement):
            return _before(phrase, today), None
        case "until":
            return None, date_phrases.days(phrase["date"], today, ahead=not _PAST.search(statement))[1] - _MOMENT
        case "since" | "from":
            return date_phrases.days(phrase["date"], today, ahead=kind == "from" and to_come)[0], None
        case "at" if begins:
            return date_phrases.days(phrase["date"], today, ahead=ahead)[0], None
    return None, None


def _range(first: str, last: str, today: datetime, ahead: bool) -> date_phrases.Days:
    """ "From 3 to 10 May 2026": the first date takes from the second what it does not say."""
    start, end = date_phrases.days(last, today, ahead=ahead)
    if re.fullmatch(r"\d{1,2}\.?", first):
        begin = start.replace(day=int(first.rstrip(".")))
    else:
        begin = date_phrases.days(first, start, ahead=False)[0]
    return begin, end - _MOMENT


def _before(phrase: re.Match[str], today: datetime) -> datetime:
    """So many days, weeks, months or years before today."""
    number = date_phrases.number(phrase["n"].lower())
    unit = date_phrases.index(phrase["unit"].lower(), date_phrases.DAY_UNITS)
    if unit < 2:
        return today - timedelta(days=number * (1, 7)[unit])
    return date_phrases.month(today, -number * (1, 12)[unit - 2])
