"""One request and its answer, line by line, over the HTTP client of the standard library.

Our own, because the official package takes 0.2 s to import, loses the ids of tool calls and nested tool schemas, and
breaks on U+0085: an answer is split at newlines and nowhere else. Never a proxy, a redirect or an Authorization
header: what a person says to a local assistant goes to the host they named and no further.

There is no limit on reading: a model may load for minutes in silence, and a client that gives up makes the server stop
loading. What ends the waiting is the person, through `Cancel`.
"""

import json
import socket
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from types import ModuleType
from typing import Any

from agent_cli.llm.model import Cancel
from agent_cli.llm.ollama import faults
from agent_cli.llm.ollama.address import Address

CONNECT = 3.0
"""Seconds for finding the host and connecting to it."""

_HEADERS = {"Content-Type": "application/json", "Accept": "application/x-ndjson, application/json"}


def fetch(
    address: Address,
    path: str,
    body: Mapping[str, Any] | None = None,
    *,
    timeout: float | None = None,
    cancel: Cancel | None = None,
) -> Any:
    """The JSON of a whole answer. Raises Fault, ModelUnavailable, Cancelled."""
    whole = b"\n".join(lines(address, path, body, timeout=timeout, cancel=cancel))
    try:
        return json.loads(whole.decode("utf-8", "replace"))
    except ValueError as error:
        raise faults.not_ollama(address.url) from error


def lines(
    address: Address,
    path: str,
    body: Mapping[str, Any] | None = None,
    *,
    timeout: float | None = None,
    cancel: Cancel | None = None,
) -> Generator[bytes, None, None]:
    """GET, or POST a body, and give the lines of the answer as they come. Raises Fault, ModelUnavailable, Cancelled."""
    cancel = Cancel() if cancel is None else cancel
    link = _Link(address, _dial(address, min(CONNECT, timeout or CONNECT), cancel), timeout, cancel)
    try:
        with cancel.on_cancel(link.shut):
            status = link.ask(path, body)
            if status == 200:
                yield from _split(link.read)
            else:
                raise faults.answered(status, b"".join(iter(link.read, b"")))
    finally:
        link.close()


def _split(read: Callable[[], bytes]) -> Iterator[bytes]:
    rest = b""
    while piece := read():
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
    if rest:
        yield rest


def _http(scheme: str) -> ModuleType:
    """http.client: 30 ms, and nothing that a scripted or an offline model would need.

    It imports ssl whether that is needed or not, a third of its time: for a plain address it is kept from doing so, as
    on a Python that was built without.
    """
    if scheme == "http" and "ssl" not in sys.modules:
        sys.modules["ssl"] = None  # type: ignore[assignment]
        try:
            import http.client
        finally:
            del sys.modules["ssl"]
    else:
        import http.client
    return http


class _Link:
    """A connection that carries one request."""

    def __init__(self, address: Address, sock: socket.socket, timeout: float | None, cancel: Cancel):
        http = _http(address.scheme)
        self._address, self._sock, self._cancel, self._timeout = address, sock, cancel, timeout
        self._strange = (OSError, ValueError, http.client.HTTPException)
        sock.settimeout(timeout)
        self._connection = http.client.HTTPConnection(address.host, address.port)
        self._connection.sock = sock
        self._response: Any = None

    def ask(self, path: str, body: Mapping[str, Any] | None) -> int:
        """Send the request; the status of the answer, once its first event has come."""
        told = None if body is None else json.dumps(body).encode()
        with self._translated():
            self._connection.request("GET" if told is None else "POST", self._address.path + path, told, _HEADERS)
            self._response = self._connection.getresponse()
        self._cancel.check()
        return int(self._response.status)

    def read(self) -> bytes:
        """What has arrived, or nothing at the end."""
        assert self._response is not None
        with self._translated():
            piece = self._response.read1(65536)
        self._cancel.check()
        return bytes(piece)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except self._strange as error:
            self._cancel.check()
            if isinstance(error, TimeoutError) and self._timeout:
                raise faults.unavailable(self._address.url, f"silent for {self._timeout:g} s") from error
            raise faults.Fault("cut", str(error), 200 if self._response else 0) from error

    def shut(self) -> None:
        """Wake whoever reads or writes, from any thread."""
        with suppress(OSError):  # closed already
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)  # under TLS too: its own shutdown is not for threads

    def close(self) -> None:
        if self._response:
            self._response.close()
        self._connection.close()
        self._sock.close()


def _dial(address: Address, seconds: float, cancel: Cancel) -> socket.socket:
    """Connected. On a thread of its own, because nothing else can end the looking up of a name."""
    results: SimpleQueue[socket.socket | OSError | ValueError | None] = SimpleQueue()
    gone = threading.Event()

    def dial() -> None:
        results.put(_connect(address, seconds))
        if gone.is_set():
            _discard(results)

    threading.Thread(target=dial, name="dial", daemon=True).start()
    with cancel.on_cancel(lambda: results.put(None)):
        try:
            result = results.get(timeout=seconds)
        except Empty:
            result = TimeoutError(f"no answer within {seconds:g} s")
    if isinstance(result, socket.socket) and not cancel:
        return result
    gone.set()
    _discard(results)
    if isinstance(result, socket.socket):
        result.close()
    cancel.check()
    why = getattr(result, "strerror", None) or str(result) or type(result).__name__
    raise faults.unavailable(address.url, why[:1].lower() + why[1:]) from (
        result if isinstance(result, Exception) else None
    )


def _connect(address: Address, seconds: float) -> socket.socket | OSError | ValueError:
    try:
        sock = socket.create_connection((address.host, address.port), seconds)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # notices a host that vanished during a long silence
        if address.scheme == "http":
            return sock
        import ssl  # 10 ms, for the few whose server stands behind TLS

        return ssl.create_default_context().wrap_socket(sock, server_hostname=address.host)
    except (OSError, ValueError) as error:  # ValueError: a name that cannot be encoded
        return error


def _discard(results: "SimpleQueue[socket.socket | OSError | ValueError | None]") -> None:
    with suppress(Empty):
        while True:
            late = results.get_nowait()
            if isinstance(late, socket.socket):
                late.close()
