"""Single keys, for questions that must not be answered by accident.

A key counts when it arrives alone and after its question stands on the screen: what was typed ahead, a paste, several
keys in one read and a key that is held down decide nothing. The terminal is raw from the first question to the last,
so that nothing is echoed and Ctrl-C is a key.
"""

import asyncio
import errno
import os
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress

from prompt_toolkit.application import get_app_session
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.utils import is_dumb_terminal

from agent_cli.repl.keyboard.held_keyboard import Held
from agent_cli.repl.keyboard.pastes import LOST, LostEnd

STOP, END, ENTER = "stop", "end", "enter"  # Ctrl-C; Ctrl-D, or the input has ended
_HELD = 0.1  # seconds between two of the same key that nobody pressed twice
_NAMES = {Keys.ControlC: STOP, Keys.ControlD: END, Keys.ControlM: ENTER, Keys.ControlJ: ENTER}


class Keypad(Held):
    """Single keys while it is entered. `say` prints a line."""

    def __init__(self, say: Callable[[str], None], echo: Callable[[str], None]):
        self._say, self._echo = say, echo
        self._input, self._output = get_app_session().input, get_app_session().output
        self._lost = LostEnd(self._input)
        self._arrived: asyncio.Queue[list[KeyPress] | None] = asyncio.Queue()
        self._held = ExitStack()
        self._last, self._pressed = "", 0.0
        self._read_last = 0.0

    def forget(self) -> None:
        """What was typed up to now is no answer to what is asked next."""
        clear_typeahead(self._input)
        for _ in range(1000):  # a read takes 1,024 characters at most
            if not self._input.read_keys():
                break
        self._input.flush_keys()
        while not self._arrived.empty():
            self._arrived.get_nowait()
        if self._input.closed:
            self._arrived.put_nowait(None)

    async def key(self) -> str:
        """The next key that counts: a character, STOP, END or ENTER."""
        while True:
            pressed = await self._arrived.get()
            if pressed is None:
                return END
            if any(each.key == Keys.ControlC for each in pressed):
                return STOP  # never held back: it decides nothing
            if any(each.key == Keys.BracketedPaste for each in pressed):
                self._say("  (a paste decides nothing; press one key)")
            elif len(pressed) > 1:
                self._say("  (several keys at once decide nothing; press one)")
            elif key := self._single(pressed[0]):
                return key

    async def line(self, question: str) -> str:
        """Some characters and Enter, each typed by itself; STOP or END as they are."""
        self._echo(question)
        told = ""
        while True:
            pressed = await self._arrived.get()
            if pressed is None or any(each.key in (Keys.ControlC, Keys.ControlD) for each in pressed):
                self._echo("\n")
                stop = pressed and any(each.key == Keys.ControlC for each in pressed)
                return STOP if stop else END
            names = [_name(each) for each in pressed]
            if any(each.key == Keys.BracketedPaste for each in pressed) or (ENTER in names and len(names) > 1):
                told = ""
                self._say("\n  (a paste, or several keys at once, decide nothing; type it)")
                self._echo(question)
            elif names == [ENTER]:
                self._echo("\n")
                return told
            elif pressed[0].key in (Keys.Backspace, Keys.ControlH):
                self._echo("\b \b" if told else "")
                told = told[:-1]
            else:
                typed = "".join(name for name in names if len(name) == 1)
                self._echo(typed)
                told += typed

    def _single(self, press: KeyPress) -> str:
        """Its name, unless it is held down or no key that could mean anything."""
        name, now = _name(press), time.monotonic()
        held = name == self._last and now - self._pressed < _HELD
        self._last, self._pressed = name, now
        if held and name != ENTER:
            self._say("  (a key that is held down decides once)")
        return "" if held else name

    def _open(self) -> None:
        self._held = ExitStack()
        self._held.enter_context(self._input.raw_mode())
        self._held.enter_context(self._input.attach(self._read))
        if not is_dumb_terminal():
            self._output.enable_bracketed_paste()
            self._output.flush()

    def _shut(self) -> None:
        with suppress(OSError):  # the terminal may have gone
            if not is_dumb_terminal():
                self._output.disable_bracketed_paste()
                self._output.flush()
        self._input.read_keys()  # or the shell would be given them
        self._held.close()

    def _read(self) -> None:
        pressed = self._input.read_keys()
        if pressed:
            self._arrived.put_nowait(pressed)
        elif self._input.closed or self._hung_up():
            self._arrived.put_nowait(None)
        else:  # Esc is also how the code of another key begins
            loop = asyncio.get_running_loop()
            loop.call_later(0.1, self._flush)
            self._read_last = time.monotonic()
            loop.call_later(LOST, self._end_lost_paste)

    def _flush(self) -> None:
        if pressed := self._input.flush_keys():
            self._arrived.put_nowait(pressed)

    def _end_lost_paste(self) -> None:
        """A paste whose end mark was lost on the way would swallow every key, Ctrl-C too."""
        if self._lost.held() is not None and time.monotonic() - self._read_last >= LOST:
            self._arrived.put_nowait(self._lost.end())

    def _hung_up(self) -> bool:
        """Whether the terminal has gone, in a process that no signal told of it."""
        try:
            os.tcgetpgrp(self._input.fileno())
        except OSError as error:
            return error.errno == errno.EIO
        return False


def _name(press: KeyPress) -> str:
    if isinstance(press.key, Keys):
        return _NAMES.get(press.key, "")
    return press.key if press.key.isprintable() else ""
