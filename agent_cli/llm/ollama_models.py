"""Lists, shows and pulls models of an Ollama server, through the official package, and downloads with progress.

These are commands that a person waits for, so the 0.2 s of its import do not matter, and the package follows the
server's API from version to version. What it drops (a model's capabilities, where it runs) is asked for in ollama.py.
The server keeps what has arrived, so after a broken connection a download is tried again, and a later run continues
where this one stopped.
"""

import os
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from agent_cli import text
from agent_cli.errors import AgentError, Cancelled, ModelFailed, ModelMissing, ModelUnavailable
from agent_cli.llm import engine, http, ollama
from agent_cli.llm.http import Address
from agent_cli.llm.model import Cancel
from agent_cli.values import frozen

READ_TIMEOUT = 30.0
"""Seconds that a list or a description may take."""

# The package builds a client while it is imported, from variables whose values it may not accept (quotes in
# OLLAMA_HOST, an unsupported kind of proxy): the import would fail.
_HIDDEN_VARIABLES = ("OLLAMA_HOST", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")

_CONNECTED = ("connection.connect_tcp.complete", "connection.start_tls.complete")  # events of httpcore

_UNREADABLE = (ValueError, TypeError, AttributeError)  # raised by the package for JSON that is not Ollama's


@frozen
class ListedModel:
    name: str
    size: int  # bytes
    modified: datetime | None
    context_length: int  # tokens it was trained with, 0 where the server does not say
    capabilities: tuple[str, ...]
    loaded: bool
    cloud: bool


@frozen
class ModelDetails:
    name: str
    family: str
    parameters: str  # how many, such as "8.2B"
    quantization: str
    context_length: int
    embedding_length: int
    capabilities: tuple[str, ...]
    settings: str  # the PARAMETER lines of its Modelfile


@frozen
class PullStep:
    status: str
    digest: str = ""
    completed: int = 0  # bytes
    total: int = 0


class PullInterrupted(ModelFailed):
    """The connection broke before a model was complete: another pull continues where it stopped."""


def listing(host: str) -> list[ListedModel]:
    """The models of the server, newest first. Raises ModelUnavailable."""
    server = http.parse_address(host)
    with _client(server) as client:
        listed, running = client.list().models, client.ps().models
    known = ollama.list_tags(host, timeout=READ_TIMEOUT)
    loaded = [model.model or "" for model in running]
    return [_listed(model, known, loaded) for model in listed if model.model]


def _listed(model: Any, known: list[engine.Tag], loaded: list[str]) -> ListedModel:
    tag = engine.find(model.model, known) or engine.Tag(model.model)
    return ListedModel(
        name=model.model,
        size=int(model.size or 0),
        modified=model.modified_at,
        context_length=tag.context_length,
        capabilities=tag.capabilities,
        loaded=any(engine.same_model(model.model, name) for name in loaded),
        cloud=bool(tag.remote) or engine.is_cloud(model.model),
    )


def show(host: str, name: str) -> ModelDetails:
    """A model's details. Raises ModelMissing, ModelUnavailable."""
    server = http.parse_address(host)
    with _client(server, name) as client:
        answer = client.show(name)
    info = answer.modelinfo or {}
    architecture = info.get("general.architecture", "")
    return ModelDetails(
        name=name,
        family=(answer.details and answer.details.family) or "",
        parameters=(answer.details and answer.details.parameter_size) or "",
        quantization=(answer.details and answer.details.quantization_level) or "",
        context_length=int(info.get(f"{architecture}.context_length") or 0),
        embedding_length=int(info.get(f"{architecture}.embedding_length") or 0),
        capabilities=tuple(answer.capabilities or ()),
        settings=answer.parameters or "",
    )


def pull(host: str, name: str, cancel: Cancel | None = None) -> Iterator[PullStep]:
    """Pull a model from the library. Raises ModelMissing, ModelFailed, ModelUnavailable, Cancelled."""
    engine.refuse_cloud(name)
    server, status = http.parse_address(host), ""
    cancel = Cancel() if cancel is None else cancel
    sockets: list[socket.socket] = []

    def stop() -> None:
        """End the connection; closing it would not wake the thread that waits for the next line."""
        for each in sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def connected(opened: socket.socket) -> None:
        sockets.append(opened)
        if cancel:
            stop()

    with (
        cancel.on_cancel(stop),
        _client(server, name, read=None, cancel=cancel, interrupted=PullInterrupted, connected=connected) as client,
    ):
        for step in client.pull(name, stream=True):
            cancel.check()
            status = step.status or ""
            yield PullStep(status, step.digest or "", step.completed or 0, step.total or 0)
    if status != "success":
        raise PullInterrupted(
            f"the server stopped fetching {name!r} before it was complete: run the same command again to continue"
        )


@contextmanager
def _client(
    server: Address,
    name: str = "",
    read: float | None = READ_TIMEOUT,
    cancel: Cancel | None = None,
    interrupted: type[ModelFailed] = ModelFailed,
    connected: Callable[[socket.socket], None] = lambda _: None,
) -> Iterator[Any]:
    """The package's client. `connected` is called with each connection it opens."""
    ollama = _import_ollama()
    import httpx  # late like the package, which lets httpx's exceptions through

    def prepare(request: httpx.Request) -> None:
        request.headers.pop("authorization", None)  # a key for ollama.com that the package sends everywhere
        request.extensions["trace"] = follow

    def follow(event: str, info: dict[str, Any]) -> None:
        if event in _CONNECTED:
            connected(info["return_value"].get_extra_info("socket"))

    client = ollama.Client(
        server.url,
        timeout=httpx.Timeout(read, connect=http.CONNECT_TIMEOUT),
        trust_env=False,
        follow_redirects=False,
        event_hooks={"request": [prepare]},
    )
    try:
        yield client
    except ollama.ResponseError as error:
        raise _translate(error, name, server) from error
    except (ConnectionError, httpx.ConnectError, httpx.ConnectTimeout) as error:
        if cancel is not None:
            cancel.check()
        raise http.unavailable(server, "no connection") from error
    except (httpx.HTTPError, RuntimeError, *_UNREADABLE) as error:  # RuntimeError: closed
        if cancel is not None:
            cancel.check()
        raise interrupted(f"the answer of the server at {server.url} is incomplete or cannot be read") from error
    finally:
        client.close()


def _translate(error: Any, name: str, server: Address) -> AgentError:
    fault = http.from_error(error.error, error.status_code if error.status_code > 0 else 200)
    if "file does not exist" in fault.message:
        return ModelMissing(f"there is no model {name!r} to fetch: see https://ollama.com/library")
    return ollama.as_error(fault, name, server)


def _import_ollama() -> Any:
    """The ollama package. Imported late: it takes 0.2 s."""
    if "ollama" in sys.modules:
        return sys.modules["ollama"]
    hidden = {key: os.environ.pop(key) for key in _HIDDEN_VARIABLES if key in os.environ}
    try:
        import ollama
    finally:
        os.environ.update(hidden)
    return ollama


_MAX_FAILURES = 5
"""Broken connections in a row without any bytes received."""
_SPEED_WINDOW = 10.0  # seconds over which the speed is measured


@frozen
class DownloadProgress:
    """The state of a download. `notice`: a sentence to show once. `speed`: bytes per second, 0 while unknown."""

    status: str
    completed: int = 0  # bytes
    total: int = 0
    speed: float = 0.0
    notice: str = ""

    @property
    def percent(self) -> int:
        return 100 * self.completed // self.total if self.total else 0

    @property
    def coarse_line(self) -> str:
        """The progress in tens of percent, for output where each change is a line of its own."""
        return f"{self.status} {self.percent // 10 * 10} %" if self.total else self.status

    @property
    def line(self) -> str:
        """Percent, bytes, speed and time left on one line."""
        if not self.total:
            return self.status
        parts = [
            f"{self.status} {self.percent} %",
            f"{text.format_size(self.completed)} of {text.format_size(self.total)}",
        ]
        if self.speed:
            left = max(0, round((self.total - self.completed) / self.speed))
            parts += [f"{text.format_size(self.speed)}/s", f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02} left"]
        return " · ".join(parts)


def fetch(host: str, name: str, cancel: Cancel | None = None, pause: float = 1.0) -> Iterator[DownloadProgress]:
    """Download a model, retrying when the connection breaks. Raises ModelMissing, ModelFailed, ModelUnavailable.

    Raises Cancelled with a sentence that says how to continue. `pause`: seconds before the second try, then doubled.
    """
    cancel = Cancel() if cancel is None else cancel
    totals = _Totals()
    failures = 0
    while True:
        arrived_before = totals.arrived
        try:
            for step in pull(host, name, cancel):
                yield totals.update(step)
            return
        except Cancelled as error:
            raise cancelled(name, totals.percent) from error
        except (PullInterrupted, ModelUnavailable) as error:
            failures = 1 if totals.arrived > arrived_before else failures + 1
            if failures >= _MAX_FAILURES or not totals.started:
                raise
            yield DownloadProgress(
                "", notice=f"the connection broke at {totals.percent} %; trying again, it goes on where it stopped"
            )
            try:
                cancel.wait(pause * 2 ** (failures - 1))
            except Cancelled:
                raise cancelled(name, totals.percent) from error


def cancelled(name: str, percent: int) -> Cancelled:
    return Cancelled(
        f"stopped at {percent} %; what has arrived is kept, and `agent models pull {name}` goes on from there"
    )


@dataclass
class _Totals:
    """Bytes received and expected so far, over all layers of the model, by their digests."""

    started: bool = False
    _completed: dict[str, int] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)
    _present_before: dict[str, int] = field(default_factory=dict)  # there before this run
    _speed_samples: deque[tuple[float, int]] = field(default_factory=deque)

    @property
    def arrived(self) -> int:
        """Bytes received in this run."""
        return sum(self._completed.values()) - sum(self._present_before.values())

    @property
    def percent(self) -> int:
        total = sum(self._sizes.values())
        return 100 * sum(self._completed.values()) // total if total else 0

    def update(self, step: PullStep) -> DownloadProgress:
        self.started = True
        notice = ""
        if step.digest:
            if step.digest not in self._present_before:
                self._present_before[step.digest] = step.completed
                if 0 < step.completed < step.total:
                    received = f"{text.format_size(step.completed)} of {text.format_size(step.total)}"
                    notice = f"going on where it stopped: {received} are here"
            self._completed[step.digest] = max(step.completed, self._completed.get(step.digest, 0))
            self._sizes[step.digest] = step.total
        if not step.digest or not step.total:
            return DownloadProgress(step.status, notice=notice)
        now = time.monotonic()
        self._speed_samples.append((now, self.arrived))
        while len(self._speed_samples) > 2 and now - self._speed_samples[0][0] > _SPEED_WINDOW:
            self._speed_samples.popleft()
        since, then = self._speed_samples[0]
        speed = (self.arrived - then) / (now - since) if now - since > 0.5 else 0.0
        return DownloadProgress(step.status, sum(self._completed.values()), sum(self._sizes.values()), speed, notice)
