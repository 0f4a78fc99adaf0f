"""One HTTP request and its response, line by line.

Our own, because the official package takes 0.2 s to import, loses the ids of tool calls and nested tool schemas, and
breaks on U+0085: a response is split at newlines only. It never uses a proxy or a redirect, and no key but the one of
this address: what a person says to a local assistant goes only to the host they named.

Reading has no time limit: a model may load silently for minutes, and a client that gives up makes the server stop
loading. The person ends the waiting, through `Cancel`.

The response of an HTTP/1.1 server, read piece by piece from its socket and parsed by httptools.

Not with http.client, which imports the email package to read headers: 10 ms, and 30 modules, before the first word of
an answer.
"""

import json
import socket
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any

from httptools import HttpParserCallbackError, HttpParserError, HttpResponseParser

from agent_cli.errors import ConfigError
from agent_cli.llm.model import Cancel
from agent_cli.llm.server import faults
from agent_cli.llm.server.address import Address

_PIECE = 65_536  # bytes that are read at once
_LONGEST_HEAD = 65_536  # bytes of status and headers
_LONGEST_LINE = 64 << 20  # bytes


class HttpResponse:
    """Its `status` is 0 until the head was read. Raises OSError, and ValueError for what is not HTTP or ends early."""

    def __init__(self, sock: socket.socket):
        self._sock = sock
        self._parser = HttpResponseParser(self)  # calls the methods below whose names begin with on_
        self.status = 0
        self.retry_after = 0  # seconds
        self._head_size = 0
        self._says_where_it_ends = False
        self._body: list[bytes] = []
        self._ended = False

    def read_head(self) -> int:
        """Read up to the body; returns the status."""
        while not self.status:
            self._receive()
        return self.status

    def read(self) -> bytes:
        """The bytes of the body that have arrived; empty at its end."""
        while not (self._body or self._ended):
            self._receive()
        piece = b"".join(self._body)
        self._body.clear()
        return piece

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name == b"content-length" or (name, value.lower()) == (b"transfer-encoding", b"chunked"):
            self._says_where_it_ends = True
        elif name == b"retry-after" and value.isdigit():  # servers of models send no dates
            self.retry_after = int(value[:6])

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200:  # below, as of Continue, the response comes after it
            self.status = status

    def on_body(self, piece: bytes) -> None:
        self._body.append(piece)

    def on_message_complete(self) -> None:
        self._ended = self.status > 0

    def _receive(self) -> None:
        data = self._sock.recv(_PIECE)
        if not data:
            if self._says_where_it_ends or not self.status:
                raise ValueError("the response ends before it is whole")
            self._ended = True
            return
        try:
            self._parser.feed_data(data)
        except HttpParserCallbackError as error:  # Ctrl-C, say, while a method of this class ran
            raise error.__context__ or error from None
        except HttpParserError as error:
            if not self._ended:  # what a server sends after its response counts for nothing
                raise ValueError(f"the response is not HTTP: {error}") from error
        self._head_size += len(data)
        if not self.status and self._head_size > _LONGEST_HEAD:
            raise ValueError("the head of the response is too long")


CONNECT_TIMEOUT = 3.0
"""Seconds for resolving the host and connecting to it."""

_HEADERS = {"Content-Type": "application/json", "Accept": "application/x-ndjson, application/json"}


def fetch(
    address: Address,
    path: str,
    body: Mapping[str, Any] | None = None,
    *,
    timeout: float | None = None,
    cancel: Cancel | None = None,
) -> Any:
    """The JSON of a complete response. Raises ServerFault, ModelUnavailable, Cancelled."""
    whole = b"\n".join(stream_lines(address, path, body, timeout=timeout, cancel=cancel))
    try:
        return json.loads(whole.decode("utf-8", "replace"))
    except ValueError as error:
        raise faults.wrong_server(address) from error


def fetch_object(
    address: Address, path: str, body: Mapping[str, Any] | None = None, *, timeout: float | None = None
) -> dict[str, Any]:
    """The JSON object of a complete response. Raises ModelUnavailable for anything else."""
    try:
        answer = fetch(address, path, body, timeout=timeout)
    except faults.ServerFault as fault:
        raise faults.wrong_server(address, fault.message) from fault
    if not isinstance(answer, dict):
        raise faults.wrong_server(address)
    return answer


def int_or_zero(value: Any) -> int:
    """A number of an answer; 0 for anything else."""
    return value if isinstance(value, int) else 0


def stream_lines(
    address: Address,
    path: str,
    body: Mapping[str, Any] | None = None,
    *,
    timeout: float | None = None,
    cancel: Cancel | None = None,
) -> Generator[bytes, None, None]:
    """GET, or POST a body; yields the response's lines. Raises ServerFault, ModelUnavailable, Cancelled."""
    cancel = Cancel() if cancel is None else cancel
    sock = _connect(address, min(CONNECT_TIMEOUT, timeout or CONNECT_TIMEOUT), cancel)
    connection = _HttpConnection(address, sock, timeout, cancel)
    try:
        with cancel.on_cancel(connection.shutdown):
            status = connection.request(path, body)
            if status == 200:
                yield from split_lines(connection.read)
            else:
                body = b"\n".join(split_lines(connection.read))
                raise faults.from_response(status, body, connection.retry_after)
    finally:
        connection.close()


def split_lines(read: Callable[[], bytes]) -> Iterator[bytes]:
    """The lines of what is read until it is empty. Raises ServerFault for one that is too long to be an answer's."""
    begun: list[bytes] = []
    length = 0
    while piece := read():
        first, *others = piece.split(b"\n")
        begun.append(first)
        length += len(first)
        if length > _LONGEST_LINE:
            raise faults.ServerFault("unreadable", f"a line of more than {_LONGEST_LINE >> 20} MiB")
        if others:
            yield b"".join(begun)
            yield from others[:-1]
            begun, length = [others[-1]], len(others[-1])
    if length:
        yield b"".join(begun)


class _HttpConnection:
    """A connection for one request."""

    def __init__(self, address: Address, sock: socket.socket, timeout: float | None, cancel: Cancel):
        self._address, self._sock, self._cancel, self._timeout = address, sock, cancel, timeout
        sock.settimeout(timeout)
        self._response = HttpResponse(sock)

    @property
    def retry_after(self) -> int:
        return self._response.retry_after

    def request(self, path: str, body: Mapping[str, Any] | None) -> int:
        """Send the request and return the status of the response."""
        with self._translate_errors():
            self._sock.sendall(_request(self._address, path, body))
            status = self._response.read_head()
        self._cancel.check()
        return status

    def read(self) -> bytes:
        """The bytes that have arrived; empty at the end."""
        with self._translate_errors():
            piece = self._response.read()
        self._cancel.check()
        return piece

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:
            self._cancel.check()
            if isinstance(error, TimeoutError) and self._timeout:
                raise faults.unavailable(self._address, f"silent for {self._timeout:g} s") from error
            raise faults.ServerFault("cut", str(error), 200 if self._response.status else 0) from error

    def shutdown(self) -> None:
        """Wake the thread that reads or writes; may be called from any thread."""
        with suppress(OSError):  # closed already
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)  # under TLS too, whose own shutdown is not thread-safe

    def close(self) -> None:
        self._sock.close()


def _request(address: Address, path: str, body: Mapping[str, Any] | None) -> bytes:
    """A request as it is sent. Raises ValueError for what no header can hold."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Host": address.netloc, "Accept-Encoding": "identity", **_HEADERS}
    if data is not None:
        headers["Content-Length"] = str(len(data))
    if address.key:
        headers["Authorization"] = f"Bearer {address.key}"
    lines = [f"{'GET' if data is None else 'POST'} {address.path}{path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if not all(line.isprintable() for line in lines):
        raise ValueError("a header holds a control character")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (data or b"")


def _connect(address: Address, seconds: float, cancel: Cancel) -> socket.socket:
    """A connected socket. Connects on another thread, because nothing can interrupt the resolving of a name."""
    results: SimpleQueue[socket.socket | OSError | ValueError | ConfigError | None] = SimpleQueue()
    abandoned = threading.Event()

    def dial() -> None:
        results.put(_open_socket(address, seconds))
        if abandoned.is_set():
            _close_sockets(results)

    threading.Thread(target=dial, name="dial", daemon=True).start()
    with cancel.on_cancel(lambda: results.put(None)):
        try:
            result = results.get(timeout=seconds)
        except Empty:
            result = TimeoutError(f"no answer within {seconds:g} s")
    if isinstance(result, socket.socket) and not cancel:
        return result
    abandoned.set()
    _close_sockets(results)
    if isinstance(result, socket.socket):
        result.close()
    cancel.check()
    if isinstance(result, ConfigError):
        raise result
    why = getattr(result, "strerror", None) or str(result) or type(result).__name__
    raise faults.unavailable(address, why[:1].lower() + why[1:]) from (
        result if isinstance(result, Exception) else None
    )


def _open_socket(address: Address, seconds: float) -> socket.socket | OSError | ValueError | ConfigError:
    try:
        host = private_host(address) if address.private_only else address.host
        # In bytes where that is possible: for a string, Python imports what encodes international names.
        sock = socket.create_connection((host.encode() if host.isascii() else host, address.port), seconds)  # type: ignore[arg-type]
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # detects a host that vanished during a long silence
        if address.scheme == "http":
            return sock
        import ssl  # 10 ms, needed only for TLS

        return ssl.create_default_context().wrap_socket(sock, server_hostname=address.host)
    except (OSError, ValueError, ConfigError) as error:  # ValueError: a name that cannot be encoded
        return error


def private_host(address: Address) -> str:
    """An IP address of the host, none of which is on the internet. Raises ConfigError, before anything is sent."""
    import ipaddress  # 3 ms, and only where a host may be refused

    found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    ips = [ipaddress.ip_address(str(each[4][0]).partition("%")[0]) for each in found]
    public = [ip for ip in ips if (getattr(ip, "ipv4_mapped", None) or ip).is_global]
    if public:
        raise ConfigError(
            f"the model server at {address.url} is on the internet ({public[0]}), so what you say would leave your "
            "network: `agent config set words_leave_machine true` allows it"
        )
    return str(found[0][4][0])


def _close_sockets(results: "SimpleQueue[Any]") -> None:
    with suppress(Empty):
        while True:
            late = results.get_nowait()
            if isinstance(late, socket.socket):
                late.close()
