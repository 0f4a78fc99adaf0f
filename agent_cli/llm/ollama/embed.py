"""Embeddings from an Ollama server."""

from typing import Any

from agent_cli.errors import AgentError
from agent_cli.llm.model import Cancel
from agent_cli.llm.ollama import replies, tags
from agent_cli.llm.ollama.chat import parse_keep_alive
from agent_cli.llm.server import address, embedding, engine, wire
from agent_cli.llm.server.faults import ServerFault


class OllamaEmbedder(embedding.ServerEmbedder):
    """Turns texts into vectors of length 1; the model must run on the server itself."""

    def __init__(
        self,
        host: str,
        model: str,
        *,
        num_ctx: int | None = None,
        characters: int = embedding.MAX_CHARACTERS,
        keep_alive: str | int | None = None,
    ):
        super().__init__(model, characters)
        self._address, self._host = address.parse(host), host
        self._extra_fields: dict[str, Any] = {"options": {"num_ctx": num_ctx}} if num_ctx else {}
        if (keep_loaded := parse_keep_alive(keep_alive)) is not None:
            self._extra_fields["keep_alive"] = keep_loaded
        self._local = False

    def _vectors(self, texts: list[str], cancel: Cancel) -> Any:
        self._local = self._local or tags.is_local(self._address, self.model, cancel)
        body: dict[str, Any] = {"model": self.model, "input": texts, "truncate": True, **self._extra_fields}
        answer = wire.fetch(self._address, "/api/embed", body, cancel=cancel)
        return answer.get("embeddings") if isinstance(answer, dict) else None

    def _version(self) -> str:
        tag = engine.find(self.model, tags.listing(self._host, timeout=wire.CONNECT_TIMEOUT))
        if tag is None:
            raise replies.missing(self.model, self._address.url)
        return f"{tag.name} {tag.digest}"

    def _as_error(self, fault: ServerFault) -> AgentError:
        return replies.as_error(fault, self.model, self._address)
