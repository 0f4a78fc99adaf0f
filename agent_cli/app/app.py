"""The one place that builds things and joins them: settings, file, models, tools.

Nothing here draws or parses; the command line, the session and the server each start from `open_app`.
"""

import atexit
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from agent_cli import CHILD, clock
from agent_cli.agent import context, listener, prompt, prompt_recall
from agent_cli.agent.embedder_selection import Meaning
from agent_cli.agent.jobs.job_context import INDEX, MEND, Desk
from agent_cli.agent.loop import Agent
from agent_cli.agent.policy import rules
from agent_cli.agent.policy.guard import Limits
from agent_cli.agent.policy.policy import Approve, Ruling
from agent_cli.app import model_choice
from agent_cli.config import checks, reading, toml, writing
from agent_cli.config.reading import Loaded
from agent_cli.config.values import Config
from agent_cli.errors import ConfigError, ModelMissing, ModelUnavailable, StoreError, UsageError
from agent_cli.llm import scripted
from agent_cli.llm.model import Cancel, ChatModel
from agent_cli.llm.ollama import address, faults, tags
from agent_cli.llm.ollama.chat import OllamaModel
from agent_cli.memory import tombstones
from agent_cli.memory.conversations import log
from agent_cli.memory.language import predicates
from agent_cli.memory.scope import PERSON, Scope, place_of
from agent_cli.memory.search import index, index_check, recall
from agent_cli.memory.search.candidates import Filter
from agent_cli.store import file, jobs
from agent_cli.store.db import Database
from agent_cli.text import without_surrogates
from agent_cli.tools import registry
from agent_cli.tools.tool import Access, Tool, ToolContext

if TYPE_CHECKING:
    from agent_cli.tools.servers import Servers

_CHARACTERS_A_TOKEN = 3  # of a transcript, on the safe side
_AT_START = ("db", "host", "embed_model", "idle_seconds")  # settings of what is built once


@dataclass
class App:
    """What one run of the program works with. `db` belongs to the thread that opened it."""

    loaded: Loaded
    db: Database
    time: clock.Clock
    scope: Scope
    notice: Callable[[str], None]
    meaning: Meaning
    child: bool = False  # whether the assistant itself has started this process
    finished: bool = False  # whether opening it finished what was forgotten before
    reads: bool = True  # whether anything of memory is shown to the model
    learns: bool = True  # whether what is said may be read for facts
    keeps: bool = True  # False: incognito, `db` is in memory and goes with the process
    path: Path = field(default_factory=Path)  # of the file, also where `db` is another
    _model: ChatModel | None = None
    _servers: "Servers | None" = None
    _damaged: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def config(self) -> Config:
        return self.loaded.config

    @property
    def single(self) -> frozenset[str]:
        """The predicates with one value at a time."""
        return predicates.single_valued(self.config.predicates)

    def setting(self, key: str) -> str:
        """A setting as it is now, in the form of its file."""
        return toml.line(getattr(self.config, key))

    def change(self, key: str, value: str) -> None:
        """Change a setting for this run. Raises ConfigError."""
        checked = checks.check(key, checks.parse(key, value, f"/{key}"), f"/{key}")
        check_setting(key, value)
        self._take(key, checked, f"/{key}")

    def set_for_good(self, key: str, value: str) -> str:
        """Change a setting in the file, and for this run where it can be; says what was done. Raises ConfigError."""
        check_setting(key, value)
        told = f"{writing.write(self.loaded.file, key, value)} (in {self.loaded.file})"
        name = key.partition(".")[0]
        origin = self.loaded.origins[name]
        if origin == "flag" or origin.startswith("environment"):
            return f"{told}; this run goes on with what its {origin} says"
        if name in _AT_START:
            return f"{told}; it takes effect at the next start"
        self._take(name, getattr(reading.load(self.loaded.file, {}).config, name), str(self.loaded.file))
        return told

    def _take(self, key: str, value: Any, origin: str) -> None:
        with self._lock:
            origins = {**self.loaded.origins, key: origin}
            self.loaded = replace(self.loaded, config=replace(self.config, **{key: value}), origins=origins)
            self._model = None  # it was made with the settings of before

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
            self, db=db, keeps=False, learns=False, reads=reads, _damaged=set(), _lock=threading.Lock(),
        )  # fmt: skip

    def use_model(self, name: str) -> tuple[ChatModel, str]:
        """Answer with another model from now on, like `chat_model`. Raises AgentError, and the former one stays."""
        with self._lock:
            model, notice = self._chosen(name, "chat", self.db)
            if isinstance(model, OllamaModel):
                notice = self._vouched(name)
            self.loaded = replace(self.loaded, config=replace(self.config, model=name))
            self._model = model if model.name != "offline" or name == "offline" else None
            return model, notice

    def other_model(self, name: str) -> ChatModel:
        """A model for one answer, while the others stay with theirs. Raises AgentError."""
        with self._lock:
            model, _ = self._chosen(name, "chat", self.db)
            if isinstance(model, OllamaModel):
                self._vouched(name)
            return model

    def _vouched(self, name: str) -> str:
        """A notice when no server answers yet. Raises ModelMissing when one does and has no such model for chat."""
        url = address.parse(self.config.host).url
        try:
            found = tags.find(name, tags.listing(self.config.host))
        except ModelUnavailable:
            return f"no model server answers at {url}; {name} is used when one does"
        if found is None:
            raise faults.missing(name, url)
        if found.remote:
            raise faults.cloud(name)
        if not model_choice.chats(found):
            raise ModelMissing(f"the model {name!r} cannot chat: choose another with --model")
        return ""

    def chat_model(self, db: Database) -> tuple[ChatModel, str]:
        """The model that answers, and a notice when the person should know which. Raises AgentError.

        It is looked for again each time while only the offline one answers: a server may have been started since.
        """
        with self._lock:
            if self._model is not None:
                return self._model, ""
            model, notice = self._chosen(self.config.model, "chat", db)
            if model.name != "offline" or self.config.model == "offline":
                self._model = model
            return model, notice

    def cheap_model(self, db: Database) -> ChatModel | None:
        """The model for summaries; None when none answers, and words are extracted instead."""
        name = self.config.cheap_model or self.config.model
        model = self._chosen(name, "cheap", db)[0]  # asked anew each time: with "auto" a server may have come or gone
        return None if model.name == "offline" else model

    def _chosen(self, name: str, role: scripted.ModelRole, db: Database) -> tuple[ChatModel, str]:
        settings = self.config
        return model_choice.chat_model(
            name, settings.host, settings.num_ctx, keep_alive=settings.keep_alive or None,
            options=settings.options, find=self._find, last_used=log.last_model(db, self.scope.owner),
            patience=settings.patience, role=role,
        )  # fmt: skip

    def _find(self, question: str, limit: int) -> list[tuple[str, str, str]]:
        """What memory holds about a question, for the offline model: handle, date, words."""
        if not self.reads:
            return []
        db = self._remembered() or self.db.another_connection()
        try:
            if not db.read_only:
                index.refresh_all(db)
            meaning = self.meaning.question(db, choose=False)
            allowed = Filter(self.scope.owner, current_place=self.scope.place)
            found = recall.find(db, question, allowed, self.time(), limit, meaning, logged=not db.read_only)
        finally:
            db.close()
        hits = found.hits if found.verdict != "nothing" else ()
        return [
            (hit.handle, f"{clock.from_timestamp(hit.at):%d %b %Y}", f"{hit.label} {hit.text}".strip()) for hit in hits
        ]

    def _remembered(self) -> Database | None:
        """The file, to be read by this thread; None where `db` is the file, or there is none."""
        if self.keeps or not self.reads or not self.path.exists():
            return None
        return file.open_read_only(self.path)

    def ready_to_search(self, db: Database) -> recall.Meaning | None:
        """Bring the index up to date, and the vectors where that is quick; gives what makes a question's vector."""
        index.refresh_all(db)
        for _ in self.meaning.fill(db) if self.meaning.inline(db, few=True) else ():
            pass
        return self.meaning.question(db)

    def catch_up(self, db: Database) -> None:
        """After many rows came in: index their words now, and their meaning now or by a job."""
        list(self.catching_up(db))

    def catching_up(self, db: Database) -> Iterator[tuple[int, int]]:
        """The same; gives (done, all) where it makes vectors itself."""
        index.refresh_all(db)
        if self.meaning.inline(db):
            yield from self.meaning.fill(db)
        elif self.meaning.question(db):
            jobs.add(db, INDEX, "all", self.time())

    def ear(self, *, at_keyboard: bool) -> listener.Ear:
        """What the program notices in a turn. `at_keyboard`: the words came from the person's own keys."""
        return listener.Ear(at_keyboard and not self.child, self._may_learn, self.single, self.keeps)

    def after_turn(self, db: Database) -> None:
        """Index what was said; what takes longer is left to a job, when there is any."""
        index.refresh(db)
        if not self.keeps:
            return
        if self._servers is not None:
            from agent_cli.tools import mcp

            mcp.store_changes(db, self._servers, self.notice)
        now = self.time()
        if index.waiting(db) or index.unmerged(db) or index_check.due(db, now) or self.meaning.waits(db):
            jobs.add(db, INDEX, "all", now)
        self.finish_forgetting(db)

    def finish_forgetting(self, db: Database, patience: float = 0.1) -> bool:
        """Let what was erased leave the journal, where another process held it up; whether something had waited."""
        if not jobs.is_pending(db, tombstones.JOB):
            return False
        from agent_cli.memory.forgetting import forget  # 6 ms, and hardly ever does something wait

        if not forget.finish(db, self.time, patience):
            return False
        self.notice("what you had forgotten has now left the journal too")
        return True

    def report_damage(self, db: Database, damaged: Sequence[str]) -> None:
        """Say once that an index is damaged, and have it made anew."""
        for name in damaged:
            if name not in self._damaged:
                self._damaged.add(name)
                self.notice(f"the index of {name} is damaged: search uses the others until it has been made anew")
                jobs.add(db, MEND, name, self.time())

    def _recollect(self, beside: context.Thread | None, here: ToolContext, message: int, words: str) -> None:
        if not here.memory:
            index.refresh(here.db)
        seen = context.visible(here.db, here.session, self.window)
        if beside:
            seen = [*context.visible(here.db, beside.session, self.window), *seen]
        damaged = prompt_recall.recollect(here, message, words, seen)
        if not here.memory:
            self.report_damage(here.db, damaged)

    @property
    def _may_learn(self) -> bool:
        return self.learns and self.keeps and self.config.learn == "ask"

    @property
    def silence(self) -> timedelta:
        """How long nothing is said before a session is closed."""
        return timedelta(minutes=self.config.close_after)

    @property
    def window(self) -> context.Window:
        return context.Window(self.config.window_least, max(self.config.window_least, self.config.window_most))

    def agent(
        self, model: ChatModel, approve: Approve, beside: context.Thread | None = None, instructions: str = ""
    ) -> Agent:  # fmt: skip
        """What runs a turn. `beside`: the conversation that stands before a question on the side.

        `instructions`: further ones for the model.
        """
        settings = self.config
        think = {"auto": None, "on": True, "off": False}.get(settings.think, settings.think)
        return Agent(
            model, self._tools(), approve, settings.num_ctx,
            rules=cast(Mapping[str, Ruling], settings.rules), think=think, limits=Limits(seconds=settings.tool_seconds),
            prices={name: (price[0], price[1]) for name, price in settings.prices.items()},
            window=self.window,
            recollect=partial(self._recollect, beside) if self.reads else None,
            beside=beside,
            instructions=f"{prompt.SYSTEM}\n\n{instructions}" if instructions else prompt.SYSTEM,
        )  # fmt: skip

    def _tools(self) -> Mapping[str, Tool]:
        """The tools of a run. Those of other programs might keep what they are told: not where nothing is kept."""
        there = registry.allowed(reads=self.reads, keeps=self.keeps)
        if not (self.config.mcp and self.keeps):
            return there
        from agent_cli.tools import mcp

        with closing(self.db.another_connection()) as db:
            return {**there, **mcp.load_tools(db, self.servers(), self.config.tool_seconds, self.notice)}

    def servers(self) -> "Servers":
        """The servers of tools that the settings name, none of them started yet."""
        with self._lock:
            if self._servers is None or self._servers.settings != self.config.mcp:
                from agent_cli.tools.servers import Servers

                self._servers = Servers(self.config.mcp, {CHILD: "1"})
                atexit.register(self._servers.close)
            return self._servers

    def here(self, db: Database, session: int) -> ToolContext:
        memory = self._remembered()
        meaning = self.meaning.question(memory or db, choose=False) if self.reads else None
        access = Access(
            tuple(Path(folder).expanduser().resolve() for folder in self.config.folders), self.config.feeds,
            self.config.feeds_private,
        )  # fmt: skip
        return ToolContext(db, session, self.scope, self.time, meaning, memory, self.reads, access=access)

    def desk(self, db: Database, cancel: Cancel) -> Desk:
        room = (self.config.num_ctx - 1024) * _CHARACTERS_A_TOKEN
        model, retention = lambda: self.cheap_model(db), self.config.retention if self.keeps else {}
        return Desk(
            db, self.time, model, self.meaning, max(2000, room), cancel, self.silence, self._may_learn, retention
        )


def open_app(
    flags: Mapping[str, Any], notice: Callable[[str], None], *, config_file: Path | None = None,
    environ: Mapping[str, str] = os.environ, child: bool = False, reads: bool = True, incognito: bool = False,
) -> App:  # fmt: skip
    """Read the settings and open the database. Raises ConfigError and StoreError.

    `child`: the assistant itself has started this process. `incognito`: the file is not opened, and not made.
    """
    loaded = reading.load(config_file or reading.default_file(environ), environ, flags)
    check_rules(loaded.config.rules, lambda key: _place_of_rule(loaded, key))
    path = reading.database(loaded.config, environ)
    db = file.open_in_memory(clock.now()) if incognito else file.open_file(path, clock.now(), notice)
    app = App(
        loaded, db, clock.now, Scope(PERSON, place_of(_here())), notice,
        Meaning(loaded.config.host, loaded.config.embed_model), child, reads=reads, learns=not incognito,
        keeps=not incognito, path=path,
    )  # fmt: skip
    with suppress(StoreError):  # a file that may only be read: that is said where something is written
        app.finished = app.finish_forgetting(db)
    return app


def background(app: App) -> None:
    """Leave a process behind that runs what is queued and due, like `git gc --auto`; -P: no module of this folder."""
    if not app.keeps or not app.config.background_jobs or not jobs.any_due(app.db, app.time()):
        return
    import subprocess  # only where something is queued

    command = [sys.executable, "-P", "-m", "agent_cli", "--db", app.db.path, "-q", "jobs", "run", "--until-idle"]
    nowhere = subprocess.DEVNULL
    with suppress(OSError):  # no process to be had: the next run of the program does it
        subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True)


def _here() -> Path:
    """The folder the program runs in, under a name that can be kept; home when that folder has been deleted."""
    try:
        return Path(without_surrogates(str(Path.cwd())))
    except FileNotFoundError:
        return Path.home()


def check_rules(told: Mapping[str, object], where: Callable[[str], str]) -> None:
    """Raises ConfigError for a rule that would mean nothing. `where` begins the sentence about one."""
    for key in told:
        if wrong := rules.wrong(key, registry.BUILT_IN, registry.SOURCES):
            raise ConfigError(f"{where(key)}rules.{key}: {wrong}")


def _place_of_rule(loaded: Loaded, key: str) -> str:
    file, _, line = loaded.origins["rules"].rpartition(":")
    if file != str(loaded.file):
        return f"{loaded.origins['rules']}: "
    return f"{file}, line {rules.line(key, loaded.file.read_text(encoding='utf-8'), int(line))}: "


def check_setting(key: str, value: str) -> None:
    """Raises ConfigError where the settings alone cannot tell that one is wrong, before it is written."""
    name, _, entry = key.partition(".")
    if name == "rules":
        told = {entry: value} if entry else checks.check(name, checks.parse(name, value, key), key)
        check_rules(told, lambda _: "")
