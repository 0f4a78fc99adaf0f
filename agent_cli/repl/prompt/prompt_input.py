"""The line at which a person types: the prompt with its keys, history, completion and pastes.

Everything it holds of what was typed before is let go when something was forgotten, in this process or another.
"""

import asyncio
import sys
from collections.abc import Callable

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
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import DummyOutput
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import is_dumb_terminal

from agent_cli import editor
from agent_cli.app.app import App
from agent_cli.errors import AgentError
from agent_cli.memory.conversations import log
from agent_cli.render.layout import cut
from agent_cli.render.styles import YOU
from agent_cli.repl.keyboard import collector, dumb_terminal, history_choice, invisible_characters, keys, picker
from agent_cli.repl.keyboard.arrivals import KeyAhead
from agent_cli.repl.keyboard.history import PromptHistory
from agent_cli.repl.keyboard.key_reader import END, STOP, KeyReader
from agent_cli.repl.keyboard.pastes import PasteRecovery, Pastes
from agent_cli.repl.prompt import completion
from agent_cli.repl.prompt.recall_preview import RecallPreview

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
        invisible_characters.show()
        self._app, self._session, self._say = app, session, say
        self._sign = ">" if screen_reader else YOU.sign
        self.pastes = Pastes(app.config.paste_collapse)
        self._history = PromptHistory(app, session, self.pastes)
        vi = app.config.editing_mode == "vi"
        bindings = keys.bindings(self.pastes, say, self._edit, self._last_message, self._search)
        self._prompt = _PromptSession(
            output=DummyOutput() if is_dumb_terminal() else None,  # else escape sequences for the cursor are printed
            history=self._history,
            multiline=True,
            prompt_continuation=_INDENT,
            key_bindings=bindings,
            completer=completion.PromptCompleter(app),
            complete_in_thread=True,
            complete_while_typing=False if screen_reader else Condition(self._completes),
            reserve_space_for_menu=4,
            style=_MENU_STYLE,
            enable_suspend=True,
            editing_mode=EditingMode.VI if vi else EditingMode.EMACS,
            cursor=ModalCursorShapeConfig() if vi else None,
        )
        if vi:
            self._prompt.app.ttimeoutlen = _ESC_TIMEOUT
        collector.spare_drawn(self._prompt.app)
        self._paste_recovery = PasteRecovery(self.input)
        self._dumb = dumb_terminal.LineReader(self.input.fileno()) if is_dumb_terminal() else None
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

    def prepare(self) -> None:
        """To be called once the prompt stands and all is loaded, so that no key and no list waits for it."""
        if not self._dumb:  # which is asked for a number, and takes no code
            picker.prepare()
        collector.spare_loaded()

    async def ask(self, default: str = "", above: str = "") -> str:
        """Read a line; `above` is shown before the prompt. Raises EOFError when the person leaves."""
        if self._dumb:
            line = await self._dumb.read_message(f"{above}{self._sign} ", default)
            self._history.append_string(line)
            self.pastes.at_once = "\n" in line
            return line
        self._asking = True
        with patch_stdout(raw=True):
            line = await self._prompt.prompt_async(
                lambda: [("", f"\n{self._preview_line()}{above}"), ("bold", self._sign), ("", " ")],
                default=default,
                handle_sigint=False,
                pre_run=lambda: self.pastes.follow(self.buffer),
            )
        self._asking = False
        return line

    async def answer(self, question: str, stop: Callable[[], None] = lambda: None) -> str:
        """The line typed after the question was drawn, in lower case; empty after Esc, Ctrl-D or Ctrl-C, which calls
        `stop` too."""
        if self._dumb:
            try:
                return (await self._dumb.read_answer(question)).strip().lower()
            except EOFError:
                return ""
            except KeyboardInterrupt:
                stop()
                return ""
        with KeyReader(lambda warning: _write(f"\n  {warning.strip()}\n"), _write) as keys:
            keys.discard_typed()
            typed = await keys.read_line(question)
        if typed == STOP:
            stop()
        return "" if typed in (STOP, END) else typed.strip().lower()

    async def key(self, question: str, stop: Callable[[], None]) -> str:
        """The key pressed alone once the question stands there; empty after Esc, Enter, Ctrl-D or Ctrl-C, which calls
        `stop` too."""
        if self._dumb:
            return await self.answer(question, stop)
        with KeyReader(lambda warning: _write(f"\n  {warning.strip()}\n{question}"), _write) as keys:
            keys.discard_typed()
            _write(question)
            pressed = await keys.read_key()
            _write(f"{pressed if len(pressed) == 1 else ''}\n")
        if pressed == STOP:
            stop()
        return pressed.lower() if len(pressed) == 1 else ""

    def take_dropped(self) -> frozenset[tuple[str, int]]:
        """(kind, id) of what memory would have added to the line just sent, and the person dropped."""
        return self._preview.take_dropped()

    def _preview_line(self) -> str:
        line = "" if self._prompt.app.is_done else self._preview.line  # it goes when the message is sent
        return f"{cut(line, self._prompt.app.output.get_size().columns - 1)}\n" if line else ""

    def end_lost_paste(self) -> None:
        """To be called every second: end a paste whose end mark was lost. Without a prompt, others read the keys."""
        app = get_app_or_none()
        if app and (pressed := self._paste_recovery.poll()):
            app.key_processor.feed_multiple(pressed)
            app.key_processor.process_keys()

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

    def _completes(self) -> bool:
        return completion.while_typing(self.buffer.document.text_before_cursor)

    def _search(self) -> None:
        """Show the list of what was sent; keys that came with this one are typed there."""
        waiting = self._prompt.app.key_processor.input_queue
        store_typeahead(self.input, [*waiting])
        waiting.clear()
        self._search_task = self._prompt.app.create_background_task(self._choose_line())

    async def _choose_line(self) -> None:
        async with in_terminal():
            line = await history_choice.choose(self._history.lines())
        self._search_task = None
        if line:
            self.buffer.save_to_undo_stack()
            self.buffer.document = Document(line)

    def _edit(self, text: str) -> str:
        """The draft as edited in the editor; unchanged when there is no editor."""
        try:
            self._app.refuse_incognito()  # an editor writes files of its own
            with editor.edited(text, self._app.config.editor) as edited:
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
