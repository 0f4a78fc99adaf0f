"""What the program itself says, broken at words: a terminal would break it in the middle of one.

Only lines that are too long are touched. What has columns goes on below the last of them that leaves room enough. A
command, as in `agent -r s4` or /resume s4, stays on one line, so that it can be read and copied as a whole.
"""

import re
from collections.abc import Iterator

from agent_cli import kinds
from agent_cli.render.layout import Layout, Piece, cells, split
from agent_cli.render.look import Look
from agent_cli.text import Pattern, clean

_ROOM = 3  # of its width a line has one part in so many for what stands before a last column
_BELOW = 4  # blanks before what goes on a row whose columns leave no room
_COLUMN = re.compile(r"(?<=\S) {2,}(?=\S)")
_ARGUMENT = rf"(?: (?:--?[a-z][a-z-]*|{kinds.letters(kinds.KINDS)}\d+|[A-Z]{{2,}}|/[a-z]+)\b)*"
_COMMAND = Pattern(
    rf"`[^`\n]+`|\bagent (?:-[a-z]\b|--[a-z-]+|[a-z]+(?: [a-z]+)?\b){_ARGUMENT}|(?<![\w/.])/[a-z]+{_ARGUMENT}(?![\w/.])"
)


class Exact(str):
    """A text that is shown as it stands, because it is compared or copied: an answer, a file, what is asked about."""


def shown(text: str, look: Look) -> str:
    """A text of the program as it is printed: clean, and where the look says so, wrapped."""
    safe = clean(text)
    return wrapped(safe, look.width()) if look.wraps and not isinstance(text, Exact) else safe


def wrapped(text: str, width: int) -> str:
    """In lines of at most so many cells, but for words that are longer."""
    return "\n".join(line if _fits(line, width) else _broken(line.expandtabs(), width) for line in text.split("\n"))


def _fits(line: str, width: int) -> bool:
    return cells(line.expandtabs()) <= width


def _broken(line: str, width: int) -> str:
    written: list[str] = []
    layout = Layout(written.append, lambda: width, colour=False)
    lead, hang = _beginning(line, width // _ROOM)
    layout.begin(lead, hang)
    for piece in _pieces(line[len(lead) :], 2 * width // 3):
        layout.put(piece)
    layout.end()
    return "".join(written).removesuffix("\n")


def _beginning(line: str, most: int) -> tuple[str, int]:
    """What stands before the place below which the line goes on, and the cells up to there."""
    indent = line[: len(line) - len(line.lstrip(" "))]
    columns = [line[: gap.end()] for gap in _COLUMN.finditer(line)]
    leads = [lead for lead in columns if cells(lead) <= most]
    if leads:
        return leads[-1], cells(leads[-1])
    return indent, len(indent) + (_BELOW if columns else 0)


def _pieces(line: str, most: int) -> Iterator[Piece]:
    """Its words; a command of at most so many characters is one."""
    done = 0
    for command in _COMMAND.finditer(line):
        if len(command[0]) <= most:
            yield from split(line[done : command.start()])
            yield Piece(command[0])
            done = command.end()
    yield from split(line[done:])
