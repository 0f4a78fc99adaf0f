"""Looks back on a conversation for a skill, once it was left alone for ten minutes or is closed.

A job for each session; each message is read once.
"""

from collections.abc import Sequence

from agent_cli import clock
from agent_cli.agent.jobs import learning
from agent_cli.agent.jobs.job_context import Desk, Effect
from agent_cli.agent.jobs.learning import Lesson
from agent_cli.agent.listener import REST
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.conversations.log import Entry
from agent_cli.memory.facts.fact_extraction import Ask
from agent_cli.memory.scope import Scope
from agent_cli.memory.skills import skill_adoption, skill_extraction
from agent_cli.store import ids, jobs
from agent_cli.store.db import Database

NO_MODEL = "no model answers to look back on a conversation; it is done when one does"
_EXCHANGES = 2  # fewer, and no call of a tool, teach no way of doing anything


def reflect(desk: Desk, job: jobs.Job) -> Effect:
    """Look back on a conversation for a skill, which then waits for a yes."""
    number = ids.number("session", job.subject)
    read = sessions.read_position(desk.db, number) if desk.learns else None
    session = sessions.get(desk.db, number, read[0].owner) if read else None
    if session is None or session.kind != "chat":
        return lambda: None
    rested = clock.local(session.last_at, 0) + REST
    if session.closed_at is None and desk.time() < rested:
        return lambda: jobs.add(desk.db, job.kind, job.subject, desk.time(), rested)
    return learning.learn(desk, job, _LESSON)


def _read_to(db: Database, session: int) -> tuple[Scope, int] | None:
    read = sessions.read_position(db, session)
    return (read[0], sessions.reflected_to(db, session)) if read else None


def _read(db: Database, session: int, read_to: int, characters: int) -> list[Entry]:
    """The next exchanges that are over, with their tools; none while they can teach nothing."""
    entries = log.history(db, session, after=read_to)
    said = [entry for entry in entries if entry.message.role == "tool" or log.is_spoken(entry)]
    new = learning.exchanges(said, characters, skill_extraction.size, _teaches)  # less would be passed over for ever
    return new if _teaches(new) else []


def _teaches(entries: Sequence[Entry]) -> bool:
    """Whether a way of doing something can stand in it at all."""
    said = sum(entry.message.role == "user" for entry in entries)
    return said >= _EXCHANGES or (said > 0 and any(entry.message.calls for entry in entries))


def _ask(desk: Desk, scope: Scope, session: int, new: Sequence[Entry], ask: Ask) -> Effect:
    db, owner = desk.db, scope.owner
    used = skill_extraction.used(db, owner, log.history(db, session))
    known = skill_extraction.known(db, owner, new, desk.time())
    found = skill_extraction.skill(skill_extraction.question(new, known, used), ask)

    def propose() -> None:
        made = skill_extraction.proposed(db, owner, found, used) if found else None
        if made:
            trust = skill_extraction.trust(new)
            skill_adoption.propose(
                db, owner, made.text, desk.time, origin="model", trust=trust, session=session, base=made.base
            )

    return propose


_LESSON = Lesson(
    no_model=NO_MODEL,
    unreadable="reflection unreadable",
    characters=12_000,
    read_to=_read_to,
    set_read_to=sessions.set_reflected_to,
    read=_read,
    ask=_ask,
)
