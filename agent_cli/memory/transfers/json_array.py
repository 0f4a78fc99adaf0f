"""The elements of a JSON array that is too large to be read at once, one after the other.

An export of ten years is a single array of a gigabyte. So much of it is held as the element that is being read needs:
what cannot be decoded yet is tried again with twice as much, which costs at most twice the work.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

_CHUNK = 1 << 20
MAX_ELEMENT = 1 << 28
"""Characters of one element; beyond them the file is taken for broken."""

_ARRAY_START = re.compile(r'\s*(?:\{\s*"conversations"\s*:\s*)?\[\s*')  # some exports wrap the array in an object
_SEPARATOR = re.compile(r"[\s,]*")
_TAIL = 16  # characters at the end of what was read that may be the first half of a word or an escape
_OVERLAP = 4096  # characters in which an element begins
_decode = json.JSONDecoder().raw_decode


class BrokenElement(ValueError):
    """What stands here cannot be read: raised when nothing behind it can be either, else given in its place."""


def elements(read: Callable[[int], str]) -> Iterator[Any]:
    """The elements; `read` gives so many characters, fewer only at the end. Raises Broken.

    Behind a broken one it goes on where another begins like the first: with the same two keys.
    """
    buffer, at_end = read(_CHUNK), False
    begin = _ARRAY_START.match(buffer)
    if begin is None:
        raise BrokenElement("it is no JSON array of conversations")
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
            if cut and len(buffer) - at < MAX_ELEMENT:
                end = -1
            else:
                broken = BrokenElement(f"it is no JSON ({error.msg})")
                if start is None:
                    raise broken from error
                yield broken
                buffer, at = _skip_to_next(buffer[at + 1 :], start, read)
                continue
        except (ValueError, RecursionError) as error:  # a number of thousands of digits, lists in lists in lists
            raise BrokenElement(f"it is too large or nested too deeply ({type(error).__name__})") from error
        if end >= 0:
            yield element
            start = start or _start_pattern(element)
            buffer, at = (buffer[end:], 0) if end > _CHUNK else (buffer, end)
            continue
        buffer, at = buffer[at:], 0
        more = read(max(_CHUNK, len(buffer)))
        buffer, at_end = buffer + more, not more


def _start_pattern(element: Any) -> re.Pattern[str] | None:
    """How elements like this one begin, behind a comma."""
    keys = [re.escape(json.dumps(key)) for key in element] if isinstance(element, dict) else []
    if len(keys) < 2:
        return None
    return re.compile(rf',\s*(?=\{{\s*{keys[0]}\s*:\s*(?:null|"(?:[^"\\]|\\.)*")\s*,\s*{keys[1]}\s*:)')


def _skip_to_next(buffer: str, start: re.Pattern[str], read: Callable[[int], str]) -> tuple[str, int]:
    """What is held, and where in it the next element begins; the end of the array when none does."""
    while not (found := start.search(buffer)):
        more = read(_CHUNK)
        if not more:
            return "]", 0
        buffer = buffer[-_OVERLAP:] + more
    return buffer, found.end()


def _is_malformed(error: json.JSONDecodeError, length: int) -> bool:
    """Whether what is wrong stands before the end of what was read, where more of it would not help."""
    return error.pos < length - _TAIL and not error.msg.startswith("Unterminated string")
