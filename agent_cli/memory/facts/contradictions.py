"""Contradictions between what the person types and known facts: shown below the reply, and adopted on request.

Found by rules alone, without a model: a typed sentence, outside quotations and code, that a rule parses into a triple
with a single-valued predicate, or that says that something is over (adoption.py). Statements that are merely
similar are left to the review.
"""

from collections.abc import Sequence, Set
from dataclasses import replace
from datetime import datetime

from agent_cli import clock, text
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import capture
from agent_cli.memory.facts import adoption, facts, receipts
from agent_cli.memory.facts.facts import Fact
from agent_cli.memory.language import statements, terms, triples
from agent_cli.memory.language.triples import Claim, is_fact
from agent_cli.memory.proposals import REJECTED
from agent_cli.memory.scope import Scope
from agent_cli.messages import Part
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

_COMMAND = "/update"
_MAX_SHOWN = 80  # characters of a fact


@frozen
class Contradiction:
    claim: Claim
    known: Fact | None  # None: the sentence says that something is over, and no fact says that it was true
    answer: str = ""  # what /update does
    is_choice: bool = False  # whether the sentence may mean this fact or another

    def message(self, *, at_keyboard: bool = True) -> str:
        if self.known is None:
            return f"“{text.one_line(self.claim.statement, _MAX_SHOWN)}” ends no fact: none is known that says so"
        words = f"{self.known.handle} says “{facts.name(self.known, _MAX_SHOWN)}”"
        command = f"{_COMMAND} {self.known.handle}" if self.is_choice else _COMMAND
        where = "" if at_keyboard else " in `agent -c`"
        return f"{words} · {command}{where} {self.answer}{' in its place' if self.is_choice else ''}"


def find(
    db: Database,
    scope: Scope,
    session: int,
    message: int,
    parts: Sequence[Part],
    now: datetime,
    single_valued: Set[str],
) -> list[Contradiction]:
    """The sentences of a message that contradict accepted facts which hold in this place and session, or end them."""
    found: list[Contradiction] = []
    captured = [each.quote for each in capture.capture(parts)]
    for quote in capture.typed_sentences(parts):
        if any(each in quote or quote in each for each in captured):
            continue
        if not (statements.states_something(quote) and is_fact(quote)):
            continue  # the rules that parse need not be compiled for a greeting or a question: 0.2 s
        whole = quote.rstrip(" .!")
        clauses = [] if triples.is_doubtful(whole) else statements.clauses(whole)
        for words in ([whole], clauses):
            claims = [adoption.claim(each, "typed", now, quote=quote, message=message) for each in words]
            if some := [each for claim in claims for each in _against(db, scope, session, claim, now, single_valued)]:
                found += some
                break
        else:
            if any(triples.is_about_person(each) and triples.parse_ending(each) for each in (whole, *clauses)):
                found.append(Contradiction(adoption.claim(whole, "typed", now, quote=quote, message=message), None))
    return found


def chosen(found: Sequence[Contradiction], handles: str) -> list[Contradiction]:
    """Those that the person wants done. `handles`: of the facts; without them all that need no choice.

    Raises UsageError where a choice is needed.
    """
    known = [each for each in found if each.known]
    wanted = [each for each in known if (each.known.handle in handles.split() if handles else not each.is_choice)]  # type: ignore[union-attr]
    if known and not wanted:
        commands = " or ".join(dict.fromkeys(f"{_COMMAND} {each.known.handle}" for each in known if each.known))
        raise UsageError(f"say which fact is meant: {commands}")
    return wanted


def _against(
    db: Database, scope: Scope, session: int, claim: Claim, now: datetime, single_valued: Set[str]
) -> list[Contradiction]:
    """What a claim contradicts or ends."""
    over = adoption.ended_by(db, scope, claim.statement, now, single_valued, session)
    if known := over or _other_values(db, scope, session, claim, now, single_valued):
        answer = _answer(adoption.as_ending(claim, over, now, single_valued))
        return [
            Contradiction(replace(claim, place=each.place, session=each.session_id), each, answer) for each in known
        ]
    claims = adoption.replaceable(db, scope, claim, now, single_valued, session)
    targets = facts.many(db, [each.target for each in claims if each.target], scope.owner)
    return [
        Contradiction(replace(made, place=known.place, session=known.session_id), known, _answer(made), len(claims) > 1)
        for made, known in zip(claims, targets, strict=True)
    ]


def _answer(claim: Claim) -> str:
    what = "ends it" if claim.operation == "delete" else "keeps what you just said"
    since = claim.valid_from
    return f"{what} ({clock.format_day(clock.utc(since), clock.offset(since))})" if since else what


def _other_values(
    db: Database, scope: Scope, session: int, claim: Claim, now: datetime, single_valued: Set[str]
) -> list[Fact]:
    """Facts that hold here and give another value to a single-valued predicate."""
    if claim.triple is None or claim.triple.predicate not in single_valued or _was_rejected(db, scope, claim):
        return []
    matter = triples.forms(claim.triple.predicate, single_valued)
    return [
        known
        for known in facts.accepted_values(db, scope.owner, claim.triple.subject, matter)
        if known.is_open(now)
        and known.place in ("", scope.place)
        and known.session_id in (None, session)
        and not _agrees(known, claim)
    ]


def accept(
    db: Database, scope: Scope, found: Sequence[Contradiction], time: clock.Clock, single_valued: Set[str]
) -> list[str]:
    """Add the claims as facts and end those they contradict, for a person at the prompt; a receipt for each."""
    batch = ids.new(time())
    claims = {(each.claim.statement, each.claim.place): each.claim for each in found if each.known}
    with db.write():
        return [
            receipts.accepted(adoption.add(db, scope, each, time, single_valued, batch=batch), time(), at_prompt=True)
            for each in claims.values()
        ]


def _agrees(known: Fact, claim: Claim) -> bool:
    same = claim.triple is not None and known.object.casefold() == claim.triple.object.casefold()
    return same or terms.is_similar(known.statement, claim.statement)


def _was_rejected(db: Database, scope: Scope, claim: Claim) -> bool:
    """Whether the person has rejected the same statement."""
    candidates = facts.similar(db, scope.owner, claim.statement)
    return any(each.state == REJECTED and terms.is_similar(each.statement, claim.statement) for each in candidates)
