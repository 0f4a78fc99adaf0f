"""The keys while an answer comes: Ctrl-C and Esc stop it, the others are typed ahead for the next prompt.

The terminal is raw meanwhile, so that nothing is echoed into the answer and Ctrl-C is a key. A dumb terminal keeps its
mode: there Ctrl-C is a signal, and the terminal itself buffers what is typed ahead.
"""

import asyncio
from collections.abc import Callable

from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.utils import is_dumb_terminal

from agent_cli.repl.keyboard import keys
from agent_cli.repl.keyboard.pastes import PASTE_TIMEOUT, PasteRecovery
from agent_cli.repl.keyboard.raw_keyboard import RawKeyboard


class TurnKeyboard(RawKeyboard):
    """Calls `cancel` at Ctrl-C and Esc, and leaves the other keys for the next prompt."""

    def __init__(self, input: Input, cancel: Callable[[], None]):
        self._input = input
        self._recovery = PasteRecovery(input)
        self._cancel = cancel
        self._ahead: list[KeyPress] = []

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        store_typeahead(self._input, keys.typed_ahead(self._ahead))

    def _acquire(self) -> None:
        if is_dumb_terminal():
            return
        self._ahead += get_typeahead(self._input)  # typed after the last line or answer
        self._raw, self._attached = self._input.raw_mode(), self._input.attach(self._read)
        self._raw.__enter__()
        self._attached.__enter__()

    def _release(self) -> None:
        if is_dumb_terminal():
            return
        self._handle(self._input.read_keys() + self._input.flush_keys())
        self._attached.__exit__(None, None, None)
        self._raw.__exit__(None, None, None)

    def _read(self) -> None:
        self._handle(self._input.read_keys())
        loop = asyncio.get_running_loop()
        # Esc also begins the codes of other keys: it is a key of its own when nothing follows at once.
        loop.call_later(0.1, self._read_flushed)
        if (held := self._recovery.held()) is not None:
            loop.call_later(PASTE_TIMEOUT, self._end_lost_paste, held)

    def _read_flushed(self) -> None:
        self._handle(self._input.flush_keys())

    def _end_lost_paste(self, held: int) -> None:
        if self._recovery.held() == held:
            self._handle(self._recovery.end())

    def _handle(self, pressed: list[KeyPress]) -> None:
        """Esc followed by another key is Alt and that key."""
        for key, after in zip(pressed, [*(each.key for each in pressed[1:]), Keys.Escape], strict=False):
            if key.key == Keys.ControlC or (key.key == Keys.Escape and after in (Keys.Escape, Keys.ControlC)):
                self._cancel()
            else:
                self._ahead.append(key)
