"""What is said about a topic, and what was said at a time: rows to be named for forgetting."""

from datetime import datetime

from agent_cli.memory.forgetting import owned_rows
from agent_cli.memory.forgetting.provenance import Named
from agent_cli.memory.language import terms
from agent_cli.memory.search import index, recall
from agent_cli.memory.search.candidates import Filter
from agent_cli.store.db import Database

_FOUND = 200  # hits of recall that are looked at

# Each kind with all the columns in which it can say something.
_SAYS = {
    "message": """select m.id from message m where {span} and (instr(fold(m.text || char(10) || m.thinking || char(10)
                  || coalesce(m.external_id, '') || char(10) || m.author), :told)
                  or exists (select 1 from tool_call where message_id = m.id and instr(fold(arguments), :told)))""",
    "note": "select m.id from note m where {span} and instr(fold(m.title || char(10) || m.text), :told)",
    "fact": """select m.id from fact m where {span} and (instr(fold(m.statement || char(10) || m.subject || char(10)
               || m.object || char(10) || m.quote), :told)
               or exists (select 1 from fact_version where fact_id = m.id and instr(fold(was), :told)))""",
    "summary": "select m.id from summary m where {span} and instr(fold(m.text || char(10) || m.details), :told)",
    "skill": """select m.id from skill m where {span} and (instr(fold(m.name || char(10) || m.description || char(10)
                || m.text), :told)
                or exists (select 1 from skill_version where skill_id = m.id and instr(fold((was ->> 'name') || char(10)
                           || (was ->> 'description') || char(10) || (was ->> 'text')), :told)))""",
}
_AT = {"message": "at", "note": "at", "fact": "learned_at", "summary": "at", "skill": "at"}


def named(
    db: Database, owner: str, topic: str, now: datetime, since: str | None = None, until: str | None = None
) -> Named:
    """All that says this literally in any column, and what recall finds that has all its words.

    `since`, `until`: UTC times as stored; without a topic all that was said, noted, learned and set for later then.
    """
    index.refresh_all(db)
    found = {kind: _literal(db, kind, owner, topic, since, until) for kind in _SAYS}
    if not topic:
        found["summary"] = set()  # it goes with the messages it was made from
    for kind, id in _recalled(db, owner, topic, now, since, until) if topic else ():
        found.setdefault(kind, set()).add(id)
    rows = {kind: tuple(sorted(found[kind])) for kind in _SAYS}
    said = rows["message"], rows["note"], rows["fact"]
    kept = owned_rows.saying(db, owner, topic, since, until, found.get("section", ()))
    if not topic:
        return Named((), *said, skills=rows["skill"], owner=owner, owned_rows=kept)
    return Named(
        (), *said, owner=owner, about=rows["summary"], taught=rows["skill"], topic=topic, owned_rows=kept
    )  # fmt: skip


def _literal(db: Database, kind: str, owner: str, topic: str, since: str | None, until: str | None) -> set[int]:
    span = f"m.owner = :owner and m.{_AT[kind]} >= coalesce(:since, '') and m.{_AT[kind]} < coalesce(:until, 'a')"
    rows = db.rows(
        _SAYS[kind].format(span=span),
        {"owner": owner, "told": topic.casefold(), "since": since, "until": until},
    )
    return {id for (id,) in rows}


def _recalled(
    db: Database, owner: str, topic: str, now: datetime, since: str | None, until: str | None
) -> set[tuple[str, int]]:
    """Hits that have every word of the topic, in any order and form."""
    asked = {stem for word in terms.content(topic) for stem in db.tokens(word)}
    first, last = (datetime.fromisoformat(moment).timestamp() if moment else None for moment in (since, until))
    hits = recall.find(db, topic, Filter(owner, since=first, until=last), now, _FOUND).hits
    texts = db.tokens_of([hit.text for hit in hits])
    return {(hit.kind, hit.id) for hit, stems in zip(hits, texts, strict=True) if asked <= set(stems)}
