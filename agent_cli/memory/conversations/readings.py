"""What was read in a turn: a file, a pipe, a tool's result. What is proposed then may be the idea of that text.

So a proposal is trusted no further than what was read before it, and names the message in which that stands.
"""

import json
from collections.abc import Iterable, Sequence

from agent_cli.memory.conversations import log
from agent_cli.memory.conversations.log import Entry
from agent_cli.memory.conversations.quotes import Quote, least_trusted, rank
from agent_cli.messages import Origin
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.text import one_line
from agent_cli.values import frozen

ORIGINS: tuple[Origin, ...] = ("file", "piped", "tool")
PROGRAM_WORDED = (  # tools whose results are the program's own text
    "jot",
    "save_note",
    "propose_fact",
    "create_reminder",
    "complete_task",
    "draft_message",
    "calculate",
)
_APPROVED = ("read_skill",)  # tools whose results the person has approved


@frozen
class Reading:
    """What was read in a turn and does not come from the person: whatever is proposed in it may be its idea."""

    message: int
    origin: Origin
    name: str  # of the file, or the tool

    @property
    def handle(self) -> str:
        return ids.handle("message", self.message)


def read_in_turn(entries: Iterable[Entry]) -> Reading | None:
    """The least trusted of what was read in the last turn of these messages, the latest of its kind."""
    found: list[Reading] = []
    for entry in entries:
        message = entry.message
        if message.role == "user":
            found = [Reading(entry.id, part.origin, part.name) for part in entry.parts if part.origin in ORIGINS]
        elif message.role == "tool" and not entry.failed and message.tool_name not in (*PROGRAM_WORDED, *_APPROVED):
            found.append(Reading(entry.id, "tool", message.tool_name))
    return max(found, key=lambda each: (rank(each.origin), each.message), default=None)


def after(db: Database, message: int) -> Reading | None:
    """What was read in the turn that a message of the person began."""
    entries = log.history(db, log.session_of(db, message) or 0, after=message - 1)
    end = next((n for n, entry in enumerate(entries) if n and entry.message.role == "user"), len(entries))
    return read_in_turn(entries[:end])


def describe(db: Database, messages: Sequence[int]) -> tuple[str, int | None]:
    """What was read in the last of these messages that has any, as `fetch_feed weather, m313`, and its id."""
    for message in reversed(messages):
        session = log.session_of(db, message)
        found = read_in_turn(log.history(db, session, after=message - 1, before=message + 1)) if session else None
        if found:
            tool = found.origin == "tool"
            what = found.name if tool else {"file": "the file"}.get(found.origin, "what was piped in")
            words = one_line(_arguments_of(db, message) if tool else found.name, 60)
            return f"{' '.join(filter(None, (what, words)))}, {found.handle}", message
    return "", None


def trust_after(quote: Quote | None, reading: Reading | None) -> Origin:
    """How far a proposal can be trusted: as its quote, and no further than what was read in its turn."""
    if reading is None:
        return quote.trust if quote else "model"
    return least_trusted((reading.origin, *([quote.trust] if quote else [])))


def _arguments_of(db: Database, result: int) -> str:
    """The arguments of the call that a tool's result answers, as words."""
    found = db.value(
        """select c.arguments from said r join said q on q.session_id = r.session_id and q.id < r.id
           join tool_call c on c.message_id = q.id and c.call_id = r.answers
           where r.id = ? order by q.id desc limit 1""",
        (result,),
    )
    return " ".join(str(value) for value in json.loads(found).values()) if found else ""
