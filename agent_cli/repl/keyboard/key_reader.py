"""Single keys, for questions that must not be answered by accident.

A key counts when it arrives alone and after its question is on the screen: what was typed ahead, a paste, several keys
in one read and a key that is held down are ignored. The terminal is raw from the first question to the last, so that
nothing is echoed and Ctrl-C is a key.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress

from prompt_toolkit.application import get_app_session
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.utils import is_dumb_terminal

from agent_cli import terminal
from agent_cli.repl.keyboard.pastes import PASTE_TIMEOUT, PasteRecovery
from agent_cli.repl.keyboard.raw_keyboard import RawKeyboard

STOP, END, ENTER, ESC = "stop", "end", "enter", "Esc"  # Ctrl-C; Ctrl-D, or the input has ended
_REPEAT = 0.1  # seconds: the same key again within them is held down, not pressed twice
_NAMES = {Keys.ControlC: STOP, Keys.ControlD: END, Keys.ControlM: ENTER, Keys.ControlJ: ENTER, Keys.Escape: ESC}


class KeyReader(RawKeyboard):
    """Reads single keys while it is entered. `say` prints a line, `echo` shows what is typed."""

    def __init__(self, say: Callable[[str], None], echo: Callable[[str], None]):
        self._say, self._echo = say, echo
        self._input, self._output = get_app_session().input, get_app_session().output
        self._recovery = PasteRecovery(self._input)
        self._arrived: asyncio.Queue[list[KeyPress] | None] = asyncio.Queue()
        self._exit_stack = ExitStack()
        self._last, self._pressed = "", 0.0
        self._read_last = 0.0

    def discard_typed(self) -> None:
        """Drop what was typed up to now: it does not answer the next question."""
        terminal.discard_typed(self._input.fileno())
        clear_typeahead(self._input)
        for _ in range(1000):  # a read takes at most 1,024 characters
            if not self._input.read_keys():
                break
        self._input.flush_keys()
        while not self._arrived.empty():
            self._arrived.get_nowait()
        if self._input.closed:
            self._arrived.put_nowait(None)

    async def read_key(self) -> str:
        """The next key that counts: a character, STOP, END or ENTER."""
        while True:
            pressed = await self._arrived.get()
            if pressed is None:
                return END
            if any(each.key == Keys.ControlC for each in pressed):
                return STOP  # always counts: it decides nothing
            if any(each.key == Keys.BracketedPaste for each in pressed):
                self._say("  (a paste decides nothing; press one key)")
            elif len(pressed) > 1:
                self._say("  (several keys at once decide nothing; press one)")
            elif key := self._single(pressed[0]):
                return key

    async def read_line(self, question: str) -> str:
        """A line whose Enter was pressed by itself; STOP after Ctrl-C, END after Ctrl-D and Esc."""
        self._echo(question)
        typed = ""
        while True:
            pressed = await self._arrived.get()
            names = [END] if pressed is None else [_name(each) for each in pressed]
            if STOP in names or END in names or names == [ESC]:
                self._echo("\n")
                return STOP if STOP in names else END
            pressed = pressed or []
            if (ENTER in names and len(names) > 1) or any(each.key == Keys.BracketedPaste for each in pressed):
                typed = ""
                self._say("\n  (a paste, or several keys at once, decide nothing; type it)")
                self._echo(question)
            elif names == [ENTER]:
                self._echo("\n")
                return typed
            elif pressed[0].key in (Keys.Backspace, Keys.ControlH):
                self._echo("\b \b" if typed else "")
                typed = typed[:-1]
            else:
                characters = "".join(name for name in names if len(name) == 1)
                self._echo(characters)
                typed += characters

    def _single(self, press: KeyPress) -> str:
        """The name of the key; empty when it is held down or has no meaning."""
        name, now = _name(press), time.monotonic()
        held = name == self._last and now - self._pressed < _REPEAT
        self._last, self._pressed = name, now
        if held and name != ENTER:
            self._say("  (a key that is held down decides once)")
        return "" if held else name

    def _acquire(self) -> None:
        self._exit_stack = ExitStack()
        self._exit_stack.enter_context(self._input.raw_mode())
        self._exit_stack.enter_context(self._input.attach(self._read))
        if not is_dumb_terminal():
            self._output.enable_bracketed_paste()
            self._output.flush()

    def _release(self) -> None:
        with suppress(OSError):  # the terminal may be closed
            if not is_dumb_terminal():
                self._output.disable_bracketed_paste()
                self._output.flush()
        self._input.read_keys()  # else they would reach the shell
        self._exit_stack.close()

    def _read(self) -> None:
        pressed = self._input.read_keys()
        if pressed:
            self._arrived.put_nowait(pressed)
        elif self._input.closed or self._hung_up():
            self._arrived.put_nowait(None)
        else:  # Esc also begins the codes of other keys
            loop = asyncio.get_running_loop()
            loop.call_later(0.1, self._read_flushed)
            self._read_last = time.monotonic()
            loop.call_later(PASTE_TIMEOUT, self._end_lost_paste)

    def _read_flushed(self) -> None:
        if pressed := self._input.flush_keys():
            self._arrived.put_nowait(pressed)

    def _end_lost_paste(self) -> None:
        """End a paste whose end mark was lost: it would swallow every key, Ctrl-C too."""
        if self._recovery.held() is not None and time.monotonic() - self._read_last >= PASTE_TIMEOUT:
            self._arrived.put_nowait(self._recovery.end())


def _name(press: KeyPress) -> str:
    if isinstance(press.key, Keys):
        return _NAMES.get(press.key, "")
    return press.key if press.key.isprintable() else ""
