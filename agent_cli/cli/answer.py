"""Prints the answer to one question: as text, as one JSON object, or as a JSON line for each event.

The answer is all text of the turn, before and after tool calls, without thinking. It goes to standard output alone;
receipts, notices and the recall go to standard error, or are events too.
"""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from agent_cli.agent import policy
from agent_cli.agent.events import Event, Noticed, TextArrived, TextWasThinking, ToolFinished, ToolStarted, TurnEnded
from agent_cli.agent.transcript import JsonObject, Transcript
from agent_cli.cli import output
from agent_cli.cli.ask_options import AskOptions
from agent_cli.cli.invocation import Invocation
from agent_cli.errors import AgentError
from agent_cli.memory.search import recall_log
from agent_cli.messages import Failure
from agent_cli.render.plain_writer import PlainWriter
from agent_cli.store import ids
from agent_cli.text import one_line
from agent_cli.tools.tool import ToolContext

if TYPE_CHECKING:
    from agent_cli.render.markdown import AnswerWriter


def print_turn(
    events: Iterable[Event], invocation: Invocation, question: AskOptions, context: ToolContext
) -> Transcript:
    """Print a turn in the chosen form; with -x `print_code` prints the code afterwards."""
    transcript = Transcript(context)
    if question.form == "events":
        for event in events:
            for each in transcript.take(event):
                output.put_json_line(_without_notices(each))
    else:
        words = _TextOutput(invocation, question, transcript)
        try:
            for event in events:
                transcript.take(event)
                words.draw(event)
        finally:
            words.end()
    if question.why:
        _print_why(context, transcript)
    return transcript


def print_code(transcript: Transcript) -> None:
    """Print the last block of code. Raises AgentError when there is none, or when it was cut off.

    The code may be run unread, and half of a command is another command.
    """
    from agent_cli.render import copying  # rarely asked for

    blocks = copying.code_blocks(transcript.answer)
    if not blocks:
        raise AgentError("no block of code is in the answer; ask without -x to see it")
    if not blocks[-1].closed and transcript.finish != "stop":
        raise AgentError("the block of code was cut off before its end; ask without -x to see it")
    output.write(blocks[-1].code)


class _TextOutput:
    """Prints the answer as it arrives or when it is whole, and everything else on standard error."""

    def __init__(self, invocation: Invocation, question: AskOptions, transcript: Transcript):
        self._invocation, self._form, self._transcript = invocation, question.form, transcript
        self._writer = _writer(invocation, question)

    def draw(self, event: Event) -> None:
        match event:
            case TextArrived(text) if self._form == "stream":
                self._writer.write(text)
            case TextWasThinking() if self._form == "stream":
                self._writer.new_section()
                self._invocation.note("what was printed so far is the model's thinking, not its answer")
            case ToolStarted():
                self._writer.new_section()  # a question about the call begins a line
            case ToolFinished(call, result):
                self._writer.new_section()
                if result.receipt:
                    self._invocation.note(result.receipt)
                elif result.text == policy.DENIED:
                    self._invocation.note(f"the model wanted to call {one_line(call.name)}; a rule denied it")
                elif result.broke:
                    self._invocation.note(Failure(one_line(result.text, 200)))
                elif self._invocation.verbose:
                    self._invocation.note(f"{call.name}: {result.text[:200]}")
            case Noticed(text):
                self._invocation.note(text)
            case TurnEnded():
                self._print(event)

    def end(self) -> None:
        self._writer.end()

    def _print(self, ended: TurnEnded) -> None:
        if ended.stopped_by:
            self._writer.end()
            self._invocation.note(Failure(f"the turn was ended: {ended.stopped_by}"))
        match self._form:
            case "json":
                output.put_json_line(_without_notices(self._transcript.as_object(ended.finish)))
            case "whole":
                self._writer.write(self._transcript.answer)


def _writer(invocation: Invocation, question: AskOptions) -> "AnswerWriter":
    """Plain text for a pipe; at a terminal, or with --render, styled Markdown."""
    if not (question.render or sys.stdout.isatty()) or question.form == "json":
        return PlainWriter(sys.stdout)
    from agent_cli.render import markdown  # not needed for a pipe

    return markdown.answer_writer(sys.stdout, invocation.display(render=question.render))


def _without_notices(whole: JsonObject) -> JsonObject:
    """The JSON of a turn without its notices: these were printed, or are events of their own."""
    return {key: value for key, value in whole.items() if key != "notices"}


def _print_why(context: ToolContext, transcript: Transcript) -> None:
    message = ids.number("message", transcript.question)
    if recall_log.recalled_for(context.db, message):
        output.write_stderr(recall_log.explain(context.db, message))
    else:
        output.note("nothing was recalled for this question")
