"""The interactive session: read a line, run a command or a turn, draw what happens.

The prompt owns the event loop; a turn runs on a thread and its events come through a queue. While it runs the terminal
is raw: Ctrl-C and Esc stop the answer, every other key waits for the next prompt.
"""

import asyncio
import errno
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from prompt_toolkit import PromptSession
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.clipboard import InMemoryClipboard
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.patch_stdout import patch_stdout

from agent_cli.agent.events import ApprovalNeeded, Asked, Event
from agent_cli.agent.runner import Runner, Work
from agent_cli.agent.worker import IdleWorker
from agent_cli.app import App, background
from agent_cli.errors import AgentError, ModelMissing, StoreBusy, StoreError
from agent_cli.memory import review
from agent_cli.memory.sessions import Session
from agent_cli.messages import Part
from agent_cli.repl import commands, drawing, greeting, keys
from agent_cli.repl.conversation import Conversation
from agent_cli.repl.fact_commands import Screen
from agent_cli.repl.history import Prompts
from agent_cli.repl.look import Look, decide
from agent_cli.text import clean

_LAST_WAIT = 2.0  # seconds that leaving may take
_LOOK = 1.0  # seconds between looks at what other processes have done
_HUNG_UP, _TERMINATED = 129, 143  # exit codes


def run(app: App, session: Session | None, look: Look | None = None) -> None:
    """Talk until the person leaves. Raises AgentError, SystemExit when a signal ended it."""
    code = asyncio.run(Shell(app, session, look).talk())
    if code:
        sys.exit(code)


class Shell:
    def __init__(self, app: App, session: Session | None, look: Look | None = None):
        self._app = app
        self._talk = Conversation(app, session)
        self._look = look or decide(sys.stdout, os.environ)
        self._pastes = keys.Pastes()
        self._runner: Runner | None = None
        self._history = Prompts(app, lambda: self._talk.id, self._pastes)
        self._prompt: PromptSession[str] = PromptSession(
            history=self._history, multiline=True, completer=_Commands(), complete_while_typing=False,
            key_bindings=keys.bindings(self._pastes, self._say), prompt_continuation="  ",
        )  # fmt: skip
        self._jobs = IdleWorker(lambda cancel: app.desk(app.db.again(), cancel), app.config.idle_seconds)
        self._prompt.default_buffer.on_text_changed += self._follow
        self._prompt.default_buffer.on_text_changed += lambda _: self._jobs.touch()
        self._ended_by = 0
        self._kept = False  # whether the words of the present line are on disk

    async def talk(self) -> int:
        """Returns the exit code: 0, or that of the signal that ended it."""
        self._heed_signals(asyncio.get_running_loop(), asyncio.current_task())
        self._greet()
        line = ""
        watch = asyncio.create_task(self._watch())
        try:
            while True:
                self._let_go()
                with patch_stdout(raw=True):
                    line = await self._prompt.prompt_async(
                        "> ", default=line, handle_sigint=False,
                        pre_run=lambda: self._pastes.follow(self._prompt.default_buffer),
                    )  # fmt: skip
                self._jobs.touch()
                line = await self._line(line)
        except (EOFError, commands.Leave):
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
            self._leave()
        return self._ended_by

    async def _line(self, line: str) -> str:
        """Run one line. Gives it back when the file was busy and it is nowhere kept, else an empty one."""
        at_once = self._pastes.at_once
        parts = self._pastes.parts(line)
        self._talk.origin = "pasted" if at_once or any(part.origin == "pasted" for part in parts) else "typed"
        self._kept = False
        if line.strip() in ("exit", "quit") and self._talk.origin == "typed":
            raise commands.Leave
        try:
            # A slash that came with a paste is text: nothing pasted can give a command.
            found = commands.find(line) if parts and parts[0].origin == "typed" else None
            if found:
                result = found[0].run(self._talk, found[1])
                if isinstance(result, str):
                    self._say(result)
                elif isinstance(result, Screen):
                    await self._give_way(result)
                elif isinstance(result, commands.Question):
                    await self._decide(result)
                elif result is not None:
                    await self._work(result)
            elif line.strip():
                # What came faster than anyone types may be a paste: no word of it is the person's own.
                await self._work(self._talk.turn([Part(line, "pasted")] if at_once else parts))
        except StoreBusy as error:
            self._say(str(error))
            return "" if self._kept else line
        except StoreError:
            raise  # the file cannot be written: going on would lose words
        except ModelMissing as error:
            told = str(error).replace("--model", "/model NAME")
            self._say(told if "/model" in told else f"{told}; /model NAME chooses another")
        except AgentError as error:
            self._say(str(error))
        return ""

    def _follow(self, buffer: Buffer) -> None:
        self._pastes.follow(buffer, waiting=bool(self._prompt.app.key_processor.input_queue))

    async def _give_way(self, screen: Screen) -> None:
        """Let a screen have the terminal; nothing is worked on behind it."""
        self._jobs.touch(busy=True)
        try:
            await screen.show()
        finally:
            self._jobs.touch(busy=False)

    async def _decide(self, question: commands.Question) -> None:
        """Do it when the person types just "yes"; what is pasted is no answer."""
        self._say(question.text)
        deaf = KeyBindings()
        deaf.add(Keys.BracketedPaste, eager=True)(lambda event: None)
        asking: PromptSession[str] = PromptSession(key_bindings=deaf)
        try:
            answer = await asking.prompt_async(question.ask, handle_sigint=False)
        except (EOFError, KeyboardInterrupt):
            answer = ""
        self._say(question.yes() if answer.strip().lower() == "yes" else question.no)

    async def _watch(self) -> None:
        """Notice, while the prompt waits, that something was forgotten in another process."""
        while True:
            await asyncio.sleep(_LOOK)
            if self._runner is None:
                self._let_go()

    def _let_go(self) -> None:
        """When something was forgotten, hold no line of before: history, undo, pastes and what was cut."""
        if self._history.outdated():
            buffer = self._prompt.default_buffer
            buffer.reset(Document(buffer.text, buffer.cursor_position))
            self._prompt.app.clipboard = InMemoryClipboard()
            self._pastes.let_go()
            self._prompt.app.invalidate()

    async def _work(self, work: Work) -> None:
        """Draw the events of some work until it ends; Ctrl-C and Esc stop it."""
        loop = asyncio.get_running_loop()
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._jobs.touch(busy=True)
        runner = self._runner = Runner(work, lambda event: _post(loop, events, event))
        shown = drawing.Drawing(
            sys.stdout, self._look, show_thinking=self._talk.show_thinking, waiting=lambda: self._talk.waiting
        )
        try:
            with _Keyboard(self._prompt, runner.cancel) as keyboard:
                while (event := await events.get()) is not None:
                    if isinstance(event, ApprovalNeeded):
                        shown.end()
                        with keyboard.paused():
                            event.answer(await self._ask(event))
                        continue
                    self._kept = self._kept or isinstance(event, Asked)
                    shown.draw(event)
        finally:
            runner.cancel()  # when a signal ends the program: what has arrived is kept
            runner.join(_LAST_WAIT / 2)
            self._runner = None
            self._jobs.touch(busy=False)
            shown.end()

    async def _ask(self, needed: ApprovalNeeded) -> bool:
        """The call with its real arguments: y allows it once, a until the session ends, anything else refuses."""
        call = needed.call
        self._say(drawing.question(call))
        asking: PromptSession[str] = PromptSession()
        try:
            answer = await asking.prompt_async(
                "allow it? y once, a for this session, anything else no: ", handle_sigint=False
            )
        except (EOFError, KeyboardInterrupt):
            return False
        if answer.strip().lower() == "a":
            self._talk.allowed.add(call.name)
        return answer.strip().lower() in ("y", "a")

    def _greet(self) -> None:
        session = self._talk.session
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
        if session:
            self._say(f"resume: agent -r {session.handle}")
            background(self._app)

    def _heed_signals(self, loop: asyncio.AbstractEventLoop, task: "asyncio.Task[int] | None") -> None:
        def end(code: int) -> None:
            self._ended_by = code
            if task:
                task.cancel()

        with suppress(NotImplementedError, AttributeError):  # Windows has neither
            loop.add_signal_handler(signal.SIGTERM, end, _TERMINATED)
            loop.add_signal_handler(signal.SIGHUP, end, _HUNG_UP)
            loop.add_signal_handler(signal.SIGINT, lambda: self._runner.cancel() if self._runner else None)

    def _say(self, text: str) -> None:
        try:
            print(clean(text), flush=True)
        except OSError:  # the terminal has gone, and leaving must still work
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Keyboard:
    """The keys during an answer: Ctrl-C and Esc cancel it, the others are typed ahead for the next prompt."""

    def __init__(self, prompt: "PromptSession[str]", cancel: Callable[[], None]):
        self._input = prompt.app.input
        self._cancel = cancel
        self._ahead: list[KeyPress] = []

    def __enter__(self) -> "_Keyboard":
        self._open()
        return self

    def __exit__(self, *_: object) -> None:
        self._shut()
        store_typeahead(self._input, keys.ahead(self._ahead))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Give the keyboard to a question; what was typed before it was asked is no answer to it."""
        self._shut()
        try:
            yield
        finally:
            self._open()

    def _open(self) -> None:
        self._ahead += get_typeahead(self._input)  # typed behind the last line or answer
        self._raw, self._attached = self._input.raw_mode(), self._input.attach(self._read)
        self._raw.__enter__()
        self._attached.__enter__()

    def _shut(self) -> None:
        self._take(self._input.read_keys() + self._input.flush_keys())
        self._attached.__exit__(None, None, None)
        self._raw.__exit__(None, None, None)

    def _read(self) -> None:
        self._take(self._input.read_keys())
        # Esc is also how the code of another key begins: it is one of its own when nothing follows for a moment.
        asyncio.get_running_loop().call_later(0.1, self._read_flushed)

    def _read_flushed(self) -> None:
        self._take(self._input.flush_keys())

    def _take(self, pressed: list[KeyPress]) -> None:
        """Esc with another key behind it is Alt and that key."""
        for key, after in zip(pressed, [*(each.key for each in pressed[1:]), Keys.Escape], strict=False):
            if key.key == Keys.ControlC or (key.key == Keys.Escape and after in (Keys.Escape, Keys.ControlC)):
                self._cancel()
            else:
                self._ahead.append(key)


class _Commands(Completer):
    """Slash commands, at the start of a line."""

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        told = document.text_before_cursor
        if told.startswith("/") and " " not in told:
            for name, each in sorted(commands.COMMANDS.items()):
                if name.startswith(told):
                    yield Completion(name, -len(told), display_meta=each.help.splitlines()[0])


def _post(loop: asyncio.AbstractEventLoop, events: "asyncio.Queue[Event | None]", event: Event | None) -> None:
    with suppress(RuntimeError):  # the program has left; the turn ends on its own
        loop.call_soon_threadsafe(events.put_nowait, event)
