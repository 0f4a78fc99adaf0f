"""The answer on its way to a terminal or a pipe: appended, never redrawn.

`Paper` as the model wrote it, `Aloud` by the sentence; a terminal that can show more gets markdown.Markdown.
"""

import re
from typing import TextIO

from agent_cli.text import clean, pieces

_SENTENCE = 2_000  # characters; what is longer is no sentence


class Cleaner:
    """Text made clean piece by piece: the newline of CR LF may come with the next one."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        text = self._held + text
        self._held = "\r" if text.endswith("\r") else ""
        return clean(text[: len(text) - len(self._held)])

    def end(self) -> str:
        held, self._held = self._held, ""
        return clean(held)


class Paper:
    """Clean, flushed, no blank lines before it and exactly one newline at its end."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._clean = Cleaner()
        self._held = ""  # white space that may turn out to be the end
        self._before = ""  # the next piece
        self._began = False  # words stand on a line that is not ended

    def write(self, text: str) -> None:
        text = self._held + self._clean.feed(text)
        if not self._began:
            text = re.sub(r"\A\s*\n", "", text)
        kept = text.rstrip()
        self._held = text[len(kept) :]
        if kept:
            self._out.write(self._before + kept)
            self._out.flush()
            self._began, self._before = True, ""

    def gap(self) -> None:
        """What comes is a new piece of the answer: words before a tool was called and words after it."""
        if self._began:
            self.end()
            self._before = "\n"

    def end(self) -> None:
        """End the line, if words stand on it."""
        if self._began:
            self._out.write("\n")
        self._clean.end()
        self._began, self._held = False, ""


class Aloud(Paper):
    """By whole sentences, as a screen reader speaks them."""

    def __init__(self, out: TextIO) -> None:
        super().__init__(out)
        self._rest = ""

    def write(self, text: str) -> None:
        *whole, self._rest = pieces(self._rest + text)
        if whole and not self._rest and not whole[-1].endswith("\n"):
            self._rest = whole.pop()  # "3." may become 3.5
        if len(self._rest) > _SENTENCE:
            whole, self._rest = [*whole, self._rest], ""
        if whole:
            super().write("".join(whole))

    def end(self) -> None:
        rest, self._rest = self._rest, ""
        super().write(rest)
        super().end()
