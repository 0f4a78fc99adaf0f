"""The key bindings of the prompt.

Enter sends, unless more keys are waiting: then it is the newline of a paste from a terminal that does not bracket
pastes. Among keys typed ahead during an answer each Enter sends, and a line counts as typed unless keys of it arrived
faster than anyone types. Ctrl-C clears a draft; on an empty prompt twice
within two seconds it leaves.
"""

import asyncio
import time
from collections.abc import Callable, Sequence

from prompt_toolkit.application import get_app, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import (
    Condition,
    emacs_insert_mode,
    emacs_mode,
    has_completions,
    has_selection,
    vi_insert_mode,
    vi_navigation_mode,
)
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyBindings, KeyPress, KeyPressEvent
from prompt_toolkit.key_binding.vi_state import InputMode
from prompt_toolkit.keys import Keys

from agent_cli.messages import Part
from agent_cli.repl.keyboard import pastes
from agent_cli.repl.keyboard.pastes import KeyAhead, Pastes
from agent_cli.text import clean

SEND = Keys.F23  # stands for an Enter that was typed ahead; no keyboard has this key
NEWLINE = Keys.F24  # stands for an Enter that is a new line; nor this one
_AT_ONCE = Keys.F22  # stands before a line that came too fast to be typed; nor does it have this one
_ENTERS = (Keys.ControlM, SEND)
_DOUBLE_PRESS = 2.0  # seconds
_MENU_PAUSE = 0.02  # seconds between looks at a menu that is being made

# Shift-Enter and Ctrl-Enter, where a terminal is set to distinguish them from Enter, and Alt-Enter, which in vi mode
# would be Esc and Enter: mapped to a key that no keyboard has.
_NEWLINE_CODES = ("\x1b[13;2u", "\x1b[27;2;13~", "\x1b[13;5u", "\x1b[27;5;13~", "\x1b\r")
ANSI_SEQUENCES.update(dict.fromkeys(_NEWLINE_CODES, NEWLINE))
ANSI_SEQUENCES["\x1b[201~"] = Keys.Ignore  # an end mark that comes after its paste was ended

LastMessage = tuple[str, Sequence[Part]]
"""The line that edits the person's last message, and the parts of that message; an empty line where there is none."""

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
Ctrl-P, Ctrl-N  move in what was sent
Ctrl-R          a list of what was sent, in all sessions: type to filter it
Tab             complete commands, handles, models, files behind @, known names
Ctrl-G          open the draft in your editor; also Ctrl-X Ctrl-E
Alt-1, Alt-2    leave out the first, the second of what memory would add: the
                line above the prompt names it
Ctrl-L          redraw the screen
Ctrl-Z          suspend the program, also during an answer; fg brings it back
@FILE           send a file along with a message"""


@Condition
def _line_is_empty() -> bool:
    return not get_app().current_buffer.text


@Condition
def _no_key_follows() -> bool:
    """No key follows at once: Esc followed by another key is Alt."""
    return not get_app().key_processor.input_queue


def typed_ahead(pressed: Sequence[KeyAhead], send: bool = True) -> list[KeyAhead]:
    """Keys for the next prompts. An Enter among them sends, unless it belongs to Alt-Enter; else, without `send`, it is
    a new line, and none at the end."""
    if not send:
        pressed = [KeyAhead(NEWLINE, "", key.at) if key.key in _ENTERS else key for key in pressed]
        while pressed and pressed[-1].key == NEWLINE:
            pressed = pressed[:-1]
    fast = pastes.bursts([key.at for key in pressed])
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


def text_of(pressed: Sequence[KeyPress]) -> str:
    """The text that these keys would have entered."""
    newlines = (SEND, Keys.ControlM, Keys.ControlJ, NEWLINE)
    typed = ("\n" if key.key in newlines else "" if key.data.startswith("\x1b") else key.data for key in pressed)
    return clean("".join(typed)).strip()


def bindings(
    pastes: Pastes,
    say: Callable[[str], None],
    edit: Callable[[str], str] = lambda text: text,
    last: Callable[[], LastMessage] = lambda: ("", ()),
    search: Callable[[], None] = lambda: None,
) -> KeyBindings:
    """The key bindings of the prompt.

    `say` prints a line above the prompt, `edit` opens a text in the editor, `last` returns the person's last message,
    `search` shows the list of what was sent.
    """
    keys = KeyBindings()
    _send(keys)
    _paste(keys, pastes)
    _complete(keys)
    _move(keys)
    _change_word(keys)
    _leave(keys, pastes, say)
    _open(keys, pastes, edit, last)
    _search(keys, search)

    @keys.add("?", filter=_line_is_empty & _no_key_follows & ~vi_navigation_mode)
    def _(event: KeyPressEvent) -> None:
        run_in_terminal(lambda: say(HELP))

    return keys


def _send(keys: KeyBindings) -> None:
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

    @keys.add("escape", "enter", filter=emacs_mode)
    @keys.add("c-j")
    @keys.add(NEWLINE)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")


def _paste(keys: KeyBindings, pastes: Pastes) -> None:
    @keys.add(Keys.BracketedPaste, eager=True)
    def _(event: KeyPressEvent) -> None:
        piece = clean(event.data)
        event.current_buffer.insert_text(pastes.add(piece))

    @keys.add(_AT_ONCE)
    def _(event: KeyPressEvent) -> None:
        pastes.at_once = True


def _complete(keys: KeyBindings) -> None:
    """Tab while the menu is being made does when it is ready what it does in an open menu; the library ignores it."""

    async def complete(buffer: Buffer, document: Document) -> None:
        state = buffer.complete_state
        while state and state is buffer.complete_state and not state.completions:
            await asyncio.sleep(_MENU_PAUSE)
        if state and state is buffer.complete_state:
            buffer.complete_next()
        elif state is None and buffer.document == document:
            buffer.start_completion(insert_common_part=True)

    @keys.add("tab", filter=(emacs_insert_mode | vi_insert_mode) & ~has_completions)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        event.app.create_background_task(complete(buffer, buffer.document))  # behind one that typing has just begun


def _move(keys: KeyBindings) -> None:
    """Ctrl-P and Ctrl-N move in the history, in a draft of several lines too, or in an open menu."""

    @keys.add("c-p")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        buffer.complete_previous() if buffer.complete_state else buffer.history_backward(event.arg)

    @keys.add("c-n")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        buffer.complete_next() if buffer.complete_state else buffer.history_forward(event.arg)

    @keys.add("escape", filter=has_completions & _no_key_follows, eager=True)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.cancel_completion()


def _change_word(keys: KeyBindings) -> None:
    """In vi mode cw leaves the blanks after the word, as in vi; the library deletes them too."""

    def change(event: KeyPressEvent) -> None:
        buffer, whole = event.current_buffer, event.key_sequence[-1].key == "W"
        document = buffer.document
        if document.current_char.isspace():
            end = document.find_next_word_beginning(event.arg, WORD=whole)
        else:
            end = document.find_next_word_ending(include_current_position=True, count=event.arg, WORD=whole)
        event.app.clipboard.set_text(buffer.delete(end or len(document.text_after_cursor)))
        event.app.vi_state.input_mode = InputMode.INSERT

    keys.add("c", "w", filter=vi_navigation_mode)(change)
    keys.add("c", "W", filter=vi_navigation_mode)(change)


def _leave(keys: KeyBindings, pastes: Pastes, say: Callable[[str], None]) -> None:
    last_stop = [0.0]

    @keys.add("c-c")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.text:
            buffer.append_to_history()
            buffer.reset()
            event.app.vi_state.input_mode = InputMode.INSERT  # as for every new line
            pastes.follow(buffer)
        elif time.monotonic() - last_stop[0] < _DOUBLE_PRESS:
            event.app.exit(exception=EOFError)
        else:
            last_stop[0] = time.monotonic()
            run_in_terminal(lambda: say("press Ctrl-C again to leave, or Ctrl-D"))


def _open(keys: KeyBindings, pastes: Pastes, edit: Callable[[str], str], last: Callable[[], LastMessage]) -> None:
    @keys.add("c-x", "c-e")
    @keys.add("c-g", filter=~has_selection)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        run_in_terminal(lambda: _edit_draft(buffer, pastes, edit))

    @keys.add("escape", "escape", filter=_line_is_empty & ~has_completions)
    def _(event: KeyPressEvent) -> None:
        line, parts = last()
        pastes.add_parts(parts)
        event.current_buffer.document = Document(pastes.collapsed(line))


def _search(keys: KeyBindings, search: Callable[[], None]) -> None:
    @keys.add("c-r")
    @keys.add("c-s")
    @keys.add("/", filter=vi_navigation_mode)
    @keys.add("?", filter=vi_navigation_mode)
    def _(event: KeyPressEvent) -> None:
        search()


def _edit_draft(buffer: Buffer, pastes: Pastes, edit: Callable[[str], str]) -> None:
    """Open the draft in the editor; large pastes that come back unchanged are collapsed again."""
    before = pastes.expanded(buffer.text)
    text = clean(edit(before)).rstrip("\n")
    if text != before:
        buffer.save_to_undo_stack()
        pastes.edited(before, text)
        buffer.document = Document(pastes.collapsed(text))
