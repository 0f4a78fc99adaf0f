"""Splits a file into sections along its own structure, so that each can be found and read alone.

Markdown and HTML are split at headings, code at top-level definitions, PDF at pages, anything else at paragraphs;
within these, paragraphs are joined until a section is long enough to be found. The index itself splits what is too long
for it (memory/language/terms.py, `chunks`), so that a fence or a paragraph stays in one section.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from agent_cli.memory.documents import document_text
from agent_cli.memory.documents.document_text import Block
from agent_cli.text import Pattern, without_surrogates
from agent_cli.values import frozen

ABOVE, BETWEEN = " › ", "\n\n"  # between headings, and between paragraphs
MIN_SECTION, MAX_SECTION = 200, 1200  # characters of a section
_MAX_NAME = 80  # characters of the name of a definition
_MAX_NAMES = 160  # characters of several names
_MAX_LINE = 400  # characters of a heading or the first line of a definition

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


@frozen
class SectionText:
    """A section before it is stored. `heading`: the headings above it, as in Router › Passwords."""

    line: int
    page: int | None
    heading: str
    text: str


def split(path: str, data: bytes) -> tuple[str, list[SectionText]]:
    """(title, sections) of a file; the file name is the heading of text without one. Raises UnreadableFile."""
    kind = document_text.kind(path)
    title, blocks = "", list[Block]()
    if kind == "html":
        title, blocks = document_text.html(data)
    elif kind == "pdf":
        title, blocks = document_text.pdf(data)
    else:
        text = document_text.decode(data)
        blocks = list({"markdown": markdown, "code": code, "plain": document_text.paragraphs}[kind](text))
    title = title or next((block.text for block in blocks if block.level == 1), "")
    cut = code_sections(blocks) if kind == "code" else sections(blocks)
    name = without_surrogates(os.path.splitext(os.path.basename(path))[0])
    return title, [replace(piece, heading=piece.heading or name) for piece in cut]


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
        under = at > begun and lines[at - 1].strip() and _UNDERLINED.match(lines[at])
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
    """Join blocks below their headings; a heading with nothing below it becomes a section."""
    groups: list[tuple[list[Block], list[Block]]] = [([], [])]  # (headings, blocks below them)
    for block in blocks:
        if block.level:
            groups.append(([*(each for each in groups[-1][0] if each.level < block.level), block], []))
        else:
            groups[-1][1].append(block)
    for n, (above, below) in enumerate(groups):
        if below:
            yield from _pack(_path(above), below)
        elif above and (n + 1 == len(groups) or above[-1] not in groups[n + 1][0]):
            yield SectionText(above[-1].line, above[-1].page, _path(above[:-1]), above[-1].text)


def code_sections(blocks: Iterable[Block]) -> Iterator[SectionText]:
    """A section for each definition; small ones, such as constants, are joined."""
    held: list[Block] = []
    for block in blocks:
        full = _size(held) >= MIN_SECTION or _size(held) + len(block.text) > MAX_SECTION
        if held and (full or not held[0].name):  # text before the first definition
            yield from _pack(_names(held), held, "\n\n\n")
            held = []
        held.append(block)
    yield from _pack(_names(held), held, "\n\n\n")


def _pack(heading: str, blocks: Sequence[Block], between: str = BETWEEN) -> Iterator[SectionText]:
    """Join blocks below one heading into as few sections as possible."""
    held: list[Block] = []
    for block in (part for each in blocks for part in _split_block(each)):
        full = _size(held) >= MIN_SECTION and _size(held) + len(block.text) > MAX_SECTION
        if held and (full or held[0].page != block.page):
            yield _section(heading, held, between)
            held = []
        held.append(block)
    if held:
        yield _section(heading, held, between)


def _section(heading: str, held: Sequence[Block], between: str) -> SectionText:
    return SectionText(held[0].line, held[0].page, heading, between.join(block.text for block in held))


def _split_block(block: Block) -> Iterator[Block]:
    """Split a long block at ends of lines."""
    if block.whole or len(block.text) <= MAX_SECTION:
        yield block
        return
    line, held, size = block.line, list[str](), 0
    for number, each in enumerate(block.text.split("\n"), block.line):
        if held and size + len(each) > MAX_SECTION:
            yield Block(line, "\n".join(held).rstrip(), page=block.page)
            line, held, size = number, [], 0
        if held or each.strip():
            held.append(each)
            size += len(each) + 1
        else:
            line = number + 1
    if held:
        yield Block(line, "\n".join(held).rstrip(), page=block.page)


def _size(held: Sequence[Block]) -> int:
    return sum(len(block.text) + 2 for block in held)


def _path(above: Sequence[Block]) -> str:
    return ABOVE.join(block.text for block in above)


def _names(held: Sequence[Block]) -> str:
    return ", ".join(block.name for block in held if block.name)[:_MAX_NAMES]


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
