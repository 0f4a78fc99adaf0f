"""Reads files of various formats and splits them into sections along their own structure.

Markdown and HTML are split at headings, code at top-level definitions, PDF at pages, anything else at paragraphs; these
are joined until a section is long enough to be found. The index itself splits what is too long for it. What cannot be
read is told in a sentence (UnreadableFile). Of HTML no tree is built, so a page of 20 MB takes little more memory than
its text.
"""

import codecs
import os
import re
import stat
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from html.parser import HTMLParser
from importlib.util import find_spec
from itertools import islice

from agent_cli import limits
from agent_cli.text import Pattern, without_surrogates
from agent_cli.values import frozen

MAX_SIZE = 20_000_000  # bytes of a file, characters of a PDF
MAX_HEADING = 400  # characters of a heading; a longer one is a paragraph
_SNIFFED = 8192
_EXTRA = "install it with: pip install 'agent-cli[documents]'"
# Errors that may disappear although the file is the same.
_UNREADABLE, _NEEDS = "it cannot be read", "it needs a package that is missing"


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_MARKDOWN = _set(".md .markdown .mdown .mdx .mkd .qmd .rmd")
_HTML = _set(".html .htm .xhtml")
_CODE = _set(
    """.py .pyi .pyx .js .jsx .mjs .cjs .ts .tsx .java .kt .kts .scala .go .rs .c .h .cc .cpp .cxx .hpp .hh .cs .swift
    .m .mm .rb .php .pl .pm .lua .r .jl .sh .bash .zsh .fish .ps1 .sql .hs .ml .ex .exs .erl .clj .dart .zig .nim .vue
    .svelte .proto .tf .groovy .gradle .el .lisp"""
)
_NO_TEXT = _set(
    """.png .jpg .jpeg .gif .webp .bmp .ico .tif .tiff .heic .avif .psd .mp3 .m4a .wav .flac .ogg .opus .mp4 .mkv .avi
    .mov .webm .zip .gz .bz2 .xz .zst .7z .rar .tar .tgz .jar .whl .deb .rpm .dmg .iso .exe .dll .so .dylib .a .o .bin
    .class .pyc .pyo .wasm .ttf .otf .woff .woff2 .sqlite .sqlite3 .db .parquet .npy .npz .pkl .doc .docx .xls .xlsx
    .ppt .pptx .odt .ods .odp .epub .mobi .key .pages .numbers"""
)
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DECLARED_ENCODING = rb"(?i)(?:coding[:=]|charset=[\"']?|encoding=[\"'])\s*([-\w.]+)"
_GAP = Pattern(r"\n[ \t\f\v\xa0\n]*\n")


class UnreadableFile(Exception):
    """Why a file cannot be read, as a sentence without its name."""


@frozen
class Block:
    """A paragraph, heading (`level` from 1), fence or definition. `name`: what it defines."""

    line: int
    text: str
    level: int = 0
    page: int | None = None
    whole: bool = False  # must not be split
    name: str = ""


def kind(path: str) -> str:
    """markdown, html, pdf, code or plain, by the file extension."""
    end = os.path.splitext(path)[1].lower()
    named = {"markdown": _MARKDOWN, "html": _HTML, "pdf": {".pdf"}, "code": _CODE}
    return next((name for name, ends in named.items() if end in ends), "plain")


def read(path: str, most: int = MAX_SIZE) -> bytes:
    """The bytes of a file that may hold text. Raises UnreadableFile."""
    end = os.path.splitext(path)[1].lower()
    if end in _NO_TEXT:
        raise UnreadableFile(f"it is not text: {end} files are not read")
    try:  # not blocking, in case it is a pipe
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise UnreadableFile("it is not a file")
            if found.st_size > most:
                size = f"{found.st_size / 1e6:.0f} MB, and at most {most // 10**6} are read"
                raise UnreadableFile(f"it is too large: {size}")
            data = file.read(_SNIFFED)
            if end != ".pdf" and b"\0" in data and not data.startswith(_UTF_16):
                raise UnreadableFile("it is not text but binary")
            return data + file.read(most - len(data) + 1)
    except OSError as error:
        raise UnreadableFile(f"{_UNREADABLE}: {error.strerror or 'the disk cannot be read'}") from error


def may_disappear(error: str) -> bool:
    """Whether the error may have disappeared although the file is the same."""
    return error.startswith(_UNREADABLE) or (error.startswith(_NEEDS) and find_spec("pypdf") is not None)


def decode(data: bytes) -> str:
    """Decode text by its byte order mark, as UTF-8, as the file declares, else as Windows-1252."""
    declared = re.search(_DECLARED_ENCODING, data[:1024])
    first = "utf-16" if data.startswith(_UTF_16) else "utf-8-sig"
    for name in (first, declared and declared[1].decode("ascii"), "cp1252", "latin-1"):
        with suppress(LookupError, ValueError):  # unknown encoding, or invalid in it
            if name:
                return without_surrogates(
                    data.decode(name).replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ")
                )
    return ""


def pdf(data: bytes) -> tuple[str, list[Block]]:
    """(title, paragraphs with their pages) of a PDF. Raises UnreadableFile."""
    try:
        import pypdf  # an extra
    except ImportError as error:
        raise UnreadableFile(f"{_NEEDS}, pypdf: {_EXTRA}") from error
    import io
    import logging  # pypdf logs warnings on standard error

    logging.getLogger("pypdf").setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader = pypdf.PdfReader(io.BytesIO(data))
            opened = not reader.is_encrypted
            with suppress(Exception):  # without the package for decryption it raises
                opened = opened or bool(reader.decrypt(""))
            if not opened:
                raise UnreadableFile("it is encrypted: save it once without a password, and add that")
            blocks, size = list[Block](), 0
            for number, page in enumerate(reader.pages, 1):
                words = page.extract_text() or ""
                size += len(words)
                if size > MAX_SIZE:  # a small file can repeat a page a million times
                    raise UnreadableFile(f"it holds more than {MAX_SIZE:,} characters")
                blocks += paragraphs(without_surrogates(words.replace("\0", " ")), number)
            title = str((reader.metadata.title if reader.metadata else "") or "").strip()
    except (UnreadableFile, MemoryError):
        raise
    except Exception as error:  # the parser may raise anything
        raise UnreadableFile(f"it cannot be parsed as PDF ({type(error).__name__})") from error
    if not blocks:
        raise UnreadableFile("it holds no text: a scanned PDF has to go through OCR first")
    return without_surrogates(title), blocks


def paragraphs(text: str, page: int | None = None, first: int = 1) -> Iterator[Block]:
    """Paragraphs separated by blank lines, with their line numbers."""
    start, line = 0, first
    for end, following in (*((gap.start(), gap.end()) for gap in _GAP.finditer(text)), (len(text), len(text))):
        begun = text[start:end].lstrip("\n")
        if begun.strip():
            yield Block(line + end - start - len(begun), begun.rstrip(), page=page)
        line += text.count("\n", start, following)
        start = following


_SKIPPED = _set("script style template noscript svg head")
_BLOCKS = _set(
    """p div section article main header footer nav aside li dt dd td th caption figcaption blockquote pre h1 h2 h3 h4
    h5 h6 body html address summary details label form fieldset table tr ul ol dl title"""
)
_EMPTY = _set("area base br col embed hr img input link meta param source track wbr")  # tags that nothing stands in
_LEVELS = {f"h{level}": level for level in range(1, 7)}
_ENDS = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<![", "]>"), ("<", ">"))
_BLANKS = Pattern(r"\s+")
_CHUNK = 1 << 20


class HtmlPage(HTMLParser):
    """The text of a page. `title` is known when all blocks were read, which can be done once."""

    def __init__(self, html: str):
        super().__init__(convert_charrefs=True)
        self._html = _close_markup(html)
        self._block = ("", 1)  # the block element around the present pieces: its tag and line
        self._pieces: list[str] = []
        self._ended: list[Block] = []
        self._unseen: list[str] = []  # the element that no reader sees, and those of its name in it
        self._title: list[str] = []
        self._in_title = False

    @property
    def title(self) -> str:
        return " ".join("".join(self._title)[:MAX_HEADING].split())

    def blocks(self) -> Iterator[Block]:
        for start in range(0, len(self._html), _CHUNK):
            try:
                self.feed(self._html[start : start + _CHUNK])
            except (AssertionError, ValueError) as error:
                raise UnreadableFile("it cannot be parsed as HTML") from error
            yield from self._ended
            self._ended = []
        self.close()
        self._next_block("")
        yield from self._ended

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self._in_title = tag == "title" and not self._title
        if self._unseen:
            self._unseen += [tag] * (tag == self._unseen[0])
        elif tag in _SKIPPED or (tag not in _EMPTY and any(name == "hidden" for name, _ in attrs)):
            self._unseen.append(tag)
        elif tag in _BLOCKS:
            self._next_block(tag)
        elif tag == "br":
            self.handle_data("\n")

    def handle_endtag(self, tag: str) -> None:
        self._in_title = False
        if not self._unseen and tag in _BLOCKS:
            self._next_block("")
        elif tag in self._unseen:
            self._unseen.pop()

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._title.append(data)
        if self._unseen:
            return
        if self._block[0] != "pre":
            data = _BLANKS.sub(" ", data)
            if not self._pieces or self._pieces[-1].endswith(" "):
                data = data.lstrip()
        if data:
            self._pieces.append(data)

    def _next_block(self, tag: str) -> None:
        """End the present block, and begin one in this element."""
        begun, line = self._block
        words = "".join(self._pieces).strip("\n").rstrip()
        if words:
            level = _LEVELS.get(begun, 0) if len(words) <= MAX_HEADING else 0
            self._ended.append(Block(line, words, level, whole=begun == "pre"))
        self._block, self._pieces = (tag, self.getpos()[0]), []


def _close_markup(html: str) -> str:
    """Escape unclosed markup: for each, the parser would search to the end of the file."""
    for begin, end in _ENDS:
        last = html.rfind(end) + 1
        if begin in html[last:]:
            html = html[:last] + html[last:].replace(begin, f"&lt;{begin[1:]}")
    return html


ABOVE, BETWEEN = " › ", "\n\n"  # between headings, and between paragraphs
MIN_SECTION, MAX_SECTION = 200, 1200  # characters of a section
_MAX_NAME = 80  # characters of the name of a definition
_MAX_NAMES = 160  # characters of several names
_MAX_LINE = MAX_HEADING  # characters of the first line of a definition
_MAX_PARAGRAPH = 20_000  # characters; a longer line is cut
_MAX_SECTIONS = 100_000  # of a file
_PIECE = Pattern(rf".{{{MIN_SECTION},{MAX_SECTION}}}(?:\s|\Z)|.{{1,{MAX_SECTION}}}")
_SMALL = 100_000  # bytes of a file that is read in this process: at most some seconds, whatever it holds
_MAX_SECONDS = 120.0
_HEADING = Pattern(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_UNDERLINED = Pattern(r" {0,3}(=+|-{2,})[ \t]*$")
_FENCE = Pattern(r" {0,3}(`{3,}|~{3,})")
_DEFINITION = Pattern(
    r"(?:(?:export|default|pub(?:\([^)]*\))?|public|private|protected|internal|static|async|abstract|final|sealed|open"
    r"|data|inline|unsafe|extern|override|partial|local|declare|virtual)\s+)*"
    r"(?:def|class|func|fun|function\*?|fn|struct|enum|interface|trait|impl|type|module|namespace|object|record|union"
    r"|macro_rules!|defmodule|defn?|defun|package|sub|proc|message|service|resource|create\s+(?:or\s+replace\s+)?\w+"
    r"|(?:const|let|var)\s+\w+\s*=\s*(?:async\s*)?(?:function|\())\b"
    r"|(?:[A-Za-z_][\w:<>,*&\[\]]*[ \t]+[*&]*)+[A-Za-z_~][\w:~]*\s*\([^;=]*$"
    r"|[A-Za-z_][\w-]*\s*\(\)\s*\{",
    2,  # re.IGNORECASE, for SQL
)
_BELONGS_TO_NEXT = Pattern(r"(?:@|#|//|/\*|\*|--|;;|template\s*<)")


_Place = tuple[str, int]
"""The headings above a block, and the line of the last one; -1: for headings that have nothing below them."""


@frozen
class SectionText:
    """A section before it is stored. `heading`: the headings above it, as in Router › Passwords."""

    line: int
    page: int | None
    heading: str
    text: str


def split(path: str, data: bytes, seconds: float = _MAX_SECONDS) -> tuple[str, list[SectionText]]:
    """(title, sections) of a file; the file name is the heading of text without one. Raises UnreadableFile."""
    if kind(path) != "pdf" and len(data) <= _SMALL:
        return _split(path, data)
    try:
        return limits.run(lambda: _split(path, data), seconds)
    except limits.LimitExceeded as error:
        raise UnreadableFile(str(error)) from error


def _split(path: str, data: bytes) -> tuple[str, list[SectionText]]:
    form, page, title = kind(path), None, ""
    blocks: Iterable[Block]
    if form == "pdf":
        title, blocks = pdf(data)
    elif form == "html":
        page = HtmlPage(decode(data))
        blocks = page.blocks()
    else:
        blocks = {"markdown": markdown, "code": code, "plain": paragraphs}[form](decode(data))
    headings = list[str]()  # the first of the highest level

    def noted() -> Iterator[Block]:
        for block in blocks:
            if block.level == 1 and not headings:
                headings.append(block.text)
            yield block

    cut = _code_sections(blocks) if form == "code" else _pack(_placed(noted()))
    name = without_surrogates(os.path.splitext(os.path.basename(path))[0])
    pieces = [replace(piece, heading=piece.heading or name) for piece in islice(cut, _MAX_SECTIONS + 1)]
    if len(pieces) > _MAX_SECTIONS:
        raise UnreadableFile(f"it has more than {_MAX_SECTIONS:,} sections")
    return title or (page.title if page else "") or "".join(headings), pieces


def markdown(text: str) -> Iterator[Block]:
    lines = text.split("\n")
    at = _front_matter(lines)
    if at:
        yield Block(1, "\n".join(lines[:at]), whole=True)
    begun = at  # start of the present paragraph
    while at < len(lines):
        heading = _HEADING.match(lines[at]) if len(lines[at]) <= _MAX_LINE else None
        fence = _FENCE.match(lines[at])
        under = at > begun and 0 < len(lines[at - 1].strip()) <= _MAX_LINE and _UNDERLINED.match(lines[at])
        if fence:
            yield from _paragraphs(lines, begun, at)
            closing = re.compile(rf"\s*{fence[1]}{fence[1][0]}*\s*")
            end = next((n + 1 for n in range(at + 1, len(lines)) if closing.fullmatch(lines[n])), len(lines))
            yield Block(at + 1, "\n".join(lines[at:end]).rstrip(), whole=True)
            begun = at = end
        elif heading and (heading[2] or "").strip():
            yield from _paragraphs(lines, begun, at)
            yield Block(at + 1, heading[2].strip(), level=len(heading[1]))
            begun = at = at + 1
        elif under and (at - 1 == begun or not lines[at - 2].strip()):
            yield from _paragraphs(lines, begun, at - 1)
            yield Block(at, lines[at - 1].strip(), level=1 if under[1][0] == "=" else 2)
            begun = at = at + 1
        else:
            at += 1
    yield from _paragraphs(lines, begun, len(lines))


def code(text: str) -> Iterator[Block]:
    """The text before the first top-level definition, and each definition with the comments and decorators above it."""
    lines = text.split("\n")
    starts, names = [0], [""]
    for at, line in enumerate(lines):
        if line[:1].strip() and len(line) <= _MAX_LINE and _DEFINITION.match(line):
            start, name = at, line.strip().rstrip("{:").rstrip()[:_MAX_NAME]
            while start > starts[-1] and lines[start - 1][:1].strip() and _BELONGS_TO_NEXT.match(lines[start - 1]):
                start -= 1
            if start == starts[-1]:
                names[-1] = names[-1] or name
            else:
                starts.append(start)
                names.append(name)
    for start, end, name in zip(starts, [*starts[1:], len(lines)], names, strict=True):
        block = "\n".join(lines[start:end])
        begun = block.lstrip("\n")
        if begun.strip():
            yield Block(start + 1 + len(block) - len(begun), begun.rstrip(), name=name)


def _placed(blocks: Iterable[Block]) -> Iterator[tuple[_Place, Block]]:
    """Each block with the headings above it. Headings with nothing below them stand below those above them."""

    def path(blocks: Sequence[Block]) -> str:
        return ABOVE.join(block.text for block in blocks)

    above = list[Block]()
    alone = False  # whether nothing stands below the last heading yet
    for block in blocks:
        if not block.level:
            yield (path(above), above[-1].line if above else 0), block
            alone = False
            continue
        if alone and block.level <= above[-1].level:
            yield (path(above[:-1]), -1), above[-1]
        above = [*(each for each in above if each.level < block.level), block]
        alone = True
    if alone:
        yield (path(above[:-1]), -1), above[-1]


def _code_sections(blocks: Iterable[Block]) -> Iterator[SectionText]:
    """A section for each definition; small ones, such as constants, are joined."""
    held, size = list[Block](), 0
    for block in (*blocks, None):
        is_full = block is None or size >= MIN_SECTION or size + len(block.text) > MAX_SECTION
        if held and (is_full or not held[0].name):  # text before the first definition
            names = ", ".join(each.name for each in held if each.name)[:_MAX_NAMES]
            yield from _pack((((names, 0), each) for each in held), "\n\n\n")
            held, size = [], 0
        if block is not None:
            held.append(block)
            size += len(block.text) + len(BETWEEN)


def _pack(placed: Iterable[tuple[_Place, Block]], between: str = BETWEEN) -> Iterator[SectionText]:
    """Join blocks of the same place and page into as few sections as possible."""
    held, size, last = list[Block](), 0, ("", 0)

    def section() -> SectionText:
        return SectionText(held[0].line, held[0].page, last[0], between.join(block.text for block in held))

    for place, block in ((place, part) for place, each in placed for part in _split_block(each)):
        is_full = size >= MIN_SECTION and size + len(block.text) > MAX_SECTION
        if held and (is_full or place != last or held[0].page != block.page):
            yield section()
            held, size = [], 0
        held.append(block)
        size += len(block.text) + len(BETWEEN)
        last = place
    if held:
        yield section()


def _split_block(block: Block) -> Iterator[Block]:
    """Split a long block at ends of lines, and a very long line at blanks."""
    if block.whole or len(block.text) <= MAX_SECTION:
        yield block
        return
    line, held, size = block.line, list[str](), 0
    for number, each in enumerate(block.text.split("\n"), block.line):
        for piece in _split_line(each):
            if held and size + len(piece) > MAX_SECTION:
                yield Block(line, "\n".join(held).rstrip(), page=block.page)
                line, held, size = number, [], 0
            if held or piece.strip():
                held.append(piece)
                size += len(piece) + 1
            else:
                line = number + 1
    if held:
        yield Block(line, "\n".join(held).rstrip(), page=block.page)


def _split_line(line: str) -> Iterator[str]:
    """A line that no paragraph is as long as, in pieces: cut at blanks, else anywhere."""
    long = len(line) > _MAX_PARAGRAPH
    return (piece.strip() for piece in _PIECE.findall(line)) if long else iter([line])


def _front_matter(lines: Sequence[str]) -> int:
    """The number of lines of the front matter, or 0."""
    if lines[0].rstrip() not in ("---", "+++"):
        return 0
    return next((n + 1 for n, line in enumerate(lines[1:], 1) if line.rstrip() in (lines[0].rstrip(), "...")), 0)


def _paragraphs(lines: Sequence[str], start: int, end: int) -> Iterator[Block]:
    return paragraphs("\n".join(lines[start:end]), first=start + 1)
