"""Completions of handles and periods while a person types.

They run at every key, so each query reads a bounded number of rows by an index, however large the file is.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from agent_cli import kinds
from agent_cli.memory import search_sources
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.text import one_line

LIMIT = 50
_NEWEST = 500  # rows of a kind whose words are searched; handles are searched among all


def handles(db: Database, owner: str, names: Sequence[str], prefix: str, limit: int = LIMIT) -> list[tuple[str, str]]:
    """(handle, words) of rows of these kinds whose handle has this prefix, then of the newest with it in their
    words."""
    found: dict[str, str] = {}
    for kind in names:
        for id, words in islice(_by_number(db, owner, kind, prefix.lower()), limit):
            found[ids.handle(kind, id)] = one_line(words or "", 60)
    for kind in names:
        source = search_sources.source_of(kind)
        sql = f"{source.completions.format(more='')} order by {source.order} limit {_NEWEST}"
        rows = db.rows(sql, {"owner": owner})
        for id, words in rows if len(found) < limit else ():
            if prefix.casefold() in (words or "").casefold():
                found.setdefault(ids.handle(kind, id), one_line(words or "", 60))
    return list(found.items())[:limit]


def _by_number(db: Database, owner: str, kind: str, prefix: str) -> Iterator[tuple[int, str]]:
    """(id, words) of rows by the prefix of their handle: f12 is f12, f120 to f129, f1200 …"""
    match = re.fullmatch(rf"{kinds.BY_NAME[kind].letter}([1-9]\d{{0,11}})", prefix)
    # With a plain column SQLite would go through all rows of the owner.
    sql = search_sources.source_of(kind).completions.replace("owner =", "+owner =")
    first, size = int(match[1]) if match else 0, 1
    while first and first <= 10**12:
        yield from db.rows(
            f"{sql.format(more='and id between :first and :last')} order by id limit {LIMIT}",
            {"owner": owner, "first": first, "last": first + size - 1},
        )
        first, size = 10 * first, 10 * size


def periods(db: Database, owner: str, prefix: str) -> list[str]:
    """The keys of periods with a summary and this prefix, the latest first."""
    rows = db.rows(
        """select period from summary where owner = ?1 and period <> '' and period >= ?2
             and period < ?2 || char(1114111) order by period desc limit ?3""",
        (owner, prefix, LIMIT),
    )
    return [key for (key,) in rows]
