"""A person at a terminal: the program on a real pseudo-terminal, and the screen it draws.

Nothing sleeps: `wait` reads until the words stand on the screen.
"""

import fcntl
import os
import pty
import select
import signal
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyte

from agent_cli.repl.keyboard.keys import BURST_KEYS, BURST_SECONDS
from tests import warm

ROWS, COLUMNS = 50, 100
PROMPTS = ("❯", ">")  # the second for a screen reader
CTRL_C, CTRL_D, ESC, ENTER = "\x03", "\x04", "\x1b", "\r"
EDIT_DRAFT = "\x18\x05"  # Ctrl-X Ctrl-E


Process = subprocess.Popen[bytes] | warm.Forked


def _start(command: Sequence[str], env: Mapping[str, str], folder: Path, end: int) -> Process:
    """A process from nothing, in a session of its own whose terminal is the given end."""
    own = partial(fcntl.ioctl, end, termios.TIOCSCTTY, 0)
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), end)
    process = subprocess.Popen(command, env=env, cwd=folder, start_new_session=True, preexec_fn=own, **streams)
    os.close(end)
    return process


def past(seconds: float) -> Callable[[], bool]:
    """Whether so many seconds have passed since now."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


def without_control(command: Sequence[str], env: Mapping[str, str], folder: Path, end: int) -> Process:
    """A process whose streams are a terminal that does not control it, as after `setsid`."""
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), end)
    process = subprocess.Popen(command, env=env, cwd=folder, start_new_session=True, **streams)
    os.close(end)
    return process


class Terminal:
    """One whose program starts from nothing, unless a way to start it is given that forks. `typed`: what was typed
    before it started."""

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        folder: Path,
        start: Callable[[Sequence[str], Mapping[str, str], Path, int], Process] = _start,
        screen: pyte.Screen | None = None,
        typed: str = "",
    ):
        self.screen = screen or pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self.screen)
        self._rows: dict[int, str] = {}  # as they were read, until they are drawn anew
        self.raw = b""
        self._keys, end = pty.openpty()
        self.resize(self.screen.lines, self.screen.columns)
        self.type(typed)
        self._process = start(command, env, folder, end)

    def resize(self, rows: int, columns: int) -> None:
        """Change the size of the window, as a person who drags its corner."""
        termios.tcsetwinsize(self._keys, (rows, columns))

    @property
    def text(self) -> str:
        """What stands on the screen, without the blanks at the ends of lines."""
        return self._down_to(self.screen.lines)

    def _down_to(self, end: int) -> str:
        return "\n".join([self._row(number) for number in range(end)]).rstrip()

    def _row(self, number: int) -> str:
        """A tenth of the work of Screen.display, which looks at every cell. Behind a wide character stands an empty."""
        if number not in self._rows:
            cells = self.screen.buffer.get(number, {})
            self._rows[number] = "".join([cells[column].data for column in range(max(cells, default=-1) + 1)]).rstrip()
        return self._rows[number]

    @property
    def pid(self) -> int:
        return self._process.pid

    def read(self, seconds: float) -> bool:
        """Take in what has been drawn, waiting at most so long for it; False when the program has ended."""
        if not select.select([self._keys], [], [], seconds)[0]:
            return True
        try:
            piece = os.read(self._keys, 65536)
        except OSError:  # nobody holds the other end any more
            return False
        self.raw += piece
        self._stream.feed(piece)
        for number in self.screen.dirty:
            self._rows.pop(number, None)
        self.screen.dirty.clear()
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
        return self.until(lambda: self._is_drawn and self.text.rsplit("\n", 1)[-1] in PROMPTS, "the prompt")

    def type(self, keys: str) -> "Terminal":
        os.write(self._keys, keys.encode())
        return self

    def enter(self, line: str) -> "Terminal":
        """Type a line a few keys at a time, and Enter once it stands there: keys that come at once are a paste."""
        for start in range(0, len(line), 6):
            self.type(line[start : start + 6]).wait_for_line(line[: start + 6][-COLUMNS // 2 :])
        return self.type(ENTER)

    def answer(self, words: str) -> "Terminal":
        """Type words behind a question that ends with a colon, and Enter once they stand there."""
        return self.type(words).wait_for_line(f": {words}").type(ENTER)

    def by_hand(self, keys: str) -> "Terminal":
        """Type ahead as a fast typist does: never so many keys in so short a time that they are a paste."""
        for start in range(0, len(keys), BURST_KEYS - 1):
            if start:  # those before have arrived
                self.wait(keys[:start].rstrip()).until(past(BURST_SECONDS), "a moment")
            self.type(keys[start : start + BURST_KEYS - 1])
        return self

    def wait_for_line(self, line: str) -> "Terminal":
        """Read until this stands where the cursor is; a menu may stand below. Behind ❯: in the prompt, not a draft."""

        def stands() -> bool:
            return line.rstrip() in self.line and (self._is_asked if line[:1] == PROMPTS[0] else self._is_drawn)

        return self.until(stands, repr(line))

    @property
    def _is_drawn(self) -> bool:
        """Whether the screen is no part of a drawing, during which the cursor is hidden: it begins by erasing."""
        return not self.screen.cursor.hidden

    @property
    def _is_asked(self) -> bool:
        """Whether the prompt is drawn, with its cursor: what is typed during an answer stands there before."""
        return self._is_drawn and self.raw.rfind(b"\x1b[?12l") > self.raw.rfind(b"\x1b[?2004")

    @property
    def line(self) -> str:
        """What stands where the cursor is."""
        return self._down_to(self.screen.cursor.y + 1).rsplit("\n", 1)[-1]

    def ended(self) -> int:
        """Read to the end and give the exit code, or the signal as a negative number."""
        end = time.monotonic() + 30
        while self.read(0.05):
            assert time.monotonic() < end, f"it did not end:\n{self.text}"
        return self._process.wait()

    def signal(self, number: signal.Signals) -> "Terminal":
        os.kill(self.pid, number)
        return self

    def hang_up(self) -> int:
        """Close the terminal as a window is closed; the exit code of the program."""
        os.close(self._keys)
        self._keys = -1
        return self._process.wait()

    def settings(self) -> list[Any]:
        """How the terminal is set, as `stty -a` shows it."""
        return termios.tcgetattr(self._keys)

    def close(self) -> None:
        """Hang up, and make sure that nothing is left."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._keys >= 0:
            os.close(self._keys)
            self._keys = -1
