"""The keys while an answer comes: Ctrl-C and Esc stop it, Ctrl-Z suspends, the others are typed ahead for the prompt.

What was typed ahead is shown below the answer and can be edited. An Enter in it sends it after the answer, unless the
answer was stopped: then all of it is a draft.

The terminal is raw meanwhile, so that nothing is echoed into the answer and Ctrl-C is a key. Keys are read on a thread
of their own, which notes when each arrived: however long drawing takes, typing is told from a paste. A dumb terminal
keeps its mode: there Ctrl-C is a signal, and the terminal itself buffers what is typed ahead.
"""

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Sequence

from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.utils import is_dumb_terminal

from agent_cli.repl.keyboard import draft_ahead, keys
from agent_cli.repl.keyboard.arrivals import KeyAhead
from agent_cli.repl.keyboard.pastes import PASTE_TIMEOUT, PasteRecovery
from agent_cli.repl.keyboard.raw_keyboard import RawKeyboard

_ESC_TIMEOUT = 0.1  # seconds after which Esc is a key of its own, and not the beginning of another's code


class TurnKeyboard(RawKeyboard):
    """Calls `cancel` at Ctrl-C and Esc, on its own thread, and leaves the other keys for the next prompt.

    `show` is called with what is typed ahead, whenever it changes, on that thread too.
    """

    def __init__(self, input: Input, cancel: Callable[[], None], show: Callable[[str], None] = lambda _: None):
        self._input, self._show = input, show
        self._recovery = PasteRecovery(input)
        self._cancel = cancel
        self._ahead: list[KeyPress] = []
        self._cancelled = False

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        ahead = [key for key in self._ahead if isinstance(key, KeyAhead)]
        store_typeahead(self._input, [*keys.typed_ahead(ahead, send=not self._cancelled)])

    def _acquire(self) -> None:
        if is_dumb_terminal():
            return
        self._keep(get_typeahead(self._input))  # typed after the last line or answer
        self._raw = self._input.raw_mode()
        self._raw.__enter__()
        self._stopped, self._stop = os.pipe()
        self._thread = threading.Thread(target=self._read, name="keyboard", daemon=True)
        self._thread.start()

    def _release(self) -> None:
        if is_dumb_terminal():
            return
        os.close(self._stop)
        self._thread.join()
        os.close(self._stopped)
        self._handle(self._input.read_keys() + self._input.flush_keys())
        self._show("")
        self._raw.__exit__(None, None, None)

    def _read(self) -> None:
        """Read keys until the other end of the pipe is closed, or the terminal."""
        wait: float | None = None
        while True:
            ready = select.select([self._input.fileno(), self._stopped], [], [], wait)[0]
            if self._stopped in ready:
                return
            if ready:
                pressed = self._input.read_keys()
                if not pressed and (self._input.closed or self._hung_up()):
                    return
                wait = _ESC_TIMEOUT if self._recovery.held() is None else PASTE_TIMEOUT
            else:
                pressed = self._input.flush_keys() if self._recovery.held() is None else self._recovery.end()
                wait = None
            self._handle(pressed)

    def _handle(self, pressed: Sequence[KeyPress]) -> None:
        """Esc followed by another key is Alt and that key."""
        for key, after in zip(pressed, [*(each.key for each in pressed[1:]), Keys.Escape], strict=False):
            if key.key == Keys.ControlC or (key.key == Keys.Escape and after in (Keys.Escape, Keys.ControlC)):
                self._cancelled = True
                self._cancel()
            elif key.key == Keys.ControlZ and hasattr(signal, "SIGTSTP"):
                self._suspend()
            else:
                self._keep([key])

    def _keep(self, pressed: Sequence[KeyPress]) -> None:
        now = time.monotonic()
        before = len(self._ahead)
        for key in pressed:
            ahead = key if isinstance(key, KeyAhead) else KeyAhead(key.key, key.data, now)
            self._ahead = draft_ahead.edited(self._ahead, ahead)
        if pressed or before:
            self._show(draft_ahead.shown(self._ahead))

    def _suspend(self) -> None:
        """Stop the program, as Ctrl-Z does in a shell, with the terminal as it was before; `fg` brings it back."""
        self._show("")
        self._raw.__exit__(None, None, None)
        os.kill(0, signal.SIGTSTP)
        self._raw = self._input.raw_mode()
        self._raw.__enter__()
        self._show(draft_ahead.shown(self._ahead))
