"""Input from a terminal that cannot move its cursor, such as a shell window of Emacs: it edits and echoes lines itself.

prompt-toolkit's own prompt for such terminals echoes keys twice, has no backspace, and takes a line that arrives whole,
as these windows send it, for a paste whose Enter is a line break. Lines that arrive together are one message, pasted.
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

from agent_cli.repl.keyboard.key_reader import END, ENTER, STOP
from agent_cli.text import clean

_TOGETHER = 0.05  # seconds within which the next line of a paste arrives
_DOUBLE_PRESS = 2.0  # seconds within which a second Ctrl-C leaves
_READ = 65536


class LineReader:
    """Reads lines from a terminal in its usual mode; `interrupt` is to be called at Ctrl-C, which comes as a signal."""

    _waiting: ClassVar["asyncio.Future[str] | None"] = None  # of any instance: there is one terminal and one Ctrl-C

    def __init__(self, input: int):
        self._input = input
        self._last_interrupt = -_DOUBLE_PRESS

    async def read_message(self, prompt: str, default: str = "") -> str:
        """A message; with a `default`, Enter alone returns it. Raises EOFError when the person leaves."""
        if default:
            prompt = f"{default}\n(Enter alone sends that)\n{prompt}"
        while True:
            try:
                line = await self._read_line(prompt)
                while line.endswith("\\"):
                    line = f"{line[:-1]}\n{await self._read_line('  ')}"
                return line or default
            except KeyboardInterrupt:
                if time.monotonic() - self._last_interrupt < _DOUBLE_PRESS:
                    raise EOFError from None
                self._last_interrupt = time.monotonic()
                _write("\npress Ctrl-C again to leave, or Ctrl-D\n")

    async def read_answer(self, question: str) -> str:
        """A line typed from now on. Raises EOFError, KeyboardInterrupt."""
        with suppress(termios.error):  # no terminal: nothing can be typed ahead
            termios.tcflush(self._input, termios.TCIFLUSH)
        return await self._read_line(question)

    @classmethod
    def interrupt(cls) -> None:
        if cls._waiting and not cls._waiting.done():
            cls._waiting.set_exception(KeyboardInterrupt())

    async def _read_line(self, prompt: str) -> str:
        _write(prompt)
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[str] = loop.create_future()
        LineReader._waiting = arrived
        loop.add_reader(self._input, self._read, arrived)
        try:
            return await arrived
        finally:
            loop.remove_reader(self._input)
            LineReader._waiting = None

    def _read(self, arrived: "asyncio.Future[str]") -> None:
        """Called when a line has arrived; takes the lines that arrive together with it."""
        if arrived.done():
            return
        try:
            data = chunk = os.read(self._input, _READ)
            while chunk and select.select([self._input], [], [], _TOGETHER)[0]:
                chunk = os.read(self._input, _READ)
                data += chunk
        except OSError as error:
            arrived.set_exception(error)
            return
        if data:
            arrived.set_result(data.decode(errors="replace").removesuffix("\n"))
        else:
            arrived.set_exception(EOFError())


class LineKeyReader:
    """Takes the place of key_reader.KeyReader: a key is a line of one character, and several lines are ignored."""

    def __init__(self, input: int, say: Callable[[str], None]):
        self._reader, self._say = LineReader(input), say

    def __enter__(self) -> "LineKeyReader":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Does nothing: the terminal is always in its usual mode."""
        yield

    def discard_typed(self) -> None:
        """Does nothing: what was typed before a question is dropped when it is asked."""

    async def read_key(self) -> str:
        """The next key that counts: a character, STOP, END or ENTER."""
        while True:
            typed = await self.read_line("key and Enter: ")
            if len(typed) <= 1:
                return typed or ENTER
            if typed in (STOP, END):
                return typed
            self._say("  (several keys decide nothing; type one, then Enter)")

    async def read_line(self, question: str) -> str:
        """One line; or STOP after Ctrl-C, END when the input has ended."""
        while True:
            try:
                typed = await self._reader.read_answer(question)
            except KeyboardInterrupt:
                _write("\n")
                return STOP
            except EOFError:
                _write("\n")
                return END
            if "\n" not in typed:
                return typed.strip()
            self._say("  (a paste decides nothing; type it)")

    async def read_text(self, question: str) -> str:
        """A line of text; empty after Ctrl-C or the end of the input."""
        try:
            return (await self._reader.read_answer(question)).strip()
        except (KeyboardInterrupt, EOFError):
            _write("\n")
            return ""


def _write(text: str) -> None:
    sys.stdout.write(clean(text))
    sys.stdout.flush()
