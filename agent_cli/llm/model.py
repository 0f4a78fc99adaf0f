"""The protocol of a chat model, the chunks of its reply, and its cancellation.

A reply is a generator of chunks. It blocks while the model loads and thinks, so another thread stops it through a
`Cancel` that the model is given: the model registers a callback that ends its waiting (a socket's shutdown).
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from agent_cli.errors import Cancelled, TimedOut
from agent_cli.messages import Message, ToolCall
from agent_cli.values import frozen


@frozen
class Text:
    text: str


@frozen
class Thinking:
    text: str


@frozen
class PriorTextWasThinking:
    """All text sent so far was thinking: its opening tag was missing."""


@frozen
class Notice:
    """A sentence to show the person once: what was left out or tried again."""

    text: str


@frozen
class Done:
    """The reply is complete. `finish` is "stop" or "length"; token counts are 0 where the server gave none."""

    finish: str = "stop"
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0


Chunk = Text | Thinking | PriorTextWasThinking | ToolCall | Notice | Done


class Cancel:
    """Called from any thread to stop what is running. It is false until then, so never write `cancel or Cancel()`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._set = threading.Event()
        self._callbacks: list[Callable[[], None]] = []

    def __call__(self) -> None:
        with self._lock:
            self._set.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def __bool__(self) -> bool:
        return self._set.is_set()

    def check(self) -> None:
        if self._set.is_set():
            raise Cancelled("stopped")

    def wait(self, seconds: float) -> None:
        """Sleep for so many seconds. Raises Cancelled as soon as it is set."""
        self._set.wait(seconds)
        self.check()

    @contextmanager
    def on_cancel(self, callback: Callable[[], None]) -> Iterator[None]:
        """Call `callback` when it is set while the block runs, at once when it was set before."""
        with self._lock:
            already = self._set.is_set()
            if not already:
                self._callbacks.append(callback)
        if already:
            callback()
        try:
            yield
        finally:
            with self._lock:
                if callback in self._callbacks:
                    self._callbacks.remove(callback)

    @contextmanager
    def limited(self, seconds: float | None, message: str) -> Iterator[None]:
        """Set it after so many seconds while the block runs; None: never. Then raises TimedOut with the message."""
        late = threading.Event()

        def give_up() -> None:
            late.set()
            self()

        timer = threading.Timer(seconds or 0, give_up)
        timer.daemon = True
        if seconds:
            timer.start()
        try:
            yield
        except Cancelled:
            if late.is_set():
                raise TimedOut(message) from None
            raise
        finally:
            timer.cancel()


class ChatModel(Protocol):
    name: str

    def reply(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]] = (),
        *,
        think: bool | str | None = None,
        format: Mapping[str, Any] | None = None,
        limit: int | None = None,
        cancel: Cancel | None = None,
    ) -> Iterator[Chunk]:
        """Stream one assistant message that ends with Done. Raises AgentError. `think`: None leaves it to the model.
        `format`: a JSON Schema that the text should follow, never together with tools. `limit`: the most tokens."""
        ...
