"""One HTTP request to a model server and its response, line by line; the server's address, and what can go wrong.

Our own, because the official package is slow to import, loses the ids of tool calls and nested tool schemas, and
breaks on U+0085. No proxy, no redirect and no key but the one of its address is used: what a person says to a local
assistant goes only to the host they named. Reading has no time limit: a model may load silently for minutes, and a
client that gives up makes the server stop loading. The person ends the waiting, through `Cancel`.
"""

import json
import re
import socket
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from httptools import HttpParserCallbackError, HttpParserError, HttpResponseParser

from agent_cli import text
from agent_cli.errors import ConfigError, ModelUnavailable
from agent_cli.llm.model import Cancel
from agent_cli.values import frozen

PORT = 11434
T = TypeVar("T")

_NETLOC = re.compile(  # a host or an IPv6 address in brackets, each with or without a port; an IPv6 address without
    r"\[([\w.~%:-]+)\](?::([0-9]*))?|([\w.~%-]*)(?::([0-9]*))?|([\w.~%-]*:[\w.~%-]*:[\w.~%:-]*)"
)
_DEFAULT_PORTS = {"http": 80, "https": 443}  # used only when the scheme is given
_LOOPBACK_OF = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}
_HERE = ("127.0.0.1", "::1")


@frozen
class ServerKind:
    """What a kind of server is called in sentences, and what a person can do about it."""

    name: str
    start: str  # how one is started
    setting: str  # that holds its address
    example: str = ""
    add_model: str = "`agent models` lists what it has"
    add_embedder: str = "name one that can in embed_model"


OLLAMA = ServerKind(
    "Ollama",
    "start it with `ollama serve`",
    "OLLAMA_HOST",
    "127.0.0.1:11434",
    "run `agent models pull {model}`",
    "run `ollama pull nomic-embed-text` and use that",
)


@frozen
class Address:
    scheme: str
    host: str
    port: int
    path: str = ""  # of a server behind a prefix, without the last slash
    kind: ServerKind = OLLAMA
    private_only: bool = False  # whether a host on the internet is refused
    key: str = field(default="", repr=False)  # sent as a bearer token

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"


def parse_address(value: str, kind: ServerKind = OLLAMA) -> Address:
    """The address in a value of OLLAMA_HOST, or of the setting `host`; empty means this machine. Raises ConfigError,
    also where Ollama falls back to its default: after a mistyped port the person must not reach another server."""
    cleaned = value.strip().strip("\"'").strip()
    scheme, written, rest = cleaned.partition("://")
    scheme, rest = (scheme.lower(), rest) if written else ("http", cleaned)
    netloc, _, path = rest.partition("/")
    parts = _NETLOC.fullmatch(netloc) if scheme in _DEFAULT_PORTS else None
    port = parts and (parts[2] or parts[4] or (_DEFAULT_PORTS[scheme] if written else PORT))
    if not parts or not port or not 0 < int(str(port)[:6]) < 65536 or re.search(r"[\s?#]", path):
        advice = (
            f"write it like {kind.example} or http://my-server:11434 (in {kind.setting}, or as host in the settings)"
        )
        raise ConfigError(f"the address of the model server is {value!r}: {advice}")
    host = parts[1] or parts[3] or parts[5] or ""
    path = path.strip("/")
    return Address(scheme, _LOOPBACK_OF.get(host, host), int(port), f"/{path}" if path else "", kind)


_KINDS = (  # the first pattern found in "STATUS MESSAGE" gives the kind
    ("call", r"error parsing tool call|failed to parse JSON|invalid tool call arguments"),  # first: it quotes the call
    ("context", r"exceed.{0,40}context|context.{0,30}exceed|longer than the context|max context size"),
    ("no tools", r"does not support tools"),
    ("no thinking", r"does not support thinking"),
    ("no chat", r"does not support (chat|generate)"),
    ("no embedding", r"does not support embedding"),
    ("key", r"^401 |cloud is disabled|signin_url"),
    ("wrong path", r"^40[45] (?!.*model).*(not found|not allowed)|^3\d\d "),
    ("missing", r"^404 |invalid model name|model is required|^400 model .*not found"),
    ("host refused", r"^403 $"),
    ("busy", r"^(429|503) "),
    ("template", r"jinja|template"),
    ("memory", r"requires more system memory|out of memory"),
    ("setting", r"^500 option |^400 time: |cannot unmarshal"),
    ("crash", r"^500 |^502 |^504 "),
)
_NUMBERS = re.compile(r"\((\d+) tokens\) exceeds .*?\((\d+) tokens\)")


@dataclass(eq=False)
class ServerFault(Exception):
    """An error of the server or of the connection. Never leaves `llm`. Its `kind` tells the model what can be done."""

    kind: str
    message: str = ""
    status: int = 200
    needed: int = 0  # tokens of the prompt, where the server gives them
    context: int = 0  # tokens of the context, where the server gives them
    retry_after: int = 0  # seconds after which a busy server wants to be asked again, where it says


def as_fault(value: Any, status: int = 200, retry_after: int = 0) -> ServerFault:
    """The fault of an error value: text, {"error": ...}, or either of them as JSON in a string."""
    detail: dict[str, Any] = {}
    for _ in range(6):  # more levels than any server was seen to send
        if isinstance(value, dict):
            detail = value
            value = value.get("error", value.get("message", ""))
        elif isinstance(value, str) and value.lstrip().startswith("{"):
            try:
                value = json.loads(value)
            except ValueError:
                break
    message = (value if isinstance(value, str) else json.dumps(value)).strip()
    numbers = _NUMBERS.search(message)
    needed, context = map(int, numbers.groups()) if numbers else (0, 0)
    needed = typed(detail.get("n_prompt_tokens"), int) or needed
    context = typed(detail.get("n_ctx"), int) or context
    line = f"{status} {message}"
    kinds = (kind for kind, pattern in _KINDS if re.search(pattern, line, re.IGNORECASE | re.DOTALL))
    return ServerFault(next(kinds, "other"), message, status, needed, context, retry_after)


def unavailable(address: Address, why: str) -> ModelUnavailable:
    kind = address.kind
    advice = f"{kind.start}, or set {kind.setting} to where it runs"
    return ModelUnavailable(f"no model server answers at {address.url} ({why}): {advice}", absent=True)


def wrong_server(address: Address, message: str = "") -> ModelUnavailable:
    detail = f" ({text.one_line(message, 80)})" if message else ""
    kind = address.kind
    return ModelUnavailable(f"the server at {address.url} is not {kind.name}{detail}: check {kind.setting}")


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

    def read(self) -> bytes:
        """The bytes of the body that have arrived; empty at its end."""
        while not (self._body or self._ended):
            self.receive()
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

    def receive(self) -> None:
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


CONNECT_TIMEOUT = 3.0  # seconds for resolving the host and connecting to it

Body = Mapping[str, Any] | None


def fetch(
    address: Address, path: str, body: Body = None, *, timeout: float | None = None, cancel: Cancel | None = None
) -> Any:
    """The JSON of a complete response. Raises ServerFault, ModelUnavailable, Cancelled."""
    whole = b"\n".join(stream_lines(address, path, body, timeout=timeout, cancel=cancel))
    try:
        return json.loads(whole.decode("utf-8", "replace"))
    except ValueError as error:
        raise wrong_server(address) from error


def typed(value: Any, kind: type[T]) -> T:
    """The value where it is of this kind; else 0 or what is empty."""
    return value if isinstance(value, kind) else kind()


def objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def names(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def stream_lines(
    address: Address, path: str, body: Body = None, *, timeout: float | None = None, cancel: Cancel | None = None
) -> Generator[bytes, None, None]:
    """GET, or POST a body; yields the response's lines. Raises ServerFault, ModelUnavailable, Cancelled."""
    cancel = Cancel() if cancel is None else cancel
    with closing(_connect(address, min(CONNECT_TIMEOUT, timeout or CONNECT_TIMEOUT), cancel)) as sock:
        sock.settimeout(timeout)
        response = HttpResponse(sock)

        def wake() -> None:
            with suppress(OSError):  # closed already
                socket.socket.shutdown(sock, socket.SHUT_RDWR)  # under TLS too, whose own shutdown is not thread-safe

        try:
            with cancel.on_cancel(wake):
                sock.sendall(_request(address, path, body))
                while not response.status:
                    response.receive()
                cancel.check()
                if response.status != 200:
                    answer = b"\n".join(split_lines(response.read))
                    raise as_fault(answer.decode("utf-8", "replace"), response.status, response.retry_after)
                for line in split_lines(response.read):
                    cancel.check()
                    yield line
                cancel.check()  # a connection that was shut down looks like one that has ended
        except (OSError, ValueError) as error:
            cancel.check()
            if isinstance(error, TimeoutError) and timeout:
                raise unavailable(address, f"silent for {timeout:g} s") from error
            raise ServerFault("cut", str(error), 200 if response.status else 0) from error


def split_lines(read: Callable[[], bytes]) -> Iterator[bytes]:
    """The lines of what is read until it is empty. Raises ServerFault for one that is too long to be an answer's."""
    begun: list[bytes] = []
    length = 0
    while piece := read():
        first, *others = piece.split(b"\n")
        begun.append(first)
        length += len(first)
        if length > _LONGEST_LINE:
            raise ServerFault("unreadable", f"a line of more than {_LONGEST_LINE >> 20} MiB")
        if others:
            yield b"".join(begun)
            yield from others[:-1]
            begun, length = [others[-1]], len(others[-1])
    if length:
        yield b"".join(begun)


def _request(address: Address, path: str, body: Body) -> bytes:
    """A request as it is sent. Raises ValueError for what no header can hold."""
    data = b"" if body is None else json.dumps(body).encode()
    host = address.host if address.host.isascii() else address.host.encode("idna").decode()
    host = f"[{host}]" if ":" in host else host
    lines = [
        f"{'GET' if body is None else 'POST'} {address.path}{path} HTTP/1.1",
        f"Host: {host}" if address.port == _DEFAULT_PORTS[address.scheme] else f"Host: {host}:{address.port}",
        "Accept-Encoding: identity",
        "Content-Type: application/json",
        "Accept: application/x-ndjson, application/json",
        *([] if body is None else [f"Content-Length: {len(data)}"]),
        *([f"Authorization: Bearer {address.key}"] if address.key else []),
    ]
    if not all(line.isprintable() for line in lines):
        raise ValueError("a header holds a control character")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + data


def _connect(address: Address, seconds: float, cancel: Cancel) -> socket.socket:
    """A connected socket. Connects on another thread, because nothing can interrupt the resolving of a name."""
    results: SimpleQueue[socket.socket | Exception] = SimpleQueue()
    over = threading.Event()  # nobody waits any more

    def dial() -> None:
        try:
            sock = _open_socket(address, seconds)
            if over.is_set():
                sock.close()
            else:
                results.put(sock)
        except (OSError, ValueError, ConfigError) as error:  # ValueError: a name that cannot be encoded
            results.put(error)

    threading.Thread(target=dial, name="dial", daemon=True).start()
    silent = TimeoutError(f"no answer within {seconds:g} s")
    with cancel.on_cancel(lambda: results.put(silent)):
        try:
            result = results.get(timeout=seconds)
        except Empty:
            result = silent
    over.set()
    if isinstance(result, socket.socket):
        return result
    cancel.check()
    if isinstance(result, ConfigError):
        raise result
    why = getattr(result, "strerror", None) or str(result) or type(result).__name__
    raise unavailable(address, why[:1].lower() + why[1:]) from result


def _open_socket(address: Address, seconds: float) -> socket.socket:
    host = private_host(address) if address.private_only and address.host not in _HERE else address.host
    # In bytes where that is possible: for a string, Python imports what encodes international names.
    sock = socket.create_connection((host.encode() if host.isascii() else host, address.port), seconds)  # type: ignore[arg-type]
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # detects a host that vanished during a long silence
    if address.scheme == "http":
        return sock
    import ssl  # late: needed only for TLS

    return ssl.create_default_context().wrap_socket(sock, server_hostname=address.host)


def private_host(address: Address) -> str:
    """An IP address of the host, none of which is on the internet. Raises ConfigError, before anything is sent."""
    import ipaddress  # late: only where a host may be refused

    found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    ips = [ipaddress.ip_address(str(each[4][0]).partition("%")[0]) for each in found]
    public = [ip for ip in ips if (getattr(ip, "ipv4_mapped", None) or ip).is_global]
    if public:
        why = f"is on the internet ({public[0]}), so what you say would leave your network"
        allowing = "`agent config set words_leave_machine true` allows it"
        raise ConfigError(f"the model server at {address.url} {why}: {allowing}")
    return str(found[0][4][0])
