"""Reads finished turns for facts, with the cheap model, and puts what it finds before the person.

A job of its own for each session, from where the last one stopped. Its effect (the proposals, and how far was read) is
one transaction with the job's end. When a message that was read has been erased or changed meanwhile, nothing of the
answer is kept and the rest is read anew. An answer that cannot be read parks the job, and the next turns are read all
the same.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from agent_cli.clock import Clock
from agent_cli.errors import ModelUnavailable
from agent_cli.llm.model import Cancel, ChatModel, Text
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.conversations.log import Entry
from agent_cli.memory.facts import adoption, fact_extraction
from agent_cli.memory.facts.fact_extraction import Unreadable
from agent_cli.memory.scope import Scope
from agent_cli.messages import Message
from agent_cli.store import events, ids, jobs
from agent_cli.store.db import Database

NO_MODEL = "no model answers to read what was said for facts; it is read when one does"
UNREADABLE = "turns unreadable"
_CHARACTERS = 6000  # read at a time: of more, a small model misses half


def learn(
    db: Database, time: Clock, job: jobs.Job, model: ChatModel | None, characters: int, cancel: Cancel
) -> Callable[[], None]:
    """Read the next turns of a session; gives what is to be written. Raises AgentError."""
    session = ids.number("session", job.subject)
    about = sessions.reading(db, session)
    new = _new(db, session, about[1], min(characters, _CHARACTERS)) if about else []
    if about is None or not new:
        return lambda: None
    scope = about[0]
    found, error = _asked(db, time, scope, new, model, cancel)

    def effect() -> None:
        if sessions.reading(db, session) != about:
            return
        if not unchanged(db, session, new):
            jobs.add(db, job.kind, job.subject, time())
            return
        for claim in fact_extraction.claims(db, scope.owner, found, new):
            adoption.propose(db, scope, claim, time)
        sessions.set_read_to(db, session, new[-1].id)
        if error:
            events.append(db, time, UNREADABLE, job.subject, actor="program", session=session)
        if _new(db, session, new[-1].id, characters):
            jobs.add(db, job.kind, job.subject, time())
        elif error:
            jobs.park(db, job, f"{error} ({events.count(db, UNREADABLE)} such in all)")

    return effect


def _asked(
    db: Database, time: Clock, scope: Scope, new: Sequence[Entry], model: ChatModel | None, cancel: Cancel
) -> tuple[list[fact_extraction.Operation], str]:
    """What the model found, or why that could not be read."""
    if not any(entry.message.role == "user" for entry in new):
        return [], ""  # nobody said anything here: imported words are read by nobody
    if model is None:
        raise ModelUnavailable(NO_MODEL)
    known = fact_extraction.near(db, scope.owner, new, time())
    try:
        return fact_extraction.operations(fact_extraction.question(new, known), ask_in_json(model, cancel)), ""
    except Unreadable as error:
        return [], str(error)


def ask_in_json(model: ChatModel, cancel: Cancel) -> fact_extraction.Ask:
    """The model as memory knows it: a question and a schema in, JSON out."""

    def ask(question: str, schema: Mapping[str, Any]) -> Iterator[str]:
        for chunk in model.reply([Message("user", question)], think=False, format=schema, cancel=cancel):
            if isinstance(chunk, Text):
                yield chunk.text

    return ask


def _new(db: Database, session: int, read_to: int, characters: int) -> list[Entry]:
    """The next exchanges that are over, as many as fit and at least one; their tools and what was imported apart."""
    entries = [entry for entry in log.history(db, session, after=read_to) if log.is_said(entry)]
    entries = [entry for entry in entries if not any(part.origin == "import" for part in entry.parts)]
    ends = [n for n, entry in enumerate(entries, 1) if entry.message.role == "assistant" and is_whole(entry)]
    chosen: list[Entry] = []
    start = 0
    for end in ends:
        exchange = entries[start:end]
        size = sum(len(entry.message.text) for entry in (*chosen, *exchange))
        if chosen and size > characters:
            break
        chosen, start = [*chosen, *exchange], end
    return chosen


def is_whole(entry: Entry) -> bool:
    """Whether a reply is the last one of its exchange."""
    return entry.finish is not None and not entry.message.calls


def unchanged(db: Database, session: int, read: Sequence[Entry]) -> bool:
    """Whether a session still says what was read of it."""
    now = {entry.id: entry.message.text for entry in log.history(db, session, after=read[0].id - 1)}
    return all(now.get(entry.id) == entry.message.text for entry in read)
