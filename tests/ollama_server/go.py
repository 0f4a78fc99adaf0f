"""What Go's JSON, times and durations do differently from Python's.

The real server is written in Go and a client sees it: `<` arrives as an escape, a check mark
does not, 5.0 arrives as 5, and a bad body is refused in the words of encoding/json. Python's
own encoder would hide such things from the tests.
"""

import json
import re
import string
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NoReturn

FOR_EVER = 9223372036.854775
"""Seconds in Go's longest duration, which is what a negative keep_alive becomes."""

_ESCAPED = re.compile("[<>&\u2028\u2029]")
_LONE = re.compile("[\ud800-\udfff]")
_SPAN = re.compile(r"(\d+\.?\d*|\.\d+)([^\d.]*)")
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PLACES = {
    "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
    "Expecting ':' delimiter": "after object key",
    "Expecting ',' delimiter": "after object key:value pair",
}


class Refused(Exception):
    """A request is answered with this status and JSON body."""

    def __init__(self, status: int, error: Any, **more: Any):
        super().__init__(status, error)
        self.status = status
        self.body = {"error": error, **more}


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


def decode(raw: bytes, struct: str) -> dict[str, Any]:
    """The body of a request, which must be an object. Raises Refused in Go's words."""
    text = raw.decode("utf-8", "replace").strip()
    if not text:
        raise Refused(400, "missing request body")
    try:
        value, _ = json.JSONDecoder(parse_constant=_no_constant).raw_decode(text)  # Go ignores what follows, too
    except json.JSONDecodeError as error:
        raise Refused(400, _complaint(text, error)) from error
    if not isinstance(value, dict):
        raise Refused(400, f"json: cannot unmarshal {kind(value)} into Go value of type api.{struct}")
    return value


def _no_constant(name: str) -> NoReturn:
    raise Refused(400, f"invalid character '{name[0]}' looking for beginning of value")


def _complaint(text: str, error: json.JSONDecodeError) -> str:
    if error.pos >= len(text) or error.msg.startswith("Unterminated"):
        return "unexpected EOF"
    return f"invalid character '{text[error.pos]}' {_PLACES.get(error.msg, 'looking for beginning of value')}"


def kind(value: Any) -> str:
    """The name encoding/json has for a value's type."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    names: dict[type, str] = {str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def seconds(keep_alive: Any) -> float:
    """A keep_alive in seconds: a number, or a duration such as "1h30m"; negative is for ever."""
    if isinstance(keep_alive, bool) or not isinstance(keep_alive, int | float | str):
        raise Refused(400, f"unsupported type: '{kind(keep_alive)}'")
    span = _parsed(keep_alive) if isinstance(keep_alive, str) else float(keep_alive)
    return FOR_EVER if span < 0 else span


def _parsed(text: str) -> float:
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if rest == "0":
        return 0.0
    if not rest or _SPAN.sub("", rest):
        raise Refused(400, f'time: invalid duration "{text}"')
    total = 0.0
    for amount, unit in _SPAN.findall(rest):
        if not unit:
            raise Refused(400, f'time: missing unit in duration "{text}"')
        if unit not in _UNITS:
            raise Refused(400, f'time: unknown unit "{unit}" in duration "{text}"')
        total += float(amount) * _UNITS[unit]
    return sign * total


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


class Clock:
    """Stands still until it is told to move, so that answers can be compared whole."""

    def __init__(self, nanoseconds: int = 1_767_225_600_123_456_789):  # 2026-01-01T00:00:00.123456789Z
        self.nanoseconds = nanoseconds

    def advance(self, seconds: float) -> None:
        self.nanoseconds += round(seconds * 1e9)

    def now(self) -> float:
        """Seconds since 1970."""
        return self.nanoseconds / 1e9

    def stamp(self, ahead: float = 0.0) -> str:
        """RFC 3339 in UTC with up to nine digits, as time.Time marshals."""
        whole, fraction = divmod(self.nanoseconds + round(ahead * 1e9), 10**9)
        digits = f".{fraction:09d}".rstrip("0").rstrip(".")
        return f"{datetime.fromtimestamp(whole, UTC):%Y-%m-%dT%H:%M:%S}{digits}Z"

    def date(self) -> str:
        """The value of a Date header."""
        return f"{datetime.fromtimestamp(self.nanoseconds // 10**9, UTC):%a, %d %b %Y %H:%M:%S GMT}"
