"""What every test may ask for: a database, a clock, and the program as a real process in an empty home."""

import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from agent_cli.__main__ import GARBAGE
from agent_cli.clock import Clock
from agent_cli.llm import local
from agent_cli.memory.conversations import sessions
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.scope import PERSON, Scope
from agent_cli.store import meta, schema
from agent_cli.store.db import Database
from agent_cli.tools.tool import ToolContext
from tests import engines, warm
from tests.ollama_server.registry import Model
from tests.ollama_server.server import OllamaServer
from tests.terminal import Terminal

settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)
settings.load_profile("steady")  # on a busy machine, slow is no fault

NOON = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)
HERE = Scope(PERSON, "/home/someone")
CHAT = Model("qwen3:8b", capabilities=("completion", "tools", "thinking"))
NOBODY = dict.fromkeys(("OLLAMA_HOST", "AGENT_HOST"), "127.0.0.1:9")
"""An address at which no server answers, of either kind."""
MEMORY = Path("/dev/shm")
"""A file system in memory, where there is one: nothing is waited for until it is on a disk."""
EMBEDDER = Model("nomic-embed-text", capabilities=("embedding",), embedding_length=768)
LONGEST = {"test_patterns", "test_adding", "test_interleavings", "test_erasures", "test_local"}
"""Modules that begin first: at the end, the other processes would wait for them."""


def noon() -> datetime:
    return NOON


def memory_of(db: Database, time: Clock = noon, *, batch: str = "") -> MemoryContext:
    """What the person's facts and skills are changed with."""
    return MemoryContext(db, HERE, time, batch=batch)


def pytest_addoption(parser):
    parser.addoption("--update-docs", action="store_true", help="write the generated parts of README and example")
    parser.addoption("--cold", action="store_true", help="start every process from nothing, not only some")


def pytest_configure(config):
    gc.set_threshold(GARBAGE)  # as the program does
    Program.cold = config.option.cold
    if _has_room(MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as behind `&`: what the tests start would ignore it too
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.stem not in LONGEST)


def pytest_collection_finish():
    gc.freeze()  # what was collected stays to the end, at which pytest looks through all there is five times


def pytest_unconfigure():
    warm.close()


def _has_room(folder: Path) -> bool:
    """Whether the files of the tests can be there: some 300 MB, and scripts among them, which are run."""
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        return False
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize > 2**31 and not found.f_flag & os.ST_NOEXEC


@cache
def _new() -> Database:
    database = Database()
    database.prepare()
    schema.reconcile(database, NOON)
    return database


def empty(path: Path | str = ":memory:") -> Database:
    """A new database: a copy of one that was made once, in a tenth of the time."""
    database = Database(path)
    database.prepare()
    for _ in _new().copy_into(database):
        pass
    return database


@cache
def _new_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "new.db")
        empty(path).close()
        return path.read_bytes()


def place(path: Path) -> None:
    """Put a new database there, as the program makes one when it has none, in a quarter of the time."""
    path.touch(0o600)
    path.write_bytes(_new_file())


@pytest.fixture
def db():
    database = empty()
    yield database
    database.close()


@pytest.fixture
def session(db):
    return sessions.start(db, HERE, NOON)


@pytest.fixture
def context(db, session):
    return ToolContext(db, session, HERE, noon)


@pytest.fixture
def server(request, monkeypatch):
    """A server of models that says what it is told to, by Ollama's API or by /v1; a test need not know by which.

    What has a server is about a model, and each test of it runs with both kinds: what is asked, what is made of the
    reply, what is told when it fails. Where the program would do the same with any model (a screen is drawn, a row is
    searched, a command reads its options) and merely has one to talk to, the matter is the program: such tests, and
    those about what only Ollama's API has, run with Ollama's alone. `engines.OLLAMA_ALONE` lists them with the reason.
    """
    with engines.started(getattr(request, "param", "ollama"), [CHAT, EMBEDDER]) as running:
        monkeypatch.setenv("AGENT_API_KEY", running.key)  # which the program takes from its own environment alone
        yield running


def pytest_generate_tests(metafunc):
    test = metafunc.definition
    name = f"{test.path.relative_to(Path(__file__).parent).as_posix()}::{test.originalname}"
    if "server" in metafunc.fixturenames and not any(engines.reasons(name)):
        metafunc.parametrize("server", engines.SERVERS, indirect=True)


@pytest.fixture(scope="session")
def runtime(tmp_path_factory):
    """The folder of the processes, which are ended with the tests."""
    folder = tmp_path_factory.mktemp("run") / "agent-cli"
    yield folder
    for record in folder.glob("*.json"):
        os.kill(json.loads(record.read_text())["pid"], signal.SIGKILL)
        record.unlink()
    for started in local._started:
        started.kill()
        started.wait()


@dataclass(frozen=True)
class Ran:
    """A process that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Program:
    """The program as a person's shell would start it: `program("ask", "hello")`. No server, unless one is given. A
    command is forked from a process that has imported all (see `warm`), on Linux; whatever is wrapped in another
    command, or is started where `cold` is true, starts from nothing."""

    usual = (sys.executable, "-m", "agent_cli")
    cold = False

    def __init__(self, home: Path):
        self.home = home
        self.work = home / "work"
        self.work.mkdir()
        self.db = home / "memory.db"
        temporary = home.with_name(f"{home.name}-tmp")  # what an editor left is searched for what is forgotten
        temporary.mkdir(exist_ok=True)
        keep = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.env = {
            **keep,
            "TMPDIR": str(temporary),
            "HOME": str(home),
            "AGENT_DB": str(self.db),
            "AGENT_BACKGROUND_JOBS": "false",
            "OLLAMA_HOST": "127.0.0.1:9",
            "TERM": "xterm-256color",
            "PROMPT_TOOLKIT_NO_CPR": "1",
        }
        self.command = [*self.usual]

    def use(self, server: OllamaServer) -> "Program":
        """Let it talk to this server, with the chat model named."""
        self.env |= {"AGENT_MODEL": CHAT.name, **server.environ}
        return self

    def start(
        self, *arguments: str, env: dict[str, str] | None = None, first: str = "", **options: Any
    ) -> "subprocess.Popen[str] | warm.Forked":
        """A process that runs on; its streams are pipes unless told otherwise. `first` is Python that it runs first."""
        words, whole = [*map(str, arguments)], {**self.env, **(env or {})}
        if self._is_forked(whole):
            return warm.parent().start(words, whole, first=first, **{"cwd": self.work, **options})
        prelude = (
            [sys.executable, "-c", f"import os, sys\n{first}\nos.execv(sys.argv[1], sys.argv[1:])"] if first else []
        )
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        how: Any = {"env": whole, "cwd": self.work, "text": True, "encoding": "utf-8", **streams, **options}
        return subprocess.Popen([*prelude, *self.command, *words], **how)

    def __call__(
        self, *arguments: str, stdin: str = "", env: dict[str, str] | None = None, first: str = "", timeout: float = 60
    ) -> Ran:
        process = self.start(*arguments, env=env, first=first)
        try:
            out, err = process.communicate(stdin, timeout)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            raise
        return Ran(process.wait(), out, err)

    def at_terminal(self, *arguments: str, typed: str = "", **env: str) -> Terminal:
        """A process on a terminal of its own, at which something may have been typed before it started."""
        whole = {**self.env, **env}
        if self._is_forked(whole):
            return Terminal(arguments, whole, self.work, warm.parent().at_terminal, typed=typed)
        return Terminal([*self.command, *arguments], whole, self.work, typed=typed)

    def _is_forked(self, env: dict[str, str]) -> bool:
        return (*self.command,) == self.usual and not self.cold and warm.can(env)

    def script(self, text: str) -> str:
        """A scripted model to name with -m."""
        file = self.home / "script.toml"
        file.write_text(text, encoding="utf-8")
        return f"scripted:{file}"

    def edit_with(self, script: str) -> None:
        """Let its editor be a shell script; "$1" is the file."""
        file = self.home / "editor"
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        self.env["EDITOR"] = str(file)

    def let_scripts_decide(self, path: Path | None = None) -> "Program":
        """Let commands without a terminal decide, as a person sets with `agent facts scripts on`."""
        path = path or self.db
        database = Database(path) if path.exists() else empty(path)
        meta.put(database, "unattended decisions", "by a test")
        database.close()
        return self

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """What stands in its database."""
        database = Database(self.db)
        try:
            return database.rows(sql, values)
        finally:
            database.close()


@pytest.fixture
def program(tmp_path):
    """One with a database in which nothing is, as most tests need it: to make it would be half of a command."""
    program = Program(tmp_path)
    place(program.db)
    return program


@pytest.fixture
def no_database(program):
    """For tests of what is done where there is no database yet."""
    program.db.unlink()


@pytest.fixture
def talking(program, server):
    """For tests whose program talks to the server from the first command on."""
    return program.use(server)


@pytest.fixture
def at_noon(program, server):
    """Its clock stands still, and the server's embedder need not be loaded, as the embedded one must."""
    program.env |= {"OLLAMA_HOST": server.host, "AGENT_NOW": NOON.isoformat()}


@pytest.fixture
def scripts_decide(program):
    """For tests of what a yes does, not of who gives it: commands without a terminal decide."""
    program.let_scripts_decide()


@pytest.fixture
def terminal(program):
    """Opens the program at a terminal, `terminal("-c")`, and hangs up in the end."""
    opened: list[Terminal] = []

    def open_terminal(*arguments: str, **how: str) -> Terminal:
        opened.append(program.at_terminal(*arguments, **how))
        return opened[-1]

    yield open_terminal
    for each in opened:
        each.close()


@pytest.fixture
def abyss(tmp_path, monkeypatch):
    """A folder in which folders lie deeper in each other than Python may call itself, with a file at the bottom."""
    top = tmp_path / "abyss"
    top.mkdir()
    with monkeypatch.context() as going:
        going.chdir(top)
        for _ in range(1200):
            os.mkdir("d")
            os.chdir("d")
        Path("bottom.txt").write_text("the treasure lies here")
    yield top
    folder = top.rename(tmp_path / "a")  # the names of all in it are too long to be deleted by
    subprocess.run(["rm", "-rf", str(folder)], check=True)


@pytest.fixture
def house(tmp_path, server):
    """A server over HTTP whose model says what it has heard."""
    from tests import serving  # the libraries of the server: few tests need them

    server.answer = serving.heard
    with serving.served(serving.opened(tmp_path, server)) as running:
        yield running


@pytest.fixture
def bot(house):
    """A caller of it."""
    return house.caller("bot")
