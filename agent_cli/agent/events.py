"""What happens during a turn, in order. The REPL draws these; `ask` prints them; tests compare them."""

from collections.abc import Callable

from agent_cli.errors import AgentError
from agent_cli.messages import Message, ToolCall, ToolResult
from agent_cli.values import frozen


@frozen
class Asked:
    """The person's words are on disk under this handle."""

    handle: str


@frozen
class Noticed:
    """Something the person should be told beside the answer."""

    text: str


@frozen
class Progressed:
    """How far something long has come: `line` where a line can be written over, `step` elsewhere unless it is empty."""

    line: str
    step: str = ""


@frozen
class ThinkingArrived:
    text: str


@frozen
class TextArrived:
    text: str


@frozen
class TextWasThinking:
    """What arrived as text since the reply began was thinking."""


@frozen
class ApprovalNeeded:
    """Waits for the person: `answer` takes yes or no, once."""

    call: ToolCall
    answer: Callable[[bool], None]


@frozen
class ToolStarted:
    call: ToolCall


@frozen
class ToolFinished:
    call: ToolCall
    result: ToolResult


@frozen
class TurnEnded:
    reply: Message
    finish: str = "stop"
    model: str = ""
    stopped_by: str = ""  # the guard's reason, or empty


@frozen
class TurnFailed:
    """Only from a runner, which cannot raise across threads; `error` is what run_turn raised."""

    error: AgentError | BaseException


Event = (
    Asked
    | Noticed
    | Progressed
    | ThinkingArrived
    | TextArrived
    | TextWasThinking
    | ApprovalNeeded
    | ToolStarted
    | ToolFinished
    | TurnEnded
    | TurnFailed
)
