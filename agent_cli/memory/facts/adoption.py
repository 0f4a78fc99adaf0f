"""How a claim becomes a fact: it is added or proposed, accepted, changed and replaced. Only a person accepts: a claim
from a model, a pipe, a file or an import waits, and one that was rejected is not proposed again. A claim that repeats a
known fact is added to it as a source, and so are its dates. "I no longer live in Wels" or "I drink tea instead of
coffee" end facts, found by rules: by their triple, or because a fact about the person has all the words. Where a
predicate has one value at a time, each ends where the next one begins: dates decide, not the order in which the person
says things. Without a date, a value was true when it was said."""

import re
import time as real_time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any

from agent_cli import clock, limits, text
from agent_cli.errors import UsageError
from agent_cli.memory import tombstones
from agent_cli.memory.conversations import readings
from agent_cli.memory.facts import facts
from agent_cli.memory.facts.facts import SUPERSEDED, Fact
from agent_cli.memory.language import languages, secrets, spans, statements, terms, triples
from agent_cli.memory.language.triples import Claim, Ending, Triple
from agent_cli.memory.proposals import ACCEPTED, EXPIRED, PENDING, REJECTED, MemoryContext
from agent_cli.messages import Origin, Receipt
from agent_cli.store import events
from agent_cli.values import frozen

LONGEST = 2000  # characters of a fact
_READ = 2000  # facts at most that are compared
_BATCH = 100  # imported lines of one transaction
_PAUSE = 0.02  # seconds between these, so that other programs get their turn to write
_VERB = languages.pattern(r"^(?:<SELF> \S+|\S+ <SELF>) (?:<NOW> )?")  # "I use", "trinke ich jetzt"
_BY_PERSON = languages.pattern(r"<SELF>\b")
_AND = languages.pattern(  # between clauses, or behind "she is 71."
    r"(,? <AND> (?!<FIRST_OF_TWO_NOUNS>)(?:<THAT> )?|(?<=\d)[.!?] (?=(?-i:<NO_NAME>)\b))"
)
_SENTENCE = languages.pattern(r"(?-i:<NO_NAME>)\b")  # how a sentence begins
_THEY, _THEIR = languages.pattern(r"^(?:<THEY>) "), languages.pattern(r"^(?:<THEIR>) ")
_REOPENED: Mapping[str, Any] = {"state": ACCEPTED, "valid_to": None}
_STATES = {
    PENDING: "waits for your yes already",
    ACCEPTED: "was known already",
    REJECTED: "was rejected before",
    SUPERSEDED: "was true before",
    EXPIRED: "was proposed before and expired",
}

_NOW_BESIDE = languages.pattern(
    r"(?<!for)(?<!until)(?<!bis)(?<! ab),? <NOW>\b(?! (?:and|or|that)\b)|^<NOW>,? (?=<SELF>\b)"
)
_RELATION = languages.pattern(rf"\b<POSSESSIVE> (?:{'|'.join(triples.KIN)}) $")  # in front of a name
_JOINT = languages.expand(r"(?:,? <AND> |, )")
_LIST = languages.pattern(rf"[\w-]+(?:{_JOINT}[\w-]+)+")  # "nuts, milk and eggs"
_OF_LISTS = frozenset(("allergic_to", "likes", "dislikes", "uses"))  # behind which no second verb is likely


@frozen
class Adopted:
    fact: Fact
    new: bool  # False: the fact was known, and has one more source
    replaced: tuple[Fact, ...] = ()
    dated: bool = False  # whether the known fact has other dates now
    partly_over: tuple[Fact, ...] = ()  # known facts, of which the sentence ends a part


def claim(statement: str, origin: Origin, now: datetime | None = None, **details: Any) -> Claim:
    """A claim made from a sentence: secrets masked, and dates absolute at the time it was learned, else at `now`."""
    words, moment = secrets.mask(statement.strip()), details.get("learned") or now
    words = spans.resolve(words, moment) if moment else words
    made = Claim(words, origin, triple=triples.parse(words), **details)
    return _with_dates(made, moment) if moment else made


def claims(statement: str, origin: Origin, now: datetime | None = None, **details: Any) -> list[Claim]:
    """The claims made from the clauses of a statement that are understood alone; of one that replaces a fact, one."""
    clauses = [statement] if details.get("target") else separate(statement)
    return [claim(each, origin, now, **details) for each in clauses]


def add(memory: MemoryContext, claim: Claim) -> Adopted:
    """Add a fact that the person states, or end those that the statement says are over. Raises UsageError."""
    claim = _sanitised(claim, memory.time())
    with memory.changing() as memory:
        claim, over, partly_over = _with_target(memory, claim)
        for each in sorted(_known(memory, claim), key=lambda each: not each.is_accepted):
            if each.state == PENDING:
                # the person's own wording counts, not the update or deletion that was proposed
                restated = facts.change(memory, each, "edited", **facts.stated(claim, memory.time()))
                return accept(memory, restated)
            if each.is_open(memory.time()):
                facts.add_source(memory.db, each, claim.message, claim.quote, memory.time())
                stated = _stored(spans.Span(claim.valid_from, claim.valid_to))
                if stated.items() <= asdict(each).items():
                    return Adopted(each, new=False)
                replaced = _redate(memory, each, stated)
                return Adopted(facts.get(memory.db, each.id, each.owner), False, replaced, dated=True)
            if _has_ended(each, claim):
                return Adopted(each, new=False)
        state = SUPERSEDED if claim.operation == "delete" else ACCEPTED
        added = _settle(memory, facts.insert(memory, claim, state, "added", actor="person"), over)
        return replace(added, partly_over=tuple(partly_over))


def propose(memory: MemoryContext, claim: Claim, *, actor: str = "model") -> Fact | None:
    """Queue a claim for review; None when it is known, is pending already, was rejected or forgotten."""
    db, claim = memory.db, _sanitised(claim, memory.time())
    with db.write():
        claim, *_ = _with_target(memory, claim)
        if tombstones.contains(db, claim.statement, memory.scope.owner):
            return None
        everywhere = _known(memory, replace(claim, place="")) if claim.place else []
        for each in [*_known(memory, claim), *everywhere]:
            if each.state == REJECTED or _has_ended(each, claim):
                return None
            if each.state == PENDING or each.is_open(memory.time()):
                facts.add_source(db, each, claim.message, claim.quote, memory.time())
                return None
        return facts.insert(memory, claim, PENDING, "proposed", actor=actor)


def propose_each(
    memory: MemoryContext, found: Iterable[Claim], *, actor: str = "model"
) -> tuple[list[Fact], list[str]]:
    """Queue claims for review; the facts that wait now, and why others do not."""
    waiting, reasons = list[Fact](), list[str]()
    with memory.db.write():
        for claim in found:
            if fact := propose(memory, claim, actor=actor):
                waiting.append(fact)
            elif same := facts.same(memory.db, memory.scope.owner, claim.statement):
                reasons.append(f"{facts.format_names(same[-1:])} {_STATES[same[-1].state]}")
            else:
                short = text.one_line(claim.statement)
                reasons.append(f"“{short}” was not proposed: it is known, or you had it erased")
    return waiting, reasons


def accept(memory: MemoryContext, fact: Fact, *, replacing: Fact | None = None) -> Adopted:
    """The person accepts a proposal. `replacing`: a fact that it ends. Raises UsageError when it is not pending."""
    with memory.changing() as memory:
        proposal = facts.FACTS.require_pending(memory.db, fact)
        ends = [replacing] if replacing else []
        if proposal.target_id and proposal.operation != "insert":
            ends.append(facts.get(memory.db, proposal.target_id, fact.owner))
        state, now = SUPERSEDED if proposal.operation == "delete" else ACCEPTED, clock.utc(memory.time())
        adopted = _settle(memory, facts.change(memory, proposal, "accepted", state=state, decided_at=now), ends)
        typed = facts.format_names(each for each in adopted.replaced if each.origin == "typed")
        if typed and replacing is None and proposal.trust in readings.ORIGINS:
            raise UsageError(
                f"{proposal.handle} was proposed after something was read, and would end {typed}, which you typed: it "
                "waits until you say that it replaces that (r in `agent facts review`)"
            )
        return adopted


def edit(memory: MemoryContext, fact: Fact, statement: str) -> Fact:
    """Change the statement to what the person typed: nothing is masked, and dates in it count. Raises UsageError."""
    if not statement.strip():
        raise UsageError(f"{fact.handle} was left as it is: an empty fact cannot be kept (`agent facts rm` hides one)")
    edited = asdict(reworded(fact, statement, memory.time()))
    _check_length(edited["statement"])
    wording = {column: edited[column] for column in ("statement", "subject", "predicate", "object")}
    dates = {column: edited[column] for column in ("valid_from", "valid_to")}
    with memory.changing() as memory:
        if fact.is_accepted:
            _redate(memory, facts.change(memory, fact, "edited", **wording), dates)
        else:
            facts.change(memory, fact, "edited", **wording, **dates)
        return facts.get(memory.db, fact.id, fact.owner)


def redate(memory: MemoryContext, fact: Fact, since: datetime | None, until: datetime | None) -> Fact:
    """Correct from when until when a fact is true; None leaves it. Raises UsageError when it ends before it begins."""
    dates = _stored(spans.Span(since, until))
    if until and dates.get("valid_from", fact.valid_from or "") > dates["valid_to"]:
        raise UsageError(f"{fact.handle} was left as it is: it would end before it begins")
    with memory.changing() as memory:
        if fact.state == PENDING:
            facts.change(memory, fact, "edited", **dates)
        else:
            _redate(memory, fact, dates)
        return facts.get(memory.db, fact.id, fact.owner)


def reworded(fact: Fact, statement: str, now: datetime) -> Fact:
    """The fact with other words, the triple and the dates that they state."""
    words = spans.resolve(statement.strip(), now)
    triple = triples.parse(words) or Triple("", "", "")
    stated = _stored(spans.of_statement(words, now, begins=triple.predicate in triples.DATED))
    return replace(fact, statement=words, **(asdict(triple) | stated))


def end(memory: MemoryContext, fact: Fact) -> Fact:
    """Mark a fact as no longer true."""
    now = clock.utc(memory.time())
    with memory.db.write():
        return facts.change(memory, fact, "ended", state=SUPERSEDED, valid_to=now, decided_at=now)


def set_in_profile(memory: MemoryContext, fact: Fact, in_profile: str) -> Fact:
    """Decide whether every session is told a fact: always, or never. Raises UsageError for one that is not true now."""
    if not fact.is_open(memory.time()):
        raise UsageError(f"{fact.handle} is not true now, so no session is told it; `agent facts list` shows what is")
    with memory.db.write():
        return facts.change(memory, fact, f"told {in_profile}", in_profile=in_profile)


def restore(memory: MemoryContext, fact: Fact) -> Fact:
    """Show a hidden fact again; where a newer value is known, the restored fact ends where that one begins."""
    with memory.changing() as memory:
        changed = facts.change(memory, fact, "restored", hidden_at=None)
        if changed.is_accepted:
            _settle_values(memory, changed)
        return facts.get(memory.db, fact.id, fact.owner)


def settle_merged(memory: MemoryContext, found: Sequence[int]) -> None:
    """What follows from facts that came from another machine. One that was known here already is hidden; values follow
    each other by date; and of two that begin on the same day the later one waits for the person. Runs in the caller's
    transaction."""
    memory, now = replace(memory.in_one_batch(), actor="program"), memory.time()
    for id in found:
        fact = facts.many(memory.db, [id], memory.scope.owner)[0]
        if not fact.is_accepted or fact.is_over(now):
            continue
        scope = fact.place, fact.session_id, fact.statement.casefold()
        same = [each for each in facts.same(memory.db, fact.owner, fact.statement) if each.is_open(now)]
        alike = [each for each in same if (each.place, each.session_id, each.statement.casefold()) == scope]
        first, *others = facts.by_uid(memory.db, [fact, *(each for each in alike if each.id != id)])
        for each in others:
            facts.change(memory, each, "hidden", hidden_at=clock.utc(now))
        if first.predicate in memory.single_valued:
            rivals = [each for each in values(memory, first) if each.is_open(now) and each.day == first.day]
            first, *others = facts.by_uid(memory.db, rivals or [first])
            for each in others:
                if each.object.casefold() != first.object.casefold():
                    waits: dict[str, Any] = {"operation": "update", "target_id": first.id, "decided_at": None}
                    facts.change(memory, each, "proposed", state=PENDING, **waits)
            _settle_values(memory, first)


def conflicts(memory: MemoryContext, fact: Fact) -> list[Fact]:
    """Accepted facts, not over yet, that this one contradicts: its target, another value or number, or a negation."""
    found = facts.many(memory.db, [fact.target_id] if fact.target_id else [], fact.owner)
    found += values(memory, fact) if fact.predicate in memory.single_valued else []
    found += facts.similar(memory.db, fact.owner, fact.statement)
    return [
        each
        for each in {each.id: each for each in found}.values()
        if each.id != fact.id
        and each.is_open(memory.time())
        and (each.id == fact.target_id or not terms.is_similar(each.statement, fact.statement))
        and (each.place, each.session_id) == (fact.place, fact.session_id)
    ]


def _sanitised(claim: Claim, now: datetime) -> Claim:
    """The claim with secrets masked and dates absolute. Raises UsageError when it is empty or too long."""
    plain, moment = " ".join(claim.statement.split()), claim.learned or now
    masked = secrets.mask(plain)
    dated = spans.resolve(masked, moment)
    if not dated:
        raise UsageError("an empty fact cannot be kept; write what is true")
    _check_length(dated)
    triple = claim.triple if dated == masked else triples.parse(dated)
    if masked != plain or (triple and secrets.spans(triple.object)):
        triple = None
    if (timeless := _NOW_BESIDE.sub("", dated)) != dated and triples.parse(timeless):
        dated = timeless  # true from when it is learned, as any fact; "now" would soon be another time
    return _with_dates(replace(claim, statement=dated, triple=triple, quote=secrets.mask(claim.quote)), moment)


def _with_dates(claim: Claim, moment: datetime) -> Claim:
    """The claim with the dates of its words, where it has none yet, or else of the sentence from which a model has it.
    A deletion repeats the words of its target."""
    quote = spans.resolve(claim.quote, moment) if claim.origin == "model" else ""
    ends, predicate = claim.operation == "delete", claim.triple.predicate if claim.triple else ""
    begins = ends or predicate in triples.DATED
    stated = spans.Span() if ends else spans.of_statement(claim.statement, moment, begins=begins)
    if stated == spans.Span() and (ends or (claim.triple and triples.parse(quote) == claim.triple)):
        stated = spans.of_statement(quote, moment, begins=begins)
    return replace(claim, valid_from=claim.valid_from or stated.since, valid_to=claim.valid_to or stated.until)


def _stored(stated: spans.Span) -> dict[str, str]:
    """The dates that are stated, as columns."""
    dates = {"valid_from": stated.since, "valid_to": stated.until}
    return {column: clock.utc(moment) for column, moment in dates.items() if moment}


def _check_length(statement: str) -> None:
    if len(statement) > LONGEST:
        raise UsageError(f"a fact has at most {LONGEST} characters, and this has {len(statement)}; keep it as a note")


def _settle(memory: MemoryContext, fact: Fact, ends: Iterable[Fact]) -> Adopted:
    """End these facts where the accepted one begins, or when it says they ended; other values where the next begins."""
    until = (fact.valid_from or clock.utc(memory.time())) if fact.operation == "delete" else fact.began_at
    open_ends = [each for each in {each.id: each for each in ends}.values() if each.is_open(memory.time())]
    replaced = [_end_at(memory, each, max(until, each.valid_from or "")) for each in open_ends]
    if fact.state == ACCEPTED:
        replaced += _settle_values(memory, fact)
    others = tuple(each for each in replaced if each.id != fact.id)  # it ends itself where a newer value is known
    return Adopted(facts.get(memory.db, fact.id, fact.owner), True, others)


def _settle_values(memory: MemoryContext, fact: Fact) -> tuple[Fact, ...]:
    """End each value of the fact's predicate where the next begins; returns the facts whose end has changed."""
    ended = []
    if fact.state == ACCEPTED and fact.is_over(memory.time()):
        ended.append(facts.change(memory, fact, "ended", state=SUPERSEDED))
    if fact.predicate not in memory.single_valued:
        return tuple(ended)
    bound = ""  # where the next value begins
    for each in reversed(facts.in_order(values(memory, fact))):
        if bound and (each.valid_to is None or each.valid_to > bound):
            each = _end_at(memory, each, bound)
            ended.append(each)
        if not (each.is_over(memory.time()) and each.valid_to != bound):
            bound = min(filter(None, (bound, each.began_at)))
    return tuple({each.id: each for each in ended}.values())


def _end_at(memory: MemoryContext, fact: Fact, until: str) -> Fact:
    """End a fact at this time because of another; in the future it stays true until then."""
    state = SUPERSEDED if until <= clock.utc(memory.time()) else ACCEPTED
    return facts.change(memory, fact, "replaced", state=state, valid_to=until)


def _redate(memory: MemoryContext, fact: Fact, dates: Mapping[str, str | None]) -> tuple[Fact, ...]:
    """Correct `valid_from` and `valid_to`; values that ended where it began follow. Returns those with another end."""
    moved: dict[str, Any] = {column: moment for column, moment in dates.items() if moment != getattr(fact, column)}
    if "valid_from" in moved and fact.predicate in memory.single_valued:
        others = [each for each in values(memory, fact) if each.id != fact.id]
        for each in others:
            if each.valid_to == fact.began_at:
                facts.change(memory, each, "edited", **_REOPENED)
        if fact.valid_to in [each.began_at for each in others]:
            fact = facts.change(memory, fact, "edited", **_REOPENED)
    if moved.get("valid_to"):
        moved["state"] = ACCEPTED
    changed = facts.change(memory, fact, "edited", **moved) if moved else fact
    return tuple(each for each in _settle_values(memory, changed) if each.id != fact.id)


def values(memory: MemoryContext, fact: Fact) -> list[Fact]:
    """The values of the fact's predicate in its place and session: one of a project does not end one of elsewhere."""
    predicates = triples.forms(fact.predicate, memory.single_valued)
    found = facts.accepted_values(memory.db, fact.owner, fact.subject, predicates)
    return [each for each in found if (each.place, each.session_id) == (fact.place, fact.session_id)]


def _known(memory: MemoryContext, claim: Claim) -> list[Fact]:
    """Facts that state the same as the claim, in its scope; at last the sentence, if it ended a fact before."""
    same = facts.same(memory.db, memory.scope.owner, claim.statement)
    found = {each.id: each for each in same + facts.with_triple(memory.db, memory.scope.owner, claim.triple)}
    scope = claim.place, claim.session, claim.operation, claim.target
    repeated = [
        each
        for each in found.values()
        if (each.place, each.session_id, each.operation, each.target_id) == scope
        or ((claim.operation, each.operation) == ("insert", "update") and each.place == claim.place)
    ]
    return [*repeated, *(each for each in same if _has_ended(each, claim))]


def _has_ended(fact: Fact, claim: Claim) -> bool:
    """Whether this fact, which says the same as the claim, was a sentence that ended another."""
    return (claim.operation, fact.operation, fact.state) == ("insert", "delete", SUPERSEDED)


def open_here(memory: MemoryContext, session: int | None) -> list[Fact]:
    """The facts that hold here and in this session, now or in the future."""
    found = facts.listing(memory.db, memory.scope.owner, _READ, not_over=memory.time(), place=memory.scope.place)
    return [each for each in found if each.session_id in (None, session)]


def ended_by(memory: MemoryContext, claim: Claim) -> tuple[list[Fact], list[Fact]]:
    """The facts, true now or in the future, that a claim says are over or denies, with at most one whose `_rest` stays
    true; and those of which it ends a part that the rules cannot take out."""
    if ending := triples.parse_ending(claim.statement):
        over = None if ending.instead else triples.parse(ending.over)
        is_ended = partial(_is_ended, memory, ending, over, triples.is_about_person(claim.statement))
        ends = [(each, is_ended(each)) for each in open_here(memory, claim.session)]
        whole, parts = ([each for each, is_whole in ends if is_whole is wanted] for wanted in (True, None))
        lists = [each for each in whole if _rest(each, over)]  # of two, the second stays
        return lists[:1] + [each for each in whole if each not in lists], parts
    if claim.valid_to:
        return [], []
    if claim.triple:
        denied = replace(claim.triple, predicate=triples.opposite(claim.triple.predicate))
        found = facts.with_triple(memory.db, memory.scope.owner, denied)
    else:
        first, *others = statements.clauses(claim.statement) or [claim.statement]
        is_denial = others and terms.is_negated(first) and not triples.is_doubtful(claim.statement)
        said = first if is_denial else claim.statement  # "I am not vegan, I am vegetarian"
        where = "owner = ?1 and predicate = '' and statement >= ?2 and statement < ?2 || char(1114111) order by +id"
        alike = facts.FACTS.select(memory.db, where, (memory.scope.owner, f"{said.split(' ')[0]} "))
        denies = [each for each in alike if terms.is_negated(each.statement) != terms.is_negated(said)]
        plain = memory.db.tokens(triples.without_denial(said))
        found = [each for each in denies if memory.db.tokens(triples.without_denial(each.statement)) == plain]
    scope = claim.place, claim.session
    return [each for each in found if each.is_open(memory.time()) and (each.place, each.session_id) == scope], []


def other_values(memory: MemoryContext, session: int | None, claim: Claim) -> list[Fact]:
    """Facts that hold here and give another value to a single-valued predicate; none where that was rejected before."""
    triple, owner = claim.triple, memory.scope.owner
    if triple is None or triple.predicate not in memory.single_valued:
        return []
    if any(each.state == REJECTED for each in facts.same(memory.db, owner, claim.statement)):
        return []
    matter, places = triples.forms(triple.predicate, memory.single_valued), ("", memory.scope.place)
    return [
        each
        for each in facts.accepted_values(memory.db, owner, triple.subject, matter)
        if each.is_open(memory.time()) and each.place in places and each.session_id in (None, session)
        if each.object.casefold() != triple.object.casefold()
        if not terms.is_similar(each.statement, claim.statement)
    ]


def _with_target(memory: MemoryContext, claim: Claim) -> tuple[Claim, list[Fact], list[Fact]]:
    """The claim with the first fact that its sentence ends as its target, and what `ended_by` gives."""
    if claim.operation == "insert":
        over, parts = ended_by(memory, claim)
        claim = as_ending(memory, claim, over)
    else:
        over, parts = [facts.get(memory.db, claim.target, memory.scope.owner)] if claim.target else [], []
    return _with_relation(memory, claim, over), over, parts


def _with_relation(memory: MemoryContext, claim: Claim, over: Sequence[Fact]) -> Claim:
    """The claim with the relation that a fact which it replaces has: "my neighbour Karl" for "Karl"."""
    if claim.triple is None or claim.triple.subject == triples.PERSON:
        return claim
    before, name, behind = claim.statement.partition(claim.triple.subject)
    if name and not _RELATION.search(before):
        for each in (*over, *other_values(memory, claim.session, claim)):
            if relation := _RELATION.search(each.statement.partition(name)[0]):
                return replace(claim, statement=f"{before}{relation[0]}{name}{behind}")
    return claim


def separate(statement: str) -> list[str]:
    """The clauses of a statement where each is understood alone, as in "I sold the car, I take the bus now", or behind
    "and" or a number with the subject of the one before, as in "I live in Graz and work at Bosch"."""
    parts = statements.clauses(statement)
    if len(parts) > 1 and all(triples.parse(each) or triples.parse_ending(each) for each in parts):
        return parts
    first, *others = _AND.split(statement)
    found = [statements.main_clause(first)]
    for joint, part in zip(others[::2], others[1::2], strict=True):
        possible = map(statements.main_clause, _continuations(found[-1], part))
        if clause := next(filter(triples.parse, possible), ""):
            found.append(clause)
        else:
            found[-1] = statements.main_clause(f"{found[-1]}{joint}{part}")
    return found if len(found) > 1 and all(map(triples.parse, found)) else [statement]


def _continuations(clause: str, part: str) -> list[str]:
    """What the part behind a clause may say: itself, and with the subject of the clause. That of a denial or a plan is
    not repeated, because it may hold for both. Behind "My mother is 71" she is meant by "she" and "her"."""
    if (triple := triples.parse(clause)) is None:
        return []
    before, name, _ = clause.partition(triple.object if clause.startswith(triple.object) else triple.subject)
    said = _BY_PERSON.match(clause) or triples.RELATION.match(clause)
    subject = f"{before}{name}" if name else said[0] if said else ""
    is_subject = clause.startswith(f"{subject} ")  # in "Anna's son Felix is 4" Anna is not
    if not is_subject or terms.is_negated(clause) or spans.without_future(clause, clause) != clause:
        return [part]
    if triple.subject != triples.PERSON and triple.object[0].isdigit():
        part = _THEIR.sub(lambda _: f"{subject}'s ", _THEY.sub(lambda _: f"{subject} ", part))
    return [part] if _SENTENCE.match(part) else [part, f"{subject} {part}"]


def as_ending(memory: MemoryContext, made: Claim, over: Sequence[Fact]) -> Claim:
    """The claim of a sentence that ends these facts: it deletes them, or is in their place."""
    if not over:
        return made
    first, ending = over[0], triples.parse_ending(made.statement)
    if ending is None:
        return replace(made, operation="update", target=first.id)
    if ending.instead:
        triple = triples.parse(ending.instead)
        if triple is None and first.predicate in memory.single_valued:  # "emacs instead of vim": the editor
            triple = Triple(first.subject, first.predicate, _VERB.sub("", ending.instead, count=1))
        return replace(made, operation="update", target=first.id, triple=triple)
    since = spans.of_statement(made.statement, memory.time(), begins=True).since
    made = replace(made, target=first.id, valid_from=since, valid_to=None)
    if rest := _rest(first, triples.parse(ending.over)):
        return replace(made, operation="update", statement=rest, triple=triples.parse(rest), place=first.place)
    return replace(made, operation="delete", triple=None)


def _rest(fact: Fact, over: Triple | None) -> str:
    """What is left of "I am allergic to nuts and milk" without the nuts; empty where `over` is no part of a list."""
    if over is None or over.predicate not in _OF_LISTS or astuple(over)[:2] != (fact.subject, fact.predicate):
        return ""
    before, listed, behind = fact.statement.partition(fact.object)
    if not _LIST.fullmatch(listed) or spans.without(behind, times=False).strip(" .!"):
        return ""
    noun = re.escape(over.object)
    left = re.sub(rf"{_JOINT}{noun}\b|^{noun}{_JOINT}", "", listed, count=1, flags=re.IGNORECASE)
    return f"{before}{left}{behind}" if left != listed else ""


def _is_ended(memory: MemoryContext, ending: Ending, over: Triple | None, personal: bool, fact: Fact) -> bool | None:
    """Whether a fact is over by what a sentence, personal or not, ends: by its triple ("emacs instead of vim"
    ends the editor, not a drink), which is that of `over`, by its words, or because both are about the person, or about
    the same relative, and it has all the words of what is over, in any form. None: a part of it is over."""
    made = Triple(fact.subject, fact.predicate, fact.object)
    if ending.instead and fact.predicate in memory.single_valued and ending.over.casefold() == fact.object.casefold():
        return True
    if over and [each.casefold() for each in astuple(over)] == [each.casefold() for each in astuple(made)]:
        return True
    if not ending.instead and memory.db.tokens(ending.over) == memory.db.tokens(fact.statement):
        return True
    if ending.of and (owned := triples.OWNED.fullmatch(fact.statement)):
        made = Triple(triples.PERSON, "owns", owned["object"])
    if _rest(fact, over):
        return True
    is_same = made.subject == triples.PERSON or (not fact.subject and _BY_PERSON.match(fact.statement))
    if relative := triples.relative(fact.statement):
        is_same = is_same or relative == triples.relative(ending.over)
    if not (personal and is_same):
        return False
    words = [*terms.content_words(f"{ending.over} {ending.instead}"), *terms.content_words(fact.statement)]
    stems = {word: " ".join(tokens) for word, tokens in zip(words, memory.db.tokens_of(words), strict=True)}
    if not triples.covers(ending, fact.statement, made, stems):
        return False
    # "I no longer take ramipril" does not end "I take ramipril and atorvastatin": it must name the last word of each.
    over_stems = {stems[word] for word in terms.content_words(ending.over)}
    parts = _AND.split(fact.statement)[::2]
    last = (word for each in parts for word in terms.content_words(each)[-1:])
    return len(parts) == 1 or all(stems.get(word) in over_stems for word in last) or None


def receipt(memory: MemoryContext, adopted: Adopted, *, at_prompt: bool = False) -> str:
    """The receipt for an accepted fact; at the prompt it names the slash command that takes it back."""
    fact, replaced, now = adopted.fact, adopted.replaced, memory.time()
    dates = facts.format_dates(fact, now)
    if not adopted.new:
        return f"{facts.format_names([fact])} was known already{f'; now {dates}' if adopted.dated else ''}"
    changed = replaced[0] if fact.operation == "delete" and replaced else fact
    undo = f"({f'/undo {changed.handle}' if at_prompt else 'agent facts undo'} takes it back)"
    if fact.operation == "delete":
        each = [f"{facts.format_names([fact])} ({facts.format_dates(fact, now)})" for fact in replaced]
        return Receipt(f"ended {', '.join(each)} {undo}" if each else "nothing was ended: it was over already")
    instead = f", in place of {facts.format_names(replaced)}" if replaced else ""
    instead += " from then on" if replaced and fact.is_planned(now) else ""
    where = " for this project" if fact.place else ""
    alike = None if statements.is_event(fact.statement) else terms.alike(fact.statement)
    found = [each for each in open_here(memory, fact.session_id) if alike.fullmatch(each.statement)] if alike else []
    beside = [each for each in found if each.statement.casefold() != fact.statement.casefold()] + [*adopted.partly_over]
    stays = f"; still true beside it: {facts.format_names(beside)}" if beside else ""
    if beside and not adopted.partly_over:
        stays += f" ({'/' if at_prompt else 'agent '}forget {beside[0].handle} erases it)"
    return Receipt(f"kept {facts.format_names([fact])}{where}{f' ({dates})' if dates else ''}{instead} {undo}{stays}")


# Import from JSON lines. Each has a statement, and may have source (the external id of a message), at, since, until,
# subject, predicate and object, place and quote.


def import_lines(
    memory: MemoryContext, lines: Iterable[str], source: str, complain: Callable[[str], None], *, accepted: bool = False
) -> tuple[int, int]:
    """Import facts, once and nothing that was rejected or forgotten; how many are new, and how many lines invalid."""
    new = broken = 0
    memory, db = memory.in_one_batch(), memory.db
    rows = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    while numbered := list(islice(rows, _BATCH)):
        before = new
        with db.write():
            for number, line in numbered:
                try:
                    with db.write():  # a savepoint for each line
                        found = _parse_line(memory, line, source)
                        erased = tombstones.erased_among(db, [each.statement for each in found], memory.scope.owner)
                        if erased:
                            complain(f"line {number} was skipped: you had it erased")
                        wanted = [each for each in found if each.statement not in erased]
                        new += sum(_import_claim(memory, each, accepted) for each in wanted)
                except (ValueError, TypeError, KeyError, AttributeError, RecursionError, UsageError) as error:
                    broken += 1
                    complain(f"line {number} was skipped: {text.one_line(str(error) or type(error).__name__, 120)}")
            if new > before:
                events.append(db, memory.time, "facts imported", str(new - before), actor="import")
        real_time.sleep(_PAUSE)
    return new, broken


def _import_claim(memory: MemoryContext, claim: Claim, accepted: bool) -> bool:
    """Import a claim; whether that changed anything."""
    learned = clock.utc(claim.learned) if claim.learned else ""
    where = """owner = ? and source = ? and message_id is ? and statement = ? and place in ('', ?)
               and (message_id is not null or ?6 in ('', learned_at)) order by id desc limit 1"""
    values = (memory.scope.owner, claim.source, claim.message, claim.statement, claim.place, learned)
    before = next(iter(facts.FACTS.select(memory.db, where, values)), None)  # of the same line, imported earlier
    if before and before.state != EXPIRED and not (accepted and before.state == PENDING):
        return False
    return add(memory, claim).new if accepted else propose(memory, claim, actor="person") is not None


def _parse_line(memory: MemoryContext, line: str, source: str) -> list[Claim]:
    row = limits.load_json(line)
    if not isinstance(row, dict):
        raise ValueError("it is not a JSON object")
    statement = _text_field(row, "statement")
    if not statement:
        raise ValueError("it has no statement")
    if isinstance(row.get("source"), list | dict):
        raise ValueError("the source is not text")
    query = """select m.id from message m join session s on s.id = m.session_id
               where m.owner = ? and s.source = ? and m.external_id = ?"""
    message = memory.db.value(query, (memory.scope.owner, source, row.get("source")))
    moments = (_text_field(row, name) for name in ("at", "since", "until"))
    at, since, until = (clock.parse(each, memory.time()) if each else None for each in moments)
    if since and until and until < since:
        raise ValueError("it ends before it begins")
    details: dict[str, Any] = {"source": source, "place": _text_field(row, "place"), "message": message}
    details |= {"quote": _text_field(row, "quote") if message else ""}
    details |= {"learned": at, "valid_from": since, "valid_to": until}
    parts = [_text_field(row, name) for name in ("subject", "predicate", "object")]
    if any(parts) and not all(parts):
        raise ValueError("subject, predicate and object go together")
    if not (all(parts) or tombstones.contains(memory.db, statement, memory.scope.owner)):
        return claims(statement, "import", **details)
    made = claim(statement, "import", **details)
    return [replace(made, triple=Triple(*parts)) if all(parts) and made.statement == statement else made]


def _text_field(row: dict[str, Any], name: str) -> str:
    """A field as text on one line, empty when it is missing. Raises ValueError."""
    value = "" if row.get(name) is None else row[name]
    if not isinstance(value, str) or text.without_surrogates(value) != value:
        raise ValueError(f"the {name} is not text")
    return " ".join(value.split())
