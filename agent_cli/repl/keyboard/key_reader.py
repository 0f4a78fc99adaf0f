"""The keys of a raw terminal: single ones for questions, and those that come while an answer does.

A key counts as an answer when it arrives alone and after its question is on the screen: what was typed ahead, a paste,
several keys in one read and a key that is held down are ignored. The terminal is raw from the first question to the
last, so that nothing is echoed and Ctrl-C is a key.

While an answer comes, Ctrl-C and Esc stop it, Ctrl-Z suspends, and the others are typed ahead for the prompt. They are
shown below the answer and can be edited. An Enter sends them after the answer, unless the answer was stopped: then all
of it is a draft. Keys are read on a thread of their own, which notes when each arrived: however long drawing takes,
typing is told from a paste. A dumb terminal keeps its mode: there Ctrl-C is a signal, and the terminal itself buffers
what is typed ahead.
"""

import asyncio
import errno
import os
import select
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Self

from prompt_toolkit.application import get_app_session
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import clear_typeahead, get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.utils import is_dumb_terminal

from agent_cli import terminal
from agent_cli.repl.keyboard import keys
from agent_cli.repl.keyboard.keys import NEWLINE, SEND
from agent_cli.repl.keyboard.pastes import PASTE_TIMEOUT, KeyAhead, PasteRecovery
from agent_cli.text import clean


class RawKeyboard(ABC):
    """A context manager that holds the keyboard while it is entered."""

    _input: Input

    @abstractmethod
    def _acquire(self) -> None:
        """Take the keyboard."""

    @abstractmethod
    def _release(self) -> None:
        """Give the keyboard back in its former mode."""

    def __enter__(self) -> Self:
        self._acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._release()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Release the keyboard for something else, which does not receive the keys typed before."""
        self._release()
        try:
            yield
        finally:
            self._acquire()

    def _hung_up(self) -> bool:
        """Whether the terminal is closed, in a process that received no signal for it."""
        try:
            os.tcgetpgrp(self._input.fileno())
        except OSError as error:
            return error.errno == errno.EIO
        return False


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


_ENTERS = (Keys.ControlM, SEND)
_ERASING = (Keys.ControlH, Keys.Delete)
_SIGN, _HINT = "⏎", "   sent after the answer; Backspace takes it back"
_LONGEST = 2000  # characters of a paste that are shown


def edited_draft(draft: list[KeyPress], key: KeyPress) -> list[KeyPress]:
    """The draft after this key: Backspace takes back the last character, paste or Enter, Ctrl-W a word, Ctrl-U a line.

    A key of another kind becomes part of the draft, and so does a key that erases behind one.
    """
    if key.key in _ERASING and (not draft or _is_text(draft[-1])):
        return draft[:-1]
    if key.key in (Keys.ControlU, Keys.ControlW):
        start = _word_start(draft, word=key.key == Keys.ControlW)
        if all(map(_is_text, draft[start:])):
            return draft[:start]
    return [*draft, key]


def shown_draft(draft: Sequence[KeyPress]) -> str:
    """The draft as one line, with a sign for each Enter that will send it."""
    line = "".join(map(_words, draft))
    return line + _HINT if line.endswith(_SIGN) else line


def _word_start(draft: Sequence[KeyPress], *, word: bool) -> int:
    """Where the last line of the draft begins, or its last word."""
    start = len(draft)
    while word and start and draft[start - 1].key == " ":
        start -= 1
    while start and draft[start - 1].key not in (*_ENTERS, " " if word else ""):
        start -= 1
    return start


def _words(key: KeyPress) -> str:
    """What a key adds to the line; nothing where it is not text."""
    if key.key in _ENTERS:
        return f" {_SIGN}"
    if key.key in (Keys.ControlJ, NEWLINE):
        return " "
    if key.key == Keys.BracketedPaste:
        return " ".join(clean(key.data[:_LONGEST]).split())
    return clean(key.key) if _is_text(key) else ""


def _is_text(key: KeyPress) -> bool:
    """Whether the key is a character, an Enter or a paste."""
    if isinstance(key.key, Keys):
        return key.key in (*_ENTERS, Keys.ControlJ, NEWLINE, Keys.BracketedPaste)
    return key.key.isprintable()


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
            self._ahead = edited_draft(self._ahead, ahead)
        if pressed or before:
            self._show(shown_draft(self._ahead))

    def _suspend(self) -> None:
        """Stop the program, as Ctrl-Z does in a shell, with the terminal as it was before; `fg` brings it back."""
        self._show("")
        self._raw.__exit__(None, None, None)
        os.kill(0, signal.SIGTSTP)
        self._raw = self._input.raw_mode()
        self._raw.__enter__()
        self._show(shown_draft(self._ahead))
