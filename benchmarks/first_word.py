"""How long the first word is waited for on a slow machine, whatever runs behind the conversation.

The model server on loopback holds the last prompt, as a real one with one slot does, and tells how many tokens of each
request it had to read. At 30 tokens a second, as two cores without a graphics card do, that is the time to the first
word; the server itself answers at once, so that this takes seconds.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from agent_cli.agent.jobs import worker
from agent_cli.app import background, turns, upkeep
from agent_cli.app.app import App, open_app
from agent_cli.llm.model import Cancel
from agent_cli.memory.conversations import sessions
from agent_cli.memory.lifecycle import closing
from agent_cli.messages import Part
from tests.conftest import CHAT
from tests.ollama_server import context, script
from tests.ollama_server.server import OllamaServer

SPEED = 30  # tokens that the server reads in a second
TURNS = 20
MORE = 1.2  # times that a question may wait longer with learning than without

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
    rows = [
        ("first question, cold", with_learning.questions[0]),
        (f"questions 2 to {TURNS}, median, nothing learned", none),
        (f"questions 2 to {TURNS}, median, learned from after each", learning),
        ("  the longest of them", max(with_learning.questions[1:TURNS])),
        ("resumed, after its summary", with_learning.resumed),
        ("another session, after this one was closed", with_learning.another),
    ]
    print(f"\nseconds until the first word, at {SPEED} tokens a second")
    for name, tokens in rows:
        print(f"  {name:<52} {tokens / SPEED:>6.1f} s  ({tokens:.0f} tokens read)")
    share, held = with_learning.kept_beginnings, with_learning.held
    met = learning <= MORE * none
    print(f"  learning makes it longer by {learning / none - 1:>30.0%}{' ok' if met else ' NOT (≤ 20 %)'}")
    print(f"  turns whose instructions and tools were held {share:.0%}, share of all tokens held {held:.0%}")
    return met and share >= 0.95


class _Talk:
    """A conversation with tool calls, recall and a fold, whose jobs run after each turn, and what follows it."""

    def __init__(self, app: App, server: OllamaServer):
        self._app, self._server = app, server
        self.questions: list[int] = []  # tokens read for each question, also after calls of tools
        self.resumed = self.another = 0
        self.kept_beginnings = self.held = 0.0

    @classmethod
    def of(cls, *, learns: bool) -> "_Talk":
        with tempfile.TemporaryDirectory() as folder, OllamaServer(models=[CHAT], strict=False) as server:
            server.answer = _answer
            environ = {
                "AGENT_DB": str(Path(folder) / "memory.db"),
                "AGENT_CONFIG": str(Path(folder) / "none.toml"),
                "AGENT_LEARN": "ask" if learns else "off",
                "OLLAMA_HOST": server.host,
                "AGENT_MODEL": CHAT.name,
            }
            app = open_app({}, print, environ=environ)
            talk = cls(app, server)
            talk._hold()
            app.db.close()
        return talk

    def _hold(self) -> None:
        app = self._app
        session = sessions.start(app.db, app.scope, app.time())
        for number in range(TURNS):
            self.questions.append(self._ask(session, _TOLD[number % len(_TOLD)]))
            self._run_jobs()
        asked = [each for each in self._server.requests if each.path == "/api/chat"]
        standing = context.count(asked[0].body["messages"][:1], asked[0].body["tools"], 4.0)
        held = [(each.prompt_tokens or 0) - (each.read_tokens or 0) for each in asked[1:]]
        self.kept_beginnings = statistics.mean(each >= standing for each in held)
        self.held = 1 - sum(each.read_tokens or 0 for each in asked) / sum(each.prompt_tokens or 0 for each in asked)
        closing.close(app.db, session, app.time)
        self._run_jobs()
        sessions.reopen(app.db, session, app.scope.owner, app.time())
        self.resumed = self._ask(session, "Where were we?")
        closing.close(app.db, session, app.time)
        self._run_jobs()
        self.another = self._ask(sessions.start(app.db, app.scope, app.time()), "And now something else.")

    def _ask(self, session: int, words: str) -> int:
        before = len(self._server.requests)
        app = self._app
        at_work = turns.tool_context(app, app.db, session)
        for _ in turns.run(app, at_work, [Part(words, "typed")], at_keyboard=True):
            pass
        upkeep.after_turn(app, app.db)
        return sum(each.read_tokens or 0 for each in self._server.requests[before:] if each.path == "/api/chat")

    def _run_jobs(self) -> None:
        jobs = background.job_context(self._app, self._app.db, Cancel())
        worker.queue_due(jobs)
        while worker.run_one(jobs):
            pass


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
