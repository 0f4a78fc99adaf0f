"""Where the words of the prompt came from: what was pasted is never the person's own word, and never a command.

A large paste stands in the line as `[pasted 212 lines #1]`, and its text is kept beside it: it is put in its place when
the line is sent, kept in the history or opened in the editor. Once these words are changed they stand for themselves.
"""

import re
from collections.abc import Mapping, Sequence

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyPress

from agent_cli.messages import Part

LINES = 15  # of a large paste, where the setting does not ask for more characters than it has
_AT_ONCE = 8  # keys that were there together: a paste from a terminal that does not bracket them, or typed ahead
LOST = 1.0  # seconds after which the end of a paste does not come any more
_END = "\x1b[201~"


class Pastes:
    """The pieces of the present line that were pasted, now or before they came back from the history.

    A paste of `collapse` characters, or of LINES, is a large one; 0: none is.
    """

    def __init__(self, collapse: int = 0) -> None:
        self.pieces: list[str] = []
        self._collapse = collapse
        self._beside: dict[str, str] = {}  # the large pastes, by what stands for them
        self._count = 0
        self._past: dict[str, None] = {}
        self._lines: Mapping[str, Sequence[str]] = {}
        self._before, self._index = "", 0  # the line as it was last seen, and its place in the history
        self._burst, self.at_once = 0, False  # whether the line came faster than anyone types

    def add(self, piece: str) -> str:
        """This is pasted next. Gives what to put into the line: the piece, or what stands for it."""
        self._burst = 0
        self._past[piece] = None
        lines = piece.count("\n") + 1
        if not self._collapse or (len(piece) < self._collapse and lines < LINES):
            self.pieces.append(piece)
            return piece
        self._count += 1
        size = f"{lines} lines" if lines > 1 else f"{len(piece):,} characters"
        stands = f"[pasted {size} #{self._count}]"
        self._beside[stands] = piece
        return stands

    def expanded(self, line: str) -> str:
        """The line with the large pastes in their places."""
        return "".join(piece for piece, _ in self._split(line, self.pieces))

    def collapsed(self, line: str) -> str:
        """The line with the large pastes beside it, as far as they are still whole."""
        for stands, piece in self._beside.items():
            line = line.replace(piece, stands)
        return line

    def let_go(self, line: str = "") -> None:
        """Hold no paste but those of the present line."""
        self._beside = {stands: piece for stands, piece in self._beside.items() if stands in line}
        self._past, self._lines = dict.fromkeys([*self.pieces, *self._beside.values()]), {}

    def recall(self, lines: Mapping[str, Sequence[str]]) -> None:
        """These lines of earlier runs hold such pieces."""
        self._lines = lines

    def known(self, parts: Sequence[Part]) -> None:
        """These words were said before, in the log: what was not typed then was not typed now."""
        self._past |= dict.fromkeys(
            part.text.strip("\n") for part in parts if part.origin != "typed" and part.text.strip()
        )

    def changed(self, before: str, after: str) -> None:
        """The expanded line was edited elsewhere: of a large paste that is no longer whole, all may be left of it."""
        self.pieces += [piece for piece in self._beside.values() if piece in before and piece not in after]

    def within(self, line: str) -> list[str]:
        """The pieces of an expanded line that were not typed; all of it where that cannot be told."""
        pieces = [piece for piece in self.pieces if piece.strip()]
        beside = [piece for piece in self._beside.values() if piece in line and piece not in pieces]
        return [line] if self.at_once or any(piece not in line for piece in pieces) else pieces + beside

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
        split = self._split(line, pieces)
        whole = "".join(piece for piece, _ in split)
        if any(piece not in whole for piece in pieces):
            return [Part(whole, "pasted")]
        return [Part(piece, "pasted" if pasted else "typed") for piece, pasted in split]

    def _split(self, line: str, pieces: Sequence[str] = ()) -> list[tuple[str, bool]]:
        """The line in pieces, whole, and of each whether it was pasted."""
        known = {stands: piece for stands, piece in self._beside.items() if stands in line}
        known |= {piece: piece for piece in pieces}
        if not known:
            return [(line, False)] if line else []
        longest = sorted(known, key=len, reverse=True)
        split = re.split(f"({'|'.join(map(re.escape, longest))})", line)
        return [(known.get(piece, piece), piece in known) for piece in split if piece]


class LostEnd:
    """Ends a paste whose end mark was lost on the way, as by ssh or a serial line.

    prompt-toolkit would wait for it for ever, and swallow every key, Ctrl-C too. What it holds is known to no public
    name of its: these are read with care, and a test fails when they are called otherwise.
    """

    def __init__(self, input: Input):
        self._input = input
        self._seen: int | None = None

    def look(self) -> list[KeyPress]:
        """Called every LOST seconds: end a paste of which nothing has come since, and give its keys."""
        held = self.held()
        lost, self._seen = held is not None and held == self._seen, held
        return self.end() if lost else []

    def held(self) -> int | None:
        """How many characters have come of a paste whose end has not."""
        parser = getattr(self._input, "vt100_parser", None)
        return len(getattr(parser, "_paste_buffer", "")) if getattr(parser, "_in_bracketed_paste", False) else None

    def end(self) -> list[KeyPress]:
        """End the paste that is held; the keys it makes."""
        self._seen = None
        self._input.vt100_parser.feed(_END)  # type: ignore[attr-defined]
        return self._input.read_keys()
