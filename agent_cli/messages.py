"""Messages between the person, the model and the tools, and the roles of the program's own lines."""

import json
from collections.abc import Sequence
from dataclasses import field
from typing import Any, Literal

from agent_cli.values import frozen

_encode = json.JSONEncoder(ensure_ascii=False).encode

Role = Literal["system", "user", "assistant", "tool"]

Origin = Literal["typed", "pasted", "piped", "file", "import", "http", "editor", "mcp", "schedule", "tool", "model"]
"""How a text came in, the most trusted first. Only what the person typed can count as their own statement."""


@frozen
class Part:
    """A text of one origin; `name` is the file it was read from."""

    text: str
    origin: Origin
    name: str = ""


_JSON_TYPES: dict[str, Any] = {"integer": int, "number": (int, float), "boolean": bool, "string": str, "array": list}
_JSON_TYPES |= {"object": dict, "null": type(None)}


def has_json_type(value: Any, name: Any) -> bool:
    """Whether a value of a tool's arguments has the type of a JSON Schema; an unknown name accepts any value."""
    kind = _JSON_TYPES.get(name) if isinstance(name, str) else None
    return kind is None or (isinstance(value, kind) and (kind is bool or not isinstance(value, bool)))


@frozen
class ToolCall:
    """A call of a tool. `resolved`: the arguments that lead elsewhere than they say, such as a path that is a link."""

    id: str
    name: str
    arguments: dict[str, Any]
    resolved: dict[str, Any] = field(default_factory=dict)


@frozen
class ToolResult:
    """A tool's result. A failure is a result too: the model reads it and goes on."""

    text: str
    failed: bool = False
    refused: bool = False  # by the person or a rule
    broke: bool = False  # it raised, or hung; the text begins with the name of the tool
    quotes: bool = False  # a failure that quotes words from outside
    receipt: str = ""  # tells the person what was written; the model never sees it


@frozen
class Message:
    """A message. `before` and `after`: what the program puts around a person's text (recalled memory and the date)."""

    role: Role
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""  # of a tool message: the call that it answers
    tool_name: str = ""  # of a tool message
    thinking: str = ""
    before: str = ""
    after: str = ""

    @property
    def content(self) -> str:
        return "\n\n".join(piece for piece in (self.before, self.text, self.after) if piece)


class Receipt(str):
    """A line of the program that says what it has done."""


class Request(str):
    """A line of the program that waits for the person: a question, or what is to be reviewed."""


class Failure(str):
    """A line of the program that says what went wrong."""


class FromMemory(str):
    """A line that says that no server answers, and memory alone does."""


def joined(lines: Sequence[str], separator: str = "\n") -> str:
    """Lines of the program as one, in the role of the first."""
    return type(lines[0])(separator.join(lines))


def join_parts(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts with a blank line between them, appended to the earlier part, so that the texts add up."""
    return (*(Part(f"{part.text}\n\n", part.origin, part.name) for part in parts[:-1]), *parts[-1:])


def encode_parts(parts: Sequence[Part]) -> str:
    """What is kept of parts beside their joined text: JSON [[origin, length in characters, name], …]."""
    return _encode([[part.origin, len(part.text), *([part.name] if part.name else [])] for part in parts])


def decode_parts(text: str, encoded: str) -> tuple[Part, ...]:
    parts, start = [], 0
    for origin, length, *name in json.loads(encoded):
        parts.append(Part(text[start : start + length], origin, *name))
        start += length
    return tuple(parts)
