"""What one server works with: the app, its connections, the turns that run, what is counted, and the jobs between."""

import asyncio
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TypeVar

import anyio.to_thread

from agent_cli import clock
from agent_cli.agent.jobs.idle_worker import IdleWorker
from agent_cli.agent.jobs.job_context import JobContext
from agent_cli.app import background, tool_set
from agent_cli.app.app import App
from agent_cli.errors import AgentError, StoreError
from agent_cli.llm.model import Cancel
from agent_cli.memory.conversations import callers
from agent_cli.memory.conversations.callers import Caller
from agent_cli.memory.lifecycle import closing
from agent_cli.serve.core import metrics
from agent_cli.serve.core.limits import ConnectionPool, KeyedLocks, ServerLimits, TokenBucket
from agent_cli.serve.core.metrics import Metrics
from agent_cli.serve.core.turn_queue import QueuedTurn, TurnQueue
from agent_cli.store.db import Database

T = TypeVar("T")

_READER_THREADS = 8  # that read the file at once
_POLL_SECONDS = 0.5  # seconds between two looks at whether a turn was cut
_KEY_LIFETIME = timedelta(days=7)  # how long a request is known by its key
_HEALTH_SECONDS = 5.0  # how long a look at the health counts
_JOB_STOP_SECONDS = 10.0  # seconds that a job has to stop


class ServerState:
    """Made on the main thread, used by the event loop; `app` is the person's, each caller has one of its own."""

    def __init__(self, app: App, limits: ServerLimits, *, jobs: bool = True):
        self.app, self.limits = app, limits
        app.db.person = "http"
        self.pool = ConnectionPool(app.db)
        self.metrics = Metrics()
        self.stopping = threading.Event()  # set from a signal handler: streams end by it
        self.streams: dict[int, int] = {}  # how many of events each caller has open
        self.key_locks = KeyedLocks()
        self.turns_by_key: dict[tuple[int, str], QueuedTurn] = {}  # those being made, by caller and key
        self._busy_sessions: set[int] = set()  # sessions in which a turn runs
        self._session_freed = threading.Condition()
        self._jobs = jobs
        self._apps: dict[Caller, App] = {}
        self._buckets: dict[int, TokenBucket] = {}
        self._worker: IdleWorker | None = None
        self._turns: TurnQueue | None = None
        self._limiter: anyio.CapacityLimiter | None = None
        self._health: dict[str, str] = {}
        self._health_at = -math.inf
        self._health_lock = asyncio.Lock()

    @property
    def turns(self) -> TurnQueue:
        """The queue of turns, made within the event loop that it belongs to."""
        if self._turns is None:
            self._turns = TurnQueue(self.limits, self._report_busy)
        return self._turns

    def open(self) -> None:
        """Put in order what an earlier process left behind, and begin with the jobs."""
        closing.close_abandoned(self.app.db, self.app.time)
        callers.prune(self.app.db, clock.utc(self.app.time() - _KEY_LIFETIME))
        if self._jobs:
            self._worker = IdleWorker(self._job_context, self.app.config.idle_seconds)

    async def close(self) -> None:
        """End the turns, then the jobs, then the conversations of callers, and let go of the file."""
        self.stopping.set()
        await self.turns.close()
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        if self._worker:
            self._worker.end(_JOB_STOP_SECONDS)
        with (
            suppress(AgentError),
            self.pool.connection() as db,
        ):  # what cannot be closed now is closed at the next start
            for session in callers.open_sessions(db):
                closing.close(db, session, self.app.time, actor="program")
        self.pool.close()

    def app_of(self, caller: Caller) -> App:
        """The app with this caller as owner of all it reads and writes.

        The folders, feeds and tool servers in the settings are the person's: a program with a memory of its own
        reaches none of them.
        """
        known = replace(caller, seen_at=None)
        if known not in self._apps:
            self._apps = {key: app for key, app in self._apps.items() if key.id != caller.id}
            self._apps[known] = _app_for(self.app, caller)
        return self._apps[known]

    def seconds_to_wait(self, caller: Caller) -> float:
        """Count a request of this caller; returns the seconds until the next is allowed, 0: now."""
        bucket = self._buckets.setdefault(caller.id, TokenBucket(self.limits.rate, self.limits.burst))
        return bucket.take()

    @contextmanager
    def exclusive_session(self, session: int, cancel: Cancel) -> Iterator[bool]:
        """Hold a session exclusively among the turns of this server; yields whether that was waited for.

        Raises Cancelled.
        """
        with self._session_freed:
            waited = session in self._busy_sessions
            while session in self._busy_sessions:
                self._session_freed.wait(_POLL_SECONDS)
                cancel.check()
            self._busy_sessions.add(session)
        try:
            yield waited
        finally:
            with self._session_freed:
                self._busy_sessions.discard(session)
                self._session_freed.notify_all()

    async def read(self, work: Callable[[Database], T]) -> T:
        """Run `work` with a connection on a thread, so that the event loop does not wait."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(_READER_THREADS)
        return await anyio.to_thread.run_sync(partial(self._with_connection, work), limiter=self._limiter)

    async def health(self) -> dict[str, str]:
        """What `metrics.look` found, at most a few seconds ago: whoever asks needs no token."""
        async with self._health_lock:
            if time.monotonic() - self._health_at > _HEALTH_SECONDS:
                self._health = await self.read(partial(metrics.look, self.app))
                self._health_at = time.monotonic()
        return self._health

    def caller_with_token(self, token: str) -> Caller | None:
        """The caller with this token; None where there is none."""
        with self.pool.connection() as db:
            caller = callers.by_token(db, token)
            if caller and caller.writes:
                with suppress(StoreError):  # a full disk or a long writer keeps nobody from reading
                    callers.record_visit(db, caller, self.app.time)
            return caller

    def is_still_admitted(self, db: Database, caller: Caller) -> bool:
        """Whether the caller still has the same token for the same memory."""
        now = callers.get(db, caller.name)
        return now.revoked_at is None and (now.owner, now.hash) == (caller.owner, caller.hash)

    def _with_connection(self, work: Callable[[Database], T]) -> T:
        with self.pool.connection() as db:
            return work(db)

    def _report_busy(self, busy: bool) -> None:
        if self._worker:
            self._worker.touch(busy=busy)

    def _job_context(self, cancel: Cancel) -> JobContext:
        return background.job_context(self.app, self.app.db.another_connection(), cancel)


def _app_for(app: App, caller: Caller) -> App:
    if caller.mine:
        if app.config.mcp:
            tool_set.servers(app)  # of tools: one set of them for all that may reach them, and none is started by this
        return replace(app, scope=caller.scope)
    settings = replace(app.config, folders=[], feeds={}, mcp={})
    return replace(app, scope=caller.scope, loaded=replace(app.loaded, config=settings), tool_servers=None)
