"""Selects the rows about a topic or of a time span, to be erased."""

import math
from datetime import datetime
from pathlib import Path

from agent_cli.memory.forgetting.owners import TABLES
from agent_cli.memory.lineage import ErasureRequest, Table
from agent_cli.memory.search import index, recall
from agent_cli.memory.search.candidates import Filter
from agent_cli.store.db import Database

_PARTIAL = ("summary", "skill")  # tables whose rows may lose only the parts about the topic


def select_by_topic(
    db: Database, owner: str, topic: str, since: str | None = None, until: str | None = None
) -> ErasureRequest:
    """The rows that contain the topic literally, and those with all its words, in any order and inflection.

    `since`, `until`: UTC times as stored. Without a topic, all messages, notes, facts and tasks of that time span.
    """
    index.refresh_all(db, math.inf)
    first, last = (datetime.fromisoformat(moment).timestamp() if moment else None for moment in (since, until))
    found = {table.name: {*_literal(db, table, owner, topic, since, until)} for table in TABLES.values()}
    for kind, id in recall.all_with_words(db, topic, Filter(owner, since=first, until=last)):
        found[kind].add(id)
    rows = {name: tuple(sorted(ids)) for name, ids in found.items() if ids}
    mentioned = {name: rows.pop(name, ()) for name in _PARTIAL} if topic else {}
    return ErasureRequest(rows, mentioned, owner, topic)


def _literal(db: Database, table: Table, owner: str, topic: str, since: str | None, until: str | None) -> list[int]:
    if not table.mentions or not (topic or table.dated):
        return []
    rows = db.rows(
        f"""select id from {table.name} where owner = :owner and {table.time} >= coalesce(:since, '')
            and {table.time} < coalesce(:until, 'a') and ({table.mentions})""",
        {"owner": owner, "topic": topic.casefold(), "since": since, "until": until, "home": f"{Path.home()}/"},
    )
    return [id for (id,) in rows]
