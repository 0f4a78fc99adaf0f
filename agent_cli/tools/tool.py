"""Defines tools and runs their calls. A tool is a function; the model sees its name, docstring and annotations. Errors
come back to the model as failed results: an exception of a tool never ends a turn. A tool that uses more than the
database may hang: it runs on a thread of its own, without a database, and is abandoned when it takes too long or the
person stops the turn.

Some tools the model knows by name alone, and calls through `use_tool`. The log, the rules and the person see the tool
that was meant; only requests to the model have the call as the model wrote it.
"""

import inspect
import json
import threading
import types
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field, replace
from math import inf
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from agent_cli import text
from agent_cli.clock import Clock
from agent_cli.errors import StoreError, UsageError
from agent_cli.memory.language.triples import SINGLE_VALUED
from agent_cli.memory.scope import Scope
from agent_cli.memory.search.vectors import QueryEmbedder
from agent_cli.messages import Message, ToolCall, ToolResult, has_json_type
from agent_cli.store.db import Database
from agent_cli.values import frozen

Risk = Literal["read", "session", "propose", "write", "network"]
"""What a call may do: read; write for this session only; propose something that the person must accept; write
permanently; use the network."""

MAX_RESULT = 1_000_000  # characters
_MAX_REASON = 500  # characters of an error

OnCancel = Callable[[Callable[[], None]], AbstractContextManager[None]]
"""A context manager that calls a function when the turn is cancelled: `Cancel.on_cancel` of llm/model.py."""

_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


@frozen
class Access:
    """What tools may use of the machine and the network: only what the person's settings name."""

    folders: tuple[Path, ...] = ()  # whose files may be read
    feeds: Mapping[str, str] = field(default_factory=dict)  # name: address or file
    allow_private: bool = False  # whether a feed may be on this machine or in the private network
    is_denied: Callable[[str], bool] = lambda path: False  # paths that a rule denies are not searched


class ToolFailed(Exception):
    """Raised by a tool with a sentence for the model that says why it failed; a UsageError is as good."""


class QuotedFailure(ToolFailed):
    """Raised with words from outside, of a server or a file: they are fenced and mistrusted as a result is."""


@frozen
class ToolContext:
    """What a tool works with: its first argument, hidden from the model."""

    db: Database
    session: int
    scope: Scope
    time: Clock
    embedder: QueryEmbedder | None = None  # None: search by words only
    memory: Database | None = None  # memory to read, when it is another database than this conversation's
    reads: bool = True  # whether memory may be read
    keeps: bool = True  # False: incognito, nothing is saved
    learns: bool = False  # whether a job may read the turn for facts and skills
    everywhere: bool = False  # whether a session carries over what was said in other folders
    profile_tokens: int = 600  # what always counts may take so many in a request
    recall_tokens: int = 1200  # and what is recalled beside a message so many
    excluded: frozenset[tuple[str, int]] = frozenset()  # (kind, number) of memories left out of this turn
    access: Access = Access()
    fact_half_life: float = 0.0  # days after which a fact counts half in a search; 0: age hardly counts
    single_valued: frozenset[str] = SINGLE_VALUED  # predicates that have one value at a time

    @property
    def remembered(self) -> Database:
        return self.memory or self.db


@frozen
class Tool:
    name: str
    description: str
    parameters: dict[str, Any]  # JSON Schema
    risk: Risk
    run: Callable[..., str | ToolResult]
    offered: Callable[[ToolContext], bool] = lambda context: True  # whether the model sees it
    source: str = "built-in"  # the person's rules may name it
    seconds: float = 0  # time limit; 0: none, for tools that use only the database
    resolve: Callable[[ToolContext, dict[str, Any]], dict[str, Any]] | None = None
    """Checks the arguments before anybody is asked, and returns them as the person's rules see them: paths without
    links and `..`, times as dates. Differences are shown to the person beside what the model wrote. May raise
    ToolFailed; then nobody is asked, and the call is not run."""
    defaults: Mapping[str, Any] = field(default_factory=dict)  # of optional arguments
    reads_memory: bool = False  # not available where memory is not read
    listed: bool = True  # whether the model sees its schema; else only its name (see use_tool)

    def schema(self) -> dict[str, Any]:
        return {"name": self.name, "description": self.description, "parameters": self.parameters}


def tool(risk: Risk, **options: Any) -> Callable[[Callable[..., str | ToolResult]], Tool]:
    """Make a tool of a function; `options` are fields of Tool. Annotated[str, "what it is"] describes a parameter."""

    def make(function: Callable[..., str | ToolResult]) -> Tool:
        hints = get_type_hints(function, include_extras=True)
        _context, *parameters = inspect.signature(function).parameters.values()
        defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        required = [p.name for p in parameters if p.name not in defaults]
        properties = {p.name: _property(hints[p.name]) for p in parameters}
        schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
        description = inspect.getdoc(function) or ""
        return Tool(function.__name__, description, schema, risk, function, defaults=defaults, **options)

    return make


def resolve_arguments(tool: Tool, call: ToolCall, context: ToolContext) -> dict[str, Any] | ToolResult:
    """The arguments as the person's rules see them, or a failed result when the call cannot be run."""
    if wrong := _argument_errors(tool, call.arguments):
        return _failure(wrong)
    if tool.resolve is None:
        return call.arguments
    try:
        return tool.resolve(context, call.arguments)
    except Exception as error:  # no rule can be applied to arguments that cannot be resolved
        return _raised(tool, error)


def run(
    tool: Tool,
    call: ToolCall,
    context: ToolContext,
    seconds: float = inf,
    on_cancel: OnCancel = lambda stop: nullcontext(),
) -> ToolResult:
    """Run one call for at most `seconds`, or until the turn is cancelled. Raises only StoreError, which ends the
    turn."""
    if wrong := _argument_errors(tool, call.arguments):
        return _failure(wrong)
    if not tool.seconds:
        return _run_here(tool, call, context)
    answers: SimpleQueue[ToolResult | None] = SimpleQueue()
    detached = replace(context, db=cast(Database, None), memory=None, embedder=None)

    def work() -> None:
        try:
            answers.put(_run_here(tool, call, detached))
        except BaseException as error:  # nothing above a thread would catch it, and a library may call sys.exit
            answers.put(_raised(tool, error))

    with on_cancel(lambda: answers.put(None)):
        threading.Thread(target=work, name=tool.name, daemon=True).start()
        most = min(tool.seconds, seconds)
        try:
            result = answers.get(timeout=most)
        except Empty:
            why = f"{tool.name} did not answer within {most:g} s, so the program stopped waiting for it"
            return _failure(why, broke=True)
    return result or _failure(f"{tool.name} was stopped by the person", broke=True)


def _run_here(tool: Tool, call: ToolCall, context: ToolContext) -> ToolResult:
    try:
        result = tool.run(context, **call.arguments)
    except StoreError:
        raise
    except Exception as error:  # the turn goes on after any error of a tool
        return _raised(tool, error)
    result = result if isinstance(result, ToolResult) else ToolResult(result)
    if not isinstance(result.text, str):
        return _failure(f"{tool.name} failed: it returned no text", broke=True)
    words, left = result.text[:MAX_RESULT], len(result.text) - MAX_RESULT
    words += f"\n… {left:,} more characters of this result were left out" if left > 0 else ""
    return replace(result, text=text.without_surrogates(words))


def _failure(why: str, *, broke: bool = False) -> ToolResult:
    return ToolResult(text.without_surrogates(why), failed=True, broke=broke)


def _raised(tool: Tool, error: BaseException) -> ToolResult:
    """The result of a call that raised: the error's message, cut, since it may quote whatever the tool has read."""
    try:
        message = str(error)[: 2 * _MAX_REASON]
    except Exception:
        message = ""
    if isinstance(error, ToolFailed | UsageError):
        return replace(_failure(message), quotes=isinstance(error, QuotedFailure))
    kind = type(error).__name__
    reason = text.one_line(f"{kind}: {message}" if message else kind, _MAX_REASON)
    return replace(_failure(f"{tool.name} failed: {reason}", broke=True), quotes=True)


def _property(hint: Any) -> dict[str, Any]:
    described: dict[str, Any] = {}
    if get_origin(hint) is Annotated:
        hint, described["description"] = get_args(hint)
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(kind for kind in get_args(hint) if kind is not type(None))
    if get_origin(hint) is Literal:
        return {"type": "string", "enum": list(get_args(hint)), **described}
    return {"type": _JSON_TYPES[hint], **described}


def _argument_errors(tool: Tool, arguments: dict[str, Any]) -> str:
    """What is wrong with the arguments, and which the tool takes; empty where nothing is."""
    properties, required = tool.parameters["properties"], tool.parameters.get("required", ())
    known = {name: value for name, value in arguments.items() if name in properties}
    faults = {
        "missing": [name for name in required if name not in arguments],
        "unknown": [name for name in arguments if name not in properties],
        "of the wrong type": [name for name, value in known.items() if not _has_type(properties[name], value)],
    }
    parts = [f"{fault}: {', '.join(names)}" for fault, names in faults.items() if names]
    optional = {name: "" if name in required else ", optional" for name in properties}
    takes = [f"{name} ({schema.get('type', 'anything')}{optional[name]})" for name, schema in properties.items()]
    accepted = ", ".join(takes) or "no arguments"
    return f"wrong arguments, {'; '.join(parts)}; {tool.name} takes {accepted}" if parts else ""


def _has_type(schema: dict[str, Any], value: Any) -> bool:
    choices = schema.get("enum")
    return has_json_type(value, schema.get("type")) and (not isinstance(choices, list) or value in choices)


# A schema takes thirty tokens and more of every request, so what few questions need is only listed in the description
# of `use_tool`. Which tools that are depends on the settings and not on what is stored: all conversations begin with
# the same bytes, which the server then holds for the next one too.

USE_TOOL = "use_tool"
_NAME_KEYS, _ARGUMENTS = ("tool", "name"), "arguments"


def use_tool_schema(tools: Iterable[Tool]) -> dict[str, Any]:
    properties = {"tool": {"type": "string"}, _ARGUMENTS: {"type": "object"}}
    description = f"Use another tool: {', '.join(map(_listed_signature, tools))}."
    parameters = {"type": "object", "properties": properties, "required": ["tool"]}
    return {"name": USE_TOOL, "description": description, "parameters": parameters}


def meant_call(call: ToolCall) -> ToolCall:
    """The call of the tool that was meant; its arguments may stand in an object, in its JSON, or beside its name."""
    if call.name != USE_TOOL:
        return call
    key = next((key for key in _NAME_KEYS if isinstance(call.arguments.get(key), str)), _NAME_KEYS[0])
    given = call.arguments.get(_ARGUMENTS) or {each: call.arguments[each] for each in call.arguments if each != key}
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            given = {}
    name = str(call.arguments.get(key, "")).partition("(")[0].strip()
    return replace(call, name=name, arguments=given if isinstance(given, dict) else {})


def as_called(message: Message, listed: Collection[str]) -> Message:
    """The message as the model wrote it: with the calls of tools whose schemas are not `listed` through this one."""
    if USE_TOOL not in listed:
        return message
    calls = tuple(
        call
        if call.name in listed
        else replace(call, name=USE_TOOL, arguments={"tool": call.name, _ARGUMENTS: call.arguments})
        for call in message.calls
    )
    tool_name = USE_TOOL if message.role == "tool" and message.tool_name not in listed else message.tool_name
    return replace(message, calls=calls, tool_name=tool_name)


def _listed_signature(tool: Tool) -> str:
    """The name with the arguments that it needs, as in complete_task(task: t4)."""
    properties = tool.parameters["properties"]
    examples = {name: properties[name].get("description", "") for name in tool.parameters.get("required", ())}
    arguments = [": ".join(filter(None, (name, text.removeprefix("as in ")))) for name, text in examples.items()]
    return f"{tool.name}({', '.join(arguments)})"
