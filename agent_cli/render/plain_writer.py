"""Writers that show an answer as the model wrote it: `PlainWriter` as it arrives, `SentenceWriter` by the sentence.

Both only append. A terminal that can show more gets markdown.MarkdownWriter.
"""

import re
from typing import TextIO

from agent_cli.text import clean, split_sentences

_MAX_SENTENCE = 2_000  # characters


class StreamCleaner:
    """Removes control characters from text that arrives in pieces: CR and LF may come in different ones."""

    def __init__(self) -> None:
        self._pending = ""

    def feed(self, text: str) -> str:
        text = self._pending + text
        self._pending = "\r" if text.endswith("\r") else ""
        return clean(text[: len(text) - len(self._pending)])

    def end(self) -> str:
        pending, self._pending = self._pending, ""
        return clean(pending)


class PlainWriter:
    """Writes clean text, flushed, without blank lines before it and with exactly one newline at its end."""

    def __init__(self, out: TextIO, cleaner: StreamCleaner | None = None) -> None:
        self._out = out
        self._cleaner = cleaner or StreamCleaner()
        self._pending = ""  # white space that may turn out to be the end
        self._separator = ""  # written before the next text
        self._in_line = False  # text stands on a line that is not ended

    def write(self, text: str) -> None:
        self._put(self._cleaner.feed(text))

    def _put(self, text: str) -> None:
        text = self._pending + text
        if not self._in_line:
            text = re.sub(r"\A\s*\n", "", text)
        stripped = text.rstrip()
        self._pending = text[len(stripped) :]
        if stripped:
            self._out.write(self._separator + stripped)
            self._out.flush()
            self._in_line, self._separator = True, ""

    def new_section(self) -> None:
        """Separate the text before a tool call from the text after it by a blank line."""
        self._put(self._cleaner.end())
        if self._in_line:
            self.end()
            self._separator = "\n"

    def end(self) -> None:
        """End the line, if it has text."""
        self._put(self._cleaner.end())
        if self._in_line:
            self._out.write("\n")
        self._in_line, self._pending = False, ""


class SentenceWriter(PlainWriter):
    """Writes whole sentences, as a screen reader speaks them."""

    def __init__(self, out: TextIO, cleaner: StreamCleaner | None = None) -> None:
        super().__init__(out, cleaner)
        self._rest = ""

    def write(self, text: str) -> None:
        *sentences, self._rest = split_sentences(self._rest + text)
        if sentences and not self._rest and not sentences[-1].endswith("\n"):
            self._rest = sentences.pop()  # "3." may become 3.5
        if len(self._rest) > _MAX_SENTENCE:
            sentences, self._rest = [*sentences, self._rest], ""
        if sentences:
            super().write("".join(sentences))

    def end(self) -> None:
        rest, self._rest = self._rest, ""
        super().write(rest)
        super().end()
