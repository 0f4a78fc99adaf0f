"""A turn as it is shown: its events on paper, in the way that a look allows.

The session draws with it, and `ask --render`. Everything that came from outside is made clean here or on the paper.
"""

import time
from collections.abc import Callable
from typing import TextIO

from agent_cli.agent.events import (
    Asked,
    Event,
    Noticed,
    Progressed,
    TextArrived,
    TextWasThinking,
    ThinkingArrived,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnFailed,
)
from agent_cli.errors import Cancelled
from agent_cli.messages import ToolCall, ToolResult
from agent_cli.render.look import Look
from agent_cli.render.prose import shown
from agent_cli.render.sheet import sheet
from agent_cli.render.spinner import Spinner
from agent_cli.text import one_line

_DIM = "2"


def _unknown() -> str:
    return "waiting for the model"


class Drawing:
    """One turn. `waiting` tells what is known of the wait for a first word, and is asked on another thread."""

    def __init__(
        self,
        out: TextIO,
        look: Look,
        *,
        show_thinking: bool = False,
        waiting: Callable[[], str] = _unknown,
        now: Callable[[], float] = time.monotonic,
    ):
        self._out, self._look, self._waiting, self._now = out, look, waiting, now
        self.show_thinking = show_thinking
        self._answer = sheet(out, look)
        self._thoughts = sheet(out, look, _DIM)
        self._spinner = Spinner(out, look.width) if look.spinner else None
        self._thinking_since: float | None = None
        self._told = ""  # what was said aloud last: "Thinking." or "Answer:"

    def draw(self, event: Event) -> None:
        """Raises the error of a turn that failed, unless the person stopped it."""
        match event:
            case Asked():
                self._wait(self._waiting)
            case Progressed(line, step):
                self._progress(line, step)
            case ThinkingArrived(text):
                self._think(text)
            case TextArrived(text):
                if text.strip():
                    self._speak()
                self._answer.write(text)
            case TextWasThinking():
                self.say("(that was the model thinking aloud; it is not kept as the answer)")
            case ToolStarted(call):
                self.end()
                self._wait(lambda: f"{call.name} at work")
            case ToolFinished(call, result):
                if told := outcome(call, result):
                    self.say(told)
                self._wait(lambda: "reading the result")
            case Noticed(text):
                self.say(text)
            case TurnEnded(stopped_by=reason):
                self.end()
                if reason:
                    self.say(f"the turn was ended: {reason}")
            case TurnFailed(error):
                self.end()
                if not isinstance(error, Cancelled):
                    raise error
                self.say("stopped" if self._look.aloud else "— stopped —")

    def say(self, text: str) -> None:
        """A line beside the answer."""
        self.end()
        print(shown(text, self._look), file=self._out, flush=True)

    def whisper(self, text: str) -> None:
        """A line beside the answer that matters less."""
        self.end()
        text = shown(text, self._look)
        print(f"\x1b[{_DIM}m{text}\x1b[m" if self._look.colour else text, file=self._out, flush=True)

    def end(self) -> None:
        """End what is being written, and what is waited for."""
        self._hide()
        self._thought()
        self._answer.end()

    def _progress(self, line: str, step: str) -> None:
        if self._spinner:
            self._spinner.show(lambda: line)
        elif step:
            self.say(step)

    def _wait(self, words: Callable[[], str]) -> None:
        self._aloud("Thinking.")
        if self._spinner:
            self._spinner.show(words)

    def _hide(self) -> None:
        if self._spinner:
            self._spinner.hide()

    def _speak(self) -> None:
        """Words of the answer come next."""
        self._hide()
        self._thought()
        self._aloud("Answer:")

    def _think(self, text: str) -> None:
        if self._thinking_since is None:
            self.end()
            self._thinking_since = self._now()
            self._wait(lambda: "thinking")
        if self.show_thinking:
            self._hide()
            self._thoughts.write(text)

    def _thought(self) -> None:
        """Thinking has ended, if there was any: say how long it took."""
        since, self._thinking_since = self._thinking_since, None
        if since is None:
            return
        self._hide()
        self._thoughts.end()
        seconds = round(self._now() - since)
        if seconds and not self._look.aloud:
            self.whisper(f"thought for {seconds} s")

    def _aloud(self, word: str) -> None:
        if self._look.aloud and self._told != word:
            self._answer.end()
            self._told = word
            print(word, file=self._out, flush=True)


def outcome(call: ToolCall, result: ToolResult) -> str:
    """What the person is told of a call that has ended; often nothing."""
    if result.failed and result.text.startswith("refused: "):
        return f"{one_line(call.name)} was not allowed"
    if result.failed:
        told = one_line(result.text, 200)
        return told if told.startswith(f"{call.name} ") else f"{one_line(call.name)} failed: {told}"
    return result.receipt
