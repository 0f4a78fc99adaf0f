"""The elements of a JSON array that is too large to be read at once, one after the other.

An export of ten years is a single array of a gigabyte. So much of it is held as the element that is being read needs:
what cannot be decoded yet is tried again with twice as much, which costs at most twice the work.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

_PIECE = 1 << 20
LARGEST = 1 << 28
"""Characters of one element; beyond them the file is taken for broken."""

_BEGIN = re.compile(r'\s*(?:\{\s*"conversations"\s*:\s*)?\[\s*')  # some exports wrap the array in an object
_BETWEEN = re.compile(r"[\s,]*")
_TAIL = 16  # characters at the end of what was read that may be the first half of a word or an escape
_OVERLAP = 4096  # characters in which an element begins
_decode = json.JSONDecoder().raw_decode


class Broken(ValueError):
    """What stands here cannot be read: raised when nothing behind it can be either, else given in its place."""


def elements(read: Callable[[int], str]) -> Iterator[Any]:
    """The elements; `read` gives so many characters, fewer only at the end. Raises Broken.

    Behind a broken one it goes on where another begins like the first: with the same two keys.
    """
    held, whole = read(_PIECE), False
    begin = _BEGIN.match(held)
    if begin is None:
        raise Broken("it is no JSON array of conversations")
    at, like = begin.end(), None
    while True:
        at = _BETWEEN.match(held, at).end()  # type: ignore[union-attr]  # matches nothing, too
        if held.startswith("]", at):
            return
        try:
            element, end = _decode(held, at)
        except json.JSONDecodeError as error:
            cut = not _in_the_middle(error, len(held))
            if cut and whole:
                raise Broken("the file ends in the middle of it") from error
            if cut and len(held) - at < LARGEST:
                end = -1
            else:
                broken = Broken(f"it is no JSON ({error.msg})")
                if like is None:
                    raise broken from error
                yield broken
                held, at = _next(held[at + 1 :], like, read)
                continue
        except (ValueError, RecursionError) as error:  # a number of thousands of digits, lists in lists in lists
            raise Broken(f"it is too large or nested too deeply ({type(error).__name__})") from error
        if end >= 0:
            yield element
            like = like or _likeness(element)
            held, at = (held[end:], 0) if end > _PIECE else (held, end)
            continue
        held, at = held[at:], 0
        more = read(max(_PIECE, len(held)))
        held, whole = held + more, not more


def _likeness(element: Any) -> re.Pattern[str] | None:
    """How elements like this one begin, behind a comma."""
    keys = [re.escape(json.dumps(key)) for key in element] if isinstance(element, dict) else []
    if len(keys) < 2:
        return None
    return re.compile(rf',\s*(?=\{{\s*{keys[0]}\s*:\s*(?:null|"(?:[^"\\]|\\.)*")\s*,\s*{keys[1]}\s*:)')


def _next(held: str, like: re.Pattern[str], read: Callable[[int], str]) -> tuple[str, int]:
    """What is held, and where in it the next element begins; the end of the array when none does."""
    while not (found := like.search(held)):
        more = read(_PIECE)
        if not more:
            return "]", 0
        held = held[-_OVERLAP:] + more
    return held, found.end()


def _in_the_middle(error: json.JSONDecodeError, length: int) -> bool:
    """Whether what is wrong stands before the end of what was read, where more of it would not help."""
    return error.pos < length - _TAIL and not error.msg.startswith("Unterminated string")
