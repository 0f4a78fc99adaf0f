"""What waits for the person's yes, in one queue: facts today, any other kind of proposal by a row of `KINDS`.

A proposal is a value that holds all that a person is shown of it. A decision checks inside its write that the file
still says just that: of two reviewers only one decides, and nobody approves words that were never on the screen.
"""

from collections.abc import Callable, Sequence, Set
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from agent_cli import clock, text
from agent_cli.errors import UsageError
from agent_cli.memory import adoption, facts, log, sessions, triples
from agent_cli.memory.adoption import Adopted
from agent_cli.memory.claims import Triple
from agent_cli.memory.facts import PENDING, Fact
from agent_cli.memory.predicates import SINGLE
from agent_cli.memory.scope import Scope
from agent_cli.store import ids
from agent_cli.store.db import Database

STAYS, ENDS, LATER = "stays", "ends", "later"  # what becomes of a known fact with a plain yes; later: it outlives this
_SHOWN = 5  # contradicted facts; those that a yes ends, and the newest
Ticket = tuple[str, int]
"""The kind of a proposal and its number there."""


@dataclass(frozen=True)
class Reviewer:
    """Who decides, and by which table of single-valued predicates."""

    db: Database
    scope: Scope
    time: clock.Clock
    single: Set[str] = SINGLE


@dataclass(frozen=True)
class Known:
    """An accepted fact that a proposal contradicts."""

    id: int
    statement: str
    since: str
    utc_offset: int
    fate: str

    @property
    def handle(self) -> str:
        return ids.handle("fact", self.id)

    @property
    def day(self) -> str:
        return day(self.since, self.utc_offset)


@dataclass(frozen=True)
class Proposal:
    """All that is shown of something that waits. Two are equal when a person would decide on the same."""

    kind: str
    id: int
    statement: str  # in characters that can be seen: these words are kept
    hidden: bool  # whether some that cannot be seen were taken out
    edited: bool  # whether the words are the reviewer's own
    operation: str
    reach: str  # where it is true, in words
    since: str  # and from which day to which, as far as it says
    until: str
    filed: str  # who, what, whom, where that does not simply follow from the statement
    origin: str
    trust: str
    inferred: bool
    quote: str
    message: int | None
    known: tuple[Known, ...]
    more: int  # how many others it contradicts: too many to be shown, and left alone
    at: str = field(compare=False)
    utc_offset: int = field(compare=False)
    session: str = field(compare=False)  # the handle and name of where it was said
    title: str = field(compare=False)

    @property
    def handle(self) -> str:
        return ids.handle(self.kind, self.id)

    def described(self) -> dict[str, Any]:
        known = [{"id": each.handle, "statement": each.statement, "since": each.since} for each in self.known]
        told = asdict(self) | {"id": self.handle, "conflicts": known}
        told["message"] = ids.handle("message", self.message) if self.message else None
        return {key: value for key, value in told.items() if key not in ("utc_offset", "edited", "known")}


@dataclass(frozen=True)
class Decision:
    """What was decided at once, to be undone at once."""

    proposals: tuple[Proposal, ...]
    kept: bool
    receipts: tuple[str, ...]
    batch: str


@dataclass(frozen=True)
class Said:
    """A message of a passage; `source` when it is the one the proposal comes from."""

    handle: str
    role: str
    text: str
    source: bool


@dataclass(frozen=True)
class Kind:
    """How proposals of a kind are found, read and decided. What decides runs in the caller's transaction."""

    waiting: Callable[[Reviewer, int | None], list[int]]
    read: Callable[[Reviewer, int, str], Proposal | None]
    state: Callable[[Reviewer, int], str]
    accept: Callable[[Reviewer, Proposal, bool, str], str]
    reject: Callable[[Reviewer, Proposal, str], str]
    take_back: Callable[[Reviewer, str], list[str]]


def waiting(reviewer: Reviewer, session: int | None = None) -> list[Ticket]:
    """What waits, the oldest of each kind first; with a session, what was said in it or is true in it alone."""
    return [(name, id) for name, kind in KINDS.items() for id in kind.waiting(reviewer, session)]


def read(reviewer: Reviewer, ticket: Ticket, words: str = "") -> Proposal | None:
    """A proposal as it would be shown, with other words for it or its own; None when it waits no more."""
    return KINDS[ticket[0]].read(reviewer, ticket[1], one_line(words))


def keep(reviewer: Reviewer, proposal: Proposal) -> Decision:
    """The person's yes. Raises UsageError when it was decided or changed since it was read."""
    return _decide(reviewer, [proposal], lambda each, batch: KINDS[each.kind].accept(reviewer, each, False, batch))


def supersede(reviewer: Reviewer, proposal: Proposal) -> Decision:
    """Yes, and what it contradicts ends. Raises UsageError like `keep`."""
    return _decide(reviewer, [proposal], lambda each, batch: KINDS[each.kind].accept(reviewer, each, True, batch))


def reject(reviewer: Reviewer, proposal: Proposal) -> Decision:
    """The person's no. Raises UsageError like `keep`."""
    decision = _decide(reviewer, [proposal], lambda each, batch: KINDS[each.kind].reject(reviewer, each, batch))
    return replace(decision, kept=False)


def keep_all(reviewer: Reviewer, proposals: Sequence[Proposal]) -> Decision:
    """Yes to all of these that still are as they were read."""

    def accept(each: Proposal, batch: str) -> str:
        return KINDS[each.kind].accept(reviewer, each, False, batch)

    with reviewer.db.write():
        batch = ids.new(reviewer.time())
        done = []
        for each in proposals:
            try:
                done.append(_decide(reviewer, [each], accept, batch))
            except UsageError:
                continue  # decided meanwhile, or one of these contradicts another: it is shown by itself
        return Decision(
            tuple(each.proposals[0] for each in done), True, tuple(each.receipts[0] for each in done), batch
        )


def undo(reviewer: Reviewer, decision: Decision) -> list[str]:
    """Take a decision back; what was decided waits again. Raises UsageError when a later change stands in the way."""
    with reviewer.db.write():
        return [
            receipt
            for kind in dict.fromkeys(each.kind for each in decision.proposals)
            for receipt in KINDS[kind].take_back(reviewer, decision.batch)
        ]


def passage(reviewer: Reviewer, proposal: Proposal) -> list[Said]:
    """Its source message with two messages before and after. Raises UsageError when there is none."""
    if proposal.message is None:
        raise UsageError(f"{proposal.handle} comes from no message")
    return [
        Said(entry.handle, entry.message.role, entry.message.text, entry.id == proposal.message)
        for entry in log.around(reviewer.db, reviewer.scope.owner, proposal.message, 2, 2)
    ]


def expired(reviewer: Reviewer) -> str:
    """That proposals went unread, if any did since this was last told."""
    count = adoption.expire(reviewer.db, reviewer.scope.owner, reviewer.time)
    limits = f"each waits for {adoption.WAIT.days} days at most, and {adoption.CAP} at once"
    return f"{_counted(count, 'proposal')} expired unread: {limits}" if count else ""


def news(reviewer: Reviewer) -> list[str]:
    """What a person is told at the start: what expired, and what waits."""
    told = [expired(reviewer)]
    count = len(waiting(reviewer))
    told.append(f"{count} {'memory waits' if count == 1 else 'memories wait'} for your yes: /review" if count else "")
    return [line for line in told if line]


def receipt(adopted: Adopted) -> str:
    """What is printed of a fact that was accepted: `kept f14, replaces f31 (until 21 Nov 2026)`."""
    line = f"kept {adopted.fact.handle}"
    for each in adopted.replaced:
        until = day(each.valid_to or "", each.utc_offset)
        if each.id == adopted.fact.id:
            line += f", true until {until}"
        else:
            line += f", {'ends' if adopted.fact.operation == 'delete' else 'replaces'} {each.handle} (until {until})"
    return line


def reach(scope: Scope, fact: Fact) -> str:
    """Where a fact is true, in words."""
    if fact.session_id:
        return f"in session {ids.handle('session', fact.session_id)} alone"
    if not fact.place:
        return "everywhere"
    return "in this project" if fact.place == scope.place else f"in {one_line(fact.place)}"


def one_line(words: str) -> str:
    """As it can be seen, on one line."""
    return " ".join(text.visible(words).split())


def day(stored: str, minutes: int) -> str:
    """A stored time as `3 May 2026`."""
    moment = clock.local(stored, minutes)
    return f"{moment.day} {moment:%b %Y}"


def _decide(
    reviewer: Reviewer, proposals: Sequence[Proposal], decide: Callable[[Proposal, str], str], batch: str = ""
) -> Decision:
    """Decide, if each still is what was shown."""
    batch = batch or ids.new(reviewer.time())
    with reviewer.db.write():
        for each in proposals:
            _check(reviewer, each)
        return Decision(tuple(proposals), True, tuple(decide(each, batch) for each in proposals), batch)


def _check(reviewer: Reviewer, shown: Proposal) -> None:
    kind = KINDS[shown.kind]
    now = kind.read(reviewer, shown.id, shown.statement if shown.edited else "")
    if now is None:
        raise UsageError(f"{shown.handle} was decided meanwhile: it is {kind.state(reviewer, shown.id)}")
    if now != shown:
        raise UsageError(f"{shown.handle} has changed since it was shown; look at it again")


def _counted(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


# Facts.


def _waiting_facts(reviewer: Reviewer, session: int | None) -> list[int]:
    rows = reviewer.db.rows(
        """select f.id from fact f left join message m on m.id = f.message_id
           where f.owner = ?1 and f.state = 'pending' and f.hidden_at is null
             and (?2 is null or f.session_id = ?2 or m.session_id = ?2)
           order by f.id""",
        (reviewer.scope.owner, session),
    )
    return [id for (id,) in rows]


def _read_fact(reviewer: Reviewer, id: int, words: str) -> Proposal | None:
    fact = next(iter(facts.many(reviewer.db, [id], reviewer.scope.owner)), None)
    if fact is None or fact.state != PENDING or fact.hidden_at is not None:
        return None
    statement = words or one_line(fact.statement)
    if statement != fact.statement:
        triple = triples.parse(statement) or Triple("", "", "")
        worded = replace(
            fact, statement=statement, subject=triple.subject, predicate=triple.predicate, object=triple.object
        )
    else:
        worded = fact
    known = [
        Known(each.id, one_line(each.statement), each.since, each.utc_offset, _fate(each, worded, reviewer.single))
        for each in adoption.conflicts(reviewer.db, worded, reviewer.single)
    ]
    known.sort(key=lambda each: (each.fate == STAYS, -each.id))
    shown = tuple(known[:_SHOWN])
    at, offset, session, title = _said_in(reviewer, fact)
    return Proposal(
        "fact", fact.id, statement, one_line(fact.statement) != " ".join(fact.statement.split()) and not words,
        bool(words), fact.operation, reach(reviewer.scope, fact), _day(fact, fact.valid_from),
        _day(fact, fact.expires_at), _filed(worded), fact.origin, fact.trust, bool(fact.inferred),
        one_line(fact.quote), fact.message_id, shown, len(known) - len(shown), at, offset, session, title,
    )  # fmt: skip


def _fate(known: Fact, fact: Fact, single: Set[str]) -> str:
    """What becomes of a known fact when this one is accepted as it is."""
    if known.id == fact.target_id and fact.operation in ("update", "delete"):
        return ENDS
    if fact.predicate in single and (known.subject, known.predicate) == (fact.subject, fact.predicate):
        return ENDS if (known.since, known.id) < (fact.since, fact.id) else LATER
    return STAYS


def _said_in(reviewer: Reviewer, fact: Fact) -> tuple[str, int, str, str]:
    """When and in which session it was said."""
    row = reviewer.db.row("select session_id, at, utc_offset from message where id = ?", (fact.message_id,))
    session, at, offset = row or (None, fact.learned_at, fact.utc_offset)
    if session is None:
        return at, offset, "", ""
    found = sessions.get(reviewer.db, session, reviewer.scope.owner)
    return at, offset, found.handle, one_line(sessions.name(reviewer.db, found))


def _filed(fact: Fact) -> str:
    """A model takes a statement apart as it likes: what is approved is shown."""
    triple = Triple(fact.subject, fact.predicate, fact.object)
    if not fact.predicate or triple == triples.parse(fact.statement):
        return ""
    return one_line(f"{fact.subject} · {fact.predicate} · {fact.object}")


def _day(fact: Fact, moment: str | None) -> str:
    return day(moment, fact.utc_offset) if moment else ""


def _fact_state(reviewer: Reviewer, id: int) -> str:
    found = facts.many(reviewer.db, [id], reviewer.scope.owner)
    return ("hidden" if found[0].hidden_at else found[0].state) if found else "gone"


def _accept_fact(reviewer: Reviewer, proposal: Proposal, replacing: bool, batch: str) -> str:
    db, time, single = reviewer.db, reviewer.time, reviewer.single
    fact = facts.get(db, proposal.id, reviewer.scope.owner)
    if proposal.statement != fact.statement:
        fact = adoption.edit(db, fact, proposal.statement, time, single=single, batch=batch)
    known = facts.many(db, [each.id for each in proposal.known if replacing], fact.owner)
    adopted = adoption.accept(db, fact, time, single=single, replacing=known[0] if known else None, batch=batch)
    gone = {each.id for each in adopted.replaced}
    ended = [adoption.end(db, each, time, batch=batch) for each in known[1:] if each.id not in gone]
    return receipt(replace(adopted, replaced=(*adopted.replaced, *ended)))


def _reject_fact(reviewer: Reviewer, proposal: Proposal, batch: str) -> str:
    fact = facts.get(reviewer.db, proposal.id, reviewer.scope.owner)
    return f"rejected {adoption.reject(reviewer.db, fact, reviewer.time, batch=batch).handle}"


def _take_back_facts(reviewer: Reviewer, batch: str) -> list[str]:
    changed_since = reviewer.db.value(
        """select v.fact_id from fact_version v join fact_version w on w.fact_id = v.fact_id and w.id > v.id
           where v.batch = ?1 and v.undone = 0 and w.batch <> ?1 and w.undone = 0 limit 1""",
        (batch,),
    )
    if changed_since:
        raise UsageError(
            f"f{changed_since} was changed since, and stays as it is; `agent facts undo` takes changes back"
        )
    undone = {each.id: each for each in facts.take_back(reviewer.db, reviewer.scope.owner, batch, reviewer.time)}
    return [f"{each.handle} waits again" if each.state == PENDING else f"{each.handle} is {_truth(each)}"
            for each in undone.values()]  # fmt: skip


def _truth(fact: Fact) -> str:
    return "true again" if fact.current else fact.state


KINDS: dict[str, Kind] = {
    "fact": Kind(_waiting_facts, _read_fact, _fact_state, _accept_fact, _reject_fact, _take_back_facts),
}


def age(moment: str, now: datetime) -> str:
    """How long ago that was, as one says it; beyond two months the day."""
    then = datetime.fromisoformat(moment)
    minutes = int((now - then).total_seconds() // 60)
    for size, name in ((1440, "day"), (60, "hour"), (1, "minute")):
        if minutes >= size:
            count = minutes // size
            return f"{_counted(count, name)} ago" if count <= 60 else f"on {day(moment, clock.offset(now))}"
    return "just now"
