"""The marks of facts: hashes of their shingles, by which similar statements are found without reading all facts."""

import math
import zlib
from collections.abc import Sequence

from agent_cli.memory.language import terms
from agent_cli.store.db import Database


def write(db: Database, id: int, statement: str) -> None:
    """Write the marks of a fact. Runs in the caller's transaction."""
    db.execute("delete from fact_mark where fact_id = ?", (id,))
    db.execute_many("insert into fact_mark values (?, ?)", [(hash, id) for hash in _marks(statement)])


def rarest(db: Database, statement: str, similarity: float) -> list[int]:
    """The rarest marks of a statement, as many as are needed that every similar statement shares one of them.

    A set with a Jaccard index of t or more to a set of n contains at least t n of its members, so it contains one of
    any n - t n + 1 of them (prefix filtering: Chaudhuri, Ganti, Kaushik, 2006).
    """
    marks = _marks(statement)
    needed = len(marks) - math.ceil(similarity * len(marks)) + 1
    counted = db.rows(
        """select c.value, (select count(*) from (select 1 from fact_mark where hash = c.value limit 500))
           from json_each(?) c order by 2, 1""",
        (marks,),
    )
    return [mark for mark, _ in counted[:needed]]


def erase(db: Database, fact_ids: Sequence[int]) -> None:
    """Delete the marks of facts. Runs in the caller's transaction."""
    db.execute("delete from fact_mark where fact_id in (select value from json_each(?))", (fact_ids,))


def _marks(statement: str) -> list[int]:
    """The hashes of the statement's shingles."""
    return sorted({zlib.crc32(" ".join(shingle).encode()) for shingle in terms.shingles(terms.mask_numbers(statement))})
