"""An answer in Markdown, shown while it arrives: appended, never redrawn.

Text is written by the word, code by the line, a table when it is complete. The cursor is never moved, so no window,
however it is resized, can show a line twice or lose one. How the stream was cut into pieces makes no difference to a
single byte. Only what cannot be decided yet is held back: the first characters of a line, an open delimiter, a table;
each within bounds, so that a line of megabytes takes time in proportion to its length.

Not supported, and shown as written: underlined (setext) headings, reference links, HTML, tables whose rows do not begin
with a bar.
"""

import re
from itertools import groupby
from typing import TextIO

from agent_cli.render import table
from agent_cli.render.display import Display
from agent_cli.render.highlight import Highlighter
from agent_cli.render.inline import InlineParser
from agent_cli.render.layout import LineWrapper, StyledText
from agent_cli.render.reply_lines import ReplyCleaner
from agent_cli.render.styles import BOLD, DIM

_MAX_LINE_START = 200  # characters after which the kind of a line is decided
_MAX_ROW = 4_000  # characters of a table row
_MAX_TABLE = 40_000  # characters of a table
_MAX_CODE_LINE = 4_000  # characters of a line of code that is coloured

_FENCE = re.compile(r" {0,60}(?P<mark>`{3,60}|~{3,60})(?P<info>[^`]*)")
_THEMATIC_BREAK = re.compile(r" {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})")
_TABLE_ROW = re.compile(r" {0,60}\|")
_HEADING = re.compile(r" {0,3}#{1,6} ")
_LIST_ITEM = re.compile(r" {0,60}(?:[-*+]|\d{1,9}[.)]) ")
_QUOTE = re.compile(r" {0,3}> ?")
_CODE_INDENT = 4  # blanks before code, outside a list

# The beginnings of a line whose kind is still open.
_UNDECIDED = re.compile(
    r" *(?:`{1,2}|`{3,}[^`]*|~{1,2}|~{3,}.*|#{1,6}|[-*+]|\d{1,9}[.)]?|>)?"
    r"| {0,3}(?:[-*][-* ]*|_[_ ]*)"
)


class MarkdownWriter:
    """Writes an answer to `out`; `style` applies to all text, in SGR codes."""

    def __init__(self, out: TextIO, display: Display, style: str = ""):
        self._out, self._display, self._style = out, display, style
        self._written: list[str] = []
        self._cleaner = ReplyCleaner()
        self._wrapper = LineWrapper(self._written.append, display.width, display.shown)
        self._separate = False  # a blank line is written before the next text
        self._reset()

    def _reset(self) -> None:
        self._start = ""  # the line while its kind is undecided, or the current line of code
        self._mode = ""  # of the line: "" (undecided), "prose" or "verbatim"
        self._inline = InlineParser()
        self._rows: list[str] = []
        self._table_size = 0  # characters of the table
        self._table_overflowed = False  # the table is too large: its rows are printed as they arrive
        self._fence = ""  # the opening fence of the current code block
        self._indent = 0  # of that block, in blanks
        self._highlighter: Highlighter | None = None
        self._in_list = False
        self._wrote_any = False
        self._blank_before = False

    def write(self, text: str) -> None:
        self._feed(self._cleaner.feed(text))
        self._flush()

    def new_section(self) -> None:
        """Separate the text before a tool call from the text after it by a blank line."""
        began = self._wrote_any or self._start.strip() != ""
        self.end()
        self._separate = self._separate or began

    def end(self) -> None:
        """Write what is held back, and end the line if it has text."""
        self._feed(self._cleaner.end())
        if self._start or self._mode:
            self._newline()
        self._end_table()
        self._reset()
        self._flush()

    def _flush(self) -> None:
        if self._written:
            self._out.write("".join(self._written))
            self._out.flush()
            self._written.clear()

    def _feed(self, text: str) -> None:
        first, *lines = text.split("\n")
        self._extend(first)
        for line in lines:
            self._newline()
            self._extend(line)

    def _extend(self, text: str) -> None:
        """Add characters to the current line."""
        if not text:
            return
        if self._fence:
            self._extend_code(text)
            return
        text = text.replace("\t", "    ")
        if self._mode == "prose":
            self._put(text)
        elif self._mode == "verbatim":
            self._written.append(text)
        else:
            self._start += text
            if not self._kind_undecided():
                self._begin_line()

    def _kind_undecided(self) -> bool:
        if _TABLE_ROW.match(self._start):
            return len(self._start) <= _MAX_ROW
        return len(self._start) <= _MAX_LINE_START and _UNDECIDED.fullmatch(self._start) is not None

    def _begin_line(self) -> None:
        """Begin the line as a heading, item, quote, paragraph or indented code."""
        line, self._start = self._start, ""
        self._end_table()
        self._separate_from_previous()
        indent = len(line) - len(line.lstrip(" "))
        heading, lead = _HEADING.match(line), _LIST_ITEM.match(line) or _QUOTE.match(line)
        if indent >= _CODE_INDENT and not lead and not self._in_list:
            self._mode = "verbatim"
            self._written.append(line)
            return
        prefix = "" if heading else lead[0] if lead else line[:indent]
        self._in_list = _LIST_ITEM.match(line) is not None or (self._in_list and indent > 0)
        self._mode, self._inline = "prose", InlineParser(_join_styles(BOLD, self._style) if heading else self._style)
        self._wrapper.begin(prefix, len(prefix), self._style or (DIM if ">" in prefix else ""))
        self._put(line[len(heading[0] if heading else prefix) :])

    def _put(self, text: str) -> None:
        for span in self._inline.feed(text):
            self._wrapper.put(span)

    def _newline(self) -> None:
        if self._fence:
            self._end_code_line()
            return
        match self._mode:
            case "prose":
                for span in self._inline.end():
                    self._wrapper.put(span)
                self._wrapper.end()
            case "verbatim":
                self._written.append("\n")
            case _:
                self._write_complete_line()
        self._mode = ""

    def _write_complete_line(self) -> None:
        """Write a line that ended before its kind was decided."""
        line = self._start
        if not line.strip():
            self._start = ""
            self._end_table()
            self._blank_before = True
        elif _TABLE_ROW.match(line):
            self._start = ""
            self._add_row(line)
        elif fence := _FENCE.fullmatch(line):
            self._start = ""
            self._begin_code(fence)
        elif _THEMATIC_BREAK.fullmatch(line):
            self._start = ""
            self._end_table()
            self._write_unwrapped(line.strip(), DIM)
        else:
            self._begin_line()
            self._newline()

    def _separate_from_previous(self) -> None:
        """Write the blank line that separates the next line from the text before."""
        if self._separate or (self._blank_before and self._wrote_any):
            self._written.append("\n")
        self._separate = self._blank_before = False
        self._wrote_any = True

    def _write_unwrapped(self, line: str, style: str = "") -> None:
        """Write a line without wrapping it."""
        self._separate_from_previous()
        style = _join_styles(style, self._style)
        self._written.append(f"{self._display.styled(line, style)}\n")

    # Code

    def _begin_code(self, fence: re.Match[str]) -> None:
        self._end_table()
        self._separate_from_previous()
        self._fence, self._indent = fence["mark"], len(fence[0]) - len(fence[0].lstrip(" "))
        language = (fence["info"].split() or [""])[0]
        if self._display.colour and not self._style and language:
            self._highlighter = Highlighter(language)

    def _extend_code(self, text: str) -> None:
        self._start += text
        while len(self._start) > _MAX_CODE_LINE:
            lead = "" if self._mode else self._code_bar + " "
            self._mode = "verbatim"
            self._written.append(lead + self._start[:_MAX_CODE_LINE])
            self._start = self._start[_MAX_CODE_LINE:]

    def _end_code_line(self) -> None:
        line, self._start = self._start, ""
        if self._mode:
            self._written.append(line + "\n")
            self._mode = ""
            return
        mark = line.strip()
        if mark and set(mark) == {self._fence[0]} and len(mark) >= len(self._fence):
            self._fence, self._highlighter = "", None
            return
        line = line[min(self._indent, len(line) - len(line.lstrip(" "))) :]
        shown = self._highlighter.line(line) if self._highlighter else line
        text = f" {self._display.styled(shown, self._style)}" if shown.strip() else ""
        self._written.append(f"{self._code_bar}{text}\n")

    @property
    def _code_bar(self) -> str:
        return self._display.styled("│", DIM)

    # Tables

    def _add_row(self, line: str) -> None:
        if self._table_overflowed:
            self._write_unwrapped(line)
            return
        self._rows.append(line)
        self._table_size += len(line)
        if self._table_size > _MAX_TABLE:
            self._write_rows_unwrapped()
            self._table_overflowed = True

    def _end_table(self) -> None:
        rows, self._table_overflowed, self._table_size = self._rows, False, 0
        if not rows:
            return
        lines = table.layout(rows, self._display.width()) if table.has_header(rows) else []
        if not lines:
            self._write_rows_unwrapped()
            return
        self._rows = []
        self._separate_from_previous()
        for line in lines:
            self._written.append(self._styled(line) + "\n")

    def _write_rows_unwrapped(self) -> None:
        rows, self._rows = self._rows, []
        for row in rows:
            self._write_unwrapped(row)

    def _styled(self, line: list[StyledText]) -> str:
        text = ""
        for style, spans in groupby(line, lambda span: _join_styles(span.style, self._style)):
            words = "".join(span.text for span in spans)
            text += self._display.styled(words, style)
        return text


def _join_styles(*styles: str) -> str:
    return ";".join(style for style in styles if style)
