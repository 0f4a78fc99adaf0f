"""The interactive session: read a line, run a command or a turn, draw its events.

The prompt owns the event loop; a turn runs on a thread and its events come through a queue. While it runs the terminal
is raw. What the program waits for stands on one line that is erased again; what is typed meanwhile stands below the
answer, is taken away before each text and drawn again behind it. Where lines cannot be erased, neither is ever shown.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TextIO, cast

from prompt_toolkit.utils import is_dumb_terminal

from agent_cli import errors, terminal
from agent_cli.agent import events
from agent_cli.agent.events import ApprovalNeeded, Event, Noticed, QuestionLogged, Runner, Work
from agent_cli.app import background
from agent_cli.app.app import App, finish_erasure
from agent_cli.errors import AgentError, StoreBusy, StoreError, UsageError
from agent_cli.llm import repair
from agent_cli.memory.conversations import capture
from agent_cli.memory.conversations.sessions import Session
from agent_cli.memory.review import review
from agent_cli.memory.skills import skills
from agent_cli.messages import Failure, FromMemory, Part
from agent_cli.render import layout, markdown, reply_lines, styles, terminal_features
from agent_cli.render.styles import PROGRAM, YOU, Display
from agent_cli.repl import greeting
from agent_cli.repl.commands import commands
from agent_cli.repl.conversation import Conversation
from agent_cli.repl.keyboard import keys
from agent_cli.repl.keyboard.key_reader import TurnKeyboard
from agent_cli.repl.reminders import Reminders
from agent_cli.repl.shell import prompt_input
from agent_cli.text import clean, one_line

_LONG = 10.0  # seconds of an answer after which the person may look elsewhere
_STATUS_TIMEOUT = 2.0  # seconds that the command for the line below may take
_LEAVE_TIMEOUT = 2.0  # seconds that leaving may take
_POLL_INTERVAL = 1.0  # seconds between checks for what other processes have done
_STILL_ABSENT = "no model server answers; what you said is kept, /retry asks it again"
_HUNG_UP, _TERMINATED = 129, 143  # exit codes


def run(app: App, session: Session | None, first: Sequence[Part], display: Display) -> None:
    """Run until the person leaves; `first` is sent at once. Raises AgentError, or SystemExit after a signal."""
    if not terminal.is_own(sys.stdin.fileno(), sys.stdout.fileno()):
        raise errors.NobodyAsked(terminal.NOT_OWN)
    shell = Shell(app, session, display)
    keys.spare_loaded()
    code = asyncio.run(shell.run(first))
    while shell.next_app:
        if shell.locks:
            _lock(shell.next_app)
        shell = Shell(shell.next_app, shell.left if shell.locks else None, shell.display)
        code = asyncio.run(shell.run())
    if code:
        sys.exit(code)


def _lock(app: App) -> None:
    """Keep the screen empty until the sealed file is opened again. Raises StoreError where its key does not come."""
    if not is_dumb_terminal():
        _print("\x1b[H\x1b[2J\x1b[3J")  # with what has scrolled away
    app.reopen(lambda: terminal.secret("locked; Enter opens the file again "))


class Shell:
    def __init__(self, app: App, session: Session | None, display: Display):
        self._app = app
        self._conversation = Conversation(app, session)
        self.display = display
        self._model_offer = greeting.ModelOffer(app)
        self._runner: Runner | None = None
        self._prompt = prompt_input.PromptInput(app, lambda: self._conversation.id, self._say, self.display)
        self._warmer = background.Warmer(app, lambda: self._conversation.id)
        app.wait_until_read = self._warmer.wait_until_read
        self._jobs = background.IdleWorker(
            lambda cancel: background.job_context(app, app.db.another_connection(), cancel),
            app.config.idle_seconds,
            lambda: self._warmer.begin(force=True),
        )
        self._prompt.buffer.on_text_changed += lambda _: self._jobs.touch()
        self._prompt.buffer.on_text_changed += lambda _: self._warmer.typed()
        self._prompt.buffer.on_text_changed += lambda _: self._note_active()
        self._notices = greeting.Notices(app)
        self._reminders = Reminders(app)
        self._ended_by = 0
        self.next_app: App | None = None  # with which the person goes on in a new shell
        self.left: Session | None = None  # what was left
        self.locks = False  # whether that waits until the sealed file is opened again
        self._active = time.monotonic()  # when a key was typed last, or an answer was there
        self._stored = False  # whether the current line is on disk
        self._offered = ""  # a pasted command, which a second Enter runs; its words still count as pasted
        self._status_line = ""  # what the command for the line below told last

    async def run(self, first: Sequence[Part] = ()) -> int:
        """Run one conversation after another; returns the exit code: 0, or that of the signal that ended it."""
        self._install_signal_handlers()
        keep_title, restore_title = self.display.terminal.title
        _print(f"{keep_title}{self.display.terminal.titled('agent')}")
        self._greet()
        line = ""
        watch = asyncio.create_task(self._watch())
        preparation = asyncio.create_task(self._prepare())
        try:
            if first:
                line = await self._run_line("".join(part.text for part in first), first)
            elif unfinished := self._conversation.unfinished():
                try:
                    await self._work(unfinished)
                except AgentError as error:
                    await self._report("", error)
            while True:
                self._prompt.drop_forgotten()
                self._warmer.resume()
                line = await self._prompt.ask(line, self._conversation.status, self._status_below())
                self._jobs.touch()
                _print(self.display.terminal.mark("C"))
                line = await self._run_line(line)
                self._note_active()
                _print(self.display.terminal.mark("D"))
        except commands.Leave as left:
            self.next_app, self.locks = left.to, left.locks
        except EOFError:
            pass
        except asyncio.CancelledError:
            if not self._ended_by:
                raise
        finally:
            watch.cancel()
            preparation.cancel()
            self._prompt.keep_draft()
            self._leave()
            _print(restore_title)  # flushes what prompt-toolkit wrote last
        return self._ended_by

    def _install_signal_handlers(self) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def end(code: int) -> None:
            self._ended_by = code
            if task:
                task.cancel()

        def interrupt() -> None:  # Ctrl-C as a signal: while a line is printed above the prompt, nothing is raw
            if self._runner:
                self._runner.cancel()
            self._prompt.interrupt()  # a dumb terminal may be waiting for an answer during the turn

        with suppress(NotImplementedError, AttributeError):  # Windows has neither
            loop.add_signal_handler(signal.SIGTERM, end, _TERMINATED)
            loop.add_signal_handler(signal.SIGHUP, end, _HUNG_UP)
            loop.add_signal_handler(signal.SIGINT, interrupt)

    def _status_below(self) -> str:
        """The line below the prompt: what the command of the settings told last, or the model. Sets the title too."""
        if not self.display.spinner:
            return ""
        try:
            state = self._conversation.state()
        except StoreError:  # the next command reports it
            return ""
        _print(self.display.terminal.titled(f"agent: {state['name']}" if state["name"] else "agent"))
        if command := self._app.config.status_command:
            asyncio.get_running_loop().run_in_executor(None, self._tell_status, command, json.dumps(state))
            return self._status_line
        percent = state["context_percent"]
        name = state["model"] or self._model_offer.model_name
        return name if percent is None else f"{name} · {percent} % of the context"

    def _tell_status(self, command: str, state: str) -> None:
        try:
            ran = subprocess.run(
                command, shell=True, input=state, capture_output=True, errors="replace", timeout=_STATUS_TIMEOUT
            )
            said = ran.stdout or ran.stderr
        except (OSError, subprocess.TimeoutExpired) as error:
            said = f"status_command: {error}"
        self._status_line = one_line(clean(said.strip().partition("\n")[0]))
        with suppress(RuntimeError):  # the program has ended
            self._prompt.loop.call_soon_threadsafe(self._prompt.show_below, self._status_line)

    async def _run_line(self, line: str, given: Sequence[Part] = ()) -> str:
        """Run a line, or the parts `given` on the command line; the next draft: the line, if it was not stored."""
        whole = self._prompt.pastes.came_whole
        fast, parts = self._prompt.pastes.at_once, given or self._prompt.pastes.parts(line)
        text, conversation = "".join(part.text for part in parts), self._conversation
        typed = not fast and all(part.origin == "typed" for part in parts)
        conversation.origin = "tool" if self._app.child else "typed" if typed and not whole else "pasted"
        # What came faster than anyone types may be a paste, so none of it counts as typed.
        sent = [Part(text, conversation.origin)] if fast or self._app.child else parts
        conversation.parts, conversation.excluded = sent, self._prompt.preview.take_dropped()
        self._stored, offered, self._offered = False, self._offered, ""
        if text.strip() in ("exit", "quit") and typed:
            raise commands.Leave

        def is_skill(name: str) -> bool:
            return self._app.reads and skills.called(self._app.db, self._app.scope.owner, name) is not None

        try:
            found = None
            if parts and parts[0].origin == "typed":
                found = commands.find(text, is_skill)
            elif len(parts) == 1 and not (fast or self._app.child or "\n" in text.strip()):
                with suppress(UsageError):  # then the slash in it is text
                    found = commands.find(text, is_skill)
                if found and offered != text.strip():
                    self._say("pasted, so it was not run: Enter again runs it")
                    self._offered = text.strip()
                    return line  # as it is: it must still be known as pasted
            if found and found[0].changes and whole:
                self._say("these keys came together, like a paste, so the command was not run; type it")
                return ""
            if found:
                return await self._carry_out(commands.run(conversation, *found))
            if conversation.origin == "typed" and (download := self._model_offer.accept(text)):
                await self._work(download)
            elif text.strip():
                return await self._send(line, sent)
        except AgentError as error:
            return await self._report(line, error)
        return ""

    async def _carry_out(self, result: commands.Result) -> str:
        """Do what a command returned; returns the next draft."""
        match result:
            case layout.Verbatim():
                _print(f"{layout.formatted(result, self.display)}\n")
            case str():
                self._say(result)
            case commands.Page():
                _print(f"{reply_lines.with_sign(result.draw(self.display).split(chr(10)), self.display, PROGRAM)}\n")
            case commands.Resumed():
                self._show_resumed(result.session)
                return await self._carry_out(result.unfinished)
            case commands.Screen():
                self._jobs.touch(busy=True)  # no job runs meanwhile
                try:
                    following = await result.show()
                finally:
                    self._jobs.touch(busy=False)
                return await self._carry_out(following)
            case commands.Asking():
                self._say(result.text)
                with TurnKeyboard(self._prompt.input, lambda: None) as keyboard, keyboard.paused():
                    answer = await self._prompt.answer(result.ask)
                return await self._carry_out(result.answer(answer))
            case commands.PromptDraft():
                self._say(result.notice)
                self._prompt.pastes.add_parts(result.parts)
                return result.line
            case None:
                pass
            case _:
                await self._work(result)
        return ""

    async def _send(self, line: str, parts: Sequence[Part]) -> str:
        """Send a message with the files it names, and suggest a line for its to-do; returns the next draft."""
        try:
            parts = prompt_input.attach(parts)
        except UsageError as error:
            self._say(Failure(error))
            return line
        self._say(prompt_input.summary(parts))
        await self._work(self._conversation.turn(parts))
        to_do = [each.statement for each in capture.requests(parts) if each.kind == "to do" and each.trust == "typed"]
        if to_do and self._app.keeps and not self.display.screen_reader:  # aloud it would be taken for typed
            self._prompt.suggestion = f"/remind {one_line(to_do[0], 200)}"
        return ""

    async def _report(self, line: str, error: AgentError) -> str:
        """Print an error; returns the line when it was not stored. Raises a StoreError that would lose text."""
        message, offer = commands.in_session(str(error)), self._model_offer
        match error:
            case StoreError():
                if self._app.keeps and not isinstance(error, StoreBusy):
                    raise error
            case errors.ModelMissing():
                message = commands.in_session(f"{error.problem}; /model NAME chooses another")
                message = await asyncio.to_thread(offer.check) or message
            case errors.ModelUnavailable() if error.absent and offer.absence_known():
                message = _STILL_ABSENT
            case errors.ModelFailed() if self._stored:
                message += " · /retry asks again"
        self._say(Failure(message))
        return line if isinstance(error, StoreError) and not self._stored else ""

    async def _prepare(self) -> None:
        """Once the prompt stands, load the commands, and say above it when no server or no chat model is there."""
        await asyncio.sleep(_POLL_INTERVAL / 4)
        await asyncio.to_thread(commands.registry)
        keys.spare_loaded()
        message = await asyncio.to_thread(self._model_offer.check)
        while self._runner or not (self._prompt.application.is_running or is_dumb_terminal()):
            await asyncio.sleep(0.1)
        self._say(message)
        if self._conversation.id is None and not self._app.config.status_command:
            self._prompt.show_below(self._model_offer.model_name)

    async def _watch(self) -> None:
        """Notice what was forgotten in another process, reminders and other news, which are said above the prompt."""
        while True:
            await asyncio.sleep(_POLL_INTERVAL)
            if self._runner:
                continue
            self._prompt.drop_forgotten()
            if not self._app.keeps or not self._prompt.application.is_running:  # a review or a question is on screen
                continue
            if self._is_to_lock():
                self._prompt.application.exit(exception=commands.Leave(self._app, locks=True))
                return
            with suppress(StoreError):  # the next command reports what is wrong with the file
                self._say(*self._notices.news(), *self._reminders.due_lines())

    def _note_active(self) -> None:
        self._active = time.monotonic()

    def _is_to_lock(self) -> bool:
        minutes = self._app.config.seal.get("lock_after", 0)
        return bool(minutes and self._app.db.key and time.monotonic() - self._active > 60 * minutes)

    async def _work(self, work: Work) -> None:
        """Draw the events of the work until it ends; Ctrl-C and Esc stop it."""
        loop = asyncio.get_running_loop()
        events: asyncio.Queue[Event | None] = asyncio.Queue()

        def post(event: Event | None) -> None:
            with suppress(RuntimeError):  # the program has ended; the turn ends on its own
                loop.call_soon_threadsafe(events.put_nowait, event)

        self._jobs.touch(busy=True)
        self._warmer.pause()
        begun = time.monotonic()
        runner = self._runner = Runner(work, post)
        current = self._conversation
        renderer = TurnRenderer(
            sys.stdout, self.display, show_thinking=current.show_thinking, waiting=lambda: current.waiting
        )
        try:
            modes = self.display.terminal.focus
            with TurnKeyboard(self._prompt.input, runner.cancel, renderer.below.show, modes) as keyboard:
                while (event := await events.get()) is not None:
                    if isinstance(event, ApprovalNeeded):
                        renderer.end()
                        with keyboard.paused():
                            event.answer(await self._ask(event, runner.cancel))
                        continue
                    self._stored = self._stored or isinstance(event, QuestionLogged)
                    from_memory = isinstance(event, Noticed) and isinstance(event.text, FromMemory)
                    if not (from_memory and self._model_offer.absence_known()):
                        renderer.draw(event)
        finally:
            runner.cancel()  # when a signal ends the program, the part of the answer that has arrived is stored
            runner.join(_LEAVE_TIMEOUT / 2)
            self._runner = None
            self._jobs.touch(busy=False)
            if time.monotonic() - begun > _LONG:
                self._call("the answer is there")
            renderer.end()

    def _call(self, words: str) -> None:
        """Notify the person, if the window of the terminal has not the focus."""
        if not keys.WINDOW.has_focus:
            _print(self.display.terminal.notification(words))

    async def _ask(self, needed: ApprovalNeeded, stop: Callable[[], None]) -> bool:
        """Show the call with its real arguments: y allows it once, a until the session ends, anything else refuses."""
        if self._app.child:
            return False
        self._call("a question waits for you")
        key = ""
        for shown, offered in reply_lines.questions(needed.call, self.display.width()):
            _print(f"{reply_lines.styled(shown, self.display)}\n")
            key = await self._prompt.answer(reply_lines.styled(offered, self.display), stop, key=True)
            if key != "o":
                break
        key = reply_lines.NUMBERED.get(key, key)
        if key == "a":
            self._conversation.allowed_tools.add(needed.call.name)
        return key in ("y", "a")

    def _greet(self) -> None:
        session = self._conversation.session
        if self._app.child:
            self._say(f"what is typed here does not count as yours: {terminal.OF_ASSISTANT}")
        if not self._app.keeps:
            self._say(greeting.incognito(self._app))
            return
        if session:
            self._show_resumed(session)
        else:
            self._say(*greeting.opening(self._app))
        with suppress(StoreBusy):  # it is said at the next start instead
            self._say(*review.start_notices(self._app.memory))
        with suppress(StoreError):  # they appear above the prompt later
            self._say(*self._reminders.start_lines())

    def _show_resumed(self, session: Session) -> None:
        self._say(greeting.resumed(self._app, session))
        _print(greeting.last_exchange(self._app, session, self.display))

    def _leave(self) -> None:
        """Close the session and say how to resume it, within two seconds."""
        self._warmer.end()
        self._jobs.end(_LEAVE_TIMEOUT / 2)
        self._app.db.busy_timeout = _LEAVE_TIMEOUT / 2
        try:
            session = self._conversation.leave()
        except StoreBusy:
            self._say("another program keeps the database busy; what was said is kept, and agent -c goes on with it")
            return
        with suppress(StoreError):
            finish_erasure(self._app, self._app.db)
        if not self._app.keeps:
            self._say("nothing of this conversation is kept")
        self.left = session
        if session and not self.locks:
            self._say(f"resume: agent -r {session.handle}")
        background.start(self._app)  # also when /close has ended the session before

    def _say(self, *texts: str) -> None:
        """Print what the program says; nothing of a text that is empty."""
        for text in filter(None, texts):
            line = reply_lines.announced(text, self.display)
            _print(f"{terminal_features.linked_files(line, self.display.terminal)}\n")


def _print(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:  # the terminal has gone, and ending the session must still work
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_ERASE = "\r\x1b[K"
_DELAY = 0.4  # seconds; a shorter wait shows nothing
_INTERVAL = 0.25
_HINT_DELAY = 60  # seconds


class Spinner:
    """A line that says what is waited for, and for how many seconds; where lines can be erased."""

    def __init__(self, out: TextIO, display: Display, now: Callable[[], float] = time.monotonic):
        self._out, self._display, self._now = out, display, now
        self._changed = threading.Condition()
        self._label: Callable[[], str] | None = None
        self._hint = self._drawn = ""
        self._started = 0.0
        self._thread: threading.Thread | None = None

    def show(self, label: Callable[[], str], hint: str = "") -> None:
        """Show the label, called at each redraw, and the seconds since now; after a minute also the hint what to do."""
        with self._changed:
            self._label, self._hint, self._started = label, hint, self._now()
            if self._thread is None and self._display.spinner:
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
                    line = layout.cut(line, self._display.width() - 1)  # a line that wraps could not be erased
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
        self._drawn = self._begun = False
        self._begin, self._end = display.terminal.at_once

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
                while layout.cell_width(line) > cells:
                    line = f"…{line[2:]}"
                self._out.write(f"{_MAKE_ROOM}{_BELOW}{sign} {line}{_BACK}")
                self._drawn = True
            self._out.write(self._end if self._begun else "")
            self._begun = False
            self._out.flush()

    def _erase(self) -> None:
        if self._drawn:
            self._out.write(f"{self._begin}{_BELOW}{_BACK}")  # shown together with what takes its place
            self._drawn, self._begun = False, True


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
        self._spinner = Spinner(out, display)
        self._thinking_since: float | None = None
        self._in_answer = False  # the last line is one of the answer
        self._announced = ""  # the last announcement to a screen reader: "Thinking." or "Answer:"

    def draw(self, event: Event) -> None:
        """Raises the error of a turn that failed, unless the person stopped it."""
        match event:
            case events.QuestionLogged():
                self._wait(self._waiting, _HINT)
            case events.Progressed(line, step):
                self._spinner.show(lambda: line)
                if step and not self._display.spinner:
                    self.say(step)
            case events.ThinkingArrived(text):
                if self._thinking_since is None:
                    self.end()
                    self._thinking_since = self._now()
                    self._wait(lambda: "thinking")
                if self._show_thinking:
                    self._spinner.hide()
                    self._thoughts.write(text)
            case events.TextArrived(text):
                if text.strip():
                    self._spinner.hide()
                    self._end_thinking()
                    self._announce("Answer:")
                    if not self._in_answer and not self._display.screen_reader:
                        self._out.write("\n")  # above the first line, and above that behind a notice
                    self._in_answer = True
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
                if not isinstance(error, errors.Cancelled):
                    raise error
                self.say("stopped")

    def say(self, text: str) -> None:
        self.end()
        print(reply_lines.announced(text, self._display), file=self._out, flush=True)

    def end(self) -> None:
        self._spinner.hide()
        self._end_thinking()
        self._answer.end()
        self._in_answer = False

    def _wait(self, label: Callable[[], str], hint: str = "") -> None:
        self._announce("Thinking.")
        self._spinner.show(label, hint)

    def _end_thinking(self) -> None:
        """End the thinking, if there was any, and say how long it took."""
        since, self._thinking_since = self._thinking_since, None
        if since is not None:
            self._spinner.hide()
            self._thoughts.end()
            seconds = round(self._now() - since)
            if seconds and not self._display.screen_reader:
                self.say(f"thought for {seconds} s")

    def _announce(self, announcement: str) -> None:
        if self._display.screen_reader and self._announced != announcement:
            self._answer.end()
            self._announced = announcement
            print(announcement, file=self._out, flush=True)
