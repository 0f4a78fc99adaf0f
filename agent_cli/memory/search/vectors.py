"""Search by meaning: vectors of passages, in two sizes.

Bit vectors (one bit for each dimension, in sqlite-vec) are scanned first, with a bound on their distance: without one
the scan costs rows times k. The vectors themselves are kept as bytes (each dimension times 127) and re-score the best.
A set belongs to one embedder, named with digest, dimension and prefixes; another embedder fills another set.
"""

import json
import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace

from agent_cli.memory.search import damaged_indexes
from agent_cli.store import meta
from agent_cli.store.db import Database, IndexDamaged
from agent_cli.values import frozen

Embed = Callable[[Sequence[str]], list[list[float] | None]]
"""Unit vectors of some texts; None for one that cannot be embedded."""

_SAMPLE = 1024
NEAREST = 100
_COSINE = "coalesce(1 - vec_distance_cosine(vec_int8(f.e), vec_int8({})), 0)"  # a damaged vector may have no direction


@frozen
class Set:
    """The vectors of one embedder. `floor`: cosines below it mean nothing."""

    number: int
    identity: str
    dimension: int
    floor: float = 0.15
    part: str = ""  # "f": those of files, in tables of their own, or they would crowd out the nearest of all else

    @property
    def bits(self) -> str:
        return f"bits_{self.number}{self.part}"

    @property
    def table(self) -> str:
        return f"vectors_{self.number}{self.part}"

    @property
    def files(self) -> "Set":
        """The vectors of sections of files, by the same embedder; there are tables of them only where there is one."""
        return replace(self, part="f")


def current(db: Database) -> Set | None:
    """The set that is searched, or None."""
    return _stored(db, "vectors")


def filling(db: Database) -> Set | None:
    """The set that is being made beside the present one, or None."""
    return _stored(db, "vectors next")


def count(db: Database, among: Set) -> int:
    parts = [among, among.files] if _there(db, among.files) else [among]
    return sum(int(db.value(f"select count(*) from {each.table}")) for each in parts)


def missing(db: Database, among: Set) -> int:
    """How many passages the set has not looked at."""
    marks = _mark(db, among) or 0, -(_mark(db, among.files) or 0)
    return int(
        db.value("select (select count(*) from passage where id > ?) + count(*) from passage where id < ?", marks)
    )


def begin(db: Database, identity: str, dimension: int, floor: float, key: str = "vectors") -> Set:
    """Make an empty set for an embedder, under names never used before.

    Under the key "vectors next" it is filled beside the present one.
    """
    with db.write():
        made = Set(meta.increase(db, "vector sets"), identity, dimension, floor)
        _make(db, made)
        _store(db, key, made)
    return made


def _make(db: Database, made: Set) -> None:
    db.execute(f"create virtual table {made.bits} using vec0(e bit[{8 * -(-made.dimension // 8)}])")
    db.execute(f"create table {made.table} (id integer primary key, e blob not null) strict")
    meta.put(db, _key(made), "0")


def _there(db: Database, part: Set) -> bool:
    """Whether the set has vectors of files."""
    return meta.get(db, _key(part)) is not None


def _key(of: Set) -> str:
    return f"embedded {of.number}{of.part}"


def swap(db: Database) -> None:
    """Search the set that has been filled beside the present one, and drop that one."""
    filled, old = filling(db), current(db)
    if filled is None:
        return
    with db.write():
        _store(db, "vectors", filled)
        meta.drop(db, "vectors next")
        if old:
            _drop(db, old)


def renew(db: Database) -> None:
    """Begin the sets anew, for the same embedders: they are damaged, or their passages are gone."""
    with db.write():
        for key in ("vectors", "vectors next"):
            old = _stored(db, key)
            if old:
                _drop(db, old)
                begin(db, old.identity, old.dimension, old.floor, key)
        damaged_indexes.clear(db, "vectors")


def abandon(db: Database) -> None:
    """Give up a set that was being made."""
    half = filling(db)
    if half:
        with db.write():
            meta.drop(db, "vectors next")
            _drop(db, half)


def fill(db: Database, into: Set, embed: Embed, limit: int = 256) -> int:
    """Embed the next passages of a set; returns how many were looked at, 0 when it is whole, gone or damaged.

    Those of files come last: there may be very many.
    """
    return _fill(db, into, embed, limit) or (0 if into.part else _fill(db, into.files, embed, limit))


def _fill(db: Database, into: Set, embed: Embed, limit: int) -> int:
    mark = _mark(db, into)
    if mark is None:
        return 0
    side = ("id < -?", "id desc") if into.part else ("id > ?", "id")
    rows = db.rows(f"select id, own from passage_text where {side[0]} order by {side[1]} limit ?", (mark, limit))
    if not rows:
        return 0
    made = embed([text for _, text in rows])
    with damaged_indexes.tolerate(db, "vectors"):
        now = _mark(db, into)
        if now != mark:  # another program has made these meanwhile, or dropped the set
            return 0 if now is None else len(rows)
        ends = sorted((rows[0][0], rows[-1][0]))
        still = {id for (id,) in db.rows("select id from passage where id between ? and ?", ends)}
        if into.part and not _there(db, into):
            _make(db, into)
        for (id, _), vector in zip(rows, made, strict=True):
            if vector is not None and id in still:
                put(db, into, id, vector)
        meta.put(db, _key(into), str(abs(rows[-1][0])))
        return len(rows)
    return 0


def put(db: Database, into: Set, id: int, vector: Sequence[float]) -> None:
    db.execute(f"insert into {into.bits} (rowid, e) values (?, vec_bit(?))", (id, _bits(vector)))
    db.execute(f"insert into {into.table} values (?, ?)", (id, small(vector)))


def erase(db: Database, ids: Sequence[int]) -> None:
    """Take passages out of every set. Runs in the caller's transaction."""
    for whole in filter(None, (_stored(db, "vectors"), filling(db))):
        for each in (whole, whole.files):
            mine = [id for id in ids if (id < 0) == bool(each.part)]
            for id in mine if mine and (not each.part or _there(db, each)) else ():
                db.execute(f"delete from {each.bits} where rowid = ?", (id,))
                db.execute(f"delete from {each.table} where id = ?", (id,))


def nearest(db: Database, among: Set, query: Sequence[float], limit: int) -> list[tuple[int, float]]:
    """(passage, cosine) of the nearest, best first."""
    if among.part and not _there(db, among):
        return []
    bits = _bits(query)
    rows = db.value(
        f"""select json_group_array(json_array(v.rowid, {_COSINE.format(":small")})) from
            (select rowid from {among.bits} where e match vec_bit(:bits) and k = {NEAREST} and distance <= :bound) v
            cross join {among.table} f on f.id = v.rowid""",
        {"small": small(query), "bits": bits, "bound": _bound(db, among, bits)},
    )
    return sorted(((id, cosine) for id, cosine in json.loads(rows)), key=lambda hit: -hit[1])[:limit]


def cosines(db: Database, among: Set, query: Sequence[float], ids: Sequence[int]) -> dict[int, float]:
    """The cosine of each of some passages to the query."""
    if among.part and not _there(db, among):
        return {}
    rows = db.value(
        f"""select json_group_array(json_array(f.id, {_COSINE.format("?")}))
            from json_each(?) c cross join {among.table} f on f.id = c.value""",
        (small(query), ids),
    )
    return dict(json.loads(rows))


def small(vector: Sequence[float]) -> bytes:
    """A unit vector in a byte for each dimension."""
    return struct.pack(f"{len(vector)}b", *[round(127 * x) for x in vector])


def _bits(vector: Sequence[float]) -> bytes:
    """The sign of each dimension, the first in the lowest bit."""
    signs = "".join(["1" if x > 0 else "0" for x in reversed(vector)])
    return int(signs, 2).to_bytes(-(-len(vector) // 8), "little")


_samples: dict[tuple[str, str, int], list[int]] = {}


def _bound(db: Database, among: Set, bits: bytes) -> int:
    """A distance within which a few more than the nearest we want will lie, guessed from a sample of the set."""
    first, last = db.row(f"select (select min(id) from {among.table}), (select max(id) from {among.table})") or (0, 0)
    count = (last or 0) - (first or 0)
    if count < 20 * _SAMPLE:
        return 8 * len(bits)
    key = (db.path, among.table, count >> 14)
    if key not in _samples:
        chosen = random.sample(range(first, last + 1), _SAMPLE)
        rows = db.rows(f"select b.e from json_each(?) c cross join {among.bits} b on b.rowid = c.value", (chosen,))
        _samples[key] = [int.from_bytes(e) for (e,) in rows]
    query = int.from_bytes(bits)
    distances = sorted((query ^ each).bit_count() for each in _samples[key])
    there = count * len(distances) // _SAMPLE  # of the ids of a set some are no more
    if there < 20 * _SAMPLE:
        return 8 * len(bits)
    return distances[min(len(distances) - 1, int(len(distances) * max(3 * NEAREST / there, 0.002)))]


def _stored(db: Database, key: str) -> Set | None:
    told = meta.get(db, key)
    return Set(**json.loads(told)) if told else None


def _store(db: Database, key: str, made: Set) -> None:
    meta.put(db, key, json.dumps(asdict(made)))


def _mark(db: Database, among: Set) -> int | None:
    """The last passage a set has looked at, of files without its sign; None when the set is gone."""
    told = meta.get(db, _key(among))
    if told is None and among.part and meta.get(db, f"embedded {among.number}"):
        return 0  # nothing of files has been looked at, while there is a set
    return None if told is None else int(told)


def _drop(db: Database, old: Set) -> None:
    made = [old, old.files] if _there(db, old.files) else [old]
    for each in made:
        meta.drop(db, _key(each))
    for table in (table for each in made for table in (each.bits, each.table)):
        try:
            with db.index_access(), db.write():
                db.execute(f"drop table if exists {table}")
        except IndexDamaged:
            pass  # its pages are beyond reach, and nothing reads them again
