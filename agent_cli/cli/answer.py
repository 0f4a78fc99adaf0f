"""The answer of one question on its way out: as words, as one object of JSON, or as a line of JSON for each event.

The answer is all that was said in the turn, before a tool was called and after it, and nothing that was thinking.
Standard output has it alone; receipts, notices and what was used go to standard error, or are events too.
"""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from agent_cli.agent.events import Event, Noticed, TextArrived, TextWasThinking, ToolFinished, TurnEnded
from agent_cli.agent.transcript import JsonObject, Transcript
from agent_cli.cli import output
from agent_cli.cli.question import Question
from agent_cli.cli.run import Run
from agent_cli.errors import AgentError
from agent_cli.memory.search import recall_log
from agent_cli.render.plain_writer import PlainWriter
from agent_cli.store import ids
from agent_cli.text import one_line
from agent_cli.tools.tool import ToolContext

if TYPE_CHECKING:
    from agent_cli.render.answer_writer import AnswerWriter


def tell(events: Iterable[Event], run: Run, question: Question, context: ToolContext) -> Transcript:
    """Print a turn in the form that was asked for; code alone is printed by `put_code`, afterwards."""
    transcript = Transcript(context)
    if question.form == "events":
        for event in events:
            for each in transcript.take(event):
                output.put_line(_without_notices(each))
    else:
        words = _Words(run, question, transcript)
        try:
            for event in events:
                transcript.take(event)
                words.draw(event)
        finally:
            words.end()
    if question.why:
        _tell_why(context, transcript)
    return transcript


def put_code(transcript: Transcript) -> None:
    """Print the last block of code. Raises AgentError when there is none, or when it was cut off.

    It may be run unread: half of a command is another command.
    """
    from agent_cli.render import code_blocks  # rarely asked for

    blocks = code_blocks.parse(transcript.answer)
    if not blocks:
        raise AgentError("no block of code is in the answer; ask without -x to see it")
    if not blocks[-1].closed and transcript.finish != "stop":
        raise AgentError("the block of code was cut off before its end; ask without -x to see it")
    output.write(blocks[-1].code)


class _Words:
    """For a person: the answer as it comes or when it is whole, everything else beside it."""

    def __init__(self, run: Run, question: Question, transcript: Transcript):
        self._run, self._form, self._transcript = run, question.form, transcript
        self._writer = _writer(run, question)

    def draw(self, event: Event) -> None:
        match event:
            case TextArrived(text) if self._form == "stream":
                self._writer.write(text)
            case TextWasThinking() if self._form == "stream":
                self._writer.new_section()
                self._run.note("what was printed so far is the model's thinking, not its answer")
            case ToolFinished(call, result):
                self._writer.new_section()
                if result.receipt:
                    self._run.note(result.receipt)
                elif result.failed and result.text.startswith(f"{call.name} "):  # it raised, or hung
                    self._run.note(one_line(result.text, 200))
                elif self._run.verbose:
                    self._run.note(f"{call.name}: {result.text[:200]}")
            case Noticed(text):
                self._run.note(text)
            case TurnEnded():
                self._print(event)

    def end(self) -> None:
        self._writer.end()

    def _print(self, ended: TurnEnded) -> None:
        if ended.stopped_by:
            self._writer.end()
            self._run.note(f"the turn was ended: {ended.stopped_by}")
        match self._form:
            case "json":
                output.put_line(_without_notices(self._transcript.whole(ended.finish)))
            case "whole":
                self._writer.write(self._transcript.answer)


def _writer(run: Run, question: Question) -> "AnswerWriter":
    """Words as they come in a pipe; at a terminal, or where it was asked for, Markdown as the terminal allows."""
    if not (question.render or sys.stdout.isatty()) or question.form == "json":
        return PlainWriter(sys.stdout)
    from agent_cli.render import answer_writer  # a pipe needs none of it

    return answer_writer.create(sys.stdout, run.display(render=question.render))


def _without_notices(told: JsonObject) -> JsonObject:
    """The end of a turn: notices were printed, or are events of their own."""
    return {key: value for key, value in told.items() if key != "notices"}


def _tell_why(context: ToolContext, transcript: Transcript) -> None:
    message = ids.number("message", transcript.question)
    if recall_log.of(context.db, message):
        output.aside(recall_log.explained(context.db, message))
    else:
        output.note("nothing was recalled for this question")
