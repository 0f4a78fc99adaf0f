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
from contextlib import suppress

from prompt_toolkit.utils import is_dumb_terminal

from agent_cli.text import clean

_TOGETHER = 0.05  # seconds in which the next line of a paste has come
_TWICE = 2.0  # seconds in which a second Ctrl-C leaves
_READ = 65536


class Lines:
    """Reads lines from a terminal in its usual mode; `interrupt` is called when Ctrl-C came, as a signal."""

    def __init__(self, input: int):
        self._input = input
        self._waiting: asyncio.Future[str] | None = None
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

    def interrupt(self) -> None:
        if self._waiting and not self._waiting.done():
            self._waiting.set_exception(KeyboardInterrupt())

    async def _line(self, prompt: str) -> str:
        _write(prompt)
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[str] = loop.create_future()
        self._waiting = arrived
        loop.add_reader(self._input, self._read, arrived)
        try:
            return await arrived
        finally:
            loop.remove_reader(self._input)
            self._waiting = None

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


def _write(text: str) -> None:
    sys.stdout.write(clean(text))
    sys.stdout.flush()
