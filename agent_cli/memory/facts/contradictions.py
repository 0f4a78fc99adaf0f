"""Contradictions between what the person types and known facts: shown below the reply, and adopted on request.

Found by rules alone, without a model: a typed sentence, outside quotations and code, that a rule parses into a triple
with a single-valued predicate. Statements that are merely similar are left to the review.
"""

from collections.abc import Sequence, Set
from dataclasses import replace
from datetime import datetime

from agent_cli import clock
from agent_cli.memory.conversations import capture
from agent_cli.memory.facts import adoption, facts, receipts
from agent_cli.memory.facts.facts import REJECTED, Fact
from agent_cli.memory.language import terms
from agent_cli.memory.language.claims import Claim, is_fact
from agent_cli.memory.scope import Scope
from agent_cli.messages import Part
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

_MAX_SHOWN = 80  # characters of a fact


@frozen
class Contradiction:
    known: Fact
    claim: Claim

    def message(self) -> str:
        return f"{self.known.handle} says “{facts.name(self.known, _MAX_SHOWN)}” · /update keeps what you just said"


def find(
    db: Database,
    scope: Scope,
    session: int,
    message: int,
    parts: Sequence[Part],
    now: datetime,
    single_valued: Set[str],
) -> list[Contradiction]:
    """The sentences of a message that contradict accepted facts which hold in this place and session."""
    found: dict[int, Contradiction] = {}
    for quote in capture.typed_sentences(parts):
        claim = adoption.claim(quote.rstrip(" .!"), "typed", now, quote=quote, message=message)
        if claim.triple is None or claim.triple.predicate not in single_valued or not is_fact(claim.statement):
            continue
        for known in facts.accepted_values(db, scope.owner, claim.triple.subject, claim.triple.predicate):
            holds = known.place in ("", scope.place) and known.session_id in (None, session)
            if known.is_open(now) and holds and not _agrees(known, claim) and not _was_rejected(db, scope, claim):
                found[known.id] = Contradiction(known, replace(claim, place=known.place, session=known.session_id))
    return list(found.values())


def accept(
    db: Database, scope: Scope, found: Sequence[Contradiction], time: clock.Clock, single_valued: Set[str]
) -> list[str]:
    """Add the claims as facts and end those they contradict; returns a receipt for each."""
    batch = ids.new(time())
    with db.write():
        return [
            receipts.accepted(adoption.add(db, scope, each.claim, time, single_valued, batch=batch), time())
            for each in found
        ]


def _agrees(known: Fact, claim: Claim) -> bool:
    same = claim.triple is not None and known.object.casefold() == claim.triple.object.casefold()
    return same or terms.is_similar(known.statement, claim.statement)


def _was_rejected(db: Database, scope: Scope, claim: Claim) -> bool:
    """Whether the person has rejected the same statement."""
    candidates = facts.similar(db, scope.owner, claim.statement)
    return any(each.state == REJECTED and terms.is_similar(each.statement, claim.statement) for each in candidates)
