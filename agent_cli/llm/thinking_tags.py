"""Separates thinking from the answer where both arrive in the same text.

A server sends thinking in a field of its own, but old servers, converted models and some templates leave `<think>` tags
in the content. A block at the beginning is thinking. A closing tag without an opening one means that all text before it
was thinking (the template wrote the opening tag); that text is already on the screen, so `PriorTextWasThinking` takes
it back. Tags arrive split over chunks: no more is held back than could still become a tag.
"""

import re

from agent_cli.llm.model import PriorTextWasThinking, Text, Thinking

OPENING, CLOSING = "<think>", "</think>"

_TAG = re.compile(r"</?think>")
_QUOTES = ("`", "'", '"')

ParsedChunk = Text | Thinking | PriorTextWasThinking


class ThinkingParser:
    """Fed the content piece by piece; returns chunks of text and of thinking."""

    def __init__(self) -> None:
        self._buffer = ""
        self._last_character = ""  # the last character of text given out
        self._ignore_tags = False  # from here on tags are ordinary text
        self._state = "beginning"

    def ignore_tags(self) -> None:
        """Thinking arrives in its own field: a closing tag alone takes nothing back."""
        self._ignore_tags = True

    def feed(self, piece: str) -> list[ParsedChunk]:
        self._buffer += piece
        chunks: list[ParsedChunk] = []
        while self._buffer and getattr(self, f"_{self._state}")(chunks):
            pass
        return chunks

    def flush(self) -> list[ParsedChunk]:
        """The chunks held back, at the end of the content."""
        held, self._buffer = self._buffer, ""
        if not held or self._state in ("opened", "closed"):
            return []
        return [Thinking(held) if self._state == "inside" else Text(held)]

    # Each state consumes what it can from the buffer and returns whether there is more to do.

    def _beginning(self, chunks: list[ParsedChunk]) -> bool:
        start = self._buffer.lstrip()
        if start.startswith(OPENING):
            self._buffer, self._state = start[len(OPENING) :], "opened"
        elif not OPENING.startswith(start):
            self._state = "answer"
        return self._state != "beginning"

    def _opened(self, chunks: list[ParsedChunk]) -> bool:
        return self._skip_space("inside")

    def _inside(self, chunks: list[ParsedChunk]) -> bool:
        thought, closed, answer = self._buffer.partition(CLOSING)
        if not closed:
            thought, answer = _split_partial_tag(self._buffer)
        if thought:
            chunks.append(Thinking(thought))
        self._buffer = answer
        if closed:
            self._state, self._ignore_tags = "closed", True
        return bool(closed)

    def _closed(self, chunks: list[ParsedChunk]) -> bool:
        return self._skip_space("answer")

    def _answer(self, chunks: list[ParsedChunk]) -> bool:
        tag = None if self._ignore_tags else _TAG.search(self._buffer)
        if not tag:
            text, self._buffer = (self._buffer, "") if self._ignore_tags else _split_partial_tag(self._buffer)
            self._emit(text, chunks)
            return False
        before = self._buffer[: tag.start()]
        if tag[0] == OPENING or (self._last_character + before).endswith(_QUOTES):
            self._ignore_tags = True  # the answer is about such tags
            return True
        self._emit(before, chunks)
        if self._last_character:
            chunks.append(PriorTextWasThinking())
        self._buffer, self._state, self._ignore_tags = self._buffer[tag.end() :], "closed", True
        return True

    def _emit(self, text: str, chunks: list[ParsedChunk]) -> None:
        if text:
            chunks.append(Text(text))
            self._last_character = text[-1]

    def _skip_space(self, state: str) -> bool:
        self._buffer = self._buffer.lstrip()
        if self._buffer:
            self._state = state
        return bool(self._buffer)


def _split_partial_tag(buffer: str) -> tuple[str, str]:
    """The text before a possible partial tag, and that partial tag."""
    start = buffer.rfind("<")
    tail = buffer[start:] if start >= 0 else ""
    may_be_tag = tail and (OPENING.startswith(tail) or CLOSING.startswith(tail))
    return (buffer[:start], tail) if may_be_tag else (buffer, "")
