"""The keys of the prompt: what each does, which parts of a line were pasted, and what prompt-toolkit is told for them.

Enter sends, unless more keys are waiting: then it is the newline of a paste from a terminal that does not bracket them.
Pasted text never counts as typed, nor do keys faster than anyone types, and it is never a command. A large paste is
shown as a placeholder, `[pasted 212 lines #1]`, which is replaced by its text when the line leaves the prompt.
"""

import asyncio
import gc
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from prompt_toolkit import filters
from prompt_toolkit.application import get_app, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.input import Input
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyBindings, KeyPress, KeyPressEvent
from prompt_toolkit.key_binding.vi_state import InputMode
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout.screen import Char
from prompt_toolkit.output import Output

from agent_cli.messages import Part
from agent_cli.render import terminal_features
from agent_cli.text import clean

SEND = Keys.F23  # stands for an Enter that was typed ahead; no keyboard has this key
NEWLINE = Keys.F24  # stands for an Enter that is a new line; nor this one
_AT_ONCE = Keys.F22  # stands before a line that came too fast to be typed; nor does it have this one
ENTERS = (Keys.ControlM, SEND)
_DOUBLE_PRESS = 2.0  # seconds
_MENU_PAUSE = 0.02  # seconds between looks at a menu that is being made

# Shift-Enter and Ctrl-Enter, where a terminal is set to distinguish them from Enter, and Alt-Enter, which in vi mode
# would be Esc and Enter: mapped to a key that no keyboard has.
_NEWLINE_CODES = ("\x1b[13;2u", "\x1b[27;2;13~", "\x1b[13;5u", "\x1b[27;5;13~", "\x1b\r")
ANSI_SEQUENCES.update(dict.fromkeys(_NEWLINE_CODES, NEWLINE))

HELP = """\
Enter           send; in the menu: take what is chosen
Alt-Enter       a new line; also Ctrl-J, and \\ before Enter;
                Shift-Enter where the terminal tells it from Enter
Ctrl-C          stop the answer; put a draft away, Up brings it back
                on an empty prompt, twice: leave
Ctrl-D          leave, on an empty prompt
Esc             stop the answer; close the menu
                on an empty prompt, twice: your last message, to replace it
Up, Down        move in several lines, then in what was sent
Ctrl-R          a list of what was sent, in all sessions: type to filter it
Tab             complete commands, handles, models, files behind @
                on an empty prompt: take what is suggested there
Ctrl-G          open the draft in your editor; also Ctrl-X Ctrl-E
Alt-1, Alt-2    leave out the first, the second of what memory would add: the
                line above the prompt names it
Ctrl-L          redraw the screen
Ctrl-Z          suspend the program, also during an answer; fg brings it back
@FILE           send a file along with a message"""

PASTE_TIMEOUT = 1.0  # seconds within which more of a paste arrives
BURST_KEYS = 8  # keys that arrive together
BURST_SECONDS = 0.1  # within which they do: a fast typist needs three times as long
LARGE_LINES = 15  # a paste of so many lines is large, whatever the setting says about characters


class Window:
    has_focus = True  # as far as its terminal tells


WINDOW = Window()


def understand(input: Input) -> None:
    """Have an input understand what terminals send, and end a paste whose end mark was lost: it would go on."""
    parser: Any = getattr(input, "vt100_parser", None)
    if parser is None or "feed" in vars(parser):
        return
    feed, last, held = parser.feed, 0.0, ""

    def feed_understood(data: str) -> None:
        nonlocal last, held
        before, last = last, time.monotonic()
        if getattr(parser, "_in_bracketed_paste", False):
            feed(f"\x1b[201~{data}" if last - before >= PASTE_TIMEOUT else data)
            return
        data, held, focus = terminal_features.split_reports(held + data)
        WINDOW.has_focus = WINDOW.has_focus if focus is None else focus
        feed(terminal_features.plain_keys(data))

    parser.feed = feed_understood


def add_modes(output: Output, modes: tuple[str, str]) -> None:
    """Have an output set these modes where it has pastes bracketed, and end them there: while keys are read."""

    def send(bracket: Callable[[], None], sent: str) -> None:
        bracket()
        output.write_raw(sent)

    for name, sent in zip(("enable_bracketed_paste", "disable_bracketed_paste"), modes, strict=True):
        setattr(output, name, partial(send, getattr(output, name), sent))


class KeyAhead(KeyPress):
    """A key that arrived before its prompt was shown, `at` these seconds of the monotonic clock."""

    def __init__(self, key: Keys | str, data: str | None = None, at: float = 0.0):
        super().__init__(key, data)
        self.at = at


def bursts(arrivals: Sequence[float]) -> list[bool]:
    """Which of the keys that arrived at these times, in seconds, came faster than anyone types."""
    fast = [False] * len(arrivals)
    for first in range(len(arrivals) - BURST_KEYS + 1):
        if arrivals[first + BURST_KEYS - 1] - arrivals[first] < BURST_SECONDS:
            fast[first : first + BURST_KEYS] = [True] * BURST_KEYS
    return fast


def typed_ahead(pressed: Sequence[KeyAhead], send: bool = True) -> list[KeyAhead]:
    """Keys for the next prompts. An Enter among them sends, unless it belongs to Alt-Enter; else, without `send`, it is
    a new line, and none at the end."""
    if not send:
        pressed = [KeyAhead(NEWLINE, "", key.at) if key.key in ENTERS else key for key in pressed]
        while pressed and pressed[-1].key == NEWLINE:
            pressed = pressed[:-1]
    fast = bursts([key.at for key in pressed])
    ahead: list[KeyAhead] = []
    start = 0
    for n, key in enumerate(pressed):
        alt = n > 0 and pressed[n - 1].key == Keys.Escape
        sends = key.key == SEND or (key.key == Keys.ControlM and not alt)
        if sends or n == len(pressed) - 1:
            mark = [KeyAhead(_AT_ONCE, "", key.at)] if any(fast[start : n + 1]) else []
            ahead += [*mark, *pressed[start:n], KeyAhead(SEND if sends else key.key, key.data, key.at)]
            start = n + 1
    return ahead


def text_of(pressed: Sequence[KeyPress], enter: str = "\n") -> str:
    """The words among the keys; `enter` stands for each Enter that sends."""
    signs: dict[Keys | str, str] = {**dict.fromkeys(ENTERS, enter), Keys.ControlJ: "\n", NEWLINE: "\n"}
    typed = (signs.get(key.key, "" if key.data.startswith("\x1b") else key.data) for key in pressed)
    return clean("".join(typed))


class Pastes:
    """The pasted pieces of the current line. One of `collapse` characters or LARGE_LINES is large; with 0 none is."""

    def __init__(self, collapse: int = 0) -> None:
        self.pieces: list[str] = []
        self._collapse = collapse
        self._collapsed: dict[str, str] = {}  # the large pastes, by placeholder
        self._count = 0
        self._known_pieces: dict[str, None] = {}
        self.history_pieces: Mapping[str, Sequence[str]] = {}  # of lines of earlier runs, by line
        self._previous_text, self._index = "", 0  # the line as last seen, and its index in the history
        self._burst, self.at_once = 0, False  # keys that came together; whether the line came faster than anyone types

    def add(self, piece: str) -> str:
        """Note a paste; returns what to insert into the line: the piece, or its placeholder."""
        self._burst = 0
        self._known_pieces[piece] = None
        lines = piece.count("\n") + 1
        if not self._collapse or (len(piece) < self._collapse and lines < LARGE_LINES):
            self.pieces.append(piece)
            return piece
        self._count += 1
        size = f"{len(piece.splitlines())} lines" if lines > 1 else f"{len(piece):,} characters"
        placeholder = f"[pasted {size} #{self._count}]"
        self._collapsed[placeholder] = piece
        return placeholder

    def expanded(self, line: str) -> str:
        """The line with its placeholders replaced by the pasted text."""
        return "".join(part.text for part in self._parts(line))

    def collapsed(self, line: str) -> str:
        """The line with its large pastes, where unchanged, replaced by placeholders."""
        for placeholder, piece in self._collapsed.items():
            line = line.replace(piece, placeholder)
        return line

    def forget_others(self, line: str = "") -> None:
        """Drop all pastes but those of the current line."""
        self._collapsed = {placeholder: piece for placeholder, piece in self._collapsed.items() if placeholder in line}
        self._known_pieces, self.history_pieces = dict.fromkeys([*self.pieces, *self._collapsed.values()]), {}

    def add_parts(self, parts: Sequence[Part]) -> None:
        """Note the parts of an earlier message: what was not typed then does not count as typed now."""
        foreign = (part.text for part in parts if part.origin != "typed" and part.text.strip())
        self._known_pieces |= {text.strip("\n"): None for text in foreign}

    @property
    def came_whole(self) -> bool:
        """Whether all keys of the line came together: too few, perhaps, to tell a paste, but nobody types so."""
        return self.at_once or self._burst >= len(self._previous_text) > 1

    def edited(self, before: str, after: str) -> None:
        """Note that an editor changed the expanded line: large pastes that it changed still count as pasted."""
        self.pieces += [piece for piece in self._collapsed.values() if piece in before and piece not in after]

    def pasted_in(self, line: str) -> list[str]:
        """The pieces of an expanded line that were not typed; the whole line where they cannot be separated."""
        return [line] if self.at_once else [part.text for part in self._parts(line) if part.origin == "pasted"]

    def follow(self, buffer: Buffer, waiting: bool = False) -> None:
        """Note that the line changed; `waiting`: more keys are in the queue. Text that appears at once (by Up, a search
        or a yank) counts as pasted if it was pasted before."""
        text, before = buffer.text, self._previous_text
        self._burst = self._burst + 1 if waiting else 0
        self.at_once = bool(text) and (self.at_once or self._burst >= BURST_KEYS)
        if not text or buffer.working_index != self._index:
            self.pieces.clear()
            before = ""
        at = buffer.cursor_position
        if text[: max(0, at - 1)] + text[at:] != before:  # more than a key was typed
            appeared = [piece for piece in self._known_pieces if piece in text and piece not in before]
            appeared += self.history_pieces.get(text, ())
            self.pieces += [piece for piece in appeared if piece not in self.pieces]
        self._previous_text, self._index = text, buffer.working_index

    def parts(self, line: str) -> list[Part]:
        """The line as typed and pasted parts; all of it counts as pasted when a paste in it was changed."""
        if self.at_once:
            self._known_pieces[line] = None
        parts = self._parts(line)
        self._burst, self.at_once, self.pieces, self._previous_text = 0, False, [], ""
        return parts

    def _parts(self, line: str) -> list[Part]:
        pieces = [piece for piece in self.pieces if piece.strip()]
        known = {piece: piece for piece in [*pieces, *self._collapsed.values()] if piece in line} | self._collapsed
        longest = sorted(known, key=len, reverse=True)
        split = re.split(f"({'|'.join(map(re.escape, longest))})", line) if known else [line]
        parts = [Part(known.get(each, each), "pasted" if each in known else "typed") for each in split if each]
        whole = "".join(part.text for part in parts)
        return [Part(whole, "pasted")] if any(piece not in whole for piece in pieces) else parts


_line_is_empty = filters.Condition(lambda: not get_app().current_buffer.text)
_no_key_follows = filters.Condition(  # at once: Esc followed by another key is Alt
    lambda: not get_app().key_processor.input_queue
)


def bindings(
    pastes: Pastes,
    say: Callable[[str], None],
    edit: Callable[[str], str] = lambda text: text,
    last: Callable[[], tuple[str, Sequence[Part]]] = lambda: ("", ()),
    search: Callable[[], None] = lambda: None,
) -> KeyBindings:
    """The key bindings of the prompt. `say` prints above it, `edit` opens the editor, `search` shows what was sent.

    `last` returns the line that edits the person's last message, mostly empty, and the parts of that message.
    """
    keys = KeyBindings()
    _bind_line(keys, pastes)
    last_stop = 0.0

    @keys.add("?", filter=_line_is_empty & _no_key_follows & ~filters.vi_navigation_mode)
    def _(event: KeyPressEvent) -> None:
        run_in_terminal(lambda: say(HELP))

    @keys.add("c-c")
    def _(event: KeyPressEvent) -> None:
        nonlocal last_stop
        buffer = event.current_buffer
        if buffer.text:
            buffer.append_to_history()
            buffer.reset()
            event.app.vi_state.input_mode = InputMode.INSERT  # as for every new line
            pastes.follow(buffer)
        elif time.monotonic() - last_stop < _DOUBLE_PRESS:
            event.app.exit(exception=EOFError)
        else:
            last_stop = time.monotonic()
            run_in_terminal(lambda: say("press Ctrl-C again to leave, or Ctrl-D"))

    @keys.add("c-x", "c-e")
    @keys.add("c-g", filter=~filters.has_selection)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer

        def edit_draft() -> None:  # large pastes that come back unchanged are collapsed again
            before = pastes.expanded(buffer.text)
            text = clean(edit(before)).rstrip("\n")
            if text != before:
                buffer.save_to_undo_stack()
                pastes.edited(before, text)
                buffer.document = Document(pastes.collapsed(text))

        run_in_terminal(edit_draft)

    @keys.add("escape", "escape", filter=_line_is_empty & ~filters.has_completions)
    def _(event: KeyPressEvent) -> None:
        line, parts = last()
        pastes.add_parts(parts)
        event.current_buffer.document = Document(pastes.collapsed(line))

    @keys.add("escape", filter=filters.has_completions & _no_key_follows, eager=True)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.cancel_completion()

    @keys.add("c-r")
    @keys.add("c-s")
    @keys.add("/", filter=filters.vi_navigation_mode)
    @keys.add("?", filter=filters.vi_navigation_mode)
    def _(event: KeyPressEvent) -> None:
        search()

    return keys


def _bind_line(keys: KeyBindings, pastes: Pastes) -> None:
    """Enter, new lines, pastes; and Tab, which the library ignores while the menu is being made."""

    @keys.add("enter")
    @keys.add(SEND)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if event.key_processor.input_queue and event.key_sequence[-1].key != SEND:
            buffer.insert_text("\n")
        elif buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None  # the completion is in the line already
        elif buffer.document.current_line_before_cursor.endswith("\\"):
            buffer.delete_before_cursor(1)
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter", filter=filters.emacs_mode)
    @keys.add("c-j")
    @keys.add(NEWLINE)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add(Keys.BracketedPaste, eager=True)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(pastes.add(clean(event.data)))

    @keys.add(_AT_ONCE)
    def _(event: KeyPressEvent) -> None:
        pastes.at_once = True

    async def complete(buffer: Buffer, document: Document) -> None:  # behind a menu that typing has just begun
        while (state := buffer.complete_state) and not state.completions:
            await asyncio.sleep(_MENU_PAUSE)
        if buffer.document == document:
            buffer.complete_next() if state else buffer.start_completion(insert_common_part=True)

    @keys.add("tab", filter=(filters.emacs_insert_mode | filters.vi_insert_mode) & ~filters.has_completions)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        event.app.create_background_task(complete(buffer, buffer.document))


_BLOCKS = (0x061C, *range(0x2000, 0x2070), *range(0xE0000, 0xE0080))  # where characters that hide text are found


def show_invisible() -> None:
    """Have every prompt of this process draw a sign for each character that would hide text."""
    hidden = (chr(code) for code in _BLOCKS if not clean(chr(code)))
    Char.display_mappings.update((each, f"<{ord(each):x}>") for each in hidden)


def spare_loaded() -> None:
    """Keep the garbage collector from holding keys up: call it when a session begins, and when more is loaded."""
    gc.freeze()
    # Values made since the last search, and searches before a deeper one: prompt-toolkit leaves each drawing of the
    # screen to be searched for, and those of more than a few searches take longer to go through than a key may.
    gc.set_threshold(20_000, 5, 80)
