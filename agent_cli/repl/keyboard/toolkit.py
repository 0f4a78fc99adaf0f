"""What prompt-toolkit is given here: a terminal without a cursor, visible signs for what would hide text, and a
garbage collector that holds no key up.
"""

import asyncio
import gc
import os
import select
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, ClassVar

from prompt_toolkit.application import Application
from prompt_toolkit.layout.screen import Char, Screen

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


_BLOCKS = (0x061C, *range(0x2000, 0x2070), *range(0xE0000, 0xE0080))  # where such characters are found


def show_invisible() -> None:
    """Have every prompt of this process draw them."""
    hidden = (chr(code) for code in _BLOCKS if not clean(chr(code)))
    Char.display_mappings.update((each, f"<{ord(each):x}>") for each in hidden)


_THRESHOLDS = 20_000, 20, 20  # values made since the last search, and searches before a deeper one


def spare_loaded() -> None:
    """To be called when a session begins, and again when more is loaded."""
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


def search_recent() -> None:
    """Search what was made lately, at a moment at which nobody waits."""
    gc.collect(1)


def spare_drawn(app: "Application[Any]") -> None:
    """Empty each drawing of the screen when the next one makes it useless.

    A function of prompt-toolkit that names itself holds all of it until it is searched for: the characters, and two
    values for where each of them stood.
    """
    drawings = _Drawings()
    app.before_render += drawings.forget_places
    app.after_render += drawings.forget_characters


class _Drawings:
    def __init__(self) -> None:
        self._last: Screen | None = None

    def forget_places(self, app: "Application[Any]") -> None:
        for window in app.layout.visible_windows:
            if window.render_info:
                getattr(window.render_info, "_rowcol_to_yx", {}).clear()  # its own matter: another version may lack it

    def forget_characters(self, app: "Application[Any]") -> None:
        drawn = app.renderer.last_rendered_screen
        if self._last is not None and self._last is not drawn:
            self._last.data_buffer.clear()
        self._last = drawn
