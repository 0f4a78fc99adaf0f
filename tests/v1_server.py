"""A server on loopback that speaks OpenAI's /v1, as llama.cpp and vLLM do: the scripted one in another language.

    with V1Server(models=[Model("qwen3:8b")], key="secret") as server:
        server.play(script.reply("Hello there"))
        ...

What it is asked is put into the words of the other server before it is written down, and what that one would answer is
put into events. So a test sets and sees the same, whichever of the two it has.
"""

import json
from collections.abc import Iterator
from typing import Any

from tests.ollama_server import chat, embed, go
from tests.ollama_server.exchange import Exchange
from tests.ollama_server.go import Refused
from tests.ollama_server.server import OllamaServer
from tests.ollama_server.state import State

STREAM = "text/event-stream"
CHAT, EMBED = "/v1/chat/completions", "/v1/embeddings"
_FIELDS = {"max_tokens": "num_predict", "temperature": "temperature", "seed": "seed", "top_p": "top_p"}


class Events(Exchange):
    """An exchange whose lines are events."""

    stream_type = STREAM
    wants_usage = True
    cuts_arguments = True  # the arguments of a call arrive in pieces
    says_done = True  # the last event is [DONE]

    def json(self, status: int, value: Any) -> None:
        if isinstance(value, dict) and "error" in value:
            value = {"error": {"message": value["error"], "type": "invalid_request_error", "code": status}}
        super().json(status, value)

    def line(self, value: dict[str, Any]) -> None:
        if "error" in value:
            self.chunk(_event({"error": {"message": value["error"], "code": 500}}))
            return
        events = list(deltas(value, self.cuts_arguments))
        if not value["done"]:
            for each in events:
                self.chunk(_event(each))
        else:
            events.append(ending(value))
            if self.wants_usage:
                events.append({"object": "chat.completion.chunk", "choices": [], "usage": usage(value)})
            done = b"data: [DONE]\n\n" if self.says_done else b""
            self._last.append(self._chunked(b"".join(map(_event, events)) + done))
        self.request.lines_sent += 1

    def cut(self, data: bytes, reset: bool) -> None:
        super().cut(b"data: " + data, reset)


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + go.encode(value) + b"\n\n"


def deltas(line: dict[str, Any], cuts_arguments: bool) -> Iterator[dict[str, Any]]:
    """The chunks that say what a line says: thinking and text, then the calls piece by piece."""
    message = line["message"]
    said = {"reasoning_content": message.get("thinking"), "content": message["content"]}
    if filled := {name: value for name, value in said.items() if value}:
        yield _chunk(line, filled)
    for call in message.get("tool_calls", ()):
        function = call["function"]
        arguments = json.dumps(function["arguments"], ensure_ascii=False)
        half = len(arguments) // 2 if cuts_arguments else len(arguments)
        head = {"index": function["index"], "type": "function", **({"id": call["id"]} if "id" in call else {})}
        yield _chunk(
            line, {"tool_calls": [head | {"function": {"name": function["name"], "arguments": arguments[:half]}}]}
        )
        if rest := arguments[half:]:
            yield _chunk(line, {"tool_calls": [{"index": function["index"], "function": {"arguments": rest}}]})


def _chunk(line: dict[str, Any], delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": line["model"], "choices": [choice]}


def ending(line: dict[str, Any]) -> dict[str, Any]:
    return _chunk(line, {}, line.get("done_reason"))


def usage(line: dict[str, Any]) -> dict[str, int]:
    read, written = line.get("prompt_eval_count", 0), line.get("eval_count", 0)
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def translated(body: dict[str, Any]) -> dict[str, Any]:
    """A chat request in the other server's words."""
    kwargs, schema = body.get("chat_template_kwargs") or {}, body.get("response_format") or {}
    options = {_FIELDS[name]: body[name] for name in _FIELDS if name in body}
    result = {name: body[name] for name in ("model", "tools", "stream") if name in body}
    result |= {"messages": [*map(_message, body["messages"])], "truncate": False, "shift": False, "options": options}
    if "enable_thinking" in kwargs or "reasoning_effort" in body:
        result["think"] = body.get("reasoning_effort", kwargs.get("enable_thinking"))
    if schema:
        result["format"] = schema["json_schema"]["schema"]
    return result


def _message(message: dict[str, Any]) -> dict[str, Any]:
    result = {"role": message["role"], "content": message["content"]}
    if calls := message.get("tool_calls"):
        result["tool_calls"] = [
            {"id": call["id"], "function": {"index": n, **_function(call)}} for n, call in enumerate(calls)
        ]
    if "reasoning_content" in message:
        result["thinking"] = message["reasoning_content"]
    if message["role"] == "tool":
        result |= {"tool_name": message["name"], "tool_call_id": message["tool_call_id"]}
    return result


def _function(call: dict[str, Any]) -> dict[str, Any]:
    return {"name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])}


def models(state: State, exchange: Exchange) -> None:
    _check_key(state, exchange)
    listed = [{"id": each.full_name, "object": "model", "owned_by": "test"} for each in state.registry.all()]
    exchange.json(200, {"object": "list", "data": listed})


def chat_completions(state: State, exchange: Exchange) -> None:
    _check_key(state, exchange)
    exchange.wants_usage = bool((exchange.request.sent.get("stream_options") or {}).get("include_usage"))
    if unknown := [name for name in state.unknown_fields if name in exchange.request.sent]:
        raise Refused(400, f"Unrecognized request argument supplied: {unknown[0]}")
    exchange.request.raw = json.dumps(exchange.request.body).encode()
    chat.chat(state, exchange)


def embeddings(state: State, exchange: Exchange) -> None:
    _check_key(state, exchange)
    whole = exchange.json
    exchange.json = lambda status, value: whole(status, _embedded(value) if status == 200 else value)
    embed.embed(state, exchange)


def _embedded(answer: dict[str, Any]) -> dict[str, Any]:
    data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(answer["embeddings"])]
    return {"object": "list", "data": data[::-1], "model": answer["model"]}  # the order is what the index says


def _check_key(state: State, exchange: Exchange) -> None:
    if state.key and exchange.request.headers.get("authorization") != f"Bearer {state.key}":
        raise Refused(401, "Invalid API Key")


ROUTES = {"/v1/models": (("GET",), models), CHAT: (("POST",), chat_completions), EMBED: (("POST",), embeddings)}


class V1Server(OllamaServer):
    """See State for what can be set and seen."""

    engine = "openai"
    routes = ROUTES
    chat_path, embed_path = CHAT, EMBED
    exchange = Events

    def __init__(self, *args: Any, key: str = "", **settings: Any):
        super().__init__(*args, **settings)
        self.key = key
        self.unknown_fields: tuple[str, ...] = ()  # fields of a chat that it refuses

    @property
    def base(self) -> str:
        """The address to set as the host."""
        return f"{self.url}/v1"

    @property
    def environ(self) -> dict[str, str]:
        return {"AGENT_ENGINE": self.engine, "AGENT_HOST": self.base, "AGENT_API_KEY": self.key}

    def _record(self, exchange: Exchange) -> None:
        request = exchange.request
        request.sent = request.body
        if request.path == CHAT and isinstance(request.body, dict):
            request.body = translated(request.body)
        super()._record(exchange)
