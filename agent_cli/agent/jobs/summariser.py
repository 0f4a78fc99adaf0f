"""Writes summaries: of a closed session, and of a day, week, month, quarter or year.

As jobs, outside any transaction, or while the person waits, word by word.
"""

from collections.abc import Callable, Iterator
from itertools import chain

from agent_cli.agent.jobs.job_context import Effect, JobContext, text_of
from agent_cli.errors import AgentError, ContextExceeded
from agent_cli.llm.model import Cancel, ChatModel
from agent_cli.memory.conversations import digest, log
from agent_cli.memory.dates.periods import Period
from agent_cli.memory.summaries import period_summaries, summaries
from agent_cli.memory.summaries.period_summaries import Material
from agent_cli.messages import Message
from agent_cli.store import ids, jobs
from agent_cli.text import unfenced


def ask_with(model: ChatModel, cancel: Cancel) -> summaries.AskModel:
    """The model as a function for memory: a question in, pieces of text out."""

    def ask(question: str) -> Iterator[str]:
        return text_of(model.reply([Message("user", unfenced(question))], think=False, cancel=cancel))

    return ask


def summariser(context: JobContext) -> tuple[summaries.AskModel | None, str, str]:
    """How a summary is made: a model to ask or None for an extract, the name of the method, and that of the model."""
    model = context.model()
    return (ask_with(model, context.cancel), "model", model.name) if model else (None, "extract", "")


def session_words(context: JobContext, session: int) -> tuple[Iterator[str], str, str]:
    """The words of a session's summary as they arrive, the name of the method, and that of the model."""
    transcript = summaries.transcript(context.db, session, context.max_characters)
    ask, method, name = summariser(context)
    words = _after_conversation(context, session) if ask and transcript else None
    return words or summaries.stream(transcript, ask), method, name


def _after_conversation(context: JobContext, session: int) -> Iterator[str] | None:
    """The words of a summary that is asked for behind the messages of the conversation; None where that cannot be.

    Messages that were folded away are no longer shown there, so they stand in the instruction.
    """
    ask = context.ask_after(session, context.cancel)
    if ask is None:
        return None
    folded = digest.transcript(digest.folded(context.db, session), context.max_characters)
    words = summaries.stream_after(folded, lambda instruction: ask(instruction, False))
    try:
        first = next(words, "")
    except ContextExceeded:
        return None
    return chain([first], words)


def summarise(context: JobContext, job: jobs.Job) -> Effect:
    """Write the summary of a closed session."""
    session = ids.number("session", job.subject)
    closed, count = _state(context, session)
    made = None
    if closed is not None and count:  # else it was continued or erased
        words, method, name = session_words(context, session)
        made = summaries.compose(context.db, session, "".join(words), method, name)

    def effect() -> None:
        if _state(context, session) == (closed, count):
            if made:
                summaries.save_session(context.db, session, made, context.time)
            period_summaries.queue_session(context.db, session, context.time())
        else:  # it was continued meanwhile
            jobs.add(context.db, job.kind, job.subject, context.time())

    return effect


def _state(context: JobContext, session: int) -> tuple[str | None, int]:
    """When a session was closed and how many messages it has."""
    return context.db.value("select closed_at from session where id = ?", (session,)), log.count(context.db, session)


def summarise_period(context: JobContext, job: jobs.Job) -> Effect:
    """Write the summary of a period from its current sources."""
    owner, period = period_summaries.parse_subject(job.subject)
    pause = period_summaries.time_to_wait(context.db, owner, period, context.time())
    if pause is not None:
        return lambda: period_summaries.postpone(context.db, owner, period, context.time(), pause)
    material = period_summaries.collect(context.db, owner, period, context.max_characters)
    if not material.items:
        return _unless_changed(context, material, lambda: _without_sources(context, material))
    queue_enclosing = _unless_changed(
        context, material, lambda: period_summaries.queue_enclosing(context.db, material, context.time())
    )
    if material.is_current(summaries.MODEL):
        return queue_enclosing
    ask, method, name = summariser(context)
    if material.is_current(method):
        return queue_enclosing
    words = "".join(period_summaries.stream(material, ask, context.max_characters))
    made = period_summaries.compose(material, words, method, name)
    return _unless_changed(context, material, lambda: period_summaries.save(context.db, material, made, context.time))


def write_period(context: JobContext, owner: str, period: Period, *, force: bool = False) -> Iterator[str]:
    """Write the summary of a period now; yields its text as it arrives, and nothing when it is up to date.

    `force`: write it all the same. Raises AgentError, and saves nothing, when its sources change meanwhile.
    """
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


def _without_sources(context: JobContext, material: Material) -> None:
    """Update a summary without sources: only what has no other source any more is kept, else it is deleted."""
    if material.empty:
        period_summaries.delete(context.db, material, context.time)
    elif material.earlier and material.known != material.expired:
        made = period_summaries.compose(material, "", material.earlier.method, material.earlier.model)
        period_summaries.save(context.db, material, made, context.time)


def _unless_changed(context: JobContext, material: Material, effect: Callable[[], object]) -> Effect:
    """The effect, or a new job when the sources are no longer what was read."""

    def checked() -> None:
        if period_summaries.collect(context.db, material.owner, material.period, context.max_characters) == material:
            effect()
        else:
            period_summaries.queue(context.db, material.owner, material.period, context.time())

    return checked
