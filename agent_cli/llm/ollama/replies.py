"""The lines of Ollama's response, parsed into the chunks of a reply.

The sentences for errors that are Ollama's own: models on other machines, and models that can be pulled.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from agent_cli.errors import AgentError, ModelMissing
from agent_cli.llm.model import Chunk, Done
from agent_cli.llm.server import engine, faults, reply
from agent_cli.llm.server.address import Address
from agent_cli.llm.server.faults import ServerFault


def missing(model: str, url: str) -> ModelMissing:
    return ModelMissing(f"the model {model!r} is not on the server at {url}: run `ollama pull {model}`")


def as_error(fault: ServerFault, model: str, address: Address, num_ctx: int = 0) -> AgentError:
    """The fault as an error with a sentence for the person."""
    match fault.kind:
        case "missing":
            return missing(model, address.url)
        case "key":
            return engine.cloud(model)
        case "no embedding":
            return ModelMissing(f"the model {model!r} cannot embed: run `ollama pull nomic-embed-text` and use that")
    return faults.as_error(fault, model, address, num_ctx)


class LineParser(reply.ReplyParser):
    """Parses one reply."""

    def __init__(self, model: str, tools: Sequence[Mapping[str, Any]], used_ids: Collection[str]):
        super().__init__(tools, used_ids)
        self._model = model

    def feed(self, line: bytes) -> Iterator[Chunk]:
        """The chunks of one line; Done for the last line. Raises ServerFault and ModelMissing."""
        if not line.strip():
            return
        answer = reply.read_object(line)
        if answer.get("remote_host"):
            raise engine.cloud(self._model)
        message = answer.get("message")
        if isinstance(message, dict):
            yield from self.message(message.get("thinking"), message.get("content"))
            calls = message.get("tool_calls")
            if isinstance(calls, list) and calls:
                yield from self.calls([read for call in calls if (read := _call(call))])
        if answer.get("done"):
            self.done = True
            yield from self.flush(whole=True)
            yield self._done(answer)

    def end(self) -> Iterator[Chunk]:
        raise ServerFault("incomplete")

    def _done(self, answer: Mapping[str, Any]) -> Done:
        def count(key: str) -> int:
            value = answer.get(key)
            return int(value) if isinstance(value, int | float) else 0

        return Done(
            finish=str(answer.get("done_reason") or "stop"),
            model=str(answer.get("model") or self._model),
            tokens_in=count("prompt_eval_count"),
            tokens_out=count("eval_count"),
            load_ms=count("load_duration") // 1_000_000,
        )


def _call(call: Any) -> tuple[Any, str, Any] | None:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return None
    return call.get("id"), function["name"], function.get("arguments")
