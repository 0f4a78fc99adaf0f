"""A claim: a statement proposed as a fact, before it is adopted."""

import re
from datetime import datetime

from agent_cli.memory.language import languages
from agent_cli.messages import Origin
from agent_cli.values import frozen

MAX_LENGTH = 300  # characters of a statement
_NOT_A_FACT = languages.pattern(  # a question, or an instruction to the assistant
    r"^<QUESTION_START>\b(?=.*\?)|\?[^\w?]*$|^<INSTRUCTION>\b|\b<INSTRUCTIONS_MEANT>\b|\b<ASSISTANT_MUST>\b"
)


@frozen
class Triple:
    """Who, what, whom: ("person", "lives_in", "Graz")."""

    subject: str
    predicate: str
    object: str


@frozen
class Claim:
    """A statement proposed as a fact. Its secrets are masked and its dates absolute."""

    statement: str
    origin: Origin
    triple: Triple | None = None
    quote: str = ""
    message: int | None = None  # id of the message that holds the quote
    trust: str = ""  # the least trusted origin among its sources; empty: `origin`
    inferred: bool = False
    operation: str = "insert"  # insert, update or delete the target
    target: int | None = None
    place: str = ""  # empty: everywhere
    session: int | None = None  # only in this session
    learned: datetime | None = None  # None: now
    valid_from: datetime | None = None  # None: from when it is learned
    valid_to: datetime | None = None
    source: str | None = None
    read_in: int | None = None  # id of a message with a file, a pipe or a tool's result in the turn that proposes it


def is_fact(statement: str) -> bool:
    """Whether a statement could be a fact: not empty, not long, no question, no instruction to the assistant."""
    return bool(re.search(r"\w", statement)) and len(statement) <= MAX_LENGTH and not _NOT_A_FACT.search(statement)
