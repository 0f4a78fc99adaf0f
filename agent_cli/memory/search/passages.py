"""Passages: the pieces into which the texts of rows are cut, and what each is found by besides its words.

Nothing is written here. A text is cut at spaces into overlapping pieces, each where the one before it ended, so that
cutting can go on after any piece. The pieces of a long text hold a copy of their own text: to cut each of them from the
row, SQLite would read the row from its start.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from itertools import takewhile
from typing import NamedTuple

from agent_cli import clock, kinds
from agent_cli.memory import search_sources
from agent_cli.memory.language import secrets, terms, triples
from agent_cli.store.db import Database

# Passages of files have ids below zero, so that files and messages are searched separately, by a range of ids.
FILES = kinds.BY_NAME["section"].letter
_FACT = kinds.BY_NAME["fact"].letter
_MESSAGE = kinds.BY_NAME["message"].letter

PORTION = 50_000  # characters indexed in one transaction: some 30 ms
_LONG = 2 * PORTION  # of a longer text only a portion is indexed at once
BLOCK = 200_000  # characters of its rest that are searched for secrets together,
_MARGIN = 25_000  # with so many around them, for some secrets are long

_NAMES = {each.letter: each.name for each in kinds.SEARCHABLE}
_EPOCH = date(1970, 1, 1)

# Files come last, because there may be very many. Each half is a range of the key.
_STALE = f"""select kind, row from stale where kind > '{FILES}' and not tail union all
    select kind, row from stale where kind <= '{FILES}' and not tail limit ?"""
_OF_ROWS = """select p.row, p.id from json_each(?) c cross join passage p on p.kind = ? and p.row = c.value
    order by c.key, p.start"""


class SourceRow(NamedTuple):  # an import makes some thousand a second of these: a dataclass takes three times as long
    """A row as it is searched."""

    kind: str
    row: int
    owner: str
    place: str
    session: int | None
    author: str
    at: int  # seconds since 1970
    utc_offset: int
    text: str
    facts: str | None  # JSON [[statement, predicate], …]


class Passage(NamedTuple):
    """A piece of a row, from `start`, so many characters long. From `row` on: the columns of its own."""

    owner: str
    place: str
    row: int
    start: int
    length: int
    session: int | None
    author: str
    at: int  # seconds since 1970
    day: int  # days since 1970, in the person's time zone
    facts: str | None
    grams: str | None
    masked: str | None  # its text without secrets, when it holds any
    text: str | None  # when the row is long


class StaleRow(NamedTuple):
    """What becomes of a stale row: which passages are replaced by which, and whether the rest follows later."""

    kind: str
    row: int
    replaced: Sequence[int]  # ids
    passages: Sequence[Passage]
    tail: bool


Last = tuple[int, int, int]
"""Id, start and length of the last passage of a row."""


def read_stale(db: Database, limit: int, portion: int, without: Sequence[StaleRow] = ()) -> list[StaleRow]:
    """The next stale rows, at most `limit`, with about `portion` characters of text together, at least one."""
    left_out = {(each.kind, each.row) for each in without}
    waiting: dict[str, list[int]] = {}
    for kind, row in db.rows(_STALE, (limit + len(left_out),)):
        if (kind, row) not in left_out:
            waiting.setdefault(kind, []).append(row)
    found: list[StaleRow] = []
    left = portion
    for kind, rows in waiting.items():
        if left <= 0:
            break
        given = {}
        for source in _read(db, kind, rows):  # a row at a time: no further text is read than is needed
            given[source.row] = source
            left -= len(source.text)
            if left <= 0:
                rows = rows[: rows.index(source.row) + 1]
                break
        replaced: dict[int, list[int]] = {}
        for row, id in db.rows(_OF_ROWS, (rows, kind)):
            replaced.setdefault(row, []).append(id)
        found += [_stale_row(db, kind, row, given.get(row), replaced.get(row, ())) for row in rows]
    return found


def _stale_row(db: Database, kind: str, row: int, source: SourceRow | None, replaced: Sequence[int]) -> StaleRow:
    if source is None:
        return StaleRow(kind, row, replaced, (), False)
    made, tail = cut(source)
    if tail and kind == _MESSAGE and replaced:
        # A message keeps its words, and only the facts learned from it have changed, which its first passage holds.
        end, copies = db.rows(
            "select max(start + length), count(text) from passage where kind = ? and row = ?", (kind, row)
        )[0]
        if copies:
            return StaleRow(kind, row, replaced[:1], made[:1], end < len(source.text))
    return StaleRow(kind, row, replaced, made, tail)


def read(db: Database, kind: str, row: int) -> SourceRow | None:
    """The row, or None when it is not searched."""
    return next(iter(_read(db, kind, [row])), None)


def of_rows(db: Database, kind: str, rows: Sequence[int]) -> list[int]:
    return [id for _, id in db.rows(_OF_ROWS, (rows, kind))]


def last(db: Database, kind: str, row: int) -> Last | None:
    """The last passage of a row."""
    found = db.row(
        "select id, start, length from passage where kind = ? and row = ? order by start desc limit 1", (kind, row)
    )
    return (found[0], found[1], found[2]) if found else None


def start_after(passage: Last) -> int:
    """Where the passage after this one starts."""
    return terms.next_start(passage[1], passage[2])


def cut(source: SourceRow, start: int = 0, most: int = PORTION) -> tuple[list[Passage], bool]:
    """The passages from `start` on, of a long text those within the next `most` characters; and whether more follow."""
    long = len(source.text) > _LONG
    every = terms.chunks(source.text, start=start)
    pieces = list(takewhile(lambda piece: piece[0] < start + most, every) if long else every)
    tail = sum(pieces[-1]) < len(source.text)
    day = (source.at + 60 * source.utc_offset) // 86_400
    end = sum(pieces[-1])
    hidden: list[secrets.Span] = []
    if source.kind != _FACT:  # a fact is masked when adopted, or typed by the person
        before = max(0, start - _MARGIN)
        spans = secrets.spans(source.text[before : end + _MARGIN])
        hidden = [(first + before, stop + before, name) for first, stop, name in spans]
    made = []
    for first, length in pieces:
        text = source.text[first : first + length]
        masked = secrets.mask_piece(source.text, hidden, first, length) if hidden else text
        facts = _fact_words(source.facts) if source.facts and not first else None
        copies = (None, text if long else None) if masked == text else (masked, None)
        row, said = (source.owner, source.place, source.row), (source.session, source.author, source.at)
        made.append(Passage(*row, first, length, *said, day, facts, terms.bigrams(masked) or None, *copies))
    return made, tail


def day_words(day: int) -> str:
    moment = _EPOCH + timedelta(days=day)
    return f"{moment.day} {moment:%B %Y %A}"


def _read(db: Database, kind: str, rows: Sequence[int]) -> Iterator[SourceRow]:
    """The rows that are searched, in the order in which they are named."""
    seconds = f"unixepoch(min(max(at, '{clock.EARLIEST_STORED}'), '{clock.LATEST_STORED}'))"  # as in clock.local
    sql = f"""with found (id, owner, place, session, author, at, utc_offset, text, facts) as
                   ({search_sources.source_of(_NAMES[kind]).passages})
              select id, owner, place, session, author, {seconds}, utc_offset, text, facts from found"""
    for row in db.each(sql, (rows,)):
        yield SourceRow(kind, *row)


def _fact_words(encoded: str) -> str:
    """The statements of facts (JSON [[statement, predicate], …]), with words that questions about them use."""
    facts = json.loads(encoded)
    return "\n".join(f"{fact} {triples.search_words(name) if name else ''}".strip() for fact, name in facts)
