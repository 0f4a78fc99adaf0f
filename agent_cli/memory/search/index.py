"""Passages, and the word and trigram indexes over them; derived, and rebuilt at any time.

A trigger marks each row that was written as stale; `refresh` recreates its passages and updates every index with them.
The indexes store no text of their own (external content over the view passage_text). Secrets in a text are not indexed.

A text is cut at spaces into overlapping passages. Each transaction indexes one portion of text, so that no other writer
waits long. Of a long text the first portion is indexed like any row, and the rest after all rows; its passages hold a
copy of their own text, because SQLite would read the row from its start for each.
"""

import json
import re
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from itertools import accumulate, takewhile
from queue import SimpleQueue
from typing import NamedTuple, TypeVar

from agent_cli import clock, kinds
from agent_cli.errors import StoreBusy
from agent_cli.memory import search_sources
from agent_cli.memory.language import secrets, terms, triples
from agent_cli.memory.search import graph, vectors, word_tables
from agent_cli.store import meta
from agent_cli.store.db import Database, IndexDamaged, TransactionLost

T = TypeVar("T")

# Passages of files have ids below zero, so that files and messages are searched separately, by a range of ids.
FILES = kinds.BY_NAME["section"].letter
_FACT = kinds.BY_NAME["fact"].letter
_MESSAGE = kinds.BY_NAME["message"].letter
_PORTION = 50_000  # characters indexed in one transaction: some 30 ms
_LONG = 2 * _PORTION  # of a longer text only a portion is indexed at once
_MARGIN = 25_000  # characters around it that are searched for secrets too, for some are long
_NAMES = {each.letter: each.name for each in kinds.SEARCHABLE}
_EPOCH = date(1970, 1, 1)

# Files come last, because there may be very many. Each half is a range of the key.
_STALE = f"""select kind, row from stale where kind > '{FILES}' and not tail union all
    select kind, row from stale where kind <= '{FILES}' and not tail limit ?"""
_OF_ROWS = """select p.row, p.id from json_each(?) c cross join passage p on p.kind = ? and p.row = c.value
    order by c.key, p.start"""

_FILE_IDS = "file passages"  # key of the number of ids below zero in use
_BATCH = 500
_MANY_STALE = 2_500  # rows from which it is an import
_BULK, _BULK_PORTION = 5_000, 40 * _PORTION  # rows and characters of it that are indexed at once,
_TRIGRAMS, _TRIGRAM_PORTION = 2_500, 10 * _PORTION  # and passages and characters that get trigrams at once
_MERGED, _PAGES = 2, 100  # steps until so many pages of segments are merged
_UNMERGED = 500  # steps of an import without: a search reads a segment of each
_PAUSE = 0.01  # seconds between transactions, in which other processes may write
PATIENCE = 0.5  # seconds that a search waits for another program that writes
_TAIL_SECONDS = 0.2  # how long a command may work on the rest of long texts
_MANY, _REBUILT = 100, 50  # of so many passages, removing a passage takes as long as indexing a hundred
_SAMPLE = 32  # passages that are searched
_SCANNED = 3  # of them searched among all vectors
_WORDS, _TRIPLES = 8, 3  # of each passage
_PLAIN = re.compile("[A-Za-z0-9]{3}")


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
    """A piece of a row, from `start`, so many characters long."""

    source: SourceRow
    start: int
    length: int
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
    made, tail = _cut(source)
    if tail and kind == _MESSAGE and replaced:
        # A message keeps its words, and only the facts learned from it have changed, which its first passage holds.
        query = "select max(start + length), count(text) from passage where kind = ? and row = ?"
        end, copies = db.rows(query, (kind, row))[0]
        if copies:
            return StaleRow(kind, row, replaced[:1], made[:1], end < len(source.text))
    return StaleRow(kind, row, replaced, made, tail)


def _cut(source: SourceRow, start: int = 0) -> tuple[list[Passage], bool]:
    """The passages from `start` on, of a long text those of the next portion; and whether more follow."""
    long = len(source.text) > _LONG
    every = terms.chunks(source.text, start=start)
    pieces = list(takewhile(lambda piece: piece[0] < start + _PORTION, every) if long else every)
    end = sum(pieces[-1])
    day = (source.at + 60 * source.utc_offset) // 86_400
    hidden: list[secrets.Span] = []
    if source.kind != _FACT:  # a fact is masked when adopted, or typed by the person
        before = max(0, start - _MARGIN)
        spans = secrets.spans(source.text[before : end + _MARGIN])
        hidden = [(first + before, stop + before, name) for first, stop, name in spans]
    made = []
    for first, length in pieces:
        text = source.text[first : first + length]
        masked = secrets.mask_piece(source.text, hidden, first, length) if hidden else text
        facts = None
        if source.facts and not first:  # the statements, with words that questions about them use
            said = ((fact, triples.search_words(name) if name else "") for fact, name in json.loads(source.facts))
            facts = "\n".join(f"{fact} {words}".strip() for fact, words in said)
        copies = (None, text if long else None) if masked == text else (masked, None)
        made.append(Passage(source, first, length, day, facts, terms.bigrams(masked) or None, *copies))
    return made, end < len(source.text)


def _read(db: Database, kind: str, rows: Sequence[int]) -> Iterator[SourceRow]:
    """The rows that are searched, in the order in which they are named."""
    seconds = f"unixepoch(min(max(at, '{clock.EARLIEST_STORED}'), '{clock.LATEST_STORED}'))"  # as in clock.local
    sql = f"""with found (id, owner, place, session, author, at, utc_offset, text, facts) as
                   ({search_sources.source_of(_NAMES[kind]).passages})
              select id, owner, place, session, author, {seconds}, utc_offset, text, facts from found"""
    for row in db.each(sql, (rows,)):
        yield SourceRow(kind, *row)


def refresh(db: Database) -> int:
    """Index some stale rows in one transaction, of a long text the first portion; returns how many were read."""

    def step() -> int:
        with db.write():
            batch = read_stale(db, _BATCH, _PORTION)
            _replace(db, batch)
        return len(batch)

    return _without_damaged(db, step) if db.value("select 1 from stale where not tail limit 1") else 0


def _refresh_import(db: Database) -> Iterator[None]:
    """Index all stale rows in large portions: while one is written, another connection reads the next."""
    version = db.change_counter()
    batch = read_stale(db, _BULK, _BULK_PORTION)
    begun = SimpleQueue[Sequence[StaleRow]]()  # gets the rows whose words are being indexed

    def read_following(other: Database) -> list[StaleRow]:
        """The portion after the one in the queue; read when that is there: before, both would need Python's lock."""
        return read_stale(other, _BULK, _BULK_PORTION, without=begun.get())

    def write() -> tuple[int, int]:
        """Index the portion, read anew when the file was changed since; returns the version after it."""
        with db.write():
            rows = batch if db.change_counter() == version else read_stale(db, _BULK, _BULK_PORTION)
            if word_tables.trigrams_until(db) is None:
                word_tables.begin_import(db, _last(db, "m"))
            _replace(db, rows, lambda: begun.put(rows))
            return db.change_counter()

    while batch:
        following = db.read_in_background(read_following)
        try:
            version = _without_damaged(db, write)
        finally:
            begun.put(())  # where nothing was indexed
        yield
        batch = following()
        while not begun.empty():
            begun.get()


def _replace(db: Database, batch: Sequence[StaleRow], before_words: Callable[[], None] = lambda: None) -> None:
    """Replace the passages of rows, and what the indexes have of them."""
    for kind in kinds.SEARCHABLE:
        if not (rows := [each for each in batch if each.kind == kind.letter]):
            continue
        _remove(db, [id for each in rows for id in each.replaced])
        _add(db, kind.letter, [passage for each in rows for passage in each.passages], before_words)
        indexed = kind.letter, [each.row for each in rows]
        db.execute("delete from stale where kind = ? and row in (select value from json_each(?))", indexed)
    tails = [(each.kind, each.row) for each in batch if each.tail]
    db.execute_many("insert into stale (kind, row, tail) values (?, ?, 1)", tails)


def _add_trigrams(db: Database) -> bool:
    """Make trigrams of the next passages that have none, in one transaction; False when none are to be made."""
    until = word_tables.trigrams_until(db)
    if until is None or "trigrams" not in word_tables.names(db):
        return False
    with db.write():
        if word_tables.trigrams_until(db) != until:  # another process was first
            return True
        rows = db.rows("select id, length from passage where id > ? order by id limit ?", (until, _TRIGRAMS))
        totals = list(accumulate(length for _, length in rows))
        rows = rows[: max(1, bisect_right(totals, _TRIGRAM_PORTION))]
        if rows:
            word_tables.add(db, "trigrams", word_tables.table(db, "trigrams"), rows[0][0], rows[-1][0])
        word_tables.note_trigrams(db, rows[-1][0] if len(rows) < len(totals) or len(rows) == _TRIGRAMS else None)
    return True


def _index_tail(db: Database) -> bool:
    """Index the next portion of a long text that waits, in one transaction; False when none does."""
    if not db.value("select 1 from stale where tail limit 1"):
        return False
    with db.write():
        for kind, row in db.rows("select kind, row from stale where tail limit 1"):
            sql = "select start, length from passage where kind = ? and row = ? order by start desc limit 1"
            last, source = db.row(sql, (kind, row)), next(_read(db, kind, [row]), None)
            if last is None or source is None:
                db.execute("update stale set tail = 0 where kind = ? and row = ?", (kind, row))
                continue
            made, tail = _cut(source, terms.next_start(*last))
            _add(db, kind, made)
            if not tail:
                db.execute("delete from stale where kind = ? and row = ?", (kind, row))
    return True


def _without_damaged(db: Database, step: Callable[[], T]) -> T:
    """Take a step, and once more when an index was found damaged in it, which is then left out."""
    damaged = meta.damaged_indexes(db)
    try:
        return step()
    except TransactionLost:
        if meta.damaged_indexes(db) == damaged:
            raise
        return _without_damaged(db, step)


def refresh_steps(db: Database) -> Iterator[None]:
    """Index all stale rows, then make trigrams, index the rest of long texts and condense; yields after each step."""
    for number, _ in enumerate(_steps(db), 1):
        if number % _MERGED == 0 and (number > _UNMERGED or not word_tables.is_importing(db)):
            word_tables.merge(db, _PAGES)  # else FTS5 would in the end merge everything at once
        yield


def _steps(db: Database) -> Iterator[None]:
    while True:
        many = "select count(*) from (select 1 from stale where not tail limit ?)"
        if db.value(many, (_MANY_STALE,)) == _MANY_STALE:
            yield from _refresh_import(db)
        elif refresh(db) or any(_without_damaged(db, partial(step, db)) for step in (_add_trigrams, _index_tail)):
            yield
        elif word_tables.is_importing(db):
            yield from word_tables.condense(db)  # a search reads each segment: a tenth of its time
        else:
            return


def refresh_all(db: Database, seconds: float = _TAIL_SECONDS) -> None:
    """Index all stale rows; for about so many seconds do the rest of `refresh_steps`."""
    until = None
    for _ in refresh_steps(db):
        if not db.value("select 1 from stale where not tail limit 1"):
            until = until or time.monotonic() + seconds
            if time.monotonic() > until or is_complete(db):
                break
        time.sleep(_PAUSE)


def is_complete(db: Database) -> bool:
    waits = word_tables.trigrams_until(db) is not None or word_tables.is_importing(db)
    return not (waits or db.value("select 1 from stale limit 1"))


def catch_up(db: Database) -> bool:
    """Index stale rows before a search; False where nothing can be written, as while another program writes."""
    if db.read_only:
        return False
    try:
        with db.patience(PATIENCE):
            refresh_all(db)
    except StoreBusy:
        return False
    return True


def erase(db: Database, kind: str, rows: Sequence[int], *, lazily: bool = False) -> None:
    """Remove rows from every index, in the caller's transaction. `lazily`: their words stay in the file until
    `condense`, because rewriting each page with a word of very many rows would take a hundred times as long."""
    if lazily:
        word_tables.configure(db, {"secure-delete": 0})
    _remove(db, [id for _, id in db.rows(_OF_ROWS, (rows, kind))])
    if lazily:
        word_tables.configure(db, {"secure-delete": 1})


def reindex(db: Database, kind: str, rows: Sequence[int]) -> None:
    """Remove rows from every index, and mark them stale. Runs in the caller's transaction."""
    erase(db, kind, rows)
    stale = "insert into stale (kind, row) values (?, ?) on conflict do update set tail = 0"
    db.execute_many(stale, [(kind, row) for row in rows])


def drop_unused(db: Database) -> None:
    """Delete the names and places that no passage has. Runs in the caller's transaction."""
    db.execute("delete from speaker where name not in (select author from passage)")
    db.execute("delete from area where id not in (select area from passage)")


def rebuild(db: Database) -> Iterator[tuple[int, int]]:
    """Rebuild passages and indexes in batches; yields (done, total) rows."""
    with db.write():
        word_tables.note_trigrams(db, None)
        for index in word_tables.DEFINITIONS:
            word_tables.make(db, index, word_tables.drop(db, index))
            meta.clear_damaged(db, index)
        vectors.recreate(db)
        graph.rebuild(db)
        db.execute("delete from passage")
        db.execute("delete from sqlite_sequence where name = 'passage'")  # the size is estimated from the ids
        meta.drop(db, _FILE_IDS)
        db.execute("delete from stale")
        for kind in kinds.SEARCHABLE:
            db.execute(f"insert into stale (kind, row) select ?, id from {kind.name}", (kind.letter,))
    total = count_stale(db)
    for _ in refresh_steps(db):
        yield total - count_stale(db), total
        time.sleep(_PAUSE)
    yield total, total


def count_stale(db: Database) -> int:
    return int(db.value("select count(*) from stale"))


def _add(db: Database, kind: str, made: Sequence[Passage], before_words: Callable[[], None] = lambda: None) -> None:
    """Store passages of rows, and index them."""
    if not made:
        return
    last = _last(db, kind)
    step = -1 if kind == FILES else 1
    areas = dict[tuple[str, str], int]()
    for key in {(each.source.owner, each.source.place) for each in made}:
        existing = db.value("select id from area where owner = ? and place = ?", key)
        areas[key] = existing or db.insert("area", {"owner": key[0], "place": key[1]})
    moments = [(day, _EPOCH + timedelta(days=day)) for day in {each.day for each in made}]
    days = [(day, f"{moment.day} {moment:%B %Y %A}") for day, moment in moments]
    db.execute_many("insert into day values (?, ?) on conflict do nothing", days)
    authors = [(name,) for name in {each.source.author for each in made} if name]
    db.execute_many("insert into speaker values (?) on conflict do nothing", authors)
    ids = range(last + step, last + step * (len(made) + 1), step)
    rows = []
    for id, (source, start, length, *rest) in zip(ids, made, strict=True):
        _, row, owner, place, session, author, at, *_ = source
        rows.append((id, kind, areas[owner, place], row, start, length, session, author, at, *rest))
    query = """insert into passage
                   (id, kind, area, row, start, length, session_id, author, at, day, facts, grams, masked, text)
               values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
    db.execute_many(query, rows)
    before_words()
    later = kind != FILES and word_tables.trigrams_until(db) is not None
    for index, name in word_tables.names(db).items():
        if index != "trigrams" or not later:
            word_tables.add(db, index, name, *sorted((ids[0], ids[-1])))
    if kind == FILES:
        meta.put(db, _FILE_IDS, str(-ids[-1]))


def _last(db: Database, kind: str) -> int:
    """The last id of a passage; ids are not reused, because vectors refer to them."""
    if kind == FILES:
        return -meta.number(db, _FILE_IDS)
    return int(db.value("select seq from sqlite_sequence where name = 'passage'") or 0)


def _remove(db: Database, ids: Sequence[int]) -> None:
    """Remove passages: from the indexes first, which need the words that were indexed."""
    if not ids:
        return
    with meta.tolerate_damage(db, "vectors"):
        vectors.erase(db, ids)
    until, names = word_tables.trigrams_until(db), word_tables.names(db)
    many = len(ids) >= _MANY and len(ids) * _REBUILT > db.value("select count(*) from passage")
    for index, name in names.items():
        if not many:
            columns = ", ".join(word_tables.COLUMNS[index])
            with meta.tolerate_damage(db, index):
                query = f"""insert into {name} ({name}, rowid, {columns}) select 'delete', t.id, {columns}
                            from json_each(?) c cross join passage_text t on t.id = c.value"""
                db.execute(query, (ids if index == "words" or until is None else [id for id in ids if id <= until],))
    db.execute("delete from passage where id in (select value from json_each(?))", (ids,))
    for index, name in names.items():
        if many:
            with meta.tolerate_damage(db, index):
                word_tables.rebuild(db, index, name)


def check(db: Database) -> list[str]:
    """Check every index for damage that only loses hits, which SQLite's own checks miss; returns the names of all
    damaged ones. Passages are counted, and 32 are searched by their own words and vectors."""
    import random  # rarely needed

    damaged = list[str]()
    for name in (*word_tables.DEFINITIONS, "vectors"):
        with db.snapshot():  # other programs write meanwhile
            first, last = db.row("select (select min(id) from passage), (select max(id) from passage)") or (None, None)
            chosen = random.sample(ids := range(first, last + 1), min(_SAMPLE, len(ids))) if first is not None else []
            texts = "select t.id, t.own from json_each(?) c cross join passage_text t on t.id = c.value"
            try:
                with db.index_access():
                    sample: dict[int, str] = dict(db.rows(texts, (chosen,)))
                    sound = _finds_vectors(db, sample) if name == "vectors" else _finds_words(db, name, sample)
            except IndexDamaged:
                sound = False
        if not sound:
            damaged.append(name)
    for name in damaged:
        meta.note_damaged(db, name)
    return meta.damaged_indexes(db)


def _finds_words(db: Database, index: str, sample: Mapping[int, str]) -> bool:
    """Whether each passage is found by its first words, or by a few runs of three ASCII letters or digits."""
    name, until = word_tables.table(db, index), word_tables.trigrams_until(db)
    for id, text in sample.items():
        first = " ".join(text.replace('"', " ").replace("\0", " ").split()[:_WORDS])
        words = [f'own : "{first}"'] if db.tokens(first) else []
        if index == "trigrams":
            words = [f'"{triple}"' for triple in _PLAIN.findall(text)[:_TRIPLES] if until is None or id <= until]
        found = f"select 1 from {name} where {name} match ? and rowid = ?"
        if words and not db.value(found, (" AND ".join(words), id)):
            return False
    counted = f"select (select count(*) from passage) = (select count(*) from {name}_docsize)"
    return index == "trigrams" or bool(db.value(counted))


def _finds_vectors(db: Database, sample: Mapping[int, str]) -> bool:
    """Whether each set has each vector in both sizes with the same signs, and finds some."""
    for each in filter(None, (vectors.current(db), vectors.being_filled(db))):
        query = f"""select (select e from {each.table} where id = c.value),
                        (select e from {each.bits} where rowid = c.value)
                    from json_each(?) c"""
        rows = db.rows(query, (sample.keys(),))
        made = [(small, bits) for small, bits in rows if small is not None or bits is not None]
        nearest = f"select 1 from {each.bits} where e match vec_bit(?) and k = 1 and distance <= 0"
        if not all(_same_signs(small, bits, each.dimension) for small, bits in made):
            return False
        if not all(db.value(nearest, (bits,)) for _, bits in made[:_SCANNED]):
            return False
    return True


def _same_signs(small: bytes | None, bits: bytes | None, dimension: int) -> bool:
    """Whether a vector and its bits have the same signs; a component rounded to zero may have either."""
    if small is None or bits is None or len(small) != dimension or not any(small):
        return False
    signs = int.from_bytes(bits, "little")
    return all((signs >> n & 1) == (each < 128) for n, each in enumerate(small) if each)
