"""Splits a file into sections along its own structure, so that each can be found and read alone.

Markdown and HTML are split at headings, code at top-level definitions, PDF at pages, anything else at paragraphs;
within these, paragraphs are joined until a section is long enough to be found. The index itself splits what is too long
for it (memory/language/terms.py, `chunks`), so that a fence or a paragraph stays in one section.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from agent_cli import limits
from agent_cli.limits import LimitExceeded
from agent_cli.memory.documents import document_text
from agent_cli.memory.documents.document_html import HtmlPage
from agent_cli.memory.documents.document_text import MAX_HEADING, Block, UnreadableFile
from agent_cli.text import Pattern, without_surrogates
from agent_cli.values import frozen

ABOVE, BETWEEN = " › ", "\n\n"  # between headings, and between paragraphs
MIN_SECTION, MAX_SECTION = 200, 1200  # characters of a section
_MAX_NAME = 80  # characters of the name of a definition
_MAX_NAMES = 160  # characters of several names
_MAX_LINE = MAX_HEADING  # characters of the first line of a definition
_MAX_PARAGRAPH = 20_000  # characters; a longer line is cut
_MAX_SECTIONS = 100_000  # of a file
_SENTENCE_ENDS = (". ", "! ", "? ")
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
    if document_text.kind(path) != "pdf" and len(data) <= _SMALL:
        return _split(path, data)
    try:
        return limits.run(lambda: _split(path, data), seconds)
    except LimitExceeded as error:
        raise UnreadableFile(str(error)) from error


def _split(path: str, data: bytes) -> tuple[str, list[SectionText]]:
    kind, page, title = document_text.kind(path), None, ""
    blocks: Iterable[Block]
    if kind == "pdf":
        title, blocks = document_text.pdf(data)
    elif kind == "html":
        page = HtmlPage(document_text.decode(data))
        blocks = page.blocks()
    else:
        parse = {"markdown": markdown, "code": code, "plain": document_text.paragraphs}[kind]
        blocks = parse(document_text.decode(data))
    headings = list[str]()
    cut = code_sections(blocks) if kind == "code" else sections(_noting(blocks, headings))
    name = without_surrogates(os.path.splitext(os.path.basename(path))[0])
    pieces = [replace(piece, heading=piece.heading or name) for piece in islice(cut, _MAX_SECTIONS + 1)]
    if len(pieces) > _MAX_SECTIONS:
        raise UnreadableFile(f"it has more than {_MAX_SECTIONS:,} sections")
    return title or (page.title if page else "") or "".join(headings), pieces


def _noting(blocks: Iterable[Block], headings: list[str]) -> Iterator[Block]:
    """The blocks; the first heading of the highest level is noted."""
    for block in blocks:
        if block.level == 1 and not headings:
            headings.append(block.text)
        yield block


def markdown(text: str) -> Iterator[Block]:
    """Headings, fences, front matter and paragraphs."""
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
            end = _end_of_fence(lines, at, fence[1])
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
    starts = [0]
    names = [""]
    for at, line in enumerate(lines):
        if line[:1].strip() and len(line) <= _MAX_LINE and _DEFINITION.match(line):
            start = at
            while start > starts[-1] and lines[start - 1][:1].strip() and _BELONGS_TO_NEXT.match(lines[start - 1]):
                start -= 1
            if start == starts[-1]:
                names[-1] = names[-1] or _name(line)
            else:
                starts.append(start)
                names.append(_name(line))
    for start, end, name in zip(starts, [*starts[1:], len(lines)], names, strict=True):
        block = "\n".join(lines[start:end])
        begun = block.lstrip("\n")
        if begun.strip():
            yield Block(start + 1 + len(block) - len(begun), begun.rstrip(), name=name)


def sections(blocks: Iterable[Block]) -> Iterator[SectionText]:
    """Join blocks below their headings. Headings with nothing below them are joined below those above them."""
    return _pack(_placed(blocks))


def _placed(blocks: Iterable[Block]) -> Iterator[tuple[_Place, Block]]:
    above = list[Block]()
    alone = False  # whether nothing stands below the last heading yet
    for block in blocks:
        if not block.level:
            yield (_path(above), above[-1].line if above else 0), block
            alone = False
            continue
        if alone and block.level <= above[-1].level:
            yield (_path(above[:-1]), -1), above[-1]
        above = [*(each for each in above if each.level < block.level), block]
        alone = True
    if alone:
        yield (_path(above[:-1]), -1), above[-1]


def code_sections(blocks: Iterable[Block]) -> Iterator[SectionText]:
    """A section for each definition; small ones, such as constants, are joined."""
    held, size = list[Block](), 0
    for block in blocks:
        full = size >= MIN_SECTION or size + len(block.text) > MAX_SECTION
        if held and (full or not held[0].name):  # text before the first definition
            yield from _pack(_named(held), "\n\n\n")
            held, size = [], 0
        held.append(block)
        size += len(block.text) + len(BETWEEN)
    yield from _pack(_named(held), "\n\n\n")


def _named(held: Sequence[Block]) -> Iterator[tuple[_Place, Block]]:
    names = ", ".join(block.name for block in held if block.name)[:_MAX_NAMES]
    return (((names, 0), block) for block in held)


def _pack(placed: Iterable[tuple[_Place, Block]], between: str = BETWEEN) -> Iterator[SectionText]:
    """Join blocks of the same place and page into as few sections as possible."""
    held, size, last = list[Block](), 0, ("", 0)
    for place, block in ((place, part) for place, each in placed for part in _split_block(each)):
        full = size >= MIN_SECTION and size + len(block.text) > MAX_SECTION
        if held and (full or place != last or held[0].page != block.page):
            yield _section(last[0], held, between)
            held, size = [], 0
        held.append(block)
        size += len(block.text) + len(BETWEEN)
        last = place
    if held:
        yield _section(last[0], held, between)


def _section(heading: str, held: Sequence[Block], between: str) -> SectionText:
    return SectionText(held[0].line, held[0].page, heading, between.join(block.text for block in held))


def _split_block(block: Block) -> Iterator[Block]:
    """Split a long block at ends of lines, and a very long line at ends of sentences."""
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
    """A line that no paragraph is as long as, in pieces: cut at ends of sentences, else at spaces, else anywhere."""
    start = 0
    while len(line) > _MAX_PARAGRAPH and len(line) - start > MAX_SECTION:
        first, last = start + MIN_SECTION, start + MAX_SECTION
        sentence = max(line.rfind(end, first, last) for end in _SENTENCE_ENDS) + 1
        end = sentence or line.rfind(" ", first, last) + 1 or last
        yield line[start:end].strip()
        start = end
    yield line[start:].strip() if start else line


def _path(above: Sequence[Block]) -> str:
    return ABOVE.join(block.text for block in above)


def _name(line: str) -> str:
    return line.strip().rstrip("{:").rstrip()[:_MAX_NAME]


def _front_matter(lines: Sequence[str]) -> int:
    """The number of lines of the front matter, or 0."""
    if lines[0].rstrip() not in ("---", "+++"):
        return 0
    return next((n + 1 for n, line in enumerate(lines[1:], 1) if line.rstrip() in (lines[0].rstrip(), "...")), 0)


def _end_of_fence(lines: Sequence[str], at: int, fence: str) -> int:
    """The index of the line after the end of a fence."""
    for n in range(at + 1, len(lines)):
        line = lines[n].strip()
        if line and set(line) == {fence[0]} and len(line) >= len(fence):
            return n + 1
    return len(lines)


def _paragraphs(lines: Sequence[str], start: int, end: int) -> Iterator[Block]:
    return document_text.paragraphs("\n".join(lines[start:end]), first=start + 1)
