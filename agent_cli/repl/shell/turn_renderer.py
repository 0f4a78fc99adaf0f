"""Draws the events of a turn, as far as the display allows. All text from outside is cleaned here or in the writer."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TextIO, cast

from agent_cli.agent.events import (
    Event,
    Noticed,
    Progressed,
    QuestionLogged,
    TextArrived,
    TextWasThinking,
    ThinkingArrived,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnFailed,
)
from agent_cli.errors import Cancelled
from agent_cli.llm import repair
from agent_cli.messages import Failure, ToolCall, ToolResult
from agent_cli.render import answer_writer, styles
from agent_cli.render.display import Display
from agent_cli.render.reply_lines import announced
from agent_cli.render.spinner import Spinner
from agent_cli.repl.commands import commands
from agent_cli.repl.shell.line_below import LineBelow
from agent_cli.text import one_line

_HINT = "Ctrl-C stops it, /doctor looks at the server"  # beside a long wait

_CUT_OFF = (repair.FINISH, "length")  # finishes of an answer that is not whole


def _waiting_for_model() -> str:
    return "waiting for the model"


class TurnRenderer:
    """Draws one turn. `waiting` describes what the first token is waited for; it is called on another thread."""

    def __init__(
        self,
        out: TextIO,
        display: Display,
        *,
        show_thinking: bool = False,
        waiting: Callable[[], str] = _waiting_for_model,
        now: Callable[[], float] = time.monotonic,
    ):
        self._below = LineBelow(out, display)
        self._out = out = cast(TextIO, self._below)
        self._display, self._waiting, self._now = display, waiting, now
        self.show_thinking = show_thinking
        self._answer = answer_writer.create(out, display)
        self._thoughts = answer_writer.create(out, display, styles.DIM)
        self._spinner = Spinner(out, display.width) if display.spinner else None
        self._thinking_since: float | None = None
        self._announced = ""  # the last announcement to a screen reader: "Thinking." or "Answer:"

    def draw(self, event: Event) -> None:
        """Raises the error of a turn that failed, unless the person stopped it."""
        match event:
            case QuestionLogged():
                self._wait(self._waiting, _HINT)
            case Progressed(line, step):
                self._show_progress(line, step)
            case ThinkingArrived(text):
                self._think(text)
            case TextArrived(text):
                if text.strip():
                    self._begin_answer()
                self._answer.write(text)
            case TextWasThinking():
                self.say("(that was the model thinking aloud; it is not kept as the answer)")
            case ToolStarted(call):
                self.end()
                self._wait(lambda: f"{call.name} at work")
            case ToolFinished(call, result):
                if line := tool_outcome(call, result):
                    self.say(line)
                self._wait(lambda: "reading the result")
            case Noticed(text):
                self.say(commands.in_session(text))
            case TurnEnded(finish=finish, stopped_by=reason):
                self.end()
                if reason:
                    offer = " · /retry asks again" if finish in _CUT_OFF else ""
                    self.say(Failure(f"the turn was ended: {reason}{offer}"))
            case TurnFailed(error):
                self.end()
                if not isinstance(error, Cancelled):
                    raise error
                self.say("stopped")

    def show_draft(self, draft: str) -> None:
        """Show what is typed meanwhile below the answer; may be called on any thread."""
        self._below.show(draft)

    def say(self, text: str) -> None:
        """Print a line beside the answer."""
        self.end()
        print(announced(text, self._display), file=self._out, flush=True)

    def say_dimmed(self, text: str) -> None:
        """Print a dimmed line beside the answer."""
        self.end()
        text = announced(text, replace(self._display, colour=False, weight=False))
        print(self._display.styled(text, styles.DIM), file=self._out, flush=True)

    def end(self) -> None:
        """End what is being written, and the spinner."""
        self._hide_spinner()
        self._end_thinking()
        self._answer.end()

    def _show_progress(self, line: str, step: str) -> None:
        if self._spinner:
            self._spinner.show(lambda: line)
        elif step:
            self.say(step)

    def _wait(self, label: Callable[[], str], hint: str = "") -> None:
        self._announce("Thinking.")
        if self._spinner:
            self._spinner.show(label, hint)

    def _hide_spinner(self) -> None:
        if self._spinner:
            self._spinner.hide()

    def _begin_answer(self) -> None:
        """Prepare for the text of the answer."""
        self._hide_spinner()
        self._end_thinking()
        self._announce("Answer:")

    def _think(self, text: str) -> None:
        if self._thinking_since is None:
            self.end()
            self._thinking_since = self._now()
            self._wait(lambda: "thinking")
        if self.show_thinking:
            self._hide_spinner()
            self._thoughts.write(text)

    def _end_thinking(self) -> None:
        """End the thinking, if there was any, and say how long it took."""
        since, self._thinking_since = self._thinking_since, None
        if since is None:
            return
        self._hide_spinner()
        self._thoughts.end()
        seconds = round(self._now() - since)
        if seconds and not self._display.screen_reader:
            self.say_dimmed(f"thought for {seconds} s")

    def _announce(self, announcement: str) -> None:
        if self._display.screen_reader and self._announced != announcement:
            self._answer.end()
            self._announced = announcement
            print(announcement, file=self._out, flush=True)


def tool_outcome(call: ToolCall, result: ToolResult) -> str:
    """The line for the person about a finished call; often empty."""
    if result.refused:
        return Failure(f"{one_line(call.name)} was not allowed")
    if result.failed:
        error = one_line(result.text, 200)
        return Failure(error if result.broke else f"{one_line(call.name)} failed: {error}")
    return result.receipt
