"""The interactive session: read a line, run a command or a turn, draw what happens.

The prompt owns the event loop; a turn runs on a thread and its events come through a queue. While it runs the terminal
is raw: Ctrl-C and Esc stop the answer, every other key waits for the next prompt.
"""

import asyncio
import errno
import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from agent_cli.agent.events import ApprovalNeeded, Asked, Event, Noticed
from agent_cli.agent.jobs.worker import IdleWorker
from agent_cli.agent.runner import Runner, Work
from agent_cli.app.app import App, background
from agent_cli.errors import AgentError, ModelMissing, StoreBusy, StoreError, UsageError
from agent_cli.memory.conversations.sessions import Session
from agent_cli.memory.review import review
from agent_cli.messages import Part
from agent_cli.render import prose
from agent_cli.render.look import Look, decide, themed
from agent_cli.repl.commands import commands
from agent_cli.repl.commands.exchange_commands import Draft
from agent_cli.repl.commands.fact_commands import Screen
from agent_cli.repl.commands.setting_commands import Theme
from agent_cli.repl.keyboard.dumb_terminal import Lines
from agent_cli.repl.keyboard.keyboard import Keyboard
from agent_cli.repl.prompt import attachments
from agent_cli.repl.prompt.line import Line
from agent_cli.repl.session import greeting
from agent_cli.repl.session.conversation import Conversation
from agent_cli.repl.session.notices import Notices
from agent_cli.repl.session.reminders import Reminders
from agent_cli.repl.shell import approval, drawing, first_run

_LAST_WAIT = 2.0  # seconds that leaving may take
_LOOK = 1.0  # seconds between looks at what other processes have done
_HUNG_UP, _TERMINATED = 129, 143  # exit codes


def run(app: App, session: Session | None, first: Sequence[Part] = (), look: Look | None = None) -> None:
    """Talk until the person leaves; `first` is said at once. Raises AgentError, SystemExit when a signal ended it."""
    shell = Shell(app, session, look)
    gc.freeze()  # what is loaded by now stays: looking through it again takes 15 ms, at every ninth key
    code = asyncio.run(shell.talk(first))
    while shell.goes_on:
        shell = Shell(shell.goes_on, None, shell.look)
        code = asyncio.run(shell.talk())
    if code:
        sys.exit(code)


class Shell:
    def __init__(self, app: App, session: Session | None, look: Look | None = None):
        self._app = app
        self._talk = Conversation(app, session)
        self.look = look or decide(sys.stdout, os.environ)
        self._offer = first_run.Offer(app)
        self._runner: Runner | None = None
        self._line = Line(app, lambda: self._talk.id, self._say, aloud=self.look.aloud)
        self._jobs = IdleWorker(lambda cancel: app.desk(app.db.again(), cancel), app.config.idle_seconds)
        self._line.buffer.on_text_changed += lambda _: self._jobs.touch()
        self._notices = Notices(lambda: self._talk.reviewer)
        self._reminders = Reminders(app)
        self._ended_by = 0
        self.goes_on: App | None = None  # with which the person goes on
        self._kept = False  # whether the words of the present line are on disk

    async def talk(self, first: Sequence[Part] = ()) -> int:
        """Returns the exit code: 0, or that of the signal that ended it."""
        self._heed_signals(asyncio.get_running_loop(), asyncio.current_task())
        self._greet()
        line = ""
        watch = asyncio.create_task(self._watch())
        look = asyncio.create_task(self._look_around())
        try:
            if first:
                line = await self._heed("".join(part.text for part in first), first)
            while True:
                self._line.let_go()
                line = await self._line.ask(line, self._talk.status)
                self._jobs.touch()
                line = await self._heed(line)
        except commands.Leave as left:
            self.goes_on = left.to
        except EOFError:
            pass
        except asyncio.CancelledError:
            if not self._ended_by:
                raise
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            self._ended_by = self._ended_by or _HUNG_UP  # the terminal has gone before its signal came
        finally:
            watch.cancel()
            look.cancel()
            self._line.keep_draft()
            self._leave()
            _show("")  # what prompt-toolkit wrote last
        return self._ended_by

    async def _heed(self, line: str, given: Sequence[Part] = ()) -> str:
        """Run one line. Gives it back when it is nowhere kept, as when the file was busy, else an empty one."""
        at_once = self._line.pastes.at_once
        parts = given or self._line.pastes.parts(line)
        said = "".join(part.text for part in parts)
        self._talk.parts, self._talk.without = parts, self._line.dropped()
        self._talk.origin = "pasted" if at_once or any(part.origin != "typed" for part in parts) else "typed"
        self._kept = False
        if said.strip() in ("exit", "quit") and self._talk.origin == "typed":
            raise commands.Leave
        try:
            # A slash that came with a paste is text: nothing pasted can give a command.
            found = commands.find(said) if parts and parts[0].origin == "typed" else None
            if found:
                result = commands.run(self._talk, *found)
                if isinstance(result, str):
                    self._say(result)
                elif isinstance(result, Screen):
                    await self._give_way(result)
                elif isinstance(result, commands.Question):
                    await self._decide(result)
                elif isinstance(result, Theme):
                    self._draw_in(result)
                elif isinstance(result, Draft):
                    self._say(result.told)
                    self._line.pastes.known(result.parts)
                    return result.line
                elif result is not None:
                    await self._work(result)
            elif self._talk.origin == "typed" and (fetching := self._offer.taken(said)):
                await self._work(fetching)
            elif said.strip():
                # What came faster than anyone types may be a paste: no word of it is the person's own.
                parts = [Part(said, "pasted")] if at_once else parts
                try:
                    parts = attachments.attached(parts)
                except UsageError as error:
                    self._say(str(error))
                    return line
                if files := attachments.summary(parts):
                    self._say(files)
                await self._work(self._talk.turn(parts))
        except StoreBusy as error:
            self._say(str(error))
            return "" if self._kept else line
        except StoreError as error:
            if self._app.keeps:
                raise  # the file cannot be written: going on would lose words
            self._say(str(error))
            return "" if self._kept else line
        except ModelMissing as error:
            told = str(error).replace("--model", "/model NAME")
            told = told if "/model" in told else f"{told}; /model NAME chooses another"
            self._say(await asyncio.to_thread(self._offer.look) or told)
        except AgentError as error:
            self._say(self._offer.anew(str(error)))
        return ""

    async def _look_around(self) -> None:
        """Say above the prompt, once, that the server has no model to talk to."""
        await asyncio.sleep(_LOOK / 4)  # the prompt comes first: asking a server takes modules that take time
        told = await asyncio.to_thread(self._offer.look)
        while self._runner:
            await asyncio.sleep(0.1)
        if told:
            self._say(told)

    async def _give_way(self, screen: Screen) -> None:
        """Let a screen have the terminal; nothing is worked on behind it."""
        self._jobs.touch(busy=True)
        try:
            await screen.show()
        finally:
            self._jobs.touch(busy=False)

    def _draw_in(self, theme: Theme) -> None:
        if theme.name == "ansi" and (self.look.aloud or Lines.wanted()):
            raise UsageError("this terminal, or its screen reader, is shown no colours; nothing was changed")
        if theme.name:
            self.look = themed(self.look, theme.name)
        self._say(
            "the theme is ansi" if self.look.colour else "the theme is none: answers stand as the model wrote them"
        )

    async def _decide(self, question: commands.Question) -> None:
        """Do it when the person types just "yes", once it was asked."""
        self._say(question.text)
        with Keyboard(self._line.input, lambda: None) as keyboard, keyboard.paused():
            answer = await self._line.answer(question.ask)
        self._say(question.yes() if answer == "yes" else question.no)

    async def _watch(self) -> None:
        """Notice that something was forgotten in another process, or that the end of a paste was lost."""
        while True:
            await asyncio.sleep(_LOOK)
            self._line.look()
            if self._runner is None:
                self._line.let_go()
                self._tell_news()

    def _tell_news(self) -> None:
        """Above the prompt, never during an answer."""
        with suppress(StoreError):  # what the person does next tells what is wrong with the file
            asked = self._line.application.is_running  # not so while a review or a question has the terminal
            for line in [*self._notices.look(), *self._reminders.look()] if self._app.keeps and asked else ():
                self._say(line)

    async def _work(self, work: Work) -> None:
        """Draw the events of some work until it ends; Ctrl-C and Esc stop it."""
        loop = asyncio.get_running_loop()
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._jobs.touch(busy=True)
        runner = self._runner = Runner(work, lambda event: _post(loop, events, event))
        shown = drawing.Drawing(
            sys.stdout, self.look, show_thinking=self._talk.show_thinking, waiting=lambda: self._talk.waiting
        )
        try:
            with Keyboard(self._line.input, runner.cancel) as keyboard:
                while (event := await events.get()) is not None:
                    if isinstance(event, ApprovalNeeded):
                        shown.end()
                        with keyboard.paused():
                            event.answer(await self._ask(event, runner.cancel))
                        continue
                    self._kept = self._kept or isinstance(event, Asked)
                    if not isinstance(event, Noticed) or self._offer.anew(event.text):
                        shown.draw(event)
        finally:
            runner.cancel()  # when a signal ends the program: what has arrived is kept
            runner.join(_LAST_WAIT / 2)
            self._runner = None
            self._jobs.touch(busy=False)
            shown.end()

    async def _ask(self, needed: ApprovalNeeded, stop: Callable[[], None]) -> bool:
        """The call with its real arguments: y allows it once, a until the session ends, anything else refuses.

        Ctrl-C ends the turn as well.
        """
        call = needed.call
        self._say(approval.question(call, self.look.width()))
        answer = await self._line.answer(f"{prose.shown(approval.QUESTION, self.look)} ", stop)
        if answer == "a":
            self._talk.allowed.add(call.name)
        return answer in ("y", "a")

    def _greet(self) -> None:
        session = self._talk.session
        if not self._app.keeps:
            self._say(greeting.incognito(self._app))
            return
        if session:
            self._say(greeting.goes_on(self._app, session))
        elif told := greeting.carried_over(self._app):
            self._say(told)
        else:
            self._say("agent, an assistant that remembers. It talks to the model on this machine.")
            self._say(f"Everything is kept in one file of yours: {self._app.db.path}")
            self._say("Nothing is remembered without your yes. /help lists the commands.")
        with suppress(StoreBusy):  # it can be told at the next start
            for line in review.news(self._talk.reviewer):
                self._say(line)
        with suppress(StoreError):  # it comes up above the prompt
            for line in self._reminders.greet():
                self._say(line)

    def _leave(self) -> None:
        """Close the session and say how to come back; waits for nothing longer than two seconds."""
        self._jobs.end(_LAST_WAIT / 2)
        self._app.db.patience = _LAST_WAIT / 2
        try:
            session = self._talk.leave()
        except StoreBusy:
            self._say("another program keeps the database busy; what was said is kept, and agent -c goes on with it")
            return
        with suppress(StoreError):
            self._app.finish_forgetting(self._app.db)
        if not self._app.keeps:
            self._say("nothing of this conversation is kept")
        if session:
            self._say(f"resume: agent -r {session.handle}")
        background(self._app)  # also when /close has ended the session before

    def _heed_signals(self, loop: asyncio.AbstractEventLoop, task: "asyncio.Task[int] | None") -> None:
        def end(code: int) -> None:
            self._ended_by = code
            if task:
                task.cancel()

        with suppress(NotImplementedError, AttributeError):  # Windows has neither
            loop.add_signal_handler(signal.SIGTERM, end, _TERMINATED)
            loop.add_signal_handler(signal.SIGHUP, end, _HUNG_UP)
            loop.add_signal_handler(signal.SIGINT, self._interrupt)

    def _interrupt(self) -> None:
        """Ctrl-C where it came as a signal: while a line is printed above the prompt, the terminal is not raw."""
        if self._runner:
            self._runner.cancel()
        self._line.interrupt()  # a dumb terminal may have asked something during the turn

    def _say(self, text: str) -> None:
        _show(f"{prose.shown(text, self.look)}\n")


def _post(loop: asyncio.AbstractEventLoop, events: "asyncio.Queue[Event | None]", event: Event | None) -> None:
    with suppress(RuntimeError):  # the program has left; the turn ends on its own
        loop.call_soon_threadsafe(events.put_nowait, event)


def _show(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:  # the terminal has gone, and leaving must still work
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
