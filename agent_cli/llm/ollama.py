"""A client of Ollama's HTTP API: chat, embeddings, the models of the server and where they run.

`num_ctx` is explicit and the same in every request: a change makes the server load the model again. `truncate` and
`shift` are off: by default the server silently drops messages from the front when a conversation grows too long, and
the person must be told. Values of an unexpected shape are ignored.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent_cli.errors import ModelUnavailable
from agent_cli.llm import chat, engine, http
from agent_cli.llm.chat import ChatSettings, ReplyParser, Request, unmarked
from agent_cli.llm.engine import PROBE_TIMEOUT, Engine, Tag
from agent_cli.llm.http import Address, ServerFault
from agent_cli.llm.model import Cancel, Chunk, Done
from agent_cli.messages import ToolCall
from agent_cli.values import frozen

_TIMEOUT = 5.0  # seconds, for answers that need no model


def list_tags(host: str, timeout: float = PROBE_TIMEOUT) -> list[Tag]:
    """The models of the server at `host`. Raises ModelUnavailable when it does not answer within `timeout` seconds."""
    models = _fetch(host, "/api/tags", timeout=timeout).get("models")
    if not isinstance(models, list | None):
        raise http.wrong_server(http.parse_address(host))
    return [tag for tag in map(_tag, http.objects(models)) if tag.name]


def is_local(server: Address, model: str, cancel: Cancel) -> bool:
    """Whether the model runs on this server, checked before any text is sent; False when the server does not say.

    A cloud model can have any name. Raises ModelMissing for a cloud model, ModelUnavailable, Cancelled.
    """
    engine.refuse_cloud(model)
    try:
        shown = http.fetch(server, "/api/show", {"model": model}, cancel=cancel)
    except ServerFault:
        return False
    if http.typed(shown, dict).get("remote_host") or http.typed(shown, dict).get("remote_model"):
        raise engine.cloud(model)
    return True


def _tag(model: Mapping[str, Any]) -> Tag:
    details = http.typed(model.get("details"), dict)
    return Tag(
        name=http.typed(model.get("name"), str) or http.typed(model.get("model"), str),
        size=http.typed(model.get("size"), int),
        digest=http.typed(model.get("digest"), str),
        capabilities=http.names(model.get("capabilities")),
        remote=http.typed(model.get("remote_host"), str),
        modified_at=http.typed(model.get("modified_at"), str),
        context_length=http.typed(details.get("context_length"), int),
        family=http.typed(details.get("family"), str),
    )


@frozen
class RunningModel:
    name: str
    size: int  # bytes
    in_vram: int  # bytes of it on the graphics card
    context: int  # tokens it was loaded with, 0 on servers that do not say


def version(host: str) -> str:
    return str(_fetch(host, "/api/version").get("version") or "of unknown version")


def keeps_prompts(host: str) -> bool:
    """Whether the server keeps a prompt in memory when it reads another one, as Ollama does since 0.30."""
    try:
        found = re.match(r"(\d+)\.(\d+)", version(host))
    except ModelUnavailable:
        return False
    return found is not None and (int(found[1]), int(found[2])) >= (0, 30)


def running(host: str, timeout: float = _TIMEOUT) -> list[RunningModel]:
    """The models that are loaded. Raises ModelUnavailable."""
    sizes = ("size", "size_vram", "context_length")
    return [
        RunningModel(str(each.get("name")), *(http.typed(each.get(key), int) for key in sizes))
        for each in http.objects(_fetch(host, "/api/ps", timeout=timeout).get("models"))
    ]


def model_info(host: str, name: str) -> tuple[int, tuple[str, ...]]:
    """The tokens that a model was trained with, 0 where the server does not say, and what it can."""
    answer = _fetch(host, "/api/show", {"model": name})
    info = http.typed(answer.get("model_info"), dict)
    context = http.typed(info.get(f"{info.get('general.architecture')}.context_length"), int)
    return context, http.names(answer.get("capabilities"))


def _fetch(host: str, path: str, body: Mapping[str, Any] | None = None, *, timeout: float = _TIMEOUT) -> dict[str, Any]:
    """The JSON object of a response. Raises ModelUnavailable for anything else."""
    server = http.parse_address(host)
    try:
        answer = http.fetch(server, path, body, timeout=timeout)
    except ServerFault as fault:
        raise http.wrong_server(server, fault.message) from fault
    if not isinstance(answer, dict):
        raise http.wrong_server(server)
    return answer


class LineParser(ReplyParser):
    def feed(self, line: bytes) -> Iterator[Chunk]:
        """The chunks of one line; Done for the last line. Raises ServerFault and ModelMissing."""
        if not line.strip():
            return
        answer = chat.read_object(line)
        if answer.get("remote_host"):
            raise engine.cloud(self._model)
        message = http.typed(answer.get("message"), dict)
        yield from self.message(message.get("thinking"), message.get("content"))
        if calls := http.objects(message.get("tool_calls")):
            given = [(call.get("id"), http.typed(call.get("function"), dict)) for call in calls]
            named = [each for each in given if isinstance(each[1].get("name"), str)]
            yield from self.calls([(id, function["name"], function.get("arguments")) for id, function in named])
        if answer.get("done"):
            yield from self.flush(whole=True)
            counts = ("prompt_eval_count", "eval_count", "load_duration")
            tokens_in, tokens_out, load_ns = (http.typed(answer.get(key), int) for key in counts)
            finish, model = str(answer.get("done_reason") or "stop"), str(answer.get("model") or self._model)
            yield Done(finish, model, tokens_in, tokens_out, load_ns // 1_000_000)

    def end(self) -> Iterator[Chunk]:
        raise ServerFault("incomplete")


def parse_keep_alive(value: str | int | None) -> str | int | None:
    """How long to keep the model loaded. A quoted number means seconds to a person and is an error to the server."""
    if isinstance(value, str):
        value = value.strip()
        return int(value) if re.fullmatch(r"-?\d+", value) else value or None
    return value


SUGGESTED = "qwen3:4b"


@frozen
class OllamaEngine(Engine):
    host: str
    settings: ChatSettings = ChatSettings()
    keep_alive: str | int | None = None
    name = "ollama"
    start = http.OLLAMA.start
    private_only = True
    chat_path, limit_option = "/api/chat", "num_predict"
    thinking_field, tool_name_field = "thinking", "tool_name"
    parser = LineParser
    no_model = f"has no model of its own that can chat: run `ollama pull {SUGGESTED}`"

    @property
    def address(self) -> Address:
        return http.parse_address(self.host)

    def listing(self, timeout: float = PROBE_TIMEOUT) -> list[Tag]:
        return list_tags(self.host, timeout)

    def runs_here(self, model: str, cancel: Cancel) -> bool:
        return is_local(self.address, model, cancel)

    def vectors(self, model: str, texts: Sequence[str], cancel: Cancel) -> Any:
        body = {"model": model, "input": texts, "truncate": True}
        return http.typed(http.fetch(self.address, "/api/embed", body, cancel=cancel), dict).get("embeddings")

    def version(self, model: str) -> str:
        tag = engine.find(model, self.listing(http.CONNECT_TIMEOUT))
        if tag is None:
            raise self.missing(model)
        return f"{tag.name} {tag.digest}"

    def loaded(self, models: Sequence[str]) -> list[str] | None:
        try:
            found = running(self.host, PROBE_TIMEOUT)
        except ModelUnavailable:
            return None
        return [name for name in models if any(engine.same_model(each.name, name) for each in found)]

    def pull_command(self, model: str) -> str:
        return f"ollama pull {model}"

    def fields(self, request: Request, options: Mapping[str, Any]) -> dict[str, Any]:
        limit = {} if request.limit is None else {"num_predict": request.limit}
        options = {**options, "num_ctx": self.settings.num_ctx, **limit}
        given = {"think": request.think, "format": request.format, "keep_alive": parse_keep_alive(self.keep_alive)}
        asked = {name: value for name, value in given.items() if value is not None}
        return {"truncate": False, "shift": False, "options": options, **asked}

    def call_fields(self, index: int, call: ToolCall) -> dict[str, Any]:
        return {"function": {"index": index, **unmarked({"name": call.name, "arguments": call.arguments})}}

    def refused(self, fault: ServerFault, body: Mapping[str, Any]) -> tuple[set[str], str]:
        if fault.kind == "no tools" and "tools" in body:
            return engine.without_tools(body)
        if fault.kind == "no thinking" and body.get("think"):
            return {"think"}, f"the model {body['model']!r} has no separate thinking; asked again without it"
        return set(), ""
