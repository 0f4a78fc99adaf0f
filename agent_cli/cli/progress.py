"""A progress line on standard error, overwritten as work goes on; shown at a terminal only.

It is one line that never wraps, drawn a few times a second: what is done, how fast it goes, and the time that is left
where the end is known.
"""

import shutil
import sys
import time
from collections.abc import Callable
from types import TracebackType

from agent_cli.cli import output
from agent_cli.render.layout import cut
from agent_cli.render.styles import bar
from agent_cli.text import one_line

_BAR = 12  # cells
_INTERVAL = 0.1  # seconds between two drawings
_ESTIMATE_AFTER = 1.0  # seconds after which a rate says something


class ProgressLine:
    """The progress line, erased at the end. Notes printed meanwhile stand above it."""

    def __init__(self, quiet: bool = False, now: Callable[[], float] = time.monotonic):
        self._shown = False
        self._now = now
        self._label, self._began, self._first, self._drawn = "", 0.0, 0, 0.0
        self.live = sys.stderr.isatty() and not quiet

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._erase()

    def show(self, text: str) -> None:
        if self.live:
            width = shutil.get_terminal_size().columns
            sys.stderr.write(f"\r\x1b[K{cut(one_line(text, width), max(1, width - 1))}")
            sys.stderr.flush()
            self._shown = True

    def step(self, label: str, done: int, total: int | None, unit: str) -> None:
        """Show that so many are done, of a total where that is known: `unit` names them, as in "rows"."""
        if not self.live:
            return
        now = self._now()
        if label != self._label:
            self._label, self._began, self._first, self._drawn = label, now, done, 0.0
        if now - self._drawn < _INTERVAL and done != total:
            return
        self._drawn = now
        self.show(" · ".join([_extent(label, done, total, unit), *self._pace(now, done, total)]))

    def _pace(self, now: float, done: int, total: int | None) -> list[str]:
        """The rate and the time left, once they can be told."""
        seconds, steps = now - self._began, done - self._first
        if seconds < _ESTIMATE_AFTER or steps <= 0:
            return []
        rate = steps / seconds
        left = [f"{_duration((total - done) / rate)} left"] if total is not None and total > done else []
        return [f"{rate:,.0f} a second" if rate >= 1 else f"{60 * rate:,.0f} a minute", *left]

    def note(self, text: str) -> None:
        self._erase()
        output.note(text)

    def _erase(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False


def _extent(label: str, done: int, total: int | None, unit: str) -> str:
    if total is None:
        return f"{label} {done:,} {unit}"
    drawn = bar(done / max(1, total), _BAR)
    return f"{label} {drawn:░<{_BAR}} {done:,} of {total:,} {unit}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
