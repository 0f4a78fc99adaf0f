"""What a tool is, and how one is run.

A tool is a function; its name, docstring and annotations are what the model sees. Whatever the model gets wrong comes
back to it as a failed result in words, and so does whatever a tool does wrong: a turn never ends by one's exception.
"""

import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from agent_cli import text
from agent_cli.clock import Clock
from agent_cli.errors import StoreError
from agent_cli.memory.recall import Meaning
from agent_cli.memory.scope import Scope
from agent_cli.messages import ToolCall, ToolResult
from agent_cli.store.db import Database
from agent_cli.values import frozen

Risk = Literal["read", "session", "propose", "write", "network"]
"""What a call may do: look, keep something until the session closes, put something before the person that counts for
nothing without their yes, keep something for good, reach out."""

_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


@frozen
class Reach:
    """What of the machine and the network tools may reach: nothing but what the person's settings name."""

    folders: tuple[Path, ...] = ()  # whose files may be read
    feeds: Mapping[str, str] = field(default_factory=dict)  # name: address or file
    private: bool = False  # whether an address may be on this machine or in the private network
    zone: str = ""  # in which times are told, as in Europe/Vienna; empty: the machine's


class ToolFailed(Exception):
    """Raised by a tool to tell the model, in words, why it could not do it."""


@frozen
class ToolContext:
    """What a tool may reach. Passed as the first argument and hidden from the model."""

    db: Database
    session: int
    scope: Scope
    time: Clock
    meaning: Meaning | None = None  # None: search by words alone
    memory: Database | None = None  # what is remembered, where it stands apart from this conversation: only read
    reads: bool = True  # whether anything that is remembered may be shown
    without: frozenset[tuple[str, int]] = frozenset()  # (kind, number) of what the person wants left out this time
    reach: Reach = Reach()

    @property
    def remembered(self) -> Database:
        """The database that is searched and read."""
        return self.memory or self.db


@frozen
class Tool:
    name: str
    description: str
    parameters: dict[str, Any]  # JSON Schema
    risk: Risk
    run: Callable[..., str | ToolResult]
    offered: Callable[[ToolContext], bool] = lambda context: True  # whether the model is told of it
    source: str = "built-in"  # where it comes from; the person's rules may name it
    seconds: float = 0  # it may take; 0: it asks nothing but the database, and is not timed

    def schema(self) -> dict[str, Any]:
        return {"name": self.name, "description": self.description, "parameters": self.parameters}


def tool(
    risk: Risk, offered: Callable[[ToolContext], bool] = lambda context: True, *, source: str = "built-in",
    seconds: float = 0,
) -> Callable[[Callable[..., str | ToolResult]], Tool]:  # fmt: skip
    """Make a tool of a function. Annotated[str, "what it is"] describes a parameter to the model."""

    def make(function: Callable[..., str | ToolResult]) -> Tool:
        hints = get_type_hints(function, include_extras=True)
        _context, *parameters = inspect.signature(function).parameters.values()
        required = [p.name for p in parameters if p.default is p.empty]
        properties = {p.name: _property(hints[p.name]) for p in parameters}
        schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
        return Tool(function.__name__, inspect.getdoc(function) or "", schema, risk, function, offered, source, seconds)

    return make


def run(tool: Tool, call: ToolCall, context: ToolContext) -> ToolResult:
    """Run one call. Raises nothing but StoreError: a database that cannot be written ends the turn."""
    result = _result(tool, call, context)
    return replace(result, text=text.whole(result.text))


def _result(tool: Tool, call: ToolCall, context: ToolContext) -> ToolResult:
    wrong = _wrong(tool, call.arguments)
    if wrong:
        return ToolResult(f"{wrong}; {tool.name} takes {_signature(tool)}", failed=True)
    try:
        result = tool.run(context, **call.arguments)
    except StoreError:
        raise
    except ToolFailed as error:
        return ToolResult(str(error), failed=True)
    except Exception as error:  # whatever a tool does wrong, the turn goes on
        return ToolResult(f"{tool.name} failed: {type(error).__name__}: {error}", failed=True)
    return result if isinstance(result, ToolResult) else ToolResult(result)


def _property(hint: Any) -> dict[str, Any]:
    described: dict[str, Any] = {}
    if get_origin(hint) is Annotated:
        hint, description = get_args(hint)
        described = {"description": description}
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(kind for kind in get_args(hint) if kind is not type(None))
    if get_origin(hint) is Literal:
        return {"type": "string", "enum": list(get_args(hint)), **described}
    return {"type": _JSON_TYPES[hint], **described}


def _wrong(tool: Tool, arguments: dict[str, Any]) -> str:
    properties = tool.parameters["properties"]
    missing = [name for name in tool.parameters.get("required", ()) if name not in arguments]
    unknown = [name for name in arguments if name not in properties]
    mistyped = [name for name, value in arguments.items() if name in properties and not _fits(properties[name], value)]
    faults = {"missing": missing, "unknown": unknown, "of the wrong type": mistyped}
    said = [f"{fault}: {', '.join(names)}" for fault, names in faults.items() if names]
    return f"wrong arguments, {'; '.join(said)}" if said else ""


def _fits(schema: dict[str, Any], value: Any) -> bool:
    kinds: dict[str, Any] = {"string": str, "integer": int, "number": (int, float), "boolean": bool}
    if isinstance(value, bool) and schema["type"] != "boolean":
        return False
    return isinstance(value, kinds[schema["type"]]) and value in schema.get("enum", [value])


def _signature(tool: Tool) -> str:
    required = tool.parameters.get("required", ())
    names = [
        f"{name} ({schema['type']}{'' if name in required else ', optional'})"
        for name, schema in tool.parameters["properties"].items()
    ]
    return ", ".join(names) or "no arguments"
