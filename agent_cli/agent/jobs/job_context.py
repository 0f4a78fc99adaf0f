"""What a queued job works with. Apart from the worker, so that `ask` need not import all jobs."""

from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import timedelta

from agent_cli.agent.embedder_selection import EmbedderSelection
from agent_cli.clock import Clock
from agent_cli.llm.model import Cancel, ChatModel
from agent_cli.store.db import Database
from agent_cli.values import frozen

INDEX, REPAIR = "index", "mend"  # kinds of jobs

Effect = Callable[[], None]
"""Writes the result of a job, in one transaction with the record that it is done."""


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
