"""What happens during a turn, in order. The REPL draws these; `ask` prints them; tests compare them."""

from collections.abc import Callable
from dataclasses import dataclass

from agent_cli.errors import AgentError
from agent_cli.messages import Message, ToolCall, ToolResult


@dataclass(frozen=True)
class Asked:
    """The person's words are on disk under this handle."""

    handle: str


@dataclass(frozen=True)
class Noticed:
    """Something the person should be told beside the answer."""

    text: str


@dataclass(frozen=True)
class Progressed:
    """How far something long has come: `line` where a line can be written over, `step` elsewhere unless it is empty."""

    line: str
    step: str = ""


@dataclass(frozen=True)
class ThinkingArrived:
    text: str


@dataclass(frozen=True)
class TextArrived:
    text: str


@dataclass(frozen=True)
class TextWasThinking:
    """What arrived as text since the reply began was thinking."""


@dataclass(frozen=True)
class ApprovalNeeded:
    """Waits for the person: `answer` takes yes or no, once."""

    call: ToolCall
    answer: Callable[[bool], None]


@dataclass(frozen=True)
class ToolStarted:
    call: ToolCall


@dataclass(frozen=True)
class ToolFinished:
    call: ToolCall
    result: ToolResult


@dataclass(frozen=True)
class TurnEnded:
    reply: Message
    finish: str = "stop"
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    stopped_by: str = ""  # the guard's reason, or empty


@dataclass(frozen=True)
class TurnFailed:
    """Only from a runner, which cannot raise across threads; `error` is what run_turn raised."""

    error: AgentError | BaseException


Event = (
    Asked | Noticed | Progressed | ThinkingArrived | TextArrived | TextWasThinking | ApprovalNeeded | ToolStarted
    | ToolFinished | TurnEnded | TurnFailed
)  # fmt: skip
