"""Semantic search: vectors of passages, in two sizes.

Bit vectors (one bit for each dimension, in sqlite-vec) are scanned first, with a bound on their distance: without one
the scan costs rows times k. The vectors themselves are stored as bytes (each dimension times 127) and rescore the best.
A set belongs to one embedder, named with digest, dimension and prefixes; another one fills another set. A model reads
who said a text too: of what it finds in talks between people it finds half by that.

A process that searches a large file again reads bits into memory, a portion behind each search, and few vectors too.
"""

import json
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache, lru_cache, partial
from typing import Protocol

from agent_cli import arrays
from agent_cli.arrays import VectorRows
from agent_cli.errors import StoreError
from agent_cli.store import meta
from agent_cli.store.db import Database, IndexDamaged, ReadWorker
from agent_cli.values import frozen

Embed = Callable[[Sequence[str]], list[list[float] | None]]
"""Gives the unit vectors of texts; None for one that cannot be embedded."""

Scan = Callable[[], tuple[list[int], list[float]]]
"""Gives the nearest rows in memory, and their cosines; no cosines when only bits are there."""


class QueryEmbedder(Protocol):
    """Compares by meaning; each gives None when it cannot."""

    def embed_query(self, question: str) -> list[float] | None:
        """The vector of a question."""

    def match_words(self, words: Sequence[str], texts: Sequence[Sequence[str]]) -> list[list[float]] | None:
        """For each text, given as its words, the greatest cosine of any of them to each of `words`."""

    def knows_word(self, word: str) -> bool:
        """Whether it is sure that this, as it is written, is a word of a language."""


_SAMPLE, NEAREST = 1024, 100
_PORTION = 32 << 20  # bytes of vectors that are read into memory behind a search
MIN_FOR_THREAD = 20_000  # passages from which another thread is worth it
_AT_ONCE = 1_000  # new ones that are read before a search
_MOST_HELD = 128 << 20  # bytes of a set in memory, as bits or in full: a million of 768 dimensions take 96 MB as bits
_WITH_AUTHOR = "iif(author in ('', 'user', 'assistant'), own, author || ': ' || own)"  # questions name who said it
_COSINE = "coalesce(1 - vec_distance_cosine(vec_int8(f.e), vec_int8({})), 0)"  # a damaged vector may have no direction


@frozen
class VectorSet:
    """The vectors of one embedder. `floor`: cosines below it are noise."""

    number: int
    identity: str
    dimension: int
    floor: float = 0.15
    part: str = ""  # "f": of files, in separate tables, or they would crowd out the nearest of all else
    unit: float | None = None  # of a model that reads a text as a whole: how far above the floor is as near as 1

    @property
    def bits(self) -> str:
        return f"bits_{self.number}{self.part}"

    @property
    def table(self) -> str:
        return f"vectors_{self.number}{self.part}"

    def closeness(self, cosine: float) -> float:
        """How near texts are: 0 for unrelated ones."""
        return (cosine - self.floor) / (self.unit or 1 - self.floor) if cosine > self.floor else 0.0

    @property
    def files(self) -> "VectorSet":
        """The set of sections of files, by the same embedder; its tables exist only when there is one."""
        return replace(self, part="f")

    @property
    def sign(self) -> int:
        """Of the ids of its passages: those of files are negative. In memory ids have none, and ascend."""
        return -1 if self.part else 1


def current(db: Database) -> VectorSet | None:
    """The set that is searched, or None."""
    return _stored(db, "vectors")


def being_filled(db: Database) -> VectorSet | None:
    """The set that is being filled beside the current one, or None."""
    return _stored(db, "vectors next")


def count(db: Database, vector_set: VectorSet) -> int:
    parts = [vector_set, vector_set.files] if _has_tables(db, vector_set.files) else [vector_set]
    return sum(int(db.value(f"select count(*) from {each.table}")) for each in parts)


def count_missing(db: Database, vector_set: VectorSet) -> int:
    """How many passages the set has not embedded yet."""
    marks = _mark(db, vector_set) or 0, -(_mark(db, vector_set.files) or 0)
    sql = "select (select count(*) from passage where id > ?) + count(*) from passage where id < ?"
    return int(db.value(sql, marks))


def create(
    db: Database, identity: str, dimension: int, floor: float, key: str = "vectors", unit: float | None = None
) -> VectorSet:
    """Create an empty set for an embedder, with new table names.

    With the key "vectors next" it is filled beside the current one.
    """
    with db.write():
        made = VectorSet(meta.increase(db, "vector sets"), identity, dimension, floor, unit=unit)
        _make(db, made)
        _store(db, key, made)
    return made


def _make(db: Database, made: VectorSet) -> None:
    try:
        with db.index_access():  # sqlite-vec has an error of its own for a file whose pages are damaged
            db.execute(f"create virtual table {made.bits} using vec0(e bit[{8 * -(-made.dimension // 8)}])")
    except IndexDamaged as error:
        raise StoreError(f"{db.path}: the database is damaged; `agent db check` says where and what to do") from error
    db.execute(f"create table {made.table} (id integer primary key, e blob not null) strict")
    meta.put(db, _key(made), "0")


def _has_tables(db: Database, part: VectorSet) -> bool:
    """Whether the tables of a set exist."""
    return meta.get(db, _key(part)) is not None


def _key(of: VectorSet) -> str:
    return f"embedded {of.number}{of.part}"


def swap(db: Database) -> None:
    """Make the set being filled the current one, and drop the old one."""
    if (filled := being_filled(db)) is None:
        return
    old = current(db)
    with db.write():
        _store(db, "vectors", filled)
        meta.drop(db, "vectors next")
        if old:
            _drop(db, old)


def recreate(db: Database) -> None:
    """Recreate the sets empty, for the same embedders: they are damaged, or their passages were deleted."""
    with db.write():
        for key in ("vectors", "vectors next"):
            if old := _stored(db, key):
                _drop(db, old)
                create(db, old.identity, old.dimension, old.floor, key, old.unit)
        meta.clear_damaged(db, "vectors")


def discard_unfinished(db: Database) -> None:
    """Drop a set that is being filled."""
    if half := being_filled(db):
        with db.write():
            meta.drop(db, "vectors next")
            _drop(db, half)


def fill(db: Database, into: VectorSet, embed: Embed, limit: int = 256) -> int:
    """Embed the next passages of a set; returns how many were read, 0 when it is complete, dropped or damaged.

    Passages of files come last, because there may be very many.
    """
    return _fill(db, into, embed, limit) or (0 if into.part else _fill(db, into.files, embed, limit))


def _fill(db: Database, into: VectorSet, embed: Embed, limit: int) -> int:
    mark = _mark(db, into)
    if mark is None:
        return 0
    side = ("id < -?", "id desc") if into.part else ("id > ?", "id")
    text = _WITH_AUTHOR if into.unit else "own"
    rows = db.rows(f"select id, {text} from passage_text where {side[0]} order by {side[1]} limit ?", (mark, limit))
    if not rows:
        return 0
    made = embed([text for _, text in rows])
    with meta.tolerate_damage(db, "vectors"):
        now = _mark(db, into)
        if now != mark:  # another program has embedded these meanwhile, or dropped the set
            return 0 if now is None else len(rows)
        ends = sorted((rows[0][0], rows[-1][0]))
        existing = {id for (id,) in db.rows("select id from passage where id between ? and ?", ends)}
        if into.part and not _has_tables(db, into):
            _make(db, into)
        for (id, _), vector in zip(rows, made, strict=True):
            if vector is not None and id in existing:
                insert(db, into, id, vector)
        meta.put(db, _key(into), str(abs(rows[-1][0])))
        return len(rows)
    return 0


def insert(db: Database, into: VectorSet, id: int, vector: Sequence[float]) -> None:
    db.execute(f"insert into {into.bits} (rowid, e) values (?, vec_bit(?))", (id, arrays.to_bits(vector)))
    db.execute(f"insert into {into.table} values (?, ?)", (id, arrays.to_bytes(tuple(vector))))


def erase(db: Database, ids: Sequence[int]) -> None:
    """Remove passages from every set. Runs in the caller's transaction."""
    for whole in filter(None, (_stored(db, "vectors"), being_filled(db))):
        for each in (whole, whole.files):
            own_ids = [id for id in ids if (id < 0) == bool(each.part)]
            for id in own_ids if own_ids and (not each.part or _has_tables(db, each)) else ():
                db.execute(f"delete from {each.bits} where rowid = ?", (id,))
                db.execute(f"delete from {each.table} where id = ?", (id,))


def start_scan(db: Database, vector_set: VectorSet, query: Sequence[float]) -> Scan | None:
    """Begin to look for the nearest in memory; None when not all of the set is there, nor can be at once.

    Of many rows it is done on another thread, if that is idle, else when its result is called for.
    """
    held = _held_rows(db, vector_set) if len(query) == vector_set.dimension else None
    if held is None:
        return None
    scan = partial(held.scan, arrays.to_bytes(tuple(query)), NEAREST)
    return _scanner().submit(lambda _: scan()) if len(held) >= MIN_FOR_THREAD and _scanner().is_idle else scan


@cache
def _scanner() -> ReadWorker[None]:
    """A thread that scans while others search words."""
    return ReadWorker(lambda: None)


def nearest(
    db: Database, vector_set: VectorSet, query: Sequence[float], limit: int, scan: Scan | None = None
) -> list[tuple[int, float]]:
    """(passage, cosine) of the nearest, best first. `scan`: of those in memory, when it was started before."""
    if vector_set.part and not _has_tables(db, vector_set):
        return []
    if scan := scan or start_scan(db, vector_set, query):
        near, known = scan()
        ids = [vector_set.sign * id for id in near]
        found = dict(zip(ids, known, strict=True)) if known else cosines(db, vector_set, query, ids)
        best = _best_first(found)[: 2 * limit]  # some may be gone from the file
        sql = f"select f.id from json_each(?) c cross join {vector_set.table} f on f.id = c.value"
        existing = {id for (id,) in db.rows(sql, ([id for id, _ in best],))}
        if len(found) > len(ids) // 2 and len(existing) > len(best) // 2:
            return [hit for hit in best if hit[0] in existing][:limit]
        _held.pop((db.path, vector_set.part), None)  # too many of those in memory were deleted: they are read again
    return _best_first(cosines(db, vector_set, query, _nearest_stored(db, vector_set, query)))[:limit]


def _best_first(found: Mapping[int, float]) -> list[tuple[int, float]]:
    return sorted(found.items(), key=lambda hit: (-hit[1], hit[0]))


def _nearest_stored(db: Database, vector_set: VectorSet, query: Sequence[float]) -> list[int]:
    """The passages whose bits in the file are nearest."""
    bits = arrays.to_bits(query)
    found = db.value(
        f"""select json_group_array(rowid) from {vector_set.bits}
            where e match vec_bit(?) and k = {NEAREST} and distance <= ?""",
        (bits, _distance_bound(db, vector_set, bits)),
    )
    return list(json.loads(found))


class Held:
    """The vectors of a set in memory, as far as they were read: their bits, and while there is room all of them."""

    def __init__(self, of: VectorSet):
        self.of = of
        self.rows: VectorRows | None = None
        self.reading = threading.Lock()


_held: dict[tuple[str, str], Held] = {}
"""By path, and part of the set. No other file takes the place of one that is open."""


def hold(db: Database, vector_set: VectorSet) -> None:
    """Read more of a set into memory; at the first call nothing, because a process that searches once needs none."""
    key = db.path, vector_set.part
    if vector_set.part and not _has_tables(db, vector_set):
        return
    if key not in _held or _held[key].of != vector_set:
        _held[key] = Held(vector_set)
    elif arrays.counts_bits() and _newest(db, vector_set) * vector_set.dimension <= 8 * _MOST_HELD:
        _read(db, _held[key], _PORTION // vector_set.dimension)


def _held_rows(db: Database, vector_set: VectorSet, last: int | None = None) -> VectorRows | None:
    """The vectors in memory, with the new ones up to the last that is needed; None when they are not all there."""
    held = _held.get((db.path, vector_set.part))
    if held is None or held.of != vector_set or held.rows is None:
        return None
    has_all = held.rows.last >= last if last else held.rows.last == _newest(db, vector_set)
    return held.rows if has_all or not _read(db, held, _AT_ONCE) else None


def _newest(db: Database, vector_set: VectorSet) -> int:
    """The id of the last vector, of files without its sign, or 0."""
    return abs(int(db.value(f"select {'min' if vector_set.part else 'max'}(id) from {vector_set.table}") or 0))


def _read(db: Database, held: Held, most: int) -> bool:
    """Read at most so many further vectors; returns whether more may be left."""
    of = held.of
    following = "id < -? order by id desc" if of.part else "id > ? order by id"
    if not held.reading.acquire(blocking=False):
        return True  # another thread reads them
    try:
        ids, signed = db.row(  # in one row: SQLite reads them all without Python's lock
            f"""select json_group_array(abs(id)), cast(group_concat(e, '') as blob) from
                (select id, e from {of.table} where length(e) = {of.dimension} and {following} limit ?)""",
            (held.rows.last if held.rows else 0, most),
        ) or ("[]", b"")
        if read := json.loads(ids):
            if held.rows is None:
                fits = _newest(db, of) * of.dimension <= _MOST_HELD
                held.rows = VectorRows(of.dimension, _MOST_HELD // of.dimension if fits else 0)
            held.rows.append(read, signed)
        return len(read) == most
    finally:
        held.reading.release()


def cosines(db: Database, vector_set: VectorSet, query: Sequence[float], ids: Sequence[int]) -> dict[int, float]:
    """The cosine of each of some passages to the query."""
    if vector_set.part and not _has_tables(db, vector_set):
        return {}
    numbers = [vector_set.sign * id for id in ids]
    held = _held_rows(db, vector_set, max(numbers, default=0)) if len(query) == vector_set.dimension else None
    in_memory = held.cosines(arrays.to_bytes(tuple(query)), numbers) if held else None
    if in_memory is not None:
        return {vector_set.sign * id: cosine for id, cosine in in_memory.items()}
    sql = f"select f.id, {_COSINE.format('?')} from json_each(?) c cross join {vector_set.table} f on f.id = c.value"
    return dict(db.rows(sql, (arrays.to_bytes(tuple(query)), ids)))


_samples: dict[tuple[str, str, int], list[int]] = {}


def _distance_bound(db: Database, vector_set: VectorSet, bits: bytes) -> int:
    """A distance that includes a few more than the NEAREST vectors, estimated from a sample of the set."""
    table = vector_set.table
    first, last = db.row(f"select (select min(id) from {table}), (select max(id) from {table})") or (0, 0)
    count = (last or 0) - (first or 0)
    if count < 20 * _SAMPLE:
        return 8 * len(bits)
    key = (db.path, vector_set.table, count >> 14)
    if key not in _samples:
        chosen = random.sample(range(first, last + 1), _SAMPLE)
        rows = db.rows(f"select b.e from json_each(?) c cross join {vector_set.bits} b on b.rowid = c.value", (chosen,))
        _samples[key] = [int.from_bytes(e) for (e,) in rows]
    query = int.from_bytes(bits)
    distances = sorted((query ^ each).bit_count() for each in _samples[key])
    existing = count * len(distances) // _SAMPLE  # some ids of a set have been deleted
    if existing < 20 * _SAMPLE:
        return 8 * len(bits)
    return distances[min(len(distances) - 1, int(len(distances) * max(3 * NEAREST / existing, 0.002)))]


def _stored(db: Database, key: str) -> VectorSet | None:
    stored = meta.get(db, key)
    return _decoded(stored) if stored else None


@lru_cache(4)
def _decoded(stored: str) -> VectorSet:
    return VectorSet(**json.loads(stored))


def _store(db: Database, key: str, made: VectorSet) -> None:
    meta.put(db, key, json.dumps(asdict(made)))


def _mark(db: Database, vector_set: VectorSet) -> int | None:
    """The last passage embedded (for files its absolute id); None when the set was dropped."""
    mark = meta.get(db, _key(vector_set))
    if mark is None and vector_set.part and meta.get(db, f"embedded {vector_set.number}"):
        return 0  # the set exists, without files so far
    return None if mark is None else int(mark)


def _drop(db: Database, old: VectorSet) -> None:
    made = [old, old.files] if _has_tables(db, old.files) else [old]
    for each in made:
        meta.drop(db, _key(each))
        for table in (each.bits, each.table):
            try:
                with db.index_access(), db.write():
                    db.execute(f"drop table if exists {table}")
            except IndexDamaged:
                pass  # its pages cannot be read, and nothing refers to them any more
