"""Downloads a model with progress: bytes received, speed and time left.

The server keeps what has arrived, so after a broken connection the download is tried again, and a later run continues
where this one stopped.
"""

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from agent_cli import text
from agent_cli.errors import Cancelled, ModelUnavailable
from agent_cli.llm.model import Cancel
from agent_cli.llm.ollama import catalog
from agent_cli.llm.ollama.catalog import PullInterrupted, PullStep
from agent_cli.values import frozen

_MAX_FAILURES = 5
"""Broken connections in a row without any bytes received."""
_SPEED_WINDOW = 10.0  # seconds over which the speed is measured


@frozen
class DownloadProgress:
    """The state of a download. `notice`: a sentence to show once. `speed`: bytes per second, 0 while unknown."""

    status: str
    completed: int = 0  # bytes
    total: int = 0
    speed: float = 0.0
    notice: str = ""

    @property
    def percent(self) -> int:
        return 100 * self.completed // self.total if self.total else 0

    @property
    def coarse_line(self) -> str:
        """The progress in tens of percent, for output where each change is a line of its own."""
        return f"{self.status} {self.percent // 10 * 10} %" if self.total else self.status

    @property
    def line(self) -> str:
        """Percent, bytes, speed and time left on one line."""
        if not self.total:
            return self.status
        parts = [
            f"{self.status} {self.percent} %",
            f"{text.format_size(self.completed)} of {text.format_size(self.total)}",
        ]
        if self.speed:
            left = max(0, round((self.total - self.completed) / self.speed))
            parts += [f"{text.format_size(self.speed)}/s", f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02} left"]
        return " · ".join(parts)


def fetch(host: str, name: str, cancel: Cancel | None = None, pause: float = 1.0) -> Iterator[DownloadProgress]:
    """Download a model, retrying when the connection breaks. Raises ModelMissing, ModelFailed, ModelUnavailable.

    Raises Cancelled with a sentence that says how to continue. `pause`: seconds before the second try, then doubled.
    """
    cancel = Cancel() if cancel is None else cancel
    totals = _Totals()
    failures = 0
    while True:
        arrived_before = totals.arrived
        try:
            for step in catalog.pull(host, name, cancel):
                yield totals.update(step)
            return
        except Cancelled as error:
            raise cancelled(name, totals.percent) from error
        except (PullInterrupted, ModelUnavailable) as error:
            failures = 1 if totals.arrived > arrived_before else failures + 1
            if failures >= _MAX_FAILURES or not totals.started:
                raise
            yield DownloadProgress(
                "", notice=f"the connection broke at {totals.percent} %; trying again, it goes on where it stopped"
            )
            try:
                cancel.wait(pause * 2 ** (failures - 1))
            except Cancelled:
                raise cancelled(name, totals.percent) from error


def cancelled(name: str, percent: int) -> Cancelled:
    return Cancelled(
        f"stopped at {percent} %; what has arrived is kept, and `agent models pull {name}` goes on from there"
    )


@dataclass
class _Totals:
    """Bytes received and expected so far, over all layers of the model, by their digests."""

    started: bool = False
    _completed: dict[str, int] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)
    _present_before: dict[str, int] = field(default_factory=dict)  # there before this run
    _speed_samples: deque[tuple[float, int]] = field(default_factory=deque)

    @property
    def arrived(self) -> int:
        """Bytes received in this run."""
        return sum(self._completed.values()) - sum(self._present_before.values())

    @property
    def percent(self) -> int:
        total = sum(self._sizes.values())
        return 100 * sum(self._completed.values()) // total if total else 0

    def update(self, step: PullStep) -> DownloadProgress:
        self.started = True
        notice = ""
        if step.digest:
            if step.digest not in self._present_before:
                self._present_before[step.digest] = step.completed
                if 0 < step.completed < step.total:
                    received = f"{text.format_size(step.completed)} of {text.format_size(step.total)}"
                    notice = f"going on where it stopped: {received} are here"
            self._completed[step.digest] = max(step.completed, self._completed.get(step.digest, 0))
            self._sizes[step.digest] = step.total
        if not step.digest or not step.total:
            return DownloadProgress(step.status, notice=notice)
        now = time.monotonic()
        self._speed_samples.append((now, self.arrived))
        while len(self._speed_samples) > 2 and now - self._speed_samples[0][0] > _SPEED_WINDOW:
            self._speed_samples.popleft()
        since, then = self._speed_samples[0]
        speed = (self.arrived - then) / (now - since) if now - since > 0.5 else 0.0
        return DownloadProgress(step.status, sum(self._completed.values()), sum(self._sizes.values()), speed, notice)
