"""The answer on its way to a terminal or a pipe: appended, never redrawn."""

from typing import TextIO

from agent_cli.text import clean


class Paper:
    """What an answer is written on: clean, flushed, no blank lines before it and exactly one newline at the end."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._held = ""  # white space that may turn out to be the end
        self._began = False

    def write(self, text: str) -> None:
        text = clean(self._held + text) if self._began else clean(text).lstrip("\n")
        kept = text.rstrip()
        self._held = text[len(kept) :]
        if kept:
            self._began = True
            self._out.write(kept)
            self._out.flush()

    def gap(self) -> None:
        """What comes is a new piece of the answer: words before a tool was called and words after it."""
        if self._began:
            self._held = "\n\n"

    def end(self) -> None:
        if self._began:
            self._out.write("\n")
