"""Asking the server without a client, byte by byte, and what most tests of it ask for."""

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any, Protocol

from tests.ollama_server.registry import Model

CHAT = Model("qwen3:8b", capabilities=("completion", "tools", "thinking"))
EMBEDDER = Model("nomic-embed-text", capabilities=("embedding",), embedding_length=768)
PLAIN = Model("gemma:2b")
NATIVE = Model("own:1b", capabilities=("completion", "tools"), mode="native")
MODELS = (CHAT, EMBEDDER, PLAIN, NATIVE)

HI = [{"role": "user", "content": "hi"}]
TOOLS = [{"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}]
CALL = ("now", {"zone": "UTC"})
UNCUT = {"truncate": False, "shift": False}


class Server(Protocol):
    """This server, or a real one."""

    host: str


def address(server: Server) -> tuple[str, int]:
    name, _, port = server.host.partition(":")
    return name, int(port)


def ask(
    server: Server, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
) -> tuple[int, str | None, bytes]:
    """Status, content type and body."""
    connection = http.client.HTTPConnection(server.host, timeout=5)
    with contextlib.closing(connection):
        raw = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, raw, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read()


def post(server: Server, path: str, **body: Any) -> tuple[int, Any]:
    """Status and parsed body."""
    status, _, answer = ask(server, "POST", path, body)
    return status, json.loads(answer)


def chat(server: Server, model: str = CHAT.name, messages: Any = HI, **more: Any) -> tuple[int, list[Any]]:
    """Status and parsed lines."""
    body = {"model": model, "messages": messages, **UNCUT} | more
    status, _, answer = ask(server, "POST", "/api/chat", body)
    return status, [json.loads(line) for line in answer.splitlines()]


def lines(server: Server, **body: Any) -> list[str]:
    _, kind, answer = ask(server, "POST", "/api/chat", {"model": CHAT.name, "messages": HI, **UNCUT} | body)
    assert kind == "application/x-ndjson"
    return answer.decode().splitlines()


@contextlib.contextmanager
def open_chat(server: Server, model: str = CHAT.name, **more: Any) -> Iterator[socket.socket]:
    """A socket on which a chat was asked for and nothing is read."""
    body = json.dumps({"model": model, "messages": HI, **UNCUT} | more).encode()
    with socket.create_connection(address(server)) as sock:
        sock.sendall(b"POST /api/chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        yield sock
