"""Writes summaries: of a closed session, and of a day, week, month, quarter or year.

As jobs, outside any transaction, or while the person waits, word by word.
"""

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain

from agent_cli.agent.jobs.job_context import Effect, JobContext, text_of
from agent_cli.errors import AgentError, ContextExceeded
from agent_cli.memory import tombstones
from agent_cli.memory.conversations import digest, log
from agent_cli.memory.dates.periods import Period
from agent_cli.memory.lifecycle import closing
from agent_cli.memory.summaries import period_summaries, summaries
from agent_cli.messages import Message
from agent_cli.store import ids, jobs
from agent_cli.text import unfenced


def summariser(context: JobContext) -> tuple[summaries.AskModel | None, str, str]:
    """How a summary is made: a model to ask or None for an extract, the name of the method, and that of the model."""
    if (model := context.model()) is None:
        return None, "extract", ""

    def ask(question: str) -> Iterator[str]:
        return text_of(model.reply([Message("user", unfenced(question))], think=False, cancel=context.cancel))

    return ask, "model", model.name


def session_words(context: JobContext, session: int) -> tuple[Iterator[str], str, str]:
    """The words of a session's summary as they arrive, the name of the method, and that of the model."""
    transcript = digest.transcript(log.history(context.db, session), context.max_characters)
    ask, method, name = summariser(context)
    ask_after = context.ask_after(session, context.cancel) if ask and transcript else None
    if ask_after:  # behind the messages of the conversation; those that were folded away stand in the instruction
        folded = digest.transcript(digest.folded(context.db, session), context.max_characters)
        words = summaries.stream_after(folded, lambda instruction: ask_after(instruction, False))
        with suppress(ContextExceeded):
            return chain([next(words, "")], words), method, name
    return summaries.stream(transcript, ask), method, name


def close(context: JobContext, session: int) -> Iterator[str]:
    """Close a session with its summary, whose words are given as they arrive."""
    db, rounds, summary = context.db, tombstones.erasure_count(context.db), ""
    words, method, name = session_words(context, session)
    for piece in words:
        summary += piece
        yield piece
    closing.close_with(db, session, summaries.compose(db, session, summary, method, name), context.time, rounds)


def summarise(context: JobContext, job: jobs.Job) -> Effect:
    db, session = context.db, ids.number("session", job.subject)

    def state() -> tuple[str | None, int]:
        return db.value("select closed_at from session where id = ?", (session,)), log.count(db, session)

    before, made = state(), None
    if all(before):  # else it was continued or erased
        words, method, name = session_words(context, session)
        made = summaries.compose(db, session, "".join(words), method, name)

    def effect() -> None:
        if state() == before:
            if made:
                summaries.save_session(db, session, made, context.time)
            period_summaries.queue_session(db, session, context.time())
        else:  # it was continued meanwhile
            jobs.add(db, job.kind, job.subject, context.time())

    return effect


def summarise_period(context: JobContext, job: jobs.Job) -> Effect:
    db = context.db
    owner, period = period_summaries.parse_subject(job.subject)
    pause = period_summaries.time_to_wait(db, owner, period, context.time())
    if pause is not None:
        return lambda: jobs.add(db, job.kind, job.subject, context.time(), context.time() + pause)
    material = period_summaries.collect(db, owner, period, context.max_characters)
    made = None
    if material.items and not material.is_current(summaries.MODEL):  # before a server is asked for a model
        ask, method, name = summariser(context)
        if not material.is_current(method):
            words = "".join(period_summaries.stream(material, ask, context.max_characters))
            made = period_summaries.compose(material, words, method, name)

    def effect() -> None:
        if period_summaries.collect(db, owner, period, context.max_characters) != material:
            period_summaries.queue(db, owner, period, context.time())  # its sources have changed
        elif made:
            period_summaries.save(db, material, made, context.time)
        elif material.items:
            period_summaries.queue_enclosing(db, material, context.time())
        else:
            _without_sources(context, material)

    return effect


def write_period(context: JobContext, owner: str, period: Period, *, force: bool = False) -> Iterator[str]:
    """Write a summary now, and yield its text; `force`: if up to date too. Raises AgentError when sources change."""
    material = period_summaries.collect(context.db, owner, period, context.max_characters)
    if not material.items:
        with context.db.write():
            _without_sources(context, material)
        return
    if material.is_current(summaries.MODEL) and not force:  # before a server is asked for a model
        return
    ask, method, name = summariser(context)
    if material.is_current(method) and not force:
        return
    words = ""
    for piece in period_summaries.stream(material, ask, context.max_characters):
        words += piece
        yield piece
    made = period_summaries.compose(material, words, method, name)
    with context.db.write():
        if period_summaries.collect(context.db, owner, period, context.max_characters) != material:
            raise AgentError(f"the sources of {period.key} changed while it was summarised; ask for it again")
        period_summaries.save(context.db, material, made, context.time)


def _without_sources(context: JobContext, material: period_summaries.Material) -> None:
    """Update a summary without sources: only what has no other source any more is kept, else it is deleted."""
    if not material.orphaned:
        period_summaries.delete(context.db, material, context.time)
    elif material.earlier and material.known != material.expired:
        made = period_summaries.compose(material, "", material.earlier.method, material.earlier.model)
        period_summaries.save(context.db, material, made, context.time)
