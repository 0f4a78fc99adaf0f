"""`kill -9` at random moments, and what must be left: all that was acknowledged. For the suite and the benchmark.

A question is acknowledged when it has reached the server, a word when it has reached the program's standard output.
"""

import json
import random
import re
import subprocess
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests import warm
from tests.conftest import CHAT, EMBEDDER, Program
from tests.ollama_server import script
from tests.ollama_server.server import OllamaServer

PACE = 0.003  # seconds before each word
LENGTH = 20  # sentences of three words, before and after the call
SHOWN = 200  # characters that come before the call at least

WRITER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.scope import PERSON, Scope
from agent_cli.messages import Part
from agent_cli.store import file

path, count, name = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
now, here = datetime.now(UTC), Scope(PERSON, "/")
db = file.open_file(path, now, print)
session = sessions.start(db, here, now)
print("ready", flush=True)
sys.stdin.readline()
for number in range(count):
    print(log.add_user_message(db, session, here, [Part(f"{name} {number}", "typed")], now), flush=True)
"""


@dataclass
class Outcome:
    """What was found after so many kills."""

    rounds: int = 0
    questions: int = 0  # that had reached the server
    words: int = 0  # that had reached standard output
    cut: int = 0  # replies and calls that a kill left open
    lost: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)  # what integrity_check or the next start had to complain of


def answer(body: dict[str, Any]) -> script.Script:
    """A long answer with a tool call in its middle; a short one to what is asked after a kill."""
    last = body["messages"][-1]
    asked = re.findall(r"question (\d+)\.", last["content"])
    if last["role"] == "tool":
        return script.reply(_numbered("after", LENGTH), delay=PACE)
    if not asked or "are you there" in last["content"]:
        return script.reply("yes")
    return script.reply(_numbered(f"before {asked[-1]}", LENGTH), calls=[("jot", {"text": "half-way"})], delay=PACE)


def _numbered(word: str, count: int) -> str:
    return " ".join(f"{word} {number}." for number in range(count))


def kill_rounds(home: Path, rounds: int, seed: int) -> Outcome:
    """Kill `agent ask -c` so many times in one conversation, each time going on with it."""
    outcome, chance, program = Outcome(), random.Random(seed), Program(home)
    session = {"id": "1", "messages": [{"id": "1", "role": "user", "content": "hello"}]}
    with OllamaServer([CHAT, EMBEDDER], strict=False) as server:
        server.answer = answer
        program.use(server)("sessions", "import", "-", stdin=json.dumps(session))
        began = time.monotonic()
        program("ask", "-c", "question 0.")
        whole = time.monotonic() - began
        for number in range(1, rounds + 1):
            if number % 2:  # somewhere in the answer, however fast it comes
                shown = _killed(program, f"question {number}.", characters=chance.randint(1, SHOWN))
            else:
                shown = _killed(program, f"question {number}.", seconds=chance.uniform(0, whole))
            _check(program, server, shown, outcome)
        outcome.broken += server.problems
    return outcome


def _killed(program: Program, question: str, characters: int = 0, seconds: float = 0) -> str:
    """What had reached standard output when the process was killed: after so many characters, or so much time."""
    process = program.start("ask", "-c", question, stdin=subprocess.DEVNULL)
    assert process.stdout
    shown = process.stdout.read(characters)
    time.sleep(seconds)
    process.kill()
    return (shown + process.communicate()[0]).strip()


def _check(program: Program, server: OllamaServer, shown: str, outcome: Outcome) -> None:
    """Go on with the conversation, then compare what had been seen with what is kept."""
    ran = program("ask", "-c", "are you there?")
    if (ran.code, ran.out) != (0, "yes\n"):
        outcome.broken.append(f"going on gave {ran.code}: {ran.err}")
    outcome.broken += _out_of_turn(server.turns[-1]["messages"])
    kept = program.rows("select role, text, finish from message order by id")
    said, replied = (" ".join(text for role, text, _ in kept if role == wanted) for wanted in ("user", "assistant"))
    reached = set(re.findall(r"question \d+\.", json.dumps(server.turns)))
    outcome.lost += [question for question in reached if question not in said]
    outcome.lost += [piece for piece in shown.split("\n\n") if piece not in replied]
    outcome.broken += [f"still open: {text}" for _, text, finish in kept if finish is None]
    outcome.broken += [found for (found,) in program.rows("pragma integrity_check") if found != "ok"]
    outcome.rounds += 1
    outcome.questions = len(reached)
    outcome.words += len(shown.split())
    outcome.cut = sum(finish == "interrupted" or text == "interrupted" for _, text, finish in kept)


def _out_of_turn(messages: list[dict[str, Any]]) -> list[str]:
    """Neighbours of the same role: results of tools apart, a template refuses them."""
    roles = [message["role"] for message in messages]
    return [f"{left} follows {right}" for left, right in pairwise(roles) if left == right != "tool"]


def write_together(path: Path, processes: int, messages: int) -> list[list[int]]:
    """So many processes write at once, back to back; gives the numbers each got for its messages."""
    running = [warm.python(WRITER, path, messages, f"writer {number}") for number in range(processes)]
    ready = [process.stdout and process.stdout.readline() for process in running]
    assert ready == ["ready\n"] * processes, ready
    for process in running:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=60)[0] for process in running]
    return [[int(line) for line in output.splitlines()] for output in outputs]
