"""Looks back on a conversation that rests for a skill, with the cheap model, and puts what it finds before the person.

A job for each session, once it was left alone for ten minutes or is closed; each message is read once. Its effect (the
proposal, and how far was read) is one transaction with the job's end. When a message that was read has changed, or
anything was forgotten meanwhile, nothing of the answer is kept and the rest is read anew.
"""

from collections.abc import Callable, Sequence

from agent_cli import clock
from agent_cli.agent.jobs.learner import ask_in_json, is_whole, unchanged
from agent_cli.agent.listener import REST
from agent_cli.clock import Clock
from agent_cli.errors import ModelUnavailable
from agent_cli.llm.model import Cancel, ChatModel
from agent_cli.memory import tombstones
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.conversations.log import Entry
from agent_cli.memory.facts.fact_extraction import Unreadable
from agent_cli.memory.skills import skill_extraction as reflection
from agent_cli.memory.skills import skills
from agent_cli.memory.skills.skill_extraction import Found, Used
from agent_cli.store import events, ids, jobs
from agent_cli.store.db import Database

NO_MODEL = "no model answers to look back on a conversation; it is done when one does"
UNREADABLE = "reflection unreadable"
_CHARACTERS = 12_000  # read at a time: of more, a small model misses half
_EXCHANGES = 2  # fewer, and no call of a tool, teach no way of doing anything


def reflect(
    db: Database, time: Clock, job: jobs.Job, model: ChatModel | None, characters: int, cancel: Cancel
) -> Callable[[], None]:
    """Read what is new in a session; gives what is to be written. Raises AgentError."""
    number = ids.number("session", job.subject)
    about = sessions.reading(db, number)
    if about is None:
        return lambda: None
    owner = about[0].owner
    session = sessions.get(db, number, owner)
    rested = clock.local(session.last_at, 0) + REST
    if session.kind != "chat" or (session.closed_at is None and time() < rested):
        return lambda: jobs.add(db, job.kind, job.subject, time(), rested) if session.kind == "chat" else None
    rounds = tombstones.rounds(db)
    new = _new(db, number, min(characters, _CHARACTERS))
    if not _teaches(new):
        return lambda: None
    if model is None:
        raise ModelUnavailable(NO_MODEL)
    used = reflection.used(db, owner, log.history(db, number))
    found, error = _asked(db, time, owner, new, used, model, cancel)

    def effect() -> None:
        if sessions.reading(db, number) is None:
            return
        if tombstones.rounds(db) != rounds or not unchanged(db, number, new):
            jobs.add(db, job.kind, job.subject, time())
            return
        if found:
            _propose(db, time, owner, number, found, used, new)
        sessions.set_reflected_to(db, number, new[-1].id)
        if error:
            events.append(db, time, UNREADABLE, job.subject, actor="program", session=number)
        if _teaches(_new(db, number, characters)):
            jobs.add(db, job.kind, job.subject, time())
        elif error:
            jobs.park(db, job, error)

    return effect


def _asked(
    db: Database, time: Clock, owner: str, new: Sequence[Entry], used: Sequence[Used], model: ChatModel, cancel: Cancel
) -> tuple[Found | None, str]:
    """What the model found, or why that could not be read."""
    asked = reflection.question(new, reflection.known(db, owner, new, time()), used)
    try:
        return reflection.skill(asked, ask_in_json(model, cancel)), ""
    except Unreadable as error:
        return None, str(error)


def _propose(
    db: Database, time: Clock, owner: str, session: int, found: Found, used: Sequence[Used], new: Sequence[Entry]
) -> None:
    made = reflection.proposed(db, owner, found, used)
    if made:
        skills.propose(
            db, owner, made.text, time, origin="model", trust=reflection.trust(new), session=session, base=made.base
        )


def _new(db: Database, session: int, characters: int) -> list[Entry]:
    """The next exchanges that are over, with their tools, as many as fit and at least what can teach; imports apart."""
    told = log.history(db, session, after=sessions.reflected_to(db, session))
    entries = [entry for entry in told if entry.message.role == "tool" or log.is_said(entry)]
    entries = [entry for entry in entries if not any(part.origin == "import" for part in entry.parts)]
    chosen: list[Entry] = []
    start = room = 0
    for end in [n for n, entry in enumerate(entries, 1) if entry.message.role == "assistant" and is_whole(entry)]:
        exchange = entries[start:end]
        room += sum(reflection.size(entry) for entry in exchange)
        if room > characters and _teaches(chosen):  # less would be passed over for ever
            break
        chosen, start = [*chosen, *exchange], end
    return chosen


def _teaches(entries: Sequence[Entry]) -> bool:
    """Whether a way of doing something can stand in it at all."""
    said = sum(entry.message.role == "user" for entry in entries)
    return said >= _EXCHANGES or (said > 0 and any(entry.message.calls for entry in entries))
