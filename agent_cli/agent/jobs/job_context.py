"""What a queued job works with. Apart from the worker, so that `ask` need not import all jobs."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from datetime import datetime, timedelta

from agent_cli.agent.embedder_selection import EmbedderSelection
from agent_cli.clock import Clock
from agent_cli.llm.model import Cancel, ChatModel
from agent_cli.memory.conversations import sessions
from agent_cli.store.db import Database
from agent_cli.values import frozen

_REST = timedelta(minutes=10)  # without a message, after which the server may lose the beginning of a conversation
INDEX, REPAIR = "index", "mend"  # kinds of jobs

AskAfter = Callable[[int, Cancel], Callable[[str, bool], Iterator[str]] | None]
"""Of a session: how its model is asked something behind the messages of the conversation, or None.

The request is that of the next turn with an instruction (and whether the model may think) at its end: the server still
holds its beginning and reads the instruction alone. The words that come raise ContextExceeded before the first one when
not all messages fit.
"""

Effect = Callable[[], None]
"""Writes the result of a job, in one transaction with the record that it is done."""


class Postponed(Exception):
    """A job is not done before the moment `until`."""

    def __init__(self, until: datetime):
        self.until = until


@frozen
class JobContext:
    """What a job works with. `model` returns the model for summaries, or None when no server answers."""

    db: Database
    time: Clock
    model: Callable[[], ChatModel | None]
    embedders: EmbedderSelection
    max_characters: int  # of a transcript, so that it fits the model
    cancel: Cancel
    close_after: timedelta = timedelta()  # without a message, after which a session is closed; zero: never
    learns: bool = True  # whether conversations may be read for facts and skills
    retention: Mapping[str, str] = field(default_factory=dict)  # the setting: how long each kind is kept
    ask_after: AskAfter = lambda session, cancel: None
    holds_one_prompt: Callable[[], bool] = lambda: False  # whether jobs and conversations share a server that does


def is_resting(context: JobContext) -> bool:
    """Whether a prompt of its own takes nothing from a conversation: none goes on, or its server keeps both prompts."""
    return not sessions.goes_on(context.db, context.time() - _REST) or not context.holds_one_prompt()


def wait_for_rest(context: JobContext) -> None:
    """Raises Postponed while a conversation goes on whose beginning the server would lose by a prompt of its own."""
    if not is_resting(context):
        raise Postponed(context.time() + _REST)
