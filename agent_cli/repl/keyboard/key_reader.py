"""Questions at a terminal: a key, a line, or a choice from a list; and the keys that come while an answer does.

A key counts as an answer when it arrives alone and after its question is on the screen: what was typed ahead, a paste,
several keys in one read and a key that is held down are ignored. While an answer comes, Ctrl-C and Esc stop it; other
keys are typed ahead for the prompt, and an Enter among them sends, unless the answer was stopped. They are read on a
thread of their own, so that typing is told from a paste however long drawing takes. A dumb terminal keeps its mode:
there Ctrl-C is a signal, a key is a line of one character, and a list is printed with numbers, as for a screen reader.
"""

import asyncio
import gc
import io
import os
import select
import selectors
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, redirect_stdout, suppress
from functools import lru_cache, partial
from typing import ClassVar, NamedTuple, Self

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, create_app_session, get_app, get_app_session
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import clear_typeahead, get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPress, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import BufferControl, FormattedTextControl, HSplit, Layout, VSplit, Window
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.utils import is_dumb_terminal

from agent_cli import terminal
from agent_cli.render.layout import cut, wrap, wrapped
from agent_cli.render.styles import YOU, detect
from agent_cli.repl.keyboard.keys import ENTERS, NEWLINE, SEND, KeyAhead, text_of, typed_ahead
from agent_cli.text import clean
from agent_cli.values import frozen

STOP, END, ENTER, ESC = "stop", "end", "enter", "Esc"  # Ctrl-C; Ctrl-D, or the input has ended
_REPEAT = 0.1  # seconds: the same key again within them is held down, not pressed twice
_ESC_TIMEOUT = 0.1  # seconds after which Esc is a key of its own, and not the beginning of another's code
_STOPPING = 0.1  # seconds within which a process that is put aside stops
_NAMES = {Keys.ControlC: STOP, Keys.ControlD: END, Keys.ControlM: ENTER, Keys.ControlJ: ENTER, Keys.Escape: ESC}


class _Keyboard:
    """A context manager that holds the keyboard while it is entered."""

    def __init__(self, input: Input):
        self._input = input
        self._held = ExitStack()

    def _holding(self) -> AbstractContextManager[None]:
        """What holds the keyboard: by default nothing."""
        return nullcontext()

    def __enter__(self) -> Self:
        self._held.enter_context(self._holding())
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Release the keyboard for something else, which does not receive the keys typed before."""
        self._held.close()
        try:
            yield
        finally:
            self._held.enter_context(self._holding())

    def _has_ended(self) -> bool:
        return self._input.closed or terminal.has_gone(self._input.fileno())


class KeyReader(_Keyboard):
    """Reads single keys while it is entered. `say` prints a warning, by default followed by the question again."""

    def __init__(self, say: Callable[[str], None] | None = None):
        super().__init__(get_app_session().input)
        self._say, self._output, self._question = say or self._warn, get_app_session().output, ""
        self._arrived: asyncio.Queue[list[KeyPress]] = asyncio.Queue()  # an empty list: the input has ended
        self._last, self._pressed = "", 0.0

    def _warn(self, warning: str) -> None:
        write(f"\n  {warning.strip()}\n{self._question}")

    async def answer(self, question: str, *, key: bool) -> str:
        """The key, or line, that is typed once the question stands there, in lower case; STOP after Ctrl-C, empty after
        Esc, Ctrl-D or Enter alone."""
        with self:
            self.discard_typed()
            if key:
                self._question = question
                write(question)
                typed = await self.read_key()
                write(f"{typed if len(typed) == 1 else ''}\n")
            else:
                typed = await self.read_line(question)
        return _answered(typed)

    def discard_typed(self) -> None:
        """Drop what was typed up to now: it does not answer the next question."""
        terminal.discard_typed(self._input.fileno())
        clear_typeahead(self._input)
        while self._input.read_keys():  # a read takes at most 1,024 characters
            pass
        self._input.flush_keys()
        while not self._arrived.empty():
            self._arrived.get_nowait()
        if self._input.closed:
            self._arrived.put_nowait([])

    async def read_key(self) -> str:
        """The next key that counts: a character, STOP, END or ENTER."""
        while True:
            pressed = await self._arrived.get()
            names, now = list(map(_name, pressed)), time.monotonic()
            if not pressed or STOP in names:
                return STOP if pressed else END  # which always count: they decide nothing
            if any(each.key == Keys.BracketedPaste for each in pressed):
                self._say("  (a paste decides nothing; press one key)")
            elif len(names) > 1:
                self._say("  (several keys at once decide nothing; press one)")
            else:
                held = names[0] == self._last and now - self._pressed < _REPEAT
                self._last, self._pressed = names[0], now
                if names[0] and not held:
                    return names[0]
                if held and names[0] != ENTER:
                    self._say("  (a key that is held down decides once)")

    async def read_line(self, question: str) -> str:
        """A line whose Enter was pressed by itself; STOP after Ctrl-C, END after Ctrl-D and Esc."""
        write(question)
        typed = ""
        while True:
            pressed = await self._arrived.get()
            names = list(map(_name, pressed)) or [END]
            if STOP in names or END in names or names == [ESC]:
                write("\n")
                return STOP if STOP in names else END
            if (ENTER in names and len(names) > 1) or any(each.key == Keys.BracketedPaste for each in pressed):
                typed = ""
                self._say("\n  (a paste, or several keys at once, decide nothing; type it)")
                write(question)
            elif names == [ENTER]:
                write("\n")
                return typed
            elif pressed[0].key in (Keys.Backspace, Keys.ControlH):
                write("\b \b" if typed else "")
                typed = typed[:-1]
            else:
                characters = "".join(name for name in names if len(name) == 1)
                write(characters)
                typed += characters

    @contextmanager
    def _holding(self) -> Iterator[None]:
        with self._input.raw_mode(), self._input.attach(self._read):
            self._output.enable_bracketed_paste()
            self._output.flush()
            try:
                yield
            finally:
                with suppress(OSError):  # the terminal may be closed
                    self._output.disable_bracketed_paste()
                    self._output.flush()
                self._input.read_keys()  # else they would reach the shell

    def _read(self, *, flush: bool = False) -> None:
        pressed = self._input.flush_keys() if flush else self._input.read_keys()
        if pressed or (not flush and self._has_ended()):
            self._arrived.put_nowait(pressed)
        elif not flush:  # Esc also begins the codes of other keys
            asyncio.get_running_loop().call_later(_ESC_TIMEOUT, partial(self._read, flush=True))


def _answered(typed: str) -> str:
    return "" if typed in (END, ENTER, ESC) else typed if typed == STOP else typed.strip().lower()


def ask(question: str, *, key: bool) -> str:
    """The key, or line, typed at the terminal that controls this process, in lower case; empty when it goes away.

    It is opened here, so a pipe answers nothing. Raises NoTerminal, and KeyboardInterrupt on Ctrl-C.
    """
    try:
        from prompt_toolkit.input.vt100 import Vt100Input  # there is none on Windows

        tty = io.TextIOWrapper(io.FileIO("/dev/tty", "r+"), "utf-8", write_through=True)
    except (ImportError, OSError):
        raise terminal.NoTerminal from None

    def loop() -> asyncio.AbstractEventLoop:
        return asyncio.SelectorEventLoop(selectors.SelectSelector())  # the kqueue of macOS knows no /dev/tty

    session = create_app_session(Vt100Input(tty), create_output(tty))
    with tty, redirect_stdout(tty), session, asyncio.Runner(loop_factory=loop) as runner:
        typed = runner.run(KeyReader().answer(question, key=key))
    if typed == STOP:
        raise KeyboardInterrupt
    return typed


def _name(press: KeyPress) -> str:
    if isinstance(press.key, Keys):
        return _NAMES.get(press.key, "")
    return press.key if press.key.isprintable() else ""


_SIGN, _HINT = "⏎", "   sent after the answer; Backspace takes it back"
_LONGEST = 2000  # characters that are shown


def _shown(draft: Sequence[KeyPress]) -> str:
    """The draft as one line, with a sign for each Enter that will send it."""
    line = text_of(draft, f" {_SIGN}")[-_LONGEST:].replace("\n", " ")
    return line + _HINT if line.endswith(_SIGN) else line


_PASTES_MARKED = "\x1b[?2004h", "\x1b[?2004l"  # a pasted Enter does not send


def _is_text(key: KeyPress) -> bool:
    if isinstance(key.key, Keys):
        return key.key in (*ENTERS, Keys.ControlJ, NEWLINE, Keys.BracketedPaste)
    return key.key.isprintable()


class TurnKeyboard(_Keyboard):
    """Calls `cancel` at Ctrl-C and Esc and `show` with what is typed ahead for the next prompt, on its own thread."""

    def __init__(
        self,
        input: Input,
        cancel: Callable[[], None],
        show: Callable[[str], None] = lambda _: None,
        modes: tuple[str, str] = ("", ""),
    ):
        super().__init__(input)
        self._modes = f"{_PASTES_MARKED[0]}{modes[0]}", f"{_PASTES_MARKED[1]}{modes[1]}"
        self._cancel, self._show = cancel, show
        self._ahead: list[KeyAhead] = []
        self._cancelled = False

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        store_typeahead(self._input, [*typed_ahead(self._ahead, send=not self._cancelled)])

    @contextmanager
    def _holding(self) -> Iterator[None]:
        if is_dumb_terminal():
            yield
            return
        self._keep(get_typeahead(self._input))  # typed after the last line or answer
        stopped, stop = os.pipe()
        reading = threading.Thread(target=self._read, args=(stopped,), name="keyboard", daemon=True)
        with self._input.raw_mode():
            write(self._modes[0])
            reading.start()
            try:
                yield
            finally:
                write(self._modes[1])
                os.close(stop)
                reading.join()
                os.close(stopped)
                self._handle(self._input.read_keys() + self._input.flush_keys())
                self._show("")

    def _read(self, stopped: int) -> None:
        """Read keys until the other end of the pipe `stopped` is closed, or the terminal."""
        wait: float | None = None
        while stopped not in (ready := select.select([self._input.fileno(), stopped], [], [], wait)[0]):
            pressed = self._input.read_keys() if ready else self._input.flush_keys()
            if ready and not pressed and self._has_ended():
                return
            wait = _ESC_TIMEOUT if ready else None
            self._handle(pressed)

    def _handle(self, pressed: Sequence[KeyPress]) -> None:
        """Esc followed by another key is Alt and that key."""
        for key, after in zip(pressed, [*(each.key for each in pressed[1:]), Keys.Escape], strict=False):
            if key.key == Keys.ControlC or (key.key == Keys.Escape and after in (Keys.Escape, Keys.ControlC)):
                self._cancelled = True
                self._cancel()
            elif key.key == Keys.ControlZ and hasattr(signal, "SIGTSTP"):  # as in a shell; `fg` brings it back
                self._show("")
                with self._input.cooked_mode():
                    write(self._modes[1])
                    os.kill(0, signal.SIGTSTP)
                    time.sleep(_STOPPING)  # another thread may take the signal
                    write(self._modes[0])
                self._show(_shown(self._ahead))
            else:
                self._keep([key])

    def _keep(self, pressed: Sequence[KeyPress]) -> None:
        """Backspace takes back the last character, paste or Enter; behind another kind of key it acts at the prompt."""
        now, before = time.monotonic(), bool(self._ahead)
        for key in pressed:
            if key.key in (Keys.ControlH, Keys.Delete) and (not self._ahead or _is_text(self._ahead[-1])):
                self._ahead = self._ahead[:-1]
            else:
                self._ahead.append(key if isinstance(key, KeyAhead) else KeyAhead(key.key, key.data, now))
        if pressed or before:
            self._show(_shown(self._ahead))


_TOGETHER = 0.05  # seconds within which the next line of a paste arrives
_DOUBLE_PRESS = 2.0  # seconds within which a second Ctrl-C leaves
_READ = 65536


class LineReader(_Keyboard):
    """Reads lines from a terminal in its usual mode, in the place of KeyReader. Ctrl-C, a signal, calls `interrupt`."""

    _waiting: ClassVar["asyncio.Future[str] | None"] = None  # of any instance: there is one terminal and one Ctrl-C

    def __init__(self, input: Input, say: Callable[[str], None] = print):
        super().__init__(input)
        self._say, self._last_interrupt = say, -_DOUBLE_PRESS

    def discard_typed(self) -> None:
        """Does nothing: what was typed before a question is dropped when it is asked."""

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
                write("\npress Ctrl-C again to leave, or Ctrl-D\n")

    async def read_answer(self, question: str) -> str:
        """A line typed from now on. Raises EOFError, KeyboardInterrupt."""
        terminal.discard_typed(self._input.fileno())
        return (await self._read_line(question)).strip()

    async def answer(self, question: str, *, key: bool) -> str:
        """As that of KeyReader; a key is a line too."""
        return _answered(await self.read_line(question))

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
                typed = await self.read_answer(question)
            except (KeyboardInterrupt, EOFError) as error:
                write("\n")
                return STOP if isinstance(error, KeyboardInterrupt) else END
            if "\n" not in typed:
                return typed
            self._say("  (a paste decides nothing; type it)")

    @classmethod
    def interrupt(cls) -> None:
        if cls._waiting and not cls._waiting.done():
            cls._waiting.set_exception(KeyboardInterrupt())

    async def _read_line(self, prompt: str) -> str:
        write(clean(prompt))
        loop, descriptor = asyncio.get_running_loop(), self._input.fileno()
        arrived: asyncio.Future[str] = loop.create_future()
        LineReader._waiting = arrived
        loop.add_reader(descriptor, self._read, descriptor, arrived)
        try:
            return await arrived
        finally:
            loop.remove_reader(descriptor)
            LineReader._waiting = None

    def _read(self, descriptor: int, arrived: "asyncio.Future[str]") -> None:
        """Called when a line has arrived; takes the lines that arrive together with it."""
        if arrived.done():
            return
        try:
            data = chunk = os.read(descriptor, _READ)
            while chunk and select.select([descriptor], [], [], _TOGETHER)[0]:
                chunk = os.read(descriptor, _READ)
                data += chunk
        except OSError as error:
            arrived.set_exception(error)
            return
        if data:
            arrived.set_result(data.decode(errors="replace").removesuffix("\n"))
        else:
            arrived.set_exception(EOFError())


def write(text: str) -> None:
    """Show what is typed, or where."""
    sys.stdout.write(text)
    sys.stdout.flush()


_SHOWN = 10  # lines of the list
_NUMBERED = 15  # lines of a printed list
_IDLE = 0.1  # seconds after a choice
_STEPS = {
    **dict.fromkeys(("down", "c-n", "c-r", "tab"), 1),
    **dict.fromkeys(("up", "c-p", "c-s", "s-tab"), -1),
    "pagedown": _SHOWN,
    "pageup": -_SHOWN,
}


class PickerRow(NamedTuple):  # a list has thousands: as dataclasses, with a preview each, they set off the collector
    """`key` is returned, `line` shown; words are looked for in `searched` (lower case); `names`: of this row alone."""

    key: str
    line: str
    searched: str
    names: tuple[str, ...] = ()


@frozen
class PickerList:
    """What is chosen from. `nothing` is said where no row has the typed words; with `elsewhere` they are returned.

    `preview` gives lines of at most so many cells for a key, of which `previewed` are shown.
    """

    question: str
    rows: Sequence[PickerRow]
    nothing: str
    preview: Callable[[str, int], Sequence[str]]
    previewed: int = 2
    elsewhere: bool = False

    def matching(self, typed: str) -> Sequence[PickerRow]:
        """The rows that have all typed words; first the one that is named by them."""
        found, named = self.rows, typed.strip().casefold()
        for word in named.split():
            found = [each for each in found if word in each.searched]
        return sorted(found, key=lambda each: named not in each.names) if named else found

    def chosen(self, found: Sequence[PickerRow], at: int, typed: str) -> str:
        return found[at].key if found else typed if self.elsewhere else ""


async def choose(offered: PickerList) -> str:
    """The key of the choice; empty when the person leaves."""
    if not (is_dumb_terminal() or detect(sys.stdout, os.environ).screen_reader):
        try:
            return await Screen(offered).application().run_async(handle_sigint=False)
        finally:  # what the screen leaves is searched while nobody waits
            asyncio.get_running_loop().call_later(_IDLE, gc.collect, 1)
    rows = offered.rows[:_NUMBERED]
    for number, each in enumerate(rows, 1):
        print(clean(f"{number:>3}  {each.line}"))
    sys.stdout.flush()
    ask = f"{offered.question} number, handle or words; Enter alone leaves: "
    try:
        if is_dumb_terminal():
            typed = await LineReader(get_app_session().input).read_answer(ask)
        else:
            typed = (await PromptSession[str]().prompt_async(ask)).strip()
    except (EOFError, KeyboardInterrupt):
        return ""
    if typed.isdecimal() and 1 <= int(typed) <= len(rows):
        return rows[int(typed) - 1].key
    return offered.chosen(offered.matching(typed), 0, typed) if typed else ""


@lru_cache(maxsize=1)
def _application(input: Input, output: Output) -> "Application[str]":
    """What shows each choice, made once: all keys and styles that prompt-toolkit knows take their time."""
    app = Application[str](erase_when_done=True, input=input, output=output)
    app.ttimeoutlen = 0.05  # seconds after which an Esc is complete: the rest of a key code follows at once
    return app


class Screen:
    def __init__(self, offered: PickerList):
        self._offered = offered
        self._typed = Buffer(multiline=False)
        self._typed.on_text_changed += lambda _: self._filter()
        self._found, self._at = offered.rows, 0

    def application(self) -> "Application[str]":
        rows, preview = max(3, min(_SHOWN, len(self._offered.rows))), 1 + self._offered.previewed
        control = BufferControl(self._typed)
        line = VSplit([Window(FormattedTextControl([("bold", YOU.sign)]), width=2), Window(control)], height=1)
        parts = [
            Window(FormattedTextControl(self._heading), dont_extend_height=True),
            line,
            Window(FormattedTextControl(self._list), height=Dimension(min=1, max=rows, preferred=rows)),
            Window(FormattedTextControl(self._preview), height=Dimension(min=0, max=preview, preferred=preview)),
        ]
        app = _application(get_app_session().input, get_app_session().output)
        app.layout, app.key_bindings = Layout(HSplit(parts), focused_element=control), self._keys()
        return app

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("enter", eager=True)
        @keys.add(SEND)
        def _(event: KeyPressEvent) -> None:
            event.app.exit(result=self._offered.chosen(self._found, self._at, self._typed.text))

        @keys.add("escape", eager=True)
        @keys.add("c-c")
        @keys.add("c-g")
        @keys.add("c-d")
        def _(event: KeyPressEvent) -> None:
            event.app.exit(result="")

        def move(steps: int, event: KeyPressEvent) -> None:
            self._at = max(0, min(self._at + steps, len(self._found) - 1))

        for key, steps in _STEPS.items():
            keys.add(key)(partial(move, steps))
        return keys

    def _filter(self) -> None:
        self._found, self._at = self._offered.matching(self._typed.text), 0

    def _heading(self) -> StyleAndTextTuples:
        found, rows = len(self._found), len(self._offered.rows)
        shown = f"{found:,} of {rows:,}" if found < rows else f"{rows:,}"
        keys = "type to filter, arrows move, Enter takes it, Esc leaves"
        return [("bold", "\n" + wrap(f"{self._offered.question} {keys} ({shown})", _width()))]

    def _list(self) -> StyleAndTextTuples:
        if not self._found:
            return [("", wrap(f"  {self._offered.nothing}", _width()))]
        first = max(0, self._at - _SHOWN + 1)
        return [
            ("reverse" if number == self._at else "", f"  {cut(clean(row.line).replace(chr(10), ' '), _width() - 2)}\n")
            for number, row in enumerate(self._found[first : first + _SHOWN], first)
        ]

    def _preview(self) -> StyleAndTextTuples:
        if not self._found:
            return []
        lines, most = [*self._offered.preview(self._found[self._at].key, _width() - 4)], self._offered.previewed
        if len(lines) > most:
            lines[most - 1 :] = ["…"]
        return [("", "\n" + "\n".join(f"    {clean(line)}" for line in lines))]


def _width() -> int:
    return get_app().output.get_size().columns - 1


_SHOWN_CHARACTERS = 400  # characters of a line of the list: more than a window has
_PREVIEW = 6  # lines
_PREVIEWED = 4000  # characters of which they are made


def offered_lines(lines: Sequence[str]) -> PickerList:
    nothing = "nothing that you sent has these words" if lines else "nothing was sent yet"
    rows = [PickerRow(str(number), line[:_SHOWN_CHARACTERS], line.casefold()) for number, line in enumerate(lines)]

    def preview(key: str, width: int) -> Sequence[str]:
        return wrapped(clean(lines[int(key)][:_PREVIEWED]), width)

    return PickerList("which line?", rows, nothing, preview, _PREVIEW)
