"""How something becomes a fact: proposed, accepted, rejected, replaced, expired.

Only a person accepts. What a model, a pipe, a file or an import brings waits for a yes; what was rejected does not come
back; what says the same as a fact becomes a further source of it. Of a predicate with one value at a time the newer
truth ends the older one, by its date alone.
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

LONGEST = 2000  # characters of a fact: more is a text
CAP = 50  # proposals that nobody typed and that may wait at once
WAIT = timedelta(days=30)
_UNTOLD = "expired untold"


@frozen
class Adopted:
    fact: Fact
    new: bool  # False: it was known, and has one more source
    replaced: tuple[Fact, ...] = ()


def claim(statement: str, origin: Origin, now: datetime | None = None, **told: Any) -> Claim:
    """A claim made of plain words: secrets masked, dates absolute, and taken apart where a rule knows the sentence.

    Words for time are understood as of when it was learned, else `now`, else when it becomes a fact.
    """
    masked = secrets.mask(statement.strip())
    moment = told.get("learned") or now
    masked = absolute_dates.resolve(masked, moment) if moment else masked
    return Claim(masked, origin, triple=triples.parse(masked), **told)


def add(
    db: Database, scope: Scope, claim: Claim, time: clock.Clock, single: Set[str] = SINGLE_VALUED, *, batch: str = ""
) -> Adopted:
    """Take in what the person says is true. Raises UsageError when it says nothing or too much."""
    claim = _safe(claim, time())
    batch = batch or ids.new(time())
    with db.write():
        for each in sorted(_same(db, scope, claim), key=lambda each: not each.current):
            if each.state == PENDING:
                return Adopted(*_accept(db, _said(db, each, claim, time, batch), time, single, None, batch))
            if each.current:
                facts.support(db, each, claim.message, claim.quote, time())
                return Adopted(each, new=False)
        fact = facts.insert(db, scope, claim, ACCEPTED, "added", time, actor="person", batch=batch)
        replaced = _settle(db, fact, time, single, batch)
        return Adopted(facts.get(db, fact.id, fact.owner), True, _besides(fact, replaced))


def propose(
    db: Database, scope: Scope, claim: Claim, time: clock.Clock, *, actor: str = "model", batch: str = ""
) -> Fact | None:
    """Queue a claim for review; None when it is known, waits already, was rejected or forgotten."""
    claim = _safe(claim, time())
    with db.write():
        if tombstones.knows(db, claim.statement, scope.owner):
            return None
        for each in _same(db, scope, claim):
            if each.state == REJECTED:
                return None
            if each.state == PENDING or each.current:
                facts.support(db, each, claim.message, claim.quote, time())
                return None
        _make_room(db, scope, claim, time)
        batch = batch or ids.new(time())
        return facts.insert(db, scope, claim, PENDING, "proposed", time, actor=actor, batch=batch)


def accept(
    db: Database,
    fact: Fact,
    time: clock.Clock,
    *,
    single: Set[str] = SINGLE_VALUED,
    replacing: Fact | None = None,
    batch: str = "",
) -> Adopted:
    """The person's yes. `replacing`: a fact that ends with it. Raises UsageError when it was decided meanwhile."""
    with db.write():
        return Adopted(*_accept(db, fact, time, single, replacing, batch or ids.new(time())))


def reject(db: Database, fact: Fact, time: clock.Clock, *, batch: str = "") -> Fact:
    """The person's no: the same proposal does not return. Raises UsageError like `accept`."""
    with db.write():
        waiting = _waiting(db, fact)
        return facts.change(
            db,
            waiting,
            REJECTED,
            time,
            actor="person",
            batch=batch or ids.new(time()),
            state=REJECTED,
            decided_at=clock.utc(time()),
        )


def edit(
    db: Database, fact: Fact, statement: str, time: clock.Clock, *, single: Set[str] = SINGLE_VALUED, batch: str = ""
) -> Fact:
    """Other words for a fact, as the person typed them: nothing is masked. Raises UsageError when they are none."""
    words = absolute_dates.resolve(statement.strip(), time())
    if not words:
        raise UsageError(f"{fact.handle} was left as it is: an empty fact says nothing (`agent facts rm` hides one)")
    _fits(words)
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
            _settle(db, changed, time, single, batch)
        return facts.get(db, fact.id, fact.owner)


def end(db: Database, fact: Fact, time: clock.Clock, *, batch: str = "") -> Fact:
    """It is true no longer."""
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
    """Put it out of lists, search and recall, until `restore`."""
    with db.write():
        return facts.change(
            db, fact, "hidden", time, actor="person", batch=batch or ids.new(time()), hidden_at=clock.utc(time())
        )


def restore(db: Database, fact: Fact, time: clock.Clock, *, single: Set[str] = SINGLE_VALUED, batch: str = "") -> Fact:
    """Bring it back; where another value has come since, it is that one's past."""
    batch = batch or ids.new(time())
    with db.write():
        changed = facts.change(db, fact, "restored", time, actor="person", batch=batch, hidden_at=None)
        if changed.current:
            _settle(db, changed, time, single, batch)
        return facts.get(db, fact.id, fact.owner)


def conflicts(db: Database, fact: Fact, single: Set[str] = SINGLE_VALUED) -> list[Fact]:
    """Accepted facts that this one contradicts: its target, another value of the same, other numbers or a negation."""
    found: dict[int, Fact] = {}
    if fact.target_id:
        found[fact.target_id] = facts.get(db, fact.target_id, fact.owner)
    if fact.predicate in single:
        found |= {each.id: each for each in facts.told(db, fact.owner, fact.subject, fact.predicate)}
    found |= {each.id: each for each in facts.alike(db, fact.owner, fact.statement)}
    return [
        each
        for each in found.values()
        if each.id != fact.id
        and each.current
        and (each.id == fact.target_id or not terms.is_similar(each.statement, fact.statement))
        and _meet(each, fact)
    ]


def expire(db: Database, owner: str, time: clock.Clock) -> int:
    """Let go of proposals that nobody looked at for 30 days, and of facts whose own time has run out.

    Returns how many proposals went since this was last told.
    """
    while old := facts.queued_before(db, owner, time() - WAIT):
        with db.write():
            for fact in facts.many(db, [each.id for each in old], owner):  # as they are now that nobody else writes
                if fact.state == PENDING:
                    _expire(db, fact, time)
    if facts.lapsed(db, owner, time()):
        with db.write():
            for fact in facts.lapsed(db, owner, time()):
                _lapse(db, fact, time, "program", ids.new(time()))
    if not meta.get(db, _UNTOLD):
        return 0
    with db.write():
        told = meta.number(db, _UNTOLD)
        meta.drop(db, _UNTOLD)
    return told


def _safe(claim: Claim, now: datetime) -> Claim:
    """Without secrets, and with dates for words of time."""
    plain = " ".join(claim.statement.split())
    masked = secrets.mask(plain)
    dated = absolute_dates.resolve(masked, claim.learned or now)
    if not dated:
        raise UsageError("an empty fact says nothing; write what is true")
    _fits(dated)
    triple = claim.triple
    if dated != masked:
        triple = triples.parse(dated)
    if masked != plain or (triple and secrets.spans(triple.object)):
        triple = None
    return replace(claim, statement=dated, triple=triple, quote=secrets.mask(claim.quote))


def _said(db: Database, fact: Fact, claim: Claim, time: clock.Clock, batch: str) -> Fact:
    """What waits, as the person says it now: what else a proposal would have done, nobody has looked at."""
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


def _fits(statement: str) -> None:
    """Raises UsageError for a text that is too long to be a fact."""
    if len(statement) > LONGEST:
        raise UsageError(f"a fact has at most {LONGEST} characters, and this has {len(statement)}; keep it as a note")


def _same(db: Database, scope: Scope, claim: Claim) -> list[Fact]:
    """Facts that say what the claim says, in the same place."""
    found = {
        each.id: each
        for each in facts.alike(db, scope.owner, claim.statement)
        if terms.is_similar(each.statement, claim.statement)
    }
    if claim.triple:
        for each in facts.told(db, scope.owner, claim.triple.subject, claim.triple.predicate):
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
    db: Database, fact: Fact, time: clock.Clock, single: Set[str], replacing: Fact | None, batch: str
) -> tuple[Fact, bool, tuple[Fact, ...]]:
    waiting = _waiting(db, fact)
    now = clock.utc(time())
    ends = [replacing] if replacing else []
    if waiting.target_id and waiting.operation in ("update", "delete"):
        ends.append(facts.get(db, waiting.target_id, fact.owner))
    state = SUPERSEDED if waiting.operation == "delete" else ACCEPTED
    changed = facts.change(db, waiting, "accepted", time, actor="person", batch=batch, state=state, decided_at=now)
    replaced = []
    for each in {each.id: each for each in ends}.values():
        if each.current:
            until = now if waiting.operation == "delete" else max(changed.since, each.since)
            replaced.append(_replace(db, each, until, time, batch))
    if state == ACCEPTED:
        replaced += _settle(db, changed, time, single, batch)
    return facts.get(db, fact.id, fact.owner), True, _besides(fact, replaced)


def _besides(fact: Fact, replaced: Iterable[Fact]) -> tuple[Fact, ...]:
    """Without the fact itself: one that comes late may be the past of another already."""
    return tuple(each for each in replaced if each.id != fact.id)


def _settle(db: Database, fact: Fact, time: clock.Clock, single: Set[str], batch: str) -> tuple[Fact, ...]:
    """Let each value of a single-valued predicate end where the next one begins."""
    if due(time(), fact):
        return (_lapse(db, fact, time, "person", batch),)
    if fact.predicate not in single:
        return ()
    values = [each for each in facts.told(db, fact.owner, fact.subject, fact.predicate) if _meet(each, fact)]
    return tuple(
        _replace(db, each, after.since, time, batch)
        for each, after in pairwise(values)
        if each.valid_to is None or each.valid_to > after.since
    )


def _lapse(db: Database, fact: Fact, time: clock.Clock, actor: str, batch: str) -> Fact:
    """It was true until its own time ran out."""
    return facts.change(db, fact, EXPIRED, time, actor=actor, batch=batch, state=EXPIRED, valid_to=fact.expires_at)


def _replace(db: Database, fact: Fact, until: str, time: clock.Clock, batch: str) -> Fact:
    return facts.change(db, fact, "replaced", time, actor="person", batch=batch, state=SUPERSEDED, valid_to=until)


def _meet(one: Fact, other: Fact) -> bool:
    """Whether both can be true in the same place: one of a project does not end what is true elsewhere."""
    return (one.place, one.session_id) == (other.place, other.session_id)


def _waiting(db: Database, fact: Fact) -> Fact:
    now = facts.get(db, fact.id, fact.owner)
    if now.state != PENDING:
        raise UsageError(f"{fact.handle} waits for no yes: it is {now.state}")
    return now


def _make_room(db: Database, scope: Scope, claim: Claim, time: clock.Clock) -> None:
    """At most so many proposals wait that nobody typed: the oldest expires, and that is told at the next start."""
    if claim.origin == "model":
        made = facts.pending(db, scope.owner, origin=claim.origin)
        for each in made[: max(0, len(made) + 1 - CAP)]:
            _expire(db, each, time)


def _expire(db: Database, fact: Fact, time: clock.Clock) -> None:
    facts.change(
        db, fact, EXPIRED, time, actor="program", batch=ids.new(time()), state=EXPIRED, decided_at=clock.utc(time())
    )
    meta.increase(db, _UNTOLD)


def names(found: Iterable[Fact]) -> str:
    return ", ".join(f"{each.handle} “{facts.name(each)}”" for each in found)


def due(now: datetime, fact: Fact) -> bool:
    """Whether its own time has run out."""
    return fact.expires_at is not None and fact.expires_at <= clock.utc(now)
