"""What could be meant by the beginning of a handle, a name or a title: offered while a person types.

Asked at every key, so each query reads a bounded number of rows by an index, however long the file has been in use.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from agent_cli import kinds
from agent_cli.memory.search import graph, sources
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.text import one_line

LIMIT = 50
_NEWEST = 500  # rows of a kind in whose words the beginning is looked for; a number is found among all
_WORDS = 4  # of a name
_LEAST = 2  # letters of a name


def handles(db: Database, owner: str, names: Sequence[str], told: str, limit: int = LIMIT) -> list[tuple[str, str]]:
    """(handle, words) of rows of these kinds whose handle begins so, then of the newest ones with these words."""
    found: dict[str, str] = {}
    for kind in names:
        for id, words in islice(_numbered(db, owner, kind, told.lower()), limit):
            found[ids.handle(kind, id)] = one_line(words or "", 60)
    for kind in names:
        source = sources.source_of(kind)
        sql = f"{source.completions.format(more='')} order by {source.order} limit {_NEWEST}"
        rows = db.rows(sql, {"owner": owner})
        for id, words in rows if len(found) < limit else ():
            if told.casefold() in (words or "").casefold():
                found.setdefault(ids.handle(kind, id), one_line(words or "", 60))
    return list(found.items())[:limit]


def _numbered(db: Database, owner: str, kind: str, told: str) -> Iterator[tuple[int, str]]:
    """Rows whose handle begins so: f12 is f12, f120 to f129, f1200 …"""
    match = re.fullmatch(rf"{kinds.BY_NAME[kind].letter}([1-9]\d{{0,11}})", told)
    # With a plain column SQLite would go through all rows of the owner.
    sql = sources.source_of(kind).completions.replace("owner =", "+owner =")
    first, size = int(match[1]) if match else 0, 1
    while first and first <= 10**12:
        yield from db.rows(
            f"{sql.format(more='and id between :first and :last')} order by id limit {LIMIT}",
            {"owner": owner, "first": first, "last": first + size - 1},
        )
        first, size = 10 * first, 10 * size


def names(db: Database, owner: str, before: str) -> list[tuple[str, int]]:
    """(name, how many characters at the end of the text it completes) of what is known: of the longest beginning."""
    ends = [match.start() for match in re.finditer(r"(?<!\S)\S", before)][-_WORDS:]
    for start in ends if before[-1:].strip() else ():
        told = graph.fold(before[start:])
        if len(told) < _LEAST:
            continue
        rows = db.rows(
            """select distinct e.name from (
                   select entity_id, folded from alias
                   where owner = :owner and folded >= :told and folded < :told || char(1114111)
                   order by folded limit :limit) a
               join entity e on e.id = a.entity_id order by a.folded""",
            {"owner": owner, "told": told, "limit": LIMIT},
        )
        if rows:
            return [(name, len(before) - start) for (name,) in rows]
    return []


def periods(db: Database, owner: str, told: str) -> list[str]:
    """Periods with a summary whose key begins so, the latest first."""
    rows = db.rows(
        """select period from summary where owner = ?1 and period <> '' and period >= ?2
             and period < ?2 || char(1114111) order by period desc limit ?3""",
        (owner, told, LIMIT),
    )
    return [key for (key,) in rows]
