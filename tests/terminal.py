"""A person at a terminal: the program on a real pseudo-terminal, and the screen it draws.

Nothing sleeps: `wait` reads until the words stand on the screen.
"""

import os
import signal
import termios
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import pyte

ROWS, COLUMNS = 50, 100
CTRL_C, CTRL_D, ESC, ENTER = "\x03", "\x04", "\x1b", "\r"


class Terminal:
    def __init__(self, command: list[str], env: dict[str, str], folder: Path):
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self._screen)
        self._text: str | None = None  # what is drawn in the screen, until more is drawn
        self.raw = b""
        with warnings.catch_warnings():  # of a fork beside the threads of a server: this one runs a program at once
            warnings.simplefilter("ignore", DeprecationWarning)
            self.child = pexpect.spawn(
                command[0], command[1:], env=env, cwd=str(folder), dimensions=(ROWS, COLUMNS), timeout=10
            )  # type: ignore[arg-type]
        self.child.delaybeforesend = None
        self.child.ptyproc.delayafterclose = self.child.ptyproc.delayafterterminate = 0.01

    @property
    def text(self) -> str:
        """What stands on the screen, without the blanks at the ends of lines."""
        if self._text is None:
            self._text = "\n".join(self._row(number) for number in range(ROWS)).rstrip()
        return self._text

    def _row(self, number: int) -> str:
        """A tenth of the work of Screen.display, which looks at every cell. Behind a wide character stands an empty."""
        cells = self._screen.buffer.get(number, {})
        return "".join(cells[column].data for column in range(max(cells, default=-1) + 1)).rstrip()

    @property
    def pid(self) -> int:
        return int(self.child.pid)

    def read(self, seconds: float) -> bool:
        """Take in what has been drawn, waiting at most so long for it; False when the program has ended."""
        try:
            piece = self.child.read_nonblocking(65536, seconds)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.raw += piece
        self._stream.feed(piece)
        self._text = None
        return True

    def until(self, true: Callable[[], Any], what: str, seconds: float = 30) -> "Terminal":
        """Read until it is true. Raises AssertionError with the screen."""
        end = time.monotonic() + seconds
        while not true():
            alive = self.read(0.05)
            assert true() or (alive and time.monotonic() < end), f"{what} did not come:\n{self.text}"
        return self

    def wait(self, words: str, times: int = 1) -> "Terminal":
        """Read until the words stand on the screen so many times."""
        return self.until(lambda: self.text.count(words) >= times, repr(words))

    def wait_prompt(self) -> "Terminal":
        """Read until the program waits for a line."""
        return self.until(lambda: self.text.rsplit("\n", 1)[-1] == ">", "the prompt")

    def type(self, keys: str) -> "Terminal":
        self.child.send(keys)
        return self

    def enter(self, line: str) -> "Terminal":
        """Type a line a few keys at a time, and Enter once it stands there: keys that come at once are a paste."""
        for start in range(0, len(line), 6):
            self.type(line[start : start + 6]).wait_for_line(line[: start + 6][-COLUMNS // 2 :])
        return self.type(ENTER)

    def by_hand(self, keys: str, pause: float = 0.04) -> "Terminal":
        """Type key by key, as a fast typist does, whatever is drawn meanwhile."""
        for key in keys:
            self.type(key)
            next_key = time.monotonic() + pause
            while (left := next_key - time.monotonic()) > 0:
                self.read(left)
        return self

    def wait_for_line(self, line: str) -> "Terminal":
        """Read until this stands where the cursor is; a menu may stand below."""
        return self.until(lambda: line.rstrip() in self.line, repr(line))

    @property
    def line(self) -> str:
        """What stands where the cursor is."""
        below = self._screen.cursor.y + 1
        return "\n".join(self._row(number) for number in range(below)).rstrip().rsplit("\n", 1)[-1]

    def ended(self) -> int:
        """Read to the end and give the exit code, or the signal as a negative number."""
        end = time.monotonic() + 30
        while self.read(0.05):
            assert time.monotonic() < end, f"it did not end:\n{self.text}"
        self.child.wait()
        return int(self.child.exitstatus if self.child.exitstatus is not None else -self.child.signalstatus)

    def signal(self, number: signal.Signals) -> "Terminal":
        os.kill(self.pid, number)
        return self

    def hang_up(self) -> int:
        """Close the terminal as a window is closed; the exit code of the program."""
        self.child.ptyproc.fileobj.close()
        return int(self.child.wait())

    def settings(self) -> list[Any]:
        """How the terminal is set, as `stty -a` shows it."""
        return termios.tcgetattr(self.child.child_fd)

    def close(self) -> None:
        """Hang up, and make sure that nothing is left."""
        if self.child.isalive():
            self.child.kill(signal.SIGKILL)
            self.child.wait()
        self.child.ptyproc.fileobj.close()
