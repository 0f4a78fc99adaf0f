"""What one run of the program works with: its settings, its open file, and how far memory is read and kept.

The command line, the session and the server each start from `open_app`. What is done with an app stands beside this
module, by part: settings, models, tool_set, turns, upkeep of the indexes, and background work.
"""

import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_cli import clock
from agent_cli.agent.embedder_selection import EmbedderSelection
from agent_cli.agent.model_context import Window
from agent_cli.app import pending_erasure, rule_check
from agent_cli.config import reading
from agent_cli.config.reading import Loaded
from agent_cli.config.values import Config
from agent_cli.errors import StoreError, UsageError
from agent_cli.llm.model import ChatModel
from agent_cli.memory.language import predicates
from agent_cli.memory.scope import PERSON, Scope, place_of
from agent_cli.store import file
from agent_cli.store.db import Database
from agent_cli.text import without_surrogates

if TYPE_CHECKING:
    from agent_cli.tools.servers import Servers


@dataclass
class App:
    """What one run of the program works with. `db` belongs to the thread that opened it."""

    loaded: Loaded
    db: Database
    time: clock.Clock
    scope: Scope
    notice: Callable[[str], None]
    embedders: EmbedderSelection
    child: bool = False  # whether the assistant itself has started this process
    finished_erasure: bool = False  # whether opening it finished what was forgotten before
    reads: bool = True  # whether anything of memory is shown to the model
    learns: bool = True  # whether what is said may be read for facts
    keeps: bool = True  # False: incognito, `db` is in memory and goes with the process
    path: Path = field(default_factory=Path)  # of the file, also where `db` is another
    model: ChatModel | None = None  # the one that was chosen, for as long as the settings stay
    tool_servers: "Servers | None" = None  # once they are needed
    reported_damage: set[str] = field(default_factory=set)  # indexes whose damage has been told
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def config(self) -> Config:
        return self.loaded.config

    @property
    def single_valued(self) -> frozenset[str]:
        """The predicates with one value at a time."""
        return predicates.single_valued(self.config.predicates)

    def refuse_child(self) -> None:
        """Only a person accepts. Raises UsageError in a process that the assistant has started."""
        if self.child:
            raise UsageError("the assistant started this process, and only you can say yes: run it at your own prompt")

    def refuse_incognito(self) -> None:
        """Raises UsageError where nothing is kept, and nothing of the file can be changed."""
        if not self.keeps:
            raise UsageError("this conversation is incognito and apart from your file: do it in another one")

    def incognito(self, *, reads: bool = False) -> "App":
        """The same with a log that is in memory alone. `reads`: memory is read, from the file opened for reading."""
        db = file.open_in_memory(self.time())
        return replace(
            self,
            db=db,
            keeps=False,
            learns=False,
            reads=reads,
            reported_damage=set(),
            lock=threading.Lock(),
        )

    def open_memory(self) -> Database | None:
        """The file, to be read by this thread; None where `db` is the file, or there is none."""
        if self.keeps or not self.reads or not self.path.exists():
            return None
        return file.open_read_only(self.path)

    @property
    def may_learn(self) -> bool:
        """Whether a job may read what is said for facts."""
        return self.learns and self.keeps and self.config.learn == "ask"

    @property
    def close_after(self) -> timedelta:
        """How long nothing is said before a session is closed."""
        return timedelta(minutes=self.config.close_after)

    @property
    def window(self) -> Window:
        return Window(self.config.window_least, max(self.config.window_least, self.config.window_most))


def open_app(
    flags: Mapping[str, Any],
    notice: Callable[[str], None],
    *,
    config_file: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    child: bool = False,
    reads: bool = True,
    incognito: bool = False,
) -> App:
    """Read the settings and open the database. Raises ConfigError and StoreError.

    `child`: the assistant itself has started this process. `incognito`: the file is not opened, and not made.
    """
    loaded = reading.load(config_file or reading.default_file(environ), environ, flags)
    rule_check.check_rules(loaded.config.rules, lambda key: rule_check.place_of_rule(loaded, key))
    path = reading.database(loaded.config, environ)
    db = file.open_in_memory(clock.now()) if incognito else file.open_file(path, clock.now(), notice)
    app = App(
        loaded,
        db,
        clock.now,
        Scope(PERSON, place_of(_current_folder())),
        notice,
        EmbedderSelection(loaded.config.host, loaded.config.embed_model),
        child,
        reads=reads,
        learns=not incognito,
        keeps=not incognito,
        path=path,
    )
    with suppress(StoreError):  # a file that may only be read: that is said where something is written
        app.finished_erasure = pending_erasure.finish(db, app.time, notice)
    return app


def _current_folder() -> Path:
    """The folder the program runs in, under a name that can be kept; home when that folder has been deleted."""
    try:
        return Path(without_surrogates(str(Path.cwd())))
    except FileNotFoundError:
        return Path.home()
