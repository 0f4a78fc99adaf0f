"""Inline Markdown (emphasis, code, links), parsed while the line arrives.

A delimiter is held back until its closing one has come, the line has ended or `_WINDOW` characters have passed; then it
is a style, or a literal character. So the result never depends on how a stream was cut into pieces, nothing is lost
when emphasis is never closed, and at most a window is held back. Names such as `__init__`, `**kwargs` and `2*3` stay
whole where CommonMark would make them bold only by accident.

A link shows its address behind its text: a text that hides its address can deceive, terminals find the address by
themselves, and it is there when the answer is copied.
"""

import re
from collections.abc import Iterator

from agent_cli.render.layout import MAX_WORD, WIDE, StyledText, split_words
from agent_cli.render.styles import BOLD, CODE, ITALIC, STRUCK
from agent_cli.text import Pattern

_WINDOW = 240  # characters within which a delimiter must be closed

# For scripts written without blanks: what must not end a line stays with the next character, what must not begin one
# with the character before it.
_OPENS = "「『（【〈《〔［｛"
_CLOSES = "」』）】〉》〕］｝、。，．！？：；・ー々…ぁぃぅぇぉっゃゅょァィゥェォッャュョ"
_CLOSES += "\u3099\u309a\ufe00-\ufe0f\U000e0100-\U000e01ef"  # combining characters and variation selectors
_TOKEN = Pattern(
    rf"(?P<space>[ ]{{1,64}})|(?P<wide>[{_OPENS}]{{0,8}}[{WIDE}][{_CLOSES}]{{0,8}})"
    rf"|(?P<word>[^ *_`~!\[\\{WIDE}]{{1,{MAX_WORD}}})|(?P<mark>.)",
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
_ESCAPABLE = frozenset("*_`~#|")


class _Incomplete(Exception):
    """More of the line must arrive before this can be parsed."""


class InlineParser:
    """Parses one line as it arrives; `style` applies to all its text."""

    def __init__(self, style: str = "") -> None:
        self._style = style
        self._pending = ""
        self._previous = " "  # the character before the pending text
        self._unclosed: dict[str, int] = {}  # by delimiter: how far into the pending text none closes it

    def feed(self, text: str) -> Iterator[StyledText]:
        self._pending += text
        return self._read(final=False)

    def end(self) -> Iterator[StyledText]:
        return self._read(final=True)

    def _read(self, final: bool) -> Iterator[StyledText]:
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
        if self._unclosed and at:
            self._unclosed = {delimiter: to - at for delimiter, to in self._unclosed.items() if to > at}

    def _delimited(self, text: str, at: int, final: bool) -> tuple[int, Iterator[StyledText]]:
        """Where the construct that a delimiter opens ends, and its spans."""
        match text[at]:
            case "[" | "!":
                return self._link(text, at, final)
            case "\\":
                return self._escape(text, at, final)
        run = _RUN.match(text, at)
        assert run
        if run.end() == len(text) and not final and len(run.group()) < _WINDOW:
            raise _Incomplete
        delimiter = run.group()
        inner = at + len(delimiter)
        if not self._can_open(delimiter, text[inner : inner + 1]):
            return inner, self._literal(delimiter)
        close, seen = _find_closing(text, inner, delimiter, self._unclosed.get(delimiter, 0), at + _WINDOW, final)
        if close < 0:
            self._unclosed[delimiter] = seen
            return inner, self._literal(delimiter)
        content = text[inner:close]
        if delimiter == "__" and content.isidentifier():  # a Python name such as __init__
            return close + 2, self._literal(text[at : close + 2])
        return close + len(delimiter), self._code(content) if delimiter[0] == "`" else self._styled(content, delimiter)

    def _can_open(self, delimiter: str, after: str) -> bool:
        if delimiter[0] == "`":
            return True
        if not after or after.isspace() or len(delimiter) > 3 or (delimiter[0] == "~" and delimiter != "~~"):
            return False
        inside = self._previous.isalnum() and (self._previous.isascii() or delimiter[0] == "_")
        return not inside or delimiter in ("**", "~~")

    def _link(self, text: str, at: int, final: bool) -> tuple[int, Iterator[StyledText]]:
        if match := _LINK.match(text, at):
            label, to = match["label"], match["to"]
            return match.end(), self._literal(to) if label == to else self._labelled(label, to)
        if not final and _PARTIAL_LINK.match(text, at):
            raise _Incomplete
        return at + 1, self._literal(text[at])

    def _escape(self, text: str, at: int, final: bool) -> tuple[int, Iterator[StyledText]]:
        if at + 1 == len(text) and not final:
            raise _Incomplete
        after = text[at + 1 : at + 2]
        if after and after in _ESCAPABLE:
            return at + 2, self._literal(after)
        return at + 1, self._literal("\\")

    def _styled(self, text: str, delimiter: str) -> Iterator[StyledText]:
        style = STRUCK if delimiter == "~~" else {1: ITALIC, 2: BOLD, 3: f"{BOLD};{ITALIC}"}[len(delimiter)]
        return InlineParser(_combined(self._style, style))._whole(text)

    def _labelled(self, text: str, to: str) -> Iterator[StyledText]:
        yield from InlineParser(self._style)._whole(text)
        yield StyledText(" ", self._style, "space")
        yield StyledText(f"({to})", self._style)

    def _code(self, text: str) -> Iterator[StyledText]:
        if text.startswith(" ") and text.endswith(" ") and text.strip():
            text = text[1:-1]
        return split_words(text, _combined(self._style, CODE))

    def _literal(self, text: str) -> Iterator[StyledText]:
        return split_words(text, self._style)

    def _whole(self, text: str) -> Iterator[StyledText]:
        yield from self.feed(text)
        yield from self.end()


def parse(text: str, style: str = "") -> list[StyledText]:
    """The spans of a whole text."""
    return list(InlineParser(style)._whole(text))


def _find_closing(text: str, start: int, delimiter: str, unclosed: int, limit: int, final: bool) -> tuple[int, int]:
    """Where the closing delimiter begins; or -1, and up to where there is none. Raises _Incomplete."""
    complete = final or len(text) > limit  # no more text is needed to decide
    stop = min(len(text), limit)
    at = max(start, unclosed)
    while run := _RUN.search(text, at, stop):
        if run.end() == stop and not (final and stop == len(text)):
            break  # it may go on
        at = run.end()
        if delimiter[0] == "`":
            if run.group() == delimiter:
                return run.start(), at
            if run.group()[0] == "\\":
                at = run.start() + 1  # nothing is escaped in code
        elif run.group()[0] == "`":
            close = _code_end(text, at, run.group(), stop, final)
            if close is None and not complete:
                raise _Incomplete
            at = close or at
        elif _can_close(run, delimiter, text):
            return run.end() - len(delimiter), at
    if not complete:
        raise _Incomplete
    return -1, run.start() if run else stop


def _code_end(text: str, start: int, delimiter: str, stop: int, final: bool) -> int | None:
    """Where code within emphasis ends."""
    for run in _TICKS.finditer(text, start, stop):
        whole = run.end() < stop or (final and stop == len(text))
        if run.group() == delimiter and whole:
            return run.end()
    return None


def _can_close(run: re.Match[str], delimiter: str, text: str) -> bool:
    found = run.group()
    if found != delimiter and not (found == 3 * delimiter[0] and len(delimiter) < 3 and delimiter[0] != "~"):
        return False
    after = text[run.end() : run.end() + 1]
    return not text[run.start() - 1].isspace() and not (delimiter[0] == "_" and after.isalnum())


def _combined(outer: str, inner: str) -> str:
    return ";".join(dict.fromkeys([*filter(None, outer.split(";")), *inner.split(";")]))
