"""The events of a calendar in the next days.

A calendar of ten lines can mean an event every second, or every day since the year 1, and the library expands each of
them: it must run within limits.
"""

from datetime import datetime, timedelta
from typing import Any

from agent_cli.text import one_line

_DAYS = 7
_MAX_EVENTS = 20
_MISSING = "the libraries for calendars are not installed: pip install 'agent-cli[feeds]'; tell the person"


def upcoming_events(data: bytes, now: datetime, zone: str) -> str:
    """The events from today on, recurring ones too, in the person's time zone. Raises ValueError."""
    try:
        import icalendar
        import recurring_ical_events
    except ImportError as error:
        raise ValueError(_MISSING) from error
    begin = _in_zone(now, zone).replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        calendar = icalendar.Calendar.from_ical(data)
        found = recurring_ical_events.of(calendar).between(begin, begin + timedelta(days=_DAYS))
    except (MemoryError, RecursionError):
        raise
    except Exception as error:  # ValueError, KeyError, TypeError, … as the calendar is broken
        raise ValueError(f"the calendar cannot be read: {one_line(str(error), 200)}") from error
    events = sorted(found, key=lambda event: _start(event, begin, zone))
    lines = [_event(event, begin, zone) for event in events[:_MAX_EVENTS]]
    if len(events) > _MAX_EVENTS:
        lines.append(f"and {len(events) - _MAX_EVENTS} more")
    return "\n".join([f"The next {_DAYS} days:", *lines]) if lines else f"no events in the next {_DAYS} days"


def _in_zone(moment: datetime, zone: str) -> datetime:
    """A moment in the person's zone, with its summer time; the clock gives only an offset."""
    if not zone:
        return moment.astimezone()
    from zoneinfo import ZoneInfo

    return moment.astimezone(ZoneInfo(zone))


def _start(event: Any, today: datetime, zone: str) -> datetime:
    """The start of an event: midnight for whole days, the person's zone when it has none."""
    start = event["DTSTART"].dt
    if not isinstance(start, datetime):
        start = datetime.combine(start, datetime.min.time())
    return _in_zone(start, zone) if start.tzinfo else start.replace(tzinfo=today.tzinfo)


def _event(event: Any, today: datetime, zone: str) -> str:
    begins = _start(event, today, zone)
    whole_day = not isinstance(event["DTSTART"].dt, datetime)
    at = f"{begins:%a %d %b}" + ("" if whole_day else f" {begins:%H:%M}")
    place = one_line(str(event.get("LOCATION", "")), 80)
    return f"- {at}: {one_line(str(event.get('SUMMARY', 'without a title')), 120)}{f', {place}' if place else ''}"
