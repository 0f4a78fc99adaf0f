"""Draws the events of a turn, as far as the display allows. All text from outside is cleaned here or in the writer.

What the program waits for stands on one line that is erased again, `loading qwen3:8b … 4 s`: it counts seconds and does
not turn. What is typed meanwhile stands on a line below the answer: that is taken away before each text and drawn again
behind it, by moving the cursor relative to where the text ends. Where lines cannot be erased, neither is ever shown.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO, cast

from agent_cli.agent import events
from agent_cli.agent.events import Event
from agent_cli.errors import Cancelled
from agent_cli.llm import repair
from agent_cli.messages import Failure
from agent_cli.render import markdown, styles
from agent_cli.render.layout import cell_width, cut
from agent_cli.render.reply_lines import announced
from agent_cli.render.styles import YOU, Display
from agent_cli.repl.commands import commands
from agent_cli.text import one_line

_ERASE = "\r\x1b[K"
_DELAY = 0.4  # seconds; a shorter wait shows nothing
_INTERVAL = 0.25
_HINT_DELAY = 60  # seconds


class Spinner:
    def __init__(self, out: TextIO, width: Callable[[], int], now: Callable[[], float] = time.monotonic):
        self._out, self._width, self._now = out, width, now
        self._changed = threading.Condition()
        self._label: Callable[[], str] | None = None
        self._hint = self._drawn = ""
        self._started = 0.0
        self._thread: threading.Thread | None = None

    def show(self, label: Callable[[], str], hint: str = "") -> None:
        """Show the label and the seconds since now, until another label or `hide`; `label` is called at each redraw.
        `hint`: what to do, shown too after a minute."""
        with self._changed:
            self._label, self._hint, self._started = label, hint, self._now()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="spinner", daemon=True)
                self._thread.start()

    def hide(self) -> None:
        """Erase the line. Nothing is drawn any more when this returns."""
        with self._changed:
            self._label, self._thread = None, None
            self._changed.notify()
            if self._drawn:
                self._draw("")

    def _run(self) -> None:
        with self._changed:
            self._changed.wait(_DELAY)
            with suppress(OSError, ValueError):  # the terminal has gone
                while self._label and self._thread is threading.current_thread():
                    seconds = int(self._now() - self._started)
                    hint = f" · {self._hint}" if self._hint and seconds >= _HINT_DELAY else ""
                    line = f"{one_line(self._label())} …{f' {seconds} s' if seconds else ''}{hint}"
                    line = cut(line, self._width() - 1)  # a line that wraps could not be erased
                    if line != self._drawn:
                        self._draw(line)
                    self._changed.wait(_INTERVAL)

    def _draw(self, line: str) -> None:
        self._drawn = line
        self._out.write(_ERASE + line)
        self._out.flush()


_MAKE_ROOM = "\x1bD\x1b[A"  # a row below the cursor: the window scrolls where it was the last
_BELOW, _BACK = "\x1b7\x1b[B\r\x1b[2K", "\x1b8"


class LineBelow:
    """Writes to `out`, and keeps a line below it. Both may be used by several threads."""

    def __init__(self, out: TextIO, display: Display):
        self._out, self._display = out, display
        self._lock = threading.RLock()
        self._line = ""
        self._drawn = False

    def show(self, line: str) -> None:
        """Show the end of this line below the text, after the person's sign; nothing when it is empty."""
        with self._lock:
            if self._display.spinner and line != self._line:
                self._erase()
                self._line = line
                self.flush()

    def write(self, text: str) -> int:
        with self._lock:
            self._erase()
            return self._out.write(text)

    def flush(self) -> None:
        with self._lock:
            if self._line and not self._drawn:
                sign = self._display.styled(YOU.sign, YOU.style)
                line, cells = self._line, self._display.width() - 3
                while cell_width(line) > cells:
                    line = f"…{line[2:]}"
                self._out.write(f"{_MAKE_ROOM}{_BELOW}{sign} {line}{_BACK}")
                self._drawn = True
            self._out.flush()

    def _erase(self) -> None:
        if self._drawn:
            self._out.write(_BELOW + _BACK)
            self._drawn = False


_HINT = "Ctrl-C stops it, /doctor looks at the server"  # beside a long wait
_CUT_OFF = (repair.FINISH, "length")  # finishes of an answer that is not whole


class TurnRenderer:
    """Draws one turn. `waiting` describes what the first token is waited for; it is called on another thread."""

    def __init__(
        self,
        out: TextIO,
        display: Display,
        *,
        show_thinking: bool = False,
        waiting: Callable[[], str] = lambda: "waiting for the model",
        now: Callable[[], float] = time.monotonic,
    ):
        self.below = LineBelow(out, display)  # shows what is typed ahead
        self._out = out = cast(TextIO, self.below)
        self._display, self._waiting, self._now, self._show_thinking = display, waiting, now, show_thinking
        self._answer = markdown.answer_writer(out, display)
        self._thoughts = markdown.answer_writer(out, display, styles.DIM)
        self._spinner = Spinner(out, display.width) if display.spinner else None
        self._thinking_since: float | None = None
        self._announced = ""  # the last announcement to a screen reader: "Thinking." or "Answer:"

    def draw(self, event: Event) -> None:
        """Raises the error of a turn that failed, unless the person stopped it."""
        match event:
            case events.QuestionLogged():
                self._wait(self._waiting, _HINT)
            case events.Progressed(line, step):
                if self._spinner:
                    self._spinner.show(lambda: line)
                elif step:
                    self.say(step)
            case events.ThinkingArrived(text):
                if self._thinking_since is None:
                    self.end()
                    self._thinking_since = self._now()
                    self._wait(lambda: "thinking")
                if self._show_thinking:
                    self._hide_spinner()
                    self._thoughts.write(text)
            case events.TextArrived(text):
                if text.strip():
                    self._hide_spinner()
                    self._end_thinking()
                    self._announce("Answer:")
                self._answer.write(text)
            case events.TextWasThinking():
                self.say("(that was the model thinking aloud; it is not kept as the answer)")
            case events.ToolStarted(call):
                self.end()
                self._wait(lambda: f"{call.name} at work")
            case events.ToolFinished(call, result):
                name, error = one_line(call.name), one_line(result.text, 200)
                if result.refused:
                    self.say(Failure(f"{name} was not allowed"))
                elif result.failed:
                    self.say(Failure(error if result.broke else f"{name} failed: {error}"))
                elif result.receipt:
                    self.say(result.receipt)
                self._wait(lambda: "reading the result")
            case events.Noticed(text):
                self.say(commands.in_session(text))
            case events.TurnEnded(finish=finish, stopped_by=reason):
                self.end()
                if reason:
                    offer = " · /retry asks again" if finish in _CUT_OFF else ""
                    self.say(Failure(f"the turn was ended: {reason}{offer}"))
            case events.TurnFailed(error):
                self.end()
                if not isinstance(error, Cancelled):
                    raise error
                self.say("stopped")

    def say(self, text: str) -> None:
        self.end()
        print(announced(text, self._display), file=self._out, flush=True)

    def end(self) -> None:
        self._hide_spinner()
        self._end_thinking()
        self._answer.end()

    def _wait(self, label: Callable[[], str], hint: str = "") -> None:
        self._announce("Thinking.")
        if self._spinner:
            self._spinner.show(label, hint)

    def _hide_spinner(self) -> None:
        if self._spinner:
            self._spinner.hide()

    def _end_thinking(self) -> None:
        """End the thinking, if there was any, and say how long it took."""
        since, self._thinking_since = self._thinking_since, None
        if since is not None:
            self._hide_spinner()
            self._thoughts.end()
            seconds = round(self._now() - since)
            if seconds and not self._display.screen_reader:
                self.say(f"thought for {seconds} s")

    def _announce(self, announcement: str) -> None:
        if self._display.screen_reader and self._announced != announcement:
            self._answer.end()
            self._announced = announcement
            print(announcement, file=self._out, flush=True)
