"""What the keys of the prompt do, and where its words came from.

Enter sends, unless more keys are waiting: then it is the newline of a paste from a terminal that does not bracket
pastes. Ctrl-C clears a draft; on an empty prompt twice within two seconds it leaves.
"""

import re
import time
from collections.abc import Callable

from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import is_searching
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from agent_cli.messages import Part
from agent_cli.text import clean

_TWICE = 2.0  # seconds

# Shift-Enter and Ctrl-Enter, where a terminal is set to tell them from Enter: given to a key that nobody has.
ANSI_SEQUENCES.update(dict.fromkeys(("\x1b[13;2u", "\x1b[27;2;13~", "\x1b[13;5u", "\x1b[27;5;13~"), Keys.F24))


class Pastes:
    """The pieces of the present line that were pasted."""

    def __init__(self) -> None:
        self.pieces: list[str] = []

    def follow(self, buffer: Buffer) -> None:
        """Called when the line changes: in an empty one nothing is left of what was pasted."""
        if not buffer.text:
            self.pieces.clear()

    def parts(self, line: str) -> list[Part]:
        """The line as typed and pasted parts; a paste that was changed since makes all of it count as pasted."""
        pieces, self.pieces = [piece for piece in self.pieces if piece.strip()], []
        if any(piece not in line for piece in pieces):
            return [Part(line, "pasted")]
        split = (
            re.split(f"({'|'.join(map(re.escape, sorted(pieces, key=len, reverse=True)))})", line) if pieces else [line]
        )
        return [Part(piece, "pasted" if piece in pieces else "typed") for piece in split if piece]


def bindings(pastes: Pastes, say: Callable[[str], None]) -> KeyBindings:
    """The key bindings of the prompt. `say` prints a line above it."""
    keys = KeyBindings()
    last_stop = [0.0]

    @keys.add("enter", filter=~is_searching)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if event.key_processor.input_queue:
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
        pastes.pieces.append(piece)
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
