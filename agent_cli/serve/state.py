"""What one server works with: the app, its connections, its limits, the turns that run, and the jobs between.

A limited number of turns runs at once, one at a time in a session; the others wait, up to a limit. The event loop only
waits: a turn runs on a thread of its own, with a connection of its own, and hands over what there is to tell. It has
ended for good before its place is free, also when nobody waits for it any more: what arrived is kept.
"""

import asyncio
import math
import threading
import time
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from queue import Empty, LifoQueue
from typing import TypeVar

import anyio.to_thread

from agent_cli import clock
from agent_cli.agent.jobs.idle_worker import IdleWorker
from agent_cli.agent.jobs.job_context import JobContext
from agent_cli.agent.transcript import JsonObject
from agent_cli.app import background, tool_set
from agent_cli.app.app import App
from agent_cli.errors import AgentError, Cancelled, StoreError, TimedOut
from agent_cli.llm.model import Cancel
from agent_cli.memory.conversations import callers
from agent_cli.memory.conversations.callers import Caller
from agent_cli.memory.lifecycle import closing
from agent_cli.serve import metrics, responses
from agent_cli.serve.metrics import Metrics
from agent_cli.store.db import Database
from agent_cli.values import frozen


class KeyedLocks:
    """Locks by key: of those that hold the same key one goes at a time, in the order in which they came."""

    def __init__(self) -> None:
        self._locks: dict[Hashable, _CountedLock] = {}

    def waiting(self, key: Hashable) -> int:
        """How many wait for this key, including the one that holds it."""
        return self._locks[key].users if key in self._locks else 0

    @asynccontextmanager
    async def hold(self, key: Hashable | None) -> AsyncIterator[None]:
        """Hold the lock of this key; None is no lock."""
        if key is None:
            yield
            return
        counted = self._locks.setdefault(key, _CountedLock())
        counted.users += 1
        try:
            async with counted.lock:
                yield
        finally:
            counted.users -= 1
            if not counted.users:
                del self._locks[key]


class _CountedLock:
    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.users = 0


_MAX_IDLE = 8


class ConnectionPool:
    """Connections to the file for threads that come and go; each is used by one thread at a time."""

    def __init__(self, db: Database):
        self._db = db
        self._free: LifoQueue[Database] = LifoQueue()

    @contextmanager
    def connection(self) -> Iterator[Database]:
        try:
            db = self._free.get_nowait()
        except Empty:
            db = self._db.another_connection()
        try:
            yield db
        finally:
            if self._free.qsize() < _MAX_IDLE and not db.in_transaction:
                self._free.put(db)
            else:
                db.close()

    def close(self) -> None:
        while not self._free.empty():
            self._free.get_nowait().close()


@frozen
class ServerLimits:
    body_bytes: int = 1_000_000  # bytes of a request
    read_seconds: float = 30.0  # seconds in which all of it must have come
    rate: float = 10.0  # requests a second of one caller, in the long run
    burst: int = 100  # and so many at once
    turns: int = 4  # that run at once
    waiting: int = 100  # that wait for their turn
    waiting_per_caller: int = 50  # and of these of one caller
    turn_seconds: float = 600.0  # of a turn, its waiting included
    connections: int = 500  # that are open at once, with a token or without
    streams: int = 4  # of events, of one caller
    grace_seconds: float = 10.0  # seconds that running turns have when the server ends


class TokenBucket:
    """A bucket that fills with tokens at a steady rate; each request takes one out."""

    def __init__(self, rate: float, size: int, now: Callable[[], float] = time.monotonic):
        self._rate, self._size, self._now = rate, size, now
        self._level, self._at = float(size), now()

    def take(self) -> float:
        """Take one; returns 0, or after how many seconds there will be one."""
        now = self._now()
        self._level = min(self._size, self._level + (now - self._at) * self._rate)
        self._at = now
        if self._level < 1:
            return (1 - self._level) / self._rate
        self._level -= 1
        return 0.0


TurnWork = Callable[[Cancel], Iterator[JsonObject]]
"""Runs on the turn's thread; the last it gives is an event "end", or "cut" before it raises."""

_CUT_SECONDS = 2.0  # that a turn has to end once its time is over
_NEVER_BEGAN = "the turn did not begin in time, and nothing of it is kept: ask again later"


class QueuedTurn:
    """One turn, from its arrival to its end. All but `cancel` belongs to the event loop."""

    def __init__(self, work: TurnWork, seconds: float, caller_id: Hashable):
        self.caller_id = caller_id
        self.cancel = Cancel()
        self.outcome: JsonObject | None = None  # its end, or what had arrived when it was cut
        self.waited = 0.0  # seconds in line
        self.began = False
        self.started = asyncio.Event()  # once there is something to tell, or it has ended
        self.answered = asyncio.Event()  # once the answer is whole, or it has ended: what is new is indexed after that
        self.ended = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self._events: asyncio.Queue[JsonObject | None] = asyncio.Queue()
        self._work, self._seconds = work, seconds
        self._timed_out = self._given_up = False
        self._error: BaseException | None = None

    async def next_event(self) -> JsonObject | None:
        """The next event; None at the end."""
        return await self._events.get()

    def abandon(self) -> None:
        """Cut the turn if it runs; if it still waits, it never begins."""
        if self.began:
            threading.Thread(target=self.cancel, name="cancel", daemon=True).start()  # it may wait for a lock
        elif self.task:
            self.task.cancel()

    def time_out(self) -> None:
        """Abandon the turn because its time is over. Its caller waits no longer, though its thread may, for a lock."""
        self._timed_out = True
        self.abandon()
        if self.began:
            asyncio.get_running_loop().call_later(_CUT_SECONDS, self._give_up)

    def raise_error(self) -> None:
        """Raise what ended the turn: Refused, or an error that is a bug."""
        error = self._error
        if self._given_up or (isinstance(error, Cancelled) and self._timed_out and self.began):
            error = TimedOut(f"no whole answer within {self._seconds:g} s; what arrived is kept")
        if isinstance(error, AgentError):
            raise responses.from_error(error)
        if error is not None:
            raise error

    def finish(self, error: BaseException | None = None) -> None:
        self._error = self._error or error
        self.ended.set()
        self._release_caller()

    def _give_up(self) -> None:
        if not self.answered.is_set():
            self._given_up = True
            self._release_caller()

    def _release_caller(self) -> None:
        self._events.put_nowait(None)
        self.started.set()
        self.answered.set()

    async def run(self) -> None:
        """Run the work on a thread; returns when that has ended, whatever is cancelled meanwhile."""
        self.began = True
        loop, over = asyncio.get_running_loop(), asyncio.Event()

        def hand_over(what: Callable[..., None], value: object) -> None:
            with suppress(RuntimeError):  # the loop is closed: the server was ended by force
                loop.call_soon_threadsafe(what, value)

        def work() -> None:
            error: BaseException | None = None
            try:
                for event in self._work(self.cancel):
                    hand_over(self._receive, event)
            except BaseException as raised:  # a thread has nobody above it
                error = raised
            hand_over(finish, error)

        def finish(error: BaseException | None) -> None:
            self._error = error
            over.set()

        threading.Thread(target=work, name="turn", daemon=True).start()
        while not over.is_set():
            with suppress(asyncio.CancelledError):  # its thread runs on, and so its place is taken
                await over.wait()

    def _receive(self, event: JsonObject) -> None:
        if event["type"] in ("end", "cut"):
            self.outcome = event
        if event["type"] != "cut":
            self._events.put_nowait(event)
            self.started.set()
        if event["type"] == "end":
            self.answered.set()


class TurnQueue:
    """All turns that run or wait. `busy` is called with True when the first begins, with False after the last."""

    def __init__(self, limits: ServerLimits, busy: Callable[[bool], None]):
        self._limits, self._busy = limits, busy
        self._slots = asyncio.Semaphore(limits.turns)
        self._locks = KeyedLocks()
        self._turns: set[QueuedTurn] = set()
        self._closed = False
        self.running = self.waiting = 0

    def begin(self, work: TurnWork, lock_key: Hashable | None, caller_id: Hashable = None) -> QueuedTurn:
        """Enqueue a turn. Of those with the same `lock_key` one runs at a time. Raises Refused."""
        if self._closed:
            raise responses.busy("the server is stopping: ask again when it runs again")
        if self.waiting >= self._limits.waiting:
            raise responses.busy(f"{self.waiting} turns wait in line already: ask again later")
        if (
            sum(each.caller_id == caller_id and not each.began for each in self._turns)
            >= self._limits.waiting_per_caller
        ):
            raise responses.busy(
                f"{self._limits.waiting_per_caller} turns of yours wait in line already: ask again later"
            )
        turn = QueuedTurn(work, self._limits.turn_seconds, caller_id)
        self.waiting += 1
        self._turns.add(turn)
        turn.task = asyncio.create_task(self._run_in_order(turn, lock_key))
        return turn

    async def close(self) -> None:
        """Accept no more turns; let those that run end, and cut those that have not ended in time."""
        self._closed = True
        for turn in self._turns:
            if not turn.began:
                turn.abandon()
        for seconds in (self._limits.grace_seconds, self._limits.grace_seconds):
            if tasks := [turn.task for turn in self._turns if turn.task]:
                await asyncio.wait(tasks, timeout=seconds)
            for turn in self._turns:
                turn.abandon()

    async def _run_in_order(self, turn: QueuedTurn, lock_key: Hashable | None) -> None:
        timer = asyncio.get_running_loop().call_later(self._limits.turn_seconds, turn.time_out)
        error: BaseException | None = None
        arrived = time.monotonic()
        try:
            async with self._locks.hold(lock_key), self._slots:
                turn.waited = time.monotonic() - arrived
                self._update_counts(-1, 1)
                try:
                    await turn.run()
                finally:
                    self._update_counts(0, -1)
        except asyncio.CancelledError:
            error = responses.busy(_NEVER_BEGAN)
        finally:
            if not turn.began:
                self._update_counts(-1, 0)
            timer.cancel()
            self._turns.discard(turn)
            turn.finish(error)

    def _update_counts(self, waiting: int, running: int) -> None:
        before, self.running = self.running, self.running + running
        self.waiting += waiting
        if bool(before) != bool(self.running):
            self._busy(bool(self.running))


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
