"""The tools that the model knows by name alone, and the one tool that calls them.

A schema takes thirty tokens and more of every request, and a slow machine reads thirty tokens in a second. So what few
questions need is only listed in the description of `use_tool`. Which tools that are depends on the settings and not on
what is stored: all conversations begin with the same bytes, which the server then holds for the next one too.

The log, the rules and the person see the tool that was meant; only requests to the model have the call through
`use_tool`, as the model wrote it.
"""

import json
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from agent_cli.messages import Message, ToolCall
from agent_cli.tools.tool import Tool

NAME = "use_tool"
_NAME_KEYS, _ARGUMENTS = ("tool", "name"), "arguments"


def schema(tools: Iterable[Tool]) -> dict[str, Any]:
    """The schema of the tool that calls these."""
    properties = {"tool": {"type": "string"}, _ARGUMENTS: {"type": "object"}}
    return {
        "name": NAME,
        "description": f"Use another tool: {', '.join(map(_signature, tools))}.",
        "parameters": {"type": "object", "properties": properties, "required": ["tool"]},
    }


def meant(call: ToolCall) -> ToolCall:
    """The call of the tool that was meant; its arguments may stand in an object, in its JSON, or beside its name."""
    if call.name != NAME:
        return call
    key = next((key for key in _NAME_KEYS if isinstance(call.arguments.get(key), str)), _NAME_KEYS[0])
    given = call.arguments.get(_ARGUMENTS) or {each: call.arguments[each] for each in call.arguments if each != key}
    name = str(call.arguments.get(key, "")).partition("(")[0].strip()
    return replace(call, name=name, arguments=_as_object(given))


def as_called(message: Message, listed: Collection[str]) -> Message:
    """The message as the model wrote it: with the calls of tools whose schemas are not `listed` through this one."""
    if NAME not in listed:
        return message
    calls = tuple(call if call.name in listed else _through(call) for call in message.calls)
    tool_name = NAME if message.role == "tool" and message.tool_name not in listed else message.tool_name
    return replace(message, calls=calls, tool_name=tool_name)


def _through(call: ToolCall) -> ToolCall:
    return replace(call, name=NAME, arguments={"tool": call.name, _ARGUMENTS: call.arguments})


def _signature(tool: Tool) -> str:
    """The name with the arguments that it needs, as in complete_task(task: t4)."""
    properties = tool.parameters["properties"]
    examples = {name: properties[name].get("description", "") for name in tool.parameters.get("required", ())}
    arguments = [": ".join(filter(None, (name, text.removeprefix("as in ")))) for name, text in examples.items()]
    return f"{tool.name}({', '.join(arguments)})"


def _as_object(given: Any) -> dict[str, Any]:
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return {}
    return given if isinstance(given, dict) else {}
