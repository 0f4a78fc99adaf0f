"""The tool that fetches the feeds in the person's settings: news, a calendar, the weather.

The model gives a name and no address, so a request can carry nothing of what the model knows, and only what the person
chose is fetched. So it needs no more permission than reading a file.
"""

from collections.abc import Iterator
from datetime import date, datetime
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_cli import limits
from agent_cli.limits import LimitExceeded
from agent_cli.text import Pattern, clean, one_line
from agent_cli.tools.tool import QuotedFailure, ToolContext, ToolFailed, tool

if TYPE_CHECKING:
    from agent_cli.tools.feeds import Fetched

_FETCH_TIMEOUT = 25.0
_PARSER_TIMEOUT = 15.0  # seconds
_MAX_ENTRIES = 50
_MAX_SUMMARY, _MAX_TEXT = 200, 4000  # characters
_TAG = Pattern(r"<([a-zA-Z]*+)[^<>]*+>")
_SKIPPED_TAGS = ("script", "style")
_MAX_HTML = 500_000  # characters of HTML that are read
_MISSING = "the libraries for feeds are not installed: pip install 'agent-cli[feeds]'; tell the person"


@tool(
    risk="read",
    offered=lambda context: bool(context.access.feeds),
    source="feeds",
    seconds=_FETCH_TIMEOUT + _PARSER_TIMEOUT + 5,
)
def fetch_feed(context: ToolContext, name: str = "") -> str:
    """Fetch news, a calendar or a text that the person has set up; without a name list them."""
    available = ", ".join(context.access.feeds)
    if not name.strip():
        return available
    address = context.access.feeds.get(name.strip())
    if address is None:
        raise ToolFailed(
            f"there is no {one_line(name)!r}; there are {available}" if available else "no feeds are set up"
        )
    return _as_text(_load(address, context), context.time(), context.access.zone)


def _load(address: str, context: ToolContext) -> "Fetched":
    from agent_cli.tools import feeds

    if address.startswith(("http://", "https://")):
        return feeds.fetch(address, _FETCH_TIMEOUT, allow_private=context.access.allow_private)
    file = Path(address.removeprefix("file://")).expanduser()
    try:
        if not file.is_file():
            raise ToolFailed(f"{file} is not a file")
        if file.stat().st_size > feeds.MAX_BYTES:
            raise ToolFailed(f"{file} is larger than {feeds.MAX_BYTES / 1e6:.0f} MB")
        return feeds.Fetched(file.read_bytes(), "", str(file))
    except OSError as error:
        raise ToolFailed(f"{file} cannot be read: {error.strerror}") from error


def _as_text(found: "Fetched", now: datetime, zone: str) -> str:
    """The content as text, by its first bytes: the media types that servers send are often wrong."""
    head = found.data[:1000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if head.startswith(b"begin:vcalendar"):
        return read_calendar(found.data, now, zone)
    if (
        any(mark in head for mark in (b"<rss", b"<feed", b"<rdf:rdf"))
        or "rss" in found.media_type
        or "atom" in found.media_type
    ):
        return _feed(found.data)
    if b"\0" in found.data[:8000]:
        raise ToolFailed("it is not a feed, a calendar or text")
    words = found.data.decode("utf-8", "replace")
    words = _html_text(words) if head.startswith((b"<!doctype html", b"<html")) else clean(words).strip()
    return (
        words
        if len(words) <= _MAX_TEXT
        else f"{words[:_MAX_TEXT]}\n[cut off here: {len(words) - _MAX_TEXT} more characters]"
    )


def _feed(data: bytes) -> str:
    """The title and the newest entries of an RSS or Atom feed. Raises ToolFailed."""
    if find_spec("feedparser") is None:
        raise ToolFailed(_MISSING)
    try:
        return limits.run(lambda: _newest(data), _PARSER_TIMEOUT)
    except LimitExceeded as error:
        raise ToolFailed(f"the feed cannot be read: {error}") from error


def _newest(data: bytes) -> str:
    import feedparser

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


def read_calendar(data: bytes, now: datetime, zone: str, seconds: float = _PARSER_TIMEOUT) -> str:
    """The events of a calendar from today on. Raises ToolFailed."""
    from agent_cli.tools import feeds

    try:
        return limits.run(lambda: feeds.upcoming_events(data, now, zone), seconds)
    except LimitExceeded as error:
        raise ToolFailed(f"the calendar cannot be read: {error}") from error
    except ValueError as error:
        raise QuotedFailure(str(error)) from error


def _html_text(html: str) -> str:
    """The text of HTML, with one space between words."""
    from html import unescape  # its table of names takes 2 ms

    return " ".join(clean(unescape(" ".join(_visible_parts(html[:_MAX_HTML])))).split())


def _visible_parts(html: str) -> Iterator[str]:
    """The text outside of tags, scripts and styles, in time linear in the length."""
    at, closing = 0, ""
    for tag in _TAG.finditer(html):
        if not closing:
            yield html[at : tag.start()]
        name = tag[1].lower()
        if not closing and name in _SKIPPED_TAGS:
            closing = f"</{name}"
        elif closing and tag[0].lower().startswith(closing):
            closing = ""
        at = tag.end()
    if not closing:
        yield html[at:]
