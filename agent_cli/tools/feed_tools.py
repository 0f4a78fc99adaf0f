"""The tool that fetches what the person's settings name: news, a calendar, the weather.

The model gives a name and no address, so nothing of what it knows can leave with a request, and what it fetches is what
the person chose. That is why it is asked for no more than reading a file is.
"""

import sys
from collections.abc import Iterator
from datetime import date, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

from agent_cli.text import Pattern, clean, one_line
from agent_cli.tools import fetching
from agent_cli.tools.fetching import Fetched
from agent_cli.tools.tool import ToolContext, ToolFailed, tool

_SECONDS = 25.0
_READING = 15.0  # seconds that a calendar may take
_ENTRIES = 10
_SUMMARY, _TEXT = 200, 4000  # characters
_BETWEEN = Pattern(r"<([a-zA-Z]*)[^<>]*>")
_UNSEEN = ("script", "style")
_RAW = 500_000  # characters of HTML that are looked at
_MISSING = "what reads feeds is not installed: pip install 'agent-cli[feeds]'; tell the person"


@tool(risk="read", offered=lambda context: bool(context.reach.feeds), source="feeds", seconds=_SECONDS + _READING + 5)
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


def _told(found: Fetched, now: datetime, zone: str) -> str:
    """What it says, after its first bytes: what servers say of its kind is often wrong."""
    head = found.data[:1000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if head.startswith(b"begin:vcalendar"):
        return calendar(found.data, now, zone)
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
        raise ToolFailed(_MISSING) from error
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


def calendar(data: bytes, now: datetime, zone: str, seconds: float = _READING) -> str:
    """What a calendar holds from today on. A few lines of one may mean millions of events: see tools/calendars.py.

    Raises ToolFailed.
    """
    import subprocess  # where a calendar is read

    command = [sys.executable, "-P", "-m", "agent_cli.tools.calendars", now.isoformat(), zone]
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise ToolFailed(f"the calendar cannot be read within {seconds:g} s") from None
    except OSError as error:
        raise ToolFailed(f"the calendar cannot be read: {error.strerror}") from error
    words = done.stdout.decode("utf-8", "replace").strip()
    if done.returncode == 0:
        return words
    raise ToolFailed(words or "the calendar cannot be read: it takes more time or memory than a calendar should")


def _plain(html: str) -> str:
    """The words of HTML, one space between them."""
    from html import unescape  # its table of names takes 2 ms

    return " ".join(clean(unescape(" ".join(_outside(html[:_RAW])))).split())


def _outside(html: str) -> Iterator[str]:
    """What stands outside of tags, scripts and styles; each character is looked at a few times and no more."""
    at, until = 0, ""
    for tag in _BETWEEN.finditer(html):
        if not until:
            yield html[at : tag.start()]
        name = tag[1].lower()
        if not until and name in _UNSEEN:
            until = f"</{name}"
        elif until and tag[0].lower().startswith(until):
            until = ""
        at = tag.end()
    if not until:
        yield html[at:]
