"""The line of a terminal that can move no cursor, as a shell window of Emacs: the terminal itself edits and echoes it.

prompt-toolkit's own prompt for these shows keys twice, cannot take one back, and takes a line that comes whole, as such
windows send it, for a paste whose Enter is a line break. Lines that come together are one message, and a paste.
"""

import asyncio
import os
import select
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import ClassVar

from prompt_toolkit.utils import is_dumb_terminal

from agent_cli.repl.keyboard.keypad import END, ENTER, STOP
from agent_cli.text import clean

_TOGETHER = 0.05  # seconds in which the next line of a paste has come
_TWICE = 2.0  # seconds in which a second Ctrl-C leaves
_READ = 65536


class Lines:
    """Reads lines from a terminal in its usual mode; `interrupt` is called when Ctrl-C came, as a signal."""

    _waiting: ClassVar["asyncio.Future[str] | None"] = None  # whoever asks: there is one terminal, and one Ctrl-C

    def __init__(self, input: int):
        self._input = input
        self._stopped = -_TWICE

    @staticmethod
    def wanted() -> bool:
        return is_dumb_terminal()

    async def message(self, prompt: str, default: str = "") -> str:
        """What is sent; with a `default`, Enter alone sends that. Raises EOFError when the person leaves."""
        if default:
            prompt = f"{default}\n(Enter alone sends that)\n{prompt}"
        while True:
            try:
                line = await self._line(prompt)
                while line.endswith("\\"):
                    line = f"{line[:-1]}\n{await self._line('  ')}"
                return line or default
            except KeyboardInterrupt:
                if time.monotonic() - self._stopped < _TWICE:
                    raise EOFError from None
                self._stopped = time.monotonic()
                _write("\npress Ctrl-C again to leave, or Ctrl-D\n")

    async def answer(self, question: str) -> str:
        """What is typed from now on. Raises EOFError, KeyboardInterrupt."""
        with suppress(termios.error):  # no terminal: nothing is typed ahead
            termios.tcflush(self._input, termios.TCIFLUSH)
        return await self._line(question)

    @classmethod
    def interrupt(cls) -> None:
        if cls._waiting and not cls._waiting.done():
            cls._waiting.set_exception(KeyboardInterrupt())

    async def _line(self, prompt: str) -> str:
        _write(prompt)
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[str] = loop.create_future()
        Lines._waiting = arrived
        loop.add_reader(self._input, self._read, arrived)
        try:
            return await arrived
        finally:
            loop.remove_reader(self._input)
            Lines._waiting = None

    def _read(self, arrived: "asyncio.Future[str]") -> None:
        """Called when a line is there; takes those that came with it too."""
        if arrived.done():
            return
        try:
            read = piece = os.read(self._input, _READ)
            while piece and select.select([self._input], [], [], _TOGETHER)[0]:
                piece = os.read(self._input, _READ)
                read += piece
        except OSError as error:
            arrived.set_exception(error)
            return
        if read:
            arrived.set_result(read.decode(errors="replace").removesuffix("\n"))
        else:
            arrived.set_exception(EOFError())


class Keypad:
    """What keypad.Keypad is elsewhere: here a key is a line of one character, and several lines decide nothing."""

    def __init__(self, input: int, say: Callable[[str], None]):
        self._lines, self._say = Lines(input), say

    def __enter__(self) -> "Keypad":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The terminal is in its usual mode all the time."""
        yield

    def forget(self) -> None:
        """What was typed before a question is dropped when it is asked."""

    async def key(self) -> str:
        """The next key that counts: a character, STOP, END or ENTER."""
        while True:
            told = await self.line("key and Enter: ")
            if len(told) <= 1:
                return told or ENTER
            if told in (STOP, END):
                return told
            self._say("  (several keys decide nothing; type one, then Enter)")

    async def line(self, question: str) -> str:
        """What is typed on one line; STOP or END when that was Ctrl-C or the input has ended."""
        while True:
            try:
                told = await self._lines.answer(question)
            except KeyboardInterrupt:
                _write("\n")
                return STOP
            except EOFError:
                _write("\n")
                return END
            if "\n" not in typed:
                return typed.strip()
            self._say("  (a paste decides nothing; type it)")

    async def words(self, question: str) -> str:
        """Words of the person's own; empty when they left it at that."""
        try:
            return (await self._lines.answer(question)).strip()
        except (KeyboardInterrupt, EOFError):
            _write("\n")
            return ""


def _write(text: str) -> None:
    sys.stdout.write(clean(text))
    sys.stdout.flush()
