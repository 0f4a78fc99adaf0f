"""What every request passes first: its Host, its token, its rate, its size. Before any route is looked for, so that
without a token there is nothing but /health, not even a word on which routes there are.

The Host is checked because a page from anywhere may make a browser on this machine send requests here, under a name
that it has pointed at this machine (DNS rebinding). No other origin is ever allowed (no CORS headers).
"""

import asyncio
import base64
import binascii
import ipaddress
import json
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from agent_cli.errors import AgentError
from agent_cli.memory.conversations.callers import Caller
from agent_cli.serve import responses
from agent_cli.serve.responses import Refused
from agent_cli.serve.state import ServerState

AsgiScope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Asgi = Callable[[AsgiScope, Receive, Send], Awaitable[None]]

OPEN = "/health"
PAGES = ("/docs", "/openapi.json")  # read in a browser, which asks for a name and a password: the token is the password
_HERE = ("localhost", "127.0.0.1", "::1")


class Gate:
    """Lets a request in with `scope["state"]["caller"]`, its body read whole. `names`: hosts it is reached under."""

    def __init__(self, app: Asgi, state: ServerState, names: Sequence[str] = (), *, allow_remote: bool = False):
        self._app, self._state = app, state
        self._names, self._allow_remote = {*_HERE, *(name.lower() for name in names)}, allow_remote

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._let_in(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _let_in(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        caller: Caller | None = None
        try:
            headers = _headers(scope)
            self._check_host(headers.get("host", ""))
            if scope["path"] != OPEN:
                caller = await self._caller(scope, headers)
                self._check_rate(caller)
            scope.setdefault("state", {})["caller"] = caller
            body = await self._body(headers, receive)
        except Refused as refused:
            await self._refuse(refused, caller, scope, send)
        except AgentError as error:  # the file cannot be read
            await self._refuse(responses.from_error(error), caller, scope, send)
        else:
            await self._app(scope, _replayed(body, receive), self._counted(send, caller))

    def _check_host(self, host: str) -> None:
        name = host.rsplit(":", 1)[0] if host.rpartition(":")[2].isdigit() and not host.endswith("]") else host
        name = name.strip("[]").lower().rstrip(".")
        if name not in self._names and not (self._allow_remote and _is_address(name)):
            raise Refused(
                421, "host", "this server is not reached under that name: use its address, or start it with --name"
            )

    async def _caller(self, scope: AsgiScope, headers: Mapping[str, str]) -> Caller:
        token = _token(headers.get("authorization", ""), page=scope["path"] in PAGES)
        caller = await self._state.read(lambda _: self._state.caller_with_token(token)) if token else None
        if caller is None:
            ways = 'Basic realm="agent", charset="UTF-8"' if scope["path"] in PAGES else "Bearer"
            sentence = (
                "a token is needed: `agent serve callers add NAME` makes one, sent as Authorization: Bearer TOKEN"
            )
            raise Refused(401, "token", sentence, {"WWW-Authenticate": ways})
        return caller

    def _check_rate(self, caller: Caller) -> None:
        pause = self._state.seconds_to_wait(caller)
        if pause:
            raise Refused(429, "rate", "too many requests: try again later", {"Retry-After": str(math.ceil(pause))})

    async def _body(self, headers: Mapping[str, str], receive: Receive) -> bytes:
        """All of it, which must come in time. Raises Refused."""
        limits = self._state.limits
        if "transfer-encoding" in headers and "content-length" in headers:  # a proxy may count by the other one
            raise Refused(400, "framing", "a request has a length or is chunked, not both", {"Connection": "close"})
        if (length := headers.get("content-length", "0")).isdigit() and int(length[:20]) > limits.body_bytes:
            raise _too_large(limits.body_bytes)
        body = bytearray()
        try:
            async with asyncio.timeout(limits.read_seconds):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise Refused(400, "gone", "the request was cut off")
                    body += message.get("body", b"")
                    if len(body) > limits.body_bytes:
                        raise _too_large(limits.body_bytes)
                    if not message.get("more_body"):
                        return bytes(body)
        except TimeoutError:
            raise Refused(408, "slow", f"the request did not arrive within {limits.read_seconds:g} s") from None

    async def _refuse(self, refused: Refused, caller: Caller | None, scope: AsgiScope, send: Send) -> None:
        send = self._counted(send, caller)
        body = b"" if scope["method"] == "HEAD" else json.dumps(refused.body).encode()
        headers = {"content-type": "application/json", **refused.headers}
        if refused.status in (408, 413):
            headers["connection"] = "close"  # what is left of the body is not read
        pairs = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": refused.status, "headers": pairs})
        await send({"type": "http.response.body", "body": body})

    def _counted(self, send: Send, caller: Caller | None) -> Send:
        async def counting(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start" and caller:
                self._state.metrics.count("agent_requests_total", caller.name, status=str(message["status"]))
            await send(message)

        return counting


def _headers(scope: AsgiScope) -> dict[str, str]:
    """The first of each name, in small letters."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))
    return found


def _token(authorization: str, *, page: bool) -> str:
    """The bearer token, or on pages for people the password of basic authentication; empty where there is none.

    A browser repeats a password with every request to the server, whichever page caused it: so nowhere else.
    """
    way, _, rest = authorization.strip().partition(" ")
    if way.lower() == "bearer":
        return rest.strip()
    if way.lower() == "basic" and page:
        try:
            return base64.b64decode(rest.strip(), validate=True).decode("utf-8", "replace").partition(":")[2]
        except (binascii.Error, ValueError):
            return ""
    return ""


def _too_large(limit: int) -> Refused:
    return Refused(413, "too_large", f"a request has at most {limit} bytes")


def _is_address(name: str) -> bool:
    """Whether the name is an IP address: those need no look-up, and cannot be spoofed by DNS."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body at once, and then waits for the client to disconnect."""
    given = False

    async def next_message() -> dict[str, Any]:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return next_message
