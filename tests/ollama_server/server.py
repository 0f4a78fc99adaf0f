"""The server itself: a socket on loopback and a thread for every connection.

    with OllamaServer(models=[Model("qwen3:8b")]) as server:
        server.play(script.reply("Hello there"))
        ...

Leaving the block stops it at once, whoever is connected, and with strict=True raises
AssertionError if a client broke the contract.
"""

import contextlib
import socket
import traceback
from collections.abc import Callable
from threading import Event, Thread
from typing import Any, Self

from tests.ollama_server import catalog, chat, contract, embed, pull
from tests.ollama_server.exchange import Exchange, Gone, Malformed, Wire
from tests.ollama_server.go import Refused
from tests.ollama_server.record import Request
from tests.ollama_server.state import State

Handler = Callable[[State, Exchange], None]

ROUTES: dict[str, tuple[tuple[str, ...], Handler]] = {
    "/": (("GET", "HEAD"), catalog.root),
    "/api/version": (("GET", "HEAD"), catalog.version),
    "/api/tags": (("GET", "HEAD"), catalog.tags),
    "/api/ps": (("GET",), catalog.ps),
    "/api/show": (("POST",), catalog.show),
    "/api/chat": (("POST",), chat.chat),
    "/api/embed": (("POST",), embed.embed),
    "/api/pull": (("POST",), pull.pull),
}
BAD_REQUEST = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"
)


def is_ahead(request: Request, chat_path: str) -> bool:
    """Whether a chat asks for one token: it has its prompt read ahead of a question, and plays no script."""
    options = request.body.get("options") if isinstance(request.body, dict) else None
    return request.path == chat_path and isinstance(options, dict) and options.get("num_predict") == 1


class OllamaServer(State):
    """See State for what can be set and seen."""

    engine = "ollama"
    routes = ROUTES
    chat_path = "/api/chat"
    embed_path = "/api/embed"
    exchange = Exchange

    def __init__(self, *args: Any, port: int = 0, **settings: Any):
        super().__init__(*args, **settings)
        self._stopping = Event()
        self._listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self.host = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.url = f"http://{self.host}"
        self._sockets: set[socket.socket] = set()
        self._threads: list[Thread] = []

    @property
    def environ(self) -> dict[str, str]:
        """The settings with which the program talks to it."""
        return {"OLLAMA_HOST": self.host}

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self.stop()
        if self.strict and kind is None and self.problems:
            raise AssertionError("the client broke the contract:\n" + "\n".join(self.problems))

    def stop(self) -> None:
        """Hang up on everyone and wait for the threads."""
        self._stopping.set()
        with socket.socket() as knock:  # accept() does not notice that its socket was closed
            knock.connect_ex(self._listener.getsockname())
        self._threads[0].join()
        with self.changed:
            for sock in self._sockets:
                with contextlib.suppress(OSError):  # it is gone already
                    sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)
        self._listener.close()

    def _start(self, target: Callable[..., None], *args: Any) -> None:
        thread = Thread(target=target, args=args, daemon=True, name="ollama-server")
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            sock, _ = self._listener.accept()
            if self._stopping.is_set():
                sock.close()
                return
            with self.changed:
                self.counters.connections += 1
                self._sockets.add(sock)
            self._start(self._serve, sock)

    def _serve(self, sock: socket.socket) -> None:
        wire = Wire(sock, self._stopping)
        try:
            while request := wire.read_request():
                if not self._answer(self.exchange(wire, request)):
                    break
        except Gone:
            pass
        except Malformed:
            with contextlib.suppress(OSError):
                sock.sendall(BAD_REQUEST)
        finally:
            with self.changed:
                self._sockets.discard(sock)
                sock.close()
                self.changed.notify_all()

    def _answer(self, exchange: Exchange) -> bool:
        """Answer one request; False if the connection must close."""
        request = exchange.request
        self._record(exchange)
        try:
            self._route(exchange)
            exchange.close()
        except Gone:
            self._give_up(exchange)
        except Exception:
            self.note(request, [f"the server itself failed:\n{traceback.format_exc()}"])
            exchange.panic()
        finally:
            with self.changed:
                del self._underway[id(request)]
                self.changed.notify_all()
        return exchange.keep

    def _record(self, exchange: Exchange) -> None:
        request = exchange.request
        with self.changed:
            self.note(request, contract.of_request(request, self.is_cloud, self.key))
            if request.path == self.chat_path and isinstance(request.body, dict):
                self.note(request, contract.of_messages(request.body))
            (self.ahead if is_ahead(request, self.chat_path) else self.requests).append(request)
            self._underway[id(request)] = exchange
            self.changed.notify_all()

    def _route(self, exchange: Exchange) -> None:
        request = exchange.request
        methods, handler = self.routes.get(request.path, ((), None))
        if handler is None:
            exchange.text(404, "404 page not found")
        elif request.method not in methods:
            exchange.text(405, "405 method not allowed")
        else:
            try:
                handler(self, exchange)
            except Refused as refused:
                exchange.retry_after = self.retry_after
                exchange.json(refused.status, refused.body)

    def _give_up(self, exchange: Exchange) -> None:
        exchange.keep = False
        if exchange.request.finished or self._stopping.is_set():
            return
        with self.changed:
            exchange.request.cancelled = True
            self.counters.cancelled += 1
