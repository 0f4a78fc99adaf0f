"""The line at which a person types: the prompt with its keys, history, completion and pastes.

Everything it holds of what was typed before is let go when something was forgotten, in this process or another.
"""

from collections.abc import Callable

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, get_app_or_none
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.clipboard import InMemoryClipboard
from prompt_toolkit.cursor_shapes import ModalCursorShapeConfig
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout.controls import BufferControl
from prompt_toolkit.output import DummyOutput
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.styles import Style

from agent_cli import editor
from agent_cli.app.app import App
from agent_cli.errors import AgentError
from agent_cli.memory.conversations import log
from agent_cli.repl.keyboard import dumb_terminal, history_search, invisible_characters, keys
from agent_cli.repl.keyboard.history import Prompts
from agent_cli.repl.keyboard.pastes import LostEnd, Pastes
from agent_cli.repl.prompt import completion
from agent_cli.repl.prompt.recall_preview import Foresight
from agent_cli.text import one_line

_ESC = 0.05  # seconds after which an Esc in vi mode is one: the rest of a key's code follows at once
_LAST = 20  # messages in which the last one of the person is looked for

# The colours of the terminal, whichever they are: what is chosen is shown in reverse.
_PLAIN = "bg:default fg:default"
_STYLE = Style.from_dict(
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


class Line:
    """`session` gives the number of the conversation; `say` prints a line above the prompt.

    `aloud`: for a screen reader, to which a menu that opens by itself would be noise.
    """

    def __init__(
        self, app: App, session: Callable[[], int | None], say: Callable[[str], None], *, aloud: bool = False
    ):  # fmt: skip
        invisible_characters.mark()
        self._app, self._session, self._say = app, session, say
        self.pastes = Pastes(app.config.paste_collapse)
        self._history = Prompts(app, session, self.pastes)
        vi = app.config.editing_mode == "vi"
        bound = keys.bindings(self.pastes, say, self._edited, self._said_last)
        self._prompt: PromptSession[str] = PromptSession(
            output=DummyOutput() if dumb_terminal.Lines.wanted() else None,  # it would be shown how to hide a cursor
            history=self._history, multiline=True, prompt_continuation="  ",
            key_bindings=bound,
            completer=completion.Completions(app), complete_in_thread=True,
            complete_while_typing=False if aloud else Condition(self._completes), reserve_space_for_menu=4,
            style=_STYLE,
            search_ignore_case=True, enable_suspend=True,
            editing_mode=EditingMode.VI if vi else EditingMode.EMACS, cursor=ModalCursorShapeConfig() if vi else None,
        )  # fmt: skip
        if vi:
            self._prompt.app.ttimeoutlen = _ESC
        self._lost = LostEnd(self.input)
        self._dumb = dumb_terminal.Lines(self.input.fileno()) if dumb_terminal.Lines.wanted() else None
        self._open = False  # whether a draft may stand in it
        self.buffer.on_text_changed += self._follow
        history_search.quicken(self.buffer)
        self._foresight = Foresight(app, session, self.buffer, self._prompt.app.invalidate)
        if not vi:  # there Esc and a number are a command and how often
            self._foresight.bind(bound)

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
        """What is sent; `above` stands before the prompt. Raises EOFError when the person leaves."""
        if self._dumb:
            line = await self._dumb.message(f"{above}> ", default)
            self._history.append_string(line)
            self.pastes.at_once = "\n" in line
            return line
        self._open = True
        with patch_stdout(raw=True):
            line = await self._prompt.prompt_async(
                lambda: f"{self._foreseen()}{above}> ",
                default=default,
                handle_sigint=False,
                pre_run=lambda: self.pastes.follow(self.buffer),
            )
        self._open = False
        return line

    async def answer(self, question: str, stop: Callable[[], None] = lambda: None) -> str:
        """What is typed to a question, in small letters; what is pasted is none, and Esc or leaving it neither.

        Ctrl-C calls `stop`.
        """
        deaf = KeyBindings()
        deaf.add(Keys.BracketedPaste, eager=True)(lambda event: None)
        deaf.add(Keys.Escape, eager=True)(lambda event: event.app.exit(result=""))
        try:
            if self._dumb:
                return (await self._dumb.answer(question)).strip().lower()
            asking: PromptSession[str] = PromptSession(key_bindings=deaf)
            return (await asking.prompt_async(question, handle_sigint=False)).strip().lower()
        except EOFError:
            return ""
        except KeyboardInterrupt:
            stop()
            return ""

    def dropped(self) -> frozenset[tuple[str, int]]:
        """What memory would have put beside the line just sent, and the person dropped."""
        return self._foresight.dropped()

    def _foreseen(self) -> str:
        told = self._foresight.line
        return f"{one_line(told, self._prompt.app.output.get_size().columns - 1)}\n" if told else ""

    def look(self) -> None:
        """Called every second while the prompt waits: end a paste whose end was lost."""
        app = get_app_or_none()
        if (pressed := self._lost.look()) and app:
            app.key_processor.feed_multiple(pressed)
            app.key_processor.process_keys()

    def interrupt(self) -> None:
        """As if Ctrl-C had been pressed in the prompt, if there is one."""
        if self._dumb:
            self._dumb.interrupt()
        elif self._prompt.app.is_running:
            self._prompt.app.key_processor.feed(KeyPress(Keys.ControlC, "\x03"))
            self._prompt.app.key_processor.process_keys()

    def let_go(self) -> None:
        """When something was forgotten, hold no line of before: history, undo, pastes, what was cut or searched for."""
        if self._history.outdated():
            app, control = self.application, self.application.layout.current_control
            self.buffer.reset(Document(self.buffer.text, self.buffer.cursor_position))
            app.clipboard = InMemoryClipboard()
            app.vi_state.named_registers.clear()
            if isinstance(control, BufferControl):
                control.search_state.text = ""
            self._prompt.search_buffer.history = InMemoryHistory()
            history_search.quicken(self.buffer)
            self.pastes.let_go(self.buffer.text)
            self._foresight.let_go()
            app.invalidate()

    def keep_draft(self) -> None:
        """When a signal ends the program: what was typed and not sent goes to the history."""
        if self._open:
            self.buffer.append_to_history()
        if waiting := keys.words(get_typeahead(self.input)):
            self.pastes.at_once = True  # nobody has seen it: a paste may be in it
            self._history.append_string(waiting)

    def _follow(self, buffer: Buffer) -> None:
        self.pastes.follow(buffer, waiting=bool(self._prompt.app.key_processor.input_queue))

    def _completes(self) -> bool:
        return completion.while_typing(self.buffer.document.text_before_cursor)

    def _edited(self, text: str) -> str:
        """The draft as it comes back from the editor; as it was when there is none to be had."""
        try:
            self._app.refuse_incognito()  # an editor writes files of its own
            with editor.edited(text, self._app.config.editor) as typed:
                return typed
        except AgentError as error:
            self._say(str(error))
            return text

    def _said_last(self) -> keys.Draft:
        """The person's last message in this session, without the files that went along."""
        session = self._session()
        said = log.history(self._app.db, session, _LAST) if session else []
        parts = next((entry.parts for entry in reversed(said) if entry.message.role == "user"), ())
        own = [part for part in parts if part.origin != "file"]
        return "".join(part.text for part in own).strip("\n"), own
