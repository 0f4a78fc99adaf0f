"""Tools of MCP servers as tools of this program: named after their server, and run only with permission.

A server's descriptions are untrusted text that the model reads: they are sanitized and cut, and cannot pose as the
program's own. They are stored, so that a server is started only when one of its tools is called, and so that changed
descriptions are noticed and reported. Of a server that was never started the model is offered one tool, which starts it
and lists its tools; like all others it runs only with permission.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from agent_cli.messages import ToolResult
from agent_cli.store import keyed_hash, meta
from agent_cli.store.db import Database
from agent_cli.text import map_texts, one_line, unfenced
from agent_cli.tools.servers import ServerFailed, Servers
from agent_cli.tools.tool import Tool, ToolContext, ToolFailed

MAX_TOOLS = 24  # of a server: each is part of every request
_MAX_STORED = 100  # tools of a server
_MAX_DESCRIPTION, _MAX_ARGUMENT_DESCRIPTION = 300, 100  # characters
_MAX_SCHEMA = 3000  # characters of a tool's parameters
_MAX_ARGUMENTS = 20
_MAX_NAME, _MAX_TYPE = 128, 10  # characters of the name of a tool or an argument, and of an argument's type
_MAX_ALL_TOOLS = 16_000  # characters of the tools of all servers together
_SERVER_SHARE = 0.95  # of the time of a call: what hangs is dropped before the turn goes on
_SCHEMA_KEYS = ("type", "enum", "items", "properties", "required")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")

Descriptions = list[dict[str, Any]]
"""A server's tools: [{name, description, parameters}, …]."""


def load_tools(db: Database, servers: Servers, seconds: float, notice: Callable[[str], None]) -> dict[str, Tool]:
    """The tools of all servers by name, from their stored descriptions; no server is started.

    `seconds`: the time limit of a call. `notice` is called with a sentence for a server whose tools are not known yet.
    """
    tools: dict[str, Tool] = {}
    for name in servers.settings:
        descriptions = stored_descriptions(db, servers, name)
        if descriptions is not None:
            _add(tools, make_tools(servers, name, descriptions, seconds))
            continue
        _add(tools, [_starting_tool(servers, name, seconds, tools)])
        if name not in servers.reported:
            servers.reported.add(name)
            notice(f"the tools of {name} are not known yet: `agent mcp test {name}` asks for them")
    return tools


def _add(tools: dict[str, Tool], of_server: Sequence[Tool]) -> None:
    for tool in of_server:
        tools.setdefault(tool.name, tool)  # the first tool keeps its name


def _starting_tool(servers: Servers, name: str, seconds: float, tools: dict[str, Tool]) -> Tool:
    """The tool that starts a server; those that the server has are added to `tools`, for the rest of the turn."""

    def run(context: ToolContext) -> str:
        try:
            listed = servers.tools(name, seconds * _SERVER_SHARE)
        except ServerFailed as error:
            raise ToolFailed(str(error)) from error
        found = make_tools(servers, name, list(map(_description_of, listed[:_MAX_STORED])), seconds)
        _add(tools, found)
        return "\n".join(f"{tool.name}: {tool.description}" for tool in found) or "it has no tools"

    description = f"({name}) Start this tool server and list its tools; then they can be called."
    parameters: dict[str, Any] = {"type": "object", "properties": {}}
    return Tool(f"{name}__tools"[:64], description, parameters, "network", run, source=f"mcp.{name}", seconds=seconds)


def store_changes(db: Database, servers: Servers, notice: Callable[[str], None]) -> None:
    """Store the descriptions of the servers that were started, and give notice of those that have changed."""
    for name, listed in servers.known_tools().items():
        stored, current = stored_descriptions(db, servers, name), list(map(_description_of, listed[:_MAX_STORED]))
        if stored != current:
            store_descriptions(db, servers, name, current)
            if stored is not None:
                notice(f"the server {name} has changed its tools: `agent mcp list {name}` shows them")


def stored_descriptions(db: Database, servers: Servers, name: str) -> Descriptions | None:
    """A server's tools when it was last started with these settings; None when it was not."""
    stored = json.loads(meta.get(db, f"mcp {name}") or "{}")
    same = stored.get("settings") == _settings_hash(db, servers.settings[name])
    return stored["tools"] if same else None


def fetch_descriptions(db: Database, servers: Servers, name: str) -> Descriptions:
    """Ask a server for its tools and store them. Raises ServerFailed."""
    descriptions = list(map(_description_of, servers.tools(name)[:_MAX_STORED]))
    store_descriptions(db, servers, name, descriptions)
    return descriptions


def _description_of(each: Any) -> dict[str, Any]:
    return sanitized_description(each.name, each.description or "", each.input_schema)


def store_descriptions(db: Database, servers: Servers, name: str, descriptions: Descriptions) -> None:
    """Store a server's tools."""
    value = json.dumps(
        {"settings": _settings_hash(db, servers.settings[name]), "tools": descriptions}, ensure_ascii=False
    )
    meta.put(db, f"mcp {name}", value)


def sanitized_description(name: str, description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's name, description and parameters, sanitized and cut to what a model needs to call it."""
    properties, needed = schema.get("properties"), schema.get("required")
    declared = properties if isinstance(properties, Mapping) else {}
    arguments = {
        each: _sanitized_argument(parameter)
        for each, parameter in list(declared.items())[:_MAX_ARGUMENTS]
        if isinstance(parameter, Mapping) and each == _sanitized(each, _MAX_NAME)
    }
    required = [each for each in arguments if isinstance(needed, list) and each in needed]
    parameters = {"type": "object", "properties": arguments, "required": required}
    if len(json.dumps(parameters)) > _MAX_SCHEMA:
        parameters["properties"] = {each: _type_only(parameter) for each, parameter in arguments.items()}
    return {
        "name": name[:_MAX_NAME],
        "description": _sanitized(description, _MAX_DESCRIPTION),
        "parameters": parameters,
    }


def make_tools(servers: Servers, name: str, descriptions: Descriptions, seconds: float) -> list[Tool]:
    """The tools of a server from their descriptions."""
    tools: dict[str, Tool] = {}
    for each in _fitting(descriptions[:MAX_TOOLS], _MAX_ALL_TOOLS // max(1, len(servers.settings))):
        full = f"{name}__{_NOT_IN_NAMES.sub('_', each['name'])}"[:64]
        run = partial(_call, servers, name, each["name"], seconds * _SERVER_SHARE)
        tools.setdefault(
            full,
            Tool(
                full,
                f"({name}) {each['description']}",
                each["parameters"],
                "network",
                run,
                source=f"mcp.{name}",
                seconds=seconds,
            ),
        )
    return list(tools.values())


def _fitting(descriptions: Descriptions, room: int) -> Iterator[dict[str, Any]]:
    """The descriptions that fit into `room` characters; long ones keep only the types of their arguments."""
    for each in descriptions:
        if len(json.dumps(each)) > room // 4:
            slim = {name: _type_only(argument) for name, argument in each["parameters"]["properties"].items()}
            each = {**each, "parameters": {**each["parameters"], "properties": slim}}
        room -= len(json.dumps(each))
        if room < 0:
            return
        yield each


def _call(servers: Servers, name: str, tool: str, seconds: float, context: ToolContext, **arguments: Any) -> ToolResult:
    try:
        result = servers.call(name, tool, arguments, seconds)
    except ServerFailed as error:
        raise ToolFailed(str(error)) from error
    words = "\n".join(map(_part_text, result.content)) or "the tool returned no text"
    if result.is_error:
        raise ToolFailed(words[:2000])
    return ToolResult(words)


def _part_text(part: Any) -> str:
    """A part of a result as text: pictures and sounds are only named."""
    text = getattr(part, "text", None) or getattr(getattr(part, "resource", None), "text", None)
    return text if isinstance(text, str) else f"[{one_line(str(getattr(part, 'type', 'something')), 30)}, not shown]"


def _sanitized_argument(schema: Mapping[str, Any]) -> dict[str, Any]:
    argument = {key: map_texts(schema[key], unfenced) for key in _SCHEMA_KEYS if key in schema}
    if isinstance(schema.get("description"), str) and (
        words := _sanitized(schema["description"], _MAX_ARGUMENT_DESCRIPTION)
    ):
        argument["description"] = words
    return argument


def _type_only(schema: Mapping[str, Any]) -> dict[str, Any]:
    kind = schema.get("type")
    return {"type": kind} if isinstance(kind, str) and len(kind) <= _MAX_TYPE else {}


def _sanitized(words: str, most: int) -> str:
    """A server's text on one line; it can neither end nor begin a fence."""
    return unfenced(one_line(words, most))


def _settings_hash(db: Database, settings: Mapping[str, Any]) -> str:
    """A hash of a server's settings, which may contain passwords."""
    return keyed_hash.digest(db, json.dumps(settings, sort_keys=True))
