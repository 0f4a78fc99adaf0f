"""The line at which a person types: keys, history, completion, pastes. What is forgotten leaves its history too."""

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app_or_none, in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.clipboard import InMemoryClipboard
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.cursor_shapes import ModalCursorShapeConfig
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition, emacs_mode
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPress, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import DummyOutput
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import is_dumb_terminal

from agent_cli import kinds, limits, terminal
from agent_cli.agent import model_context, prompt_recall
from agent_cli.app import models
from agent_cli.app.app import App
from agent_cli.config import settings_file
from agent_cli.errors import AgentError, StoreError, UsageError
from agent_cli.memory import search_sources, tombstones
from agent_cli.memory.conversations import log
from agent_cli.memory.dates import periods
from agent_cli.memory.skills import skills
from agent_cli.messages import Part, join_parts
from agent_cli.render.layout import cut
from agent_cli.render.styles import PROMPT, YOU, Display
from agent_cli.repl.commands import commands
from agent_cli.repl.keyboard import key_reader, keys
from agent_cli.repl.keyboard.keys import KeyAhead, Pastes
from agent_cli.text import Pattern, clean, one_line, without_surrogates
from agent_cli.tools.tool import ToolContext

_ESC_TIMEOUT = 0.05  # seconds after which an Esc in vi mode is complete: the rest of a key code follows at once
_ESC_TIMEOUT_OF_EMACS = 0.5  # there it is half of a key
_SECOND_ESC, _SECOND_ESC_OF_EMACS = 0.2, 1.0  # seconds within which it may come: in vi mode the first alone does much
_INDENT = "  "  # of the lines of a message after its first
_PLAIN = "bg:default fg:default"
_PLAINLY = ("completion-menu", "completion-menu.completion", "completion-menu.meta.completion")
_CHOSEN = ("completion-menu.completion.current", "completion-menu.meta.completion.current")
_MENU_STYLE = Style.from_dict(  # the terminal's own colours; what is chosen is shown in reverse
    dict.fromkeys((*_PLAINLY, "scrollbar.background", "scrollbar.button"), _PLAIN)
    | dict.fromkeys(_CHOSEN, f"{_PLAIN} reverse")
    | {"bottom-toolbar": f"{_PLAIN} noreverse dim"}  # in reverse it would be left behind where the window is resized
)
_MAX_LINES = 2000
_TIMEOUT = 0.5  # seconds that a key may wait for another process


class PromptHistory(History):
    """`session` gives the id of the current session, if there is one."""

    def __init__(self, app: App, session: Callable[[], int | None], pastes: Pastes):
        super().__init__()
        self._app, self._session, self._pastes = app, session, pastes
        self._rounds = 0
        self.outdated()

    def load_history_strings(self) -> Iterable[str]:
        with suppress(StoreError):  # the next command reports a file that cannot be read
            self._pastes.history_pieces = log.pasted_prompts(self._app.db, self._app.scope.owner, _MAX_LINES)
            return log.recent_prompts(self._app.db, self._app.scope.owner, _MAX_LINES)
        return []

    def lines(self) -> list[str]:
        """Every line once, the newest first."""
        if not self._loaded:  # a key that was typed before the prompt stood there
            self._loaded_strings, self._loaded = list(self.load_history_strings()), True
        return list(dict.fromkeys(self._loaded_strings))

    def append_string(self, string: str) -> None:
        """Add a line, with large pastes expanded; not when it begins with a space or repeats the last one."""
        string = self._pastes.expanded(string)
        if string.strip() and not string.startswith(" ") and string != next(iter(self._loaded_strings), None):
            super().append_string(string)

    def store_string(self, string: str) -> None:
        with self._app.db.patience(_TIMEOUT), suppress(StoreError):  # a line of history is not worth an error
            line, pasted = without_surrogates(string), map(without_surrogates, self._pastes.pasted_in(string))
            log.add_prompt(self._app.db, self._app.scope, self._session(), line, self._app.time(), pasted)

    def outdated(self) -> bool:
        """Whether something was forgotten, in any process, since the last call: then the lines are read again."""
        before = self._rounds
        with suppress(StoreError):
            self._rounds = tombstones.erasure_count(self._app.db)
        if self._rounds == before:
            return False
        self._loaded, self._loaded_strings = False, []
        return True


class _PromptSession(PromptSession[str]):
    """Indents the lines after the first without making the prompt anew for each: a third of the time of a key."""

    def _get_line_prefix(self, line_number: int, wrap_count: int, get_prompt_text_2: Any) -> StyleAndTextTuples:
        first = line_number == wrap_count == 0
        return super()._get_line_prefix(line_number, wrap_count, get_prompt_text_2) if first else [("", _INDENT)]


class PromptInput:
    """Reads lines at the prompt; `say` prints above it. Aloud the completion menu does not open by itself."""

    def __init__(self, app: App, session: Callable[[], int | None], say: Callable[[str], None], display: Display):
        keys.show_invisible()
        screen_reader, self._marks = display.screen_reader, display.terminal.mark
        self._app, self._session, self._say = app, session, say
        self._sign = ">" if screen_reader else YOU.sign
        self.pastes = Pastes(app.config.paste_collapse)
        self._history = PromptHistory(app, session, self.pastes)
        bindings = keys.bindings(self.pastes, say, self._edit, self._last_message, self._search)
        self._prompt = _PromptSession(
            output=DummyOutput() if is_dumb_terminal() else None,  # else escape sequences for the cursor are printed
            history=self._history,
            multiline=True,
            prompt_continuation=_INDENT,
            key_bindings=bindings,
            completer=PromptCompleter(app),
            complete_in_thread=True,
            complete_while_typing=not screen_reader
            and Condition(lambda: completion(self.buffer.document.text_before_cursor) is not None),
            reserve_space_for_menu=4,
            style=_MENU_STYLE,
            enable_suspend=True,
        )
        self.buffer, self.application = self._prompt.default_buffer, self._prompt.app
        self.input = self.application.input
        self._choose_keys()
        keys.understand(self.input)
        keys.add_modes(self.application.output, display.terminal.prompt_modes)
        self._dumb = key_reader.LineReader(self.input) if is_dumb_terminal() else None
        self._search_task: asyncio.Task[None] | None = None  # while the list of what was sent is shown
        self._asking = False  # whether a line is being read: then the buffer may hold a draft
        self.buffer.on_text_changed += self._follow
        self.preview = RecallPreview(app, session, self.buffer, self.application.invalidate)
        self.preview.bind(bindings)
        self.suggestion = ""  # for the next line: shown in an empty prompt until something is typed
        self._prompt.placeholder = self._suggested
        for key in ("tab", "right"):
            bindings.add(key, filter=Condition(lambda: bool(self.suggestion and not self.buffer.text)))(
                lambda event: event.current_buffer.insert_text(self.suggestion)
            )

    def _suggested(self) -> StyleAndTextTuples:
        is_shown = self.suggestion and not self.application.is_done
        return [("dim", f"{self.suggestion} (Tab takes it)")] if is_shown else []

    def _choose_keys(self) -> None:
        """Those of the setting, which may have changed."""
        vi = self._app.config.editing_mode == "vi"
        self.application.editing_mode = EditingMode.VI if vi else EditingMode.EMACS
        self.application.ttimeoutlen = _ESC_TIMEOUT if vi else _ESC_TIMEOUT_OF_EMACS
        self.application.timeoutlen = _SECOND_ESC if vi else _SECOND_ESC_OF_EMACS
        self._prompt.cursor = ModalCursorShapeConfig() if vi else None

    async def ask(self, default: str = "", above: str = "", below: str = "") -> str:
        """Read a line; `above` is shown before the prompt, `below` under it. Raises EOFError when the person leaves."""
        if self._dumb:
            line = await self._dumb.read_message(f"{above}{self._sign} ", default)
            self._history.append_string(line)
            self.pastes.at_once = "\n" in line
            return line

        def message() -> StyleAndTextTuples:
            preview = "" if self.application.is_done else self.preview.line  # it goes when the message is sent
            preview = f"{cut(preview, self.application.output.get_size().columns - 1)}\n" if preview else ""
            begin, end = (("[ZeroWidthEscape]", self._marks(letter)) for letter in ("A", "B"))
            return [("", f"\n{preview}{above}"), begin, (PROMPT, self._sign), ("", " "), end]

        self._asking, self.loop = True, asyncio.get_running_loop()
        self._choose_keys()
        self.show_below(below)
        with patch_stdout(raw=True):
            line = await self._prompt.prompt_async(
                message, default=default, handle_sigint=False, pre_run=lambda: self.pastes.follow(self.buffer)
            )
        self._asking, self.suggestion = False, ""
        return line

    def show_below(self, line: str) -> None:
        """Show a line under the prompt; nothing when it is empty."""
        vi, columns = self.application.editing_mode == EditingMode.VI, self.application.output.get_size().columns

        def with_mode() -> str:
            mode = self.application.vi_state.input_mode.value.removeprefix("vi-")
            return cut(f"{'NORMAL' if mode == 'navigation' else mode.upper()} · {line}", columns - 1)

        self._prompt.bottom_toolbar = (with_mode if vi else cut(line, columns - 1)) if line else None
        self.application.invalidate()

    async def answer(self, question: str, stop: Callable[[], None] = lambda: None, *, key: bool = False) -> str:
        """The line or `key` typed at the question; empty after Esc, Ctrl-D or Ctrl-C, which calls `stop`."""
        typed = await (self._dumb or key_reader.KeyReader()).answer(question, key=key)
        if typed == key_reader.STOP:
            stop()
            return ""
        return typed

    def interrupt(self) -> None:
        """Handle Ctrl-C as if it had been pressed in the prompt, if it is shown."""
        if self._dumb:
            self._dumb.interrupt()
        elif self.application.is_running and (app := get_app_or_none()):  # the prompt's, or that of its list
            app.key_processor.feed(KeyPress(Keys.ControlC, "\x03"))
            app.key_processor.process_keys()

    def drop_forgotten(self) -> None:
        """When something was forgotten, drop earlier lines: history, undo, pastes, clipboard, searches, preview."""
        if self._history.outdated():
            if self._search_task:
                self._search_task.cancel()
            self.buffer.reset(Document(self.buffer.text, self.buffer.cursor_position))
            self.application.clipboard = InMemoryClipboard()
            self.application.vi_state.named_registers.clear()
            self.pastes.forget_others(self.buffer.text)
            self.preview.clear()
            self.application.invalidate()

    def keep_draft(self) -> None:
        """Store what was typed and not sent in the history, when a signal ends the program."""
        if self._asking:
            self.buffer.append_to_history()
        if waiting := keys.text_of(get_typeahead(self.input)).strip():
            self.pastes.at_once = True  # it may contain a paste
            self._history.append_string(waiting)

    def _follow(self, buffer: Buffer) -> None:
        queue = self.application.key_processor.input_queue
        self.pastes.follow(buffer, waiting=bool(queue) and not isinstance(queue[0], KeyAhead))

    def _search(self) -> None:
        """Show the list of what was sent; keys that came with this one are typed there."""
        waiting = self.application.key_processor.input_queue
        store_typeahead(self.input, [*waiting])
        waiting.clear()
        self._search_task = self.application.create_background_task(self._choose_line())

    async def _choose_line(self) -> None:
        lines = self._history.lines()
        async with in_terminal():
            chosen = await key_reader.choose(key_reader.offered_lines(lines))
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

    def _last_message(self) -> tuple[str, Sequence[Part]]:
        """The command that replaces the person's last message in this session, with its words but no attached files."""
        last = log.nth_last(self._app.db, self._session(), "user", 1)
        if last is None:
            return "", ()
        without_files = [part for part in last.parts if part.origin != "file"]
        words = "".join(part.text for part in without_files).strip("\n")
        return f"/edit {last.handle} {words}", without_files


PAUSE = 0.3  # seconds
_MIN_DRAFT = 8  # characters of a draft that is searched for
_MAX_ITEMS, _MAX_ITEM = 5, 28  # items, and characters of each


PreviewItem = tuple[tuple[str, int], str]
"""The kind and id of what memory would add, and its text."""


class RecallPreview:
    """What memory would add to the draft, above the prompt, which `redraw` draws again."""

    def __init__(self, app: App, session: Callable[[], int | None], buffer: Buffer, redraw: Callable[[], None]):
        self._app, self._session, self._buffer, self._redraw = app, session, buffer, redraw
        self._found: tuple[PreviewItem, ...] = ()
        self._dropped: set[tuple[str, int]] = set()
        self._search: asyncio.Task[None] | None = None
        buffer.on_text_changed += lambda _: self._changed()

    @property
    def line(self) -> str:
        named = " · ".join(f"{n} {text}" for n, (_, text) in enumerate(self._items, 1))
        last = len(self._items)
        return f"will use: {named} (Alt-{'1' if last == 1 else f'1…{last}'} drops one)" if last else ""

    def take_dropped(self) -> frozenset[tuple[str, int]]:
        """(kind, id) of the dropped items; starts anew, as the line is sent."""
        dropped, self._dropped = frozenset(self._dropped), set()
        self.clear()
        return dropped

    def clear(self) -> None:
        """Drop what was found before: some of it may have been forgotten since."""
        self._found = ()
        self._changed()

    def bind(self, keys: KeyBindings) -> None:
        """Let Alt and a digit drop that item; without such an item, and in vi mode, the keys keep their meaning."""
        for number in range(1, _MAX_ITEMS + 1):
            shown = Condition(partial(lambda least: len(self._items) >= least, number))
            keys.add("escape", str(number), filter=shown & emacs_mode)(partial(self._drop, number))

    @property
    def _items(self) -> list[PreviewItem]:
        return [each for each in self._found if each[0] not in self._dropped] if self._buffer.text else []

    def _drop(self, number: int, event: KeyPressEvent) -> None:
        self._dropped.add(self._items[number - 1][0])
        event.app.invalidate()

    def _changed(self) -> None:
        if self._search:
            self._search.cancel()
        with suppress(RuntimeError):  # nobody types before the prompt stands
            loop = asyncio.get_running_loop()
            self._search = loop.create_task(self._look_up())

    async def _look_up(self) -> None:
        """Search once the typing pauses."""
        await asyncio.sleep(PAUSE)
        draft, found = self._buffer.text, tuple[PreviewItem, ...]()
        if not (self._app.reads and self._app.keeps and self._app.config.preview):
            return
        if len(draft.strip()) >= _MIN_DRAFT and not draft.startswith("/"):
            with suppress(StoreError):  # the next command reports what is wrong with the file
                found = await asyncio.to_thread(items, self._app, self._session(), draft)
        self._found = found
        self._redraw()


def items(app: App, session: int | None, draft: str) -> tuple[PreviewItem, ...]:
    """What memory would add to this draft, searched by words alone."""
    with app.db.another_connection() as db:
        shown_messages = model_context.visible(db, session, app.window) if session else []
        turn_context = ToolContext(db, session or 0, app.scope, app.time)
        used = prompt_recall.select(turn_context, draft, shown_messages, logged=False).used[:_MAX_ITEMS]
    return tuple(((hit.kind, hit.id), f"{hit.handle} {one_line(hit.file or hit.text, _MAX_ITEM)}") for hit, _ in used)


# Completion: commands and their arguments, and files after an @; on a thread of its own. A command names in its
# `completes` which of ARGUMENTS it takes.
_ARGUMENT = Pattern(r"(/[a-z?-]+)[ \t]+(.*)")
_PATH = Pattern(r"(?<![^\s(\[])@(?:\"([^\"\n]*)|([^\s\"]*))$")
_LIMIT = 50
_TAIL = 300  # characters before the cursor that are searched for an @
_MAX_ENTRIES = 10_000  # of one folder
_MODELS_TTL = 10.0  # seconds for which the list of the server's models is cached


def _suggestion(text: str, replaces: int, description: str = "") -> Completion:
    """A text in the place of so many characters before the cursor, with a description beside it."""
    return Completion(text, -replaces, display_meta=one_line(description, 70))


class PromptCompleter(Completer):
    def __init__(self, app: App):
        self._app = app

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        if found := completion(document.text_before_cursor):
            with suppress(AgentError):  # the next command reports what cannot be read
                yield from islice(found(self._app), _LIMIT)


def completion(before: str) -> Callable[[App], Iterable[Completion]] | None:
    """What completes the text before the cursor, also without Tab; None behind words of one's own."""
    if before.startswith("/") and "\n" not in before:
        if " " not in before:
            return lambda app: chain(_commands(before), _skills(app, before))
        if match := _ARGUMENT.fullmatch(before):
            for each in commands.listing():
                if each.completes and match[1] in (each.name, *each.aliases):
                    kinds_of, typed = each.completes, match[2]
                    return lambda app: chain.from_iterable(ARGUMENTS[kind](app, typed) for kind in kinds_of)
    if path := _PATH.search(before[-_TAIL:]):
        return lambda app: _paths(path[2] if path[1] is None else path[1], quoted=path[1] is not None)
    return None


def _commands(typed: str, slash: str = "") -> Iterator[Completion]:
    for each in commands.listing():
        if each.name.startswith(slash + typed):
            yield _suggestion(each.name.removeprefix(slash), len(typed), each.help.splitlines()[0])


def _skills(app: App, typed: str) -> Iterator[Completion]:
    with app.db.another_connection() as db:
        for name, description in skills.beginning_with(db, app.scope.owner, typed[1:], _LIMIT) if app.reads else ():
            yield _suggestion(f"/{name}", len(typed), description)


def _choices(names: Iterable[str], typed: str) -> Iterator[Completion]:
    return (_suggestion(name, len(typed)) for name in names if name.startswith(typed))


def _handles(*names: str, whole: bool = False) -> Callable[[App, str], Iterator[Completion]]:
    """Suggest handles by their prefix or their text; `whole`: complete the whole argument, else its last word."""

    def suggest(app: App, typed: str) -> Iterator[Completion]:
        prefix = typed if whole or not typed else (typed[-1:].strip() and typed.split()[-1])
        with app.db.another_connection() as db:
            for handle, description in search_sources.handles(db, app.scope.owner, names, prefix):
                yield _suggestion(handle, len(prefix), description)

    return suggest


def _paths(typed: str, quoted: bool = False) -> Iterator[Completion]:
    """Files and folders whose path begins so; hidden ones after a dot. A path with blanks is quoted."""
    folder, prefix = typed[: typed.rfind("/") + 1], typed.rpartition("/")[2]
    found: list[tuple[str, bool]] = []
    with suppress(OSError, ValueError, RuntimeError), os.scandir(Path(folder or ".").expanduser()) as entries:
        for entry in islice(entries, _MAX_ENTRIES):
            if entry.name.startswith(prefix) and (prefix.startswith(".") or not entry.name.startswith(".")):
                found.append((entry.name, entry.is_dir()))
    for name, is_folder in sorted(found, key=lambda each: (each[0].casefold(), each)):
        if name != clean(name).replace("\n", "") or '"' in name:
            continue  # its name would not be shown as it is
        text = folder + name + ("/" if is_folder else "")
        if " " in text:
            yield _suggestion(text + ("" if is_folder else '"') if quoted else f'"{text}', len(typed))
        else:
            yield _suggestion(text, len(typed), "folder" if is_folder else "")


_models_of: dict[str, tuple[float, list[str]]] = {}  # by address: when it was asked, and its models


def _models(app: App, typed: str) -> Iterator[Completion]:
    engine = app.engine
    at, names = _models_of.get(engine.url, (-_MODELS_TTL, []))
    if time.monotonic() - at > _MODELS_TTL:
        with suppress(AgentError):
            names = [tag.name for tag in engine.listing() if models.chats(tag)]
        _models_of[engine.url] = time.monotonic(), names
    yield from _choices((*names, "auto", "offline"), typed)


def _settings(app: App, typed: str) -> Iterator[Completion]:
    """The names of settings, then the values of the named one."""
    key, space, prefix = typed.partition(" ")
    if space:
        yield from _choices(settings_file.choices().get(key, ()), prefix)
    else:
        for each in fields(app.config):
            if each.name.startswith(key):
                yield _suggestion(each.name, len(key), each.metadata["comment"])


def _periods(app: App, typed: str) -> Iterator[Completion]:
    yield from _choices(("today", "yesterday", *periods.UNITS[1:]), typed)
    with app.db.another_connection() as db:
        for key in search_sources.periods(db, app.scope.owner, typed.upper()):
            yield _suggestion(key, len(typed))


def _documents(app: App, typed: str) -> Iterator[Completion]:
    verb, blank, path = typed.partition(" ")
    if not blank:
        yield from _choices(("add", "rm", "sync"), verb)
    elif verb in ("add", "rm"):
        yield from _paths(path.removeprefix('"'), quoted=path.startswith('"'))


def _tasks(app: App, typed: str) -> Iterator[Completion]:
    from agent_cli.repl.commands import memory_commands  # loaded with all commands, not before the prompt

    yield from _handles("task")(app, typed) if " " in typed else _choices(memory_commands.VERBS, typed)


ARGUMENTS: Mapping[str, Callable[[App, str], Iterable[Completion]]] = {
    "command": lambda app, typed: _commands(typed, "" if typed.startswith("/") else "/"),
    **{kind.name: _handles(kind.name) for kind in kinds.COMPLETABLE},
    "session": _handles("session", whole=True),
    "task": _tasks,
    "handle": _handles(*sorted(kind.name for kind in kinds.COMPLETABLE)),
    "model": _models,
    "setting": _settings,
    "period": _periods,
    "documents": _documents,
    "file": lambda app, typed: _paths(typed),
}


_REFERENCE = Pattern(r"(?<![^\s(\[])@(?:\"([^\"\n]+)\"|([^\s\"]+))")
_LIKE_A_FILE = Pattern(r"\w\.[A-Za-z]\w{0,4}$")
_BEHIND_PATH = ".,;:!?)]}'’”\""
_PATH_PREFIXES = ("/", "./", "../", "~/")  # prefixes of what can only be a path


def attach(parts: Sequence[Part]) -> list[Part]:
    """The parts, preceded by the files that the typed ones name, each once. Raises UsageError."""
    files: dict[Path, Part] = {}
    for part in parts:
        for match in _REFERENCE.finditer(part.text) if part.origin == "typed" else ():
            path = _resolve(match[1] or match[2], quoted=bool(match[1]))
            if path and path not in files:
                if not path.is_file():
                    raise UsageError(f"{path} is not a file: nothing was sent")
                files[path] = Part(limits.read(path), "file", str(path))
    return [*join_parts([*files.values(), Part("", "typed")])[:-1], *parts] if files else list(parts)


def summary(parts: Sequence[Part]) -> str:
    """What was attached, and what looks like a file but is none: perhaps it is mistyped."""
    files = [f"{part.name} ({len(part.text.rstrip()):,} characters)" for part in parts if part.origin == "file"]
    typed = [match[2] or "" for part in parts if part.origin == "typed" for match in _REFERENCE.finditer(part.text)]
    named = dict.fromkeys(each.rstrip(_BEHIND_PATH) for each in typed if not _resolve(each, quoted=False))
    missing = [f"there is no file {each}: sent as text" for each in named if _LIKE_A_FILE.search(each)]
    return "; ".join([*([f"sent along: {', '.join(files)}"] if files else []), *missing])


def _resolve(typed: str, *, quoted: bool) -> Path | None:
    """The file of that name, also when punctuation follows it; None when the text names no file. Raises UsageError."""
    for name in dict.fromkeys((typed, typed if quoted else typed.rstrip(_BEHIND_PATH))):
        try:
            path = Path(name).expanduser()
            if name and path.exists() and not (path.is_dir() and not quoted and not name.startswith(_PATH_PREFIXES)):
                return path
        except (OSError, ValueError, RuntimeError):  # longer than a name may be, a NUL, no such home
            continue
    if quoted or typed.startswith(_PATH_PREFIXES):
        raise UsageError(f"there is no file {typed}: nothing was sent; without the @ it is text")
    return None
