"""Has the beginning of the next request read ahead, while the person types or reads.

What is sent is the next request without its question, for an answer of one token. A question that begins in the same
way waits until it is read: hanging up would make some servers load the model again, and a second request beside it
would be read from its first word. A question that begins otherwise ends it at once, and so does one that another
process asks. Nothing here is reported: what fails will fail for the question too, and is said then.
"""

import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import field, replace

from agent_cli.agent import policy
from agent_cli.agent.jobs import person_first
from agent_cli.agent.loop import Agent
from agent_cli.agent.model_context import Context
from agent_cli.app import models, turns
from agent_cli.app.app import App
from agent_cli.config.values import Config
from agent_cli.llm.model import Cancel
from agent_cli.memory.conversations import sessions
from agent_cli.messages import Message, Part
from agent_cli.store.db import Database
from agent_cli.values import frozen

DELAY = 0.2  # seconds after which it begins, so that the prompt is drawn first
_FORGETS = 60.0  # seconds after which the server may hold something else: another program, or nothing
_LOOK = 0.05  # seconds between two looks whether the person gave up
_ALIEN = ("offline", "scripted")  # models without a server
_QUESTION = "…"  # in its place: a request must end with a message of the person


@frozen
class _Ahead:
    """A beginning that is being read."""

    settings: Config
    model: str
    request: Context
    cancel: Cancel = field(default_factory=Cancel)
    done: threading.Event = field(default_factory=threading.Event)


class Warmer:
    """`session`: the id of the session that goes on, or None before its first message."""

    def __init__(self, app: App, session: Callable[[], int | None]):
        self._app, self._session = app, session
        self._lock = threading.Lock()
        self._count = 0  # of calls to begin: the latest counts
        self._paused = True
        self._ahead: _Ahead | None = None
        self._held: tuple[Config, str, Context] | None = None  # what was read last
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

    def settle(self, model: str, request: Context, cancel: Cancel) -> None:
        """Wait until what this request begins with is read; end the reading of anything else. Raises Cancelled."""
        ahead = self._ahead
        if ahead is None or ahead.done.is_set():
            return
        if ahead.model != model or not _begins_with(request, ahead.request):
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
        with suppress(Exception), closing(self._app.db.another_connection()) as db:
            model = models.planned(self._app, db)
            if model.name in _ALIEN:
                return
            agent = turns.agent(self._app, model, policy.no_approver)
            ahead = _Ahead(self._app.config, model.name, _beginning(self._app, db, agent, self._session()))
            held = (ahead.settings, ahead.model, ahead.request)
            with self._lock:
                if self._paused or count != self._count or self._held == held:
                    return
                former, self._ahead, self._held = self._ahead, ahead, held
            if former:
                former.cancel()
            self._send(db, agent, ahead)

    def _send(self, db: Database, agent: Agent, ahead: _Ahead) -> None:
        whole, request = False, ahead.request
        try:
            with person_first.watched(db, self._app.time, ahead.cancel) as cancel:
                for _ in agent.model.reply(request.messages, request.tools, think=agent.think, limit=1, cancel=cancel):
                    pass
            whole = True
        finally:
            with self._lock:
                if not whole and self._ahead is ahead:
                    self._held = None
            ahead.done.set()


def _beginning(app: App, db: Database, agent: Agent, session: int | None) -> Context:
    """The next request of the session, with as good as nothing for its question."""
    if session is not None and sessions.get(db, session, app.scope.owner).closed_at:
        session = None  # the next question begins another
    request = turns.preview(app, db, agent, session, [Part("", "typed")])
    *others, question = request.messages
    return replace(request, messages=(*others, Message("user", _QUESTION, before=question.before)), sizes={})


def _begins_with(request: Context, beginning: Context) -> bool:
    *whole, last = beginning.messages
    *there, question = request.messages[: len(beginning.messages)]
    return (request.tools, there, question.before) == (beginning.tools, whole, last.before)
