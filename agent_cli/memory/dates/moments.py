"""What a due time is: a moment in a zone, perhaps with a repetition; its occurrences, and how it is written.

A repetition is a rule of RFC 5545 without its start, which is stored beside it in local time and moves on with the
occurrences that have passed. Daily and longer rules keep the local time of day; shorter ones count elapsed time. The
rules of a zone come from its name: nine o'clock stays nine o'clock when the clocks change. A time skipped in spring is
moved forward by the gap (02:30 is 03:30); an ambiguous one in autumn means the first.
"""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, time, timedelta, tzinfo
from itertools import takewhile

from agent_cli.errors import UsageError
from agent_cli.values import frozen

DAY_CODES = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
ELAPSED = ("FREQ=HOURLY", "FREQ=MINUTELY")  # computed in UTC


@frozen
class DueTime:
    """The first moment, in its zone; for a repetition also the rule and its start in local time."""

    due: datetime
    words: str
    zone: str
    repeats: str = ""
    starts: str = ""


@frozen
class Occurrence:
    """Of a rule: its local time, and the moment in UTC. Moments are compared: an hour may come twice."""

    wall: datetime
    moment: datetime


def local_zone() -> str:
    """The name of the machine's zone (or TZ), as in Europe/Vienna; empty when it has none."""
    from zoneinfo import ZoneInfo

    import tzlocal  # 30 ms, and few commands need future times

    with suppress(LookupError, ValueError, OSError):  # contradictory settings, or an unknown zone
        return ZoneInfo(str(tzlocal.get_localzone_name())).key
    return ""


def get_zone(name: str, now: datetime) -> tzinfo:
    """The zone of this name, or the offset of `now` when there is none."""
    from zoneinfo import ZoneInfo  # as late as tzlocal

    with suppress(LookupError, ValueError, OSError):
        return ZoneInfo(name)
    return now.tzinfo or UTC


def from_wall(wall: datetime, zone: tzinfo) -> datetime:
    """The moment of a local time; a skipped one is moved forward. Raises UsageError."""
    try:
        return wall.replace(tzinfo=zone, fold=0).astimezone(UTC).astimezone(zone)
    except OverflowError as error:
        raise UsageError(f"the end of {wall.year} is too far away: name a nearer time") from error


def to_wall(moment: datetime, zone: tzinfo) -> datetime:
    """The local time of a moment, without its zone."""
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def format_moment(moment: datetime, now: datetime) -> str:
    """As in Friday 27 Nov 2026, 15:00; with seconds when it is less than two minutes away."""
    near = abs(moment - now) < timedelta(minutes=2) and moment.second
    return f"{moment:%A} {moment.day} {moment:%b %Y, %H:%M}{f':{moment.second:02}' if near else ''}"


def cron(rule: str, at: time) -> str:
    """The five fields of cron that say the same as a rule. Raises UsageError where none do."""
    parts = dict(part.split("=") for part in rule.split(";"))
    every = f"*/{parts['INTERVAL']}" if "INTERVAL" in parts else "*"
    match parts["FREQ"]:
        case _ if "UNTIL" in parts:
            raise UsageError("a schedule has no end: leave it out, and stop the schedule with `agent schedule rm`")
        case "MINUTELY":
            return f"{every} * * * *"
        case "HOURLY":
            return f"{at.minute} {every} * * *"
        case _ if every != "*" or "BYSETPOS" in parts:
            raise UsageError("a schedule has no every other time, and no 29th to 31st of each month: name days")
    weekdays = []
    for each in parts["BYDAY"].split(",") if "BYDAY" in parts else ():
        number, nth = DAY_CODES.index(each[-2:]) + 1, each[:-2]  # the nth of the month, or the last
        weekdays.append(f"{number}{'L' if nth == '-1' else nth and f'#{nth}'}")
    day = parts.get("BYMONTHDAY", "*").replace("-1", "L")
    return f"{at.minute} {at.hour} {day} {parts.get('BYMONTH', '*')} {','.join(weekdays) or '*'}"


def first(rule: str, at: time, zone: tzinfo, now: datetime) -> Occurrence:
    """The first after `now`: the coming Friday for every other Friday. Raises UsageError when there is none."""
    every, start = rule, to_wall(now, UTC)
    if not rule.startswith(ELAPSED):
        every = ";".join(part for part in rule.split(";") if not part.startswith("INTERVAL="))
        start = datetime.combine(to_wall(now, zone) - timedelta(days=1), at)
    found = next((each for each in _occurrences(every, start, zone, start) if each.moment > now.astimezone(UTC)), None)
    if found is None:
        raise UsageError("there is no such time to come: name another")
    return found


def next_after(rule: str, starts: str, zone: tzinfo, moment: datetime) -> Occurrence | None:
    """The first occurrence after a moment; None when there is none before the year 9999."""
    start, after = datetime.fromisoformat(starts), moment.astimezone(UTC)
    earliest = to_wall(moment, _rule_zone(rule, zone)) - timedelta(days=1)  # the clocks may have been put back
    return next((each for each in _occurrences(rule, start, zone, earliest) if each.moment > after), None)


def past(rule: str, starts: str, zone: tzinfo, now: datetime) -> list[Occurrence]:
    start, until = datetime.fromisoformat(starts), now.astimezone(UTC)
    return list(takewhile(lambda each: each.moment <= until, _occurrences(rule, start, zone, start)))


def _occurrences(rule: str, start: datetime, zone: tzinfo, earliest: datetime) -> Iterator[Occurrence]:
    """The occurrences from `earliest` on, computed from `start`; both are local times."""
    from dateutil.rrule import rrulestr  # only repetitions need it

    rule_zone = _rule_zone(rule, zone)
    for each in rrulestr(rule, dtstart=start).xafter(max(earliest, start), inc=True):
        yield Occurrence(each, from_wall(each, rule_zone).astimezone(UTC))


def _rule_zone(rule: str, zone: tzinfo) -> tzinfo:
    return UTC if rule.startswith(ELAPSED) else zone
