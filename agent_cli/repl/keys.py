"""What the keys of the prompt do, and where its words came from.

Enter sends, unless more keys are waiting: then it is the newline of a paste from a terminal that does not bracket
pastes. Among keys typed ahead during an answer each Enter sends. Ctrl-C clears a draft; on an empty prompt twice
within two seconds it leaves.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence

from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import is_searching
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyBindings, KeyPress, KeyPressEvent
from prompt_toolkit.keys import Keys

from agent_cli.messages import Part
from agent_cli.text import clean

_SEND = Keys.F23  # Enter that was typed ahead: a key that nobody has
_TWICE = 2.0  # seconds
_AT_ONCE = 8  # keys that were there together: a paste from a terminal that does not bracket them, or typed ahead

# Shift-Enter and Ctrl-Enter, where a terminal is set to tell them from Enter: given to a key that nobody has.
ANSI_SEQUENCES.update(dict.fromkeys(("\x1b[13;2u", "\x1b[27;2;13~", "\x1b[13;5u", "\x1b[27;5;13~"), Keys.F24))


class Pastes:
    """The pieces of the present line that were pasted, now or before they came back from the history."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._past: dict[str, None] = {}
        self._lines: Mapping[str, Sequence[str]] = {}
        self._before, self._index = "", 0  # the line as it was last seen, and its place in the history
        self._burst, self.at_once = 0, False  # whether the line came faster than anyone types

    def add(self, piece: str) -> None:
        """This is pasted next."""
        self.pieces.append(piece)
        self._burst = 0
        self._past[piece] = None

    def let_go(self) -> None:
        """Hold no paste but those of the present line."""
        self._past, self._lines = dict.fromkeys(self.pieces), {}

    def recall(self, lines: Mapping[str, Sequence[str]]) -> None:
        """These lines of earlier runs hold such pieces."""
        self._lines = lines

    def known(self, parts: Sequence[Part]) -> None:
        """These words were said before, in the log: what was not typed then was not typed now."""
        self._past |= dict.fromkeys(part.text.strip("\n") for part in parts if part.origin != "typed")

    def within(self, line: str) -> list[str]:
        """The pieces of the present line that were not typed; all of it where that cannot be told."""
        pieces = [piece for piece in self.pieces if piece.strip()]
        return [line] if self.at_once or any(piece not in line for piece in pieces) else pieces

    def follow(self, buffer: Buffer, waiting: bool = False) -> None:
        """Called when the line changes, `waiting` when more keys are there already.

        What comes whole, by Up, a search or a yank, was pasted if it once was.
        """
        text, before = buffer.text, self._before
        self._burst = self._burst + 1 if waiting else 0
        self.at_once = bool(text) and (self.at_once or self._burst >= _AT_ONCE)
        if not text or buffer.working_index != self._index:
            self.pieces.clear()
            before = ""
        at = buffer.cursor_position
        if text[: max(0, at - 1)] + text[at:] != before:  # more than a key was typed
            fresh = [piece for piece in self._past if piece in text and piece not in before]
            fresh += self._lines.get(text, ())
            self.pieces += [piece for piece in fresh if piece not in self.pieces]
        self._before, self._index = text, buffer.working_index

    def parts(self, line: str) -> list[Part]:
        """The line as typed and pasted parts; a paste that was changed since makes all of it count as pasted."""
        if self.at_once:
            self._past[line] = None
        self._burst, self.at_once = 0, False
        pieces, self.pieces = [piece for piece in self.pieces if piece.strip()], []
        self._before = ""
        if any(piece not in line for piece in pieces):
            return [Part(line, "pasted")]
        split = (
            re.split(f"({'|'.join(map(re.escape, sorted(pieces, key=len, reverse=True)))})", line) if pieces else [line]
        )
        return [Part(piece, "pasted" if piece in pieces else "typed") for piece in split if piece]


def ahead(pressed: Sequence[KeyPress]) -> list[KeyPress]:
    """Keys typed before their prompt was there. An Enter among them sends, unless it is that of Alt-Enter."""
    sends = [
        key.key == Keys.ControlM and (n == 0 or pressed[n - 1].key != Keys.Escape) for n, key in enumerate(pressed)
    ]
    return [KeyPress(_SEND, key.data) if send else key for key, send in zip(pressed, sends, strict=True)]


def bindings(pastes: Pastes, say: Callable[[str], None]) -> KeyBindings:
    """The key bindings of the prompt. `say` prints a line above it."""
    keys = KeyBindings()
    last_stop = [0.0]

    @keys.add("enter", filter=~is_searching)
    @keys.add(_SEND)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if event.key_processor.input_queue and event.key_sequence[-1].key != _SEND:
            buffer.insert_text("\n")
        elif buffer.document.current_line_before_cursor.endswith("\\"):
            buffer.delete_before_cursor(1)
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    @keys.add("c-j")
    @keys.add(Keys.F24)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add(Keys.BracketedPaste, eager=True)
    def _(event: KeyPressEvent) -> None:
        piece = clean(event.data)
        pastes.add(piece)
        event.current_buffer.insert_text(piece)

    @keys.add("c-c")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.text:
            buffer.append_to_history()
            buffer.reset()
            pastes.follow(buffer)
        elif time.monotonic() - last_stop[0] < _TWICE:
            event.app.exit(exception=EOFError)
        else:
            last_stop[0] = time.monotonic()
            run_in_terminal(lambda: say("press Ctrl-C again to leave, or Ctrl-D"))

    return keys
