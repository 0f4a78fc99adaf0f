"""What the agent asks of a language model.

A reply is a generator of chunks. It blocks while the model loads and thinks, so stopping it from another thread needs
a handle of its own: `Cancel` is given to the model, which registers what ends its waiting (a socket's shutdown).
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from agent_cli.errors import Cancelled
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
    """All text so far was thinking: its opening tag was missing."""


@frozen
class Notice:
    """Something the person should be told, once: what was left out or tried again."""

    text: str


@frozen
class Done:
    """The reply is whole. `finish` is "stop" or "length"; tokens are 0 where the server did not say."""

    finish: str = "stop"
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    load_ms: int = 0


Chunk = Text | Thinking | PriorTextWasThinking | ToolCall | Notice | Done


class Cancel:
    """Asks whatever is running to stop, from any thread. Once set it stays set.

    It is false until then: where one may be missing, compare with None and do not write `cancel or Cancel()`.
    """

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
        """Raises Cancelled when it is set."""
        if self._set.is_set():
            raise Cancelled("stopped")

    def wait(self, seconds: float) -> None:
        """Sleep, but no longer than until it is set; then raises Cancelled."""
        self._set.wait(seconds)
        self.check()

    @contextmanager
    def on_cancel(self, callback: Callable[[], None]) -> Iterator[None]:
        """Run `stop` when it is set within the block, at once when it was set before."""
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


class ChatModel(Protocol):
    name: str

    def reply(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]] = (),
        *,
        think: bool | str | None = None,
        format: Mapping[str, Any] | None = None,
        cancel: Cancel | None = None,
    ) -> Iterator[Chunk]:
        """Stream one assistant message that ends with Done.

        `tools` are {"name", "description", "parameters"} with JSON Schema parameters; `think` None leaves it to the
        model; `format` is a JSON Schema the text should follow, never together with tools. Raises AgentError.
        """
        ...
