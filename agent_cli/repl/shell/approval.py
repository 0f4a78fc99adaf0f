"""A tool call as the person is asked about it: its real arguments, and nothing by which one could pose as the question.

Every line of an argument is indented, also where a long one goes on in the next line, and only the program begins a
line at the margin. So no argument, however many blanks it is filled up with, can look like the question or its keys.
What is long is cut in its middle, and the cut stands outside the quotes.
"""

import json
from collections.abc import Iterator
from typing import Any

from agent_cli.messages import ToolCall
from agent_cli.render.prose import Exact
from agent_cli.text import visible

QUESTION = "allow it? y once, a for this session, anything else no:"
_LONGEST = 1200  # characters of a line of an argument
_END = 200  # of them at its end
_LINES = 40  # of all arguments
_INDENT = "    "
_BREAKS = str.maketrans({"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"})


def question(call: ToolCall, width: int) -> str:
    """What is shown before it may run, in lines of at most so many cells."""
    lines = [f"The model wants to call {_plain(call.name)} with {{", *_arguments(call.arguments, width), "}"]
    if call.ruled:
        lines += ["and that is {", *_arguments(call.ruled, width), "}"]
    return Exact("\n".join(lines))


def _arguments(arguments: dict[str, Any], width: int) -> list[str]:
    """Each on its own line, as JSON: a line break in one is written \\n."""
    told = json.dumps(arguments, ensure_ascii=False, indent=2).split("\n")[1:-1]  # {} is one line
    return [piece for line in _cut_lines(told) for piece in _wrapped(_cut(_plain(line)), width)]


def _cut_lines(lines: list[str]) -> list[str]:
    left = len(lines) - _LINES
    return lines if left <= 0 else [*lines[:_LINES], f"  … {left:,} more lines are not shown"]


def _cut(line: str) -> str:
    left = len(line) - _LONGEST
    if left <= 0:
        return line
    return f'{line[: _LONGEST - _END]}" … {left:,} characters are not shown … "{line[-_END:]}'


def _wrapped(line: str, width: int) -> Iterator[str]:
    """In pieces that fit, all but the first further in. What is not ASCII may take two cells."""
    room, piece = max(20, width - 1), ""
    taken = 0
    for character in line:
        cells = 1 if character < "\x80" else 2
        if taken + cells > room:
            yield piece
            piece, taken = _INDENT, len(_INDENT)
        piece, taken = piece + character, taken + cells
    yield piece


def _plain(words: str) -> str:
    return visible(words.translate(_BREAKS))
