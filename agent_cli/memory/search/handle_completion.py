"""Completions of handles and periods while a person types.

They run at every key, so each query reads a bounded number of rows by an index, however large the file is.
"""

import re
from collections.abc import Sequence

from agent_cli.memory import search_sources
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.text import one_line

LIMIT = 50
_NEWEST = 500  # rows of a kind that are searched by the beginning of their handle, and by their words


def handles(db: Database, owner: str, names: Sequence[str], prefix: str) -> list[tuple[str, str]]:
    """(handle, words) of rows of these kinds: that with this handle, those with this prefix, and then those with it in
    their words, of the newest."""
    by_handle, by_words = dict[str, str](), dict[str, str]()
    number = re.fullmatch(r"[a-z](\d{1,12})", prefix.lower())
    values = {"owner": owner, "id": int(number[1]) if number else 0}
    for kind in names:
        source = search_sources.source_of(kind)
        newest = f"{source.completions.format(more='')} order by {source.order} limit {_NEWEST}"
        for id, words in (*db.rows(source.completions.format(more="and id = :id"), values), *db.rows(newest, values)):
            handle = ids.handle(kind, id)
            if handle.startswith(prefix.lower()):
                by_handle[handle] = words or ""
            elif prefix.casefold() in (words or "").casefold():
                by_words[handle] = words or ""
    return [(handle, one_line(words, 60)) for handle, words in [*by_handle.items(), *by_words.items()][:LIMIT]]


def periods(db: Database, owner: str, prefix: str) -> list[str]:
    """The keys of periods with a summary and this prefix, the latest first."""
    rows = db.rows(
        """select period from summary where owner = ?1 and period <> '' and period >= ?2
             and period < ?2 || char(1114111) order by period desc limit ?3""",
        (owner, prefix, LIMIT),
    )
    return [key for (key,) in rows]
