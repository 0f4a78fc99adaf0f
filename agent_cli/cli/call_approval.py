"""Whether a tool call of `agent ask` may run: asked by one key where a person sees the answer at their terminal.

Nobody is asked in a pipe, in a run with a time limit or for a program that reads JSON: there the call is refused.
"""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent_cli import terminal
from agent_cli.agent import policy
from agent_cli.cli import output
from agent_cli.cli.ask_options import AskOptions
from agent_cli.cli.invocation import Invocation
from agent_cli.llm.model import Cancel
from agent_cli.messages import ToolCall

if TYPE_CHECKING:
    from agent_cli.render.styles import Display  # an answer in a pipe is not drawn


def approver(invocation: Invocation, asked: AskOptions, cancel: Cancel) -> policy.Approve:
    """What decides on the calls that need approval: the person at this terminal, or nobody."""
    unattended = invocation.child or asked.timeout or asked.form in ("json", "events")
    if unattended or not terminal.is_own(sys.stdout.fileno()):
        return policy.no_approver
    allowed_tools: set[str] = set()

    def approve(call: ToolCall) -> bool | None:
        if call.name in allowed_tools:
            return True
        answer = ""
        try:
            with _interruptible(cancel):
                answer = _answer(call, invocation.display())
        except terminal.NoTerminal:
            return None
        if answer == "a":
            allowed_tools.add(call.name)
        return answer in ("y", "a")

    return approve


def _answer(call: ToolCall, display: "Display") -> str:
    """The key that was pressed after the call was shown; `o` shows what was folded, and is asked again."""
    from agent_cli.repl.shell import approval  # few questions lead to a call

    width = display.width()
    is_folded = approval.is_folded(call, width)
    output.write_stderr(approval.question(call, width))
    key = terminal.key(approval.styled(approval.MORE if is_folded else approval.QUESTION, display))
    if key == "o" and is_folded:
        output.write_stderr(approval.question(call, width, whole=True))
        key = terminal.key(approval.styled(approval.QUESTION, display))
    return key


@contextmanager
def _interruptible(cancel: Cancel) -> Iterator[None]:
    """Let Ctrl-C end the question, and the turn with it: its handler alone would leave the key awaited."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        cancel()
    finally:
        signal.signal(signal.SIGINT, before)
