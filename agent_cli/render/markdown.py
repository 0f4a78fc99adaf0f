"""An answer in Markdown, shown while it arrives: appended, never redrawn. And which writer a terminal gets.

Text is written by the word, code by the line, a table when it is complete. How the stream was cut makes no difference:
what cannot be decided yet is held back. `__init__`, `**kwargs` and `2*3` stay whole, unlike in CommonMark. A link shows
its address, which could deceive. Shown as written: setext headings, reference links, HTML.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import groupby, zip_longest
from typing import Any, TextIO

from agent_cli.render.layout import MAX_WORD, WIDE, LineWrapper, StyledText, cell_width, in_lines, split_words
from agent_cli.render.reply_lines import PlainWriter, ReplyCleaner, SentenceWriter
from agent_cli.render.styles import BLUE, BOLD, CODE, CYAN, DIM, GREEN, ITALIC, MAGENTA, RED, STRUCK, Display, styled
from agent_cli.render.terminal_features import linked
from agent_cli.text import Pattern
from agent_cli.values import frozen

_WINDOW = 240  # characters within which a delimiter must be closed

_TOKEN = Pattern(
    rf"(?P<space>[ ]{{1,64}})|(?P<wide>[{WIDE}])"
    rf"|(?P<word>[^ *_`~!\[\\{WIDE}]{{1,{MAX_WORD}}}|\[(?=\[)|\\(?=\\))|(?P<mark>.)",
    re.DOTALL,
)
_RUN = re.compile(rf"\\.|`{{1,{_WINDOW}}}|\*{{1,{_WINDOW}}}|_{{1,{_WINDOW}}}|~{{1,{_WINDOW}}}", re.DOTALL)
_TICKS = re.compile("`+")
_PATH = r"[^\s()\[\]<>]"
_LINK = Pattern(
    rf"!?\[(?P<label>[^\[\]]{{1,200}})\]\((?P<to>{_PATH}{{1,800}}(?:\({_PATH}{{0,200}}\){_PATH}{{0,200}})?)"
    r'(?: "[^"\[\]<>]{0,200}")?\)'
)
_PARTIAL_LINK = Pattern(  # every beginning of a link
    rf"!?(?:\[[^\[\]]{{0,200}}(?:\](?:\({_PATH}{{0,800}}(?:\({_PATH}{{0,200}}(?:\){_PATH}{{0,200}})?)?"
    r'(?: (?:"[^"\[\]<>]{0,200}"?)?)?)?)?)?\Z'
)


class _Incomplete(Exception):
    """More of the line must arrive before this can be parsed."""


class InlineParser:
    """Parses one line as it arrives; `style` applies to all its text."""

    def __init__(self, style: str = "") -> None:
        self._style = style
        self._pending = ""
        self._previous = " "  # the character before the pending text

    def feed(self, text: str, *, final: bool = False) -> Iterator[StyledText]:
        """The spans that are complete with this text; `final`: no more comes, so all of them."""
        self._pending += text
        text, at = self._pending, 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            assert match  # any character is a delimiter at least
            end = match.end()
            if match.lastgroup == "mark":
                try:
                    end, spans = self._delimited(text, at, final)
                except _Incomplete:
                    break
                yield from spans
            elif end == len(text) and end - at < MAX_WORD and not final:
                break
            else:
                yield StyledText(match.group(), self._style, str(match.lastgroup))
            self._previous, at = text[end - 1], end
        self._pending = text[at:]

    def _delimited(self, text: str, at: int, final: bool) -> tuple[int, Iterable[StyledText]]:
        """Where the construct that a delimiter opens ends, and its spans."""
        mark, style = text[at], self._style
        if mark in "[!":
            return self._link(text, at, final)
        if mark == "\\":
            after = text[at + 1 : at + 2]
            if not (after or final):
                raise _Incomplete
            if after and after in "*_`~#|":
                return at + 2, split_words(after, style)
            return at + 1, [StyledText(mark, style)]
        run = _RUN.match(text, at)
        assert run
        delimiter, inner = run[0], run.end()
        if inner == len(text) and not final and len(delimiter) < _WINDOW:
            raise _Incomplete
        opens = self._opens(delimiter, text[inner : inner + 1])
        close = _find_closing(text, inner, delimiter, at + _WINDOW, final) if opens else -1
        if close < 0:
            return inner, split_words(delimiter, style)
        content, end = text[inner:close], close + len(delimiter)
        if delimiter == "__" and content.isidentifier():  # a Python name such as __init__
            return end, split_words(text[at:end], style)
        if mark == "`":
            blanks = content.startswith(" ") and content.endswith(" ") and content.strip()
            return end, split_words(content[1:-1] if blanks else content, _joined(style, CODE))
        extra = STRUCK if mark == "~" else ("", ITALIC, BOLD, f"{BOLD};{ITALIC}")[len(delimiter)]
        return end, InlineParser(_joined(style, extra)).feed(content, final=True)

    def _opens(self, delimiter: str, after: str) -> bool:
        if delimiter[0] == "`":
            return True
        if not after or after.isspace() or len(delimiter) > 3 or delimiter in ("~", "~~~"):
            return False
        inside = self._previous.isalnum() and (self._previous.isascii() or delimiter[0] == "_")
        return not inside or delimiter in ("**", "~~")

    def _link(self, text: str, at: int, final: bool) -> tuple[int, Iterable[StyledText]]:
        style = self._style
        if match := _LINK.match(text, at):
            label, to = match["label"], match["to"]
            if label == to:
                return match.end(), split_words(to, style)
            address = StyledText(" ", style, "space"), StyledText(f"({to})", style)
            return match.end(), [*InlineParser(style).feed(label, final=True), *address]
        if not final and _PARTIAL_LINK.match(text, at):
            raise _Incomplete
        return at + 1, [StyledText(text[at], style)]


def _find_closing(text: str, at: int, delimiter: str, limit: int, final: bool) -> int:
    """Where the closing delimiter begins; -1 where there is none. Raises _Incomplete."""
    complete = final or len(text) > limit  # no more text is needed to decide
    stop = min(len(text), limit)
    closes_too = 3 * delimiter[0] if len(delimiter) < 3 and delimiter[0] != "~" else delimiter
    while run := _RUN.search(text, at, stop):
        if run.end() == stop and not (final and stop == len(text)):
            break  # it may go on
        at = run.end()
        if delimiter[0] == "`":
            if run.group() == delimiter:
                return run.start()
            if run.group()[0] == "\\":
                at = run.start() + 1  # nothing is escaped in code
        elif run.group()[0] == "`":  # code within emphasis: where it ends
            ends = (each.end() for each in _TICKS.finditer(text, at, stop) if each.group() == run.group())
            close = next((end for end in ends if end < stop or (final and stop == len(text))), None)
            if close is None and not complete:
                raise _Incomplete
            at = close or at
        elif run.group() in (delimiter, closes_too):
            inside = text[run.start() - 1].isspace() or (delimiter[0] == "_" and text[at : at + 1].isalnum())
            if not inside:
                return at - len(delimiter)
    if not complete:
        raise _Incomplete
    return -1


def _joined(*styles: str) -> str:
    return ";".join(dict.fromkeys(code for style in styles for code in style.split(";") if code))


_SEPARATOR = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r":?-+:?")
_GAP = "  "
_NARROWEST = 12  # cells to which a column may be wrapped
_SGR = re.compile(r"\x1b\[[\d;]*m")


def _table_lines(rows: Sequence[str], display: Display, style: str) -> list[str]:
    """The lines of a table; none where the rows are none. Too wide a one has a line for each cell that is not empty."""
    if len(rows) < 2 or not all(_RULE.fullmatch(cell) for cell in _cells(rows[1])):
        return []
    cells, width = [_cells(row) for row in rows], display.width()
    count = max(map(len, cells))
    head, alignments, *body = [row + [""] * (count - len(row)) for row in cells]
    names, *table = [
        [[*InlineParser(_joined(BOLD if row is head else "", style)).feed(cell, final=True)] for cell in row]
        for row in (head, *body)
    ]
    wrapped = partial(in_lines, shown=display.shown, breaks=True)
    widths = [max(3, *(sum(cell_width(span.text) for span in row[n]) for row in (names, *table))) for n in range(count)]
    room = width - len(_GAP) * (count - 1)
    lines: list[str] = []
    if sum(widths) > room and sum(min(each, _NARROWEST) for each in widths) > room:
        for row in table:
            lines += [""] if lines else []
            for name, cell in zip(names, row, strict=True):
                named = [*name, StyledText(":", style), StyledText(" ", style, "space")] if name else []
                lines += wrapped([*named, *cell], width) if cell else []
        return lines
    while sum(widths) > room:
        widths[widths.index(max(widths))] -= 1
    for row in (names, *table):
        columns = [wrapped(*each) for each in zip(row, widths, strict=True)]
        lines += [_line(line, widths, alignments) for line in zip_longest(*columns, fillvalue="")]
        if row is names:
            lines.append(display.styled(_GAP.join("-" * each for each in widths), style))
    return lines


def _cells(row: str) -> list[str]:
    inner = row.strip().removeprefix("|")
    inner = inner.removesuffix("|") if not inner.endswith("\\|") else inner
    return [cell.strip() for cell in _SEPARATOR.split(inner)]


def _line(row: Sequence[str], widths: Sequence[int], alignments: Sequence[str]) -> str:
    line = ""
    for n, (cell, width, alignment) in enumerate(zip(row, widths, alignments, strict=True)):
        room = width - cell_width(_SGR.sub("", cell))
        left = 0 if not alignment.endswith(":") else room // 2 if alignment.startswith(":") else room
        line += (_GAP if n else "") + " " * left + cell + " " * (room - left)
    return line.rstrip(" ")


_STYLES = {
    **dict.fromkeys(("Keyword", "Operator.Word", "Name.Tag"), MAGENTA),
    **dict.fromkeys(("Comment.Preproc", "Literal.Number", "Name.Decorator", "Generic.Subheading"), CYAN),
    **dict.fromkeys(("Literal.String", "Generic.Inserted"), GREEN),
    **dict.fromkeys(("Name.Function", "Name.Class"), BLUE),
    "Comment": DIM,
    "Generic.Deleted": RED,
    "Generic.Heading": BOLD,
}


class Highlighter:
    """Colours one code block, line by line; an unknown language gets no colours."""

    def __init__(self, language: str):
        self._lexer: Any = None
        self._stack = ["root"]
        if language:
            from pygments.lexers import get_lexer_by_name  # slow, and few answers need it
            from pygments.util import ClassNotFound

            with suppress(ClassNotFound):
                self._lexer = get_lexer_by_name(language)

    def line(self, text: str) -> str:
        """The line with SGR codes, ending in the plain style."""
        if self._lexer is None or len(text) > _MAX_CODE_LINE:
            return text
        try:
            tokens = [(str(kind), value) for _, kind, value in self._tokens(text + "\n")]
        except Exception:  # lexers are large third-party regular expressions: a fault in one must not lose the code
            self._lexer, tokens = None, []
        if "".join(value for _, value in tokens) != text + "\n":
            return text
        coloured = ""
        for style, group in groupby(tokens, lambda token: _style(token[0])):
            value = "".join(value for _, value in group).rstrip("\n")
            core = value.strip(" ")
            coloured += value.replace(core, styled(core, style), 1) if style and core else value
        return coloured

    def _tokens(self, text: str) -> Iterable[tuple[int, object, str]]:
        """Places, types and texts of tokens. A lexer without rules, such as that of JSON, restarts at each line."""
        from pygments.lexer import ExtendedRegexLexer, LexerContext, RegexLexer

        if type(self._lexer).get_tokens_unprocessed is not RegexLexer.get_tokens_unprocessed:
            yield from self._lexer.get_tokens_unprocessed(text)
            return
        context = LexerContext(text, 0, self._stack)  # holds the state of the rules at the end of the line
        yield from ExtendedRegexLexer.get_tokens_unprocessed(self._lexer, None, context)
        self._stack = context.stack


@cache
def _style(kind: str) -> str:
    """The SGR codes of a token type such as "Token.Literal.String.Doc": its own, or those of a parent type."""
    kind = kind.removeprefix("Token.")
    while kind and kind not in _STYLES:
        kind = kind.rpartition(".")[0]
    return _STYLES.get(kind, "")


_MAX_LINE_START = 200  # characters after which the kind of a line is decided
_MAX_ROW = 4_000  # characters of a table row
_MAX_CODE_LINE = 4_000  # characters of a line of code that is coloured
_FENCE = re.compile(r"(?P<indent> {0,60})(?P<mark>`{3,60}|~{3,60})(?P<info>[^`]*)")
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
        self._separate = self._wrote_any = False
        self._reset()

    def _reset(self) -> None:
        self._start = ""  # the line while its kind is undecided, or the current line of code
        self._inline: InlineParser | None = None  # of the current line, once it is prose
        self._rows: list[str] = []
        self._fence = ""  # the opening fence of the current code block
        self._indent = 0  # of that block, in blanks
        self._highlighter: Highlighter | None = None
        self._separate = self._separate and not self._wrote_any  # a blank line is written before the next text
        self._in_list = self._wrote_any = False

    def write(self, text: str) -> None:
        self._feed(self._cleaner.feed(text))
        self._flush()

    def new_section(self) -> None:
        began = self._wrote_any or self._start.strip() != ""
        self.end()
        self._separate = self._separate or began

    def end(self) -> None:
        """Write what is held back, and end the line if it has text."""
        self._feed(self._cleaner.end())
        if self._start or self._inline:
            self._newline()
        self._end_table()
        self._reset()
        self._flush()

    def _flush(self) -> None:
        if self._written:
            self._out.write(linked("".join(self._written), self._display.terminal))
            self._out.flush()
            self._written.clear()

    def _feed(self, text: str) -> None:
        first, *lines = text.split("\n")
        self._extend(first)
        for line in lines:
            self._newline()
            self._extend(line)

    def _extend(self, text: str) -> None:
        if self._fence:
            self._start += text
            return
        text = text.replace("\t", "    ")
        if self._inline:
            self._wrap(self._inline.feed(text))
        elif text:
            line = self._start = self._start + text
            most = _MAX_ROW if _TABLE_ROW.match(line) else _MAX_LINE_START if _UNDECIDED.fullmatch(line) else 0
            if len(line) > most and not self._is_code(line):
                self._begin_line(line)

    def _is_code(self, line: str) -> bool:
        """Whether it is code by its indentation: neither an item of a list nor in one."""
        return line.startswith(" " * _CODE_INDENT) and not (self._in_list or _LIST_ITEM.match(line))

    def _begin_line(self, line: str) -> None:
        """Begin the line as a heading, item, quote or paragraph."""
        self._end_table()
        self._separate_from_previous()
        indent = len(line) - len(line.lstrip(" "))
        heading, lead = _HEADING.match(line), _LIST_ITEM.match(line) or _QUOTE.match(line)
        prefix = "" if heading else lead[0] if lead else line[:indent]
        self._in_list = _LIST_ITEM.match(line) is not None or (self._in_list and indent > 0)
        self._start, self._inline = "", InlineParser(_joined(BOLD, self._style) if heading else self._style)
        self._wrapper.begin(prefix, len(prefix), self._style or (DIM if ">" in prefix else ""))
        self._wrap(self._inline.feed(line[len(heading[0] if heading else prefix) :]))

    def _wrap(self, spans: Iterable[StyledText]) -> None:
        for span in spans:
            self._wrapper.put(span)

    def _newline(self) -> None:
        if self._fence:
            self._end_code_line()
        elif self._inline:
            self._wrap(self._inline.feed("", final=True))
            self._wrapper.end()
            self._inline = None
        else:
            self._write_complete_line()

    def _write_complete_line(self) -> None:
        """Write a line that ended before its kind was decided, or that is code."""
        line, self._start = self._start, ""
        if not line.strip():
            self._end_table()
            self._separate = self._separate or self._wrote_any
        elif _TABLE_ROW.match(line):
            self._rows.append(line)
        elif fence := _FENCE.fullmatch(line):
            self._end_table()
            self._separate_from_previous()
            self._fence, self._indent = fence["mark"], len(fence["indent"])
            language = (fence["info"].split() or [""])[0]
            self._highlighter = Highlighter(language if self._display.colour and not self._style else "")
        elif _THEMATIC_BREAK.fullmatch(line):
            self._end_table()
            self._write_unwrapped(line.strip(), DIM)
        elif self._is_code(line):
            self._end_table()
            self._write_unwrapped(line)
        else:
            self._begin_line(line)
            self._newline()

    def _separate_from_previous(self) -> None:
        """Write the blank line that separates the next line from the text before."""
        if self._separate:
            self._written.append("\n")
        self._separate, self._wrote_any = False, True

    def _write_unwrapped(self, line: str, style: str = "") -> None:
        self._separate_from_previous()
        self._written.append(f"{self._display.styled(line, _joined(style, self._style))}\n")

    def _end_code_line(self) -> None:
        line, self._start = self._start, ""
        mark = line.strip()
        if mark and set(mark) == {self._fence[0]} and len(mark) >= len(self._fence):
            self._fence = ""
            return
        line = line[min(self._indent, len(line) - len(line.lstrip(" "))) :]
        shown = self._highlighter.line(line) if self._highlighter else line
        self._written.append(f"{self._display.styled(shown, self._style) if shown.strip() else ''}\n")

    def _end_table(self) -> None:
        rows, self._rows = self._rows, []
        if lines := _table_lines(rows, self._display, self._style):
            self._separate_from_previous()
            self._flush()
            self._out.write("".join(f"{line}\n" for line in lines))  # an address in it may be cut
        else:
            for row in rows:
                self._write_unwrapped(row)


AnswerWriter = MarkdownWriter | PlainWriter


def answer_writer(out: TextIO, display: Display, style: str = "") -> AnswerWriter:
    """A writer to `out`; `style` applies to all text, in SGR codes, where colours can be shown."""
    if display.markdown:
        return MarkdownWriter(out, display, style)
    return (SentenceWriter if display.screen_reader else PlainWriter)(out, marks=True)


@frozen
class CodeBlock:
    code: str  # ends with a newline, unless it is empty
    closed: bool  # whether its closing fence was found


_BLOCK = Pattern(
    r"^(?P<indent> {0,60})(?P<mark>(?P<sign>[`~])(?P=sign){2,59})[^`\n]*$"
    r"(?P<code>.*?)(?:(?P<end>^ {0,60}(?P=mark)(?P=sign)*[ \t\r]*$)|\Z)",
    re.MULTILINE | re.DOTALL,
)


def code_blocks(text: str) -> list[CodeBlock]:
    """The fenced blocks, in order, exactly as they are meant to be run. As in CommonMark, a fence is closed by one of
    the same sign that is at least as long, and each line loses the indentation of the opening fence (in a list)."""
    blocks = []
    for block in _BLOCK.finditer(text):
        closed, code = block["end"] is not None, block["code"].removeprefix("\n")
        if not closed:
            code = f"{code.rstrip()}\n" if code.strip() else ""
        code = re.sub(rf"^ {{1,{len(block['indent'])}}}", "", code, flags=re.MULTILINE) if block["indent"] else code
        blocks.append(CodeBlock(code, closed))
    return blocks
