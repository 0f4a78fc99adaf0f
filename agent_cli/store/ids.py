"""Identifiers: sortable and unique across machines for rows (a ULID, increased by one within a millisecond), short
handles for people."""

import os
import re
import threading
from collections.abc import Sequence
from datetime import datetime

from agent_cli import kinds
from agent_cli.errors import UsageError

_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [one + other for one in _LETTERS for other in _LETTERS]
_lock = threading.Lock()
_last = 0


def new(moment: datetime) -> str:
    return several([moment])[0]


def several(moments: Sequence[datetime]) -> list[str]:
    """New identifiers of rows created at these moments; within a call the random bits are counted up."""
    global _last
    random = int.from_bytes(os.urandom(10)) >> 1
    made = []
    with _lock:
        for moment in moments:
            milliseconds, random = int(moment.timestamp() * 1000), random + 1
            _last = _last + 1 if milliseconds == _last >> 80 else milliseconds << 80 | random
            made.append(letters(_last))
    return made


def lowest(moment: datetime) -> str:
    """A string that sorts before every identifier created from this moment on."""
    return letters(int(moment.timestamp() * 1000) << 80)


def letters(n: int) -> str:
    return "".join([_PAIRS[n >> shift & 1023] for shift in range(120, -1, -10)])


def handle(kind: str, number: int) -> str:
    """`handle("note", 4)` is n4."""
    return f"{kinds.BY_NAME[kind].letter}{number}"


class Handled:
    """A row with a handle."""

    kind: str
    id: int

    @property
    def handle(self) -> str:
        return handle(self.kind, self.id)


def number(kind: str, text: str) -> int:
    """The number in a handle of this kind; the letter may be left out. Raises UsageError."""
    letter = kinds.BY_NAME[kind].letter
    match = re.fullmatch(rf"{letter}?(\d{{1,18}})", text.strip().lower())
    if match is None:
        raise UsageError(f"{text!r} is not a handle of a {kind}: write it like {letter}4")
    return int(match[1])
