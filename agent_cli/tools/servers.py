"""Servers of tools that belong to other programs (MCP): started when first needed, spoken to within limits, ended.

The library needs an event loop. Each connection has one, on a thread of its own, apart from the turn, which waits for
an answer for so many seconds and no longer. A server that has crashed, hangs, floods or cannot be understood is given
up, and started anew with the next call: nothing of it can reach the turn but a failed result.

What a server inherits is little: a search path and a home, what its settings name, and the mark by which a program that
the assistant has started is known, for it must never accept a fact.
"""

import logging
import os
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from agent_cli.errors import AgentError
from agent_cli.text import Pattern, clean, one_line

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult
    from mcp.types import Tool as Described

MISSING = "servers of tools need a library that is not installed: pip install 'agent-cli[mcp]'"
_START = 10.0  # seconds until a server must have introduced itself
_LEAVE = 3.0  # seconds that all have to end
_PAGES = 20  # of a list of tools
_TAIL = 20  # lines of what a server last said on its standard error
_HERE, _CATCH_UP = b"\0", 0.5  # ends what has been said so far; seconds to wait until that has been read

_ADDRESS = Pattern(r"https?://[^\s'\"<>]+")

T = TypeVar("T")


class ServerFailed(AgentError):
    """A server cannot be started, or did not answer. The text says which, and what is known of it."""

    code = "server"


class Servers:
    """Those of the settings. Its methods may be called from any thread."""

    def __init__(self, told: Mapping[str, Mapping[str, Any]], mark: Mapping[str, str]):
        self.told, self._mark = told, mark
        self.failed: set[str] = set()  # those that could not say what they have: not waited for again in this run
        self._lock = threading.Lock()
        self._live: dict[str, _Live] = {}

    def tools(self, name: str, seconds: float = _START) -> "list[Described]":
        """All the tools of a server. Raises ServerFailed."""
        return self._ask(name, _all, seconds)

    def listed(self) -> "dict[str, list[Described]]":
        """What those said of their tools that have been started and run."""
        return {name: live.listed for name, live in list(self._live.items()) if live.running}

    def call(self, name: str, tool: str, arguments: Mapping[str, Any], seconds: float) -> "CallToolResult":
        """One call of a tool. Raises ServerFailed."""
        return self._ask(name, lambda client: client.call_tool(tool, dict(arguments)), seconds)

    def close(self) -> None:
        """End them all, within a few seconds."""
        with self._lock:
            live, self._live = list(self._live.values()), {}
        for each in live:
            each.end()
        until = time.monotonic() + _LEAVE
        for each in live:
            each.thread.join(max(0.0, until - time.monotonic()))

    def _ask(self, name: str, what: "Callable[[Client], Coroutine[Any, Any, T]]", seconds: float) -> T:
        """The answer of a server, started when it does not run. What goes wrong ends the connection."""
        import asyncio

        until = time.monotonic() + seconds
        live = self._connection(name)
        asked: Future[T] | None = None
        try:
            client = live.client.result(seconds)
            asked = asyncio.run_coroutine_threadsafe(what(client), live.loop)
            return asked.result(max(0.0, until - time.monotonic()))
        except BaseException as error:
            if asked is not None:
                asked.cancel()
            with self._lock:
                if self._live.get(name) is live:
                    del self._live[name]
            live.end()
            raise _failed(name, error, seconds, live.said) from error

    def _connection(self, name: str) -> "_Live":
        with self._lock:
            live = self._live.get(name)
            if live is None or not live.running:
                live = self._live[name] = _Live(self.told[name], self._mark)
            return live


class _Live:
    """One connection, on its own thread. A thread cannot be ended from outside: it is asked to, and left alone."""

    def __init__(self, told: Mapping[str, Any], mark: Mapping[str, str]):
        import asyncio

        logging.getLogger("mcp").addHandler(logging.NullHandler())  # it would write into the conversation
        self._told, self._mark = told, mark
        self._tail = _Tail()
        self.client: Future[Client] = Future()
        self.listed: list[Described] = []  # what it said of its tools when it was started
        self.loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self.thread = threading.Thread(target=self._run, name="server of tools", daemon=True)
        self.thread.start()

    @property
    def running(self) -> bool:
        """Whether it is being started, or runs."""
        return self.thread.is_alive() and not self._stop.is_set()

    @property
    def said(self) -> str:
        """What it last said on its standard error."""
        return self._tail.read()

    def end(self) -> None:
        with suppress(RuntimeError):  # it has ended already
            self.loop.call_soon_threadsafe(self._stop.set)

    def _run(self) -> None:
        try:
            self.loop.run_until_complete(self._talk())
        except ImportError as error:
            self._lost(ServerFailed(MISSING), error)
        except BaseException as error:
            self._lost(error)
        finally:
            self._tail.close()
            self.loop.close()

    async def _talk(self) -> None:
        from mcp import Client

        async with _transport(self._told, self._mark, self._tail) as server, Client(server, cache=None) as client:
            self.listed = await _all(client)
            self.client.set_result(client)
            await self._stop.wait()

    def _lost(self, error: BaseException, cause: BaseException | None = None) -> None:
        if not self.client.done():
            error.__cause__ = cause
            self.client.set_exception(error)


async def _all(client: "Client") -> "list[Described]":
    found: list[Described] = []
    cursor = None
    for _ in range(_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return found


class _Tail:
    """The last lines of a server's standard error, read by a thread so that no flood of them can fill anything."""

    def __init__(self) -> None:
        read, write = os.pipe()
        self.file = os.fdopen(write, "w")
        self._lines: deque[bytes] = deque(maxlen=_TAIL)
        self._reached = threading.Event()  # all that was written before `read` was called
        self._thread = threading.Thread(target=self._take, args=(read,), name="server's errors", daemon=True)
        self._thread.start()

    def read(self) -> str:
        self._reached.clear()
        try:
            os.write(self.file.fileno(), _HERE)
            self._reached.wait(_CATCH_UP)
        except (OSError, ValueError):  # closed, so the thread comes to an end
            self._thread.join(_CATCH_UP)
        told = b"".join(self._lines).decode("utf-8", "replace")
        return "\n".join(one_line(line, 200) for line in clean(told).splitlines()[-_TAIL:])

    def close(self) -> None:
        with suppress(OSError):
            self.file.close()

    def _take(self, read: int) -> None:
        with suppress(OSError):
            while piece := os.read(read, 4096):
                self._lines.append(piece.replace(_HERE, b""))
                if _HERE in piece:
                    self._reached.set()
        os.close(read)


def _transport(told: Mapping[str, Any], mark: Mapping[str, str], tail: _Tail) -> AbstractAsyncContextManager[Any]:
    """How a server is reached: as a process of its own, or at an address."""
    from contextlib import asynccontextmanager

    if "url" not in told:
        from mcp import StdioServerParameters, stdio_client

        command = StdioServerParameters(
            command=os.path.expanduser(told["command"]), args=told.get("args", []), env={**told.get("env", {}), **mark}
        )
        return _given(stdio_client(command, tail.file))

    @asynccontextmanager
    async def reached() -> Any:
        from mcp.client.streamable_http import streamable_http_client
        from mcp.shared._httpx_utils import create_mcp_http_client

        async with create_mcp_http_client(headers=told.get("headers")) as http:
            yield streamable_http_client(told["url"], http_client=http)

    return reached()


def shown(address: str) -> str:
    """An address without what may be secret: a password, and what stands behind a question mark."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(address)
    except ValueError:
        return "an address that is none"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _without_secret(found: re.Match[str]) -> str:
    return shown(found[0])


def _given(transport: Any) -> AbstractAsyncContextManager[Any]:
    from contextlib import nullcontext

    return nullcontext(transport)


def _failed(name: str, error: BaseException, seconds: float, said: str) -> BaseException:
    """What a person, and a model, is told; what is no failure of the server's, as Ctrl-C, goes through."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ServerFailed) or not isinstance(error, Exception):
        return error
    if isinstance(error, TimeoutError):
        why = f"did not answer within {seconds:g} s"
    elif isinstance(error, FileNotFoundError):
        why = "cannot be started: there is no such command"
    elif "closed" in str(error).lower():
        why = "has ended, or closed the connection"
    else:
        why = f"failed: {one_line(_ADDRESS.sub(_without_secret, str(error)) or type(error).__name__, 300)}"
    last = one_line(said[-200:], 200)
    return ServerFailed(f"the server {name} {why}" + (f"; it said last: {last}" if last else ""))
