"""The job that learns from a conversation: the model reads new messages, and what it finds is proposed to the person.

It serves facts (learner.py) and skills (reflector.py), which define what is read, asked and proposed. The proposals and
the position up to which was read are written in one transaction with the end of the job. If a message that was read has
changed meanwhile, or anything was forgotten, the answer is discarded and the messages are read again.

The subject of such a job is a session, read from where the last one stopped. An answer that cannot be parsed parks the
job with the first message that it was about as its subject, and later messages are read all the same: retried, it reads
again from that message.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from agent_cli import kinds
from agent_cli.agent.jobs.job_context import Effect, JobContext
from agent_cli.errors import ModelUnavailable
from agent_cli.llm import repetition
from agent_cli.llm.model import Cancel, ChatModel, Text
from agent_cli.memory import tombstones
from agent_cli.memory.conversations import log
from agent_cli.memory.conversations.log import Entry
from agent_cli.memory.facts.fact_extraction import AskForJson, UnreadableAnswer
from agent_cli.memory.scope import Scope
from agent_cli.messages import Message
from agent_cli.store import events, ids, jobs
from agent_cli.store.db import Database
from agent_cli.text import unfenced
from agent_cli.values import frozen


@frozen
class LearningTask:
    """What is learned from a conversation, and how."""

    no_model_error: str  # the job's error while no model answers
    unreadable_event: str  # the kind of event that records an answer which could not be parsed
    characters: int  # read at a time: a small model misses half of more
    read_to: Callable[[Database, int], tuple[Scope, int] | None]  # of a session: its scope and the last message read
    set_read_to: Callable[[Database, int, int], None]  # session, message
    read: Callable[[Database, int, int, int], list[Entry]]  # session, last message read, characters: next messages
    ask: Callable[
        [JobContext, Scope, int, Sequence[Entry], AskForJson], Effect
    ]  # session, new messages; returns the proposing
    counts_unreadable: bool = False  # whether a parked job's error includes their total


def learn(context: JobContext, job: jobs.Job, task: LearningTask) -> Effect:
    """Read new messages of a session; the effect writes the proposals. Raises AgentError."""
    db, session, retried = context.db, session_of(context.db, job), _retried_message(job)
    rounds, position = tombstones.erasure_count(db), task.read_to(db, session) if session else None
    if session is None or position is None:
        return lambda: None
    after = retried - 1 if retried else position[1]
    new = task.read(db, session, after, min(context.max_characters, task.characters))
    if not new:
        return lambda: None
    propose, error = _ask(context, task, position[0], session, new)

    def effect() -> None:
        if task.read_to(db, session) != position and not retried:
            return
        if tombstones.erasure_count(db) != rounds or not _unchanged(db, session, new):
            jobs.add(db, job.kind, job.subject, context.time())
            return
        propose()
        task.set_read_to(db, session, new[-1].id)
        if error:
            session_handle = ids.handle("session", session)
            events.append(db, context.time, task.unreadable_event, session_handle, actor="program", session=session)
            total = f" ({events.count(db, task.unreadable_event)} such in all)" if task.counts_unreadable else ""
            jobs.park(db, job, error + total, new[0].handle)
        if not retried and task.read(db, session, new[-1].id, context.max_characters):
            jobs.add(db, job.kind, job.subject, context.time())

    return effect


def session_of(db: Database, job: jobs.Job) -> int | None:
    """The session that a job reads; None when the message it would read again is gone."""
    retried = _retried_message(job)
    return log.session_of(db, retried) if retried else ids.number("session", job.subject)


def _retried_message(job: jobs.Job) -> int | None:
    """The message from which a parked job reads again; None when it reads what is new in a session."""
    is_message = job.subject.startswith(kinds.BY_NAME["message"].letter)
    return ids.number("message", job.subject) if is_message else None


def _ask(
    context: JobContext, task: LearningTask, scope: Scope, session: int, new: Sequence[Entry]
) -> tuple[Effect, str]:
    """An effect that proposes what the model found, and the reason when its answer could not be parsed."""
    if not any(entry.message.role == "user" for entry in new):
        return lambda: None, ""  # nothing by the person: imported messages are not read
    model = context.model()
    if model is None:
        raise ModelUnavailable(task.no_model_error)
    try:
        return task.ask(context, scope, session, new, _ask_in_json(model, context.cancel)), ""
    except UnreadableAnswer as error:
        return lambda: None, str(error)


def _ask_in_json(model: ChatModel, cancel: Cancel) -> AskForJson:
    """The model as a function for memory: question and JSON schema in, pieces of JSON out."""

    def ask(question: str, schema: Mapping[str, Any]) -> Iterator[str]:
        reply = model.reply([Message("user", unfenced(question))], think=False, format=schema, cancel=cancel)
        for chunk in repetition.stopped(reply):
            if isinstance(chunk, Text):
                yield chunk.text

    return ask


def exchanges(
    entries: Sequence[Entry], characters: int, size: Callable[[Entry], int], enough: Callable[[Sequence[Entry]], bool]
) -> list[Entry]:
    """The first complete exchanges without imports: as many as fit, and more until they are `enough`."""
    original = [entry for entry in entries if not any(part.origin == "import" for part in entry.parts)]
    chosen: list[Entry] = []
    start = taken = 0
    for end in [n for n, entry in enumerate(original, 1) if entry.message.role == "assistant" and _is_whole(entry)]:
        exchange = original[start:end]
        taken += sum(map(size, exchange))
        if taken > characters and enough(chosen):
            break
        chosen, start = [*chosen, *exchange], end
    return chosen


def _is_whole(entry: Entry) -> bool:
    """Whether a reply is the last one of its exchange."""
    return entry.finish is not None and not entry.message.calls


def _unchanged(db: Database, session: int, read: Sequence[Entry]) -> bool:
    """Whether the messages of a session are still as they were read."""
    now = {entry.id: entry.message.text for entry in log.history(db, session, after=read[0].id - 1)}
    return all(now.get(entry.id) == entry.message.text for entry in read)
