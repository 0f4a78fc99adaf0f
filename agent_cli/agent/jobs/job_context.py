"""What a queued job works with, and when it may ask the model. Apart from the worker, so that `ask` imports few jobs.

The person comes first: a job waits for the model while another process does, and is given up when one begins to. A
person's message is committed before the model is asked, so the file tells.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from datetime import datetime, timedelta

from agent_cli.agent.embedder_selection import EmbedderSelection
from agent_cli.clock import Clock
from agent_cli.llm import repair
from agent_cli.llm.model import Cancel, ChatModel, Chunk, Text
from agent_cli.memory.conversations import sessions
from agent_cli.memory.language.triples import SINGLE_VALUED
from agent_cli.store.db import Database
from agent_cli.values import frozen

REST = timedelta(minutes=10)  # without a message, after which the server may lose the beginning of a conversation
_LOOK = 0.2  # seconds between two looks at the file; most jobs are done before the first
INDEX, REPAIR = "index", "mend"  # kinds of jobs

AskAfter = Callable[[int, Cancel], Callable[[str, bool], Iterator[str]] | None]
"""Of a session: how its model is asked something behind the messages of the conversation, or None. The request is that
of the next turn with an instruction (and whether the model may think) at its end: the server still holds its beginning.
The words that come raise ContextExceeded before the first one when not all messages fit."""

Effect = Callable[[], None]
"""Writes the result of a job, in one transaction with the record that it is done."""


class Postponed(Exception):
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
    sync: str = ""  # the folder of the person's machines
    single_valued: frozenset[str] = SINGLE_VALUED  # predicates of facts with one value at a time
    holds_one_prompt: Callable[[], bool] = lambda: False  # whether jobs and conversations share a server that does

    @property
    def is_resting(self) -> bool:
        """Whether a prompt of its own takes nothing from a conversation: none goes on, or its server keeps both."""
        return not sessions.goes_on(self.db, self.time() - REST) or not self.holds_one_prompt()


def text_of(reply: Iterator[Chunk]) -> Iterator[str]:
    for chunk in repair.without_repetition(reply):
        if isinstance(chunk, Text):
            yield chunk.text


@contextmanager
def watched(db: Database, time: Clock, given: Cancel) -> Iterator[Cancel]:
    """A token that is set with the given one, and when a person asks something in another process."""
    cancel, ended = Cancel(), threading.Event()

    def watch() -> None:
        if db.in_memory or ended.wait(_LOOK):
            return
        with db.another_connection() as separate:
            seen = None
            while not cancel:
                version = separate.value("pragma data_version")  # looked up only when the file has changed
                if version != seen and sessions.awaits_model(separate, time()):
                    cancel()
                seen = version
                if ended.wait(_LOOK):
                    return

    watching = threading.Thread(target=watch, name="person first", daemon=True)
    with given.on_cancel(cancel):
        watching.start()
        try:
            yield cancel
        finally:
            ended.set()
            watching.join()
