"""The tool that fetches the feeds in the person's settings: news, a calendar, the weather. The model gives a name and
no address, so a request can carry nothing of what the model knows; hence it needs no more permission than reading a
file. What is fetched may not be in the private network: a name is resolved once, checked, and that address is connected
to, for redirects too. A calendar of ten lines can mean an event every second, and the library expands each: so parsing
has limits."""

import re
import time
from collections.abc import Callable
from datetime import date, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_cli import limits
from agent_cli.text import Pattern, clean, one_line
from agent_cli.tools.tool import QuotedFailure, ToolContext, ToolFailed, tool
from agent_cli.values import frozen

if TYPE_CHECKING:
    import httpcore

MAX_BYTES = 5_000_000
_FETCH_TIMEOUT = 25.0
_PARSER_TIMEOUT = 15.0  # seconds
_CALL_TIMEOUT = _FETCH_TIMEOUT + _PARSER_TIMEOUT + 5
_MAX_ENTRIES = _MAX_EVENTS = 50
_DAYS = 7
_MAX_SUMMARY, _MAX_TEXT = 200, 4000  # characters
_TAG = Pattern(r"<[^<>]*+>")
_HIDDEN = Pattern(r"<(script|style)\b.*?(?:</\1[^<>]*+>?|\Z)", re.IGNORECASE | re.DOTALL)
_MAX_HTML = 500_000  # characters of HTML that are read
_MISSING = "the libraries for {} are not installed: pip install 'agent-cli[feeds]'; tell the person"
_MAX_REDIRECTS = 5
_REDIRECT_STATUS = (301, 302, 303, 307, 308)
_IPV4_IN_IPV6 = ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "::/96", "::ffff:0:0:0/96")


@frozen
class Fetched:
    data: bytes
    media_type: str  # in lower case


@tool(risk="read", offered=lambda context: bool(context.access.feeds), source="feeds", seconds=_CALL_TIMEOUT)
def fetch_feed(context: ToolContext, name: str = "") -> str:
    """Fetch news, a calendar or a text that the person has set up; without a name list them."""
    available = ", ".join(context.access.feeds)
    if not name.strip():
        return available
    address = context.access.feeds.get(name.strip())
    if address is None:
        what = f"there is no {one_line(name)!r}; there are {available}"
        raise ToolFailed(what if available else "no feeds are set up")
    return _as_text(_load(address, context), context.time())


def _load(address: str, context: ToolContext) -> Fetched:
    if address.startswith(("http://", "https://")):
        return fetch(address, _FETCH_TIMEOUT, allow_private=context.access.allow_private)
    from agent_cli.memory.documents import document_sections

    file = Path(address.removeprefix("file://")).expanduser()
    try:
        return Fetched(document_sections.read(str(file), MAX_BYTES), "")
    except document_sections.UnreadableFile as error:
        raise ToolFailed(f"{file} is not read: {error}") from error


def fetch(address: str, seconds: float, *, allow_private: bool = False) -> Fetched:
    """The content of an http or https address. `allow_private`: also in the private network. Raises ToolFailed."""
    from urllib.parse import urljoin, urlsplit  # late, like httpcore: only needed to fetch

    import httpcore

    class Careful(httpcore.SyncBackend):
        def connect_tcp(self, host: str, port: int, *args: Any, **options: Any) -> httpcore.NetworkStream:
            return super().connect_tcp(_resolve(host, port, allow_private), port, *args, **options)

    deadline = time.monotonic() + seconds
    with httpcore.ConnectionPool(network_backend=Careful(), max_connections=1) as pool:
        for _ in range(_MAX_REDIRECTS):
            if urlsplit(address).scheme not in ("http", "https"):
                raise ToolFailed(f"{_origin(address)} is not an http or https address")
            try:
                found = _get(pool, address, deadline)
            except (httpcore.TimeoutException, TimeoutError):
                raise ToolFailed(f"{_origin(address)} did not answer within {seconds:g} s") from None
            except (httpcore.NetworkError, httpcore.ProtocolError, OSError, ValueError) as error:
                raise ToolFailed(f"{_origin(address)} cannot be fetched: {one_line(str(error), 200)}") from error
            if isinstance(found, Fetched):
                return found
            address = urljoin(address, found)
    raise ToolFailed(f"{_origin(address)} has more than {_MAX_REDIRECTS} redirects")


def _get(pool: "httpcore.ConnectionPool", address: str, deadline: float) -> Fetched | str:
    limits = dict.fromkeys(("connect", "read", "write", "pool"), max(0.1, deadline - time.monotonic()))
    headers = [("user-agent", "agent-cli"), ("accept-encoding", "identity")]
    with pool.stream("GET", address, headers=headers, extensions={"timeout": limits}) as answer:
        answered = {name.lower(): value.decode("latin-1") for name, value in answer.headers}
        if answer.status in _REDIRECT_STATUS and b"location" in answered:
            return answered[b"location"]
        if answer.status != 200:
            raise ToolFailed(f"{_origin(address)} answered with status {answer.status}")
        data = bytearray()
        for piece in answer.iter_stream():
            data += piece
            if len(data) > MAX_BYTES:
                raise ToolFailed(f"{_origin(address)} is larger than {MAX_BYTES / 1e6:.0f} MB")
            if time.monotonic() > deadline:
                raise TimeoutError
    return Fetched(bytes(data), answered.get(b"content-type", "").partition(";")[0].strip().lower())


def _resolve(host: str, port: int, allow_private: bool) -> str:
    """The IP address of a host that may be connected to. Raises OSError."""
    import socket

    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        raise OSError(f"no host is known as {one_line(host)}") from error
    numbers = [str(address[0]) for *_, address in found]
    if not allow_private and any(not _is_public(number) for number in numbers):
        raise OSError("it is on this machine or in its private network (feeds_private allows that)")
    return numbers[0]


def _is_public(number: str) -> bool:
    import ipaddress

    address = ipaddress.ip_address(number.partition("%")[0])
    inside = getattr(address, "ipv4_mapped", None)
    if inside is not None:
        return _is_public(str(inside))
    translated = any(address in each for each in map(ipaddress.ip_network, _IPV4_IN_IPV6))
    local = address.is_multicast or getattr(address, "is_site_local", False)
    return address.is_global and not local and not translated


def _origin(address: str) -> str:
    """Scheme and host only: a password may precede the host, and many calendars have a secret path."""
    from urllib.parse import urlsplit

    parts = urlsplit(address)
    return one_line(f"{parts.scheme}://{parts.hostname or ''}", 120)


def _as_text(found: Fetched, now: datetime) -> str:
    """The content as text, by its first bytes: the media types that servers send are often wrong."""
    head = found.data[:1000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if head.startswith(b"begin:vcalendar"):
        return _parsed("calendar", lambda: _upcoming_events(found.data, now))
    marked = any(mark in head for mark in (b"<rss", b"<feed", b"<rdf:rdf"))
    if marked or "rss" in found.media_type or "atom" in found.media_type:
        return _parsed("feed", lambda: _newest(found.data))
    if b"\0" in found.data[:8000]:
        raise ToolFailed("it is not a feed, a calendar or text")
    words = found.data.decode("utf-8", "replace")
    words = _html_text(words) if head.startswith((b"<!doctype html", b"<html")) else clean(words).strip()
    left = len(words) - _MAX_TEXT
    return words if left <= 0 else f"{words[:_MAX_TEXT]}\n[cut off here: {left} more characters]"


def _parsed(what: str, parse: Callable[[], str]) -> str:
    try:
        return limits.run(parse, _PARSER_TIMEOUT)
    except limits.LimitExceeded as error:
        raise ToolFailed(f"the {what} cannot be read: {error}") from error


def _newest(data: bytes) -> str:
    try:
        import feedparser
    except ImportError as error:
        raise ToolFailed(_MISSING.format("feeds")) from error
    feed = feedparser.parse(BytesIO(data))
    if feed.bozo and not feed.entries:
        raise QuotedFailure(f"the feed cannot be read: {one_line(str(feed.bozo_exception), 200)}")
    entries = sorted(feed.entries, key=_published, reverse=True)  # entries without a date keep their order, at the end
    title = one_line(_html_text(feed.feed.get("title", "")), 100)
    lines = [title and f"{title}:", *map(_entry, entries[:_MAX_ENTRIES])]
    if len(entries) > _MAX_ENTRIES:
        lines.append(f"and {len(entries) - _MAX_ENTRIES} older ones")
    return "\n".join(filter(None, lines)) if entries else "the feed has no entries"


def _published(entry: Any) -> tuple[int, ...]:
    published = entry.get("published_parsed") or entry.get("updated_parsed")
    return tuple(published[:6]) if published else ()


def _entry(entry: Any) -> str:
    moment = _published(entry)
    day = f"{date(*moment[:3]):%d %b %Y}: " if moment else ""
    title = one_line(_html_text(entry.get("title", "")), 200)
    summary = one_line(_html_text(entry.get("summary", "")), _MAX_SUMMARY)
    link = one_line(entry.get("link", ""), 200)
    return f"- {day}{title}{f' — {summary}' if summary and summary != title else ''}{f' ({link})' if link else ''}"


def _upcoming_events(data: bytes, now: datetime) -> str:
    try:
        import icalendar
        import recurring_ical_events
    except ImportError as error:
        raise ToolFailed(_MISSING.format("calendars")) from error
    begin = now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        calendar = icalendar.Calendar.from_ical(data)
        found = recurring_ical_events.of(calendar).between(begin, begin + timedelta(days=_DAYS))
    except (MemoryError, RecursionError):
        raise
    except Exception as error:  # ValueError, KeyError, TypeError, … as the calendar is broken
        raise QuotedFailure(f"the calendar cannot be read: {one_line(str(error), 200)}") from error
    dated = sorted((_dated_line(event, begin) for event in found), key=lambda each: each[0])
    lines = [line for _, line in dated[:_MAX_EVENTS]]
    if len(dated) > _MAX_EVENTS:
        lines.append(f"and {len(dated) - _MAX_EVENTS} more")
    return "\n".join([f"The next {_DAYS} days:", *lines]) if lines else f"no events in the next {_DAYS} days"


def _dated_line(event: Any, today: datetime) -> tuple[datetime, str]:
    """The start of an event, midnight for whole days, in the person's zone when it has none; and its line."""
    given = event["DTSTART"].dt
    whole_day = not isinstance(given, datetime)
    start = datetime.combine(given, datetime.min.time()) if whole_day else given
    start = start.astimezone() if start.tzinfo else start.replace(tzinfo=today.tzinfo)
    at = f"{start:%a %d %b}" if whole_day else f"{start:%a %d %b %H:%M}"
    title, place = str(event.get("SUMMARY", "without a title")), one_line(str(event.get("LOCATION", "")), 80)
    return start, f"- {at}: {one_line(title, 120)}{f', {place}' if place else ''}"


def _html_text(html: str) -> str:
    from html import unescape  # late: it has a large table

    visible = _TAG.sub(" ", _HIDDEN.sub(" ", html[:_MAX_HTML]))
    return " ".join(clean(unescape(visible)).split())
