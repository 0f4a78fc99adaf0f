"""The answer of one question on its way out: as words, as one object of JSON, or as a line of JSON for each event.

The answer is all that was said in the turn, before a tool was called and after it, and nothing that was thinking.
Standard output has it alone; receipts, notices and what was used go to standard error, or are events too.
"""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from agent_cli.agent.events import (
    Asked,
    Event,
    Noticed,
    TextArrived,
    TextWasThinking,
    ThinkingArrived,
    ToolFinished,
    TurnEnded,
)
from agent_cli.cli import output
from agent_cli.cli.question import Question
from agent_cli.cli.run import Run
from agent_cli.errors import AgentError
from agent_cli.headless import Heard
from agent_cli.memory.search import recall_log
from agent_cli.render.plain_writer import PlainWriter
from agent_cli.store import ids
from agent_cli.text import one_line
from agent_cli.tools.tool import ToolContext

if TYPE_CHECKING:
    from agent_cli.render.answer_writer import AnswerWriter


class Form(Protocol):
    def draw(self, event: Event) -> None: ...
    def end(self) -> None: ...


def tell(events: Iterable[Event], run: Run, question: Question, here: ToolContext) -> Heard:
    """Print a turn in the form that was asked for; code alone is printed by `put_code`, afterwards."""
    heard = Heard()
    form: Form = _Lines(here, heard) if question.form == "events" else _Words(run, question, here, heard)
    try:
        for event in events:
            heard.take(event)
            form.draw(event)
    finally:
        form.end()
    if question.why:
        _tell_why(here, heard)
    return heard


def put_code(heard: Heard) -> None:
    """Print the last block of code. Raises AgentError when there is none, or when it was cut off.

    It may be run unread: half of a command is another command.
    """
    from agent_cli.render import code_blocks  # rarely asked for

    blocks = code_blocks.parse(heard.answer)
    if not blocks:
        raise AgentError("no block of code is in the answer; ask without -x to see it")
    if not blocks[-1].closed and heard.finish != "stop":
        raise AgentError("the block of code was cut off before its end; ask without -x to see it")
    output.write(blocks[-1].code)


class _Words:
    """For a person: the answer as it comes or when it is whole, everything else beside it."""

    def __init__(self, run: Run, question: Question, here: ToolContext, heard: Heard):
        self._run, self._form, self._here, self._heard = run, question.form, here, heard
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
                output.put_line(_whole(ended, self._here, self._heard))
            case "whole":
                self._writer.write(self._heard.answer)


def _writer(run: Run, question: Question) -> "AnswerWriter":
    """Words as they come in a pipe; at a terminal, or where it was asked for, Markdown as the terminal allows."""
    if not (question.render or sys.stdout.isatty()) or question.form == "json":
        return PlainWriter(sys.stdout)
    from agent_cli.render import answer_writer  # a pipe needs none of it

    return answer_writer.create(sys.stdout, run.display(render=question.render))


class _Lines:
    """For a program: a line of JSON for each event, written at once."""

    def __init__(self, here: ToolContext, heard: Heard):
        self._here, self._heard = here, heard
        self._used_told = False
        self._reply = ""  # what was given out of the present one

    def draw(self, event: Event) -> None:
        match event:
            case Asked(handle):
                self._put("start", {"schema": 1, **_place(self._here, handle)})
            case ThinkingArrived(text):
                self._put("thinking", {"text": text})
            case TextArrived(text):
                self._reply += text
                self._put("delta", {"text": text})
            case TextWasThinking():
                self._put("thinking", {"text": self._reply, "was_delta": True})
                self._reply = ""
            case ToolFinished(call, result):
                self._reply = ""
                told = {"arguments": call.arguments, "result": result.text, "failed": result.failed}
                self._put("tool", {"name": call.name, **told, "receipt": result.receipt})
            case Noticed(text):
                self._put("notice", {"text": text}, at_once=True)
            case TurnEnded(stopped_by=reason) as ended:
                if reason:
                    self._put("notice", {"text": f"the turn was ended: {reason}"})
                self._put("end", _whole(ended, self._here, self._heard))

    def end(self) -> None:
        pass

    def _put(self, type: str, told: dict[str, Any], *, at_once: bool = False) -> None:
        """Write an event. What was used is known before anything comes of the model, and is told before that."""
        if type not in ("start", "used") and not at_once and not self._used_told:
            self._used_told = True
            self._put("used", {"used": _used(self._here, self._heard.turn)})
        output.put_line({"type": type, **told})


def _whole(ended: TurnEnded, here: ToolContext, heard: Heard) -> dict[str, Any]:
    return {
        "schema": 1,
        "answer": heard.answer,
        "model": ended.model,
        **_place(here, heard.turn),
        "used": _used(here, heard.turn),
        "usage": {"tokens_in": ended.tokens_in, "tokens_out": ended.tokens_out},
        "finish": ended.finish,
    }


def _place(here: ToolContext, turn: str) -> dict[str, str | None]:
    """Where the turn is kept; nowhere when it is incognito."""
    if here.db.in_memory:
        return {"session": None, "turn": None}
    return {"session": ids.handle("session", here.session), "turn": turn}


def _used(here: ToolContext, turn: str) -> list[dict[str, Any]]:
    found = recall_log.of(here.db, ids.number("message", turn))
    return [{"kind": each.kind, "id": each.handle, "score": round(each.score, 4)} for each in found]


def _tell_why(here: ToolContext, heard: Heard) -> None:
    message = ids.number("message", heard.turn)
    if recall_log.of(here.db, message):
        output.aside(recall_log.explained(here.db, message))
    else:
        output.note("nothing was recalled for this question")
