"""A line below what is being written, for what is typed meanwhile: an answer is only appended, and the line moves down.

The line is taken away before each text and drawn again behind it, in one piece, by moving the cursor relative to where
the text ends. While nothing is shown, every text passes unchanged; where lines cannot be erased, nothing is ever shown.
"""

import threading
from typing import TextIO

from agent_cli.render.display import Display
from agent_cli.render.layout import cell_width
from agent_cli.render.styles import YOU

_MAKE_ROOM = "\x1bD\x1b[A"  # a row below the cursor: the window scrolls where it was the last
_BELOW, _BACK = "\x1b7\x1b[B\r\x1b[2K", "\x1b8"


class LineBelow:
    """Writes to `out`, and keeps a line below it. Both may be used by several threads."""

    def __init__(self, out: TextIO, display: Display):
        self._out, self._display = out, display
        self._lock = threading.RLock()
        self._line = ""
        self._drawn = False

    def show(self, line: str) -> None:
        """Show the end of this line below the text, after the person's sign; nothing when it is empty."""
        with self._lock:
            if self._display.spinner and line != self._line:
                self._erase()
                self._line = line
                self.flush()

    def write(self, text: str) -> int:
        with self._lock:
            self._erase()
            return self._out.write(text)

    def flush(self) -> None:
        with self._lock:
            if self._line and not self._drawn:
                sign = self._display.styled(YOU.sign, YOU.style)
                line = _tail(self._line, self._display.width() - 3)
                self._out.write(f"{_MAKE_ROOM}{_BELOW}{sign} {line}{_BACK}")
                self._drawn = True
            self._out.flush()

    def _erase(self) -> None:
        if self._drawn:
            self._out.write(_BELOW + _BACK)
            self._drawn = False


def _tail(line: str, cells: int) -> str:
    """The end of a line that fits."""
    cut = line
    while cell_width(cut) > cells:
        cut = f"…{cut[2:]}"
    return cut
