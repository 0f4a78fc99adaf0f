"""What the program does while the person types, reads or is away: jobs on a thread of their own, a process that is left
running for them, and reading ahead.

Read ahead is the beginning of the next request: it is sent without its question, for an answer of one token. A question
that begins in the same way waits until it is read: hanging up would make some servers load the model again. One that
begins otherwise ends it at once, and so does one that another process asks. What fails here will fail there too.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path

from agent_cli import text
from agent_cli.agent import model_context
from agent_cli.agent.jobs.job_context import JobContext, text_of, watched
from agent_cli.app import models, turns
from agent_cli.app.app import App
from agent_cli.config.values import Config
from agent_cli.errors import UsageError
from agent_cli.llm import ollama
from agent_cli.llm.model import Cancel
from agent_cli.memory.conversations import log, sessions
from agent_cli.messages import Message, Part
from agent_cli.store import jobs, sealing
from agent_cli.store.db import Database
from agent_cli.values import frozen

_CHARACTERS_A_TOKEN = 3  # of a transcript, a low estimate
_LOW_PRIORITY = (("nice", "-n", "10"), ("ionice", "-c", "3", "-t"))  # of processor and disk, where these commands are
_LEAST_PAUSE = 0.1  # seconds between two looks at an empty queue
DELAY = 0.2  # seconds after which reading ahead begins, so that the prompt is drawn first
_FORGETS = 60.0  # seconds after which the server may hold something else: another program, or nothing
_LOOK = 0.05  # seconds between two looks whether the person gave up
_QUESTION = "…"  # in its place: a request must end with a message of the person


def job_context(app: App, db: Database, cancel: Cancel) -> JobContext:
    """The context of jobs. `db`: the connection of the thread that runs them."""
    room = (app.config.num_ctx - 1024) * _CHARACTERS_A_TOKEN
    shares, engine = app.config.cheap_model in ("", app.config.model), app.engine
    return JobContext(
        db,
        app.time,
        lambda: models.cheap(app, db),
        app.embedders,
        max(2000, room),
        cancel,
        app.close_after,
        app.may_learn,
        app.config.retention if app.keeps else {},
        lambda session, cancel: _ask_after(app, db, session, cancel) if shares else None,
        app.config.sync if app.keeps else "",
        app.memory.single_valued,
        lambda: shares and not (engine.name == "ollama" and ollama.keeps_prompts(engine.url)),
    )


def _ask_after(app: App, db: Database, session: int, cancel: Cancel) -> Callable[[str, bool], Iterator[str]] | None:
    """How the model is asked something behind the messages of a session (see job_context.AskAfter). None where no model
    answers, for a session whose requests this app would begin otherwise, and while a tool call has no result."""
    model = models.cheap(app, db)
    try:
        begun = sessions.get(db, session, app.scope.owner).opening is not None
    except UsageError:  # a caller's
        return None
    if model is None or not begun or log.calls_without_result(db, session):
        return None

    def ask(instruction: str, may_think: bool) -> Iterator[str]:
        agent, context = turns.agent(app, model), turns.tool_context(app, db, session)
        extra = Message("user", after=text.fenced(text.unfenced(instruction)))
        request = model_context.build(agent, context, extra, folds=False)
        think = agent.think if may_think else False
        yield from text_of(model.reply(request.messages, request.tools, think=think, cancel=cancel))

    return ask


def start(app: App) -> None:
    """Start a process of low priority that runs the due jobs, like `git gc --auto`."""
    if not app.keeps or not app.config.background_jobs:
        return
    if app.config.sync:
        from agent_cli.memory.sync import exchange  # needed with other machines alone

        exchange.queue(app.db, Path(app.config.sync).expanduser(), app.time())
    if not jobs.any_due(app.db, app.time()):
        return
    import shutil  # imported only when a job is due
    import subprocess

    lowered = [word for name, *options in _LOW_PRIORITY if shutil.which(name) for word in (name, *options)]
    python = [*lowered, sys.executable, "-P"]  # -P: it imports nothing from the current folder
    command = [*python, "-m", "agent_cli", "--db", app.db.path, "-q", "jobs", "run", "--due"]
    nowhere, key = subprocess.DEVNULL, app.db.key
    given, environment = (subprocess.PIPE, {**os.environ, sealing.VARIABLE: "-"}) if key else (nowhere, None)
    with suppress(OSError):  # no process available: the next run of the program starts one
        child = subprocess.Popen(
            command, stdin=given, stdout=nowhere, stderr=nowhere, env=environment, start_new_session=True
        )
        if key and child.stdin:
            with child.stdin as pipe:
                pipe.write(f"{key[:-16].hex()}\n".encode())


class IdleWorker:
    """Runs jobs on its own thread while the person is idle, and stops as soon as they do something."""

    def __init__(
        self, open_context: Callable[[Cancel], JobContext], pause: float, after: Callable[[], None] = lambda: None
    ):
        """`after` is called when jobs have run, or one was given up."""
        self._open_context, self._pause, self._after = open_context, max(_LEAST_PAUSE, pause), after
        self._touched, self._ended = threading.Event(), threading.Event()
        self._busy = False
        self._cancel = Cancel()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)
        self._thread.start()

    def touch(self, *, busy: bool | None = None) -> None:
        """The person did something: stop at once and wait again. `busy`: an answer streams, and no job runs."""
        with self._lock:
            self._busy = self._busy if busy is None else busy
            self._touched.set()
            cancel = self._cancel
        cancel()

    def end(self, seconds: float) -> None:
        """Stop, and wait at most this long for the thread."""
        self._ended.set()
        self.touch()
        self._thread.join(seconds)

    def _run(self) -> None:
        while True:
            self._touched.clear()
            if self._ended.is_set():  # read after clearing, so that the touch of `end` is never missed
                return
            if self._touched.wait(self._pause) or self._busy:
                continue
            with self._lock:
                if self._touched.is_set():
                    continue
                self._cancel = Cancel()
            self._work(self._cancel)

    def _work(self, cancel: Cancel) -> None:
        from agent_cli.agent.jobs import worker  # what jobs need is a quarter of the program: not before the prompt

        with suppress(Exception):  # the job has its error, which `agent jobs list` shows; the next round tries again
            context, ran = self._open_context(cancel), False
            try:
                worker.queue_due(context)
                while not cancel and worker.run_one(context):
                    ran = True
            finally:
                context.db.close()
                if ran or cancel:
                    self._after()


@frozen
class _Ahead:
    """A beginning that is being read."""

    settings: Config
    model: str
    request: model_context.Context
    cancel: Cancel = field(default_factory=Cancel, compare=False)
    done: threading.Event = field(default_factory=threading.Event, compare=False)


class Warmer:
    """Has the beginning of the next request read. `session`: its id, or None before its first message."""

    def __init__(self, app: App, session: Callable[[], int | None]):
        self._app, self._session = app, session
        self._lock = threading.Lock()
        self._count = 0  # of calls to begin: the latest counts
        self._paused = True
        self._ahead: _Ahead | None = None
        self._held: _Ahead | None = None  # what the server holds: it was read last
        self._at = 0.0  # when that was

    def resume(self) -> None:
        """The prompt waits for a question: have its beginning read, unless it was read last."""
        self._paused = False
        self.begin()

    def pause(self) -> None:
        """A turn or another command begins: nothing more is read ahead until `resume`."""
        with self._lock:
            self._paused, self._at = True, time.monotonic()

    def typed(self) -> None:
        """A key was typed: the server may have forgotten what was read long ago."""
        if time.monotonic() - self._at > _FORGETS:
            self.begin(force=True)

    def begin(self, *, force: bool = False) -> None:
        """Have the beginning read. `force`: also if it was read last, because another request came between."""
        with self._lock:
            self._held = None if force else self._held
            if self._paused or not self._app.config.warm:
                return
            self._count, self._at = self._count + 1, time.monotonic()
            threading.Thread(target=self._read, args=(self._count,), name="warm", daemon=True).start()

    def wait_until_read(self, model: str, request: model_context.Context, cancel: Cancel) -> None:
        """Wait until what this request begins with is read; end the reading of anything else. Raises Cancelled."""
        ahead = self._ahead
        if ahead is None or ahead.done.is_set():
            return
        *others, question = ahead.request.messages  # whose place another question takes
        *same, asked = request.messages[: len(others) + 1]
        alike = (model, request.tools) == (ahead.model, ahead.request.tools) and same == others
        if not (alike and asked.before == question.before):
            ahead.cancel()
        while not (ahead.cancel or ahead.done.wait(_LOOK)):
            cancel.check()

    def end(self) -> None:
        """End what is being read."""
        self.pause()
        if self._ahead:
            self._ahead.cancel()

    def _read(self, count: int) -> None:
        time.sleep(DELAY)
        if self._paused or count != self._count:
            return
        with suppress(Exception), self._app.db.another_connection() as db:
            model = models.planned(self._app, db)
            if model.name in ("offline", "scripted"):  # without a server
                return
            session = self._session()
            if session is not None and sessions.get(db, session, self._app.scope.owner).closed_at:
                session = None  # the next question begins another
            agent = turns.agent(self._app, model)
            request = turns.preview(self._app, db, agent, session, [Part("", "typed")])
            *others, question = request.messages
            beginning = (*others, Message("user", _QUESTION, before=question.before))
            ahead = _Ahead(self._app.config, model.name, replace(request, messages=beginning, sizes={}))
            with self._lock:
                if self._paused or count != self._count or self._held == ahead:
                    return
                former, self._ahead, self._held = self._ahead, ahead, ahead
            if former:
                former.cancel()
            try:
                with watched(db, self._app.time, ahead.cancel) as cancel:
                    for _ in model.reply(beginning, request.tools, think=agent.think, limit=1, cancel=cancel):
                        pass
            except BaseException:
                with self._lock:
                    self._held = None if self._ahead is ahead else self._held
                raise
            finally:
                ahead.done.set()
