"""What is said about a topic, and what was said at a time: rows to be named for forgetting."""

from datetime import datetime
from pathlib import Path

from agent_cli.memory.forgetting.owners import TABLES
from agent_cli.memory.language import terms
from agent_cli.memory.lineage import Named, Table
from agent_cli.memory.search import index, recall
from agent_cli.memory.search.candidates import Filter
from agent_cli.store.db import Database

_FOUND = 200  # hits of recall that are looked at
_CUT = ("summary", "skill")  # lose what says the topic, and need not go


def named(
    db: Database, owner: str, topic: str, now: datetime, since: str | None = None, until: str | None = None
) -> Named:
    """All that says this literally in any column, and what recall finds that has all its words.

    `since`, `until`: UTC times as stored; without a topic all that was said, noted, learned and set for later then.
    """
    index.refresh_all(db)
    found = {table.name: {*_literal(db, table, owner, topic, since, until)} for table in TABLES.values()}
    for kind, id in _recalled(db, owner, topic, now, since, until) if topic else ():
        found[kind].add(id)
    rows = {name: tuple(sorted(ids)) for name, ids in found.items() if ids}
    mentioned = {name: rows.pop(name, ()) for name in _CUT} if topic else {}
    return Named(rows, mentioned, owner, topic)


def _literal(db: Database, table: Table, owner: str, topic: str, since: str | None, until: str | None) -> list[int]:
    if not table.mentions or not (topic or table.dated):
        return []
    rows = db.rows(
        f"""select id from {table.name} where owner = :owner and {table.time} >= coalesce(:since, '')
            and {table.time} < coalesce(:until, 'a') and ({table.mentions})""",
        {"owner": owner, "topic": topic.casefold(), "since": since, "until": until, "home": f"{Path.home()}/"},
    )
    return [id for (id,) in rows]


def _recalled(
    db: Database, owner: str, topic: str, now: datetime, since: str | None, until: str | None
) -> set[tuple[str, int]]:
    """Hits that have every word of the topic, in any order and form."""
    asked = {stem for word in terms.content_words(topic) for stem in db.tokens(word)}
    first, last = (datetime.fromisoformat(moment).timestamp() if moment else None for moment in (since, until))
    hits = recall.find(db, topic, Filter(owner, since=first, until=last), now, _FOUND).hits
    texts = db.tokens_of([hit.text for hit in hits])
    return {(hit.kind, hit.id) for hit, stems in zip(hits, texts, strict=True) if asked <= set(stems)}
