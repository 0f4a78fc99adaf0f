"""What the program itself says, wrapped between words: a terminal would break it in the middle of one.

Only lines that are too long are changed. A line with columns continues below its last column that leaves enough room. A
command, as in `agent -r s4` or /resume s4, stays on one line, so that it can be read and copied as a whole.
"""

import re
from collections.abc import Iterator

from agent_cli import kinds
from agent_cli.render.display import Display
from agent_cli.render.layout import LineWrapper, StyledText, cell_width, split_words
from agent_cli.text import Pattern, clean

_INDENT = 4  # blanks before the continuation of a line whose columns leave too little room
_COLUMN = re.compile(r"(?<=\S) {2,}(?=\S)")
_ARGUMENT = rf"(?: (?:--?[a-z][a-z-]*|{kinds.letters(kinds.KINDS)}\d+|[A-Z]{{2,}}|/[a-z]+)\b)*"
_COMMAND = Pattern(
    rf"`[^`\n]+`|\bagent (?:-[a-z]\b|--[a-z-]+|[a-z]+(?: [a-z]+)?\b){_ARGUMENT}|(?<![\w/.])/[a-z]+{_ARGUMENT}(?![\w/.])"
)


class Verbatim(str):
    """A text that is never wrapped, because it is compared or copied: an answer, a file, the call to be approved."""


def formatted(text: str, display: Display, indent: int = 0) -> str:
    """A text as it is printed, indented by so many cells: without control characters, and wrapped where `display.wrap`
    says so."""
    safe = clean(text)
    return wrap(safe, display.width() - indent) if display.wrap and not isinstance(text, Verbatim) else safe


def wrap(text: str, width: int) -> str:
    """The text in lines of at most `width` cells, except for longer words."""
    return "\n".join(line if _fits(line, width) else _wrap_line(line.expandtabs(), width) for line in text.split("\n"))


def _fits(line: str, width: int) -> bool:
    return cell_width(line.expandtabs()) <= width


def _wrap_line(line: str, width: int) -> str:
    chunks: list[str] = []
    wrapper = LineWrapper(chunks.append, lambda: width, lambda style: "")
    lead, indent = _lead(line, width // 3)
    wrapper.begin(lead, indent)
    for span in _spans(line[len(lead) :], 2 * width // 3):
        wrapper.put(span)
    wrapper.end()
    return "".join(chunks).removesuffix("\n")


def _lead(line: str, most: int) -> tuple[str, int]:
    """The text before the column below which the line continues, at most `most` cells, and the cells up to there."""
    indent = line[: len(line) - len(line.lstrip(" "))]
    columns = [line[: gap.end()] for gap in _COLUMN.finditer(line)]
    leads = [lead for lead in columns if cell_width(lead) <= most]
    if leads:
        return leads[-1], cell_width(leads[-1])
    return indent, len(indent) + (_INDENT if columns else 0)


def _spans(line: str, most: int) -> Iterator[StyledText]:
    """The words of a line; a command of at most `most` characters is one span."""
    done = 0
    for command in _COMMAND.finditer(line):
        if len(command[0]) <= most:
            yield from split_words(line[done : command.start()])
            yield StyledText(command[0])
            done = command.end()
    yield from split_words(line[done:])
