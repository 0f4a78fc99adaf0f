"""A reply while it arrives: every word is on disk before it is shown, and invented citations are left out.

Each commit costs a flush of the disk. At most a twentieth of the time goes into writing: after a commit text
is buffered for twenty times as long as it took, and never for longer than a second. Time in which nothing was written,
as while the model reads the question, is made up for: words that come together before a pause are shown before it.

A model cites memory by handle, as in [f12], and only what it was shown. Text that may become a citation is held back
until that is decided. A bracket in code, or right after a name or another bracket, is an index; one before a
parenthesis is a link. In scripts without spaces a citation needs no space before it.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from agent_cli import kinds
from agent_cli.agent.events import Event, TextArrived, TextWasThinking, ThinkingArrived
from agent_cli.memory.conversations import log
from agent_cli.messages import Message, ToolCall
from agent_cli.tools.tool import ToolContext

_WRITE_RATIO = 20  # time between two commits for each unit of time that a commit takes
_LONGEST_DELAY = 1.0  # seconds between two commits
_MOST_SAVED = 5.0  # seconds without a commit that are made up for later
_LETTERS = kinds.letters(kinds.FORGETTABLE)
_HANDLE = re.compile(rf"\b{_LETTERS}\d{{1,9}}\b")
_CITATION = rf"\[{_LETTERS}\d{{1,9}}(?:, ?{_LETTERS}\d{{1,9}}){{0,9}}\]"
_MARK = re.compile(
    rf"(?P<ticks>`+)|(?P<line>\n)|(?P<before> |(?<![A-Za-z0-9_)\]!\\\"']))(?P<cited>(?:{_CITATION})++)(?!\()"
)
_BRACKET = rf"\[(?:{_LETTERS}|[0-9, ]){{0,120}}"
# An end that the next piece may complete.
_OPEN = re.compile(rf"(?:(?<!`)`++|(?:\s|(?<!\]))(?:{_BRACKET}\])*+(?:{_BRACKET})?)\Z")
_FENCE = 3  # backticks that open a block

Piece = TextArrived | ThinkingArrived | TextWasThinking


class Draft:
    """One reply of a model: it is opened in the log with its first piece, and closed when it ends."""

    def __init__(self, context: ToolContext, model: str, now: Callable[[], float] = time.monotonic):
        self._context, self._model, self._now = context, model, now
        self._id: int | None = None
        self._began = self._next = now()
        self._waiting: list[Event] = []
        self.text = self.thinking = ""
        self.calls: list[ToolCall] = []

    def receive(self, event: Piece) -> Iterator[Event]:
        """Add a piece; gives the events that may be shown now."""
        self.buffer(event)
        if self._now() >= self._next:
            yield from self.flush()

    def buffer(self, event: Piece) -> None:
        """Add a piece without writing or showing it yet."""
        match event:
            case TextArrived(""):
                return
            case TextArrived(text):
                self.text += text
                if self._waiting and isinstance(last := self._waiting[-1], TextArrived):  # they are shown as one
                    self._waiting[-1] = TextArrived(last.text + text)
                    return
            case ThinkingArrived(text):
                self.thinking += text
            case TextWasThinking():
                self.thinking, self.text = self.thinking + self.text, ""
        self._waiting.append(event)

    def flush(self) -> Iterator[Event]:
        """Write the buffered pieces to the log, then give their events."""
        started = self._now()
        if self._waiting:
            log.update_reply(self._context.db, self._open(), self.text, self.thinking)
        written = self._now()
        earliest = max(self._next, started - _MOST_SAVED) + _WRITE_RATIO * (written - started)
        self._next = min(earliest, written + _LONGEST_DELAY)
        waiting, self._waiting = self._waiting, []
        yield from waiting

    def close(self, finish: str, usage: log.Usage) -> Message:
        """Finish the reply in the log and return it. A reply without text, thinking or calls is not logged."""
        message = Message("assistant", self.text, tuple(self.calls), thinking=self.thinking)
        if self._id is not None or message.text or message.calls:
            took = round(1000 * (self._now() - self._began))
            usage = replace(usage, model=usage.model or self._model, duration_ms=took)
            log.close_reply(self._context.db, self._open(), message, finish, usage, self._context.time())
        return message

    def _open(self) -> int:
        context = self._context
        if self._id is None:
            self._id = log.open_reply(context.db, context.session, context.scope, self._model, context.time())
        return self._id


def handles(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(found for text in texts for found in _HANDLE.findall(text))


class Citations:
    """Filters an answer piece by piece: citations of unknown handles are left out."""

    def __init__(self, known: frozenset[str]):
        self._known = known
        self._held = ""
        self._ticks = 0  # backticks that opened the code that is open; 0: none is
        self._previous_character = "\n"  # the character before the held text

    def feed(self, piece: str) -> str:
        """Add a piece; returns the text that is decided."""
        text = self._held + piece
        tail = _OPEN.search(text)
        self._held = tail[0] if tail else ""
        return self._filter(text[: len(text) - len(self._held)])

    def end(self) -> str:
        """The rest, at the end of the answer."""
        held, self._held = self._held, ""
        return self._filter(held)

    def _filter(self, text: str) -> str:
        if not text:
            return ""
        whole = self._previous_character + text  # so that a match sees the character before it
        self._previous_character = text[-1]
        return _MARK.sub(self._replace, whole)[1:]

    def _replace(self, found: re.Match[str]) -> str:
        if not found.start():  # the character before, which was decided with the text that it ended
            return found[0]
        if found["ticks"]:  # code ends with as many as it began with, a block with at least as many
            count = len(found["ticks"])
            if not self._ticks:
                self._ticks = count
            elif count == self._ticks or count > self._ticks >= _FENCE:
                self._ticks = 0
        elif found["line"]:
            self._ticks = self._ticks if self._ticks >= _FENCE else 0
        elif not self._ticks:
            cited = (re.split(r", ?", each) for each in found["cited"][1:-1].split("]["))
            known = [[handle for handle in handles if handle in self._known] for handles in cited]
            shown = "".join(f"[{', '.join(handles)}]" for handles in known if handles)
            return f"{found['before']}{shown}" if shown else ""
        return found[0]
