"""An answer in Markdown, shown while it arrives: appended, never redrawn.

Prose is written by the word, code by the line, a table when it is whole. What has been written is never touched again:
no cursor is moved, so no window, however it is resized, can show a line twice or lose one. How the stream was cut into
pieces makes no difference to a single byte. Held back is only what is not decided yet: the first characters of a
line, a mark whose partner may come, a row; each within bounds, so that a line of megabytes costs no more than its
length.

Not understood, and shown as written: headings underlined with signs, links defined elsewhere, HTML, tables without a
sign at the beginning of their rows.
"""

import re
from itertools import groupby
from typing import TextIO

from agent_cli.render import table
from agent_cli.render.highlight import Code
from agent_cli.render.inline import BOLD, DIM, Marks
from agent_cli.render.layout import Layout, Piece
from agent_cli.render.look import Look
from agent_cli.render.stream import Cleaner

_START = 200  # characters after which the beginning of a line is decided
_ROW = 4_000  # characters of a row of a table
_TABLE = 40_000  # of a table
_CODE = 4_000  # of a line of code that is coloured

_FENCE = re.compile(r" {0,60}(?P<mark>`{3,60}|~{3,60})(?P<told>[^`]*)")
_RULE = re.compile(r" {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})")
_ROWS = re.compile(r" {0,60}\|")
_HEADING = re.compile(r" {0,3}#{1,6} ")
_ITEM = re.compile(r" {0,60}(?:[-*+]|\d{1,9}[.)]) ")
_QUOTE = re.compile(r" {0,3}> ?")
_DEEP = 4  # blanks: code, where no list goes on

# The beginnings of a line that may still become several things.
_UNDECIDED = re.compile(
    r" *(?:`{1,2}|`{3,}[^`]*|~{1,2}|~{3,}.*|#{1,6}|[-*+]|\d{1,9}[.)]?|>)?"
    r"| {0,3}(?:[-*][-* ]*|_[_ ]*)"
)


class Markdown:
    """What an answer is written on: see stream.Paper, whose place it takes at a terminal."""

    def __init__(self, out: TextIO, look: Look, style: str = ""):
        self._out, self._look, self._base = out, look, style
        self._written: list[str] = []
        self._clean = Cleaner()
        self._layout = Layout(self._written.append, look.width, look.colour)
        self._gap = False  # a blank line stands before what comes next
        self._begin()

    def _begin(self) -> None:
        self._start = ""  # the line, while it is not decided what it is, and each line of code
        self._mode = ""  # of the line: "" undecided, "prose", "as is"
        self._marks = Marks()
        self._rows: list[str] = []
        self._large = 0  # characters of the table
        self._wide = False  # the table is too large, and printed as it comes
        self._fence = ""  # the mark that ends the block of code
        self._indent = 0  # of that block
        self._code: Code | None = None
        self._listed = False
        self._any = False
        self._blank = False

    def write(self, text: str) -> None:
        self._take(self._clean.feed(text))
        self._send()

    def gap(self) -> None:
        """What comes is a new piece of the answer: words before a tool was called and words after it."""
        began = self._any or self._start.strip() != ""
        self.end()
        self._gap = self._gap or began

    def end(self) -> None:
        """Write what is held, and end the line, if words stand on it."""
        self._take(self._clean.end())
        if self._start or self._mode:
            self._newline()
        self._end_table()
        self._begin()
        self._send()

    def _send(self) -> None:
        if self._written:
            self._out.write("".join(self._written))
            self._out.flush()
            self._written.clear()

    def _take(self, text: str) -> None:
        first, *lines = text.split("\n")
        self._more(first)
        for line in lines:
            self._newline()
            self._more(line)

    def _more(self, text: str) -> None:
        """Further characters of the present line."""
        if not text:
            return
        if self._fence:
            self._more_code(text)
            return
        text = text.replace("\t", "    ")
        if self._mode == "prose":
            self._put(text)
        elif self._mode == "as is":
            self._written.append(text)
        else:
            self._start += text
            if not self._undecided():
                self._decide()

    def _undecided(self) -> bool:
        if _ROWS.match(self._start):
            return len(self._start) <= _ROW
        return len(self._start) <= _START and _UNDECIDED.fullmatch(self._start) is not None

    def _decide(self) -> None:
        """Begin the line in the way its first characters ask for."""
        line, self._start = self._start, ""
        self._end_table()
        self._open()
        indent = len(line) - len(line.lstrip(" "))
        heading, lead = _HEADING.match(line), _ITEM.match(line) or _QUOTE.match(line)
        if indent >= _DEEP and not lead and not self._listed:
            self._mode = "as is"
            self._written.append(line)
            return
        begins = "" if heading else lead[0] if lead else line[:indent]
        self._listed = _ITEM.match(line) is not None or (self._listed and indent > 0)
        self._mode, self._marks = "prose", Marks(_joined(BOLD, self._base) if heading else self._base)
        self._layout.begin(begins, len(begins), self._base or (DIM if ">" in begins else ""))
        self._put(line[len(heading[0] if heading else begins) :])

    def _put(self, text: str) -> None:
        for piece in self._marks.feed(text):
            self._layout.put(piece)

    def _newline(self) -> None:
        if self._fence:
            self._end_code_line()
            return
        match self._mode:
            case "prose":
                for piece in self._marks.end():
                    self._layout.put(piece)
                self._layout.end()
            case "as is":
                self._written.append("\n")
            case _:
                self._whole_line()
        self._mode = ""

    def _whole_line(self) -> None:
        """A line that has ended before it was decided what it is."""
        line = self._start
        if not line.strip():
            self._start = ""
            self._end_table()
            self._blank = True
        elif _ROWS.match(line):
            self._start = ""
            self._row(line)
        elif fence := _FENCE.fullmatch(line):
            self._start = ""
            self._begin_code(fence)
        elif _RULE.fullmatch(line):
            self._start = ""
            self._end_table()
            self._plain(line.strip(), DIM)
        else:
            self._decide()
            self._newline()

    def _open(self) -> None:
        """A line is written next."""
        if self._gap or (self._blank and self._any):
            self._written.append("\n")
        self._gap = self._blank = False
        self._any = True

    def _plain(self, line: str, style: str = "") -> None:
        """A line that is not wrapped."""
        self._open()
        style = _joined(style, self._base)
        self._written.append(f"\x1b[{style}m{line}\x1b[m\n" if style and self._look.colour else f"{line}\n")

    # Code

    def _begin_code(self, fence: re.Match[str]) -> None:
        self._end_table()
        self._open()
        self._fence, self._indent = fence["mark"], len(fence[0]) - len(fence[0].lstrip(" "))
        language = (fence["told"].split() or [""])[0]
        if self._look.colour and not self._base and language:
            self._code = Code(language)

    def _more_code(self, text: str) -> None:
        self._start += text
        while len(self._start) > _CODE:
            lead = "" if self._mode else "  "
            self._mode = "as is"
            self._written.append(lead + self._start[:_CODE])
            self._start = self._start[_CODE:]

    def _end_code_line(self) -> None:
        line, self._start = self._start, ""
        if self._mode:
            self._written.append(line + "\n")
            self._mode = ""
            return
        mark = line.strip()
        if mark and set(mark) == {self._fence[0]} and len(mark) >= len(self._fence):
            self._fence, self._code = "", None
            return
        line = line[min(self._indent, len(line) - len(line.lstrip(" "))) :]
        told = self._code.line(line) if self._code else line
        if not told.strip():
            self._written.append("\n")
        elif self._base and self._look.colour:
            self._written.append(f"  \x1b[{self._base}m{told}\x1b[m\n")
        else:
            self._written.append(f"  {shown}\n")

    # Tables

    def _row(self, line: str) -> None:
        if self._wide:
            self._plain(line)
            return
        self._rows.append(line)
        self._large += len(line)
        if self._large > _TABLE:
            self._as_they_came()
            self._wide = True

    def _end_table(self) -> None:
        rows, self._wide, self._large = self._rows, False, 0
        if not rows:
            return
        if not table.is_head(rows):
            self._as_they_came()
            return
        lines = table.drawn(rows, self._look.width())
        if not lines:
            self._as_they_came()
            return
        self._rows = []
        self._open()
        for line in lines:
            self._written.append(self._drawn(line) + "\n")

    def _as_they_came(self) -> None:
        rows, self._rows = self._rows, []
        for row in rows:
            self._plain(row)

    def _drawn(self, line: list[Piece]) -> str:
        told = ""
        for style, pieces in groupby(line, lambda piece: _joined(piece.style, self._base)):
            words = "".join(piece.text for piece in pieces)
            told += f"\x1b[{style}m{words}\x1b[m" if style and self._look.colour else words
        return told


def _joined(*styles: str) -> str:
    return ";".join(style for style in styles if style)
