"""Fetching a model, as a person follows it: how much is here, how fast it comes, how long it will take.

The server keeps what has arrived, so a broken connection costs little: it is tried again, and a later run goes on where
this one stopped.
"""

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from agent_cli.errors import Cancelled, ModelUnavailable
from agent_cli.llm.model import Cancel
from agent_cli.llm.ollama import catalog
from agent_cli.llm.ollama.catalog import Progress, PullCut
from agent_cli.values import frozen

_TRIES = 5
"""Broken connections in a row, none of which has brought anything."""
_SPAN = 10.0  # seconds over which the speed is measured


@frozen
class State:
    """How far it has come. `notice` is a sentence to tell, once; `speed` is in bytes a second, 0 while unknown."""

    status: str
    completed: int = 0  # bytes
    total: int = 0
    speed: float = 0.0
    notice: str = ""

    @property
    def percent(self) -> int:
        return 100 * self.completed // self.total if self.total else 0

    @property
    def step(self) -> str:
        """The same in tens of percent, for where each is a line of its own."""
        return f"{self.status} {self.percent // 10 * 10} %" if self.total else self.status

    @property
    def line(self) -> str:
        """All of it on one line."""
        if not self.total:
            return self.status
        parts = [f"{self.status} {self.percent} %", f"{size(self.completed)} of {size(self.total)}"]
        if self.speed:
            left = max(0, round((self.total - self.completed) / self.speed))
            parts += [f"{size(self.speed)}/s", f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02} left"]
        return " · ".join(parts)


def size(count: float) -> str:
    """Bytes for a person, as in 2.5 GB."""
    for unit, many in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= many:
            return f"{count / many:.1f} {unit}"
    return f"{count:.0f} B"


def fetch(host: str, name: str, cancel: Cancel | None = None, pause: float = 1.0) -> Iterator[State]:
    """Fetch a model, again and again where the connection breaks. Raises ModelMissing, ModelFailed, ModelUnavailable.

    Stopped, it raises Cancelled with a sentence that says how to go on. `pause`: seconds before the second try.
    """
    cancel = Cancel() if cancel is None else cancel
    seen = _Seen()
    fails = 0
    while True:
        before = seen.arrived
        try:
            for step in catalog.pull(host, name, cancel):
                yield seen.state(step)
            return
        except Cancelled as error:
            raise stopped(name, seen.percent) from error
        except (PullCut, ModelUnavailable) as error:
            fails = 1 if seen.arrived > before else fails + 1
            if fails >= _TRIES or not seen.begun:
                raise
            yield State(
                "", notice=f"the connection broke at {seen.percent} %; trying again, it goes on where it stopped"
            )
            try:
                cancel.wait(pause * 2 ** (fails - 1))
            except Cancelled:
                raise stopped(name, seen.percent) from error


def stopped(name: str, percent: int) -> Cancelled:
    return Cancelled(
        f"stopped at {percent} %; what has arrived is kept, and `agent models pull {name}` goes on from there"
    )


@dataclass
class _Seen:
    """What the server has told so far, of all parts of the model."""

    begun: bool = False
    _completed: dict[str, int] = field(default_factory=dict)
    _totals: dict[str, int] = field(default_factory=dict)
    _before: dict[str, int] = field(default_factory=dict)  # what was there already, by part
    _marks: deque[tuple[float, int]] = field(default_factory=deque)

    @property
    def arrived(self) -> int:
        """Bytes that have come since it began."""
        return sum(self._completed.values()) - sum(self._before.values())

    @property
    def percent(self) -> int:
        total = sum(self._totals.values())
        return 100 * sum(self._completed.values()) // total if total else 0

    def state(self, step: Progress) -> State:
        self.begun = True
        notice = ""
        if step.digest:
            if step.digest not in self._before:
                self._before[step.digest] = step.completed
                if 0 < step.completed < step.total:
                    notice = f"going on where it stopped: {size(step.completed)} of {size(step.total)} are here"
            self._completed[step.digest] = max(step.completed, self._completed.get(step.digest, 0))
            self._totals[step.digest] = step.total
        if not step.digest or not step.total:
            return State(step.status, notice=notice)
        now = time.monotonic()
        self._marks.append((now, self.arrived))
        while len(self._marks) > 2 and now - self._marks[0][0] > _SPAN:
            self._marks.popleft()
        since, then = self._marks[0]
        speed = (self.arrived - then) / (now - since) if now - since > 0.5 else 0.0
        return State(step.status, sum(self._completed.values()), sum(self._totals.values()), speed, notice)
