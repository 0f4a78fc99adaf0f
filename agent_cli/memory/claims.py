"""What is said to be true, before it is a fact."""

from dataclasses import dataclass
from datetime import datetime

from agent_cli.messages import Origin


@dataclass(frozen=True)
class Triple:
    """Who, what, whom: ("person", "lives_in", "Graz")."""

    subject: str
    predicate: str
    object: str


@dataclass(frozen=True)
class Claim:
    """Something that is said to be true, before it is a fact. Its secrets are masked and its dates absolute."""

    statement: str
    origin: Origin
    triple: Triple | None = None
    quote: str = ""
    message: int | None = None  # where the quote stands
    trust: str = ""  # the origin least trusted of all it was made from; empty: its own
    inferred: bool = False
    operation: str = "insert"  # or update, delete: what becomes of the target
    target: int | None = None
    place: str = ""  # empty: true everywhere
    session: int | None = None  # true in this session alone
    learned: datetime | None = None  # None: now
    valid_from: datetime | None = None
    expires: datetime | None = None
    source: str | None = None
