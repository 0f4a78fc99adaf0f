"""A proposal of any kind that waits for approval, and how its dates and places are formatted."""

from collections.abc import Callable, Set
from dataclasses import asdict, field
from datetime import datetime
from typing import Any

from agent_cli import clock, text
from agent_cli.memory import versions
from agent_cli.memory.conversations import readings
from agent_cli.memory.facts.facts import Fact
from agent_cli.memory.language.triples import SINGLE_VALUED
from agent_cli.memory.scope import Scope
from agent_cli.memory.versions import VersionedKind
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

STAYS, ENDS, LATER = (
    "stays",
    "ends",
    "later",
)  # what acceptance does to a known fact; later: the known fact is the newer one


EVERYWHERE = "everywhere"  # where a fact is true that holds in no single project or session


@frozen
class Reviewer:
    """What a review works with: the database, the person's scope, the clock and the single-valued predicates."""

    db: Database
    scope: Scope
    time: clock.Clock
    single_valued: Set[str] = SINGLE_VALUED


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
        return clock.format_day(self.since, self.utc_offset)


@frozen
class Proposal:
    """All that is shown of a proposal. Two are equal when a person would decide on the same words."""

    kind: str
    id: int
    statement: str  # in visible characters, as it will be stored; for a skill its whole text
    hidden: bool  # whether invisible characters were removed
    edited: bool  # whether the reviewer changed the words
    operation: str
    reach: str  # where it is true, in words
    since: str  # from which day to which, where that is known
    until: str
    filed: str  # subject, predicate and object, where they do not follow from the statement
    origin: str
    trust: str
    inferred: bool
    quote: str
    message: int | None
    known: tuple[ConflictingFact, ...]
    more: int  # how many further facts it contradicts, which are not shown and not changed
    at: str = field(compare=False)
    utc_offset: int = field(compare=False)
    session: str = field(compare=False)  # the handle of the session it comes from; `title` is its name
    title: str = field(compare=False)
    read: str = ""  # what was read in the turn that proposed it, with its message
    read_message: int | None = None
    heading: str = ""  # of a skill: its name and description
    body: tuple[str, ...] = ()  # of a skill: the lines that acceptance adds (+) or removes (-), with positions (@)

    @property
    def handle(self) -> str:
        return ids.handle(self.kind, self.id)

    @property
    def foreign(self) -> bool:
        """Whether it rests on what was read from somebody else: it ends what is known only by a key of its own."""
        return self.trust in readings.ORIGINS

    def describe(self) -> dict[str, Any]:
        known = [{"id": each.handle, "statement": each.statement, "since": each.since} for each in self.known]
        values = asdict(self) | {"id": self.handle, "conflicts": known}
        values["message"] = ids.handle("message", self.message) if self.message else None
        left_out = {"utc_offset", "edited", "known", "read_message"} | ({"heading", "body"} if not self.body else set())
        return {key: value for key, value in values.items() if key not in left_out}


def describe_scope(scope: Scope, fact: Fact) -> str:
    """Where a fact is true, in words."""
    if fact.session_id:
        return f"in session {ids.handle('session', fact.session_id)} alone"
    if not fact.place:
        return EVERYWHERE
    return "in this project" if fact.place == scope.place else f"in {visible_line(fact.place)}"


def describe_changes(reviewer: Reviewer, kind: VersionedKind, batch: str, words: Callable[[int], str]) -> list[str]:
    """What a batch changed, a line for each row. `words`: those of a row by which the person knows it."""
    return [
        f"{ids.handle(kind, id)} “{visible_line(words(id))}”, {change} on {clock.format_day(at, offset)}"
        for id, change, at, offset in versions.of_batch(reviewer.db, kind, batch)
    ]


def visible_line(words: str) -> str:
    """The visible characters, on one line."""
    return " ".join(text.visible(words).split())


def describe_age(moment: str, now: datetime) -> str:
    """How long ago a stored time was, as `3 hours ago`; beyond 60 days the date."""
    then = datetime.fromisoformat(moment)
    minutes = int((now - then).total_seconds() // 60)
    for size, name in ((1440, "day"), (60, "hour"), (1, "minute")):
        if minutes >= size:
            count = minutes // size
            return (
                f"{text.counted(count, name)} ago"
                if count <= 60
                else f"on {clock.format_day(moment, clock.offset(now))}"
            )
    return "just now"
