"""How long the first word is waited for on a slow machine, whatever runs behind the conversation.

The model server on loopback holds the last prompt, as Ollama before 0.30 does, or the last ten, as later ones do, and
tells how many tokens of each request it had to read. At 30 tokens a second, as two cores without a graphics card do,
that is the time to the first word; the server itself answers at once, so that this takes seconds. What depends on when
something is sent is timed, with a server ten times as fast and a person who types ten times as fast.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from agent_cli.agent.jobs import worker
from agent_cli.agent.jobs.job_context import INDEX
from agent_cli.agent.loop import Question
from agent_cli.app import background, turns, upkeep
from agent_cli.app.app import App, open_app
from agent_cli.errors import Cancelled
from agent_cli.llm.model import Cancel
from agent_cli.memory.conversations import sessions
from agent_cli.memory.facts import adoption
from agent_cli.memory.lifecycle import closing as session_closing
from agent_cli.memory.planner import notes
from agent_cli.memory.search import index
from agent_cli.messages import Part
from agent_cli.store import jobs
from tests.conftest import CHAT
from tests.ollama_server import cache, script
from tests.ollama_server.server import OllamaServer

CHARACTERS_A_TOKEN = 4.0  # of the server
SPEED = 30  # tokens that the server reads in a second
TURNS = 20
MORE = 1.2  # times that a question may wait longer with learning than without
TYPED = (5, 10, 20, 40)  # seconds
LATER, REACH = 0.3, 1.3  # seconds a question may wait longer, and times an `ask` may take, with work behind it
SCALE = 10  # times that what is timed is faster than in life
ASKS, NOTES = 9, 3000
FACTS = 40  # that were accepted
HELD = 0.98  # the share of turns whose beginning the server holds

_SUBJECTS = ("trees", "rivers", "old machines", "the law")

_OPERATIONS = '{"operations": []}'
_TOLD = (
    "We live in Graz and I work as a nurse there.",
    "What is a good way to learn the names of the stars?",
    "My sister Anna comes on Friday; what shall I cook for her?",
    "How long do eggs boil?",
    "Note what is in the fridge: milk, eggs, two onions.",
)


def run(options: Sequence[str] = ()) -> bool:
    """Print the figures; whether the targets are met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks first_word")
    parser.add_argument("--version", type=Path, help="a checkout of another version, to be measured in its place")
    given = parser.parse_args(options)
    if given.version:
        return _of_version(given.version.resolve())
    with_learning, without = _Talk.of(learns=True), _Talk.of(learns=False)
    learning, none = (statistics.median(each.questions[1:TURNS]) for each in (with_learning, without))
    ahead = _Talk.of(learns=True, ahead=True)
    rows = [
        ("first question, cold", with_learning.questions[0]),
        (f"questions 2 to {TURNS}, median, nothing learned", none),
        (f"questions 2 to {TURNS}, median, learned from after each", learning),
        ("  the longest of them", max(with_learning.questions[1:TURNS])),
        ("  and read ahead before each", statistics.median(ahead.questions[1:TURNS])),
        ("    the longest of them", max(ahead.questions[1:TURNS])),
        ("resumed, after its summary", with_learning.resumed),
        ("another session, after this one was closed", with_learning.another),
    ]
    print(f"\nseconds until the first word, at {SPEED} tokens a second")
    for name, tokens in rows:
        print(f"  {name:<52} {tokens / SPEED:>6.1f} s  ({tokens:.0f} tokens read)")
    several = _Talk.of(learns=True, kept=10)
    print("  where the server keeps several prompts:")
    for name, tokens in (
        ("  questions 2 to 20, median, learned from after each", statistics.median(several.questions[1:TURNS])),
        ("  another session, after this one was closed", several.another),
    ):
        print(f"  {name:<52} {tokens / SPEED:>6.1f} s  ({tokens:.0f} tokens read)")
    for seconds, waited in _typed().items():
        print(f"  {f'first question, read ahead while it is typed for {seconds} s':<52} {waited:>6.1f} s")
    met = learning <= MORE * none
    print(f"  learning makes it longer by {learning / none - 1:>30.0%}{' ok' if met else ' NOT (≤ 20 %)'}")
    shares = [each.kept_beginnings for each in (with_learning, several)]
    for where, share, talk in zip(("one prompt", "several prompts"), shares, (with_learning, several), strict=True):
        print(f"  turns whose instructions, tools and profile were held, {where}: {share:.0%}", end="")
        print(f"{' ok' if share >= HELD else f' NOT (≥ {HELD:.0%})'}, of all tokens {talk.held:.0%}")
    kept = several.another_held >= several.standing
    print(f"  another session reads these from the server's memory {' ok' if kept else ' NOT'}")
    later, reach = _interrupted(), _reach()
    print(f"  a question in the middle of learning waits longer {1000 * later:>7.0f} ms{_verdict(later, LATER, 's')}")
    print(f"  `agent ask` until its request, work behind it {reach:>14.2f} times{_verdict(reach, REACH, ' times')}")
    return met and kept and min(shares) >= HELD and later <= LATER and reach <= REACH


def _verdict(found: float, most: float, unit: str) -> str:
    return " ok" if found <= most else f" NOT (≤ {most}{unit})"


class _Talk:
    """A conversation with tool calls, recall and a fold, whose jobs run after each turn, and what follows it."""

    def __init__(self, app: App, server: OllamaServer, ahead: bool):
        self._app, self._server, self._reads_ahead = app, server, ahead
        self.questions: list[int] = []  # tokens read for each question, also after calls of tools
        self.resumed = self.another = self.another_held = self.standing = 0
        self.kept_beginnings = self.held = 0.0

    @classmethod
    def of(cls, *, learns: bool, ahead: bool = False, kept: int = 1) -> "_Talk":
        with _opened(learns=learns, kept=kept) as (app, server):
            for number in range(FACTS):
                claim = adoption.claim(f"My shelf number {number} holds books about {_SUBJECTS[number % 4]}", "typed")
                adoption.add(app.memory, claim)
            talk = cls(app, server, ahead)
            talk._hold()
        return talk

    def _hold(self) -> None:
        app = self._app
        session = sessions.start(app.db, app.scope, app.time())
        for number in range(TURNS):
            self.questions.append(self._ask(session, _TOLD[number % len(_TOLD)]))
            self._run_jobs()
            if self._reads_ahead:
                _read_ahead(self._app, self._server, session)
        if self._reads_ahead:
            return
        asked = [each for each in self._server.requests if each.path == "/api/chat"]
        first = asked[0].body["messages"]
        profile = first[1]["content"].rpartition("⟧\n\n")[0].partition("⟦ From memory")[0]
        beginning = cache.prompt(asked[0].body, [first[0], {"role": "user", "content": profile}])
        self.standing = int(len(beginning.removesuffix("<assistant>")) / CHARACTERS_A_TOKEN)
        turns = [each for each in asked[1:] if each.body["messages"][0] == first[0]]
        self.kept_beginnings = statistics.mean(each.held_tokens >= self.standing for each in turns)
        self.held = sum(each.held_tokens for each in asked) / sum(
            each.held_tokens + (each.read_tokens or 0) for each in asked
        )
        session_closing.close(app.db, session, app.time)
        self._run_jobs()
        sessions.reopen(app.db, session, app.scope.owner, app.time())
        self.resumed = self._ask(session, "Where were we?")
        session_closing.close(app.db, session, app.time)
        self._run_jobs()
        self.another = self._ask(sessions.start(app.db, app.scope, app.time()), "And now something else.")
        self.another_held = [each for each in self._server.requests if each.path == "/api/chat"][-1].held_tokens

    def _ask(self, session: int, words: str) -> int:
        before = len(self._server.requests)
        _ask(self._app, session, words)
        return sum(each.read_tokens or 0 for each in self._server.requests[before:] if each.path == "/api/chat")

    def _run_jobs(self) -> None:
        context = background.job_context(self._app, self._app.db, Cancel())
        worker.queue_due(context)
        while worker.run_one(context):
            pass


@contextmanager
def _opened(*, learns: bool = True, kept: int = 1) -> Iterator[tuple[App, OllamaServer]]:
    """An empty file, and a server of the time in which servers held so many prompts."""
    settings: Mapping[str, Any] = {"models": [CHAT], "strict": False, "profile": "modern" if kept > 1 else "v024"}
    with tempfile.TemporaryDirectory() as folder, OllamaServer(**settings) as server:
        server.answer, server.prompts.kept = _answer, kept
        environ = {
            "AGENT_DB": str(Path(folder) / "memory.db"),
            "AGENT_CONFIG": str(Path(folder) / "none.toml"),
            "AGENT_LEARN": "ask" if learns else "off",
            "OLLAMA_HOST": server.host,
            "AGENT_MODEL": CHAT.name,
        }
        app = open_app({}, print, environ=environ)
        try:
            yield app, server
        finally:
            app.db.close()


def _ask(app: App, session: int, words: str) -> None:
    at_work = turns.tool_context(app, app.db, session)
    for _ in turns.run(app, Question(at_work, [Part(words, "typed")], at_keyboard=True)):
        pass
    upkeep.after_turn(app, app.db)


def _timed(app: App, session: int, words: str) -> float:
    """Seconds, of a server that is SCALE times as fast, until the answer to a question."""
    began = time.monotonic()
    _ask(app, session, words)
    return time.monotonic() - began


def _read_ahead(app: App, server: OllamaServer, session: int) -> None:
    before = len(server.ahead)
    warmer = background.Warmer(app, lambda: session)
    warmer.resume()
    server.wait_until(lambda: len(server.ahead) > before and server.ahead[-1].finished)


def _typed() -> dict[int, float]:
    """For how long the first question is waited for, by how long it was typed: seconds at SPEED."""
    waited = {}
    with _opened() as (app, server):
        server.prompts.tokens_a_second = SPEED * SCALE
        for seconds in TYPED:
            server.prompts.drop(CHAT.full_name)
            background.DELAY = 0.2 / SCALE
            warmer = background.Warmer(app, lambda: None)
            app.wait_until_read = warmer.wait_until_read
            warmer.resume()
            time.sleep(seconds / SCALE)
            session = sessions.start(app.db, app.scope, app.time(), "ask")  # nothing of it is carried over
            waited[seconds] = SCALE * _timed(app, session, "How long do eggs boil?")
    return waited


def _interrupted() -> float:
    """Seconds that a question waits longer in the middle of a request that learns from the one before."""
    waited = {}
    for interrupts in (False, True):
        with _opened() as (app, server):
            session = sessions.start(app.db, app.scope, app.time())
            _ask(app, session, _TOLD[0])
            server.prompts.tokens_a_second = SPEED * SCALE
            cancel = Cancel()
            behind = threading.Thread(target=_learn, args=(app, cancel))
            if interrupts:
                behind.start()
                server.wait_until(lambda server=server: server.counters.running == 1)
                cancel()
            waited[interrupts] = _timed(app, session, _TOLD[1])
            if interrupts:
                behind.join()
    return waited[True] - waited[False]


def _learn(app: App, cancel: Cancel) -> None:
    with closing(app.db.another_connection()) as db, suppress(Cancelled):
        context = background.job_context(app, db, cancel)
        while worker.run_one(context):
            pass


def _reach() -> float:
    """How many times as long `agent ask` takes until its request arrives while another process works on the file."""
    with _opened(learns=False) as (app, server):
        with app.db.write():
            for number in range(NOTES):
                notes.add(app.db, app.scope, f"{number}: {_TOLD[number % len(_TOLD)]}", app.time)
        index.refresh_all(app.db)
        alone = [_until_request(app, server) for _ in range(ASKS)]
        jobs.add(app.db, INDEX, "all", app.time())
        background.start(app)
        beside = []
        while jobs.any_due(app.db, app.time()):
            time.sleep(0.05)  # until the process has taken the job
        for _ in range(ASKS):
            beside.append(_until_request(app, server))
    return statistics.median(beside) / statistics.median(alone)


def _until_request(app: App, server: OllamaServer) -> float:
    before, began = len(server.turns), time.monotonic()
    settings = {
        "AGENT_DB": str(app.path),
        "AGENT_CONFIG": str(app.path.parent / "none.toml"),
        "AGENT_MODEL": CHAT.name,
        "AGENT_BACKGROUND_JOBS": "false",
        "OLLAMA_HOST": server.host,
    }
    environ = {**os.environ, **settings}
    command = [sys.executable, "-m", "agent_cli", "ask", "hello"]
    asked = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL)
    server.wait_until(lambda: len(server.turns) > before)
    arrived = [each for each in server.requests if each.path == "/api/chat"][-1].received_at
    asked.wait()
    return arrived - began


def _answer(body: dict[str, object]) -> script.Script:
    """A sentence; to the job that learns that there is nothing; now and then a call of a tool first."""
    messages = body["messages"]
    assert isinstance(messages, list)
    last = messages[-1]
    if body.get("format") or _OPERATIONS in last["content"]:
        return script.reply(_OPERATIONS)
    if "Note what" in last["content"] and last["role"] == "user":
        return script.reply(calls=[("jot", {"text": f"milk, eggs, onions ({len(messages)})"})])
    return script.reply("That is a good question, and here is what I would do: begin with a little, and go on from it.")


def _of_version(folder: Path) -> bool:
    """Measure another checkout with this benchmark, in a process of its own."""
    python, here = folder / ".venv/bin/python", Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as joined:
        for name, where in (("agent_cli", folder), ("tests", here), ("benchmarks", here)):
            Path(joined, name).symlink_to(where / name)
        program = "import sys; from benchmarks import first_word; sys.exit(not first_word.run())"
        command = [str(python) if python.exists() else sys.executable, "-c", program]
        return subprocess.run(command, cwd=joined, check=False).returncode == 0
