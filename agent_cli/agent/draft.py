"""A reply while it arrives: every word is on disk before anyone sees it.

Each commit costs a flush of the disk, from 0.2 ms to 10 ms. Words are gathered until twenty times the last commit has
passed, so that no more than a twentieth of the time goes into writing, and at most a second.
"""

import time
from collections.abc import Iterator

from agent_cli.agent.events import Event, TextArrived, TextWasThinking, ThinkingArrived
from agent_cli.memory.conversations import log
from agent_cli.messages import Message, ToolCall
from agent_cli.tools.tool import ToolContext

_WRITE_RATIO = 20
_LONGEST_DELAY = 1.0


class Draft:
    def __init__(self, context: ToolContext, model: str):
        self._context, self._model = context, model
        self._id: int | None = None
        self._began = time.monotonic()
        self._next = 0.0
        self._waiting: list[Event] = []
        self.text = ""
        self.thinking = ""
        self.calls: list[ToolCall] = []

    def receive(self, event: TextArrived | ThinkingArrived | TextWasThinking) -> Iterator[Event]:
        """Take in a piece; gives what may be shown now."""
        self.buffer(event)
        if time.monotonic() >= self._next:
            yield from self.flush()

    def buffer(self, event: TextArrived | ThinkingArrived | TextWasThinking) -> None:
        """Take in a piece, to be shown later."""
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
        """Write down what has arrived, then give it out."""
        started = time.monotonic()
        if self._waiting:
            log.update_reply(self._context.db, self._open(), self.text, self.thinking)
        written = time.monotonic()
        self._next = written + min(_LONGEST_DELAY, _WRITE_RATIO * (written - started))
        waiting, self._waiting = self._waiting, []
        yield from _merged(waiting)

    def close(self, finish: str, usage: log.Usage) -> Message:
        """Finish the reply in the log. One of which nothing arrived is not logged."""
        message = Message("assistant", self.text, tuple(self.calls), thinking=self.thinking)
        if self._id is not None or message.text or message.calls:
            took = round(1000 * (time.monotonic() - self._began))
            usage = log.Usage(usage.model or self._model, usage.tokens_in, usage.tokens_out, usage.cost, took)
            log.close_reply(self._context.db, self._open(), message, finish, usage, self._context.time())
        return message

    def _open(self) -> int:
        if self._id is None:
            context = self._context
            self._id = log.open_reply(context.db, context.session, context.scope, self._model, context.time())
        return self._id


def _merged(events: list[Event]) -> Iterator[Event]:
    """Neighbouring pieces of text as one."""
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
