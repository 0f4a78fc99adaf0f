"""The state of one run of the program: its settings, its open database, and whether memory is read and written.

The command line, the prompt and the server each start from `open_app`. The functions on an app are in the modules of
this folder: settings, models, tool_set, turns, upkeep of the indexes, and background jobs.
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
from agent_cli.app import engines, pending_erasure, rule_check
from agent_cli.config import settings_file
from agent_cli.config.settings_file import Loaded
from agent_cli.config.values import Config
from agent_cli.errors import StoreError, UsageError
from agent_cli.llm.model import ChatModel
from agent_cli.memory.language import triples
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.scope import PERSON, Scope, place_of
from agent_cli.store import file, holder
from agent_cli.store.db import Database
from agent_cli.text import without_surrogates

if TYPE_CHECKING:
    from agent_cli.agent.loop import Settle
    from agent_cli.agent.model_context import Window
    from agent_cli.tools.mcp import Servers

MEMORY_SHARE = 8  # one part in eight of the context, for the profile and for what is recalled


@dataclass(eq=False, repr=False)  # each costs time at the start
class App:
    """The state of one run of the program. `db` belongs to the thread that opened it."""

    loaded: Loaded
    db: Database
    time: clock.Clock
    scope: Scope
    notice: Callable[[str], None]
    embedders: EmbedderSelection
    child: bool = False  # whether the assistant started this process
    finished_erasure: bool = False  # whether opening finished an earlier erasure
    reads: bool = True  # whether memory is shown to the model
    learns: bool = True  # whether conversations may be read for facts and skills
    keeps: bool = True  # False: incognito, `db` is in memory only
    terminal: str = ""  # see holder.terminal
    path: Path = field(default_factory=Path)  # of the database file, also when `db` is in memory
    model: ChatModel | None = None  # the chosen one, until the settings change
    tool_servers: "Servers | None" = None  # None until they are needed
    settle: "Settle | None" = None  # of an interactive session
    reported_damage: set[str] = field(default_factory=set)  # indexes whose damage was reported
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def config(self) -> Config:
        return self.loaded.config

    @property
    def single_valued(self) -> frozenset[str]:
        """The predicates that have one value at a time."""
        return triples.single_valued(self.config.predicates)

    @property
    def memory(self) -> MemoryContext:
        return MemoryContext(self.db, self.scope, self.time, self.single_valued)

    def refuse_incognito(self) -> None:
        """Raises UsageError in an incognito run, which cannot change the database file."""
        if not self.keeps:
            raise UsageError(
                "this works on your file, which an incognito conversation leaves alone: do it in another one"
            )

    def incognito(self, *, reads: bool = False) -> "App":
        """A copy with its log in memory only. `reads`: whether memory is read, from the read-only file."""
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
        """A read-only connection to the file for this thread; None if `db` is the file, or nothing may be read."""
        if self.keeps or not self.reads or not self.path.exists():
            return None
        return file.open_read_only(self.path)

    @property
    def may_learn(self) -> bool:
        """Whether a job may read conversations for facts and skills."""
        return self.learns and self.keeps and self.config.learn == "ask"

    @property
    def carries_everywhere(self) -> bool:
        """Whether a session carries over what was said in other folders."""
        return self.config.carry == "everywhere"

    @property
    def profile_tokens(self) -> int:
        """The tokens of the facts that every session is told."""
        return min(self.config.profile_tokens, self.config.num_ctx // MEMORY_SHARE)

    @property
    def recall_tokens(self) -> int:
        """The tokens of what is recalled beside a question."""
        return min(self.config.recall_tokens, self.config.num_ctx // MEMORY_SHARE)

    @property
    def fact_half_life(self) -> float:
        """The days after which a fact counts half in a search; 0: age hardly counts."""
        return self.config.recall.get("half_life", 0.0)

    @property
    def close_after(self) -> timedelta:
        """The time without a message after which a session is closed."""
        return timedelta(minutes=self.config.close_after)

    @property
    def window(self) -> "Window":
        from agent_cli.agent.model_context import Window  # loads what searches: 15 ms that most commands do not need

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

    `child`: the assistant started this process. `incognito`: the file is neither opened nor created.
    """
    loaded = settings_file.load(config_file or settings_file.default_file(environ), environ, flags)
    rule_check.check_rules(loaded.config.rules, lambda key: rule_check.place_of_rule(loaded, key))
    path = settings_file.database(loaded.config, environ)
    if loaded.config.db and not (incognito or path.parent.is_dir()):
        raise StoreError(f"{path}: there is no folder {path.parent}; make it first, or name another file")
    keys = settings_file.key_folder(environ)
    db = file.open_in_memory(clock.now()) if incognito else file.open_file(path, clock.now(), notice, key_folder=keys)
    db.person = "tool" if child else "person"
    app = App(
        loaded,
        db,
        clock.now,
        Scope(PERSON, place_of(_current_folder())),
        notice,
        EmbedderSelection(engines.of(loaded.config), loaded.config.embed_model),
        child,
        reads=reads,
        learns=not incognito,
        keeps=not incognito,
        terminal=holder.terminal(),
        path=path,
    )
    with suppress(StoreError):  # a read-only file: the error is raised where something is written
        app.finished_erasure = pending_erasure.finish(db, app.time, notice)
        pending_erasure.renew_missing_key(db, notice)
        file.remove_leftovers(db)
    return app


def _current_folder() -> Path:
    """The current folder, with a name that can be stored; the home folder when it has been deleted."""
    try:
        return Path(without_surrogates(str(Path.cwd())))
    except FileNotFoundError:
        return Path.home()
