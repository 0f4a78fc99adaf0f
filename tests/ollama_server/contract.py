"""What a client must not do, although a server would let it pass.

A real server drops, reloads or answers nonsense in these cases and says nothing; here each is a
sentence in `server.problems`.
"""

from collections.abc import Callable, Iterator
from typing import Any

from tests.ollama_server import go
from tests.ollama_server.record import Request

OPTIONS = {
    "num_ctx": "integer",
    "num_batch": "integer",
    "num_gpu": "integer",
    "main_gpu": "integer",
    "num_thread": "integer",
    "draft_num_predict": "integer",
    "num_keep": "integer",
    "seed": "integer",
    "num_predict": "integer",
    "top_k": "integer",
    "repeat_last_n": "integer",
    "top_p": "float32",
    "min_p": "float32",
    "typical_p": "float32",
    "temperature": "float32",
    "repeat_penalty": "float32",
    "presence_penalty": "float32",
    "frequency_penalty": "float32",
    "use_mmap": "boolean",
    "stop": "array",
}
"""The options a server knows, and what it calls their types."""


def of_request(request: Request, is_cloud: Callable[[str], bool], key: str = "") -> Iterator[str]:
    """What is wrong whatever the endpoint. To look a cloud model up is not; how else should it be told?"""
    body = request.body
    if "authorization" in request.headers and not key:
        yield "an Authorization header was sent to a local server"
    if not isinstance(body, dict):
        return
    if request.path != "/api/show" and isinstance(model := body.get("model"), str) and is_cloud(model):
        yield f"a request names the cloud model {model}"
    options = body.get("options")
    for name in options if isinstance(options, dict) else ():
        if name not in OPTIONS:
            yield f"the option {name} is unknown to the server"


def of_messages(messages: Any) -> Iterator[str]:
    """What is wrong with the messages of a chat."""
    said = [message for message in messages or () if isinstance(message, dict)]
    if sum(message.get("role") == "system" for message in said) > 1:
        yield "there is more than one system message"
    elif any(message.get("role") == "system" for message in said[1:]):
        yield "the system message is not the first"
    if said and said[-1].get("role") == "assistant":
        yield "the last message is the assistant's"
    yield from _of_arguments(said)
    yield from _of_pairs(said)


def _of_arguments(messages: list[dict[str, Any]]) -> Iterator[str]:
    for message in messages:
        for call in _calls(message):
            function = call.get("function") or {}
            if isinstance(function.get("arguments"), str):
                yield f"the arguments of a call to {function.get('name')} are a string"


def _of_pairs(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Every call has its result, right after the message that made it; every result its call."""
    waiting: list[dict[str, Any]] = []
    for number, message in enumerate(messages, 1):
        if message.get("role") == "tool":
            found = next((call for call in waiting if _answers(message, call)), None)
            if found is None:
                yield f"message {number} is a tool result without a call before it"
            else:
                waiting.remove(found)
            continue
        if waiting:
            yield f"message {number} comes before the result of {_names(waiting)}"
        waiting = _calls(message)
    if waiting:
        yield f"there is no result of {_names(waiting)}"


def _answers(result: dict[str, Any], call: dict[str, Any]) -> bool:
    """By id where both have one, else by name where the result has one, else by order."""
    if result.get("tool_call_id") and call.get("id"):
        return bool(result["tool_call_id"] == call["id"])
    name = result.get("tool_name")
    return not name or name == (call.get("function") or {}).get("name")


def _calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _names(calls: list[dict[str, Any]]) -> str:
    return ", ".join(str((call.get("function") or {}).get("name")) for call in calls)


class Steadiness:
    """Remembers per model what should not change from one request to the next."""

    def __init__(self) -> None:
        self._num_ctx: dict[str, int] = {}
        self._prompt: dict[str, dict[str, bytes]] = {}

    def of_num_ctx(self, model: str, num_ctx: int) -> Iterator[str]:
        before = self._num_ctx.setdefault(model, num_ctx)
        self._num_ctx[model] = num_ctx
        if before != num_ctx:
            yield f"num_ctx of {model} changed from {before} to {num_ctx}, which reloads it"

    def of_prompt(self, model: str, body: dict[str, Any]) -> Iterator[str]:
        """System message and tools should stay byte for byte, or the server's prompt cache is lost."""
        system = [message for message in body["messages"] if message.get("role") == "system"]
        now = {"system message": go.encode(system), "list of tools": go.encode(body.get("tools") or [])}
        before = self._prompt.get(model, now)
        self._prompt[model] = now
        for part, content in now.items():
            if before[part] != content:
                yield f"the {part} for {model} changed between two turns"
