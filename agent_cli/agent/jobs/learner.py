"""Reads finished turns for facts: one job for each session, from where the last one stopped.

The model of the conversation is asked behind its messages, so that its server, which still holds them, reads little.
What it may not see there, or does not fit, is put into a prompt of its own.
"""

from collections.abc import Sequence

from agent_cli.agent.jobs import job_context, learning
from agent_cli.agent.jobs.job_context import Effect, JobContext
from agent_cli.agent.jobs.learning import LearningTask
from agent_cli.errors import ContextExceeded
from agent_cli.memory.conversations import log, rolling_summary, sessions
from agent_cli.memory.conversations.log import Entry
from agent_cli.memory.facts import adoption, fact_extraction
from agent_cli.memory.facts.fact_extraction import AskForJson, Operation
from agent_cli.memory.facts.facts import Fact
from agent_cli.memory.scope import Scope
from agent_cli.memory.search import recall_log
from agent_cli.store import jobs
from agent_cli.store.db import Database

NO_MODEL = "no model answers, so what was said was not searched for facts yet; that is done when one answers"


def learn(context: JobContext, job: jobs.Job) -> Effect:
    """Read new messages of a session for facts, and propose them."""
    return learning.learn(context, job, _TASK) if context.learns else lambda: None


def _read(db: Database, session: int, read_to: int, characters: int) -> list[Entry]:
    """The next complete exchanges, at least one, without tool results."""
    said = [entry for entry in log.history(db, session, after=read_to) if log.is_spoken(entry)]
    return learning.exchanges(said, characters, lambda entry: len(entry.message.text), bool)


def _ask(context: JobContext, scope: Scope, session: int, new: Sequence[Entry], ask: AskForJson) -> Effect:
    known = fact_extraction.related_facts(context.db, scope.owner, new, context.time())
    found, others = _ask_after(context, session, new, known), _others(context.db, scope, session, new)
    if found is None:
        job_context.wait_for_rest(context)
        found, others = fact_extraction.extract(fact_extraction.build_prompt(new, known), ask), []

    def propose() -> None:
        for claim in fact_extraction.claims(context.db, scope.owner, found, new, others):
            adoption.propose(context.db, scope, claim, context.time)

    return propose


def _ask_after(
    context: JobContext, session: int, new: Sequence[Entry], known: Sequence[Fact]
) -> list[Operation] | None:
    """What the model finds when it is asked behind the conversation; None where that cannot be."""
    ask = context.ask_after(session, context.cancel)
    if ask is None or not _is_shown(context.db, session, new):
        return None
    try:
        instruction = fact_extraction.build_instruction(new, known)
        return fact_extraction.extract(instruction, lambda words, schema: ask(words, True))
    except ContextExceeded:
        return None


def _is_shown(db: Database, session: int, new: Sequence[Entry]) -> bool:
    """Whether the conversation, as the model sees it, has the new messages and nothing that is not to be learned."""
    folded = rolling_summary.get(db, session)
    before = folded.up_to if folded else 0
    shown = log.history(db, session, after=before)
    imported = any(part.origin == "import" for entry in shown for part in entry.parts)
    return new[0].id > before and sessions.unlearned_to(db, session) <= before and not imported


def _others(db: Database, scope: Scope, session: int, new: Sequence[Entry]) -> list[str]:
    """What the model sees there besides the new messages: nothing of it may be proposed."""
    read = {entry.id for entry in new}
    recalled = [each.text for entry in new for each in recall_log.recalled_for(db, entry.id)]
    opening = (sessions.get(db, session, scope.owner).opening or "").split("\n")
    said = (entry.message.text for entry in log.history(db, session) if entry.id not in read)
    return [*opening, *recalled, *said]


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
