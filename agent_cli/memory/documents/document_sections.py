"""A file in sections: cut where its own structure cuts it, so that each can be found and read alone.

Markdown and HTML at their headings, code at its top-level definitions, PDF at pages, all else at paragraphs; within
these, paragraphs are put together until a section says enough to be found by. What is longer than a search likes is
cut by the index itself (memory/terms.py, `pieces`), so that a fence or a paragraph stays in one section.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from agent_cli.memory.documents import document_text
from agent_cli.memory.documents.document_text import Block
from agent_cli.text import Pattern, without_surrogates
from agent_cli.values import frozen

ABOVE, BETWEEN = " › ", "\n\n"  # stand between headings, and between paragraphs
LEAST, MOST = 200, 1200  # characters of a section
_NAME = 80  # characters of what a definition is called
_NAMES = 160  # and of several
_LONGEST = 400  # of a line that is a heading or begins a definition

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
    2,  # re.IGNORECASE: SQL shouts
)
_ABOVE = Pattern(r"(?:@|#|//|/\*|\*|--|;;|template\s*<)")


@frozen
class Piece:
    """A section as it is cut. `heading`: those above it, as in Router › Passwords."""

    line: int
    page: int | None
    heading: str
    text: str


def split(path: str, data: bytes) -> tuple[str, list[Piece]]:
    """The title and the sections of a file's bytes; what has no heading stands below its name. Raises Unread."""
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
    at = _front(lines)
    if at:
        yield Block(1, "\n".join(lines[:at]), whole=True)
    begun = at  # where the present paragraph begins
    while at < len(lines):
        heading = _HEADING.match(lines[at]) if len(lines[at]) <= _LONGEST else None
        fence = _FENCE.match(lines[at])
        under = at > begun and lines[at - 1].strip() and _UNDERLINED.match(lines[at])
        if fence:
            yield from _lines(lines, begun, at)
            end = _fenced(lines, at, fence[1])
            yield Block(at + 1, "\n".join(lines[at:end]).rstrip(), whole=True)
            begun = at = end
        elif heading and (heading[2] or "").strip():
            yield from _lines(lines, begun, at)
            yield Block(at + 1, heading[2].strip(), level=len(heading[1]))
            begun = at = at + 1
        elif under and (at - 1 == begun or not lines[at - 2].strip()):
            yield from _lines(lines, begun, at - 1)
            yield Block(at, lines[at - 1].strip(), level=1 if under[1][0] == "=" else 2)
            begun = at = at + 1
        else:
            at += 1
    yield from _lines(lines, begun, len(lines))


def code(text: str) -> Iterator[Block]:
    """Top-level definitions, each with the comments and decorators above it, and what stands before the first."""
    lines = text.split("\n")
    starts = [0]
    names = [""]
    for at, line in enumerate(lines):
        if line[:1].strip() and len(line) <= _LONGEST and _DEFINITION.match(line):
            start = at
            while start > starts[-1] and lines[start - 1][:1].strip() and _ABOVE.match(lines[start - 1]):
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


def sections(blocks: Iterable[Block]) -> Iterator[Piece]:
    """Put blocks together below their headings; a heading with nothing below it stands for itself."""
    groups: list[tuple[list[Block], list[Block]]] = [([], [])]  # the headings, and what stands below them
    for block in blocks:
        if block.level:
            groups.append(([*(each for each in groups[-1][0] if each.level < block.level), block], []))
        else:
            groups[-1][1].append(block)
    for n, (above, below) in enumerate(groups):
        if below:
            yield from _packed(_path(above), below)
        elif above and (n + 1 == len(groups) or above[-1] not in groups[n + 1][0]):
            yield Piece(above[-1].line, above[-1].page, _path(above[:-1]), above[-1].text)


def code_sections(blocks: Iterable[Block]) -> Iterator[Piece]:
    """Each definition by itself; small ones, as constants, together."""
    held: list[Block] = []
    for block in blocks:
        full = _size(held) >= LEAST or _size(held) + len(block.text) > MOST
        if held and (full or not held[0].name):  # what stands before the first definition belongs to none
            yield from _packed(_names(held), held, "\n\n\n")
            held = []
        held.append(block)
    yield from _packed(_names(held), held, "\n\n\n")


def _packed(heading: str, blocks: Sequence[Block], between: str = BETWEEN) -> Iterator[Piece]:
    """Blocks below the same heading, as few sections as may be."""
    held: list[Block] = []
    for block in (part for each in blocks for part in _cut(each)):
        full = _size(held) >= LEAST and _size(held) + len(block.text) > MOST
        if held and (full or held[0].page != block.page):
            yield _piece(heading, held, between)
            held = []
        held.append(block)
    if held:
        yield _piece(heading, held, between)


def _piece(heading: str, held: Sequence[Block], between: str) -> Piece:
    return Piece(held[0].line, held[0].page, heading, between.join(block.text for block in held))


def _cut(block: Block) -> Iterator[Block]:
    """A long block in parts, at ends of lines."""
    if block.whole or len(block.text) <= MOST:
        yield block
        return
    line, held, size = block.line, list[str](), 0
    for number, each in enumerate(block.text.split("\n"), block.line):
        if held and size + len(each) > MOST:
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
    return ", ".join(block.name for block in held if block.name)[:_NAMES]


def _name(line: str) -> str:
    return line.strip().rstrip("{:").rstrip()[:_NAME]


def _front(lines: Sequence[str]) -> int:
    """How many lines the front matter takes; 0 where there is none."""
    if lines[0].rstrip() not in ("---", "+++"):
        return 0
    return next((n + 1 for n, line in enumerate(lines[1:], 1) if line.rstrip() in (lines[0].rstrip(), "...")), 0)


def _fenced(lines: Sequence[str], at: int, fence: str) -> int:
    """The line behind the end of a fence."""
    for n in range(at + 1, len(lines)):
        told = lines[n].strip()
        if told and set(told) == {fence[0]} and len(told) >= len(fence):
            return n + 1
    return len(lines)


def _lines(lines: Sequence[str], start: int, end: int) -> Iterator[Block]:
    return document_text.paragraphs("\n".join(lines[start:end]), first=start + 1)
