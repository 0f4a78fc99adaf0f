"""What the program waits for, on one line that is erased again: "loading qwen3:8b … 4 s".

It counts seconds and does not turn. Only its own line is ever erased, before anything else is written there. It runs on
a thread of its own, so that it goes on while the thread that reads events waits for them.
"""

import threading
import time
from collections.abc import Callable
from typing import TextIO

from agent_cli.render.layout import cut
from agent_cli.text import one_line

_ERASE = "\r\x1b[K"
_DELAY = 0.4  # seconds; a shorter wait shows nothing
_INTERVAL = 0.25
_HINT_DELAY = 60  # seconds


class Spinner:
    def __init__(self, out: TextIO, width: Callable[[], int], now: Callable[[], float] = time.monotonic):
        self._out, self._width, self._now = out, width, now
        self._changed = threading.Condition()
        self._label: Callable[[], str] | None = None
        self._hint = ""
        self._started = 0.0
        self._drawn = ""
        self._thread: threading.Thread | None = None

    def show(self, label: Callable[[], str], hint: str = "") -> None:
        """Show the label and the seconds since now, until another label or `hide`; `label` is called at each redraw.

        `hint`: what to do, shown too after a minute.
        """
        with self._changed:
            self._label, self._hint, self._started = label, hint, self._now()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="spinner", daemon=True)
                self._thread.start()

    def hide(self) -> None:
        """Erase the line. Nothing is drawn any more when this returns."""
        with self._changed:
            self._label, self._thread = None, None
            self._changed.notify()
            if self._drawn:
                self._drawn = ""
                self._out.write(_ERASE)
                self._out.flush()

    def _run(self) -> None:
        with self._changed:
            self._changed.wait(_DELAY)
            while self._label and self._thread is threading.current_thread():
                try:
                    self._draw(self._label())
                except (OSError, ValueError):  # the terminal has gone
                    return
                self._changed.wait(_INTERVAL)

    def _draw(self, label: str) -> None:
        seconds = int(self._now() - self._started)
        hint = f" · {self._hint}" if self._hint and seconds >= _HINT_DELAY else ""
        line = f"{one_line(label)} …{f' {seconds} s' if seconds else ''}{hint}"
        line = cut(line, self._width() - 1)  # a line that wraps could not be erased
        if line != self._drawn:
            self._drawn = line
            self._out.write(_ERASE + line)
            self._out.flush()
