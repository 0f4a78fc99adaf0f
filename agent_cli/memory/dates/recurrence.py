"""Repetitions: "every Monday", "jeden Werktag", "every last Friday", as a rule of RFC 5545 and its occurrences.

The words are matched by a small grammar; dateutil computes the occurrences. A rule is stored without its start, which
is stored beside it in local time and moves on with the occurrences that have passed, so that they are never counted
again. Daily and longer rules keep the local time of day; hourly and shorter ones count elapsed time across clock
changes. The 29th to 31st of a shorter month means its last day.
"""

import re
from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta, tzinfo

from agent_cli.errors import UsageError
from agent_cli.memory.dates import zones
from agent_cli.memory.language import date_phrases, languages
from agent_cli.text import Pattern
from agent_cli.values import frozen

_DAY_CODES = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_FREQUENCIES = ("MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY")
_UNITS, _ADVERBS = date_phrases.TIME_UNITS[1:], languages.ordered("HOW_OFTEN")
_NTH = languages.ordered("NTH")  # the first to the fourth, and the last
_OTHER, _BETWEEN = languages.pattern("<OTHER>"), languages.pattern("<BETWEEN_DAYS>")
_ELAPSED = ("FREQ=HOURLY", "FREQ=MINUTELY")  # computed in UTC
_MIN_MINUTES = 10  # between two occurrences


@frozen
class Occurrence:
    """One occurrence of a rule: its local time, and the moment in UTC.

    Moments are compared, because local times are ambiguous in the hour that comes twice.
    """

    wall: datetime
    moment: datetime


def _expression() -> str:
    """Matches the words of a repetition, without the time of day."""
    month, day = date_phrases.SHORT_MONTH, rf"(?:{date_phrases.DAY}|{date_phrases.SHORT_DAY})"
    days = rf"{day}(?:(?:\s*,\s*| <BETWEEN_DAYS> |\s*&\s*){day})*"
    date = r"(?P<date>\d{1,2})(?:<NTH_ENDING>)?"
    dates = (
        rf"(?:<ARTICLE_OF_DATE>)?{date}(?: (?:<OF_MONTH>)?(?P<month>{month}))?\b"
        rf"|(?P<month>{month}) {date}\b|(?P<end><LAST_DAY>)"
    )
    rules = (
        rf"<EVERY> (?P<nth>{'|'.join((_NTH[0], *_NTH[2:]))}) (?P<nthday>{day})\b(?: <OF_EACH_MONTH>)?",
        rf"<EVERY> (?P<nth>{_NTH[1]}) (?P<nthday>{day}) <OF_EACH_MONTH>",  # else it is every other one
        r"(?P<work><WORKDAYS>)\b|(?P<weekend><WEEKENDS>)\b(?!['’])",
        rf"<EVERY> (?P<part>{'|'.join(languages.table('PART_HOURS'))})\b",
        rf"<EVERY> (?:(?P<other><OTHER>) )?(?P<days>{days})\b",
        rf"<EVERY> (?:<ARTICLE_OF_DATE>)?(?P<only>\d{{1,2}})"
        rf"(?:(?:<NTH_ENDING>)? (?:<OF_MONTH>)?(?P<month>{month})\b|(?:<NTH_ENDING>)(?: <OF_EACH_MONTH>)?)",
        rf"(?:<EVERY> (?:(?P<other>{date_phrases.NUMBER}|<OTHER>) )?(?P<unit>{'|'.join(_UNITS)})\b"
        rf"|(?P<adverb>{'|'.join(_ADVERBS)})\b)(?:,? <ON_REPEATED> (?:(?P<ondays>{days})s?\b|{dates}))?",
        rf"(?P<days>(?:{date_phrases.DAY})s)\b(?!['’])",
    )
    expanded = languages.expand("\n".join(rules)).split("\n")
    before = rf"(?<![\w-])(?:{languages.alternatives('ON_REPEATED')} )?"
    return languages.spaced(rf"{before}(?:{date_phrases.any_of(expanded)})(?![\w'’-])")


PATTERN = Pattern(_expression(), re.IGNORECASE)


def rule(match: re.Match[str], now: datetime) -> tuple[str, str]:
    """The rule of the matched words, and the part of the day they name or ""; `now` is local time.

    Raises UsageError when it would occur too often, or never.
    """
    groups = date_phrases.groups(match)
    interval = _interval(groups.get("other", ""))
    if "nth" in groups:
        nth = (1, 2, 3, 4, -1)[date_phrases.index(groups["nth"], _NTH)]
        return f"FREQ=MONTHLY;BYDAY={nth}{_day_codes(groups['nthday'])}", ""
    if "work" in groups:
        return "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", ""
    if "weekend" in groups:
        return "FREQ=WEEKLY;BYDAY=SA,SU", ""
    if "part" in groups:
        return "FREQ=DAILY", groups["part"]
    if days := groups.get("days") or groups.get("ondays"):
        return _rule("WEEKLY", interval, f"BYDAY={_day_codes(days)}"), ""
    month = groups.get("month", "")
    if "only" in groups:
        return _date_rule(1, groups["only"], month), ""
    adverb, unit = groups.get("adverb"), groups.get("unit", "")
    number = date_phrases.index(adverb, _ADVERBS) + 1 if adverb else date_phrases.index(unit, _UNITS)
    frequency = _FREQUENCIES[number]
    if frequency == "MINUTELY" and interval < _MIN_MINUTES:
        raise UsageError(f"every {interval} minutes is too often: at most every {_MIN_MINUTES} minutes")
    if "end" in groups:
        return _rule("MONTHLY", interval, "BYMONTHDAY=-1"), ""
    if "date" in groups:
        return _date_rule(interval, groups["date"], month), ""
    return _rule(frequency, interval, _as_today(frequency, now)), ""


def cron(rule: str, at: time) -> str:
    """The five fields of cron that say the same as a rule. Raises UsageError where none do."""
    parts = dict(part.split("=") for part in rule.split(";"))
    every = f"*/{parts['INTERVAL']}" if "INTERVAL" in parts else "*"
    days = parts.get("BYMONTHDAY", "*").replace("-1", "L")
    weekdays = parts.get("BYDAY", "*").replace("-1", "L")
    match parts["FREQ"]:
        case "MINUTELY":
            return f"{every} * * * *"
        case "HOURLY":
            return f"{at.minute} {every} * * *"
        case _ if every != "*" or "BYSETPOS" in parts:
            raise UsageError("a schedule has no every other time, and no 29th to 31st of each month: name days")
    weekdays = re.sub(rf"([\dL]?)({'|'.join(_DAY_CODES)})", _cron_day, weekdays)
    return f"{at.minute} {at.hour} {days} {parts.get('BYMONTH', '*')} {weekdays}"


def _cron_day(match: re.Match[str]) -> str:
    """A day of the week, the nth of the month, or the last, as cron has them."""
    number, nth = _DAY_CODES.index(match[2]) + 1, match[1]
    return f"{number}L" if nth == "L" else f"{number}#{nth}" if nth else str(number)


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
    if _OTHER.fullmatch(word):
        return 2
    if not (number := date_phrases.number(word)):
        raise UsageError("an interval of 0 is not possible: say every day, or every 2 weeks")
    return number


def _rule(frequency: str, interval: int, by: str = "") -> str:
    parts = [f"FREQ={frequency}", f"INTERVAL={interval}" if interval > 1 else "", by]
    return ";".join(part for part in parts if part)


def _day_codes(days: str) -> str:
    found = {date_phrases.day_number(word) for word in re.split(r"\W+", days) if not _BETWEEN.fullmatch(word)}
    return ",".join(code for number, code in enumerate(_DAY_CODES) if number in found)


def _as_today(frequency: str, now: datetime) -> str:
    """The day of the rule when none is named: today's."""
    if frequency == "WEEKLY":
        return f"BYDAY={_DAY_CODES[now.weekday()]}"
    if frequency == "MONTHLY":
        return _on_date(now.day)
    return f"BYMONTH={now.month};{_on_date(now.day, now.month)}" if frequency == "YEARLY" else ""


def _date_rule(interval: int, date: str, month: str) -> str:
    if not 1 <= int(date) <= 31:
        raise UsageError(f"no month has a day {date}: name one from 1 to 31")
    if not month:
        return _rule("MONTHLY", interval, _on_date(int(date)))
    number = date_phrases.month_number(month)
    if int(date) > monthrange(2024, number)[1]:  # a leap year
        raise UsageError(f"{month.capitalize()} has no day {date}: name another")
    return _rule("YEARLY", interval, f"BYMONTH={number};{_on_date(int(date), number)}")


def _on_date(day: int, month: int = 0) -> str:
    """A day of the month, or the last day of a shorter month."""
    if day < 29 or (month and (month != 2 or day < 29)):
        return f"BYMONTHDAY={day}"
    return f"BYMONTHDAY={','.join(map(str, range(28, day + 1)))};BYSETPOS=-1"
