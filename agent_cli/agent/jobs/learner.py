"""Reads finished turns for facts: one job for each session, from where the last one stopped."""

from collections.abc import Sequence

from agent_cli.agent.jobs import learning
from agent_cli.agent.jobs.job_context import Effect, JobContext
from agent_cli.agent.jobs.learning import LearningTask
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.conversations.log import Entry
from agent_cli.memory.facts import adoption, fact_extraction
from agent_cli.memory.facts.fact_extraction import AskForJson
from agent_cli.memory.scope import Scope
from agent_cli.store import jobs
from agent_cli.store.db import Database

NO_MODEL = "no model answers to read what was said for facts; it is read when one does"


def learn(context: JobContext, job: jobs.Job) -> Effect:
    """Read new messages of a session for facts, and propose them."""
    return learning.learn(context, job, _TASK) if context.learns else lambda: None


def _read(db: Database, session: int, read_to: int, characters: int) -> list[Entry]:
    """The next complete exchanges, at least one, without tool results."""
    said = [entry for entry in log.history(db, session, after=read_to) if log.is_spoken(entry)]
    return learning.exchanges(said, characters, lambda entry: len(entry.message.text), bool)


def _ask(context: JobContext, scope: Scope, session: int, new: Sequence[Entry], ask: AskForJson) -> Effect:
    known = fact_extraction.related_facts(context.db, scope.owner, new, context.time())
    found = fact_extraction.extract(fact_extraction.build_prompt(new, known), ask)

    def propose() -> None:
        for claim in fact_extraction.claims(context.db, scope.owner, found, new):
            adoption.propose(context.db, scope, claim, context.time)

    return propose


_TASK = LearningTask(
    no_model_error=NO_MODEL,
    unreadable_event="turns unreadable",
    characters=6000,
    read_to=sessions.read_position,
    set_read_to=sessions.set_read_to,
    read=_read,
    ask=_ask,
    counts_unreadable=True,
)
