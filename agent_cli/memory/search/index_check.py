"""Checks the indexes for damage that raises no error and only loses hits.

SQLite's and FTS5's own checks read everything, or miss it. Here the passages are counted, and 32 of them are searched
by their own words and vectors (0.1 s at 100,000 messages): an index that has lost a tenth is detected in 29 of 30
checks. Damage is noted, and repaired by a job.
"""

import random
import re
from collections.abc import Callable
from datetime import datetime, timedelta

from agent_cli.memory.search import vectors, word_tables
from agent_cli.store import meta
from agent_cli.store.db import Database, IndexDamaged

_SAMPLE = 32  # passages that are searched
_SCANNED = 3  # of them searched among all vectors
_WORDS, _TRIPLES = 8, 3  # of each passage
_PAUSE = timedelta(days=1)
_KEY = "checked"
_PLAIN = re.compile("[A-Za-z0-9]{3}")


def due(db: Database, now: datetime) -> bool:
    """Whether the last check was a day ago, or another was requested."""
    return meta.is_due(db, _KEY, now, _PAUSE)


def request_check(db: Database) -> None:
    """Request a check soon: a process crashed."""
    meta.drop(db, _KEY)


def check(db: Database, now: datetime) -> list[str]:
    """Check every index and note damage; returns the names of all damaged indexes."""
    sample = _sample(db)
    for name, whole in _CHECKS.items():
        tables = _tables(db)
        try:
            with db.index_access():
                sound = whole(db, sample)
        except IndexDamaged:
            sound = False
        if not sound and _tables(db) == tables:  # else another program has rebuilt them meanwhile
            meta.note_damaged(db, name)
    meta.stamp(db, _KEY, now)
    return meta.damaged_indexes(db)


def _tables(db: Database) -> list[str | None]:
    """The names of the index tables."""
    return [meta.get(db, key) for key in ("index words", "index trigrams", "vectors", "vectors next")]


def _sample(db: Database) -> dict[int, str]:
    """{id: text} of random passages."""
    first, last = db.row("select (select min(id) from passage), (select max(id) from passage)") or (None, None)
    if first is None:
        return {}
    ids = range(first, last + 1)
    chosen = random.sample(ids, min(_SAMPLE, len(ids)))
    return dict(
        db.rows("select t.id, t.own from json_each(?) c cross join passage_text t on t.id = c.value", (chosen,))
    )


def _check_words(db: Database, sample: dict[int, str]) -> bool:
    name = word_tables.table(db, "words")
    counted = f"select (select count(*) from passage) = (select count(*) from {name}_docsize)"
    return bool(db.value(counted)) and _finds_all(db, name, sample, _phrase)


def _check_trigrams(db: Database, sample: dict[int, str]) -> bool:
    until = word_tables.trigrams_until(db)
    made = {id: text for id, text in sample.items() if until is None or id <= until}
    return _finds_all(db, word_tables.table(db, "trigrams"), made, _triples)


def _finds_all(db: Database, name: str, sample: dict[int, str], make_query: Callable[[Database, str], str]) -> bool:
    """Whether an index finds each passage by its own text."""
    sql = f"select 1 from {name} where {name} match ? and rowid = ?"
    return all(
        db.value(sql, (match, id)) or not _exists(db, id)
        for id, own_text in sample.items()
        if (match := make_query(db, own_text))
    )


def _phrase(db: Database, own_text: str) -> str:
    """A query for the first words of a text; empty when the index sees no words in them."""
    first = " ".join(own_text.replace('"', " ").replace("\0", " ").split()[:_WORDS])
    return f'own : "{first}"' if db.tokens(first) else ""


def _triples(db: Database, own_text: str) -> str:
    """A query for a few runs of three ASCII letters or digits."""
    return " AND ".join(f'"{triple}"' for triple in _PLAIN.findall(own_text)[:_TRIPLES])


def _check_vectors(db: Database, sample: dict[int, str]) -> bool:
    return all(_is_complete(db, each, sample) for each in (vectors.current(db), vectors.being_filled(db)) if each)


def _is_complete(db: Database, vector_set: vectors.VectorSet, sample: dict[int, str]) -> bool:
    """Whether a set has each vector in both sizes, and finds it."""
    rows = db.rows(  # in one statement: another program may be filling the set
        f"""select c.value, (select e from {vector_set.table} where id = c.value),
                (select e from {vector_set.bits} where rowid = c.value) from json_each(?) c""",
        (sample.keys(),),
    )
    made = {id: (small, bits) for id, small, bits in rows if small is not None or bits is not None}
    if not all(_same_signs(small, bits, vector_set.dimension) for small, bits in made.values()):
        return False
    nearest = f"select 1 from {vector_set.bits} where e match vec_bit(?) and k = 1 and distance <= 0"
    return all(db.value(nearest, (made[id][1],)) or not _exists(db, id) for id in list(made)[:_SCANNED])


def _same_signs(small: bytes | None, bits: bytes | None, dimension: int) -> bool:
    """Whether a vector and its bits have the same signs; a component rounded to zero may have either."""
    if small is None or bits is None or len(small) != dimension or not any(small):
        return False
    signs = int.from_bytes(bits, "little")
    return all((signs >> n & 1) == (each < 128) for n, each in enumerate(small) if each)


def _exists(db: Database, id: int) -> bool:
    """Whether the passage still exists: another program may have changed it meanwhile."""
    return bool(db.value("select 1 from passage where id = ?", (id,)))


_CHECKS: dict[str, Callable[[Database, dict[int, str]], bool]] = {
    "words": _check_words,
    "trigrams": _check_trigrams,
    "vectors": _check_vectors,
}
