"""Which parts of a line were pasted: pasted text never counts as typed, and is never a command.

A large paste is shown as a placeholder, `[pasted 212 lines #1]`, and replaced by its text when the line is sent, stored
in the history or opened in the editor. A placeholder that was edited is ordinary text. From a terminal that does not
bracket pastes, what came faster than anyone types is one.
"""

import re
from collections.abc import Mapping, Sequence

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

from agent_cli.messages import Part

BURST_KEYS = 8  # keys that arrive together
BURST_SECONDS = 0.1  # within which they do: a fast typist needs three times as long


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


LARGE_LINES = 15  # a paste of so many lines is large, whatever the setting says about characters
PASTE_TIMEOUT = 1.0  # seconds without input after which the end mark of a paste counts as lost
_END = "\x1b[201~"


class Pastes:
    """The pasted pieces of the current line, also of one that came back from the history.

    A paste of `collapse` characters, or of LARGE_LINES, is large; with 0 none is.
    """

    def __init__(self, collapse: int = 0) -> None:
        self.pieces: list[str] = []
        self._collapse = collapse
        self._collapsed: dict[str, str] = {}  # the large pastes, by placeholder
        self._count = 0
        self._known_pieces: dict[str, None] = {}
        self._history_pieces: Mapping[str, Sequence[str]] = {}
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
        return "".join(piece for piece, _ in self._split(line, self.pieces))

    def collapsed(self, line: str) -> str:
        """The line with its large pastes, where unchanged, replaced by placeholders."""
        for placeholder, piece in self._collapsed.items():
            line = line.replace(piece, placeholder)
        return line

    def forget_others(self, line: str = "") -> None:
        """Drop all pastes but those of the current line."""
        self._collapsed = {placeholder: piece for placeholder, piece in self._collapsed.items() if placeholder in line}
        self._known_pieces, self._history_pieces = dict.fromkeys([*self.pieces, *self._collapsed.values()]), {}

    def load(self, lines: Mapping[str, Sequence[str]]) -> None:
        """Take the pasted pieces of lines of earlier runs, by line."""
        self._history_pieces = lines

    def add_parts(self, parts: Sequence[Part]) -> None:
        """Note the parts of an earlier message: what was not typed then does not count as typed now."""
        self._known_pieces |= dict.fromkeys(
            part.text.strip("\n") for part in parts if part.origin != "typed" and part.text.strip()
        )

    @property
    def came_whole(self) -> bool:
        """Whether all keys of the line came together: too few, perhaps, to tell a paste, but nobody types so."""
        return self.at_once or self._burst >= len(self._previous_text) > 1

    def edited(self, before: str, after: str) -> None:
        """Note that an editor changed the expanded line: large pastes that it changed still count as pasted."""
        self.pieces += [piece for piece in self._collapsed.values() if piece in before and piece not in after]

    def pasted_in(self, line: str) -> list[str]:
        """The pieces of an expanded line that were not typed; the whole line where they cannot be separated."""
        pieces = [piece for piece in self.pieces if piece.strip()]
        large = [piece for piece in self._collapsed.values() if piece in line and piece not in pieces]
        return [line] if self.at_once or any(piece not in line for piece in pieces) else pieces + large

    def follow(self, buffer: Buffer, waiting: bool = False) -> None:
        """Note that the line changed; `waiting`: more keys are in the queue.

        Text that appears at once (by Up, a search or a yank) counts as pasted if it was pasted before.
        """
        text, before = buffer.text, self._previous_text
        self._burst = self._burst + 1 if waiting else 0
        self.at_once = bool(text) and (self.at_once or self._burst >= BURST_KEYS)
        if not text or buffer.working_index != self._index:
            self.pieces.clear()
            before = ""
        at = buffer.cursor_position
        if text[: max(0, at - 1)] + text[at:] != before:  # more than a key was typed
            appeared = [piece for piece in self._known_pieces if piece in text and piece not in before]
            appeared += self._history_pieces.get(text, ())
            self.pieces += [piece for piece in appeared if piece not in self.pieces]
        self._previous_text, self._index = text, buffer.working_index

    def parts(self, line: str) -> list[Part]:
        """The line as typed and pasted parts; all of it counts as pasted when a paste in it was changed."""
        if self.at_once:
            self._known_pieces[line] = None
        self._burst, self.at_once = 0, False
        pieces, self.pieces = [piece for piece in self.pieces if piece.strip()], []
        self._previous_text = ""
        split = self._split(line, pieces)
        whole = "".join(piece for piece, _ in split)
        if any(piece not in whole for piece in pieces):
            return [Part(whole, "pasted")]
        return [Part(piece, "pasted" if pasted else "typed") for piece, pasted in split]

    def _split(self, line: str, pieces: Sequence[str] = ()) -> list[tuple[str, bool]]:
        """The expanded line in pieces, each with whether it was pasted."""
        known = {placeholder: piece for placeholder, piece in self._collapsed.items() if placeholder in line}
        known |= {piece: piece for piece in pieces}
        if not known:
            return [(line, False)] if line else []
        longest = sorted(known, key=len, reverse=True)
        split = re.split(f"({'|'.join(map(re.escape, longest))})", line)
        return [(known.get(piece, piece), piece in known) for piece in split if piece]


class PasteRecovery:
    """Ends a paste whose end mark was lost in transmission, as by ssh or a serial line.

    prompt-toolkit would wait for it for ever, and swallow every key, Ctrl-C too. The attributes read here are private
    to it: a missing one is tolerated, and a test fails.
    """

    def __init__(self, input: Input):
        self._input = input
        self._seen: int | None = None

    def poll(self) -> list[KeyPress]:
        """Call every PASTE_TIMEOUT seconds: ends a paste of which nothing came since the last call. Its keys."""
        held = self.held()
        lost, self._seen = held is not None and held == self._seen, held
        return self.end() if lost else []

    def held(self) -> int | None:
        """How many characters of an unfinished paste have come; None when there is none."""
        parser = getattr(self._input, "vt100_parser", None)
        return len(getattr(parser, "_paste_buffer", "")) if getattr(parser, "_in_bracketed_paste", False) else None

    def end(self) -> list[KeyPress]:
        """End the unfinished paste; returns its keys."""
        self._seen = None
        self._input.vt100_parser.feed(_END)  # type: ignore[attr-defined]
        return self._input.read_keys()
