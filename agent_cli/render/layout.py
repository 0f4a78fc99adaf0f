"""Text wrapped to the width of the window: styled text while it arrives, what the program itself says, and tables.

A word is written when it is complete; nothing written is changed again. A word wider than the line (an address) is left
to the terminal to break, so that it is copied in one piece. Each line ends in the plain style. A line with columns
continues below its last column that leaves enough room; a command, as in `agent -r s4`, stays on one line.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple

from agent_cli import kinds
from agent_cli.render.styles import BOLD, DIM, NEEDS_YOU, PROGRAM, Display
from agent_cli.text import Pattern, clean, visible

if TYPE_CHECKING:
    from rich.console import RenderableType

MAX_WORD = 256  # characters of a span

# Chinese, Japanese and Korean characters: two cells wide, and a line may break between them.
WIDE = (
    "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff01-\uff60\uffe0-\uffe6\U00020000-\U0003fffd"
)

_WORDS = Pattern(rf"(?P<space> {{1,64}})|(?P<wide>[{WIDE}])|(?P<word>[^ {WIDE}]{{1,{MAX_WORD}}})")
_NOT_FIRST = frozenset(
    ",.;:!?)]}…’”»%、。，．！？：；」』）】〉》〕］｝・ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ"
)  # must not begin a line
_NOT_LAST = frozenset("([{“‘«「『（【〈《〔［｛")  # must not end one
_LOOK_ALIKES = str.maketrans(dict.fromkeys("‧⋅∙・⸱᛫ꞏᐧ𐄁", "·"))  # those that NFKD does not make the same
_SIGNS = f"{NEEDS_YOU.sign}{PROGRAM.sign}"  # a continuation line that begins with one must not look like the program's
_SIGN_INDENT = 2


def folded(line: str) -> str:
    """A line with the program's signs for those that look like them; decomposed, so that no end changes a beginning."""
    return unicodedata.normalize("NFKD", visible(line)).translate(_LOOK_ALIKES)


class StyledText(NamedTuple):  # made by the million: a dataclass takes three times as long
    """Part of a word, or the blanks between two words. `style` is a list of SGR codes, as in "1;3"."""

    text: str
    style: str = ""
    kind: str = "word"  # or "space", or "wide": a line may break beside it


def cell_width(text: str) -> int:
    """How many cells of a terminal line a text takes."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth, wcwidth  # 10 ms that plain English does not need

    wide = wcswidth(text)
    return wide if wide >= 0 else sum(max(0, wcwidth(character)) for character in text)


def cut(line: str, cells: int) -> str:
    """The line; where it is wider than so many cells, its beginning with an ellipsis."""
    return line if cell_width(line) <= cells else f"{fitting(line, cells - 1).rstrip()}…"


def fitting(line: str, cells: int) -> str:
    """The longest beginning of a line that takes at most so many cells."""
    beginning = line[: max(0, cells)]
    while beginning and cell_width(beginning) > cells:
        beginning = beginning[:-1]
    return beginning


def pieces(word: str, cells: int) -> Iterator[str]:
    """A word without blanks in pieces of at most so many cells, one character at least."""
    while cell_width(word) > cells:
        piece = fitting(word, cells) or word[:1]
        yield piece
        word = word[len(piece) :]
    yield word


def split_words(text: str, style: str = "") -> Iterator[StyledText]:
    """The spans of a text without Markdown. A line may break at each blank."""
    for token in _WORDS.finditer(text):
        yield StyledText(token.group(), style, str(token.lastgroup))


class LineWrapper:
    """Writes spans with `write` in lines of `width()` cells; `shown` gives what of a style is shown."""

    def __init__(self, write: Callable[[str], None], width: Callable[[], int], shown: Callable[[str], str]):
        self._write, self._width, self._shown = write, width, shown
        self._word: list[StyledText] = []
        self._space = ""
        self._style = ""
        self._column = self._indent = self._line_width = 0

    def begin(self, lead: str = "", indent: int = 0, style: str = "") -> None:
        """Begin a line with the text `lead`; its continuation lines are indented by `indent` cells."""
        self._line_width = self._width()
        self._indent = min(indent, self._line_width // 3)
        self._set_style(style if lead.strip() else "")
        self._write(lead)
        self._column = cell_width(lead)

    def put(self, span: StyledText) -> None:
        if span.kind == "space":
            self._end_word()
            self._space += span.text if len(self._space) < MAX_WORD else ""
            return
        if self._word and "wide" in (span.kind, self._word[-1].kind):
            before, after = self._word[-1].text[-1], span.text[0]
            if before not in _NOT_LAST and after not in _NOT_FIRST and unicodedata.category(after) != "Mn":
                self._end_word()
        self._word.append(span)

    def end(self) -> None:
        """End the line in the plain style."""
        self._end_word()
        self._set_style("")
        self._write("\n")
        self._space, self._column = "", 0

    def _end_word(self) -> None:
        if not self._word:
            return
        text = "".join([span.text for span in self._word])
        width, gap = cell_width(text), len(self._space)
        if self._column > self._indent and self._column + gap + width > self._line_width:
            self._set_style("")
            self._line_width = self._width()
            self._column = max(self._indent, 0 if folded(text).strip(_SIGNS) else _SIGN_INDENT)
            self._write("\n" + " " * self._column)
        else:
            if self._space and self._word[0].style != self._style:
                self._set_style("")
            self._write(self._space)
            self._column += gap
        for span in self._word:
            self._set_style(span.style)
            self._write(span.text)
        self._column += width
        if self._column > self._line_width:  # the terminal has wrapped it
            self._column = (self._column - 1) % self._line_width + 1
        self._word, self._space = [], ""

    def _set_style(self, style: str) -> None:
        if style != self._style and (style := self._shown(style)) != self._style:
            self._write(("\x1b[m" if self._style else "") + (f"\x1b[{style}m" if style else ""))
            self._style = style


def in_lines(
    spans: Iterable[StyledText],
    width: int,
    lead: str = "",
    indent: int = 0,
    shown: Callable[[str], str] = lambda style: "",
    *,
    breaks: bool = False,
) -> list[str]:
    """Spans behind a lead, in lines of at most `width` cells; `breaks`: words that are wider than a line too."""
    chunks: list[str] = []
    wrapper = LineWrapper(chunks.append, lambda: width, shown)
    wrapper.begin(lead, indent)
    for span in spans:
        parts = [*pieces(span.text, max(1, width - indent))] if breaks else [span.text]
        for part in parts:
            wrapper.put(StyledText(part, span.style, span.kind if len(parts) == 1 else "wide"))
    wrapper.end()
    return "".join(chunks).removesuffix("\n").split("\n")


_INDENT = 4  # blanks before the continuation of a line whose columns leave too little room
_COLUMN = re.compile(r"(?<=\S) {2,}(?=\S)")
_ARGUMENT = rf"(?: (?:--?[a-z][a-z-]*|{kinds.letters(kinds.KINDS)}\d+|[A-Z]{{2,}}|/[a-z]+)\b)*"
_COMMAND = Pattern(
    rf"`[^`\n]+`|\bagent (?:-[a-z]\b|--[a-z-]+|[a-z]+(?: [a-z]+)?\b){_ARGUMENT}|(?<![\w/.])/[a-z]+{_ARGUMENT}(?![\w/.])"
)


class Verbatim(str):
    """A text that is never wrapped, because it is compared or copied: an answer, a file, the call to be approved."""


def formatted(text: str, display: Display, indent: int = 0) -> str:
    """A text as it is printed, without control characters; wrapped beside an indent where `display.wrap` says so."""
    safe = clean(text)
    return wrap(safe, display.width() - indent) if display.wrap and not isinstance(text, Verbatim) else safe


def wrap(text: str, width: int) -> str:
    """The text in lines of at most `width` cells, except for longer words."""
    return "\n".join(wrapped(text, width))


def wrapped(text: str, width: int) -> list[str]:
    lines = list[str]()
    for line in text.split("\n"):
        expanded = line.expandtabs()
        lines += [line] if cell_width(expanded) <= width else _wrap_line(expanded, width)
    return lines


def _wrap_line(line: str, width: int) -> list[str]:
    columns = [line[: gap.end()] for gap in _COLUMN.finditer(line)]
    if leads := [lead for lead in columns if cell_width(lead) <= width // 3]:  # the line goes on below this column
        lead, indent = leads[-1], cell_width(leads[-1])
    else:
        lead = line[: len(line) - len(line.lstrip(" "))]
        indent = len(lead) + (_INDENT if columns else 0)
    words, done, spans = line[len(lead) :], 0, list[StyledText]()
    for command in _COMMAND.finditer(words):
        if len(command[0]) <= 2 * width // 3:
            spans += [*split_words(words[done : command.start()]), StyledText(command[0])]
            done = command.end()
    return in_lines([*spans, *split_words(words[done:])], width, lead, indent)


_GAP = 2  # blanks between two columns of a table
_MIN_LAST = 24  # cells that the last column needs beside the others
_NUMBER = re.compile(r"-?[\d,.]*")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], display: Display) -> str:
    """Rows below their headings, numbers to the right; too narrow: each value with its name below the first."""
    filled = [n for n in range(len(columns)) if any(row[n] for row in rows)]
    columns, rows = [columns[n] for n in filled], [[row[n] for n in filled] for row in rows]
    widths = [max(map(cell_width, [name, *(row[n] for row in rows)])) for n, name in enumerate(columns)]
    left = display.width() - sum(widths[:-1]) - _GAP * (len(widths) - 1)
    longest = max((cell_width(word) for row in rows for word in row[-1:] for word in word.split()), default=0)
    if left < min(widths[-1], max(_MIN_LAST, longest)):
        names = max(map(len, columns[1:]), default=0)
        lines = []
        for row in rows:
            named = [(name, value) for name, value in zip(columns[1:], row[1:], strict=True) if value]
            lines.append(display.styled(row[0], BOLD))
            lines += [wrap(f"  {name:<{names}}  {value}", display.width()) for name, value in named]
        return "\n".join(lines)
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_edge=False)
    for n, name in enumerate(columns):
        last = n == len(columns) - 1
        numbers = not last and all(_NUMBER.fullmatch(row[n]) for row in rows)
        heading = Text.from_ansi(display.styled(name, BOLD))
        drawn.add_column(heading, no_wrap=not last, justify="right" if numbers else "left")
    for row in rows:
        drawn.add_row(*map(Text, row))
    return _printed(drawn, display)


def tree(lines: Iterable[tuple[int, str]], display: Display) -> str:
    """Trees of (depth, line); the lines at depth 0 are the roots."""
    from rich.text import Text
    from rich.tree import Tree

    path: list[Tree] = []
    roots: list[Tree] = []
    for depth, line in lines:
        if depth:
            path = [*path[:depth], path[depth - 1].add(Text(line))]
        else:
            path = [Tree(Text.from_ansi(display.styled(line, BOLD)))]
            roots += path
    return "\n".join(_printed(each, display) for each in roots)


def _printed(drawing: "RenderableType", display: Display) -> str:
    from rich.console import Console

    styled = bool(display.shown(DIM))
    look: dict[str, Any] = {"color_system": "standard" if styled else None, "force_terminal": styled}
    look["no_color"] = not display.colour
    console = Console(file=StringIO(), width=display.width(), highlight=False, legacy_windows=False, **look)
    with console.capture() as drawn:
        console.print(drawing)
    return "\n".join(line.rstrip() for line in drawn.get().rstrip("\n").split("\n"))
