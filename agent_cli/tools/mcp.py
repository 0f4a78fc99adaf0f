"""Tools of other programs (MCP) as tools of this one: named after their server, asked for, and believed in nothing.

What a server says of its tools is text from outside, and a model reads it: it is cleaned, cut and cannot pose as the
program's own. It is kept from one run to the next, so that a server is started only when one of its tools is called,
and so that what it says can be compared: one that describes its tools otherwise than before is told of.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from agent_cli.messages import ToolResult
from agent_cli.store import keyed_hash, meta
from agent_cli.store.db import Database
from agent_cli.text import one_line, unfenced
from agent_cli.tools.servers import ServerFailed, Servers
from agent_cli.tools.tool import Tool, ToolContext, ToolFailed

MOST = 24  # tools of a server that are offered: each stands in every request
_HELD = 100  # of which is kept what it said
_DESCRIBED, _ARGUMENT = 300, 100  # characters of a description
_SCHEMA = 3000  # characters of all that a tool says of its arguments
_ARGUMENTS = 20
_NAMED, _KIND = 128, 10  # characters of the name of a tool or an argument, and of what kind of value one takes
_TOGETHER = 16_000  # characters of what is told of the tools of all servers
_KEPT = ("type", "enum", "items", "properties", "required")
_NAME = re.compile(r"[^A-Za-z0-9_-]+")

Known = list[dict[str, Any]]
"""What a server said of its tools: [{name, description, parameters}, …]."""


def offered(db: Database, servers: Servers, seconds: float, notice: Callable[[str], None]) -> dict[str, Tool]:
    """The tools of all servers by their names; a server is started only when nothing is known of it yet.

    `seconds`: that a call may take.
    """
    found: dict[str, Tool] = {}
    for name in [each for each in servers.told if each not in servers.failed]:
        try:
            told = known(db, servers, name) or learn(db, servers, name)
        except ServerFailed as error:
            servers.failed.add(name)
            notice(f"{error} (agent mcp test {name})")
            continue
        found = {tool.name: tool for tool in tools(servers, name, told, seconds)} | found  # no later one takes a name
    return found


def compare(db: Database, servers: Servers, notice: Callable[[str], None]) -> None:
    """Say which of the servers that have been started describe their tools otherwise than before, and keep that."""
    for name, listed in servers.listed().items():
        before, now = known(db, servers, name), list(map(_described, listed[:_HELD]))
        if before != now:
            keep(db, servers, name, now)
            if before is not None:
                notice(f"the server {name} offers other tools than before: agent mcp list {name}")


def known(db: Database, servers: Servers, name: str) -> Known | None:
    """What a server said of its tools when it was last started with these settings."""
    kept = json.loads(meta.get(db, f"mcp {name}") or "{}")
    same = kept.get("settings") == _settings(db, servers.told[name])
    return kept["tools"] if same else None


def learn(db: Database, servers: Servers, name: str) -> Known:
    """Ask a server for its tools, and keep what it says. Raises ServerFailed."""
    told = list(map(_described, servers.tools(name)[:_HELD]))
    keep(db, servers, name, told)
    return told


def _described(each: Any) -> dict[str, Any]:
    return described(each.name, each.description or "", each.input_schema)


def keep(db: Database, servers: Servers, name: str, told: Known) -> None:
    """Keep what a server said of its tools."""
    kept = json.dumps({"settings": _settings(db, servers.told[name]), "tools": told}, ensure_ascii=False)
    meta.put(db, f"mcp {name}", kept)


def described(name: str, description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept and shown of a tool: cleaned, cut, and of its arguments what a model needs to fill them in."""
    properties, needed = schema.get("properties"), schema.get("required")
    there = properties if isinstance(properties, Mapping) else {}
    arguments = {
        each: _argument(told)
        for each, told in list(there.items())[:_ARGUMENTS]
        if isinstance(told, Mapping) and each == one_line(each, _NAMED)
    }
    required = [each for each in arguments if isinstance(needed, list) and each in needed]
    parameters = {"type": "object", "properties": arguments, "required": required}
    if len(json.dumps(parameters)) > _SCHEMA:
        parameters["properties"] = {each: _type(told) for each, told in arguments.items()}
    return {"name": name[:_NAMED], "description": _said(description, _DESCRIBED), "parameters": parameters}


def tools(servers: Servers, name: str, told: Known, seconds: float) -> list[Tool]:
    """The tools of a server, from what it said of them."""
    made: dict[str, Tool] = {}
    for each in _within(told[:MOST], _TOGETHER // max(1, len(servers.told))):
        full = f"{name}__{_NAME.sub('_', each['name'])}"[:64]
        run = partial(_run, servers, name, each["name"], seconds)
        made.setdefault(
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
    return list(made.values())


def _within(told: Known, room: int) -> Iterator[dict[str, Any]]:
    """As many as fit, of long ones the kinds of their arguments alone: every request holds them, and all else too."""
    for each in told:
        if len(json.dumps(each)) > room // 4:
            slim = {name: _type(argument) for name, argument in each["parameters"]["properties"].items()}
            each = {**each, "parameters": {**each["parameters"], "properties": slim}}
        room -= len(json.dumps(each))
        if room < 0:
            return
        yield each


def _run(servers: Servers, name: str, tool: str, seconds: float, context: ToolContext, **arguments: Any) -> ToolResult:
    try:
        result = servers.call(name, tool, arguments, seconds)
    except ServerFailed as error:
        raise ToolFailed(str(error)) from error
    words = "\n".join(map(_part, result.content)) or "it gave no words"
    if result.is_error:
        raise ToolFailed(words[:2000])
    return ToolResult(words)


def _part(part: Any) -> str:
    """A part of a result in words: pictures and sounds are named, and not shown."""
    text = getattr(part, "text", None) or getattr(getattr(part, "resource", None), "text", None)
    return text if isinstance(text, str) else f"[{one_line(str(getattr(part, 'type', 'something')), 30)}, not shown]"


def _argument(told: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: told[key] for key in _KEPT if key in told}
    if isinstance(told.get("description"), str) and (words := _said(told["description"], _ARGUMENT)):
        kept["description"] = words
    return kept


def _type(told: Mapping[str, Any]) -> dict[str, Any]:
    kind = told.get("type")
    return {"type": kind} if isinstance(kind, str) and len(kind) <= _KIND else {}


def _said(words: str, most: int) -> str:
    """Words of a server as they are shown to a model: they can neither end a fence nor begin one."""
    return unfenced(one_line(words, most))


def _settings(db: Database, told: Mapping[str, Any]) -> str:
    """A hash of a server's settings, in which passwords may stand."""
    return keyed_hash.digest(db, json.dumps(told, sort_keys=True))
