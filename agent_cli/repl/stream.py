"""The answer on its way to a terminal or a pipe: appended, never redrawn."""

import re
from typing import TextIO

from agent_cli.text import clean


class Paper:
    """What an answer is written on: clean, flushed, no blank lines before it and exactly one newline at its end."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._held = ""  # white space that may turn out to be the end
        self._before = ""  # the next piece
        self._began = False  # words stand on a line that is not ended

    def write(self, text: str) -> None:
        text = clean(self._held + text)
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
        self._began, self._held = False, ""
