"""How soon the program is there: its version said, a question on the wire, the prompt on the screen.

Commands are run in turns (A B C, A B C, …), so that what else the machine does falls on all of them alike.
"""

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.quiet import percentile_95
from tests.conftest import CHAT, EMBEDDER, Program
from tests.ollama_server.script import reply
from tests.ollama_server.server import OllamaServer
from tests.terminal import Terminal

RUNS = 20
SESSIONS, MESSAGES = 200, 50  # of each session: 10,000 messages


@dataclass
class Series:
    """Milliseconds of each run; `cpu` is user and system time of the process."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.wall)

    @property
    def p95(self) -> float:
        return percentile_95(self.wall)


@dataclass(frozen=True)
class Target:
    name: str
    milliseconds: float
    above_bare: bool = False  # counted from what Python itself takes


TARGETS = (
    Target("agent --version", 60, above_bare=True),
    Target("agent --help", 60, above_bare=True),
    Target("agent ask, model named, until the request arrives", 150),
    Target("agent ask, model auto, until the request arrives", 150),
    Target("agent hook, at a prompt of another tool", 150),
    Target("agent, until the prompt stands", 250),
)
PROMPT = json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": "where is the address of the printer?"})
BARE = "python -c pass"


def run() -> bool:
    """Measure and print; whether all targets are met."""
    with tempfile.TemporaryDirectory() as folder, OllamaServer([CHAT, EMBEDDER], strict=False) as server:
        program = Program(Path(folder))
        script = Path(sys.executable).with_name("agent")
        program.command = [str(script)] if script.exists() else program.command
        program.env["OLLAMA_HOST"] = server.host
        server.answer = lambda body: reply("hello")
        print(f"\nstart-up: {RUNS} runs of each in turns, ms; {' '.join(program.command)}")
        print(f"import of {SESSIONS * MESSAGES:,} messages: {_fill(program):,.0f} messages/s")
        found = _in_turns(_runs(program, server))
    _print(found)
    return all(_met(found, target) for target in TARGETS)


def _fill(program: Program) -> float:
    """Import conversations; messages a second, the start of the program included."""
    began = time.perf_counter()
    ran = program("sessions", "import", "-", stdin="".join(_lines()), timeout=300)
    assert ran.code == 0, ran.err
    return SESSIONS * MESSAGES / (time.perf_counter() - began)


def _lines() -> Iterator[str]:
    words = "the router in the hall has the address and the printer has another one that nobody wrote down so far"
    for session in range(SESSIONS):
        messages = [
            {"id": str(n), "role": ("user", "assistant")[n % 2], "content": f"{session} {n}: {words}"}
            for n in range(MESSAGES)
        ]
        yield json.dumps({"id": str(session), "title": f"Talk {session}", "messages": messages}) + "\n"


def _runs(program: Program, server: OllamaServer) -> Mapping[str, Callable[[], float]]:
    """By name, what runs a command once and gives its seconds."""
    return {
        BARE: lambda: ended([sys.executable, "-c", "pass"]),
        "python -I -c pass": lambda: ended([sys.executable, "-I", "-c", "pass"]),
        "agent --version": lambda: ended([*program.command, "--version"]),
        "agent --help": lambda: ended([*program.command, "--help"]),
        "agent ask, model named, until the request arrives": lambda: wired(program, server, CHAT.name),
        "agent ask, model auto, until the request arrives": lambda: wired(program, server, "auto"),
        "agent hook, at a prompt of another tool": lambda: hooked(program),
        "agent, until the prompt stands": lambda: prompted(program),
    }


def _in_turns(runs: Mapping[str, Callable[[], float]]) -> dict[str, Series]:
    found = {name: Series() for name in runs}
    for number in range(RUNS + 1):
        for name, once in runs.items():
            with _cpu() as used:
                seconds = once()
            if number:  # the first fills the caches
                found[name].wall.append(1000 * seconds)
                found[name].cpu.append(1000 * sum(used))
    return found


@contextmanager
def _cpu() -> Iterator[list[float]]:
    """Seconds of processor time that child processes took."""
    used: list[float] = []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    yield used
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used += [after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime]


def ended(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def wired(program: Program, server: OllamaServer, model: str) -> float:
    before = len(server.requests)
    began = time.monotonic()
    asking = program.start("ask", "hello", env={"AGENT_MODEL": model}, stdin=subprocess.DEVNULL)
    out, err = asking.communicate(timeout=30)
    assert (asking.returncode, out) == (0, "hello\n"), err
    return next(each.received_at for each in server.requests[before:] if each.path == "/api/chat") - began


def hooked(program: Program) -> float:
    began = time.perf_counter()
    ran = program("hook", stdin=PROMPT)
    assert (ran.code, ran.err) == (0, ""), ran.err
    return time.perf_counter() - began


def prompted(program: Program) -> float:
    began = time.perf_counter()
    terminal = Terminal(program.command, program.env, program.work)
    try:
        terminal.wait_prompt()
        return time.perf_counter() - began
    finally:
        terminal.type("\x04").ended()
        terminal.close()


def _figure(found: Mapping[str, Series], target: Target) -> float:
    return found[target.name].median - (found[BARE].median if target.above_bare else 0)


def _met(found: Mapping[str, Series], target: Target) -> bool:
    return _figure(found, target) <= target.milliseconds


def _print(found: Mapping[str, Series]) -> None:
    bare, targets = found[BARE].median, {target.name: target for target in TARGETS}
    print(f"{'':<50} median    p95    CPU   bare   diff  target")
    for name, series in found.items():
        row = f"{name:<50} {series.median:>6.0f} {series.p95:>6.0f} {statistics.median(series.cpu):>6.0f}"
        row += f" {bare:>6.0f} {series.median - bare:>6.0f}"
        if target := targets.get(name):
            which = "diff" if target.above_bare else "median"
            row += f"  {which} ≤ {target.milliseconds:.0f}  {'ok' if _met(found, target) else 'NOT'}"
        print(row)
