"""What callers' turns and calls amount to, and whether the server can work: its database, the disk, a model server.

Turns, tokens and calls are counted from the log, so a restart loses none; requests and times while the server runs.
The figures are in Prometheus' text format (version 0.0.4). A caller sees its own and nobody else's: how busy another
is, is its own business. One that was granted the person's memory sees all, by the callers' names, and the jobs of the
file. No label holds a word that a model or a client made up: a tool that is not there counts as "other".
"""

import os
import shutil
import threading
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from agent_cli.app import engines
from agent_cli.app.app import App
from agent_cli.errors import AgentError
from agent_cli.memory.conversations import sessions
from agent_cli.memory.conversations.callers import Caller
from agent_cli.memory.reports import records
from agent_cli.store.db import Database
from agent_cli.tools import registry

OK = "ok"
_ROOM = 50_000_000  # bytes that must be free for the work of a day


def look(app: App, db: Database) -> dict[str, str]:
    """What was found of each part: "ok", or a sentence. No paths and addresses: whoever asks needs no token."""
    return {"database": _database(app, db), "disk": _disk(db), "model": _model(app)}


def _database(app: App, db: Database) -> str:
    try:
        sessions.latest(db, app.scope.owner)
    except AgentError:
        return "it cannot be read: `agent db check` says more"
    return OK if db.in_memory or os.access(db.path, os.W_OK) else "it cannot be written"


def _disk(db: Database) -> str:
    free = shutil.disk_usage(Path(db.path).parent).free if not db.in_memory else _ROOM
    return OK if free >= _ROOM else f"{free // 1_000_000} MB are free"


def _model(app: App) -> str:
    if app.config.model == "offline" or app.config.model.startswith("scripted:"):
        return OK
    try:
        engines.of(app.config).listing()
    except AgentError:
        return "no model server answers"
    return OK


BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)

_METRICS = {
    "agent_turns_total": ("counter", "Turns, by how they ended."),
    "agent_tokens_in_total": ("counter", "Tokens that the model read."),
    "agent_tokens_out_total": ("counter", "Tokens that the model wrote."),
    "agent_tool_calls_total": ("counter", "Calls of tools, by name and by what was decided of them."),
    "agent_requests_total": ("counter", "Requests, by status."),
    "agent_turn_own_seconds": ("histogram", "Seconds of a turn, without those of the model and of waiting in line."),
    "agent_turn_model_seconds": ("histogram", "Seconds of a turn in which the model was waited for."),
    "agent_turn_waited_seconds": ("histogram", "Seconds that a turn waited in line."),
    "agent_turns_running": ("gauge", "Turns that run now."),
    "agent_turns_waiting": ("gauge", "Turns that wait in line now."),
    "agent_jobs": ("gauge", "Jobs in the queue of the file, by state."),
}

Labels = tuple[tuple[str, str], ...]


class Metrics:
    """Counted by any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, str, Labels], float] = {}
        self._times: dict[tuple[str, str], list[float]] = {}  # how many in each bucket and above, then their sum
        self._read_to = 0  # the last event that was counted
        self._reading = threading.Lock()

    def count(self, name: str, caller: str, by: float = 1, **labels: str) -> None:
        key = (name, caller, tuple(sorted(labels.items())))
        with self._lock:
            self._counts[key] = self._counts.get(key, 0) + by

    def read_log(self, db: Database) -> None:
        """Count what callers' turns and calls were logged since the last reading; the first one reads the whole log."""
        with self._reading:
            for number, kind, subject, caller, *tokens in records.callers_events(db, self._read_to):
                self._read_to = number
                what, _, how = kind.partition(" ")
                if what == "call":
                    tool = subject if subject in registry.BUILT_IN else "other"
                    self.count("agent_tool_calls_total", caller, tool=tool, ruling=how.partition(" ")[0])
                elif what == "turn" or how not in ("with calls", "cancelled", "interrupted"):  # else the turn tells how
                    self.count("agent_turns_total", caller, finish=how or "stop")
                if what == "reply":
                    self.count("agent_tokens_in_total", caller, tokens[0])
                    self.count("agent_tokens_out_total", caller, tokens[1])

    def time(self, name: str, caller: str, seconds: float) -> None:
        with self._lock:
            row = self._times.setdefault((name, caller), [0.0] * (len(BUCKETS) + 2))
            row[bisect_left(BUCKETS, seconds)] += 1
            row[-1] += seconds

    def render(self, caller: Caller, gauges: Mapping[str, float], jobs: Mapping[str, int]) -> str:
        """The figures that this caller may see, as text."""
        with self._lock:
            counts = {key: value for key, value in self._counts.items() if caller.mine or key[1] == caller.name}
            times = {key: list(row) for key, row in self._times.items() if caller.mine or key[1] == caller.name}
        lines = []
        for name, (kind, help) in _METRICS.items():
            found = list(_samples(name, counts, times))
            if caller.mine and name in gauges:
                found.append(_line(name, (), gauges[name]))
            if caller.mine and name == "agent_jobs":
                found += [_line(name, (("state", state),), many) for state, many in jobs.items()]
            if found:
                lines += [f"# HELP {name} {help}", f"# TYPE {name} {kind}", *found]
        return "".join(f"{line}\n" for line in lines)


def _samples(
    name: str, counts: Mapping[tuple[str, str, Labels], float], times: Mapping[tuple[str, str], Sequence[float]]
) -> Iterator[str]:
    for (each, caller, labels), value in sorted(counts.items()):
        if each == name:
            yield _line(name, (("caller", caller), *labels), value)
    for (each, caller), row in sorted(times.items()):
        if each == name:
            yield from _histogram(name, caller, row)


def _histogram(name: str, caller: str, row: Sequence[float]) -> Iterator[str]:
    total = 0.0
    for bound, many in zip((*map(str, BUCKETS), "+Inf"), row, strict=False):
        total += many
        yield _line(f"{name}_bucket", (("caller", caller), ("le", bound)), total)
    yield _line(f"{name}_sum", (("caller", caller),), row[-1])
    yield _line(f"{name}_count", (("caller", caller),), total)


def _line(name: str, labels: Labels, value: float) -> str:
    rendered = ",".join(f'{key}="{each}"' for key, each in labels)
    return f"{name}{{{rendered}}} {value:g}" if rendered else f"{name} {value:g}"
