"""Time zones, and moments: the machine's zone, conversion between local time and moments, and how they are written.

A zone's rules come from its name, never from the present offset: nine o'clock stays nine o'clock when the clocks
change. A time skipped in spring is moved forward by the gap (02:30 is 03:30), as in RFC 5545; an ambiguous one in
autumn means the first.
"""

from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo

from agent_cli.errors import UsageError
from agent_cli.values import frozen


def local_name() -> str:
    """The machine's zone (or TZ), as in Europe/Vienna; empty when it has no name."""
    from zoneinfo import ZoneInfo

    import tzlocal  # 30 ms, and few commands need future times

    with suppress(LookupError, ValueError, OSError):  # contradictory settings, or an unknown zone
        name = str(tzlocal.get_localzone_name() or "")
        return name if name and ZoneInfo(name) else ""
    return ""


def get(name: str, now: datetime) -> tzinfo:
    """The zone of this name, or the offset of `now` when there is none."""
    from zoneinfo import ZoneInfo  # as late as tzlocal

    with suppress(LookupError, ValueError, OSError):
        return ZoneInfo(name) if name else now.tzinfo or UTC
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


@frozen
class DueTime:
    """The first moment, in its zone; for a repetition also the rule and its start in local time."""

    due: datetime
    words: str
    zone: str
    repeats: str = ""
    starts: str = ""


def format_moment(moment: datetime, now: datetime) -> str:
    """As in Friday 27 Nov 2026, 15:00; with seconds when it is less than two minutes away."""
    near = abs(moment - now) < timedelta(minutes=2) and moment.second
    return f"{moment:%A} {moment.day} {moment:%b %Y, %H:%M}{f':{moment.second:02}' if near else ''}"
