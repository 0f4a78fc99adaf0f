"""A question that one key answers, at the terminal that controls this process.

The program opens the terminal itself, so a pipe or a file in the place of the keyboard answers nothing. What was typed
before the question stood there is thrown away, and several keys that come at once are a paste, which decides nothing.
"""

import os
import select
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_TOGETHER = 0.03  # seconds within which nobody presses two keys
_MOST = 4096  # bytes of one read
_SEVERAL = "  (a paste, or several keys at once, decide nothing; press one)"


class NoTerminal(Exception):
    """No terminal controls this process."""


def key(question: str) -> str:
    """The key that was pressed after the question was drawn, in lower case; empty when the terminal went away.

    Raises NoTerminal, and KeyboardInterrupt on Ctrl-C.
    """
    with _opened() as terminal:
        while True:
            pressed = _pressed(terminal, question)
            _write(terminal, f"{pressed if pressed.isprintable() else ''}\n")
            if len(pressed) <= 1:
                return pressed.lower()
            _write(terminal, f"{_SEVERAL}\n")


@contextmanager
def _opened() -> Iterator[int]:
    """The controlling terminal, its keys unechoed and given one by one."""
    try:
        import termios  # there is none on Windows

        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except (ImportError, OSError):
        raise NoTerminal from None
    try:
        before = termios.tcgetattr(terminal)
        changed: list[Any] = termios.tcgetattr(terminal)
        changed[3] &= ~(termios.ICANON | termios.ECHO)
        termios.tcsetattr(terminal, termios.TCSADRAIN, changed)
        try:
            yield terminal
        finally:
            with suppress(termios.error):  # it has gone
                termios.tcsetattr(terminal, termios.TCSADRAIN, before)
    finally:
        os.close(terminal)


def _pressed(terminal: int, question: str) -> str:
    """What was typed at once after the question was drawn."""
    import termios

    termios.tcflush(terminal, termios.TCIFLUSH)
    _write(terminal, question)
    try:
        pressed = os.read(terminal, _MOST)
        while pressed and select.select([terminal], [], [], _TOGETHER)[0] and (more := os.read(terminal, _MOST)):
            pressed += more
    except OSError:
        return ""
    return "" if pressed in (b"\x04", b"\x1b") else pressed.decode(errors="replace")


def _write(terminal: int, text: str) -> None:
    os.write(terminal, text.encode())
