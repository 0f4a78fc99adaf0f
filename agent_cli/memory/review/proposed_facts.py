"""Proposed facts: how they are found, shown and decided. The queue of all kinds is in review.py."""

from dataclasses import replace
from datetime import datetime

from agent_cli import clock
from agent_cli.errors import UsageError
from agent_cli.memory import versions
from agent_cli.memory.conversations import readings, sessions
from agent_cli.memory.facts import adoption, facts, receipts, succession
from agent_cli.memory.facts.adoption import Adopted
from agent_cli.memory.facts.facts import PENDING, Fact
from agent_cli.memory.language import triples
from agent_cli.memory.language.triples import Triple
from agent_cli.memory.review.proposals import (
    ENDS,
    LATER,
    STAYS,
    ConflictingFact,
    Proposal,
    Reviewer,
    describe_changes,
    describe_scope,
    visible_line,
)

_MAX_CONFLICTS = 5  # contradicted facts that are shown: first those that acceptance ends, then the newest


def pending(reviewer: Reviewer, session: int | None) -> list[int]:
    """The ids of pending facts; with a session, those from its messages or that hold in it.

    Those that rest on something foreign stand first, then the oldest.
    """
    rows = reviewer.db.rows(
        """select f.id from fact f left join message m on m.id = f.message_id
           where f.owner = ?1 and f.state = 'pending' and f.hidden_at is null
             and (?2 is null or f.session_id = ?2 or m.session_id = ?2)
           order by f.trust in (select value from json_each(?3)) desc, f.id""",
        (reviewer.scope.owner, session, readings.ORIGINS),
    )
    return [id for (id,) in rows]


def read(reviewer: Reviewer, id: int, words: str) -> Proposal | None:
    """The proposal of a fact, with other words if given; None when it is no longer pending."""
    fact = next(iter(facts.many(reviewer.db, [id], reviewer.scope.owner)), None)
    if fact is None or fact.state != PENDING or fact.hidden_at is not None:
        return None
    statement = words or visible_line(fact.statement)
    edited = fact if statement == fact.statement else adoption.reworded(fact, statement, reviewer.time())
    known = [
        ConflictingFact(
            each.id, visible_line(each.statement), each.began_at, each.utc_offset, _outcome(reviewer, each, edited)
        )
        for each in adoption.conflicts(reviewer.db, edited, reviewer.time(), reviewer.single_valued)
    ]
    known.sort(key=lambda each: (each.outcome == STAYS, -each.id))
    shown = tuple(known[:_MAX_CONFLICTS])
    at, offset, session, title = _source(reviewer, fact)
    messages = [message for message, _ in facts.sources(reviewer.db, fact)] if fact.trust in readings.ORIGINS else []
    read = readings.describe(reviewer.db, messages)
    return Proposal(
        "fact",
        fact.id,
        statement,
        visible_line(fact.statement) != " ".join(fact.statement.split()) and not words,
        bool(words),
        fact.operation,
        describe_scope(reviewer.scope, fact),
        _format_day(fact, edited.valid_from),
        _format_day(fact, edited.valid_to),
        _unexpected_triple(edited),
        fact.origin,
        fact.trust,
        bool(fact.inferred),
        visible_line(fact.quote),
        fact.message_id,
        shown,
        len(known) - len(shown),
        at,
        offset,
        session,
        title,
        *read,
    )


def _outcome(reviewer: Reviewer, known: Fact, fact: Fact) -> str:
    """What happens to a known fact when this one is accepted as it is."""
    if known.id == fact.target_id and fact.operation in ("update", "delete"):
        return ENDS
    if fact.predicate in reviewer.single_valued and (known.subject, known.predicate) == (fact.subject, fact.predicate):
        values = succession.values(reviewer.db, fact, reviewer.single_valued)
        order = [each.id for each in succession.in_order([*values, fact])]
        return ENDS if order.index(known.id) < order.index(fact.id) else LATER
    return STAYS


def _source(reviewer: Reviewer, fact: Fact) -> tuple[str, int, str, str]:
    """Time, UTC offset, session handle and session name of the source of a fact."""
    row = reviewer.db.row("select session_id, at, utc_offset from message where id = ?", (fact.message_id,))
    session, at, offset = row or (None, fact.learned_at, fact.utc_offset)
    if session is None:
        return at, offset, "", ""
    found = sessions.get(reviewer.db, session, reviewer.scope.owner)
    return at, offset, found.handle, visible_line(sessions.name(reviewer.db, found))


def _unexpected_triple(fact: Fact) -> str:
    """The triple in words, where it is not what the rules make of the statement: a model's triple is approved too."""
    triple = Triple(fact.subject, fact.predicate, fact.object)
    if not fact.predicate or triple == triples.parse(fact.statement):
        return ""
    return visible_line(f"{fact.subject} · {fact.predicate} · {fact.object}")


def _format_day(fact: Fact, moment: str | None) -> str:
    return clock.format_day(moment, fact.utc_offset) if moment else ""


def state(reviewer: Reviewer, id: int) -> str:
    """The state of a fact, `hidden`, or `gone` when it was erased."""
    found = facts.many(reviewer.db, [id], reviewer.scope.owner)
    return ("hidden" if found[0].hidden_at else found[0].state) if found else "gone"


def accept(reviewer: Reviewer, proposal: Proposal, replacing: bool, batch: str) -> str:
    """Accept the words that were shown; returns the receipt. `replacing`: the older facts that were shown end too."""
    db, time, single_valued = reviewer.db, reviewer.time, reviewer.single_valued
    fact = facts.get(db, proposal.id, reviewer.scope.owner)
    if proposal.statement != fact.statement:
        fact = adoption.edit(db, fact, proposal.statement, time, single_valued=single_valued, batch=batch)
    known = facts.many(db, [each.id for each in proposal.known if replacing and each.outcome != LATER], fact.owner)
    adopted = adoption.accept(
        db, fact, time, single_valued=single_valued, replacing=known[0] if known else None, batch=batch
    )
    replaced = {each.id for each in adopted.replaced}
    ended = [adoption.end(db, each, time, batch=batch) for each in known[1:] if each.id not in replaced]
    return format_receipt(replace(adopted, replaced=(*adopted.replaced, *ended)), time())


def reject(reviewer: Reviewer, proposal: Proposal, batch: str) -> str:
    """Reject a fact; returns the receipt."""
    fact = facts.get(reviewer.db, proposal.id, reviewer.scope.owner)
    return f"rejected {adoption.reject(reviewer.db, fact, reviewer.time, batch=batch).handle}"


def undo(reviewer: Reviewer, batch: str) -> list[str]:
    """Undo a batch of decisions; returns a line for each fact. Raises UsageError when one was changed since."""
    changed_since = versions.changed_since(reviewer.db, "fact", batch)
    if changed_since:
        raise UsageError(
            f"f{changed_since} was changed since, and stays as it is; `agent facts undo f{changed_since}` takes that "
            "back"
        )
    undone = {each.id: each for each in facts.undo_batch(reviewer.db, reviewer.scope.owner, batch, reviewer.time)}
    return [
        f"{each.handle} waits again" if each.state == PENDING else f"{each.handle} is {_state_after_undo(each)}"
        for each in undone.values()
    ]


def changes(reviewer: Reviewer, batch: str) -> list[str]:
    """What a batch changed, a line for each fact."""
    return describe_changes(
        reviewer, "fact", batch, lambda id: facts.get(reviewer.db, id, reviewer.scope.owner).statement
    )


def _state_after_undo(fact: Fact) -> str:
    return "true again" if fact.is_accepted else fact.state


def format_receipt(adopted: Adopted, now: datetime) -> str:
    """The receipt for an accepted fact: `kept f14, since 21 Nov 2026, replaces f31 (until 21 Nov 2026)`."""
    dates = receipts.dates(adopted.fact, now)
    line = f"kept {adopted.fact.handle}{f', {dates}' if dates else ''}"
    for each in adopted.replaced:
        until = clock.format_day(each.valid_to or "", each.utc_offset)
        line += f", {'ends' if adopted.fact.operation == 'delete' else 'replaces'} {each.handle} (until {until})"
    return line
