"""Reads an HTML page as blocks of text: what a reader sees, each block with its line.

No tree of the page is built, so a page of 20 MB takes little more memory than its text.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser

from agent_cli.memory.documents.document_text import MAX_HEADING, Block, UnreadableFile
from agent_cli.text import Pattern


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_SKIPPED = _set("script style template noscript svg head")
_BLOCKS = _set(
    """p div section article main header footer nav aside li dt dd td th caption figcaption blockquote pre h1 h2 h3 h4
    h5 h6 body html address summary details label form fieldset table tr ul ol dl title"""
)
_EMPTY = _set("area base br col embed hr img input link meta param source track wbr")  # tags that nothing stands in
_REPEATED = _set("p li dt dd td th tr option")  # each ends where the next one begins
_LEVELS = {f"h{level}": level for level in range(1, 7)}
_ENDS = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<![", "]>"), ("<", ">"))
_BLANKS = Pattern(r"\s+")
_MAX_DEPTH = 20_000  # tags that are open at once
_CHUNK = 1 << 20

_Enclosing = tuple[str, int]
"""The block element around a text: its tag, and its line."""


class HtmlPage(HTMLParser):
    """The text of a page. `title` is known when all blocks were read, which can be done once."""

    def __init__(self, html: str):
        super().__init__(convert_charrefs=True)
        self._html = _close_markup(html)
        self._block: _Enclosing = ("", 1)  # of the present pieces
        self._pieces: list[str] = []
        self._ended: list[Block] = []
        self._open: list[tuple[str, _Enclosing | None]] = [("", self._block)]  # None: no reader sees what stands there
        self._counts: Counter[str] = Counter()  # of the open tags of each name
        self._title: list[str] = []
        self._titled = False  # whether the first title has ended

    @property
    def title(self) -> str:
        return " ".join("".join(self._title)[:MAX_HEADING].split())

    def blocks(self) -> Iterator[Block]:
        """Raises UnreadableFile."""
        for start in range(0, len(self._html), _CHUNK):
            self._take(self._html[start : start + _CHUNK])
            yield from self._ended
            self._ended = []
        self.close()
        self._end_block()
        yield from self._ended

    def _take(self, piece: str) -> None:
        try:
            self.feed(piece)
        except (AssertionError, ValueError) as error:
            raise UnreadableFile("it cannot be parsed as HTML") from error

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        if tag in _EMPTY:
            if tag == "br":
                self.handle_data("\n")
            return
        if tag in _REPEATED and self._open[-1][0] == tag:
            self.handle_endtag(tag)
        block = self._open[-1][1]
        if tag in _SKIPPED or any(name == "hidden" for name, _ in attrs):
            block = None
        elif block and tag in _BLOCKS:
            block = tag, self.getpos()[0]
        self._open.append((tag, block))
        self._counts[tag] += 1
        if len(self._open) > _MAX_DEPTH:
            raise UnreadableFile("its tags are nested too deeply")

    def handle_startendtag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _EMPTY:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._counts[tag]:
            return
        self._titled = self._titled or tag == "title"
        last = ""
        while last != tag:
            last, _ = self._open.pop()
            self._counts[last] -= 1

    def handle_data(self, data: str) -> None:
        if self._counts["title"] and not self._titled:
            self._title.append(data)
        block = self._open[-1][1]
        if block is None:
            return
        if block is not self._block:
            self._end_block()
            self._block = block
        if block[0] != "pre":
            data = _BLANKS.sub(" ", data)
            if not self._pieces or self._pieces[-1].endswith(" "):
                data = data.lstrip()
        if data:
            self._pieces.append(data)

    def _end_block(self) -> None:
        tag, line = self._block
        words = "".join(self._pieces).strip("\n").rstrip()
        if words:
            level = _LEVELS.get(tag, 0) if len(words) <= MAX_HEADING else 0
            self._ended.append(Block(line, words, level, whole=tag == "pre"))
        self._pieces = []


def _close_markup(html: str) -> str:
    """Escape unclosed markup: for each, the parser would search to the end of the file."""
    for begin, end in _ENDS:
        last = html.rfind(end) + 1
        if begin in html[last:]:
            html = html[:last] + html[last:].replace(begin, f"&lt;{begin[1:]}")
    return html
