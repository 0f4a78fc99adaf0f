"""What the person waits for, on one line that vanishes: "loading qwen3:8b … 4 s".

It counts seconds and does not turn. Only its own line is ever erased, before anything else is written there. It has a
thread of its own, so that it goes on while the one that reads events waits for them.
"""

import threading
import time
from collections.abc import Callable
from typing import TextIO

from agent_cli.render.layout import cells
from agent_cli.text import one_line

_ERASE = "\r\x1b[K"
_FIRST = 0.4  # seconds; what comes sooner needs no excuse
_EVERY = 0.25


class Spinner:
    def __init__(self, out: TextIO, width: Callable[[], int]):
        self._out, self._width = out, width
        self._changed = threading.Condition()
        self._words: Callable[[], str] | None = None
        self._since = 0.0
        self._drawn = ""
        self._thread: threading.Thread | None = None

    def show(self, words: Callable[[], str]) -> None:
        """Say this, and since when, until something else is said; `words` are asked for each time."""
        with self._changed:
            self._words, self._since = words, time.monotonic()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="spinner", daemon=True)
                self._thread.start()

    def hide(self) -> None:
        """Erase it. Nothing is drawn any more when this returns."""
        with self._changed:
            self._words, self._thread = None, None
            self._changed.notify()
            if self._drawn:
                self._drawn = ""
                self._out.write(_ERASE)
                self._out.flush()

    def _run(self) -> None:
        with self._changed:
            self._changed.wait(_FIRST)
            while self._words and self._thread is threading.current_thread():
                try:
                    self._draw(self._words())
                except (OSError, ValueError):  # the terminal has gone
                    return
                self._changed.wait(_EVERY)

    def _draw(self, words: str) -> None:
        seconds = int(time.monotonic() - self._since)
        line = f"{one_line(words)} …{f' {seconds} s' if seconds else ''}"
        while cells(line) >= self._width():  # a line that wraps could not be erased
            line = line[:-2] + "…"
        if line != self._drawn:
            self._drawn = line
            self._out.write(_ERASE + line)
            self._out.flush()
