"""What a tool is, and how one is run.

A tool is a function; its name, docstring and annotations are what the model sees. Whatever the model gets wrong comes
back to it as a failed result in words, and so does whatever a tool does wrong: a turn never ends by one's exception.

A tool that asks more than the database may hang: it runs on a thread of its own, and is left behind when it takes too
long or the person stops the turn. No thread can be ended from outside, so such a tool is given no database: whatever it
does later, it writes nothing into a conversation that has gone on.
"""

import inspect
import threading
import types
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field, replace
from math import inf
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from agent_cli import text
from agent_cli.clock import Clock
from agent_cli.errors import StoreError
from agent_cli.memory.scope import Scope
from agent_cli.memory.search.recall import Meaning
from agent_cli.messages import ToolCall, ToolResult
from agent_cli.store.db import Database
from agent_cli.values import frozen

Risk = Literal["read", "session", "propose", "write", "network"]
"""What a call may do: look, keep something until the session closes, put something before the person that counts for
nothing without their yes, keep something for good, reach out."""

MAX_RESULT = 1_000_000  # characters of a result that the log keeps
_MAX_REASON = 500  # characters of why a call failed

OnCancel = Callable[[Callable[[], None]], AbstractContextManager[None]]
"""A block in which, when the turn is stopped, something is called: `Cancel.stopping` of llm/model.py."""

_PYTHON_TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}
_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


@frozen
class Access:
    """What of the machine and the network tools may reach: nothing but what the person's settings name."""

    folders: tuple[Path, ...] = ()  # whose files may be read
    feeds: Mapping[str, str] = field(default_factory=dict)  # name: address or file
    allow_private: bool = False  # whether an address may be on this machine or in the private network
    zone: str = ""  # in which times are told, as in Europe/Vienna; empty: the machine's
    is_denied: Callable[[str], bool] = lambda path: False  # what a rule keeps from being read is not searched either


class ToolFailed(Exception):
    """Raised by a tool to tell the model, in words, why it could not do it."""


@frozen
class ToolContext:
    """What a tool may reach. Passed as the first argument and hidden from the model."""

    db: Database
    session: int
    scope: Scope
    time: Clock
    embed: Meaning | None = None  # None: search by words alone
    memory: Database | None = None  # what is remembered, where it stands apart from this conversation: only read
    reads: bool = True  # whether anything that is remembered may be shown
    excluded: frozenset[tuple[str, int]] = frozenset()  # (kind, number) of what the person wants left out this time
    access: Access = Access()

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
    seconds: float = 0  # it may take, without the database; 0: it asks nothing else, and is not timed
    resolve: Callable[[ToolContext, dict[str, Any]], dict[str, Any]] | None = None
    """The arguments as the person's rules read them: of a path where it leads to, with no link and no .. in it. What
    differs is shown to the person beside what the model wrote. Raises ToolFailed, and the call is not run."""
    defaults: Mapping[str, Any] = field(default_factory=dict)  # what it takes for an argument that is left out
    reads_memory: bool = False  # not available where memory is not read

    def schema(self) -> dict[str, Any]:
        return {"name": self.name, "description": self.description, "parameters": self.parameters}


def tool(
    risk: Risk,
    offered: Callable[[ToolContext], bool] = lambda context: True,
    *,
    source: str = "built-in",
    seconds: float = 0,
    resolve: Callable[[ToolContext, dict[str, Any]], dict[str, Any]] | None = None,
    reads_memory: bool = False,
) -> Callable[[Callable[..., str | ToolResult]], Tool]:
    """Make a tool of a function. Annotated[str, "what it is"] describes a parameter to the model."""

    def make(function: Callable[..., str | ToolResult]) -> Tool:
        hints = get_type_hints(function, include_extras=True)
        _context, *parameters = inspect.signature(function).parameters.values()
        required = [p.name for p in parameters if p.default is p.empty]
        properties = {p.name: _property(hints[p.name]) for p in parameters}
        schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
        about = inspect.getdoc(function) or ""
        defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        return Tool(
            name=function.__name__,
            description=about,
            parameters=schema,
            risk=risk,
            run=function,
            offered=offered,
            source=source,
            seconds=seconds,
            resolve=resolve,
            defaults=defaults,
            reads_memory=reads_memory,
        )

    return make


class _NoDatabase:
    """Stands where a tool that runs on a thread of its own would look for the database."""

    def __getattr__(self, name: str) -> Any:
        raise ToolFailed("a tool that is timed has no database")


def resolve_arguments(tool: Tool, call: ToolCall, context: ToolContext) -> dict[str, Any] | ToolResult:
    """The arguments as the person's rules read them, or why the call cannot be run at all."""
    if wrong := _argument_errors(tool, call.arguments):
        return _failure(f"{wrong}; {tool.name} takes {_signature(tool)}")
    if tool.resolve is None:
        return call.arguments
    try:
        return tool.resolve(context, call.arguments)
    except Exception as error:  # what cannot be read cannot be ruled on
        return _failure(_reason(tool, error))


def run(
    tool: Tool, call: ToolCall, context: ToolContext, seconds: float = inf, stopping: OnCancel | None = None
) -> ToolResult:
    """Run one call of at most so many seconds, or until the turn is stopped; a result is cut at LARGEST.

    Raises nothing but StoreError: a database that cannot be written ends the turn.
    """
    if wrong := _argument_errors(tool, call.arguments):
        return _failure(f"{wrong}; {tool.name} takes {_signature(tool)}")
    if not tool.seconds:
        return _run_here(tool, call, context)
    return _run_on_thread(tool, call, context, min(tool.seconds, seconds), stopping or (lambda stop: nullcontext()))


def _run_on_thread(tool: Tool, call: ToolCall, context: ToolContext, seconds: float, stopping: OnCancel) -> ToolResult:
    answers: SimpleQueue[ToolResult | None] = SimpleQueue()
    detached = replace(context, db=cast(Database, _NoDatabase()), memory=None, embed=None)

    def work() -> None:
        try:
            answers.put(_run_here(tool, call, detached))
        except BaseException as error:  # a thread has nobody above it, and a library may call sys.exit
            answers.put(_failure(_reason(tool, error)))

    with stopping(lambda: answers.put(None)):
        threading.Thread(target=work, name=tool.name, daemon=True).start()
        try:
            result = answers.get(timeout=seconds)
        except Empty:
            return _failure(f"{tool.name} did not answer within {seconds:g} s; it was left behind")
    return result or _failure(f"{tool.name} was stopped by the person, and left behind")


def _run_here(tool: Tool, call: ToolCall, context: ToolContext) -> ToolResult:
    try:
        result = tool.run(context, **call.arguments)
    except StoreError:
        raise
    except Exception as error:  # whatever a tool does wrong, the turn goes on
        return _failure(_reason(tool, error))
    result = result if isinstance(result, ToolResult) else ToolResult(result)
    if not isinstance(result.text, str):
        return _failure(f"{tool.name} failed: it gave no text")
    return replace(result, text=text.without_surrogates(_cut(result.text)))


def _cut(words: str) -> str:
    left = len(words) - MAX_RESULT
    return words if left <= 0 else f"{words[:MAX_RESULT]}\n… {left:,} more characters of this result were left out"


def _failure(why: str) -> ToolResult:
    return ToolResult(text.without_surrogates(why), failed=True)


def _reason(tool: Tool, error: BaseException) -> str:
    """Why it failed, in a few words: an error may quote whatever the tool has read."""
    try:
        message = str(error)[: 2 * _MAX_REASON]
    except Exception:
        message = ""
    if isinstance(error, ToolFailed):
        return message
    kind = type(error).__name__
    return f"{tool.name} failed: {text.one_line(f'{kind}: {message}' if message else kind, _MAX_REASON)}"


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


def _argument_errors(tool: Tool, arguments: dict[str, Any]) -> str:
    properties = tool.parameters["properties"]
    missing = [name for name in tool.parameters.get("required", ()) if name not in arguments]
    unknown = [name for name in arguments if name not in properties]
    mistyped = [
        name for name, value in arguments.items() if name in properties and not _has_type(properties[name], value)
    ]
    faults = {"missing": missing, "unknown": unknown, "of the wrong type": mistyped}
    parts = [f"{fault}: {', '.join(names)}" for fault, names in faults.items() if names]
    return f"wrong arguments, {'; '.join(parts)}" if parts else ""


def _has_type(schema: dict[str, Any], value: Any) -> bool:
    """Whether a value is of the kind that a schema names; one that names none, as servers have them, fits any."""
    type_ = _PYTHON_TYPES.get(schema["type"]) if isinstance(schema.get("type"), str) else None
    choices = schema.get("enum")
    if type_ is None:
        return True
    if isinstance(value, bool) and type_ is not bool:
        return False
    return isinstance(value, type_) and (not isinstance(choices, list) or value in choices)


def _signature(tool: Tool) -> str:
    required = tool.parameters.get("required", ())
    names = [
        f"{name} ({schema.get('type', 'anything')}{'' if name in required else ', optional'})"
        for name, schema in tool.parameters["properties"].items()
    ]
    return ", ".join(names) or "no arguments"
