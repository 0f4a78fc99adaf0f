"""The assistant over HTTP: `application` joins the routes, `Gate` stands before them, `serve` runs all until a signal.
Every request passes the gate first: its Host, its token, its size; without a token there is nothing but /health. The
Host is checked because a page from anywhere may make a browser send requests here under a name that it has pointed at
this machine (DNS rebinding). No other origin is ever allowed (no CORS headers).

What opens a connection needs no token yet, and each costs a file of this process: so their number is limited, the one
that waits longest makes room, and one that says nothing, or says it a letter at a time, is closed.
"""

import asyncio
import ipaddress
import signal
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI, Security
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from agent_cli import __version__
from agent_cli.app.app import App
from agent_cli.errors import AgentError, StoreError, UsageError
from agent_cli.memory.conversations import callers
from agent_cli.serve import completions, responses, routes
from agent_cli.serve.state import OK, ServerLimits, ServerState
from agent_cli.store.db import Database
from agent_cli.text import clean, one_line

OPEN = "/health"
_HERE = ("localhost", "127.0.0.1", "::1")


class Gate:
    """Lets a request in with `scope["state"]["caller"]`, its body read whole. `names`: hosts it is reached under."""

    def __init__(self, state: ServerState, names: Sequence[str] = (), *, allow_remote: bool = False):
        self._app, self._state = application(state), state
        self._names, self._allow_remote = {*_HERE, *(name.lower() for name in names)}, allow_remote

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # the server's start and end
            return await self._app(scope, receive, send)
        try:
            headers = Headers(scope=scope)
            self._check_host(headers.get("host", ""))
            scope.setdefault("state", {})["caller"] = None if scope["path"] == OPEN else await self._caller(headers)
            body = await self._body(headers, scope, receive)
        except (responses.Refused, AgentError) as error:  # AgentError: the file cannot be read
            await _answer(as_refused(error))(scope, receive, send)
        else:
            await self._app(scope, _replayed(body, receive), send)

    def _check_host(self, host: str) -> None:
        name = host.rsplit(":", 1)[0] if host.rpartition(":")[2].isdigit() and not host.endswith("]") else host
        name = name.strip("[]").lower().rstrip(".")
        known = name in self._names
        if not known and self._allow_remote:
            with suppress(ValueError):  # an address needs no look-up, and cannot be spoofed by DNS
                known = bool(ipaddress.ip_address(name))
        if not known:
            sentence = "this server is not reached under that name: use its address, or start it with --name"
            raise responses.Refused(421, "host", sentence)

    async def _caller(self, headers: Headers) -> callers.Caller:
        """Whose the token is. Raises Refused."""
        way, _, token = headers.get("authorization", "").strip().partition(" ")

        def admitted(db: Database) -> callers.Caller | None:
            caller = callers.by_token(db, token.strip())
            if caller and caller.writes:
                with suppress(StoreError):  # a full disk or a long writer keeps nobody from reading
                    callers.record_visit(db, caller, self._state.app.time)
            return caller

        if way.lower() == "bearer" and token.strip() and (caller := await self._state.read(admitted)):
            return caller
        sentence = "a token is needed: `agent serve callers add NAME` makes one, sent as Authorization: Bearer TOKEN"
        raise responses.Refused(401, "token", sentence, {"WWW-Authenticate": "Bearer"})

    async def _body(self, headers: Headers, scope: Scope, receive: Receive) -> bytes:
        """All of it, which must come in time. Raises Refused."""
        limits = self._state.limits
        closing = {"Connection": "close"}  # what is left of the body is not read
        too_large = responses.Refused(413, "too_large", f"a request has at most {limits.body_bytes} bytes", closing)
        if "transfer-encoding" in headers and "content-length" in headers:  # a proxy may count by the other one
            raise responses.Refused(400, "framing", "a request has a length or is chunked, not both", closing)
        if (length := headers.get("content-length", "0")).isdigit() and int(length[:20]) > limits.body_bytes:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(limits.read_seconds):
                async for piece in Request(scope, receive).stream():
                    body += piece
                    if len(body) > limits.body_bytes:
                        raise too_large
            return bytes(body)
        except ClientDisconnect:
            raise responses.Refused(400, "gone", "the request was cut off") from None
        except TimeoutError:
            sentence = f"the request did not arrive within {limits.read_seconds:g} s"
            raise responses.Refused(408, "slow", sentence, closing) from None


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body at once, and then waits for the client to disconnect."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return waiting.pop() if waiting else await receive()

    return next_message


def limited_protocol(limits: ServerLimits) -> type[asyncio.Protocol]:
    return type("Limited", (_Connection,), {"limits": limits})


class _Connection(H11Protocol):
    """HTTP, where the head of a request must come in time; its body is for the gate."""

    limits: ServerLimits
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            # The one that has waited longest for its request makes room; where all are in use, this one.
            others = [each for each in self.connections if isinstance(each, _Connection)]
            waiting = {each._timer.when(): each for each in others if each._timer}
            chosen = waiting[min(waiting)] if waiting else self
            chosen._stop_waiting()  # it is still listed until the loop has closed it
            chosen.transport.abort()
        if not transport.is_closing():
            self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_waiting()

    def _wait(self) -> None:
        """Wait for the head of a request, from its first letter on. Between two requests the library has a time of its
        own."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.limits.read_seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None


ABOUT = """A local assistant that remembers. Each caller has a memory of its own, or by grant that of the person; send \
its token as Authorization: Bearer TOKEN. Nothing that comes in is taken for a fact: what is to be remembered waits \
for the person's yes at the keyboard, and no route accepts, changes or erases anything."""

_FAILURES: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": responses.ErrorResponse, "description": "What was sent cannot be answered."},
    "5XX": {"model": responses.ErrorResponse, "description": "It cannot be answered now."},
}


class Health(BaseModel):
    ok: bool
    version: str
    database: str | None = None
    disk: str | None = None
    model: str | None = None


def application(state: ServerState) -> FastAPI:
    """All routes, without the gate that stands before them."""

    @asynccontextmanager
    async def lifespan(api: FastAPI) -> AsyncIterator[None]:
        state.open()
        yield
        await state.close()

    about: dict[str, Any] = {"title": "agent", "version": __version__, "description": ABOUT, "responses": _FAILURES}
    api = FastAPI(**about, docs_url=None, redoc_url=None, lifespan=lifespan, redirect_slashes=False)
    summary = "Whether the server runs; ?deep checks database, disk and model (503 when one fails); needs no token"

    @api.get(OPEN, summary=summary, response_model_exclude_none=True)
    async def health(response: Response, deep: str | None = None) -> Health:
        found = await state.health() if deep is not None else {}
        ok = set(found.values()) <= {OK}
        response.status_code = 200 if ok else 503
        return Health(ok=ok, version=__version__, **found)

    token = Security(HTTPBearer(scheme_name="token", auto_error=False))  # described here; the gate looks at it
    for part in (routes, completions):
        api.include_router(part.router(state), dependencies=[token])

    async def on_error(request: Request, error: Exception) -> Response:
        return _answer(as_refused(error))

    for kind in (responses.Refused, AgentError, RequestValidationError, HTTPException, Exception):
        api.add_exception_handler(kind, on_error)
    return api


_HTTP_ERRORS = {
    404: "there is no such route: GET /openapi.json lists them",
    405: "this route takes another method: see GET /openapi.json",
}


def as_refused(error: Exception) -> responses.Refused:
    """What is answered to an error. One that is a bug has its traceback on standard error."""
    match error:
        case responses.Refused():
            return error
        case AgentError():
            return responses.from_error(error)
        case RequestValidationError():  # what is wrong and where; never what was sent, which may hold anything
            faults = [_fault(row) for row in error.errors()[:5]]
            return responses.Refused(422, "invalid", one_line(clean("; ".join(faults)), 1000))
        case HTTPException(status_code=status):
            sentence = _HTTP_ERRORS.get(status, clean(str(error.detail)))
            return responses.Refused(status, f"http_{status}", sentence, dict(error.headers or {}))
    return responses.Refused(500, "bug", "this is a fault of the server: its standard error says more")


def _answer(refused: responses.Refused) -> JSONResponse:
    return JSONResponse(refused.body, refused.status, refused.headers)


def _fault(row: dict[str, Any]) -> str:
    """A sentence of our own for the most frequent faults; the library's message for the others."""
    kind, where = row["type"], ".".join(str(each) for each in row["loc"])
    if kind == "json_invalid":
        return "the body is not JSON"
    if row["loc"] == ("body",) and kind in ("missing", "model_attributes_type", "dict_type"):
        return "the body must be a JSON object, sent with Content-Type: application/json"
    if kind == "string_pattern_mismatch" and row["ctx"]["pattern"] == r"\S":
        return f"{where}: it is empty"
    sentences = {"missing": "it is needed", "extra_forbidden": "there is no such field: GET /openapi.json lists them"}
    return f"{where}: {sentences.get(kind, row['msg'])}"


def serve(
    app: App,
    host: str,
    port: int,
    limits: ServerLimits,
    names: Sequence[str] = (),
    *,
    allow_remote: bool = False,
    ready: Callable[[str], None],
) -> int:
    """Serve until SIGTERM or Ctrl-C; returns the exit code. `ready` is called with the address. Raises UsageError."""
    listening = bound(host, port, allow_remote=allow_remote)
    state = ServerState(app, limits)
    with ThreadPoolExecutor(1) as maker:  # a signal ends this thread: in the midst of a library's work it may be lost
        gate = maker.submit(Gate, state, (host, *names), allow_remote=allow_remote).result()
    options: dict[str, Any] = {"log_config": None, "access_log": False, "server_header": False, "log_level": "error"}
    options |= {"lifespan": "on", "ws": "none", "proxy_headers": False, "http": limited_protocol(limits)}
    settings = uvicorn.Config(gate, timeout_graceful_shutdown=round(2 * limits.grace_seconds + 5), **options)
    server = _Server(settings, state)
    for number in (signal.SIGTERM, signal.SIGINT):  # a later one may not cut off the ending: a lock could stay taken
        signal.signal(number, server.handle_exit)
    address, number = listening.getsockname()[:2]
    ready(f"http://{f'[{address}]' if ':' in address else address}:{number}")
    server.run([listening])
    return 143 if server.ended_by == signal.SIGTERM else 0


class _Server(uvicorn.Server):
    """Ends open streams at the first signal, and keeps the signal for the exit code."""

    def __init__(self, settings: uvicorn.Config, state: ServerState):
        super().__init__(settings)
        self._state = state
        self.ended_by: int | None = None

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Turns are ended while their connections are waited for: they are what those wait for."""
        self._state.stopping.set()
        ending = asyncio.create_task(self._state.turns.close())
        await super().shutdown(sockets)
        if self.force_exit:  # at a second signal, which else is shown as a failure of what runs as long as the server
            await self.lifespan.shutdown()
        await ending

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # It takes no lock: one signal may come while another is handled, on the same thread.
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True
        self.ended_by = self.ended_by or sig


def bound(host: str, port: int, *, allow_remote: bool) -> socket.socket:
    """A socket that listens there; beyond this machine only where that is allowed. Raises UsageError."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:  # no name of a host may be written so
        why = error.strerror if isinstance(error, OSError) else None
        raise UsageError(f"{host!r} is not an address of this machine: {why or error}") from error
    if not ipaddress.ip_address(place[0]).is_loopback and not allow_remote:
        raise UsageError(f"{host} can be reached from other machines: say --insecure-bind too if that is meant")
    # Without its protocol a socket sends small packets late (Nagle).
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(128)
    except OSError as error:
        listening.close()
        why = f"{host} port {port} cannot be listened on: {error.strerror}"
        raise UsageError(f"{why}; name another with --port") from error
    return listening
