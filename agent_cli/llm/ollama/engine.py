"""Ollama as an engine: the default, and the one with most about its models."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from agent_cli.errors import ModelMissing
from agent_cli.llm.ollama import replies, tags
from agent_cli.llm.ollama.chat import OllamaModel
from agent_cli.llm.ollama.embed import OllamaEmbedder
from agent_cli.llm.server import address, engine, retries
from agent_cli.llm.server.engine import PROBE_TIMEOUT, Tag
from agent_cli.values import frozen

SUGGESTED = "qwen3:4b"


@frozen
class OllamaEngine:
    """An Engine. The settings but for the host are those of its chat models."""

    host: str
    num_ctx: int = 8192
    options: Mapping[str, Any] = field(default_factory=dict)
    answer_tokens: int = 0
    patience: float = retries.BUSY_TIMEOUT
    keep_alive: str | int | None = None
    name: str = "ollama"

    @property
    def url(self) -> str:
        return address.parse(self.host).url

    @property
    def start(self) -> str:
        return address.OLLAMA.start

    def listing(self, timeout: float = PROBE_TIMEOUT) -> list[Tag]:
        return tags.listing(self.host, timeout)

    def find(self, model: str) -> Tag | None:
        return engine.find(model, self.listing())

    def chat(self, model: str) -> OllamaModel:
        engine.refuse_cloud(model)
        return OllamaModel(
            model,
            self.host,
            self.num_ctx,
            keep_alive=self.keep_alive,
            options=self.options,
            answer_tokens=self.answer_tokens,
            busy_timeout=self.patience,
        )

    def embedder(self, model: str) -> OllamaEmbedder:
        return OllamaEmbedder(self.host, model)

    def loaded(self, model: str) -> bool | None:
        return tags.loaded(self.host, model)

    def pull_command(self, model: str) -> str:
        return f"ollama pull {model}"

    def missing(self, model: str = "") -> ModelMissing:
        if model:
            return replies.missing(model, self.url)
        return ModelMissing(
            f"the server at {self.url} has no model of its own that can chat: run `ollama pull {SUGGESTED}`"
        )
