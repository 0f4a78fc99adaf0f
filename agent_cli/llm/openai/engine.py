"""A /v1 server as an engine."""

from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime
from typing import Any

from agent_cli.errors import ConfigError, ModelMissing
from agent_cli.llm.openai import replies
from agent_cli.llm.openai.chat import OpenAIModel
from agent_cli.llm.openai.embed import OpenAIEmbedder
from agent_cli.llm.server import address, engine, retries, wire
from agent_cli.llm.server.address import Address, ServerKind
from agent_cli.llm.server.engine import PROBE_TIMEOUT, Tag
from agent_cli.llm.server.faults import ServerFault, wrong_server
from agent_cli.values import frozen

KIND = ServerKind("a server that speaks /v1", "start it", "the setting host", "http://127.0.0.1:8080/v1")


def read_address(host: str, key: str = "", *, private_only: bool = True) -> Address:
    """The address in the setting `host`; without a path it is /v1. Raises ConfigError."""
    if not host:
        raise ConfigError(f'engine = "openai" needs an address: agent config set host {KIND.example}')
    read = address.parse(host, KIND)
    return Address(read.scheme, read.host, read.port, read.path or "/v1", KIND, private_only, key)


@frozen
class OpenAIEngine:
    """An Engine."""

    host: str
    key: str = field(default="", repr=False)
    private_only: bool = True  # whether a server on the internet is refused
    num_ctx: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    answer_tokens: int = 0
    patience: float = retries.BUSY_TIMEOUT
    name: str = "openai"

    @property
    def address(self) -> Address:
        """Raises ConfigError."""
        return read_address(self.host, self.key, private_only=self.private_only)

    @property
    def url(self) -> str:
        return self.address.url

    @property
    def start(self) -> str:
        return KIND.start

    def listing(self, timeout: float = PROBE_TIMEOUT) -> list[Tag]:
        server = self.address
        try:
            answer = wire.fetch(server, "/models", timeout=timeout)
        except ServerFault as fault:
            if fault.status in (401, 403):
                raise replies.refused_key(fault, server) from fault
            raise wrong_server(server, fault.message) from fault
        data = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(data, list):
            raise wrong_server(server)
        return [_tag(each) for each in data if isinstance(each, dict) and isinstance(each.get("id"), str)]

    def find(self, model: str) -> Tag | None:
        return engine.find(model, self.listing())

    def chat(self, model: str) -> OpenAIModel:
        if self.private_only:
            engine.refuse_cloud(model)  # Ollama speaks /v1 too
        return OpenAIModel(
            model,
            self.address,
            self.num_ctx,
            options=self.options,
            answer_tokens=self.answer_tokens,
            busy_timeout=self.patience,
        )

    def embedder(self, model: str) -> OpenAIEmbedder:
        return OpenAIEmbedder(model, lambda cancel: self.address)

    def loaded(self, model: str) -> bool | None:
        return None

    def pull_command(self, model: str) -> str:
        return ""

    def missing(self, model: str = "") -> ModelMissing:
        return (
            replies.missing(model, self.url) if model else ModelMissing(f"the server at {self.url} has no chat model")
        )


def _tag(model: Mapping[str, Any]) -> Tag:
    """A model of the list. Its context is what llama.cpp and vLLM say in fields of their own."""
    meta = model.get("meta")
    trained = meta.get("n_ctx_train") if isinstance(meta, dict) else model.get("max_model_len")
    created = wire.int_or_zero(model.get("created"))
    return Tag(
        model["id"],
        size=wire.int_or_zero(meta.get("size") if isinstance(meta, dict) else 0),
        modified_at=datetime.fromtimestamp(created, UTC).isoformat() if 0 < created < 1 << 34 else "",
        context_length=wire.int_or_zero(trained),
    )
