"""Locates quotes in messages of the person, and how far they can be trusted: only typed text is the person's own."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from agent_cli import clock
from agent_cli.memory.conversations.log import Entry
from agent_cli.messages import Origin, Part
from agent_cli.store.db import Database
from agent_cli.values import frozen

_TRUSTED: tuple[Origin, ...] = (
    "typed",
    "pasted",
    "piped",
    "file",
    "import",
    "http",
    "mcp",
    "schedule",
    "tool",
    "model",
)
_MIN_LENGTH = 4  # characters of a meaningful quote
_MAX_LENGTH = 600


@frozen
class Quote:
    message: int
    text: str  # exactly as in the message
    trust: Origin  # the least trusted origin of its parts
    at: datetime  # when it was said


def least_trusted(origins: Iterable[Origin]) -> Origin:
    """The least trusted of these origins; "model" when there are none."""
    return max(origins, key=_TRUSTED.index, default="model")


def rank(origin: Origin) -> int:
    """The place of an origin in the order of trust, the most trusted first."""
    return _TRUSTED.index(origin)


def trust(parts: Sequence[Part], start: int, end: int) -> Origin:
    """The least trusted origin of the characters from `start` to `end`."""
    touched: list[Origin] = []
    at = 0
    for part in parts:
        if part.text[max(0, start - at) : max(0, end - at)].strip():
            touched.append(part.origin)
        at += len(part.text)
    return least_trusted(touched)


def find(entries: Iterable[Entry], quote: str) -> Quote | None:
    """The quote in the first message of the person that contains it, ignoring differences in blanks; else None."""
    words = quote.strip().strip('"“”„«»').split()
    if not _MIN_LENGTH <= len("".join(words)) <= _MAX_LENGTH:
        return None
    pattern = re.compile(r"\s+".join(map(re.escape, words)))
    for entry in entries:
        match = pattern.search(entry.message.text) if entry.message.role == "user" else None
        if match:
            origin = trust(entry.parts, match.start(), match.end())
            return Quote(entry.id, match[0], origin, clock.local(entry.at, entry.utc_offset))
    return None


def roles(db: Database, messages: Sequence[int]) -> dict[int, str]:
    """Who said each message: user, assistant or tool."""
    found = "select id, role from said where id in (select value from json_each(?))"
    return {int(id): str(role) for id, role in db.rows(found, (messages,))}
