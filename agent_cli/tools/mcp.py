"""MCP servers, and their tools as tools of this program: named after their server, and run only with permission. A
server is started when it is first needed, called with time limits, and closed at the end; each connection has an event
loop on a thread of its own. A server that crashes, hangs or floods is dropped and started again for the next call: the
turn sees only a failed result. It inherits a search path, a home, the variables in its settings, and the marker of
programs that the assistant started, which must never accept a fact.

Descriptions are untrusted text that the model reads: they are sanitized, cut, and stored, so that changes are reported.
Of a server that was never started the model is offered one tool, which starts it and lists its tools; where a rule
allows it, the program calls it itself.
"""

import json
import logging
import os
import re
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from agent_cli.errors import AgentError
from agent_cli.messages import ToolResult
from agent_cli.store import keyed_hash, meta
from agent_cli.store.db import Database
from agent_cli.text import Pattern, clean, map_texts, one_line, unfenced
from agent_cli.tools.tool import QuotedFailure, Tool, ToolContext

if TYPE_CHECKING:
    import anyio
    from mcp import Client
    from mcp.types import CallToolResult

MISSING = "MCP servers need a library that is not installed: pip install 'agent-cli[mcp]'"
_START_TIMEOUT = 20.0  # seconds to start and list its tools
_CLOSE_TIMEOUT = 6.0  # seconds for all servers together: one that ignores its end is killed after four
_TAIL_LINES = 20  # last lines of a server's standard error
_READ_TIMEOUT = 0.5  # seconds to wait for the end of these
_ADDRESS = Pattern(r"https?://[^\s'\"<>]+")
_MAX_STORED = 100  # tools of a server

Descriptions = list[dict[str, Any]]  # a server's tools: [{name, description, parameters}, …]
T = TypeVar("T")


class ServerFailed(AgentError, QuotedFailure):
    """A server cannot be started or did not answer. The text names it and the reason, which may be in its words."""

    code = "server"


class Servers:
    """The servers in the settings, by name. Its methods may be called from any thread."""

    def __init__(self, settings: Mapping[str, Mapping[str, Any]], marker: Mapping[str, str]):
        self.settings, self._marker = settings, marker
        self.reported: set[str] = set()  # of which it was said that their tools are not known yet
        self._lock = threading.Lock()
        self._connections: dict[str, _ServerConnection] = {}
        self._started: list[_ServerConnection] = []  # those whose threads may still run, dropped ones too

    def tools(self, name: str, seconds: float = _START_TIMEOUT) -> Descriptions:
        return self._request(name, _list_tools, seconds)

    def known_tools(self) -> dict[str, Descriptions]:
        return {name: each.tools for name, each in list(self._connections.items()) if each.running}

    def call(self, name: str, tool: str, arguments: Mapping[str, Any], seconds: float) -> "CallToolResult":
        return self._request(name, lambda client: client.call_tool(tool, dict(arguments)), seconds)

    def close(self) -> None:
        """Close all connections within a few seconds."""
        with self._lock:
            connections, self._connections = self._started, {}
        for each in connections:
            each.end()
        deadline = time.monotonic() + _CLOSE_TIMEOUT
        for each in connections:
            each.thread.join(max(0.0, deadline - time.monotonic()))

    def _request(self, name: str, operation: "Callable[[Client], Coroutine[Any, Any, T]]", seconds: float) -> T:
        """The result of an operation on a server, started when it does not run. A failure ends the connection."""
        import asyncio

        deadline = time.monotonic() + seconds
        with self._lock:
            connection = self._connections.get(name)
            if connection is None or not connection.running:
                connection = self._connections[name] = _ServerConnection(self.settings[name], self._marker)
                self._started = [each for each in self._started if each.thread.is_alive()] + [connection]
        pending: Future[T] | None = None
        try:
            client = connection.client.result(seconds)
            pending = asyncio.run_coroutine_threadsafe(operation(client), connection.loop)
            return pending.result(max(0.0, deadline - time.monotonic()))
        except BaseException as error:
            if pending is not None:
                pending.cancel()
            with self._lock:
                if self._connections.get(name) is connection:
                    del self._connections[name]
            connection.end()
            raise _as_failure(name, error, seconds, connection.errors) from error


class _ServerConnection:
    """A connection on its own thread. A thread cannot be killed: it is asked to stop, and abandoned."""

    def __init__(self, settings: Mapping[str, Any], marker: Mapping[str, str]):
        import asyncio

        logging.getLogger("mcp").addHandler(logging.NullHandler())  # else it would write to the terminal
        self._settings, self._marker = settings, marker
        self.errors = _ErrorTail()
        self.client: Future[Client] = Future()
        self.tools: Descriptions = []  # its tools when it was started
        self.loop = asyncio.new_event_loop()
        self._scope: anyio.CancelScope | None = None
        self._ended = False
        self.thread = threading.Thread(target=self._run, name="tool server", daemon=True)
        self.thread.start()

    @property
    def running(self) -> bool:
        return self.thread.is_alive() and not self._ended

    def end(self) -> None:
        """Stop the server, whether it has answered yet or not."""
        self._ended = True
        if self._scope:
            with suppress(RuntimeError):  # the loop has ended already
                self.loop.call_soon_threadsafe(self._scope.cancel)

    def _run(self) -> None:
        try:
            self.loop.run_until_complete(self._serve())
            failure: BaseException = ConnectionError("closed")
        except ImportError:
            failure = ServerFailed(MISSING)
        except BaseException as error:
            failure = error
        if not self.client.done():
            self.client.set_exception(failure)
        self.errors.file.close()
        self.loop.close()

    async def _serve(self) -> None:
        import anyio
        from mcp import Client

        with anyio.CancelScope() as self._scope:  # cancelled so, the library still ends the process it has started
            if self._ended:
                return
            async with (
                _transport(self._settings, self._marker, self.errors.file) as server,
                Client(server, cache=None) as client,
            ):
                self.tools = await _list_tools(client)
                self.client.set_result(client)
                await anyio.sleep_forever()


async def _list_tools(client: "Client") -> Descriptions:
    found: Descriptions = []
    cursor = None
    while len(found) < _MAX_STORED:
        page = await client.list_tools(cursor=cursor)
        found += [sanitized_description(each.name, each.description or "", each.input_schema) for each in page.tools]
        cursor = page.next_cursor
        if cursor is None or not page.tools:
            break
    return found[:_MAX_STORED]


class _ErrorTail:
    """The last lines of a server's standard error, read by a thread so that the pipe never fills."""

    def __init__(self) -> None:
        reading, writing = os.pipe()
        self.file = os.fdopen(writing, "w")
        self._chunks: deque[bytes] = deque(maxlen=_TAIL_LINES)

        def collect() -> None:
            with os.fdopen(reading, "rb", buffering=0) as pipe:
                self._chunks.extend(iter(lambda: pipe.read(4096), b""))

        self._thread = threading.Thread(target=collect, name="server's errors", daemon=True)
        self._thread.start()

    def last(self) -> str:
        """What it said last. Of one that has ended all was read; one that still runs is not waited for."""
        self.file.close()
        self._thread.join(_READ_TIMEOUT)
        return one_line(clean(b"".join(self._chunks).decode("utf-8", "replace"))[-200:], 200)


@asynccontextmanager
async def _transport(settings: Mapping[str, Any], marker: Mapping[str, str], errors: TextIO) -> AsyncIterator[Any]:
    if "url" not in settings:
        from mcp import StdioServerParameters, stdio_client

        command, environment = os.path.expanduser(settings["command"]), {**settings.get("env", {}), **marker}
        started = StdioServerParameters(command=command, args=settings.get("args", []), env=environment)
        yield stdio_client(started, errors)
        return
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    async with create_mcp_http_client(headers=settings.get("headers")) as http:
        yield streamable_http_client(settings["url"], http_client=http)


def redacted_address(address: str) -> str:
    """An address without its password and its query."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(address)
    except ValueError:
        return "an invalid address"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _as_failure(name: str, error: BaseException, seconds: float, errors: _ErrorTail) -> BaseException:
    """A ServerFailed for the person and the model; other interruptions, such as Ctrl-C, stay as they are."""
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
        reason = _ADDRESS.sub(lambda found: redacted_address(found[0]), str(error))
        why = f"failed: {one_line(reason or type(error).__name__, 300)}"
    last = errors.last()
    return ServerFailed(f"the server {name} {why}" + (f"; it said last: {last}" if last else ""))


MAX_TOOLS = 24  # of a server: each is part of every request
_MAX_DESCRIPTION, _MAX_ARGUMENT_DESCRIPTION = 300, 100  # characters
_MAX_DESCRIBED = 3400  # characters of a tool with its parameters
_MAX_ARGUMENTS = 20
_MAX_NAME, _MAX_TYPE = 128, 10  # characters of the name of a tool or an argument, and of an argument's type
_MAX_ALL_TOOLS = 16_000  # characters of the tools of all servers together
_SERVER_SHARE = 0.95  # of the time of a call: what hangs is dropped before the turn goes on
_SCHEMA_KEYS = ("type", "enum", "items", "properties", "required")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")


def load_tools(
    db: Database,
    servers: Servers,
    seconds: float,
    notice: Callable[[str], None],
    is_allowed: Callable[[Tool], bool] = lambda tool: False,
) -> dict[str, Tool]:
    """The tools of all servers by name, from their stored descriptions. A server is started only where these are
    missing and the tool that starts it `is_allowed` without a question. `notice`: called with a sentence about one that
    is not known yet."""
    tools: dict[str, Tool] = {}
    for name in servers.settings:
        descriptions, starting = stored_descriptions(db, servers, name), _starting_tool(servers, name, seconds, tools)
        if descriptions is None and name not in servers.reported:
            servers.reported.add(name)
            if is_allowed(starting):
                try:
                    descriptions = fetch_descriptions(db, servers, name)
                except ServerFailed as error:
                    notice(str(error))
            else:
                notice(f"the tools of {name} are not known yet: `agent mcp test {name}` asks for them")
        for tool in [starting] if descriptions is None else make_tools(servers, name, descriptions, seconds):
            tools.setdefault(tool.name, tool)
    return tools


def _starting_tool(servers: Servers, name: str, seconds: float, tools: dict[str, Tool]) -> Tool:
    """The tool that starts a server; those that the server has are added to `tools`, for the rest of the turn."""

    def run(context: ToolContext) -> str:
        found = make_tools(servers, name, servers.tools(name, seconds * _SERVER_SHARE), seconds)
        for tool in found:
            tools.setdefault(tool.name, tool)
        return "\n".join(f"{tool.name}: {tool.description}" for tool in found) or "it has no tools"

    description = "Start this tool server and list its tools; then they can be called."
    return _tool(name, f"{name}__tools", description, {"type": "object", "properties": {}}, run, seconds)


def store_changes(db: Database, servers: Servers, notice: Callable[[str], None]) -> None:
    """Store the descriptions of the servers that were started, and give notice of those that have changed."""
    for name, current in servers.known_tools().items():
        stored = stored_descriptions(db, servers, name)
        if stored != current:
            store_descriptions(db, servers, name, current)
            if stored is not None:
                notice(f"the server {name} has changed its tools: `agent mcp list {name}` shows them")


def stored_descriptions(db: Database, servers: Servers, name: str) -> Descriptions | None:
    stored = json.loads(meta.get(db, f"mcp {name}") or "{}")
    return stored["tools"] if stored.get("settings") == _settings_hash(db, servers, name) else None


def fetch_descriptions(db: Database, servers: Servers, name: str) -> Descriptions:
    descriptions = servers.tools(name)
    store_descriptions(db, servers, name, descriptions)
    return descriptions


def store_descriptions(db: Database, servers: Servers, name: str, descriptions: Descriptions) -> None:
    stored = {"settings": _settings_hash(db, servers, name), "tools": descriptions}
    meta.put(db, f"mcp {name}", json.dumps(stored, ensure_ascii=False))


def _settings_hash(db: Database, servers: Servers, name: str) -> str:
    """A hash of a server's settings, which may contain passwords."""
    return keyed_hash.digest(db, json.dumps(servers.settings[name], sort_keys=True))


def sanitized_description(name: str, description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's name, description and parameters, sanitized and cut to what a model needs to call it."""
    properties, needed = schema.get("properties"), schema.get("required")
    arguments: dict[str, Any] = {}
    for each, parameter in list(properties.items())[:_MAX_ARGUMENTS] if isinstance(properties, Mapping) else ():
        if isinstance(parameter, Mapping) and each == unfenced(one_line(each, _MAX_NAME)):
            arguments[each] = {key: map_texts(parameter[key], unfenced) for key in _SCHEMA_KEYS if key in parameter}
            if isinstance(words := parameter.get("description"), str) and words.strip():
                arguments[each]["description"] = unfenced(one_line(words, _MAX_ARGUMENT_DESCRIPTION))
    required = [each for each in arguments if isinstance(needed, list) and each in needed]
    parameters = {"type": "object", "properties": arguments, "required": required}
    described = {"name": name[:_MAX_NAME], "description": unfenced(one_line(description, _MAX_DESCRIPTION))}
    return _fitting({**described, "parameters": parameters}, _MAX_DESCRIBED)


def _fitting(described: dict[str, Any], most: int) -> dict[str, Any]:
    """A description, with no more of its arguments than their types where it has more characters."""
    if len(json.dumps(described)) <= most:
        return described
    kinds = {name: argument.get("type") for name, argument in described["parameters"]["properties"].items()}
    slim = {
        name: {"type": kind} if isinstance(kind, str) and len(kind) <= _MAX_TYPE else {} for name, kind in kinds.items()
    }
    return {**described, "parameters": {**described["parameters"], "properties": slim}}


def make_tools(servers: Servers, name: str, descriptions: Descriptions, seconds: float) -> list[Tool]:
    """The tools of a server from their descriptions, as many as have room; long ones without more than types."""
    tools: dict[str, Tool] = {}
    room = _MAX_ALL_TOOLS // max(1, len(servers.settings))
    for each in descriptions[:MAX_TOOLS]:
        each = _fitting(each, room // 4)
        room -= len(json.dumps(each))
        if room < 0:
            break
        run = partial(_call, servers, name, each["name"], seconds * _SERVER_SHARE)
        full = f"{name}__{_NOT_IN_NAMES.sub('_', each['name'])}"
        tool = _tool(name, full, each["description"], each["parameters"], run, seconds)
        tools.setdefault(tool.name, tool)
    return list(tools.values())


def _tool(
    server: str, name: str, description: str, parameters: dict[str, Any], run: Callable[..., Any], seconds: float
) -> Tool:
    described = f"({server}) {description}"
    return Tool(name[:64], described, parameters, "network", run, source=f"mcp.{server}", seconds=seconds)


def _call(servers: Servers, name: str, tool: str, seconds: float, context: ToolContext, **arguments: Any) -> ToolResult:
    result = servers.call(name, tool, arguments, seconds)
    words = "\n".join(map(_part_text, result.content)) or "the tool returned no text"
    if result.is_error:
        raise QuotedFailure(words[:2000])
    return ToolResult(words)


def _part_text(part: Any) -> str:
    text = getattr(part, "text", None) or getattr(getattr(part, "resource", None), "text", None)
    return text if isinstance(text, str) else f"[{one_line(str(getattr(part, 'type', 'something')), 30)}, not shown]"
