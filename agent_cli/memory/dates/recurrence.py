"""Repetitions: "every Monday", "jeden Werktag", "every last Friday", as a rule of RFC 5545 and its occurrences.

The words are matched by a small grammar; dateutil computes the occurrences. A rule is stored without its start, which
is stored beside it in local time and moves on with the occurrences that have passed, so that they are never counted
again. Daily and longer rules keep the local time of day; hourly and shorter ones count elapsed time across clock
changes. The 29th to 31st of a shorter month means its last day.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta, tzinfo
from functools import cache

from agent_cli.errors import UsageError
from agent_cli.memory.dates import time_range, zones
from agent_cli.memory.language import date_phrases
from agent_cli.values import frozen

_DAY_CODES = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_SHORT_DAYS = ("mon", "tues?", "wed", "thu(?:rs?)?", "fri", "sat", "sun")
_NTH = {
    "last": -1,
    "letzte": -1,
    "first": 1,
    "1st": 1,
    "erste": 1,
    "second": 2,
    "2nd": 2,
    "zweite": 2,
    "third": 3,
    "3rd": 3,
    "dritte": 3,
    "fourth": 4,
    "4th": 4,
    "vierte": 4,
}
_UNITS = {
    "minute": "MINUTELY",
    "min": "MINUTELY",
    "hour": "HOURLY",
    "stund": "HOURLY",
    "day": "DAILY",
    "tag": "DAILY",
    "week": "WEEKLY",
    "woche": "WEEKLY",
    "month": "MONTHLY",
    "monat": "MONTHLY",
    "year": "YEARLY",
    "jahr": "YEARLY",
}
_ADVERBS = {
    "hourly": "HOURLY",
    "stündlich": "HOURLY",
    "daily": "DAILY",
    "täglich": "DAILY",
    "weekly": "WEEKLY",
    "wöchentlich": "WEEKLY",
    "monthly": "MONTHLY",
    "monatlich": "MONTHLY",
    "yearly": "YEARLY",
    "annually": "YEARLY",
    "jährlich": "YEARLY",
}
_ELAPSED = ("FREQ=HOURLY", "FREQ=MINUTELY")  # computed in UTC
_MIN_MINUTES = 10  # between two occurrences


@frozen
class Occurrence:
    """One occurrence of a rule: its local time, and the moment in UTC.

    Moments are compared, because local times are ambiguous in the hour that comes twice.
    """

    wall: datetime
    moment: datetime


def day_code(word: str) -> str:
    """The code of a weekday, as in MO. Raises ValueError for another word."""
    word = word.casefold().removesuffix("s") if word.casefold() not in ("tues", "thurs") else word.casefold()
    for code, full, short in zip(_DAY_CODES, time_range.DAYS, _SHORT_DAYS, strict=True):
        if re.fullmatch(f"{full}|{short}", word):
            return code
    raise ValueError(f"{word!r} is not a day of the week")


def day_pattern() -> str:
    """A pattern of the full names of weekdays."""
    return "|".join(time_range.DAYS)


def short_day_pattern() -> str:
    return "|".join(_SHORT_DAYS)


@cache
def pattern() -> re.Pattern[str]:
    """Matches the words of a repetition, without the time of day."""
    day = rf"(?:{day_pattern()}|{short_day_pattern()})"
    days = rf"{day}(?:(?:\s*,\s*|\s+(?:and|und|or)\s+|\s*&\s*){day})*"
    number = rf"\d{{1,3}}|{'|'.join(date_phrases.NUMBERS)}"
    months = "|".join(f"{name}|{name.split('|')[0][:3]}" for name in date_phrases.MONTHS)
    dates = (
        rf"(?:the\s+)?(?P<date>\d{{1,2}})(?:st|nd|rd|th|\.)?(?:\s+(?:of\s+)?(?P<month>{months}))?\b"
        rf"|(?P<month2>{months})\s+(?P<date2>\d{{1,2}})(?:st|nd|rd|th)?\b|(?:the\s+)?(?P<end>last)\s+day"
    )
    second = [name for name, number in _NTH.items() if number == 2]  # every second Friday is every other one
    nth = "|".join(sorted({*_NTH} - {*second}, key=len, reverse=True))
    of = r"\s+(?:of\s+(?:the|every|each)\s+month|im\s+monat|(?:des|jedes)\s+monats)"
    on = rf"(?:,?\s+(?:on|am)\s+(?:(?:an?\s+)?(?P<ondays>{days})s?\b|{dates}))?"
    every = r"(?:every|each|jede[nrsm]?|alle)"
    return re.compile(
        rf"""(?<![\w-])(?:(?:on|am)\s+)?(?:
            {every}\s+(?:
                (?P<nth>{nth})[nrs]?\s+(?P<nthday>{day})\b(?:{of})?
              | (?P<nth2>{"|".join(second)})[nrs]?\s+(?P<nthday2>{day}){of}
              | (?P<work>weekday|workday|working\s+day|werktag|wochentag)s?\b
              | (?P<weekend>weekend|wochenende)\b
              | (?P<part>morning|afternoon|evening|night|morgen|vormittag|nachmittag|abend)\b
              | (?:(?P<other>other|second|2nd|zweite[nrs]?)\s+)?(?:(?P<days>{days})\b)
              | (?:the\s+)?(?P<only>\d{{1,2}})
                (?:(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?P<onlymonth>{months})\b|(?:st|nd|rd|th|\.)(?:{of})?)
            )
          | (?:{every}\s+(?:(?P<n>{number}|other|second|2nd|zweite[nrs]?)\s+)?
                (?P<unit>minute[ns]?|mins?|hours?|stunden?|days?|tage?n?|weeks?|wochen?|months?|monate?n?|years?|jahre?)\b
              | (?P<adverb>{"|".join(_ADVERBS)})\b){on}
          | (?P<plural>weekdays|werktags|weekends|(?:{day_pattern()})s)\b(?!['’])
        )(?![\w'’-])""",
        re.IGNORECASE | re.VERBOSE,
    )


def rule(match: re.Match[str], now: datetime) -> tuple[str, str]:
    """The rule of the matched words, and the part of the day they name or ""; `now` is local time.

    Raises UsageError when it would occur too often, or never.
    """
    groups = {name: value.casefold() for name, value in match.groupdict().items() if value}
    interval = _interval(groups.get("n") or groups.get("other") or "")
    plural = groups.get("plural", "")
    if nth := groups.get("nth") or groups.get("nth2"):
        return f"FREQ=MONTHLY;BYDAY={_NTH[nth]}{day_code(groups.get('nthday') or groups['nthday2'])}", ""
    if "work" in groups or plural in ("weekdays", "werktags"):
        return "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", ""
    if "weekend" in groups or plural == "weekends":
        return "FREQ=WEEKLY;BYDAY=SA,SU", ""
    if "part" in groups:
        return "FREQ=DAILY", groups["part"]
    if days := groups.get("days") or plural:
        return _rule("WEEKLY", interval, f"BYDAY={_day_codes(days)}"), ""
    if "only" in groups:
        return _date_rule("", 1, groups["only"], groups.get("onlymonth", "")), ""
    unit = groups.get("unit", "")
    frequency = _ADVERBS.get(groups.get("adverb", "")) or next(
        code for begin, code in _UNITS.items() if unit.startswith(begin)
    )
    if frequency == "MINUTELY" and interval < _MIN_MINUTES:
        raise UsageError(f"every {interval} minutes is too often: at most every {_MIN_MINUTES} minutes")
    if days := groups.get("ondays"):
        return _rule("WEEKLY", interval, f"BYDAY={_day_codes(days)}"), ""
    if "end" in groups:
        return _rule("MONTHLY", interval, "BYMONTHDAY=-1"), ""
    if date := groups.get("date") or groups.get("date2"):
        return _date_rule(frequency, interval, date, groups.get("month") or groups.get("month2") or ""), ""
    return _rule(frequency, interval, _as_today(frequency, now)), ""


def first(rule: str, at: time, zone: tzinfo, now: datetime) -> Occurrence:
    """The first occurrence after `now`: the coming Friday for every other Friday. Raises UsageError when there is
    none."""
    if rule.startswith(_ELAPSED):
        start = now.astimezone(UTC).replace(tzinfo=None)
        return next(_occurrences(rule, start, zone, start + timedelta(seconds=1)))
    today = zones.to_wall(now, zone).replace(hour=0, minute=0, second=0, microsecond=0)
    start = datetime.combine(today - timedelta(days=1), at)
    each = ";".join(part for part in rule.split(";") if not part.startswith("INTERVAL="))
    occurrence = next(
        (time for time in _occurrences(each, start, zone, start) if time.moment > now.astimezone(UTC)), None
    )
    if occurrence is None:
        raise UsageError("that day does not exist: name another")
    return occurrence


def next_after(rule: str, starts: str, zone: tzinfo, moment: datetime) -> Occurrence | None:
    """The first occurrence after a moment; None when there is none before the year 9999."""
    start = datetime.fromisoformat(starts)
    earliest = zones.to_wall(moment, _rule_zone(rule, zone)) - timedelta(days=1)  # the clocks may have been put back
    return next(
        (time for time in _occurrences(rule, start, zone, earliest) if time.moment > moment.astimezone(UTC)), None
    )


def past(rule: str, starts: str, zone: tzinfo, now: datetime) -> list[Occurrence]:
    """The occurrences from the start up to now."""
    found = []
    start = datetime.fromisoformat(starts)
    for each in _occurrences(rule, start, zone, start):
        if each.moment > now.astimezone(UTC):
            break
        found.append(each)
    return found


def _occurrences(rule: str, start: datetime, zone: tzinfo, earliest: datetime) -> Iterator[Occurrence]:
    """The occurrences from `earliest` on, computed from `start`; both are local times."""
    from dateutil.rrule import rrulestr  # only repetitions need it

    rule_zone = _rule_zone(rule, zone)
    walls = rrulestr(rule, dtstart=start).xafter(max(earliest, start), inc=True)
    for each in walls:
        yield Occurrence(each, zones.from_wall(each, rule_zone).astimezone(UTC))


def _rule_zone(rule: str, zone: tzinfo) -> tzinfo:
    return UTC if rule.startswith(_ELAPSED) else zone


def _interval(word: str) -> int:
    if not word:
        return 1
    if word in ("other", "second", "2nd") or word.startswith("zweite"):
        return 2
    count = time_range.number(word)
    if not count:
        raise UsageError("an interval of 0 is not possible: say every day, or every 2 weeks")
    return count


def _rule(frequency: str, interval: int, by: str = "") -> str:
    parts = [f"FREQ={frequency}", f"INTERVAL={interval}" if interval > 1 else "", by]
    return ";".join(part for part in parts if part)


def _day_codes(days: str) -> str:
    found = {day_code(word) for word in re.findall(r"\w+", days) if word not in ("and", "und", "or")}
    return ",".join(code for code in _DAY_CODES if code in found)


def _as_today(frequency: str, now: datetime) -> str:
    """The day of the rule when none is named: today's."""
    if frequency == "WEEKLY":
        return f"BYDAY={_DAY_CODES[now.weekday()]}"
    if frequency == "MONTHLY":
        return _on_date(now.day)
    return f"BYMONTH={now.month};{_on_date(now.day, now.month)}" if frequency == "YEARLY" else ""


def _date_rule(frequency: str, interval: int, date: str, month: str) -> str:
    if not 1 <= int(date) <= 31:
        raise UsageError(f"no month has a day {date}: name one from 1 to 31")
    if not month:
        return _rule("MONTHLY", interval, _on_date(int(date)))
    number = 1 + next(
        n for n, name in enumerate(date_phrases.MONTHS) if month[:3] in (each[:3] for each in name.split("|"))
    )
    if int(date) > (29 if number == 2 else 30 if number in (4, 6, 9, 11) else 31):
        raise UsageError(f"{month.capitalize()} has no day {date}: name another")
    return _rule("YEARLY", interval, f"BYMONTH={number};{_on_date(int(date), number)}")


def _on_date(day: int, month: int = 0) -> str:
    """A day of the month, or the last day of a shorter month."""
    if day < 29 or (month and (month != 2 or day < 29)):
        return f"BYMONTHDAY={day}"
    return f"BYMONTHDAY={','.join(map(str, range(28, day + 1)))};BYSETPOS=-1"
