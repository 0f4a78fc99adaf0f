"""Writes summaries: of a session that was closed, and of a day, week, month, quarter or year.

As jobs, their work done outside any transaction; and while the person waits, word by word.
"""

from collections.abc import Callable, Iterator

from agent_cli.agent.jobs.job_context import Desk, Effect
from agent_cli.errors import AgentError
from agent_cli.llm.model import Cancel, ChatModel, Text
from agent_cli.memory.conversations import log
from agent_cli.memory.dates.periods import Period
from agent_cli.memory.summaries import period_summaries, session_summary, summaries
from agent_cli.memory.summaries.period_summaries import Material
from agent_cli.messages import Message
from agent_cli.store import ids, jobs


def ask_with(model: ChatModel, cancel: Cancel) -> session_summary.AskModel:
    """The model as memory knows it: a question in, words out."""

    def ask(question: str) -> Iterator[str]:
        for chunk in model.reply([Message("user", question)], think=False, cancel=cancel):
            if isinstance(chunk, Text):
                yield chunk.text

    return ask


def summariser(desk: Desk) -> tuple[session_summary.AskModel | None, str, str]:
    """What a summary is made with: a model to ask, or None to extract; and the names of the method and the model."""
    model = desk.model()
    return (ask_with(model, desk.cancel), "model", model.name) if model else (None, "extract", "")


def summarise(desk: Desk, job: jobs.Job) -> Effect:
    """Write the summary of a closed session."""
    session = ids.number("session", job.subject)
    closed, count = _state(desk, session)
    said = session_summary.transcript(desk.db, session, desk.characters)
    made = None
    if closed is not None and said:  # else it was taken up again, or is gone: there is nothing to summarise
        ask, method, name = summariser(desk)
        words = "".join(session_summary.stream(said, ask))
        made = session_summary.compose(desk.db, session, words, method, name)

    def effect() -> None:
        if _state(desk, session) == (closed, count):
            if made:
                summaries.save_session(desk.db, session, made, desk.time)
            period_summaries.queue_session(desk.db, session, desk.time())
        else:  # it went on meanwhile
            jobs.add(desk.db, job.kind, job.subject, desk.time())

    return effect


def _state(desk: Desk, session: int) -> tuple[str | None, int]:
    """When a session was closed and how many messages it has."""
    return desk.db.value("select closed_at from session where id = ?", (session,)), log.count(desk.db, session)


def summarise_period(desk: Desk, job: jobs.Job) -> Effect:
    """Write the summary of a day or of what is coarser, from what there is now."""
    owner, period = period_summaries.parse_subject(job.subject)
    pause = period_summaries.time_to_wait(desk.db, owner, period, desk.time())
    if pause is not None:
        return lambda: period_summaries.postpone(desk.db, owner, period, desk.time(), pause)
    material = period_summaries.collect(desk.db, owner, period, desk.characters)
    if not material.items:
        return _unless_changed(desk, material, lambda: _settle(desk, material))
    same = _unless_changed(desk, material, lambda: period_summaries.queue_enclosing(desk.db, material, desk.time()))
    if material.is_current(summaries.MODEL):
        return same
    ask, method, name = summariser(desk)
    if material.is_current(method):
        return same
    words = "".join(period_summaries.stream(material, ask, desk.characters))
    made = period_summaries.compose(material, words, method, name)
    return _unless_changed(desk, material, lambda: period_summaries.save(desk.db, material, made, desk.time))


def write_period(desk: Desk, owner: str, period: Period, *, anew: bool = False) -> Iterator[str]:
    """Make the summary of a period now; its words as they come, and none when it says all there is already.

    `anew`: make it all the same. Raises AgentError when its sources change meanwhile; nothing is kept then.
    """
    material = period_summaries.collect(desk.db, owner, period, desk.characters)
    if not material.items:
        with desk.db.write():
            _settle(desk, material)
        return
    if material.is_current(summaries.MODEL) and not anew:  # no server need be asked for a model
        return
    ask, method, name = summariser(desk)
    if material.is_current(method) and not anew:
        return
    words = ""
    for piece in period_summaries.stream(material, ask, desk.characters):
        words += piece
        yield piece
    made = period_summaries.compose(material, words, method, name)
    with desk.db.write():
        if period_summaries.collect(desk.db, owner, period, desk.characters) != material:
            raise AgentError(f"what {period.key} is made of changed while it was summarised; ask for it once more")
        period_summaries.save(desk.db, material, made, desk.time)


def _settle(desk: Desk, material: Material) -> None:
    """Without anything to make it from, what nothing else says any more stays, and all else goes."""
    if material.empty:
        period_summaries.delete(desk.db, material, desk.time)
    elif material.earlier and material.known != material.expired:
        made = period_summaries.compose(material, "", material.earlier.method, material.earlier.model)
        period_summaries.save(desk.db, material, made, desk.time)


def _unless_changed(desk: Desk, material: Material, effect: Callable[[], object]) -> Effect:
    """Have it made again when its sources are no longer what was read."""

    def checked() -> None:
        if period_summaries.collect(desk.db, material.owner, material.period, desk.characters) == material:
            effect()
        else:
            period_summaries.queue(desk.db, material.owner, material.period, desk.time())

    return checked
