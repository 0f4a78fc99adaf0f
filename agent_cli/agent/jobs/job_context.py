"""What a queued job may use. Apart from what runs the jobs, of which a question that is asked once needs nothing."""

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
"""What a job has found out, to be written together with the record that it is done."""


@frozen
class JobContext:
    """What a job may use. `model` gives the cheap model, or None when no server answers."""

    db: Database
    time: Clock
    model: Callable[[], ChatModel | None]
    embedders: EmbedderSelection
    max_characters: int  # of a transcript that fits the model
    cancel: Cancel
    close_after: timedelta = timedelta()  # after which a session is closed; none: never
    learns: bool = True  # whether what was said may be read for facts
    retention: Mapping[str, str] = field(default_factory=dict)  # the setting: what may be removed when it is old
