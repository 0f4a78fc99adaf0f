"""A proposal that waits for a yes, of whatever kind, and the words in which its days and places are told."""

from collections.abc import Set
from dataclasses import asdict, field
from datetime import datetime
from typing import Any

from agent_cli import clock, text
from agent_cli.memory.facts.facts import Fact
from agent_cli.memory.language.predicates import SINGLE_VALUED
from agent_cli.memory.scope import Scope
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

STAYS, ENDS, LATER = "stays", "ends", "later"  # what becomes of a known fact with a plain yes; later: it outlives this


@frozen
class Reviewer:
    """Who decides, and by which table of single-valued predicates."""

    db: Database
    scope: Scope
    time: clock.Clock
    single: Set[str] = SINGLE_VALUED


@frozen
class ConflictingFact:
    """An accepted fact that a proposal contradicts."""

    id: int
    statement: str
    since: str
    utc_offset: int
    outcome: str

    @property
    def handle(self) -> str:
        return ids.handle("fact", self.id)

    @property
    def day(self) -> str:
        return format_day(self.since, self.utc_offset)


@frozen
class Proposal:
    """All that is shown of something that waits. Two are equal when a person would decide on the same."""

    kind: str
    id: int
    statement: str  # in characters that can be seen: these words are kept; of a skill its whole text
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
    known: tuple[ConflictingFact, ...]
    more: int  # how many others it contradicts: too many to be shown, and left alone
    at: str = field(compare=False)
    utc_offset: int = field(compare=False)
    session: str = field(compare=False)  # the handle and name of where it was said
    title: str = field(compare=False)
    heading: str = ""  # of what is no single sentence: what it is called, and its lines behind + or -, all that a yes
    body: tuple[str, ...] = ()  # would take out or bring; behind @ stands where in it they are

    @property
    def handle(self) -> str:
        return ids.handle(self.kind, self.id)

    def described(self) -> dict[str, Any]:
        known = [{"id": each.handle, "statement": each.statement, "since": each.since} for each in self.known]
        told = asdict(self) | {"id": self.handle, "conflicts": known}
        told["message"] = ids.handle("message", self.message) if self.message else None
        left_out = {"utc_offset", "edited", "known"} | ({"heading", "body"} if not self.body else set())
        return {key: value for key, value in told.items() if key not in left_out}


def describe_scope(scope: Scope, fact: Fact) -> str:
    """Where a fact is true, in words."""
    if fact.session_id:
        return f"in session {ids.handle('session', fact.session_id)} alone"
    if not fact.place:
        return "everywhere"
    return "in this project" if fact.place == scope.place else f"in {visible_line(fact.place)}"


def visible_line(words: str) -> str:
    """As it can be seen, on one line."""
    return " ".join(text.visible(words).split())


def format_day(stored: str, minutes: int) -> str:
    """A stored time as `3 May 2026`."""
    moment = clock.local(stored, minutes)
    return f"{moment.day} {moment:%b %Y}"


def describe_age(moment: str, now: datetime) -> str:
    """How long ago that was, as one says it; beyond two months the day."""
    then = datetime.fromisoformat(moment)
    minutes = int((now - then).total_seconds() // 60)
    for size, name in ((1440, "day"), (60, "hour"), (1, "minute")):
        if minutes >= size:
            count = minutes // size
            return f"{text.counted(count, name)} ago" if count <= 60 else f"on {format_day(moment, clock.offset(now))}"
    return "just now"
