"""Keeps erased parts of files out of memory, while the files themselves stay unchanged.

Hashes of the parts are stored (tombstones.py). Sections and paragraphs are recognized in any file. Lines, sentences and
headings are recognized in their own file only, because files are edited line by line, except those that the rest of the
file also has: the line that closes a function is no secret. A file erased by its path is not opened.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from agent_cli.memory import tombstones
from agent_cli.memory.documents.document_sections import ABOVE, BETWEEN, SectionText
from agent_cli.store.db import Database
from agent_cli.text import sentences
from agent_cli.values import frozen

_NAMES = ", "
_MARKS = " \t-*+>#|_`~•"


@frozen
class Remaining:
    """A file without its erased parts. `less`: whether there were any."""

    title: str
    pieces: Sequence[SectionText]
    less: bool = False


def to_remember(db: Database, sections: Sequence[int], documents: Sequence[int]) -> list[str]:
    """The keys to remember of sections and whole documents before they are erased."""
    found = dict.fromkeys(
        _path_key(path)
        for (path,) in db.rows("select path from document where id in (select value from json_each(?))", (documents,))
    )
    erased = set(sections)
    rows = db.rows(
        """select distinct d.id, d.path from section s join document d on d.id = s.document_id
           where s.id in (select value from json_each(?))""",
        (sections,),
    )
    for document, path in rows:
        parts: dict[bool, dict[str, None]] = {True: {}, False: {}}
        for id, heading, text in db.rows("select id, heading, text from section where document_id = ?", (document,)):
            parts[id in erased] |= dict.fromkeys(_small_parts(heading, text))
            if id in erased:
                found |= dict.fromkeys(_large_parts(text))
        found |= dict.fromkeys(
            [_file_key(path), *(_part_key(path, each) for each in parts[True] if each not in parts[False])]
        )
    return list(found)


def erased_paths(db: Database, paths: Iterable[str]) -> set[str]:
    """The files among these that were erased by their path."""
    return _known(db, {_path_key(each): each for each in paths})


def partly_erased(db: Database, paths: Iterable[str]) -> set[str]:
    """The files among these of which parts were erased."""
    return _known(db, {_file_key(each): each for each in paths})


def without_erased(
    db: Database, path: str, was: str, title: str, pieces: Sequence[SectionText], now: datetime
) -> Remaining:
    """Remove the erased parts of a file. `was`: its former path. Runs in the caller's transaction."""
    if not tombstones.any_exist(db):
        return Remaining(title, pieces)
    large = tombstones.erased_among(
        db, {part for each in pieces for part in _large_parts(each.text)} | {*_large_parts(title)}
    )
    small = _erased_parts(db, path, was, title, pieces, now)
    if not (large or small):
        return Remaining(title, pieces)
    remaining = [made for each in pieces if (made := _clean_section(each, large, small)).text.strip()]
    return Remaining("" if title in large | small else title, remaining, remaining != list(pieces))


def _clean_section(piece: SectionText, large: set[str], small: set[str]) -> SectionText:
    """A section without erased parts; empty when all of it was erased."""
    parts = _paragraphs(piece.text)
    stay = [] if piece.text in large else [_clean_paragraph(part, small) for part in parts if part not in large]
    text = piece.text if stay == parts else BETWEEN.join(filter(None, stay))
    above = [_clean_heading(part, small) for part in piece.heading.split(ABOVE) if part not in small]
    return replace(piece, heading=ABOVE.join(filter(None, above)), text=text)


def _clean_heading(heading: str, erased: set[str]) -> str:
    """A heading without erased names; headings of code have several."""
    names = heading.split(_NAMES)
    return heading if erased.isdisjoint(names) else _NAMES.join(name for name in names if name not in erased)


def _erased_parts(
    db: Database, path: str, was: str, title: str, pieces: Sequence[SectionText], now: datetime
) -> set[str]:
    """The erased lines, sentences and headings of this file; remembered for its new path when it has moved."""
    places = partly_erased(db, {path, was} - {""})
    if not places:
        return set()
    every = {title, *(small for each in pieces for small in _small_parts(each.heading, each.text))} - {""}
    found = _known(db, {_part_key(place, each): each for place in places for each in every})
    if path not in places:
        tombstones.add(db, [_file_key(path), *(_part_key(path, each) for each in found)], now)
    return found


def _clean_paragraph(paragraph: str, erased: set[str]) -> str:
    """A paragraph without these lines and sentences; when it loses a sentence, also without line breaks."""
    if not erased:
        return paragraph
    lines_left = "\n".join(line for line in paragraph.split("\n") if _without_markup(line) not in erased)
    all_sentences = sentences(" ".join(lines_left.split()))
    stay = [each for each in all_sentences if _without_markup(each) not in erased]
    return lines_left if len(stay) == len(all_sentences) else " ".join(stay)


def _large_parts(text: str) -> list[str]:
    """The parts recognized in any file: the whole text and its paragraphs, without short ones."""
    return [part for part in (text, *_paragraphs(text)) if len(part.strip()) >= tombstones.SHORT]


def _small_parts(heading: str, text: str) -> list[str]:
    """The parts recognized in their own file: headings, lines and sentences."""
    above = heading.split(ABOVE)
    names = [name for each in above for name in each.split(_NAMES)]
    all_sentences = [each for part in _paragraphs(text) for each in sentences(" ".join(part.split()))]
    return [each for each in (*above, *names, *map(_without_markup, (*text.split("\n"), *all_sentences))) if each]


def _without_markup(line: str) -> str:
    """The line without the markup of a list, quotation, heading or table cell."""
    return line.strip(_MARKS)


def _paragraphs(text: str) -> list[str]:
    return text.split(BETWEEN)


def _known(db: Database, by_key: dict[str, str]) -> set[str]:
    return {by_key[each] for each in tombstones.erased_among(db, by_key)}


def _path_key(path: str) -> str:
    return f"file {path}"


def _file_key(path: str) -> str:
    return f"parts of {path}"


def _part_key(path: str, part: str) -> str:
    return f"in {path}: {part}"
