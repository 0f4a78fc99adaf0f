"""The line at which a person types: the prompt with its keys, history, completion and pastes.

Everything it holds of what was typed before is let go when something was forgotten, in this process or another.
"""

import asyncio
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from typing import NamedTuple

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, get_app_or_none, in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.clipboard import InMemoryClipboard
from prompt_toolkit.cursor_shapes import ModalCursorShapeConfig
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPress, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import DummyOutput
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import is_dumb_terminal

from agent_cli import terminal
from agent_cli.agent import model_context, prompt_recall
from agent_cli.app.app import App
from agent_cli.errors import AgentError, StoreError
from agent_cli.memory.conversations import log
from agent_cli.render.layout import cut
from agent_cli.render.styles import PROMPT, YOU
from agent_cli.repl.keyboard import keys, picker
from agent_cli.repl.keyboard.key_reader import END, STOP, KeyReader, LineReader
from agent_cli.repl.keyboard.keys import KeyAhead, Pastes
from agent_cli.repl.keyboard.picker import PromptHistory
from agent_cli.repl.shell import completion
from agent_cli.store.db import Database
from agent_cli.text import one_line
from agent_cli.tools.tool import ToolContext

_ESC_TIMEOUT = 0.05  # seconds after which an Esc in vi mode is complete: the rest of a key code follows at once
_INDENT = "  "  # of the lines of a message after its first
_RECENT = 20  # messages among which the person's last one is searched
_PLAIN = "bg:default fg:default"
_MENU_STYLE = Style.from_dict(  # the terminal's own colours; what is chosen is shown in reverse
    {
        "completion-menu": _PLAIN,
        "completion-menu.completion": _PLAIN,
        "completion-menu.completion.current": f"{_PLAIN} reverse",
        "completion-menu.meta.completion": _PLAIN,
        "completion-menu.meta.completion.current": f"{_PLAIN} reverse",
        "scrollbar.background": _PLAIN,
        "scrollbar.button": _PLAIN,
    }
)


class _PromptSession(PromptSession[str]):
    """Indents the lines after the first without making the prompt anew for each: a third of the time of a key."""

    def _get_line_prefix(
        self, line_number: int, wrap_count: int, get_prompt_text_2: Callable[[], StyleAndTextTuples]
    ) -> StyleAndTextTuples:
        first = line_number == wrap_count == 0
        return super()._get_line_prefix(line_number, wrap_count, get_prompt_text_2) if first else [("", _INDENT)]


class PromptInput:
    """Reads lines at the prompt. `session` gives the id of the current session; `say` prints a line above the prompt.

    With `screen_reader` the completion menu does not open by itself.
    """

    def __init__(
        self, app: App, session: Callable[[], int | None], say: Callable[[str], None], *, screen_reader: bool = False
    ):
        keys.show_invisible()
        self._app, self._session, self._say = app, session, say
        self._sign = ">" if screen_reader else YOU.sign
        self.pastes = Pastes(app.config.paste_collapse)
        self._history = PromptHistory(app, session, self.pastes)
        vi = app.config.editing_mode == "vi"
        bindings = keys.bindings(self.pastes, say, self._edit, self._last_message, self._search)

        def completes() -> bool:
            return completion.while_typing(self.buffer.document.text_before_cursor)

        self._prompt = _PromptSession(
            output=DummyOutput() if is_dumb_terminal() else None,  # else escape sequences for the cursor are printed
            history=self._history,
            multiline=True,
            prompt_continuation=_INDENT,
            key_bindings=bindings,
            completer=completion.PromptCompleter(app),
            complete_in_thread=True,
            complete_while_typing=False if screen_reader else Condition(completes),
            reserve_space_for_menu=4,
            style=_MENU_STYLE,
            enable_suspend=True,
            editing_mode=EditingMode.VI if vi else EditingMode.EMACS,
            cursor=ModalCursorShapeConfig() if vi else None,
        )
        if vi:
            self._prompt.app.ttimeoutlen = _ESC_TIMEOUT
        keys.spare_drawn(self._prompt.app)
        keys.end_lost_pastes(self.input)
        self._dumb = LineReader(self.input.fileno()) if is_dumb_terminal() else None
        self._search_task: asyncio.Task[None] | None = None  # while the list of what was sent is shown
        self._asking = False  # whether a line is being read: then the buffer may hold a draft
        self.buffer.on_text_changed += self._follow
        self._preview = RecallPreview(app, session, self.buffer, self._prompt.app.invalidate)
        if not vi:  # in vi mode Esc and a digit begin a repeated command
            self._preview.bind(bindings)

    @property
    def buffer(self) -> Buffer:
        return self._prompt.default_buffer

    @property
    def application(self) -> "Application[str]":
        return self._prompt.app

    @property
    def input(self) -> Input:
        return self._prompt.app.input

    async def ask(self, default: str = "", above: str = "") -> str:
        """Read a line; `above` is shown before the prompt. Raises EOFError when the person leaves."""
        if self._dumb:
            line = await self._dumb.read_message(f"{above}{self._sign} ", default)
            self._history.append_string(line)
            self.pastes.at_once = "\n" in line
            return line

        def message() -> StyleAndTextTuples:
            app = self._prompt.app
            preview = "" if app.is_done else self._preview.line  # it goes when the message is sent
            preview = f"{cut(preview, app.output.get_size().columns - 1)}\n" if preview else ""
            return [("", f"\n{preview}{above}"), (PROMPT, self._sign), ("", " ")]

        self._asking = True
        with patch_stdout(raw=True):
            line = await self._prompt.prompt_async(
                message,
                default=default,
                handle_sigint=False,
                pre_run=lambda: self.pastes.follow(self.buffer),
            )
        self._asking = False
        return line

    async def answer(self, question: str, stop: Callable[[], None] = lambda: None) -> str:
        """The line typed after the question was drawn, in lower case; empty after Esc, Ctrl-D or Ctrl-C, which calls
        `stop` too."""
        with self._dumb or KeyReader(lambda warning: _write(f"\n  {warning.strip()}\n"), _write) as reader:
            reader.discard_typed()
            typed = await reader.read_line(question)
        if typed == STOP:
            stop()
        return "" if typed in (STOP, END) else typed.strip().lower()

    async def key(self, question: str, stop: Callable[[], None]) -> str:
        """The key pressed alone once the question stands there; empty after Esc, Enter, Ctrl-D or Ctrl-C, which calls
        `stop` too."""
        if self._dumb:
            return await self.answer(question, stop)
        with KeyReader(lambda warning: _write(f"\n  {warning.strip()}\n{question}"), _write) as reader:
            reader.discard_typed()
            _write(question)
            pressed = await reader.read_key()
            _write(f"{pressed if len(pressed) == 1 else ''}\n")
        if pressed == STOP:
            stop()
        return pressed.lower() if len(pressed) == 1 else ""

    def take_dropped(self) -> frozenset[tuple[str, int]]:
        """(kind, id) of what memory would have added to the line just sent, and the person dropped."""
        return self._preview.take_dropped()

    def interrupt(self) -> None:
        """Handle Ctrl-C as if it had been pressed in the prompt, if it is shown."""
        if self._dumb:
            self._dumb.interrupt()
        elif self._prompt.app.is_running and (app := get_app_or_none()):  # the prompt's, or that of its list
            app.key_processor.feed(KeyPress(Keys.ControlC, "\x03"))
            app.key_processor.process_keys()

    def drop_forgotten(self) -> None:
        """When something was forgotten, drop earlier lines: history, undo, pastes, clipboard, searches, preview."""
        if self._history.outdated():
            app = self.application
            if self._search_task:
                self._search_task.cancel()
            self.buffer.reset(Document(self.buffer.text, self.buffer.cursor_position))
            app.clipboard = InMemoryClipboard()
            app.vi_state.named_registers.clear()
            self.pastes.forget_others(self.buffer.text)
            self._preview.clear()
            app.invalidate()

    def keep_draft(self) -> None:
        """Store what was typed and not sent in the history, when a signal ends the program."""
        if self._asking:
            self.buffer.append_to_history()
        if waiting := keys.text_of(get_typeahead(self.input)):
            self.pastes.at_once = True  # it may contain a paste
            self._history.append_string(waiting)

    def _follow(self, buffer: Buffer) -> None:
        queue = self._prompt.app.key_processor.input_queue
        self.pastes.follow(buffer, waiting=bool(queue) and not isinstance(queue[0], KeyAhead))

    def _search(self) -> None:
        """Show the list of what was sent; keys that came with this one are typed there."""
        waiting = self._prompt.app.key_processor.input_queue
        store_typeahead(self.input, [*waiting])
        waiting.clear()
        self._search_task = self._prompt.app.create_background_task(self._choose_line())

    async def _choose_line(self) -> None:
        lines = self._history.lines()
        async with in_terminal():
            chosen = await picker.choose(picker.offered_lines(lines))
        self._search_task = None
        if chosen:
            self.buffer.save_to_undo_stack()
            self.buffer.document = Document(lines[int(chosen)])

    def _edit(self, text: str) -> str:
        """The draft as edited in the editor; unchanged when there is no editor."""
        try:
            self._app.refuse_incognito()  # an editor writes files of its own
            with terminal.edited(text, self._app.config.editor) as edited:
                return edited
        except AgentError as error:
            self._say(str(error))
            return text

    def _last_message(self) -> keys.LastMessage:
        """The command that replaces the person's last message in this session, with its words but no attached files."""
        session = self._session()
        entries = log.history(self._app.db, session, _RECENT) if session else []
        last = next((entry for entry in reversed(entries) if entry.message.role == "user"), None)
        if last is None:
            return "", ()
        without_files = [part for part in last.parts if part.origin != "file"]
        words = "".join(part.text for part in without_files).strip("\n")
        return f"/edit {last.handle} {words}", without_files


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


PAUSE = 0.3  # seconds
_SWITCH_INTERVAL = 0.0002  # seconds
_MIN_DRAFT = 8  # characters of a draft that is searched for
_MAX_ITEMS, _MAX_ITEM = 5, 28  # items, and characters of each


class PreviewItem(NamedTuple):
    key: tuple[str, int]  # kind and id
    text: str


class RecallPreview:
    """`session` gives the id of the current session; `redraw` redraws the prompt and may be called on any thread."""

    def __init__(self, app: App, session: Callable[[], int | None], buffer: Buffer, redraw: Callable[[], None]):
        self._app, self._session, self._buffer, self._redraw = app, session, buffer, redraw
        self._found: tuple[PreviewItem, ...] = ()
        self._dropped: set[tuple[str, int]] = set()
        self._searched = ""
        self._timer: asyncio.TimerHandle | None = None
        self._busy = False
        buffer.on_text_changed += lambda _: self._changed()

    @property
    def line(self) -> str:
        texts = [each.text for each in self._items]
        named = " · ".join(f"{n} {text}" for n, text in enumerate(texts, 1))
        return f"will use: {named} (Alt-{'1' if len(texts) == 1 else f'1…{len(texts)}'} drops one)" if texts else ""

    def take_dropped(self) -> frozenset[tuple[str, int]]:
        """(kind, id) of the dropped items; starts anew, as the line is sent."""
        dropped, self._dropped, self._found, self._searched = frozenset(self._dropped), set(), (), ""
        return dropped

    def clear(self) -> None:
        """Drop what was found before: some of it may have been forgotten since."""
        self._found, self._searched = (), ""
        self._changed()

    def bind(self, keys: KeyBindings) -> None:
        """Let Alt and a digit drop that item; without such an item the keys keep their meaning."""
        for number in range(1, _MAX_ITEMS + 1):
            shown = Condition(partial(self._has, number))
            keys.add("escape", str(number), filter=shown)(partial(self._drop, number))

    def _has(self, number: int) -> bool:
        return len(self._items) >= number

    @property
    def _items(self) -> list[PreviewItem]:
        return [each for each in self._found if each.key not in self._dropped] if self._buffer.text else []

    def _drop(self, number: int, event: KeyPressEvent) -> None:
        self._dropped.add(self._items[number - 1].key)
        event.app.invalidate()

    def _changed(self) -> None:
        """Search once the typing pauses."""
        if self._timer:
            self._timer.cancel()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._timer = loop.call_later(PAUSE, self._begin, loop)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        draft = self._buffer.text
        if draft == self._searched or not (self._app.reads and self._app.keeps and self._app.config.preview):
            return
        if self._busy:
            self._timer = loop.call_later(PAUSE, self._begin, loop)
            return
        self._searched = draft
        if len(draft.strip()) < _MIN_DRAFT or draft.startswith("/"):
            self._found = ()
            return
        self._busy = True
        loop.run_in_executor(None, self._search, draft)

    def _search(self, draft: str) -> None:
        """On a thread of its own; that of the prompt waits for the interpreter 0.2 ms instead of 5 at each key."""
        found: tuple[PreviewItem, ...] = ()
        before = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_INTERVAL)
        try:
            # StoreError: the next command reports what is wrong with the file.
            with suppress(StoreError), closing(self._app.db.another_connection()) as db:
                found = items(self._app, db, self._session(), draft)
        finally:
            sys.setswitchinterval(before)
            self._busy = False
        if self._searched == draft:  # else the line was sent meanwhile, or something was forgotten
            self._found = found
            self._redraw()


def items(app: App, db: Database, session: int | None, draft: str) -> tuple[PreviewItem, ...]:
    """What memory would add to this draft, searched by words alone."""
    turn_context = ToolContext(db, session or 0, app.scope, app.time)
    shown_messages = model_context.visible(db, session, app.window) if session else []
    chosen = prompt_recall.select(turn_context, draft, shown_messages, logged=False).used
    return tuple(
        PreviewItem((hit.kind, hit.id), f"{hit.handle} {one_line(hit.file or hit.text, _MAX_ITEM)}")
        for hit, _ in chosen[:_MAX_ITEMS]
    )
