"""How long a model is waited for, apart from the rest of a turn."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent_cli.llm.model import Cancel, ChatModel, Chunk
from agent_cli.messages import Message


class TimedModel:
    """A ChatModel that counts the seconds in which another one is waited for."""

    def __init__(self, model: ChatModel):
        self.name = model.name
        self.seconds = 0.0
        self._model = model

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
        """What the other one replies."""
        chunks = iter(self._model.reply(messages, tools, think=think, format=format, limit=limit, cancel=cancel))
        while True:
            began = time.monotonic()
            try:
                chunk = next(chunks, None)
            finally:
                self.seconds += time.monotonic() - began
            if chunk is None:
                return
            yield chunk
