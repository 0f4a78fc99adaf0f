"""The question whether a tool call may run, with its arguments as a person reads them.

Every line of an argument is indented, wrapped lines too, and only the program begins a line at the margin. So no
argument, however it is filled up with blanks, can look like the question or its keys. A long text is folded in its
middle, and the line that says so stands further out than the text; `o` shows it all.
"""

import json
from collections.abc import Iterator
from typing import Any

from agent_cli.messages import ToolCall
from agent_cli.render.layout import Verbatim, formatted, wrap
from agent_cli.render.styles import NEEDS_YOU, Display
from agent_cli.text import visible

QUESTION = f"{NEEDS_YOU.sign} allow it? y once, a for this session, anything else no: "
MORE = f"{NEEDS_YOU.sign} allow it? y once, a for this session, o shows it all, anything else no: "
NUMBERED = {"1": "y", "2": "a"}  # keys that people know from other programs; 3 refuses, as any other does
_FOLDED, _WHOLE = 10, 400  # lines that are shown of a value
_MAX_TEXT = 20_000  # characters that are shown of a value at most
_MAX_ARGUMENTS = 40
_INDENT = "    "
_LINE_BREAKS = str.maketrans({"\u2028": "\n", "\u2029": "\n", "\x85": "\n", "\r": "", "\x0b": "\n", "\x0c": "\n"})


def question(call: ToolCall, width: int, *, whole: bool = False) -> str:
    """The call, in lines of at most `width` cells. `QUESTION` asks for the keys, `MORE` where something is folded."""
    lines = [
        f"{NEEDS_YOU.sign} The model wants to call {_plain(call.name)}:",
        *_arguments(call.arguments, width, whole),
    ]
    if call.resolved:
        lines += ["  and that is:", *_arguments(call.resolved, width, whole)]
    return Verbatim("\n".join(lines))


def styled(text: str, display: Display) -> str:
    """The call, or the question for the keys, as it stands on the screen: the sign in its colour, words not broken."""
    sign, _, rest = text.partition(" ")
    words = rest.rstrip(" ")
    if not isinstance(text, Verbatim):
        rest = formatted(words, display, 3).replace("\n", "\n  ") + rest[len(words) :]
    return f"{display.styled(sign, NEEDS_YOU.style)} {rest}"


def is_folded(call: ToolCall, width: int) -> bool:
    """Whether something of the call is not shown until it is asked for."""
    return question(call, width) != question(call, width, whole=True)


def _arguments(arguments: dict[str, Any], width: int, whole: bool) -> Iterator[str]:
    """Each argument behind its name, or below it where it has several lines."""
    names = {name: _plain(" ".join(name.split())) or "?" for name in [*arguments][:_MAX_ARGUMENTS]}
    margin = max((len(name) for name in names.values() if len(name) <= width // 4), default=0)
    for name, shown in names.items():
        lines = _value_lines(arguments[name], max(12, width - 1 - len(_INDENT) - margin - 2))
        lines = _folded(lines, _WHOLE if whole else _FOLDED)
        first = f"{_INDENT}{shown:<{margin}}"
        if len(shown) > margin:
            yield from (f"{_INDENT}{line}" for line in _value_lines(shown, max(12, width - 1 - len(_INDENT))))
            first = _INDENT + " " * margin
        yield f"{first}  {lines[0]}"
        yield from (f"{_INDENT}{' ' * margin}  {line}" for line in lines[1:])
    if len(arguments) > _MAX_ARGUMENTS:
        yield f"  … {len(arguments) - _MAX_ARGUMENTS:,} more arguments are not shown"


def _value_lines(value: Any, width: int) -> list[str]:
    """A value as lines that fit: texts as they are, yes and no, all else as JSON."""
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    cut = len(text) - _MAX_TEXT
    if cut > 0:
        text = f"{text[: _MAX_TEXT // 2]}\n… {cut:,} characters are not shown …\n{text[-_MAX_TEXT // 2 :]}"
    lines = wrap(_plain(text), width).split("\n") if text.strip() else ["(empty)" if not text else "(blanks)"]
    return [piece for line in lines for piece in _pieces(line, width)]


def _pieces(line: str, width: int) -> Iterator[str]:
    """A line that has no blank to be wrapped at, in pieces. Characters beyond ASCII count as two cells."""
    piece, used = "", 0
    for character in line:
        cells = 1 if character < "\x80" else 2
        if used + cells > width:
            yield piece
            piece, used = "", 0
        piece, used = piece + character, used + cells
    yield piece


def _folded(lines: list[str], most: int) -> list[str]:
    omitted = len(lines) - most
    if omitted <= 1:
        return lines
    return [*lines[: most - 3], f"… {omitted:,} lines are not shown …", *lines[-3:]]


def _plain(text: str) -> str:
    return visible(text.translate(_LINE_BREAKS)).expandtabs(4)
