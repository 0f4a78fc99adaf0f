"""How a claim becomes a fact: it is proposed, accepted, rejected, replaced or expires.

Only a person accepts. A claim from a model, a pipe, a file or an import waits for approval, and one that was rejected
is not proposed again. A claim that repeats a known fact is added to that fact as a source, and its dates to those of
the fact. Where a predicate has one value at a time, the newer truth ends the older one (succession.py).
"""

from collections.abc import Iterable, Set
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any

from agent_cli import clock
from agent_cli.errors import UsageError
from agent_cli.memory import tombstones
from agent_cli.memory.dates import absolute_dates, validity
from agent_cli.memory.facts import facts, known_facts, succession
from agent_cli.memory.facts.facts import ACCEPTED, EXPIRED, PENDING, REJECTED, SUPERSEDED, Fact
from agent_cli.memory.language import secrets, terms, triples
from agent_cli.memory.language.triples import SINGLE_VALUED, Claim, Triple
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
    dated: bool = False  # whether the known fact has other dates now


def claim(statement: str, origin: Origin, now: datetime | None = None, **details: Any) -> Claim:
    """A claim made from a sentence: secrets masked, dates absolute, and with a triple where a rule can parse it.

    Dates are read at the time it was learned, else at `now`, else when the claim becomes a fact.
    """
    masked = secrets.mask(statement.strip())
    moment = details.get("learned") or now
    masked = absolute_dates.resolve(masked, moment) if moment else masked
    made = Claim(masked, origin, triple=triples.parse(masked), **details)
    return _with_dates(made, moment) if moment else made


def add(
    db: Database,
    scope: Scope,
    claim: Claim,
    time: clock.Clock,
    single_valued: Set[str] = SINGLE_VALUED,
    *,
    batch: str = "",
) -> Adopted:
    """Add a fact that the person states, or end those that the statement says are over.

    Raises UsageError when the statement is empty or too long.
    """
    claim, over = known_facts.with_target(db, scope, _sanitised(claim, time()), time(), single_valued)
    batch = batch or ids.new(time())
    with db.write():
        for each in sorted(known_facts.repeated_by(db, scope, claim), key=lambda each: not each.is_accepted):
            if each.state == PENDING:
                return _accept(db, _restate_pending(db, each, claim, time, batch), time, single_valued, None, batch)
            if each.is_open(time()):
                return _add_to_known(db, each, claim, time, single_valued, batch)
        if claim.operation == "insert" and (said := known_facts.earlier_ending(db, scope, claim)):
            return Adopted(said, new=False)
        state = SUPERSEDED if claim.operation == "delete" else ACCEPTED
        fact = facts.insert(db, scope, claim, state, "added", time, actor="person", batch=batch)
        return _settle(db, fact, over, time, single_valued, batch)


def propose(
    db: Database, scope: Scope, claim: Claim, time: clock.Clock, *, actor: str = "model", batch: str = ""
) -> Fact | None:
    """Queue a claim for review; None when it is known, is pending already, was rejected or forgotten."""
    claim, _ = known_facts.with_target(db, scope, _sanitised(claim, time()), time(), SINGLE_VALUED)
    with db.write():
        if tombstones.contains(db, claim.statement, scope.owner):
            return None
        for each in known_facts.repeated_by(db, scope, claim):
            if each.state == REJECTED:
                return None
            if each.state == PENDING or each.is_open(time()):
                facts.add_source(db, each, claim.message, claim.quote, time())
                return None
        if claim.operation == "insert" and known_facts.earlier_ending(db, scope, claim):
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
    """Change the statement to what the person typed: nothing is masked, and dates in it count.

    Raises UsageError when it is empty.
    """
    if not statement.strip():
        raise UsageError(f"{fact.handle} was left as it is: an empty fact cannot be kept (`agent facts rm` hides one)")
    edited = reworded(fact, statement, time())
    _check_length(edited.statement)
    batch = batch or ids.new(time())
    with db.write():
        columns = ("statement", "subject", "predicate", "object")
        wording = {column: getattr(edited, column) for column in columns}
        dates = {"valid_from": edited.valid_from, "valid_to": edited.valid_to}
        if fact.is_accepted:
            changed = facts.change(db, fact, "edited", time, actor="person", batch=batch, **wording)
            succession.redate(db, changed, dates, time, single_valued, batch)
        else:
            facts.change(db, fact, "edited", time, actor="person", batch=batch, **wording, **dates)
        return facts.get(db, fact.id, fact.owner)


def redate(
    db: Database,
    fact: Fact,
    since: datetime | None,
    until: datetime | None,
    time: clock.Clock,
    single_valued: Set[str] = SINGLE_VALUED,
) -> Fact:
    """Correct from when until when a fact is true; None leaves it. Raises UsageError when it ends before it begins."""
    dates, batch = _stored(validity.Validity(since, until)), ids.new(time())
    if until and dates.get("valid_from", fact.began_at) > dates["valid_to"]:
        raise UsageError(f"{fact.handle} was left as it is: it would end before it begins")
    with db.write():
        if fact.state == PENDING:
            facts.change(db, fact, "edited", time, actor="person", batch=batch, **dates)
        else:
            succession.redate(db, fact, dates, time, single_valued, batch)
        return facts.get(db, fact.id, fact.owner)


def reworded(fact: Fact, statement: str, now: datetime) -> Fact:
    """The fact with other words, the triple and the dates that they state."""
    words = absolute_dates.resolve(statement.strip(), now)
    triple = triples.parse(words) or Triple("", "", "")
    stated = _stored(validity.find(words, now, begins=triple.predicate in triples.DATED))
    return replace(
        fact,
        statement=words,
        subject=triple.subject,
        predicate=triple.predicate,
        object=triple.object,
        valid_from=stated.get("valid_from", fact.valid_from),
        valid_to=stated.get("valid_to", fact.valid_to),
    )


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


def set_in_profile(db: Database, fact: Fact, in_profile: str, time: clock.Clock) -> Fact:
    """Decide whether every session is told a fact: always, never, or (empty) as the profile chooses."""
    with db.write():
        return facts.change(
            db, fact, f"told {in_profile}", time, actor="person", batch=ids.new(time()), in_profile=in_profile
        )


def restore(
    db: Database, fact: Fact, time: clock.Clock, *, single_valued: Set[str] = SINGLE_VALUED, batch: str = ""
) -> Fact:
    """Show a hidden fact again; where a newer value is known, the restored fact ends where that one begins."""
    batch = batch or ids.new(time())
    with db.write():
        changed = facts.change(db, fact, "restored", time, actor="person", batch=batch, hidden_at=None)
        if changed.is_accepted:
            succession.settle(db, changed, time, single_valued, batch)
        return facts.get(db, fact.id, fact.owner)


def conflicts(db: Database, fact: Fact, now: datetime, single_valued: Set[str] = SINGLE_VALUED) -> list[Fact]:
    """Accepted facts, not over yet, that this one contradicts: its target, another value or number, or a negation."""
    found: dict[int, Fact] = {}
    if fact.target_id:
        found[fact.target_id] = facts.get(db, fact.target_id, fact.owner)
    if fact.predicate in single_valued:
        found |= {each.id: each for each in succession.values(db, fact, single_valued)}
    found |= {each.id: each for each in facts.similar(db, fact.owner, fact.statement)}
    return [
        each
        for each in found.values()
        if each.id != fact.id
        and each.is_open(now)
        and (each.id == fact.target_id or not terms.is_similar(each.statement, fact.statement))
        and succession.same_scope(each, fact)
    ]


def expire(db: Database, owner: str, time: clock.Clock) -> int:
    """Expire proposals that have waited for 30 days; returns how many have expired since the last call."""
    while old := facts.queued_before(db, owner, time() - MAX_WAIT):
        with db.write():
            for fact in facts.many(db, [each.id for each in old], owner):  # read again inside the write
                if fact.state == PENDING:
                    _expire(db, fact, time)
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
        raise UsageError("an empty fact cannot be kept; write what is true")
    _check_length(dated)
    triple = claim.triple
    if dated != masked:
        triple = triples.parse(dated)
    if masked != plain or (triple and secrets.spans(triple.object)):
        triple = None
    claim = replace(claim, statement=dated, triple=triple, quote=secrets.mask(claim.quote))
    return _with_dates(claim, claim.learned or now)


def _with_dates(claim: Claim, moment: datetime) -> Claim:
    """The claim with the dates of its words, where it has none yet; a deletion repeats the words of its target."""
    if claim.operation == "delete":
        return claim
    predicate = claim.triple.predicate if claim.triple else ""
    stated = validity.find(claim.statement, moment, begins=predicate in triples.DATED)
    return replace(claim, valid_from=claim.valid_from or stated.since, valid_to=claim.valid_to or stated.until)


def _stored(stated: validity.Validity) -> dict[str, str]:
    """The dates that are stated, as columns."""
    dates = {"valid_from": stated.since, "valid_to": stated.until}
    return {column: clock.utc(moment) for column, moment in dates.items() if moment}


def _add_to_known(
    db: Database, known: Fact, claim: Claim, time: clock.Clock, single_valued: Set[str], batch: str
) -> Adopted:
    """Add a claim to the fact that says the same: as a source, and its dates where they differ."""
    facts.add_source(db, known, claim.message, claim.quote, time())
    stated = _stored(validity.Validity(claim.valid_from, claim.valid_to))
    if stated.items() <= asdict(known).items():
        return Adopted(known, new=False)
    replaced = succession.redate(db, known, stated, time, single_valued, batch)
    return Adopted(facts.get(db, known.id, known.owner), False, replaced, dated=True)


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
        operation=claim.operation,
        learned_at=clock.utc(claim.learned or time()),
        valid_from=clock.utc(claim.valid_from) if claim.valid_from else None,
        valid_to=clock.utc(claim.valid_to) if claim.valid_to else None,
    )


def _check_length(statement: str) -> None:
    """Raises UsageError for a text that is too long to be a fact."""
    if len(statement) > LONGEST:
        raise UsageError(f"a fact has at most {LONGEST} characters, and this has {len(statement)}; keep it as a note")


def _accept(
    db: Database, fact: Fact, time: clock.Clock, single_valued: Set[str], replacing: Fact | None, batch: str
) -> Adopted:
    proposal = _require_pending(db, fact)
    ends = [replacing] if replacing else []
    if proposal.target_id and proposal.operation in ("update", "delete"):
        ends.append(facts.get(db, proposal.target_id, fact.owner))
    state, now = SUPERSEDED if proposal.operation == "delete" else ACCEPTED, clock.utc(time())
    changed = facts.change(db, proposal, "accepted", time, actor="person", batch=batch, state=state, decided_at=now)
    adopted = _settle(db, changed, ends, time, single_valued, batch)
    succession.require_second_key(proposal, adopted.replaced if replacing is None else ())
    return adopted


def _settle(
    db: Database, fact: Fact, ends: Iterable[Fact], time: clock.Clock, single_valued: Set[str], batch: str
) -> Adopted:
    """End these facts where the accepted one begins, or when it says they ended; other values where the next begins."""
    replaced = []
    until = (fact.valid_from or clock.utc(time())) if fact.operation == "delete" else fact.began_at
    for each in {each.id: each for each in ends}.values():
        if each.is_open(time()):
            replaced.append(succession.replace(db, each, max(until, each.began_at), time, batch))
    if fact.state == ACCEPTED:
        replaced += succession.settle(db, fact, time, single_valued, batch)
    others = tuple(each for each in replaced if each.id != fact.id)  # it ends itself where a newer value is known
    return Adopted(facts.get(db, fact.id, fact.owner), True, others)


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
