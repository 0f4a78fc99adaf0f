"""Semantic search: vectors of passages, in two sizes.

Bit vectors (in sqlite-vec) are scanned first. The vectors themselves are stored as bytes (each dimension times 127) and
rescore the best. A set belongs to one embedder, named with digest, dimension and prefixes; another one fills another
set.
"""

import json
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any, Protocol

from agent_cli.errors import StoreError
from agent_cli.store import meta
from agent_cli.store.db import Database, IndexDamaged
from agent_cli.values import frozen

Embed = Callable[[Sequence[str]], list[list[float] | None]]
"""Gives the unit vectors of texts; None for one that cannot be embedded."""


class QueryEmbedder(Protocol):
    """Compares by meaning; each gives None when it cannot."""

    def embed_query(self, question: str) -> list[float] | None:
        """The vector of a question."""

    def match_words(self, words: Sequence[str], texts: Sequence[Sequence[str]]) -> list[list[float]] | None:
        """For each text, given as its words, the greatest cosine of any of them to each of `words`."""

    def knows_word(self, word: str) -> bool:
        """Whether it is sure that this, as it is written, is a word of a language."""


NEAREST = 100  # chosen by their bits, and compared in full
_WITH_AUTHOR = "iif(author in ('', 'user', 'assistant'), own, author || ': ' || own)"  # questions name who said it
_COSINE = "coalesce(1 - vec_distance_cosine(vec_int8(f.e), vec_int8(?)), 0)"  # a damaged vector may have no direction


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

    @property
    def key(self) -> str:
        """Of the last passage embedded, without its sign. That of files exists when one was embedded, as the tables."""
        return f"embedded {self.number}{self.part}"

    @property
    def files(self) -> "VectorSet":
        return replace(self, part="f")

    def closeness(self, cosine: float) -> float:
        """How near texts are: 0 for unrelated ones."""
        return (cosine - self.floor) / (self.unit or 1 - self.floor) if cosine > self.floor else 0.0


def current(db: Database) -> VectorSet | None:
    """The set that is searched, or None."""
    return _stored(db, "vectors")


def being_filled(db: Database) -> VectorSet | None:
    """The set that is being filled beside the current one, or None."""
    return _stored(db, "vectors next")


def _stored(db: Database, key: str) -> VectorSet | None:
    stored = meta.get(db, key)
    try:
        return VectorSet(**json.loads(stored)) if stored else None
    except (ValueError, TypeError):  # damaged: the vectors are made again
        return None


def _parts(db: Database, of: VectorSet) -> list[VectorSet]:
    """The set, and that of files if it exists."""
    return [of, of.files] if _exists(db, of.files) else [of]


def _exists(db: Database, of: VectorSet) -> bool:
    return meta.get(db, of.key) is not None


def count(db: Database, vector_set: VectorSet) -> int:
    return sum(int(db.value(f"select count(*) from {each.table}")) for each in _parts(db, vector_set))


def count_missing(db: Database, vector_set: VectorSet) -> int:
    marks = meta.number(db, vector_set.key), -meta.number(db, vector_set.files.key)
    sql = "select (select count(*) from passage where id > ?) + count(*) from passage where id < ?"
    return int(db.value(sql, marks))


def create(
    db: Database, identity: str, dimension: int, floor: float, key: str = "vectors", unit: float | None = None
) -> VectorSet:
    """Create an empty set for an embedder; with the key "vectors next" it is filled beside the current one."""
    with db.write():
        made = VectorSet(meta.increase(db, "vector sets"), identity, dimension, floor, unit=unit)
        _make(db, made)
        meta.put(db, key, json.dumps(asdict(made)))
    return made


def _make(db: Database, made: VectorSet) -> None:
    try:
        with db.index_access():  # sqlite-vec has an error of its own for a file whose pages are damaged
            db.execute(f"create virtual table {made.bits} using vec0(e bit[{8 * -(-made.dimension // 8)}])")
    except IndexDamaged as error:
        raise StoreError(f"{db.path}: the database is damaged; `agent db check` says where and what to do") from error
    db.execute(f"create table {made.table} (id integer primary key, e blob not null) strict")
    meta.put(db, made.key, "0")


def swap(db: Database) -> None:
    """Make the set being filled the current one, and drop the old one."""
    filled, old = being_filled(db), current(db)
    with db.write():
        if filled:
            meta.put(db, "vectors", json.dumps(asdict(filled)))
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
    if half := being_filled(db):
        with db.write():
            meta.drop(db, "vectors next")
            _drop(db, half)


def _drop(db: Database, old: VectorSet) -> None:
    for each in _parts(db, old):
        meta.drop(db, each.key)
        for table in (each.bits, each.table):
            try:
                with db.index_access(), db.write():
                    db.execute(f"drop table if exists {table}")
            except IndexDamaged:
                pass  # its pages cannot be read, and nothing refers to them any more


def fill(db: Database, into: VectorSet, embed: Embed, limit: int = 256) -> int:
    """Embed the next passages of a set, those of files last; returns how many, 0 when none is left or it is damaged."""
    return _fill(db, into, into, embed, limit) or _fill(db, into, into.files, embed, limit)


def _fill(db: Database, whole: VectorSet, into: VectorSet, embed: Embed, limit: int) -> int:
    if not _exists(db, whole):
        return 0
    mark = meta.number(db, into.key)
    side = ("id < -?", "id desc") if into.part else ("id > ?", "id")
    text = _WITH_AUTHOR if into.unit else "own"
    rows = db.rows(f"select id, {text} from passage_text where {side[0]} order by {side[1]} limit ?", (mark, limit))
    if not rows:
        return 0
    made = embed([text for _, text in rows])
    with meta.tolerate_damage(db, "vectors"):
        if not _exists(db, whole):
            return 0
        if meta.number(db, into.key) != mark:  # another program has embedded these meanwhile
            return len(rows)
        ends = sorted((rows[0][0], rows[-1][0]))
        existing = set(db.column("select id from passage where id between ? and ?", ends))
        if not _exists(db, into):
            _make(db, into)
        for (id, _), vector in zip(rows, made, strict=True):
            if vector is not None and id in existing:
                insert(db, into, id, vector)
        meta.put(db, into.key, str(abs(rows[-1][0])))
        return len(rows)
    return 0


def insert(db: Database, into: VectorSet, id: int, vector: Sequence[float]) -> None:
    db.execute(f"insert into {into.bits} (rowid, e) values (?, vec_bit(?))", (id, to_bits(vector)))
    db.execute(f"insert into {into.table} values (?, ?)", (id, to_bytes(vector)))


def erase(db: Database, ids: Sequence[int]) -> None:
    """Remove passages from every set. Runs in the caller's transaction."""
    for whole in filter(None, (current(db), being_filled(db))):
        for each in _parts(db, whole):
            for id in (id for id in ids if (id < 0) == bool(each.part)):
                db.execute(f"delete from {each.bits} where rowid = ?", (id,))
                db.execute(f"delete from {each.table} where id = ?", (id,))


def nearest(db: Database, vector_set: VectorSet, query: Sequence[float], limit: int) -> list[tuple[int, float]]:
    """(passage, cosine) of the nearest, best first."""
    if not _exists(db, vector_set):
        return []
    bits = to_bits(query)
    near = _near_in_memory(db, vector_set, bits) or ()
    found = cosines(db, vector_set, query, near)
    if len(found) <= len(near) // 2:  # they are not in memory, or most of these were erased since
        _held.pop((db.path, vector_set.table), None)
        sql = f"select json_group_array(rowid) from {vector_set.bits} where e match vec_bit(?) and k = {NEAREST}"
        rowids = db.value(sql, (bits,))
        found = cosines(db, vector_set, query, json.loads(rowids))
    return sorted(found.items(), key=lambda hit: (-hit[1], hit[0]))[:limit]


_held: dict[tuple[str, str], tuple[Any, Any, Any]] = {}
"""By path and table: the ends of the ids, the ids, and the bits as a column for each word of them."""


def _near_in_memory(db: Database, vector_set: VectorSet, bits: bytes) -> list[int] | None:
    """The NEAREST by bits in memory, in a fifth of the time that sqlite-vec takes; None where NumPy is not loaded. They
    are read from the chunks of sqlite-vec, again when there are new ones."""
    numpy: Any = sys.modules.get("numpy")
    if db.in_memory or len(bits) != -(-vector_set.dimension // 8) or not hasattr(numpy, "bitwise_count"):
        return None
    key, table = (db.path, vector_set.table), vector_set.table
    ends = db.row(f"select (select min(id) from {table}), (select max(id) from {table})")
    word = numpy.uint64 if len(bits) % 8 == 0 else numpy.uint8
    held = _held.get(key)
    if held is None or held[0] != ends:
        chunks = db.rows(
            f"""select c.rowids, c.validity, v.vectors from {vector_set.bits}_chunks c
                join {vector_set.bits}_vector_chunks00 v on v.rowid = c.chunk_id"""
        )
        rowids, valid, vectors = (b"".join(column) for column in (zip(*chunks, strict=True) if chunks else [()] * 3))
        if not len(rowids) == 64 * len(valid) == 8 * len(vectors) // len(bits):
            raise IndexDamaged(f"{db.path}: the vectors are damaged")
        is_valid = numpy.unpackbits(numpy.frombuffer(valid, numpy.uint8), bitorder="little").astype(bool)
        rows = numpy.frombuffer(vectors, word).reshape(len(is_valid), len(bits) // word().itemsize)[is_valid]
        held = ends, numpy.frombuffer(rowids, numpy.int64)[is_valid], numpy.ascontiguousarray(rows.T)
        _held[key] = held
    _, ids, columns = held
    if not len(ids):
        return []
    differences = numpy.bitwise_count(columns ^ numpy.frombuffer(bits, word)[:, None]).sum(axis=0, dtype=numpy.uint16)
    bound = numpy.searchsorted(numpy.cumsum(numpy.bincount(differences)), min(NEAREST, len(ids)))
    found: list[int] = ids[differences <= bound].tolist()
    return found


def cosines(db: Database, vector_set: VectorSet, query: Sequence[float], ids: Sequence[int]) -> dict[int, float]:
    """The cosine of each of some passages to the query."""
    if not _exists(db, vector_set):
        return {}
    sql = f"select f.id, {_COSINE} from json_each(?) c cross join {vector_set.table} f on f.id = c.value"
    return dict(db.rows(sql, (to_bytes(query), ids)))


def to_bytes(vector: Sequence[float]) -> bytes:
    """A unit vector with one signed byte for each dimension."""
    return struct.pack(f"{len(vector)}b", *[round(127 * x) for x in vector])


def to_bits(vector: Sequence[float]) -> bytes:
    """The sign of each dimension, the first in the lowest bit."""
    signs = "".join(["1" if x > 0 else "0" for x in reversed(vector)])
    return int(signs, 2).to_bytes(-(-len(vector) // 8), "little")
