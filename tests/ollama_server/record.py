"""What the server writes down: every request, and what its scheduler did."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Request:
    """One request. Times are time.monotonic(); what is not known yet is None."""

    method: str
    path: str
    headers: dict[str, str]  # names in lower case
    raw: bytes
    body: Any  # the parsed JSON, or None
    sent: Any = field(default=None, kw_only=True)
    """The JSON as it was sent, where `body` is in the words of another server."""
    lines_sent: int = 0  # lines of a stream that left before it ended or was cut
    received_at: float = 0.0
    status: int | None = None
    cancelled: bool = False  # the client hung up before the answer was whole
    finished: bool = False  # the answer left whole
    prompt_tokens: int | None = None
    read_tokens: int | None = None  # Chat: the tokens of the prompt that the cache did not hold
    held_tokens: int = 0  # Chat: those that it held


@dataclass(frozen=True)
class EmbedInput:
    model: str
    text: str
    prefix: str  # "document", "query" or "none": which of the model's prefixes the caller applied


@dataclass
class Counters:
    loads: Counter[str] = field(default_factory=Counter)  # per model, by its full name, reloads included
    reloads: int = 0  # loads only because the context length changed
    waiting: int = 0
    running: int = 0
    peak: int = 0  # the most that ever ran at once
    cancelled: int = 0
    connections: int = 0
