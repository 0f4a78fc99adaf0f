"""The events of a turn, in order. The REPL draws them, `ask` prints them, tests compare them."""

from collections.abc import Callable

from agent_cli.errors import AgentError
from agent_cli.messages import Message, ToolCall, ToolResult
from agent_cli.values import frozen


@frozen
class QuestionLogged:
    """The person's message is in the log under this handle."""

    handle: str


@frozen
class Noticed:
    """A notice for the person, apart from the answer. `receipt`: it says what became of what was to be remembered."""

    text: str
    receipt: bool = False


@frozen
class Progressed:
    """Progress of long work: `line` where a line can be overwritten, elsewhere `step` unless it is empty."""

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
    """The text since the reply began turned out to be thinking."""


@frozen
class ApprovalNeeded:
    """The turn waits for the person; `answer` is called once, with yes or no."""

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
    finish: str = "stop"  # see log.close_reply
    model: str = ""
    stopped_by: str = ""  # why it was ended before its own end, or empty


@frozen
class TurnFailed:
    """Only from a runner, which cannot raise across threads; `error` is what its work raised."""

    error: AgentError | BaseException


Event = (
    QuestionLogged
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
