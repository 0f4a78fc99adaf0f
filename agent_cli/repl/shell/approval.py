"""The question whether a tool call may run: its real arguments, none of which can pose as the question.

Every line of an argument is indented, wrapped lines too, and only the program begins a line at the margin. So no
argument, however it is filled up with blanks, can look like the question or its keys. Long text is cut in its middle,
and the mark for the cut stands outside the quotes.
"""

import json
from collections.abc import Iterator
from typing import Any

from agent_cli.messages import ToolCall
from agent_cli.render.program_text import Verbatim
from agent_cli.render.styles import NEEDS_YOU
from agent_cli.text import visible

QUESTION = f"{NEEDS_YOU.sign} allow it? y once, a for this session, anything else no:"
_MAX_LINE = 1200  # characters of a line of an argument
_TAIL = 200  # of these, how many from its end
_MAX_LINES = 40  # lines of all arguments
_INDENT = "    "
_LINE_BREAKS = str.maketrans({"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"})


def question(call: ToolCall, width: int) -> str:
    """The call, in lines of at most `width` cells. The keys are asked for by `QUESTION`."""
    lines = [
        f"{NEEDS_YOU.sign} The model wants to call {_plain(call.name)} with {{",
        *_arguments(call.arguments, width),
        "}",
    ]
    if call.resolved:
        lines += ["and that is {", *_arguments(call.resolved, width), "}"]
    return Verbatim("\n".join(lines))


def _arguments(arguments: dict[str, Any], width: int) -> list[str]:
    """The arguments as JSON, each on its own line; a line break in one is written \\n."""
    lines = json.dumps(arguments, ensure_ascii=False, indent=2).split("\n")[1:-1]  # {} is one line
    return [piece for line in _cut_lines(lines) for piece in _wrapped(_cut(_plain(line)), width)]


def _cut_lines(lines: list[str]) -> list[str]:
    omitted = len(lines) - _MAX_LINES
    return lines if omitted <= 0 else [*lines[:_MAX_LINES], f"  … {omitted:,} more lines are not shown"]


def _cut(line: str) -> str:
    omitted = len(line) - _MAX_LINE
    if omitted <= 0:
        return line
    return f'{line[: _MAX_LINE - _TAIL]}" … {omitted:,} characters are not shown … "{line[-_TAIL:]}'


def _wrapped(line: str, width: int) -> Iterator[str]:
    """The line in pieces that fit, indented after the first. Characters beyond ASCII count as two cells."""
    limit, piece = max(20, width - 1), ""
    used = 0
    for character in line:
        cells = 1 if character < "\x80" else 2
        if used + cells > limit:
            yield piece
            piece, used = _INDENT, len(_INDENT)
        piece, used = piece + character, used + cells
    yield piece


def _plain(text: str) -> str:
    return visible(text.translate(_LINE_BREAKS))
