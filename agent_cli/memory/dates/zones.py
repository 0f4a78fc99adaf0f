"""Time zones: which one the machine is in, and what moment the hands of a clock mean in it.

A zone's rules come from its name, never from the offset that a present moment happens to have: nine o'clock stays nine
o'clock when the clocks change. A time that the clocks leave out in spring means as much later as they leap (02:30 is
03:30), as RFC 5545 has it; one that comes twice in autumn means the first.
"""

from contextlib import suppress
from datetime import UTC, datetime, tzinfo

from agent_cli.errors import UsageError


def local_name() -> str:
    """The machine's zone, as in Europe/Vienna, or what TZ names; empty where it has no name: then its offset counts."""
    from zoneinfo import ZoneInfo

    import tzlocal  # 30 ms, and few commands reckon with times to come

    with suppress(LookupError, ValueError, OSError):  # its settings contradict one another, or name what is not there
        name = str(tzlocal.get_localzone_name() or "")
        return name if name and ZoneInfo(name) else ""
    return ""


def get(name: str, now: datetime) -> tzinfo:
    """The zone of this name, or the offset of the present moment where there is none."""
    from zoneinfo import ZoneInfo  # as late as tzlocal

    with suppress(LookupError, ValueError, OSError):
        return ZoneInfo(name) if name else now.tzinfo or UTC
    return now.tzinfo or UTC


def from_wall(wall: datetime, zone: tzinfo) -> datetime:
    """When the clocks of the zone show this, as they do show it: a time left out is a later one. Raises UsageError."""
    try:
        return wall.replace(tzinfo=zone, fold=0).astimezone(UTC).astimezone(zone)
    except OverflowError as error:
        raise UsageError(f"the end of {wall.year} is beyond any calendar: name a nearer time") from error


def to_wall(moment: datetime, zone: tzinfo) -> datetime:
    """What the clocks of the zone show at a moment."""
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)
