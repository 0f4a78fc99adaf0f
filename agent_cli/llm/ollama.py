"""A client of Ollama's HTTP API: chat, embeddings, the models of the server, where they run, and new ones.

`num_ctx` is the same in every request: a change makes the server load the model again. `truncate` and `shift` are off:
by default the server silently drops messages when a conversation grows too long, and the person must be told.
"""

import re
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec, module_from_spec
from typing import Any

from agent_cli import text
from agent_cli.errors import Cancelled, ModelFailed, ModelMissing, ModelUnavailable
from agent_cli.llm import chat, engine, http
from agent_cli.llm.model import Cancel, Chunk, Done
from agent_cli.messages import ToolCall
from agent_cli.values import frozen

_TIMEOUT = 5.0  # seconds, for answers that need no model


def _tag(model: Mapping[str, Any]) -> engine.Tag:
    details = http.typed(model.get("details"), dict)
    return engine.Tag(
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
    return str(_fetch(http.parse_address(host), "/api/version").get("version") or "of unknown version")


def keeps_prompts(host: str) -> bool:
    """Whether the server keeps a prompt in memory when it reads another one, as Ollama does since 0.30."""
    try:
        found = re.match(r"(\d+)\.(\d+)", version(host))
    except ModelUnavailable:
        return False
    return found is not None and (int(found[1]), int(found[2])) >= (0, 30)


def running(host: str, timeout: float = _TIMEOUT) -> list[RunningModel]:
    sizes = ("size", "size_vram", "context_length")
    return [
        RunningModel(str(each.get("name")), *(http.typed(each.get(key), int) for key in sizes))
        for each in http.objects(_fetch(http.parse_address(host), "/api/ps", timeout=timeout).get("models"))
    ]


def model_info(host: str, name: str) -> tuple[int, tuple[str, ...]]:
    """The tokens that a model was trained with, 0 where the server does not say, and what it can."""
    answer = _fetch(http.parse_address(host), "/api/show", {"model": name})
    info = http.typed(answer.get("model_info"), dict)
    context = http.typed(info.get(f"{info.get('general.architecture')}.context_length"), int)
    return context, http.names(answer.get("capabilities"))


def _fetch(
    server: http.Address, path: str, body: Mapping[str, Any] | None = None, *, timeout: float = _TIMEOUT
) -> dict[str, Any]:
    """The JSON object of a response. Raises ModelUnavailable for anything else."""
    try:
        answer = http.fetch(server, path, body, timeout=timeout)
    except http.ServerFault as fault:
        raise http.wrong_server(server, fault.message) from fault
    if not isinstance(answer, dict):
        raise http.wrong_server(server)
    return answer


class LineParser(chat.ReplyParser):
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
            tokens = (http.typed(answer.get(key), int) for key in ("prompt_eval_count", "eval_count"))
            finish, model = str(answer.get("done_reason") or "stop"), str(answer.get("model") or self._model)
            yield Done(finish, model, *tokens)

    def end(self) -> Iterator[Chunk]:
        raise http.ServerFault("incomplete")


SUGGESTED = "qwen3:4b"


@frozen
class OllamaEngine(engine.Engine):
    host: str
    settings: chat.ChatSettings = chat.ChatSettings()
    keep_alive: str = ""
    private_host: bool = True  # whether a server on the internet is refused
    name = "ollama"
    start = http.OLLAMA.start
    private_only = True
    chat_path, limit_option = "/api/chat", "num_predict"
    thinking_field, tool_name_field = "thinking", "tool_name"
    parser = LineParser
    no_model = f"has no model of its own that can chat: run `ollama pull {SUGGESTED}`"

    @property
    def address(self) -> http.Address:
        return replace(http.parse_address(self.host), private_only=self.private_host)

    def listing(self, timeout: float = engine.PROBE_TIMEOUT) -> list[engine.Tag]:
        models = _fetch(self.address, "/api/tags", timeout=timeout).get("models")
        if not isinstance(models, list | None):
            raise http.wrong_server(self.address)
        return [tag for tag in map(_tag, http.objects(models)) if tag.name]

    def runs_here(self, model: str, cancel: Cancel) -> bool:
        """Asked before any text is sent, for a cloud model can have any name."""
        engine.refuse_cloud(model)
        try:
            shown = http.typed(http.fetch(self.address, "/api/show", {"model": model}, cancel=cancel), dict)
        except http.ServerFault:
            return False
        if shown.get("remote_host") or shown.get("remote_model"):
            raise engine.cloud(model)
        return True

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
            found = running(self.host, engine.PROBE_TIMEOUT)
        except ModelUnavailable:
            return None
        return [name for name in models if any(engine.same_model(each.name, name) for each in found)]

    def pull_command(self, model: str) -> str:
        return f"ollama pull {model}"

    def fields(self, request: chat.Request, options: Mapping[str, Any]) -> dict[str, Any]:
        limit = {} if request.limit is None else {"num_predict": request.limit}
        options = {**options, "num_ctx": self.settings.num_ctx, **limit}
        period = self.keep_alive.strip()  # a number means seconds to a person, and quoted it is an error to the server
        keep_alive = int(period) if re.fullmatch(r"-?\d+", period) else period or None
        given = {"think": request.think, "format": request.format, "keep_alive": keep_alive}
        asked = {name: value for name, value in given.items() if value is not None}
        return {"truncate": False, "shift": False, "options": options, **asked}

    def call_fields(self, index: int, call: ToolCall) -> dict[str, Any]:
        return {"function": {"index": index, **chat.unmarked({"name": call.name, "arguments": call.arguments})}}

    def refused(self, fault: http.ServerFault, body: Mapping[str, Any]) -> tuple[set[str], str]:
        if fault.kind == "no tools" and "tools" in body:
            return engine.without_tools(body)
        if fault.kind == "no thinking" and body.get("think"):
            return {"think"}, f"the model {body['model']!r} has no separate thinking; asked again without it"
        return set(), ""


# Downloads, through the official package, whose slow import does not matter here.


@frozen
class DownloadProgress:
    """The state of a download. `speed`: bytes per second, 0 while unknown."""

    status: str
    completed: int = 0  # bytes
    total: int = 0
    speed: float = 0.0

    @property
    def percent(self) -> int:
        return 100 * self.completed // self.total if self.total else 0

    @property
    def coarse_line(self) -> str:
        return f"{self.status} {self.percent // 10 * 10} %" if self.total else self.status

    @property
    def line(self) -> str:
        if not self.total:
            return self.status
        sizes = f"{text.format_size(self.completed)} of {text.format_size(self.total)}"
        parts = [f"{self.status} {self.percent} %", sizes]
        if self.speed:
            left = max(0, round((self.total - self.completed) / self.speed))
            parts += [f"{text.format_size(self.speed)}/s", f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02} left"]
        return " · ".join(parts)


def pull(host: str, name: str, cancel: Cancel | None = None) -> Iterator[DownloadProgress]:
    """Download a model. Raises ModelMissing, ModelFailed, ModelUnavailable, Cancelled that says how to continue."""
    engine.refuse_cloud(name)
    began, percent = time.monotonic(), 0
    # Bytes of each layer of the model, by its digest: those that are here, all, and those that were here before.
    completed, sizes, present_before = Counter[str](), Counter[str](), Counter[str]()
    try:
        for step in _pull(http.parse_address(host), name, Cancel() if cancel is None else cancel):
            progress = DownloadProgress(step.status or "")
            if step.digest and step.total:
                present_before.setdefault(step.digest, step.completed or 0)
                completed[step.digest] = max(step.completed or 0, completed[step.digest])
                sizes[step.digest] = step.total
                arrived, took = completed.total() - present_before.total(), time.monotonic() - began
                speed = arrived / took if took > 0.5 else 0.0
                progress = DownloadProgress(progress.status, completed.total(), sizes.total(), speed)
                percent = progress.percent
            yield progress
    except Cancelled as error:
        raise pull_stopped(name, percent) from error


def pull_stopped(name: str, percent: int) -> Cancelled:
    how = f"`agent models pull {name}` goes on from there"
    return Cancelled(f"stopped at {percent} %; what has arrived is kept, and {how}")


def _pull(server: http.Address, name: str, cancel: Cancel) -> Iterator[Any]:
    if "ollama" not in sys.modules and (spec := find_spec("ollama")):
        # Without running its __init__, which builds a client from environment variables that may not suit it.
        sys.modules["ollama"] = module_from_spec(spec)
    import httpx  # late like the package, which lets httpx's exceptions through
    from ollama._client import Client
    from ollama._types import ResponseError

    connected: list[socket.socket] = []

    def stop() -> None:
        for each in connected:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)  # closing would not wake the thread that waits for the next line

    def without_key(request: httpx.Request) -> None:
        request.headers.pop("authorization", None)  # a key for ollama.com that the package sends everywhere

    def follow(response: httpx.Response) -> None:
        connected.append(response.extensions["network_stream"].get_extra_info("socket"))
        if cancel:
            stop()

    client: Any = Client(
        server.url,
        timeout=httpx.Timeout(None, connect=http.CONNECT_TIMEOUT),
        trust_env=False,
        follow_redirects=False,
        event_hooks={"request": [without_key], "response": [follow]},
    )
    status = ""
    try:
        with cancel.on_cancel(stop):
            for step in client.pull(name, stream=True):
                cancel.check()
                status = step.status or ""
                yield step
    except ResponseError as error:
        fault = http.as_fault(error.error, error.status_code if error.status_code > 0 else 200)
        if "file does not exist" in fault.message:
            raise ModelMissing(f"there is no model {name!r} to fetch: see https://ollama.com/library") from error
        raise engine.as_error(fault, name, server) from error
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        cancel.check()
        raise http.unavailable(server, "no connection") from error
    # RuntimeError: closed. The last three: JSON that is not Ollama's.
    except (httpx.HTTPError, RuntimeError, ValueError, TypeError, AttributeError) as error:
        cancel.check()
        why = f"the answer of the server at {server.url} is incomplete or cannot be read"
        raise ModelFailed(f"{why}: run the same command again to continue") from error
    finally:
        client.close()
    if status != "success":
        why = f"the server stopped fetching {name!r} before it was complete"
        raise ModelFailed(f"{why}: run the same command again to continue")
