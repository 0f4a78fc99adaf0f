"""What Go's JSON does differently from Python's, and the values that every run has alike.

The real server is written in Go and a client sees it: `<` arrives as an escape, a check mark does not, 5.0 arrives as
5. Python's own encoder would hide such things from the tests.
"""

import json
import re
import string
from collections.abc import Iterator
from typing import Any

STAMP = "2026-01-01T00:00:00.123456789Z"
DATE = "Thu, 01 Jan 2026 00:00:00 GMT"

_ESCAPED = re.compile("[<>&\u2028\u2029]")
_LONE = re.compile("[\ud800-\udfff]")


class Refused(Exception):
    """A request is answered with this status and JSON body."""

    def __init__(self, status: int, error: Any):
        super().__init__(status, error)
        self.status = status
        self.body = {"error": error}


def encode(value: Any) -> bytes:
    """Compact JSON as json.Marshal writes it, without a newline."""
    text = json.dumps(_numbers(value), ensure_ascii=False, separators=(",", ":"))
    text = _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return _LONE.sub("\ufffd", text).encode()


def _numbers(value: Any) -> Any:
    """The same value with whole floats as integers: Go writes 1, not 1.0."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 1e21 else value
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_numbers(item) for item in value]
    return value


def decode(raw: bytes) -> dict[str, Any]:
    """The body of a request. Raises Refused."""
    try:
        value = json.loads(raw.decode("utf-8", "replace"))
    except ValueError as error:
        raise Refused(400, "invalid character looking for beginning of value") from error
    if not isinstance(value, dict):
        raise Refused(400, "json: cannot unmarshal into Go value")
    return value


def call_ids() -> Iterator[str]:
    """call_ and eight of a-z0-9, the same ones in every run."""
    letters = string.ascii_lowercase + string.digits
    number = 0
    while True:
        number += 1
        mixed, word = number * 0x9E3779B97F4A7C15 % 36**8, ""  # an odd multiplier, coprime to 36: no repeats
        for _ in range(8):
            mixed, digit = divmod(mixed, 36)
            word += letters[digit]
        yield f"call_{word}"
