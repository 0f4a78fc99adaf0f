"""Reads a conversation for a skill, ten minutes after its last message or once it is closed.

One job for each session; each message is read once.
"""

from collections.abc import Sequence

from agent_cli import clock
from agent_cli.agent.jobs import learning
from agent_cli.agent.jobs.job_context import Effect, JobContext
from agent_cli.agent.jobs.learning import LearningTask
from agent_cli.agent.listener import REFLECT_DELAY
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.conversations.log import Entry
from agent_cli.memory.facts.fact_extraction import AskForJson
from agent_cli.memory.scope import Scope
from agent_cli.memory.skills import skill_extraction, skills
from agent_cli.store import jobs
from agent_cli.store.db import Database

NO_MODEL = "no model answers, so a conversation was not examined for skills yet; that is done when one answers"
_LEAST_EXCHANGES = 2  # fewer, without a tool call, hold no procedure


def reflect(context: JobContext, job: jobs.Job) -> Effect:
    """Read a conversation for a skill, and propose it."""
    number = learning.session_of(context.db, job)
    read = sessions.read_position(context.db, number) if context.learns and number else None
    session = sessions.get(context.db, number, read[0].owner) if number and read else None
    if session is None or session.kind != "chat":
        return lambda: None
    rested = clock.local(session.last_at, 0) + REFLECT_DELAY
    if session.closed_at is None and context.time() < rested:
        return lambda: jobs.add(context.db, job.kind, job.subject, context.time(), rested)
    return learning.learn(context, job, _TASK)


def _read_to(db: Database, session: int) -> tuple[Scope, int] | None:
    read = sessions.read_position(db, session)
    return (read[0], sessions.reflection_position(db, session)) if read else None


def _read(db: Database, session: int, read_to: int, characters: int) -> list[Entry]:
    """The next complete exchanges with tool results; none while they cannot hold a skill."""
    entries = log.history(db, session, after=read_to)
    said = [entry for entry in entries if entry.message.role == "tool" or log.is_spoken(entry)]
    new = learning.exchanges(
        said, characters, skill_extraction.prompt_size, _can_teach
    )  # fewer would never be read again
    return new if _can_teach(new) else []


def _can_teach(entries: Sequence[Entry]) -> bool:
    """Whether the messages can hold a skill: enough exchanges, or a tool call."""
    said = sum(entry.message.role == "user" for entry in entries)
    return said >= _LEAST_EXCHANGES or (said > 0 and any(entry.message.calls for entry in entries))


def _ask(context: JobContext, scope: Scope, session: int, new: Sequence[Entry], ask: AskForJson) -> Effect:
    db, owner = context.db, scope.owner
    used = skill_extraction.skills_read(db, owner, log.history(db, session))
    known = skill_extraction.related_skills(db, owner, new, context.time())
    found = skill_extraction.extract(skill_extraction.build_prompt(new, known, used), ask)

    def propose() -> None:
        made = skill_extraction.draft(db, owner, found, used) if found else None
        if made:
            trust = skill_extraction.least_trusted(db, new)
            skills.propose(
                db, owner, made.text, context.time, origin="model", trust=trust, session=session, base=made.base
            )

    return propose


_TASK = LearningTask(
    no_model_error=NO_MODEL,
    unreadable_event="reflection unreadable",
    characters=12_000,
    read_to=_read_to,
    set_read_to=sessions.set_reflected_to,
    read=_read,
    ask=_ask,
)
