"""The marks within a line (emphasis, code, links), read while the line arrives.

A mark is waited for until its partner has come, the line has ended or `_WINDOW` characters have passed; then it is a
style, or just a character. So what is shown never depends on how a stream was cut into pieces, nothing is lost when a
mark is never closed, and no more than a window is ever held. Names such as `__init__`, `**kwargs` and `2*3` stay whole
where CommonMark would make them bold only by accident.

A link shows its address behind its words: words that hide where they lead are how people are deceived, terminals find
the address by themselves, and it is there when the answer is copied.
"""

import re
from collections.abc import Iterator

from agent_cli.render.layout import LONGEST, WIDE, Piece, split
from agent_cli.text import Pattern

BOLD, DIM, ITALIC, STRUCK, CODE = "1", "2", "3", "9", "36"

_WINDOW = 240  # characters in which a mark finds its partner

# Scripts written without blanks between words. What must not begin a line goes with the character before it, what must
# not end one with that behind it.
_OPENS = "「『（【〈《〔［｛"
_CLOSES = "」』）】〉》〕］｝、。，．！？：；・ー々…ぁぃぅぇぉっゃゅょァィゥェォッャュョ"
_CLOSES += "\u3099\u309a\ufe00-\ufe0f\U000e0100-\U000e01ef"  # marks on the character before
_TOKEN = Pattern(
    rf"(?P<space>[ ]{{1,64}})|(?P<wide>[{_OPENS}]{{0,8}}[{WIDE}][{_CLOSES}]{{0,8}})"
    rf"|(?P<word>[^ *_`~!\[\\{WIDE}]{{1,{LONGEST}}})|(?P<mark>.)",
    re.DOTALL,
)
_RUN = re.compile(rf"\\.|`{{1,{_WINDOW}}}|\*{{1,{_WINDOW}}}|_{{1,{_WINDOW}}}|~{{1,{_WINDOW}}}", re.DOTALL)
_TICKS = re.compile("`+")
_PATH = r"[^\s()\[\]<>]"
_LINK = Pattern(
    rf'!?\[(?P<words>[^\[\]]{{1,200}})\]\((?P<to>{_PATH}{{1,800}}(?:\({_PATH}{{0,200}}\){_PATH}{{0,200}})?)'
    r'(?: "[^"\[\]<>]{0,200}")?\)'
)  # fmt: skip
_PERHAPS_LINK = Pattern(  # every beginning of one
    rf'!?(?:\[[^\[\]]{{0,200}}(?:\](?:\({_PATH}{{0,800}}(?:\({_PATH}{{0,200}}(?:\){_PATH}{{0,200}})?)?'
    r'(?: (?:"[^"\[\]<>]{0,200}"?)?)?)?)?)?\Z'
)  # fmt: skip
_ESCAPED = frozenset("*_`~#|")


class _Undecided(Exception):
    """More of the line must come."""


class Marks:
    """The line that is arriving; `style` is that of all its words."""

    def __init__(self, style: str = "") -> None:
        self._style = style
        self._held = ""
        self._last = " "  # the character before what is held
        self._barren: dict[str, int] = {}  # for a mark, how far none was found that closes it, from what is held on

    def feed(self, text: str) -> Iterator[Piece]:
        self._held += text
        return self._read(final=False)

    def end(self) -> Iterator[Piece]:
        return self._read(final=True)

    def _read(self, final: bool) -> Iterator[Piece]:
        text, at = self._held, 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            assert found  # any character is a mark at least
            end = found.end()
            if found.lastgroup == "mark":
                try:
                    end, pieces = self._mark(text, at, final)
                except _Undecided:
                    break
                yield from pieces
            elif end == len(text) and end - at < LONGEST and not final:
                break
            else:
                yield Piece(found.group(), self._style, str(found.lastgroup))
            self._last, at = text[end - 1], end
        self._held = text[at:]
        if self._barren and at:
            self._barren = {mark: to - at for mark, to in self._barren.items() if to > at}

    def _mark(self, text: str, at: int, final: bool) -> tuple[int, Iterator[Piece]]:
        """Where what begins with a mark ends, and what it is."""
        match text[at]:
            case "[" | "!":
                return self._link(text, at, final)
            case "\\":
                return self._escape(text, at, final)
        run = _RUN.match(text, at)
        assert run
        if run.end() == len(text) and not final and len(run.group()) < _WINDOW:
            raise _Undecided
        mark = run.group()
        inner = at + len(mark)
        if not self._opens(mark, text[inner : inner + 1]):
            return inner, self._literal(mark)
        close, seen = _partner(text, inner, mark, self._barren.get(mark, 0), at + _WINDOW, final)
        if close < 0:
            self._barren[mark] = seen
            return inner, self._literal(mark)
        words = text[inner:close]
        if mark == "__" and words.isidentifier():  # a name of Python
            return close + 2, self._literal(text[at : close + 2])
        return close + len(mark), self._code(words) if mark[0] == "`" else self._styled(words, mark)

    def _opens(self, mark: str, after: str) -> bool:
        if mark[0] == "`":
            return True
        if not after or after.isspace() or len(mark) > 3 or (mark[0] == "~" and mark != "~~"):
            return False
        inside = self._last.isalnum() and (self._last.isascii() or mark[0] == "_")
        return not inside or mark in ("**", "~~")

    def _link(self, text: str, at: int, final: bool) -> tuple[int, Iterator[Piece]]:
        if found := _LINK.match(text, at):
            words, to = found["words"], found["to"]
            return found.end(), self._literal(to) if words == to else self._address(words, to)
        if not final and _PERHAPS_LINK.match(text, at):
            raise _Undecided
        return at + 1, self._literal(text[at])

    def _escape(self, text: str, at: int, final: bool) -> tuple[int, Iterator[Piece]]:
        if at + 1 == len(text) and not final:
            raise _Undecided
        after = text[at + 1 : at + 2]
        if after and after in _ESCAPED:
            return at + 2, self._literal(after)
        return at + 1, self._literal("\\")

    def _styled(self, words: str, mark: str) -> Iterator[Piece]:
        style = STRUCK if mark == "~~" else {1: ITALIC, 2: BOLD, 3: f"{BOLD};{ITALIC}"}[len(mark)]
        return Marks(_with(self._style, style))._all(words)

    def _address(self, words: str, to: str) -> Iterator[Piece]:
        yield from Marks(self._style)._all(words)
        yield Piece(" ", self._style, "space")
        yield Piece(f"({to})", self._style)

    def _code(self, words: str) -> Iterator[Piece]:
        if words.startswith(" ") and words.endswith(" ") and words.strip():
            words = words[1:-1]
        return split(words, _with(self._style, CODE))

    def _literal(self, text: str) -> Iterator[Piece]:
        return split(text, self._style)

    def _all(self, words: str) -> Iterator[Piece]:
        yield from self.feed(words)
        yield from self.end()


def pieces(words: str, style: str = "") -> list[Piece]:
    """A whole text, its marks read."""
    return list(Marks(style)._all(words))


def _partner(text: str, start: int, mark: str, barren: int, limit: int, final: bool) -> tuple[int, int]:
    """Where the mark that closes this one stands, or -1 and how far that is known. Raises _Undecided."""
    here = final or len(text) > limit  # all that could be looked at has come
    stop = min(len(text), limit)
    at = max(start, barren)
    while run := _RUN.search(text, at, stop):
        if run.end() == stop and not (final and stop == len(text)):
            break  # it may go on
        at = run.end()
        if mark[0] == "`":
            if run.group() == mark:
                return run.start(), at
            if run.group()[0] == "\\":
                at = run.start() + 1  # nothing is escaped in code
        elif run.group()[0] == "`":
            close = _code_end(text, at, run.group(), stop, final)
            if close is None and not here:
                raise _Undecided
            at = close or at
        elif _closes(run, mark, text):
            return run.end() - len(mark), at
    if not here:
        raise _Undecided
    return -1, run.start() if run else stop


def _code_end(text: str, start: int, mark: str, stop: int, final: bool) -> int | None:
    """Where code within an emphasis ends."""
    for run in _TICKS.finditer(text, start, stop):
        whole = run.end() < stop or (final and stop == len(text))
        if run.group() == mark and whole:
            return run.end()
    return None


def _closes(run: re.Match[str], mark: str, text: str) -> bool:
    told = run.group()
    if told != mark and not (told == 3 * mark[0] and len(mark) < 3 and mark[0] != "~"):
        return False
    after = text[run.end() : run.end() + 1]
    return not text[run.start() - 1].isspace() and not (mark[0] == "_" and after.isalnum())


def _with(outer: str, inner: str) -> str:
    return ";".join(dict.fromkeys([*filter(None, outer.split(";")), *inner.split(";")]))
