"""Whether the indexes still hold what they should: some damage raises no error and only loses hits.

SQLite's and FTS5's own checks read everything, or do not see it. Here the passages are counted, and 32 of them are
looked for by their own words and vectors (0.1 s at 100,000 messages): an index that has lost a tenth is found out in 29
of 30 looks. What is damaged is noted, and made anew by a job.
"""

import random
import re
from collections.abc import Callable
from datetime import datetime, timedelta

from agent_cli.memory.search import damaged_indexes, index, vectors
from agent_cli.store import meta
from agent_cli.store.db import Database, IndexDamaged

_SAMPLE = 32  # passages that are looked for
_SCANNED = 3  # of them are looked for among all vectors
_WORDS, _TRIPLES = 8, 3  # of a passage are looked for
_PAUSE = timedelta(days=1)
_KEY = "checked"
_PLAIN = re.compile("[A-Za-z0-9]{3}")


def due(db: Database, now: datetime) -> bool:
    """Whether the indexes have not been looked at for a day, or since a process died."""
    return meta.is_due(db, _KEY, now, _PAUSE)


def doubt(db: Database) -> None:
    """Have the indexes looked at soon: a process did not end as it should."""
    meta.drop(db, _KEY)


def check(db: Database, now: datetime) -> list[str]:
    """Look at every index and note what is damaged; gives the names of all that wait to be made anew."""
    sample = _sample(db)
    for name, whole in _CHECKS.items():
        tables = _tables(db)
        try:
            with db.index_access():
                sound = whole(db, sample)
        except IndexDamaged:
            sound = False
        if not sound and _tables(db) == tables:  # else another program has made them anew meanwhile
            damaged_indexes.note(db, name)
    meta.stamp(db, _KEY, now)
    return damaged_indexes.damaged(db)


def _tables(db: Database) -> list[str | None]:
    """What names the tables of the indexes."""
    return [meta.get(db, key) for key in ("index words", "index trigrams", "vectors", "vectors next")]


def _sample(db: Database) -> dict[int, str]:
    """Some passages and their texts."""
    first, last = db.row("select (select min(id) from passage), (select max(id) from passage)") or (None, None)
    if first is None:
        return {}
    ids = range(first, last + 1)
    chosen = random.sample(ids, min(_SAMPLE, len(ids)))
    return dict(
        db.rows("select t.id, t.own from json_each(?) c cross join passage_text t on t.id = c.value", (chosen,))
    )


def _words(db: Database, sample: dict[int, str]) -> bool:
    name = index.table(db, "words")
    counted = f"select (select count(*) from passage) = (select count(*) from {name}_docsize)"
    return bool(db.value(counted)) and _found(db, name, sample, _phrase)


def _trigrams(db: Database, sample: dict[int, str]) -> bool:
    return _found(db, index.table(db, "trigrams"), sample, _triples)


def _found(db: Database, name: str, sample: dict[int, str], asked: Callable[[Database, str], str]) -> bool:
    """Whether an index finds each passage by what stands in it."""
    sql = f"select 1 from {name} where {name} match ? and rowid = ?"
    return all(
        db.value(sql, (match, id)) or not _still(db, id) for id, own in sample.items() if (match := asked(db, own))
    )


def _phrase(db: Database, own: str) -> str:
    """The first words of a text, as they stand there; empty when they are no words to the index."""
    first = " ".join(own.replace('"', " ").replace("\0", " ").split()[:_WORDS])
    return f'own : "{first}"' if db.tokens(first) else ""


def _triples(db: Database, own: str) -> str:
    """A few runs of three plain letters."""
    return " AND ".join(f'"{triple}"' for triple in _PLAIN.findall(own)[:_TRIPLES])


def _vectors(db: Database, sample: dict[int, str]) -> bool:
    return all(_set_whole(db, each, sample) for each in (vectors.current(db), vectors.filling(db)) if each)


def _set_whole(db: Database, among: vectors.Set, sample: dict[int, str]) -> bool:
    """Whether a set has each vector in both sizes, and finds it when it is looked for."""
    rows = db.rows(  # in one statement: another program may be filling the set
        f"""select c.value, (select e from {among.table} where id = c.value),
                (select e from {among.bits} where rowid = c.value) from json_each(?) c""",
        (sample.keys(),),
    )
    made = {id: (small, bits) for id, small, bits in rows if small is not None or bits is not None}
    if not all(_alike(small, bits, among.dimension) for small, bits in made.values()):
        return False
    nearest = f"select 1 from {among.bits} where e match vec_bit(?) and k = 1 and distance <= 0"
    return all(db.value(nearest, (made[id][1],)) or not _still(db, id) for id in list(made)[:_SCANNED])


def _alike(small: bytes | None, bits: bytes | None, dimension: int) -> bool:
    """Whether a vector and its bits have the same signs; what was rounded to zero may have had either."""
    if small is None or bits is None or len(small) != dimension or not any(small):
        return False
    signs = int.from_bytes(bits, "little")
    return all((signs >> n & 1) == (each < 128) for n, each in enumerate(small) if each)


def _still(db: Database, id: int) -> bool:
    """Whether the passage is there: another program may have changed it meanwhile."""
    return bool(db.value("select 1 from passage where id = ?", (id,)))


_CHECKS: dict[str, Callable[[Database, dict[int, str]], bool]] = {
    "words": _words, "trigrams": _trigrams, "vectors": _vectors,
}  # fmt: skip
