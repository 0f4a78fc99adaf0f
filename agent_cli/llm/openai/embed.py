"""Embeddings from a /v1 server."""

from collections.abc import Callable
from typing import Any

from agent_cli.errors import AgentError
from agent_cli.llm.model import Cancel
from agent_cli.llm.openai import replies
from agent_cli.llm.server import embedding, wire
from agent_cli.llm.server.address import Address
from agent_cli.llm.server.faults import ServerFault


class OpenAIEmbedder(embedding.ServerEmbedder):
    """Turns texts into vectors of length 1. Such a server does not say when a model has changed: its name must do."""

    def __init__(self, model: str, address: Callable[[Cancel], Address]):
        super().__init__(model)
        self._address = address

    def _vectors(self, texts: list[str], cancel: Cancel) -> Any:
        body = {"model": self.model, "input": texts, "encoding_format": "float"}
        self._asked = self._address(cancel)
        answer = wire.fetch(self._asked, "/embeddings", body, cancel=cancel)
        data = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(data, list) or not all(isinstance(each, dict) for each in data):
            return None
        by_index = sorted(data, key=lambda each: wire.int_or_zero(each.get("index")))
        return [each.get("embedding") for each in by_index]

    def _version(self) -> str:
        return self.model.replace(" ", "%20")

    def _as_error(self, fault: ServerFault) -> AgentError:
        return replies.as_error(fault, self.model, self._asked)
