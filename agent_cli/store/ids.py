"""Identifiers: sortable and unique across machines for rows, short handles for people.

The sortable form is a ULID: 48 bits of milliseconds and 80 random bits in 26 letters of Crockford's base 32, increased
by one within a millisecond so that rows sort in the order of their creation.
"""

import os
import re
import threading
from datetime import datetime

from agent_cli import kinds
from agent_cli.errors import UsageError

_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [one + other for one in _LETTERS for other in _LETTERS]
_lock = threading.Lock()
_last = 0


def new(moment: datetime) -> str:
    """A new identifier of 26 characters for a row created at this moment."""
    global _last
    milliseconds = int(moment.timestamp() * 1000)
    with _lock:
        if milliseconds == _last >> 80:
            _last += 1
        else:
            _last = (milliseconds << 80) | (int.from_bytes(os.urandom(10)) >> 1)
        value = _last
    return "".join([_PAIRS[value >> shift & 1023] for shift in range(120, -1, -10)])


def lowest(moment: datetime) -> str:
    """A string that sorts before every identifier created from this moment on."""
    value = int(moment.timestamp() * 1000) << 80
    return "".join(_PAIRS[value >> shift & 1023] for shift in range(120, -1, -10))


def handle(kind: str, number: int) -> str:
    """`handle("note", 4)` is n4."""
    return f"{kinds.BY_NAME[kind].letter}{number}"


def number(kind: str, text: str) -> int:
    """The number in a handle of this kind; the letter may be left out. Raises UsageError."""
    letter = kinds.BY_NAME[kind].letter
    match = re.fullmatch(rf"{letter}?(\d{{1,18}})", text.strip().lower())
    if match is None:
        raise UsageError(f"{text!r} is not a handle of a {kind}: write it like {letter}4")
    return int(match[1])
