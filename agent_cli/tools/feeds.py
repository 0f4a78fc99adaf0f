"""The tool that fetches what the person's settings name: news, a calendar, the weather.

The model gives a name and no address, so nothing of what it knows can leave with a request, and what it fetches is what
the person chose. That is why it is asked for no more than reading a file is.
"""

from datetime import date, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

from agent_cli.text import Pattern, clean, one_line
from agent_cli.tools import fetching
from agent_cli.tools.fetching import Fetched
from agent_cli.tools.tool import ToolContext, ToolFailed, tool

_SECONDS = 25.0
_ENTRIES = 10
_DAYS = 7  # of a calendar
_EVENTS = 20
_SUMMARY, _TEXT = 200, 4000  # characters
_TAG = Pattern(r"<(?:script|style)\b.*?</(?:script|style)>|<[^>]{0,2000}>")
_MISSING = "what reads {what} is not installed: pip install 'agent-cli[feeds]'; tell the person"


@tool(risk="read", offered=lambda context: bool(context.reach.feeds), source="feeds", seconds=_SECONDS + 5)
def fetch_feed(context: ToolContext, name: str = "") -> str:
    """Fetch news, a calendar or a text that the person has set up; without a name list them."""
    there = ", ".join(context.reach.feeds)
    if not name.strip():
        return there
    address = context.reach.feeds.get(name.strip())
    if address is None:
        raise ToolFailed(f"there is no {one_line(name)!r}; there are {there}" if there else "nothing has been set up")
    return _told(_fetched(address, context), context.time(), context.reach.zone)


def _fetched(address: str, context: ToolContext) -> Fetched:
    if address.startswith(("http://", "https://")):
        return fetching.fetch(address, _SECONDS, private=context.reach.private)
    file = Path(address.removeprefix("file://")).expanduser()
    try:
        if not file.is_file():
            raise ToolFailed(f"{file} is no file")
        if file.stat().st_size > fetching.LARGEST:
            raise ToolFailed(f"{file} is larger than {fetching.LARGEST / 1e6:.0f} MB")
        return Fetched(file.read_bytes(), "", str(file))
    except OSError as error:
        raise ToolFailed(f"{file} cannot be read: {error.strerror}") from error


def _here(moment: datetime, zone: str) -> datetime:
    """A moment in the person's zone, which knows summer time; the clock gives an offset alone."""
    if not zone:
        return moment.astimezone()
    from zoneinfo import ZoneInfo

    return moment.astimezone(ZoneInfo(zone))


def _told(found: Fetched, now: datetime, zone: str) -> str:
    """What it says, after its first bytes: what servers say of its kind is often wrong."""
    head = found.data[:1000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if head.startswith(b"begin:vcalendar"):
        return _calendar(found.data, now, zone)
    if any(mark in head for mark in (b"<rss", b"<feed", b"<rdf:rdf")) or "rss" in found.kind or "atom" in found.kind:
        return _feed(found.data)
    if b"\0" in found.data[:8000]:
        raise ToolFailed("it is neither a feed nor a calendar nor text")
    words = found.data.decode("utf-8", "replace")
    words = _plain(words) if head.startswith((b"<!doctype html", b"<html")) else clean(words).strip()
    return words if len(words) <= _TEXT else f"{words[:_TEXT]}\n[cut off here: {len(words) - _TEXT} more characters]"


def _feed(data: bytes) -> str:
    """Title and newest entries of an RSS or Atom feed."""
    try:
        import feedparser
    except ImportError as error:
        raise ToolFailed(_MISSING.format(what="feeds")) from error
    told = feedparser.parse(BytesIO(data))
    if told.bozo and not told.entries:
        raise ToolFailed(f"the feed cannot be read: {one_line(str(told.bozo_exception), 200)}")
    entries = sorted(told.entries, key=_moment, reverse=True)  # those without a date keep their order, at the end
    lines = [one_line(_plain(told.feed.get("title", "")), 100), *map(_entry, entries[:_ENTRIES])]
    if len(entries) > _ENTRIES:
        lines.append(f"and {len(entries) - _ENTRIES} older ones")
    return "\n".join(filter(None, lines)) if entries else "the feed has no entries"


def _moment(entry: Any) -> tuple[int, ...]:
    told = entry.get("published_parsed") or entry.get("updated_parsed")
    return tuple(told[:6]) if told else ()


def _entry(entry: Any) -> str:
    moment = _moment(entry)
    day = f"{date(*moment[:3]):%d %b %Y}: " if moment else ""
    title = one_line(_plain(entry.get("title", "")), 200)
    summary = one_line(_plain(entry.get("summary", "")), _SUMMARY)
    link = one_line(entry.get("link", ""), 200)
    return f"- {day}{title}{f' — {summary}' if summary and summary != title else ''}{f' ({link})' if link else ''}"


def _calendar(data: bytes, now: datetime, zone: str) -> str:
    """What a calendar holds from today on, repeated events among it, by the clock of the person."""
    try:
        import icalendar
        import recurring_ical_events
    except ImportError as error:
        raise ToolFailed(_MISSING.format(what="calendars")) from error
    begin = _here(now, zone).replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        calendar = icalendar.Calendar.from_ical(data)
        found = recurring_ical_events.of(calendar).between(begin, begin + timedelta(days=_DAYS))
    except Exception as error:  # ValueError, KeyError, TypeError, … as the calendar is broken
        raise ToolFailed(f"the calendar cannot be read: {one_line(str(error), 200)}") from error
    events = sorted(found, key=lambda event: _begins(event, begin, zone))
    lines = [_event(event, begin, zone) for event in events[:_EVENTS]]
    if len(events) > _EVENTS:
        lines.append(f"and {len(events) - _EVENTS} more")
    return "\n".join([f"The next {_DAYS} days:", *lines]) if lines else f"nothing in the next {_DAYS} days"


def _begins(event: Any, today: datetime, zone: str) -> datetime:
    """When an event begins; one of whole days at midnight, one without a zone by the person's clock."""
    told = event["DTSTART"].dt
    if not isinstance(told, datetime):
        told = datetime.combine(told, datetime.min.time())
    return _here(told, zone) if told.tzinfo else told.replace(tzinfo=today.tzinfo)


def _event(event: Any, today: datetime, zone: str) -> str:
    begins = _begins(event, today, zone)
    whole_day = not isinstance(event["DTSTART"].dt, datetime)
    at = f"{begins:%a %d %b}" + ("" if whole_day else f" {begins:%H:%M}")
    place = one_line(str(event.get("LOCATION", "")), 80)
    return f"- {at}: {one_line(str(event.get('SUMMARY', 'without a title')), 120)}{f', {place}' if place else ''}"


def _plain(html: str) -> str:
    """The words of HTML, one space between them."""
    from html import unescape  # its table of names takes 2 ms

    return " ".join(clean(unescape(_TAG.sub(" ", html))).split())
