"""What the person had erased of files stays out of memory, whatever becomes of the files, which stay as they are.

Hashes of it are kept (forgotten.py). Sections and their paragraphs are known by them in any file. In the file they
stood in so are their lines, sentences and headings, for a file is changed a line at a time, but for those that what
stays of it says too: the line that closes a function is no secret. A file that was erased by its path is not opened.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from agent_cli.memory import tombstones
from agent_cli.memory.documents.document_sections import ABOVE, BETWEEN, Piece
from agent_cli.store.db import Database
from agent_cli.text import sentences
from agent_cli.values import frozen

_NAMES = ", "
_MARKS = " \t-*+>#|_`~•"


@frozen
class Left:
    """What is left of a file. `less`: something was taken out of it."""

    title: str
    pieces: Sequence[Piece]
    less: bool = False


def hashed(db: Database, sections: Sequence[int], documents: Sequence[int]) -> list[str]:
    """What is remembered of sections, and of documents that go whole, before they do."""
    found = dict.fromkeys(
        _path(path)
        for (path,) in db.rows("select path from document where id in (select value from json_each(?))", (documents,))
    )
    gone = set(sections)
    rows = db.rows(
        """select distinct d.id, d.path from section s join document d on d.id = s.document_id
           where s.id in (select value from json_each(?))""",
        (sections,),
    )
    for document, path in rows:
        told: dict[bool, dict[str, None]] = {True: {}, False: {}}
        for id, heading, text in db.rows("select id, heading, text from section where document_id = ?", (document,)):
            told[id in gone] |= dict.fromkeys(_small(heading, text))
            if id in gone:
                found |= dict.fromkeys(_large(text))
        found |= dict.fromkeys([_mark(path), *(_in(path, each) for each in told[True] if each not in told[False])])
    return list(found)


def named(db: Database, paths: Iterable[str]) -> set[str]:
    """Which of these files were erased by their paths."""
    return _known(db, {_path(each): each for each in paths})


def lessened(db: Database, paths: Iterable[str]) -> set[str]:
    """Of which of these files something was erased."""
    return _known(db, {_mark(each): each for each in paths})


def left(db: Database, path: str, was: str, title: str, pieces: Sequence[Piece], now: datetime) -> Left:
    """A file without what was erased. `was`: its path before. Runs in the caller's transaction."""
    if not tombstones.anything(db):
        return Left(title, pieces)
    large = tombstones.known(db, {part for each in pieces for part in _large(each.text)} | {*_large(title)})
    small = _small_ones(db, path, was, title, pieces, now)
    if not (large or small):
        return Left(title, pieces)
    kept = [made for each in pieces if (made := _made(each, large, small)).text.strip()]
    return Left("" if title in large | small else title, kept, kept != list(pieces))


def _made(piece: Piece, large: set[str], small: set[str]) -> Piece:
    """A section without what was erased; without words when that is all of it."""
    parts = _paragraphs(piece.text)
    stay = [] if piece.text in large else [_without(part, small) for part in parts if part not in large]
    text = piece.text if stay == parts else BETWEEN.join(filter(None, stay))
    above = [_names(part, small) for part in piece.heading.split(ABOVE) if part not in small]
    return replace(piece, heading=ABOVE.join(filter(None, above)), text=text)


def _names(heading: str, gone: set[str]) -> str:
    """A heading of code names several things."""
    names = heading.split(_NAMES)
    return heading if gone.isdisjoint(names) else _NAMES.join(name for name in names if name not in gone)


def _small_ones(db: Database, path: str, was: str, title: str, pieces: Sequence[Piece], now: datetime) -> set[str]:
    """The lines, sentences and headings that were erased of this file; when it has moved, they go with it."""
    places = lessened(db, {path, was} - {""})
    if not places:
        return set()
    every = {title, *(small for each in pieces for small in _small(each.heading, each.text))} - {""}
    found = _known(db, {_in(place, each): each for place in places for each in every})
    if path not in places:
        tombstones.remember(db, [_mark(path), *(_in(path, each) for each in found)], now)
    return found


def _without(paragraph: str, gone: set[str]) -> str:
    """A paragraph without these lines and sentences. Where it loses a sentence, it loses its line breaks."""
    if not gone:
        return paragraph
    kept = "\n".join(line for line in paragraph.split("\n") if _bare(line) not in gone)
    told = sentences(" ".join(kept.split()))
    stay = [each for each in told if _bare(each) not in gone]
    return kept if len(stay) == len(told) else " ".join(stay)


def _large(text: str) -> list[str]:
    """What is known in any file: all of it, and its paragraphs; not what is so short that it is nobody's own."""
    return [part for part in (text, *_paragraphs(text)) if len(part.strip()) >= tombstones.SHORT]


def _small(heading: str, text: str) -> list[str]:
    """What is known in its own file: its headings, lines and sentences."""
    above = heading.split(ABOVE)
    names = [name for each in above for name in each.split(_NAMES)]
    told = [each for part in _paragraphs(text) for each in sentences(" ".join(part.split()))]
    return [each for each in (*above, *names, *map(_bare, (*text.split("\n"), *told))) if each]


def _bare(line: str) -> str:
    """Without what makes an item of a list of it, a quotation, a heading or a cell."""
    return line.strip(_MARKS)


def _paragraphs(text: str) -> list[str]:
    return text.split(BETWEEN)


def _known(db: Database, told: dict[str, str]) -> set[str]:
    return {told[each] for each in tombstones.known(db, told)}


def _path(path: str) -> str:
    return f"file {path}"


def _mark(path: str) -> str:
    return f"parts of {path}"


def _in(path: str, told: str) -> str:
    return f"in {path}: {told}"
