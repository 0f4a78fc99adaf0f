"""What is said to be true, before it is a fact."""

import re
from datetime import datetime

from agent_cli.messages import Origin
from agent_cli.text import Pattern
from agent_cli.values import frozen

LONGEST = 300  # characters of a statement
_NO_FACT = Pattern(  # a question, or an order to the assistant
    r"^(?:who|what|when|where|why|how|which|do|does|did|is|are|was|were|can|could|should|would|will|wer|was|wann|wo"
    r"|warum|wie|welche[rs]?|ist|sind|hat|kann|soll)\b(?=.*\?)|\?\W*$"
    r"|^(?:please|bitte|always|never|immer|nie|niemals|from now on|ab jetzt|von nun an|ignore|disregard|forget|remember"
    r"|answer|respond|reply|act|pretend|obey|do not|don't|you|your|du|sie sollen|dein\w*|ignoriere?|vergiss|antworte"
    r"|merke?|system|assistant|the (?:assistant|agent|ai|model|system)|der assistent|das modell|die ki)\b"
    r"|\b(?:previous|prior|above|system) (?:instructions?|prompt)\b"
    r"|\b(?:assistant|agent|ai|model|assistent|ki|du|you) (?:must|should|has to|shall|muss|soll(?:te|st)?|musst)\b",
    re.IGNORECASE,
)


@frozen
class Triple:
    """Who, what, whom: ("person", "lives_in", "Graz")."""

    subject: str
    predicate: str
    object: str


@frozen
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


def is_fact(statement: str) -> bool:
    """Whether a statement could be a fact: not empty, not long, no question, no order to the assistant."""
    return bool(re.search(r"\w", statement)) and len(statement) <= LONGEST and not _NO_FACT.search(statement)
