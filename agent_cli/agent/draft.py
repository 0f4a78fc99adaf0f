"""A reply while it arrives: every word is on disk before it is shown.

Each commit costs a disk flush of 0.2 to 10 ms. At most a twentieth of the time goes into writing: after a commit text
is buffered for twenty times as long as it took, and never for longer than a second. Time in which nothing was written,
as while the model reads the question, is made up for: words that come together before a pause are shown before it.
"""

import time
from collections.abc import Callable, Iterator

from agent_cli.agent.events import Event, TextArrived, TextWasThinking, ThinkingArrived
from agent_cli.memory.conversations import log
from agent_cli.messages import Message, ToolCall
from agent_cli.tools.tool import ToolContext

_WRITE_RATIO = 20  # time between two commits for each unit of time that a commit takes
_LONGEST_DELAY = 1.0  # seconds between two commits
_MOST_SAVED = 5.0  # seconds without a commit that are made up for later


class Draft:
    """One reply of a model: it is opened in the log with its first piece, and closed when it ends."""

    def __init__(self, context: ToolContext, model: str, now: Callable[[], float] = time.monotonic):
        self._context, self._model, self._now = context, model, now
        self._id: int | None = None
        self._began = self._next = now()
        self._waiting: list[Event] = []
        self.text = ""
        self.thinking = ""
        self.calls: list[ToolCall] = []

    def receive(self, event: TextArrived | ThinkingArrived | TextWasThinking) -> Iterator[Event]:
        """Add a piece; gives the events that may be shown now."""
        self.buffer(event)
        if self._now() >= self._next:
            yield from self.flush()

    def buffer(self, event: TextArrived | ThinkingArrived | TextWasThinking) -> None:
        """Add a piece without writing or showing it yet."""
        match event:
            case TextArrived(""):
                return
            case TextArrived(text):
                self.text += text
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
        yield from _merged(waiting)

    def close(self, finish: str, usage: log.Usage) -> Message:
        """Finish the reply in the log and return it. A reply without text, thinking or calls is not logged."""
        message = Message("assistant", self.text, tuple(self.calls), thinking=self.thinking)
        if self._id is not None or message.text or message.calls:
            took = round(1000 * (self._now() - self._began))
            usage = log.Usage(usage.model or self._model, usage.tokens_in, usage.tokens_out, usage.cost, took)
            log.close_reply(self._context.db, self._open(), message, finish, usage, self._context.time())
        return message

    def _open(self) -> int:
        if self._id is None:
            context = self._context
            self._id = log.open_reply(context.db, context.session, context.scope, self._model, context.time())
        return self._id


def _merged(events: list[Event]) -> Iterator[Event]:
    """The events with consecutive pieces of text joined into one."""
    text = ""
    for event in events:
        if isinstance(event, TextArrived):
            text += event.text
            continue
        if text:
            yield TextArrived(text)
            text = ""
        yield event
    if text:
        yield TextArrived(text)
