"""What passes between the person, the model and the tools.

Pure values: no ids of rows, no storage, no rendering. Two equal messages are equal.
"""

from collections.abc import Sequence
from dataclasses import field
from typing import Any, Literal

from agent_cli.values import frozen

Role = Literal["system", "user", "assistant", "tool"]

Origin = Literal["typed", "pasted", "piped", "file", "tool", "import", "http", "mcp", "schedule", "model"]
"""How words came in. Only what a person typed can ever count as the person's own word."""


@frozen
class Part:
    """Some words of one origin; `name` is the file they were read from."""

    text: str
    origin: Origin
    name: str = ""


@frozen
class ToolCall:
    """`ruled`: those arguments that really are something else than they say, as a path that is a link."""

    id: str
    name: str
    arguments: dict[str, Any]
    resolved: dict[str, Any] = field(default_factory=dict)


@frozen
class ToolResult:
    """A tool's answer. A failure is an answer too: the model reads it and goes on."""

    text: str
    failed: bool = False
    receipt: str = ""  # what the program tells the person was written; the model never sees or makes one


@frozen
class Message:
    """`before` and `after` are what the program puts around a person's words: memory and the date, fenced."""

    role: Role
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""  # the id of the call that a tool message answers
    tool_name: str = ""  # and the name of that tool
    thinking: str = ""
    before: str = ""
    after: str = ""

    @property
    def content(self) -> str:
        """What a model reads."""
        return "\n\n".join(piece for piece in (self.before, self.text, self.after) if piece)


def join_parts(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts with a blank line between them; it belongs to the part before, so that the texts add up."""
    return tuple(
        Part(part.text + ("\n\n" if index < len(parts) - 1 else ""), part.origin, part.name)
        for index, part in enumerate(parts)
    )
