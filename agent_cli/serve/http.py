"""The assistant over HTTP: `application` joins the routes, `serve` runs them until a signal comes.

So many connections are open at once, and none for which no request comes; the one that waits longest makes room. What
opens one needs no token yet, and a connection costs a file of this process, without which the memory cannot be opened:
so one that says nothing, or says it a letter at a time, is closed.

The page at /docs is one file without scripts: the usual one loads its program from another server, which would then run
with the reader's token in hand.
"""

import asyncio
import ipaddress
import json
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from html import escape
from types import FrameType
from typing import Any, cast

import uvicorn
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from agent_cli import __version__
from agent_cli.app.app import App
from agent_cli.errors import AgentError, UsageError
from agent_cli.serve import chat, completions, responses, search, tasks
from agent_cli.serve.chat import ErrorResponse
from agent_cli.serve.gate import Asgi, Gate
from agent_cli.serve.metrics import OK
from agent_cli.serve.responses import Refused
from agent_cli.serve.state import ServerLimits, ServerState
from agent_cli.text import clean, one_line

_STYLE = "body{font:16px/1.5 system-ui;max-width:50rem;margin:2rem auto;padding:0 1rem}pre{overflow:auto;padding:.5rem;\
border:1px solid #8888}h2{margin-top:2.5rem;font-family:monospace}dt{font-family:monospace}"


def page(api: Mapping[str, Any]) -> str:
    """HTML of an OpenAPI description."""
    info = api["info"]
    body = [f"<h1>{escape(info['title'])} {escape(info['version'])}</h1>", f"<p>{escape(info['description'])}</p>"]
    for path, methods in api["paths"].items():
        for method, route in methods.items():
            body += _route(path, method, route)
    body += ["<h2>Forms</h2>"]
    for name, schema in api.get("components", {}).get("schemas", {}).items():
        body += [f'<h3 id="{escape(name)}">{escape(name)}</h3>', _json(schema)]
    style = f"<meta charset=utf-8><title>{escape(info['title'])}</title><style>{_STYLE}</style>"
    return f"<!doctype html><html lang=en><head>{style}</head><body>{''.join(body)}</body></html>"


def _route(path: str, method: str, route: Mapping[str, Any]) -> Iterator[str]:
    yield f"<h2>{method.upper()} {escape(path)}</h2><p>{escape(route.get('summary', ''))}</p>"
    if given := route.get("parameters"):
        rows = (f"<dt>{escape(each['name'])} ({each['in']})<dd>{escape(each.get('description', ''))}" for each in given)
        yield f"<dl>{''.join(rows)}</dl>"
    if sent := route.get("requestBody"):
        yield f"<p>Request</p>{_json(sent['content'])}"
    for status, answer in route["responses"].items():
        yield f"<p>{escape(status)} {escape(answer.get('description', ''))}</p>"


def _json(value: Any) -> str:
    return f"<pre>{escape(json.dumps(value, indent=1, ensure_ascii=False))}</pre>"


def limited_protocol(limits: ServerLimits) -> type[asyncio.Protocol]:
    """The protocol of a server that keeps to these limits."""

    class Limited(_Connection):
        def __init__(self, *args: Any, **named: Any):
            super().__init__(*args, **named)
            self.limits = limits

    return Limited


class _Connection(H11Protocol):
    """HTTP, where the head of a request must come in time; its body is for the gate."""

    limits: ServerLimits
    _opened_at = 0.0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._opened_at = self.loop.time()
        if len(self.connections) > self.limits.connections:
            self._make_room()
        if not transport.is_closing():
            self._wait()

    def _make_room(self) -> None:
        """Close the connection that has waited longest for its request; where all are in use, this one."""
        others = [each for each in self.connections if isinstance(each, _Connection) and each is not self]
        waiting = [each for each in others if each._timer]
        chosen = min(waiting, key=lambda each: each._opened_at, default=self)
        chosen._stop_waiting()  # it is still listed until the loop has closed it
        chosen.transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_waiting()

    def _wait(self) -> None:
        """Wait for the head of a request, from its first letter on; while one is answered there is nothing to wait for.

        Between two requests the library has a time of its own.
        """
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

_FAILURES = {
    400: "It cannot be read, or is too long for the model.",
    401: "A token is missing, or is revoked.",
    403: "This caller only reads.",
    404: "It does not exist.",
    405: "The route takes another method.",
    408: "It arrived too slowly.",
    409: "It is in use elsewhere, or has changed.",
    410: "It was erased since.",
    413: "It is too large.",
    421: "The server is not reached under that name.",
    422: "Something in it is wrong.",
    429: "Too many requests; Retry-After tells when.",
    502: "The model stopped in the middle of its answer.",
    503: "There is no room, or no model; Retry-After tells when.",
    504: "The time limit has passed; what arrived is returned.",
}


class Health(BaseModel):
    ok: bool
    version: str
    database: str | None = None
    disk: str | None = None
    model: str | None = None


def application(state: ServerState) -> FastAPI:
    """All routes, without the gate that stands before them."""
    failures: dict[int | str, dict[str, Any]] = {
        status: {"model": ErrorResponse, "description": reason} for status, reason in _FAILURES.items()
    }
    api = FastAPI(
        title="agent",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        responses=failures,
        lifespan=partial(_lifespan, state),
        redirect_slashes=False,
    )

    @api.get(
        "/health",
        summary="Whether the server runs; ?deep checks database, disk and model (503 when one fails); needs no token",
        response_model_exclude_none=True,
    )
    async def health(response: Response, deep: str | None = None) -> Health:
        found = await state.health() if deep is not None else {}
        ok = set(found.values()) <= {OK}
        response.status_code = 200 if ok else 503
        return Health(ok=ok, version=__version__, **found)

    @api.get("/docs", response_class=HTMLResponse, summary="This description, as a page for people")
    async def docs() -> Response:
        return HTMLResponse(
            page(api.openapi()), headers={"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
        )

    for part in (chat, tasks, completions, search):
        api.include_router(part.router(state))
    for kind, answer in (
        (Refused, _on_refused),
        (AgentError, _on_agent_error),
        (RequestValidationError, _on_invalid_request),
        (HTTPException, _on_http_error),
    ):
        api.add_exception_handler(kind, cast(Any, answer))
    api.add_exception_handler(Exception, _on_bug)  # the traceback goes to standard error
    _describe(api)
    return api


def guarded(state: ServerState, names: Sequence[str] = (), *, allow_remote: bool = False) -> Asgi:
    """The whole server as one ASGI application."""
    return Gate(cast(Asgi, application(state)), state, names, allow_remote=allow_remote)


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
    with _held_back(signal.SIGINT, signal.SIGTERM):
        made = guarded(state, (host, *names), allow_remote=allow_remote)
    settings = uvicorn.Config(
        made,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=round(2 * limits.grace_seconds + 5),
        lifespan="on",
        ws="none",
        h11_max_incomplete_event_size=65536,
        proxy_headers=False,
        http=limited_protocol(limits),
        log_level="error",
    )
    server = _Server(settings, state)
    address, number = listening.getsockname()[:2]
    ready(f"http://{f'[{address}]' if ':' in address else address}:{number}")
    server.run([listening])
    return 143 if server.ended_by == signal.SIGTERM else 0


@contextmanager
def _held_back(*signals: int) -> Iterator[None]:
    """Deliver these signals at the end: raised in the midst of a library's work, the exit may be lost."""
    came: list[int] = []
    before = {each: signal.signal(each, lambda number, _: came.append(number)) for each in signals}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    for each in came:
        signal.raise_signal(each)


class _Server(uvicorn.Server):
    """Ends open streams at the first signal, and keeps the signal for the exit code."""

    def __init__(self, settings: uvicorn.Config, state: ServerState):
        super().__init__(settings)
        self._state = state
        self.ended_by: int | None = None

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Turns are ended while their connections are waited for: they are what those wait for."""
        ending = asyncio.create_task(self._state.turns.close())
        await super().shutdown(sockets)
        await ending

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._state.stopping.set()
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True
        self.ended_by = self.ended_by or sig


@asynccontextmanager
async def _lifespan(state: ServerState, api: FastAPI) -> AsyncIterator[None]:
    state.open()
    yield
    await state.close()


def bound(host: str, port: int, *, allow_remote: bool) -> socket.socket:
    """A socket that listens there; beyond this machine only where that is allowed. Raises UsageError."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:  # no name of a host may be written so
        why = error.strerror if isinstance(error, OSError) else None
        raise UsageError(f"{host!r} is not an address of this machine: {why or error}") from error
    if not ipaddress.ip_address(place[0]).is_loopback and not allow_remote:
        raise UsageError(f"{host} can be reached from other machines: say --insecure-bind too if that is meant")
    # Without its protocol a socket sends small packets late (Nagle), and each answer takes 40 ms longer.
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise UsageError(
            f"{host} port {port} cannot be listened on: {error.strerror}; name another with --port"
        ) from error
    return listening


def _describe(api: FastAPI) -> None:
    """Add to the OpenAPI description what the gate enforces: a token except for /health, and errors in JSON."""
    failure = {"application/json": {"schema": {"$ref": "#/components/schemas/Failure"}}}
    make = api.openapi

    def openapi() -> dict[str, Any]:
        if api.openapi_schema is None:
            description = make()
            description.setdefault("components", {})["securitySchemes"] = {
                "token": {"type": "http", "scheme": "bearer"}
            }
            for path, methods in description["paths"].items():
                for route in methods.values():
                    route["security"] = [] if path == "/health" else [{"token": []}]
                    for given in route.get("parameters", ()):
                        given["schema"].pop("default", None)  # of one that is left out: not what may be sent
                    for status in [each for each in route["responses"] if int(each) >= 400]:
                        route["responses"][status]["content"] = failure
        return api.openapi_schema or {}

    cast(Any, api).openapi = openapi


async def _on_refused(request: Request, error: Refused) -> Response:
    return JSONResponse(error.body, error.status, error.headers)


async def _on_agent_error(request: Request, error: AgentError) -> Response:
    return await _on_refused(request, responses.from_error(error))


async def _on_bug(request: Request, error: Exception) -> Response:
    return JSONResponse(
        responses.error_body(500, "bug", "this is a fault of the server: its standard error says more"), 500
    )


async def _on_invalid_request(request: Request, error: RequestValidationError) -> Response:
    """What is wrong and where; never what was sent, which may hold anything."""
    faults = [_fault(row) for row in error.errors()[:5]]
    return JSONResponse(responses.error_body(422, "invalid", one_line(clean("; ".join(faults)), 1000)), 422)


def _fault(row: dict[str, Any]) -> str:
    """A sentence of our own for the most frequent faults; the library's message for the others."""
    kind, where = row["type"], ".".join(str(each) for each in row["loc"])
    if kind == "json_invalid":
        return "the body is not JSON"
    if row["loc"] == ("body",) and kind in ("missing", "model_attributes_type", "dict_type"):
        return "the body must be a JSON object, sent with Content-Type: application/json"
    if kind == "string_pattern_mismatch" and row["ctx"]["pattern"] == r"\S":
        return f"{where}: it is empty"
    sentences = {"missing": "it is needed", "extra_forbidden": "there is no such field: GET /docs lists them"}
    return f"{where}: {sentences.get(kind, row['msg'])}"


async def _on_http_error(request: Request, error: HTTPException) -> Response:
    sentences = {
        404: "there is no such route: GET /docs lists them",
        405: "this route takes another method: see GET /docs",
    }
    body = responses.error_body(
        error.status_code, f"http_{error.status_code}", sentences.get(error.status_code, clean(str(error.detail)))
    )
    return JSONResponse(body, error.status_code, error.headers)
