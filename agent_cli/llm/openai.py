"""A client of servers that speak OpenAI's /v1: llama.cpp, LM Studio, vLLM.

Servers differ in which fields of a request they accept: a field that the server names as unknown is left out from then
on. The context is what the server was started with; no request can change it.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from agent_cli.errors import ConfigError
from agent_cli.llm import chat, engine, http
from agent_cli.llm.model import Cancel, Chunk, Done, Notice
from agent_cli.messages import ToolCall
from agent_cli.values import frozen

_FIELD, _END = b"data:", b"[DONE]"


@dataclass
class _Call:
    index: Any
    id: str
    name: str
    arguments: str


class EventParser(chat.ReplyParser):
    """An event is one line, `data: {…}`. The pieces of a tool call arrive one by one and are joined by their index, or
    by a new id where a server counts every call as the first. The end is `[DONE]`, or a reason to finish."""

    def __init__(self, model: str, tools: Sequence[Mapping[str, Any]], used_ids: Collection[str]):
        super().__init__(model, tools, used_ids)
        self._open_calls: list[_Call] = []
        self._finish = ""
        self._usage: Mapping[str, Any] = {}

    def feed(self, line: bytes) -> Iterator[Chunk]:
        line = line.strip()
        if line.startswith(_FIELD):
            data = line.removeprefix(_FIELD).strip()
            yield from self.end() if data == _END else self._event(chat.read_object(data)) if data else ()

    def end(self) -> Iterator[Chunk]:
        if not self._finish:
            raise http.ServerFault("incomplete")
        calls: list[tuple[str, str, Any]] = []
        for call in self._open_calls:
            try:
                arguments = json.loads(call.arguments or "{}")
            except (ValueError, RecursionError) as error:
                if self._finish == "length":  # cut off with the answer
                    continue
                raise http.ServerFault("call", call.arguments[:200]) from error
            if call.name:
                calls.append((call.id, call.name, arguments))
        if calls:
            yield from self.calls(calls)
        yield from self.flush(whole=True)
        if self._finish == "content_filter":
            yield Notice("the server's filter ended the answer")
        finish = "length" if self._finish == "length" else "stop"
        tokens = (http.typed(self._usage.get(key), int) for key in ("prompt_tokens", "completion_tokens"))
        yield Done(finish, self._model, *tokens)

    def _event(self, event: Mapping[str, Any]) -> Iterator[Chunk]:
        self._model = http.typed(event.get("model"), str) or self._model
        self._usage = http.typed(event.get("usage"), dict) or self._usage
        choice: dict[str, Any] = next(iter(http.objects(event.get("choices"))), {})
        delta = http.typed(choice.get("delta"), dict)
        yield from self.message(delta.get("reasoning_content") or delta.get("reasoning"), delta.get("content"))
        for call in http.objects(delta.get("tool_calls")):
            if isinstance(function := call.get("function"), dict):
                self._piece(call, function)
        self._finish = str(choice.get("finish_reason") or self._finish)

    def _piece(self, piece: dict[str, Any], function: dict[str, Any]) -> None:
        index, id, name = piece.get("index"), piece.get("id") or "", function.get("name") or ""
        arguments = function.get("arguments") or ""
        arguments = arguments if isinstance(arguments, str) else json.dumps(arguments)
        last = self._open_calls[-1] if self._open_calls else None
        known = next((call for call in self._open_calls if index is not None and call.index == index), None)
        same = known or (last if index is None else None)
        if same and not (name and id and id != same.id):
            same.arguments += arguments
            same.name = same.name or str(name)
        else:
            if same:  # a server that counts every call as the first: what follows belongs to the new one
                same.index = object()
            self._open_calls.append(_Call(index, str(id), str(name), arguments))


_OPTIONAL = ("stream_options", "chat_template_kwargs", "reasoning_effort", "response_format")


class V1Engine(engine.Engine):
    """What speaks /v1, be it a server or a process of our own."""

    chat_path, limit_option = "/chat/completions", "max_tokens"
    thinking_field, tool_name_field = "reasoning_content", "name"
    parser = EventParser

    def fields(self, request: chat.Request, options: Mapping[str, Any]) -> dict[str, Any]:
        fields: dict[str, Any] = {"stream_options": {"include_usage": True}, **options}
        if request.limit is not None:
            fields["max_tokens"] = request.limit
        if isinstance(request.think, bool):
            fields["chat_template_kwargs"] = {"enable_thinking": request.think}
        elif request.think:
            fields["reasoning_effort"] = request.think
        if request.format is not None:
            schema = {"name": "answer", "schema": request.format, "strict": True}
            fields["response_format"] = {"type": "json_schema", "json_schema": schema}
        return fields

    def call_fields(self, index: int, call: ToolCall) -> dict[str, Any]:
        function = {"name": chat.broken(call.name), "arguments": json.dumps(chat.unmarked(call.arguments))}
        return {"type": "function", "function": function}

    def refused(self, fault: http.ServerFault, body: Mapping[str, Any]) -> tuple[set[str], str]:
        # Ollama's sentence, and what llama.cpp and vLLM must be started with.
        missing_option = re.search(r"--jinja|--enable-auto-tool-choice", fault.message.partition("tool")[2])
        if "tools" in body and (fault.kind == "no tools" or missing_option):
            return engine.without_tools(body)
        named = {name for name in _OPTIONAL if name in body and name in fault.message}
        return (named if fault.status in (400, 422, 501) else set()), ""

    def vectors(self, model: str, texts: Sequence[str], cancel: Cancel) -> list[Any]:
        body = {"model": model, "input": texts, "encoding_format": "float"}
        answer = http.fetch(self.address_of(model, cancel, embeds=True), "/embeddings", body, cancel=cancel)
        data = http.objects(http.typed(answer, dict).get("data"))
        return [each.get("embedding") for each in sorted(data, key=lambda each: http.typed(each.get("index"), int))]

    def version(self, model: str) -> str:
        """Its name must do: such a server does not say when a model has changed."""
        return model.replace(" ", "%20")


KIND = http.ServerKind("a server that speaks /v1", "start it", "the setting host", "http://127.0.0.1:8080/v1")


@frozen
class OpenAIEngine(V1Engine):
    host: str
    key: str = field(default="", repr=False)
    private_only: bool = True  # whether a server on the internet is refused
    settings: chat.ChatSettings = chat.ChatSettings()
    name = "openai"
    start = KIND.start
    no_model = "has no chat model"

    @property
    def address(self) -> http.Address:
        """Without a path it is /v1."""
        if not self.host:
            raise ConfigError(f'engine = "openai" needs an address: agent config set host {KIND.example}')
        read = http.parse_address(self.host, KIND)
        return replace(read, path=read.path or "/v1", private_only=self.private_only, key=self.key)

    def listing(self, timeout: float = engine.PROBE_TIMEOUT) -> list[engine.Tag]:
        server = self.address
        try:
            answer = http.fetch(server, "/models", timeout=timeout)
        except http.ServerFault as fault:
            if fault.status in (401, 403):
                raise engine.refused_key(fault, server) from fault
            raise http.wrong_server(server, fault.message) from fault
        data = http.typed(answer, dict).get("data")
        if not isinstance(data, list):
            raise http.wrong_server(server)
        return [_tag(each) for each in http.objects(data) if isinstance(each.get("id"), str)]


def _tag(model: Mapping[str, Any]) -> engine.Tag:
    """A model of the list. Its context is what llama.cpp and vLLM say in fields of their own."""
    meta = http.typed(model.get("meta"), dict)
    trained = meta.get("n_ctx_train") if meta else model.get("max_model_len")
    created = http.typed(model.get("created"), int)
    return engine.Tag(
        model["id"],
        size=http.typed(meta.get("size"), int),
        modified_at=datetime.fromtimestamp(created, UTC).isoformat() if 0 < created < 1 << 34 else "",
        context_length=http.typed(trained, int),
    )
