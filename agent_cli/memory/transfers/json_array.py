"""Reads the elements of a JSON array that is too large for memory, one by one.

An export of ten years is a single array of a gigabyte. The buffer grows only as far as the present element needs: what
cannot be decoded yet is tried again with twice as much, which costs at most twice the work.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from agent_cli import limits

_CHUNK = 1 << 20
MAX_ELEMENT = limits.MAX_LINE
"""Characters of one element; a longer one counts as broken."""

_ARRAY_START = re.compile(r'\s*(?:\{\s*"conversations"\s*:\s*)?\[\s*')  # some exports wrap the array in an object
_SEPARATOR = re.compile(r"[\s,]*")
_TAIL = 16  # characters at the end of the buffer that may be half a token or escape
_OVERLAP = 4096  # characters within which the start of an element fits
_decode = json.JSONDecoder().raw_decode


class BrokenElement(ValueError):
    """An element that cannot be read: raised when nothing after it can be either, else yielded in its place."""


def elements(read: Callable[[int], str]) -> Iterator[Any]:
    """The elements; `read` gives so many characters, fewer only at the end. Raises BrokenElement.

    After a broken element it goes on where another one begins with the same two keys as the first.
    """
    buffer, at_end = read(_CHUNK), False
    begin = _ARRAY_START.match(buffer)
    if begin is None:
        raise BrokenElement("it is not a JSON array of conversations")
    at, start = begin.end(), None
    while True:
        at = _SEPARATOR.match(buffer, at).end()  # type: ignore[union-attr]  # matches nothing, too
        if buffer.startswith("]", at):
            return
        try:
            element, end = _decode(buffer, at)
        except json.JSONDecodeError as error:
            cut = not _is_malformed(error, len(buffer))
            if cut and at_end:
                raise BrokenElement("the file ends in the middle of it") from error
            if cut and not (limit := _exceeded(buffer, at)):
                end = -1
            else:
                broken = BrokenElement(limit if cut else f"it is not JSON ({error.msg})")
                if start is None:
                    raise broken from error
                yield broken
                buffer, at = _skip_to_next(buffer[at + 1 :], start, read)
                continue
        except (ValueError, RecursionError) as error:
            deep = isinstance(error, RecursionError)
            raise BrokenElement(limits.TOO_DEEP if deep else "it holds a number of thousands of digits") from error
        if end >= 0:
            yield element
            start = start or _start_pattern(element)
            buffer, at = (buffer[end:], 0) if end > _CHUNK else (buffer, end)
            continue
        buffer, at = buffer[at:], 0
        more = read(max(_CHUNK, len(buffer)))
        buffer, at_end = buffer + more, not more


def _start_pattern(element: Any) -> re.Pattern[str] | None:
    """A pattern of how elements like this one begin, after a comma."""
    keys = [re.escape(json.dumps(key)) for key in element] if isinstance(element, dict) else []
    if len(keys) < 2:
        return None
    return re.compile(rf',\s*(?=\{{\s*{keys[0]}\s*:\s*(?:null|"(?:[^"\\]|\\.)*")\s*,\s*{keys[1]}\s*:)')


def _skip_to_next(buffer: str, start: re.Pattern[str], read: Callable[[int], str]) -> tuple[str, int]:
    """(buffer, position of the next element in it); the end of the array when there is none."""
    while not (found := start.search(buffer)):
        more = read(_CHUNK)
        if not more:
            return "]", 0
        buffer = buffer[-_OVERLAP:] + more
    return buffer, found.end()


def _exceeded(buffer: str, at: int) -> str:
    """The limit that an element hits which is not whole yet; it is tried next with twice as much."""
    if len(buffer) - at >= MAX_ELEMENT:
        return f"it has more than {MAX_ELEMENT:,} characters"
    return limits.TOO_MUCH_MEMORY if 2 * limits.json_memory(buffer) > limits.MEMORY else ""


def _is_malformed(error: json.JSONDecodeError, length: int) -> bool:
    """Whether the error is before the end of the buffer, so that reading more would not help."""
    return error.pos < length - _TAIL and not error.msg.startswith("Unterminated string")
