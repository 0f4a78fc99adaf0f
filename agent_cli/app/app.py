"""The state of one run of the program: its settings, its open database, and whether memory is read and written.

The command line, the prompt and the server each start from `open_app`. The functions on an app are in the modules of
this folder: models, turns, upkeep of the indexes, and work in the background.
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
from agent_cli.agent import policy
from agent_cli.agent.embedder_selection import EmbedderSelection
from agent_cli.config import settings_file
from agent_cli.config.values import Config
from agent_cli.errors import StoreError, UsageError
from agent_cli.llm.chat import ChatSettings
from agent_cli.llm.engine import Engine
from agent_cli.llm.model import ChatModel
from agent_cli.llm.ollama import OllamaEngine
from agent_cli.memory import tombstones
from agent_cli.memory.language import triples
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.scope import PERSON, Scope, place_of
from agent_cli.store import file, holder, jobs, keyed_hash, sealing
from agent_cli.store.db import Database, key_of
from agent_cli.text import without_surrogates

if TYPE_CHECKING:
    from agent_cli.agent.model_context import WaitUntilRead, Window
    from agent_cli.tools.mcp import Servers

MEMORY_SHARE = 8  # one part in eight of the context, for the profile and for what is recalled
_JOURNAL_PATIENCE = 0.1  # seconds to wait for another process that reads what was erased
_AT_START = ("db", "host", "embed_model", "idle_seconds")  # settings that are read only at the start


@dataclass(eq=False, repr=False)  # each costs time at the start
class App:
    """The state of one run of the program. `db` belongs to the thread that opened it."""

    loaded: settings_file.Loaded
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
    wait_until_read: "WaitUntilRead | None" = None  # of an interactive session
    reported_damage: set[str] = field(default_factory=set)  # indexes whose damage was reported
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def config(self) -> Config:
        return self.loaded.config

    @property
    def engine(self) -> Engine:
        return engine_of(self.config)

    @property
    def memory(self) -> MemoryContext:
        return MemoryContext(self.db, self.scope, self.time, triples.single_valued(self.config.predicates))

    @property
    def may_learn(self) -> bool:
        return self.learns and self.keeps and self.config.learn == "ask"

    @property
    def profile_tokens(self) -> int:
        return min(self.config.profile_tokens, self.config.num_ctx // MEMORY_SHARE)

    @property
    def recall_tokens(self) -> int:
        return min(self.config.recall_tokens, self.config.num_ctx // MEMORY_SHARE)

    @property
    def fact_half_life(self) -> float:
        return self.config.recall.get("half_life", 0.0)

    @property
    def close_after(self) -> timedelta:
        """The time without a message after which a session is closed."""
        return timedelta(minutes=self.config.close_after)

    @property
    def window(self) -> "Window":
        from agent_cli.agent.model_context import Window  # loads what searches, which most commands do not need

        return Window(self.config.window_least, max(self.config.window_least, self.config.window_most))

    def refuse_incognito(self) -> None:
        """Raises UsageError in an incognito run, which cannot change the database file."""
        if not self.keeps:
            why = "this works on your file, which an incognito conversation leaves alone"
            raise UsageError(f"{why}: do it in another one")

    def incognito(self, *, reads: bool = False) -> "App":
        """A copy with its log in memory only. `reads`: whether memory is read, from the read-only file."""
        private = replace(self, db=file.open_in_memory(self.time()), keeps=False, learns=False, reads=reads)
        private.reported_damage, private.lock = set(), threading.Lock()
        return private

    def open_memory(self) -> Database | None:
        """A read-only connection to the file for this thread; None if `db` is the file, or nothing may be read."""
        if self.keeps or not self.reads or not self.path.exists():
            return None
        return file.open_read_only(self.path)

    def reopen(self, wait: Callable[[], object]) -> None:
        """Close the sealed file, forget its key, and open the file with a key that is looked for anew: a passphrase is
        asked for, with any other key after `wait`. Raises StoreError."""
        folder, asks = self.db.key_folder, sealing.kind_of((self.db.key or b"")[-16:]) == "passphrase"
        self.db.close()
        self.db = file.open_in_memory(self.time())  # in its place, for what is still to be closed
        sealing.KEYS.found.clear()
        if not asks:
            wait()
        self.db = file.open_file(self.path, self.time(), self.notice, key_folder=folder)
        self.db.person = "tool" if self.child else "person"

    def override(self, origin: str, **values: Any) -> None:
        """Work with other settings from now on. The caller holds the lock."""
        origins = {**self.loaded.origins, **dict.fromkeys(values, origin)}
        self.loaded = replace(self.loaded, config=replace(self.config, **values), origins=origins)
        self.model = None  # it was made with the former settings

    def setting_line(self, key: str) -> str:
        return settings_file.toml_line(getattr(self.config, key))

    def change_setting(self, key: str, value: str) -> None:
        """Change a setting for this run. Raises ConfigError."""
        checked = settings_file.check(key, settings_file.parse(key, value, f"/{key}"), f"/{key}")
        check_setting(key, value)
        with self.lock:
            self.override(f"/{key}", **{key: checked})

    def write_setting(self, key: str, value: str) -> str:
        """Change a setting in the file and, if possible, for this run; returns a message. Raises ConfigError."""
        check_setting(key, value)
        file = self.loaded.file
        sentence = f"{settings_file.write(file, key, value)} (in {file})"
        name = key.partition(".")[0]
        origin = self.loaded.origins[name]
        if origin == "flag" or origin.startswith("environment"):
            return f"{sentence}; this run goes on with what its {origin} says"
        if name in _AT_START:
            return f"{sentence}; it takes effect at the next start"
        with self.lock:
            self.override(str(file), **{name: getattr(settings_file.load(file, {}).config, name)})
        return sentence


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
    """Read the settings and open the database, not if `incognito`. `child`: the assistant started this process."""
    loaded = settings_file.load(config_file or settings_file.default_file(environ), environ, flags)
    policy.check_rules(loaded.config.rules, f"{loaded.origins['rules']}: ")
    path = settings_file.database(loaded.config, environ)
    sealing.KEYS.settings = loaded.config.seal
    if loaded.config.db and not (incognito or path.parent.is_dir()):
        raise StoreError(f"{path}: there is no folder {path.parent}; make it first, or name another file")
    keys = settings_file.key_folder(environ)
    db = file.open_in_memory(clock.now()) if incognito else file.open_file(path, clock.now(), notice, key_folder=keys)
    if incognito and reads:
        key_of(path)  # before a conversation has the terminal
    db.person = "tool" if child else "person"
    try:
        folder = Path(without_surrogates(str(Path.cwd())))
    except FileNotFoundError:  # it has been deleted
        folder = Path.home()
    embedders = EmbedderSelection(engine_of(loaded.config), loaded.config.embed_model)
    app = App(loaded, db, clock.now, Scope(PERSON, place_of(folder)), notice, embedders, child, reads=reads, path=path)
    app.learns, app.keeps, app.terminal = not incognito, not incognito, holder.terminal()
    with suppress(StoreError):  # a read-only file: the error is raised where something is written
        app.finished_erasure = finish_erasure(app, db)
        if keyed_hash.renew_missing(db) and tombstones.any_exist(db):  # after the file was moved to another machine
            lost = f"the key of what you had forgotten is not in {db.key_folder}, so an import may bring that back"
            notice(f"{lost}; a new key was made for what you forget from now on")
        file.remove_leftovers(db)
    return app


def engine_of(config: Config) -> Engine:
    """The engine that the settings name. Its address is read when it is needed: a wrong one stops nothing else."""
    chat = ChatSettings(config.num_ctx, config.options, config.answer_tokens, config.patience)
    if config.engine == "openai":
        from agent_cli.llm.openai import OpenAIEngine

        key = os.environ.get(config.key_variable, "").strip()
        return OpenAIEngine(config.host, key, not config.words_leave_machine, chat)
    if config.engine == "local":
        from agent_cli.llm.local import LocalEngine

        named = tuple(name for name in (config.model, config.cheap_model, config.embed_model) if name)
        return LocalEngine(settings_file.runtime_folder(), 60 * config.local_idle, named, chat)
    return OllamaEngine(config.host, chat, config.keep_alive, not config.words_leave_machine)


def check_setting(key: str, value: str) -> None:
    """Raises ConfigError for a rule without effect, before it is written."""
    name, _, entry = key.partition(".")
    if name == "rules":
        configured = {entry: value} if entry else settings_file.check(name, settings_file.parse(name, value, key), key)
        policy.check_rules(configured)


def finish_erasure(app: App, db: Database) -> bool:
    """Remove what was erased from the journal, where another process still read it; returns whether that was done."""
    if not jobs.is_pending(db, tombstones.JOB):
        return False
    from agent_cli.memory.forgetting import forget  # an erasure is rarely pending

    if not forget.empty_journal(db, app.time, _JOURNAL_PATIENCE):
        return False
    app.notice("the data you had forgotten has now been removed from the journal too")
    return True
