"""Downloads models to an Ollama server, through the official package, with progress.

A person waits for it, so the package's slow import does not matter, and it follows the server's API from version to
version. The server keeps what has arrived, so after a broken connection a download is tried again, and a later run
continues where this one stopped.
"""

import socket
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec, module_from_spec
from typing import Any

from agent_cli import text
from agent_cli.errors import Cancelled, ModelFailed, ModelMissing, ModelUnavailable
from agent_cli.llm import engine, http
from agent_cli.llm.model import Cancel
from agent_cli.values import frozen

_MAX_FAILURES = 5  # broken connections in a row without any bytes received
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
        sizes = f"{text.format_size(self.completed)} of {text.format_size(self.total)}"
        parts = [f"{self.status} {self.percent} %", sizes]
        if self.speed:
            left = max(0, round((self.total - self.completed) / self.speed))
            parts += [f"{text.format_size(self.speed)}/s", f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02} left"]
        return " · ".join(parts)


class _Interrupted(ModelFailed):
    """The connection broke before a model was complete."""


def fetch(host: str, name: str, cancel: Cancel | None = None, pause: float = 1.0) -> Iterator[DownloadProgress]:
    """Download a model, retrying when the connection breaks. Raises ModelMissing, ModelFailed, ModelUnavailable.

    Raises Cancelled with a sentence that says how to continue. `pause`: seconds before the second try, then doubled.
    """
    engine.refuse_cloud(name)
    server, cancel = http.parse_address(host), Cancel() if cancel is None else cancel
    totals, failures = _Totals(), 0
    while True:
        arrived_before = totals.arrived
        try:
            for step in _pull(server, name, cancel):
                yield totals.update(step)
            return
        except Cancelled as error:
            raise cancelled(name, totals.percent) from error
        except (_Interrupted, ModelUnavailable) as error:
            failures = 1 if totals.arrived > arrived_before else failures + 1
            if failures >= _MAX_FAILURES or not totals.started:
                raise
            notice = f"the connection broke at {totals.percent} %; trying again, it goes on where it stopped"
            yield DownloadProgress("", notice=notice)
            try:
                cancel.wait(pause * 2 ** (failures - 1))
            except Cancelled:
                raise cancelled(name, totals.percent) from error


def cancelled(name: str, percent: int) -> Cancelled:
    return Cancelled(
        f"stopped at {percent} %; what has arrived is kept, and `agent models pull {name}` goes on from there"
    )


def _pull(server: http.Address, name: str, cancel: Cancel) -> Iterator[Any]:
    """The steps of one try, as the package has them."""
    if "ollama" not in sys.modules and (spec := find_spec("ollama")):
        # Without running its __init__, which builds a client from environment variables that may not suit it (quotes in
        # OLLAMA_HOST, an unsupported kind of proxy) and fails.
        sys.modules["ollama"] = module_from_spec(spec)
    import httpx  # late like the package, which lets httpx's exceptions through
    from ollama._client import Client
    from ollama._types import ResponseError

    connected: list[socket.socket] = []

    def stop() -> None:
        """End the connection; closing it would not wake the thread that waits for the next line."""
        for each in connected:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

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
        raise _Interrupted(f"the answer of the server at {server.url} is incomplete or cannot be read") from error
    finally:
        client.close()
    if status != "success":
        raise _Interrupted(
            f"the server stopped fetching {name!r} before it was complete: run the same command again to continue"
        )


class _Totals:
    """Bytes received and expected so far, over all layers of the model, by their digests."""

    def __init__(self) -> None:
        self.started = False
        self._completed: Counter[str] = Counter()
        self._sizes: Counter[str] = Counter()
        self._present_before: Counter[str] = Counter()  # there before this run
        self._speed_samples: deque[tuple[float, int]] = deque()

    @property
    def arrived(self) -> int:
        """Bytes received in this run."""
        return self._completed.total() - self._present_before.total()

    @property
    def percent(self) -> int:
        total = self._sizes.total()
        return 100 * self._completed.total() // total if total else 0

    def update(self, step: Any) -> DownloadProgress:
        self.started = True
        status, digest, completed, total = step.status or "", step.digest, step.completed or 0, step.total or 0
        notice = ""
        if digest:
            if digest not in self._present_before:
                self._present_before[digest] = completed
                if 0 < completed < total:
                    received = f"{text.format_size(completed)} of {text.format_size(total)}"
                    notice = f"going on where it stopped: {received} are here"
            self._completed[digest] = max(completed, self._completed[digest])
            self._sizes[digest] = total
        if not digest or not total:
            return DownloadProgress(status, notice=notice)
        now, samples = time.monotonic(), self._speed_samples
        samples.append((now, self.arrived))
        while len(samples) > 2 and now - samples[0][0] > _SPEED_WINDOW:
            samples.popleft()
        since, then = samples[0]
        speed = (self.arrived - then) / (now - since) if now - since > 0.5 else 0.0
        return DownloadProgress(status, self._completed.total(), self._sizes.total(), speed, notice)
