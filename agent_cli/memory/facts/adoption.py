"""How a claim becomes a fact: it is proposed, accepted, rejected, replaced or expires.

Only a person accepts. A claim from a model, a pipe, a file or an import waits for approval, and one that was rejected
is not proposed again. A claim that repeats a known fact is added to that fact as a source. Where a predicate has one
value at a time, the newer fact ends the older one; only their dates decide.
"""

from collections.abc import Iterable, Set
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from agent_cli import clock
from agent_cli.errors import UsageError
from agent_cli.memory import tombstones
from agent_cli.memory.dates import absolute_dates
from agent_cli.memory.facts import facts
from agent_cli.memory.facts.facts import ACCEPTED, EXPIRED, PENDING, REJECTED, SUPERSEDED, Fact
from agent_cli.memory.language import secrets, terms, triples
from agent_cli.memory.language.claims import Claim, Triple
from agent_cli.memory.language.predicates import SINGLE_VALUED
from agent_cli.memory.scope import Scope
from agent_cli.messages import Origin
from agent_cli.store import ids, meta
from agent_cli.store.db import Database
from agent_cli.values import frozen

LONGEST = 2000  # characters of a fact
MAX_PENDING = 50  # proposals of a model that may wait at once
MAX_WAIT = timedelta(days=30)
_EXPIRED_UNREPORTED = "expired untold"


@frozen
class Adopted:
    fact: Fact
    new: bool  # False: the fact was known, and has one more source
    replaced: tuple[Fact, ...] = ()


def claim(statement: str, origin: Origin, now: datetime | None = None, **details: Any) -> Claim:
    """A claim made from a sentence: secrets masked, dates absolute, and with a triple where a rule can parse it.

    Relative dates are resolved at the time it was learned, else at `now`, else when the claim becomes a fact.
    """
    masked = secrets.mask(statement.strip())
    moment = details.get("learned") or now
    masked = absolute_dates.resolve(masked, moment) if moment else masked
    return Claim(masked, origin, triple=triples.parse(masked), **details)


def add(
    db: Database,
    scope: Scope,
    claim: Claim,
    time: clock.Clock,
    single_valued: Set[str] = SINGLE_VALUED,
    *,
    batch: str = "",
) -> Adopted:
    """Add a fact that the person states. Raises UsageError when the statement is empty or too long."""
    claim = _sanitised(claim, time())
    batch = batch or ids.new(time())
    with db.write():
        for each in sorted(_equivalent(db, scope, claim), key=lambda each: not each.current):
            if each.state == PENDING:
                return _accept(db, _restate_pending(db, each, claim, time, batch), time, single_valued, None, batch)
            if each.current:
                facts.add_source(db, each, claim.message, claim.quote, time())
                return Adopted(each, new=False)
        fact = facts.insert(db, scope, claim, ACCEPTED, "added", time, actor="person", batch=batch)
        replaced = _close_earlier_values(db, fact, time, single_valued, batch)
        return Adopted(facts.get(db, fact.id, fact.owner), True, _without(fact, replaced))


def propose(
    db: Database, scope: Scope, claim: Claim, time: clock.Clock, *, actor: str = "model", batch: str = ""
) -> Fact | None:
    """Queue a claim for review; None when it is known, is pending already, was rejected or forgotten."""
    claim = _sanitised(claim, time())
    with db.write():
        if tombstones.contains(db, claim.statement, scope.owner):
            return None
        for each in _equivalent(db, scope, claim):
            if each.state == REJECTED:
                return None
            if each.state == PENDING or each.current:
                facts.add_source(db, each, claim.message, claim.quote, time())
                return None
        _make_room(db, scope, claim, time)
        batch = batch or ids.new(time())
        return facts.insert(db, scope, claim, PENDING, "proposed", time, actor=actor, batch=batch)


def accept(
    db: Database,
    fact: Fact,
    time: clock.Clock,
    *,
    single_valued: Set[str] = SINGLE_VALUED,
    replacing: Fact | None = None,
    batch: str = "",
) -> Adopted:
    """The person accepts a proposal. `replacing`: a fact that it ends. Raises UsageError when it is not pending."""
    with db.write():
        return _accept(db, fact, time, single_valued, replacing, batch or ids.new(time()))


def reject(db: Database, fact: Fact, time: clock.Clock, *, batch: str = "") -> Fact:
    """The person rejects a proposal, for good. Raises UsageError like `accept`."""
    with db.write():
        proposal = _require_pending(db, fact)
        return facts.change(
            db,
            proposal,
            REJECTED,
            time,
            actor="person",
            batch=batch or ids.new(time()),
            state=REJECTED,
            decided_at=clock.utc(time()),
        )


def edit(
    db: Database,
    fact: Fact,
    statement: str,
    time: clock.Clock,
    *,
    single_valued: Set[str] = SINGLE_VALUED,
    batch: str = "",
) -> Fact:
    """Change the statement to what the person typed: nothing is masked. Raises UsageError when it is empty."""
    words = absolute_dates.resolve(statement.strip(), time())
    if not words:
        raise UsageError(f"{fact.handle} was left as it is: an empty fact says nothing (`agent facts rm` hides one)")
    _check_length(words)
    triple = triples.parse(words) or Triple("", "", "")
    batch = batch or ids.new(time())
    with db.write():
        changed = facts.change(
            db,
            fact,
            "edited",
            time,
            actor="person",
            batch=batch,
            statement=words,
            subject=triple.subject,
            predicate=triple.predicate,
            object=triple.object,
        )
        if changed.current:
            _close_earlier_values(db, changed, time, single_valued, batch)
        return facts.get(db, fact.id, fact.owner)


def end(db: Database, fact: Fact, time: clock.Clock, *, batch: str = "") -> Fact:
    """Mark a fact as no longer true."""
    with db.write():
        now = clock.utc(time())
        return facts.change(
            db,
            fact,
            "ended",
            time,
            actor="person",
            batch=batch or ids.new(time()),
            state=SUPERSEDED,
            valid_to=now,
            decided_at=now,
        )


def hide(db: Database, fact: Fact, time: clock.Clock, *, batch: str = "") -> Fact:
    """Leave a fact out of lists, search and recall, until `restore`."""
    with db.write():
        return facts.change(
            db, fact, "hidden", time, actor="person", batch=batch or ids.new(time()), hidden_at=clock.utc(time())
        )


def restore(
    db: Database, fact: Fact, time: clock.Clock, *, single_valued: Set[str] = SINGLE_VALUED, batch: str = ""
) -> Fact:
    """Show a hidden fact again; where a newer value is known, the restored fact ends where that one begins."""
    batch = batch or ids.new(time())
    with db.write():
        changed = facts.change(db, fact, "restored", time, actor="person", batch=batch, hidden_at=None)
        if changed.current:
            _close_earlier_values(db, changed, time, single_valued, batch)
        return facts.get(db, fact.id, fact.owner)


def conflicts(db: Database, fact: Fact, single_valued: Set[str] = SINGLE_VALUED) -> list[Fact]:
    """Accepted facts that this one contradicts: its target, another value, other numbers, or a negation."""
    found: dict[int, Fact] = {}
    if fact.target_id:
        found[fact.target_id] = facts.get(db, fact.target_id, fact.owner)
    if fact.predicate in single_valued:
        found |= {each.id: each for each in facts.accepted_values(db, fact.owner, fact.subject, fact.predicate)}
    found |= {each.id: each for each in facts.similar(db, fact.owner, fact.statement)}
    return [
        each
        for each in found.values()
        if each.id != fact.id
        and each.current
        and (each.id == fact.target_id or not terms.is_similar(each.statement, fact.statement))
        and _same_scope(each, fact)
    ]


def expire(db: Database, owner: str, time: clock.Clock) -> int:
    """Expire proposals that have waited for 30 days, and accepted facts past their expiry date.

    Returns how many proposals have expired since the last call.
    """
    while old := facts.queued_before(db, owner, time() - MAX_WAIT):
        with db.write():
            for fact in facts.many(db, [each.id for each in old], owner):  # read again inside the write
                if fact.state == PENDING:
                    _expire(db, fact, time)
    if facts.past_expiry(db, owner, time()):
        with db.write():
            for fact in facts.past_expiry(db, owner, time()):
                _end_at_expiry(db, fact, time, "program", ids.new(time()))
    if not meta.get(db, _EXPIRED_UNREPORTED):
        return 0
    with db.write():
        count = meta.number(db, _EXPIRED_UNREPORTED)
        meta.drop(db, _EXPIRED_UNREPORTED)
    return count


def _sanitised(claim: Claim, now: datetime) -> Claim:
    """The claim with secrets masked and relative dates resolved."""
    plain = " ".join(claim.statement.split())
    masked = secrets.mask(plain)
    dated = absolute_dates.resolve(masked, claim.learned or now)
    if not dated:
        raise UsageError("an empty fact says nothing; write what is true")
    _check_length(dated)
    triple = claim.triple
    if dated != masked:
        triple = triples.parse(dated)
    if masked != plain or (triple and secrets.spans(triple.object)):
        triple = None
    return replace(claim, statement=dated, triple=triple, quote=secrets.mask(claim.quote))


def _restate_pending(db: Database, fact: Fact, claim: Claim, time: clock.Clock, batch: str) -> Fact:
    """Give a pending fact the person's own wording, without the update or deletion that it proposed."""
    triple = claim.triple or Triple("", "", "")
    return facts.change(
        db,
        fact,
        "edited",
        time,
        actor="person",
        batch=batch,
        statement=claim.statement,
        subject=triple.subject,
        predicate=triple.predicate,
        object=triple.object,
        operation="insert",
        valid_from=clock.utc(claim.valid_from or claim.learned or time()),
        expires_at=clock.utc(claim.expires) if claim.expires else None,
    )


def _check_length(statement: str) -> None:
    """Raises UsageError for a text that is too long to be a fact."""
    if len(statement) > LONGEST:
        raise UsageError(f"a fact has at most {LONGEST} characters, and this has {len(statement)}; keep it as a note")


def _equivalent(db: Database, scope: Scope, claim: Claim) -> list[Fact]:
    """Facts that state the same as the claim, in the same scope."""
    found = {
        each.id: each
        for each in facts.similar(db, scope.owner, claim.statement)
        if terms.is_similar(each.statement, claim.statement)
    }
    if claim.triple:
        for each in facts.accepted_values(db, scope.owner, claim.triple.subject, claim.triple.predicate):
            if each.object.casefold() == claim.triple.object.casefold():
                found[each.id] = each
    return [
        each
        for each in found.values()
        if (each.place, each.session_id, each.operation, each.target_id)
        == (claim.place, claim.session, claim.operation, claim.target)
        or (claim.operation == "insert" and each.operation == "update" and each.place == claim.place)
    ]


def _accept(
    db: Database, fact: Fact, time: clock.Clock, single_valued: Set[str], replacing: Fact | None, batch: str
) -> Adopted:
    proposal = _require_pending(db, fact)
    now = clock.utc(time())
    ends = [replacing] if replacing else []
    if proposal.target_id and proposal.operation in ("update", "delete"):
        ends.append(facts.get(db, proposal.target_id, fact.owner))
    state = SUPERSEDED if proposal.operation == "delete" else ACCEPTED
    changed = facts.change(db, proposal, "accepted", time, actor="person", batch=batch, state=state, decided_at=now)
    replaced = []
    for each in {each.id: each for each in ends}.values():
        if each.current:
            until = now if proposal.operation == "delete" else max(changed.began_at, each.began_at)
            replaced.append(_replace(db, each, until, time, batch))
    if state == ACCEPTED:
        replaced += _close_earlier_values(db, changed, time, single_valued, batch)
    return Adopted(facts.get(db, fact.id, fact.owner), True, _without(fact, replaced))


def _without(fact: Fact, replaced: Iterable[Fact]) -> tuple[Fact, ...]:
    """The replaced facts without the fact itself, which ends at once when a newer value is known."""
    return tuple(each for each in replaced if each.id != fact.id)


def _close_earlier_values(
    db: Database, fact: Fact, time: clock.Clock, single_valued: Set[str], batch: str
) -> tuple[Fact, ...]:
    """End each value of a single-valued predicate where the next one begins; returns the facts that ended."""
    if _is_due(time(), fact):
        return (_end_at_expiry(db, fact, time, "person", batch),)
    if fact.predicate not in single_valued:
        return ()
    values = [
        each for each in facts.accepted_values(db, fact.owner, fact.subject, fact.predicate) if _same_scope(each, fact)
    ]
    return tuple(
        _replace(db, each, after.began_at, time, batch)
        for each, after in pairwise(values)
        if each.valid_to is None or each.valid_to > after.began_at
    )


def _end_at_expiry(db: Database, fact: Fact, time: clock.Clock, actor: str, batch: str) -> Fact:
    """End a fact at its expiry date."""
    return facts.change(db, fact, EXPIRED, time, actor=actor, batch=batch, state=EXPIRED, valid_to=fact.expires_at)


def _replace(db: Database, fact: Fact, until: str, time: clock.Clock, batch: str) -> Fact:
    return facts.change(db, fact, "replaced", time, actor="person", batch=batch, state=SUPERSEDED, valid_to=until)


def _same_scope(one: Fact, other: Fact) -> bool:
    """Whether both hold in the same place and session: a fact of a project does not end one that holds elsewhere."""
    return (one.place, one.session_id) == (other.place, other.session_id)


def _require_pending(db: Database, fact: Fact) -> Fact:
    now = facts.get(db, fact.id, fact.owner)
    if now.state != PENDING:
        raise UsageError(f"{fact.handle} does not wait for approval: it is {now.state}")
    return now


def _make_room(db: Database, scope: Scope, claim: Claim, time: clock.Clock) -> None:
    """Expire the oldest proposals of a model beyond the limit; the next start reports them."""
    if claim.origin == "model":
        made = facts.pending(db, scope.owner, origin=claim.origin)
        for each in made[: max(0, len(made) + 1 - MAX_PENDING)]:
            _expire(db, each, time)


def _expire(db: Database, fact: Fact, time: clock.Clock) -> None:
    facts.change(
        db, fact, EXPIRED, time, actor="program", batch=ids.new(time()), state=EXPIRED, decided_at=clock.utc(time())
    )
    meta.increase(db, _EXPIRED_UNREPORTED)


def format_names(found: Iterable[Fact]) -> str:
    return ", ".join(f"{each.handle} “{facts.name(each)}”" for each in found)


def _is_due(now: datetime, fact: Fact) -> bool:
    """Whether its expiry date has passed."""
    return fact.expires_at is not None and fact.expires_at <= clock.utc(now)
