"""What one server works with: the app, its connections, its limits, the turns that run, the jobs between, its figures.
A limited number of turns runs at once, one at a time in a session; the others wait, up to a limit. A turn runs on a
thread of its own, with a connection of its own. It has ended for good before its place is free, also when nobody waits
for it any more: what arrived is kept.

The figures (Prometheus' text format 0.0.4) are counted from the log, so a restart loses none. A caller sees its own;
one that was granted the person's memory sees all. No label holds a word that a model or a client made up.
"""

import asyncio
import os
import shutil
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Iterator, Mapping, Sequence
from contextlib import closing as closed_after
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from starlette.requests import Request
from starlette.types import Receive

from agent_cli.agent.events import JsonObject, Noticed, QuestionLogged, Transcript, TurnEnded
from agent_cli.agent.loop import Question
from agent_cli.app import background, turns, upkeep
from agent_cli.app.app import App
from agent_cli.errors import AgentError, Cancelled, StoreError, TimedOut, UsageError
from agent_cli.llm.model import Cancel
from agent_cli.memory.conversations import callers, log, sessions
from agent_cli.memory.lifecycle import closing
from agent_cli.memory.planner import tasks
from agent_cli.memory.reports import records
from agent_cli.memory.scope import Scope
from agent_cli.messages import Part
from agent_cli.serve import responses
from agent_cli.store import events, ids, jobs
from agent_cli.store.db import Database
from agent_cli.tools import registry
from agent_cli.tools.tool import ToolContext
from agent_cli.values import frozen


@frozen
class ServerLimits:
    body_bytes: int = 1_000_000  # bytes of a request
    read_seconds: float = 30.0  # seconds in which all of it must have come
    turns: int = 4  # that run at once
    waiting: int = 100  # that wait for their turn
    waiting_per_caller: int = 50  # and of these of one caller
    turn_seconds: float = 600.0  # of a turn, its waiting included
    connections: int = 100  # that are open at once, with a token or without; every system allows so many files
    grace_seconds: float = 10.0  # seconds that running turns have when the server ends


_METRICS = {
    "agent_turns_total": ("counter", "Turns, by how they ended."),
    "agent_tokens_in_total": ("counter", "Tokens that the model read."),
    "agent_tokens_out_total": ("counter", "Tokens that the model wrote."),
    "agent_tool_calls_total": ("counter", "Calls of tools, by name and by what was decided of them."),
    "agent_turns_running": ("gauge", "Turns that run now."),
    "agent_turns_waiting": ("gauge", "Turns that wait in line now."),
    "agent_jobs": ("gauge", "Jobs in the queue of the file, by state."),
}


def metrics(db: Database, caller: callers.Caller, gauges: Mapping[str, int]) -> str:
    """The figures that this caller may see, as text."""
    counts: Counter[tuple[str, str]] = Counter()  # by name and labels, in the order they came
    for kind, subject, name, tokens_in, tokens_out in records.callers_events(db):
        if not (caller.mine or caller.name == name):
            continue
        (what, _, how), of = kind.partition(" "), f'caller="{name}"'
        if what == "call":
            tool, ruling = subject if subject in registry.BUILT_IN else "other", how.partition(" ")[0]
            counts["agent_tool_calls_total", f'{of},ruling="{ruling}",tool="{tool}"'] += 1
        elif what == "turn" or how not in ("with calls", "cancelled", "interrupted"):  # else the turn tells how
            counts["agent_turns_total", f'{of},finish="{how or "stop"}"'] += 1
        if what == "reply":
            counts["agent_tokens_in_total", of] += tokens_in
            counts["agent_tokens_out_total", of] += tokens_out
    samples = [(name, f"{{{labels}}} {value}") for (name, labels), value in counts.items()]
    if caller.mine:
        samples += [(name, f" {value}") for name, value in gauges.items()]
        queued = jobs.count_by_state(db).items()
        samples += [("agent_jobs", f'{{state="{state}"}} {many}') for state, many in queued]
    lines: list[str] = []
    for metric, (kind, help) in _METRICS.items():
        if found := [f"{name}{sample}" for name, sample in samples if name == metric]:
            lines += [f"# HELP {metric} {help}", f"# TYPE {metric} {kind}", *found]
    return "".join(f"{line}\n" for line in lines)


TurnWork = Callable[["Turn"], Iterator[JsonObject]]
"""Runs on the turn's thread; the last it gives is an event "end", or "cut" before it raises."""

_NEVER_BEGAN = "the turn did not begin in time, and nothing of it is kept: ask again later"
T = TypeVar("T")


class Turn:
    """The turn of one request, from its arrival to its end. All but `cancel` and `claim` belongs to the event loop."""

    task: asyncio.Task[None]
    claim: Callable[[Hashable], bool]  # let those with this key wait too; False where another turn has it

    def __init__(self, work: TurnWork, caller_id: int, receive: Receive, seconds: float):
        self.caller_id = caller_id
        self.cancel = Cancel()
        self.began = False
        self._answered = False  # the answer is whole, or there will be none
        self._outcome: JsonObject = {}  # its end, or what had arrived when it was cut
        self._events: asyncio.Queue[JsonObject | None] = asyncio.Queue()  # None: it has ended
        self._work, self._receive, self._seconds = work, receive, seconds
        self._timed_out = False
        self._error: BaseException | None = None

    async def answer(self) -> JsonObject:

        async def end() -> None:
            while (await self._next_event())["type"] != "end":
                pass

        await self._unless_gone(end())
        return response_body(self._outcome)

    async def first_event(self) -> JsonObject:
        """The first event, waited for so that a turn that cannot begin gets its own status. Raises Refused."""
        return await self._unless_gone(self._next_event())

    async def remaining_events(self) -> AsyncIterator[JsonObject | None]:
        """The events after the first, None after each silence of a heartbeat; an error event ends a failed turn."""
        while True:
            try:
                async with asyncio.timeout(responses.HEARTBEAT_SECONDS):
                    event = await self._next_event()
            except TimeoutError:
                yield None
                continue
            except responses.Refused as refused:
                yield {"type": "error", **refused.body}
                return
            yield event
            if event["type"] == "end":
                return

    def leave(self) -> None:
        """Called when the caller reads no more."""
        if not self._answered:
            self.abandon()

    def abandon(self) -> None:
        """Cut the turn if it runs; if it still waits, it never begins."""
        if self.began:
            threading.Thread(target=self.cancel, name="cancel", daemon=True).start()  # it may wait for a lock
        else:
            self.task.cancel()

    def time_out(self) -> None:
        """Abandon the turn because its time is over."""
        self._timed_out = True
        self.abandon()

    def finish(self, error: BaseException | None = None) -> None:
        self._error = self._error or error
        self._events.put_nowait(None)
        self._answered = True

    async def run(self) -> None:
        """Run the work on a thread; returns when that has ended, whatever is cancelled meanwhile."""
        self.began = True
        loop, over = asyncio.get_running_loop(), asyncio.Event()

        def hand_over(what: Callable[..., None], *values: object) -> None:
            with suppress(RuntimeError):  # the loop is closed: the server was ended by force
                loop.call_soon_threadsafe(what, *values)

        def work() -> None:
            try:
                for event in self._work(self):
                    hand_over(self._take, event)
            except BaseException as raised:  # a thread has nobody above it
                self._error = raised
            hand_over(over.set)

        threading.Thread(target=work, name="turn", daemon=True).start()
        while not over.is_set():
            with suppress(asyncio.CancelledError):  # its thread runs on, and so its place is taken
                await over.wait()

    def _take(self, event: JsonObject) -> None:
        if event["type"] in ("end", "cut"):
            self._outcome = event
        if event["type"] != "cut":
            self._events.put_nowait(event)
        self._answered = self._answered or event["type"] == "end"

    async def _unless_gone(self, ready: Coroutine[Any, Any, T]) -> T:
        """Wait for something. Raises Refused where the caller disconnects first."""

        async def disconnection() -> None:
            while (await self._receive())["type"] != "http.disconnect":
                pass

        waiting, disconnected = asyncio.ensure_future(ready), asyncio.ensure_future(disconnection())
        try:
            await asyncio.wait((waiting, disconnected), return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                return waiting.result()
        finally:
            waiting.cancel()
            disconnected.cancel()
        self.leave()
        raise responses.Refused(499, "gone", "the caller has disconnected")  # nobody reads it

    async def _next_event(self) -> JsonObject:
        """Raises what ended the turn: Refused, or an error that is a bug."""
        if event := await self._events.get():
            return event
        error = self._error
        if self._timed_out and self.began and isinstance(error, Cancelled | None):
            error = TimedOut(f"no whole answer within {self._seconds:g} s; what arrived is kept")
        if isinstance(error, AgentError):
            error = responses.from_error(error)
        if error is None:
            error = responses.busy("the turn ended without an answer: ask again")
        if isinstance(error, responses.Refused):
            error.partial_answer = response_body(self._outcome)
        raise error


def response_body(event: JsonObject) -> JsonObject:
    """A whole answer as a response body: without the fields for streams."""
    return {key: value for key, value in event.items() if key not in ("type", "schema")}


class TurnQueue:
    """All turns that run or wait, with one lock for each session: it gets its keys before the turn begins or while it
    runs. `busy` is called with True when one begins, and at its end with whether others run."""

    def __init__(self, limits: ServerLimits, busy: Callable[[bool], None]):
        self._limits, self._busy = limits, busy
        self._slots = asyncio.Semaphore(limits.turns)
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()  # those held or waited for
        self._choosing = threading.Lock()
        self._turns: set[Turn] = set()  # copied where any thread may look
        self._closed = False

    @property
    def running(self) -> int:
        return sum(turn.began for turn in [*self._turns])

    @property
    def waiting(self) -> int:
        return sum(not turn.began for turn in [*self._turns])

    def begin(self, turn: Turn, lock_key: Hashable | None) -> None:
        """Enqueue a turn. Of those with the same `lock_key` one runs at a time. Raises Refused."""
        if self._closed:
            raise responses.busy("the server is stopping: ask again when it runs again")
        if self.waiting >= self._limits.waiting:
            raise responses.busy(f"{self.waiting} turns wait in line already: ask again later")
        limit = self._limits.waiting_per_caller
        if sum(each.caller_id == turn.caller_id and not each.began for each in self._turns) >= limit:
            raise responses.busy(f"{limit} turns of yours wait in line already: ask again later")
        lock = asyncio.Lock() if lock_key is None else self._lock_of(lock_key, asyncio.Lock())
        turn.claim = lambda key: self._lock_of(key, lock) is lock
        self._turns.add(turn)
        turn.task = asyncio.create_task(self._run_in_order(turn, lock))

    def _lock_of(self, key: Hashable, new: asyncio.Lock) -> asyncio.Lock:
        with self._choosing:
            return self._locks.setdefault(key, new)

    async def close(self) -> None:
        """Accept no more turns; let those that run end, and cut those that have not ended in time."""
        self._closed = True
        for turn in self._turns:
            if not turn.began:
                turn.abandon()
        for _ in range(2):
            if self._turns:
                await asyncio.wait([turn.task for turn in self._turns], timeout=self._limits.grace_seconds)
            for turn in self._turns:
                turn.abandon()

    async def _run_in_order(self, turn: Turn, lock: asyncio.Lock) -> None:
        timer = asyncio.get_running_loop().call_later(self._limits.turn_seconds, turn.time_out)
        error: BaseException | None = None
        try:
            async with lock, self._slots:
                self._busy(True)
                await turn.run()
        except asyncio.CancelledError:
            error = responses.busy(_NEVER_BEGAN)
        finally:
            timer.cancel()
            self._turns.discard(turn)
            self._busy(self.running > 0)
            turn.finish(error)


OK = "ok"
_ROOM = 50_000_000  # bytes that must be free for the work of a day
_JOB_STOP_SECONDS = 10.0  # seconds that a job has to stop
_REMIND_SECONDS = 1.0  # between two looks for tasks of callers that fall due


OpenSession = Callable[[Database, App], tuple[int, Sequence[Part]]]
"""Called when the turn begins: opens or resumes a session; returns its number and the message. Raises Refused."""

OnAnswer = Callable[[Database, App, int, int, str], None]
"""Is called with the session, its last message and the answer, before the caller gets this."""


@frozen
class TurnRequest:
    caller: callers.Caller
    open_session: OpenSession
    on_answer: OnAnswer | None = None
    instructions: str = ""  # for this run
    streamed: bool = False  # whether it is given word by word, with what turns out to have been thinking


class ServerState:
    """Made on the main thread, used by the event loop; `app` is the person's, each caller has one of its own."""

    def __init__(self, app: App, limits: ServerLimits):
        self.app, self.limits = app, limits
        app.db.person = "http"
        self.turns = TurnQueue(limits, lambda busy: self._worker.touch(busy=busy))
        self.stopping = threading.Event()  # streams end by it
        self._apps: dict[tuple[Scope, bool], App] = {}
        self._worker: background.IdleWorker  # from `open` on
        self._one_look = asyncio.Lock()
        self._reminding = threading.Thread(target=self._remind_callers, name="reminders of callers", daemon=True)

    def open(self) -> None:
        """Put in order what an earlier process left behind, and begin with the jobs."""
        closing.close_abandoned(self.app.db, self.app.time)
        connect = self.app.db.another_connection
        self._worker = background.IdleWorker(
            lambda cancel: background.job_context(self.app, connect(), cancel), self.app.config.idle_seconds
        )
        self._reminding.start()

    def _remind_callers(self) -> None:
        """Mark the tasks of callers with a memory of their own that fall due, which is an event of theirs."""
        interval = timedelta(minutes=self.app.config.remind_again)
        while not self.stopping.wait(_REMIND_SECONDS):
            with suppress(StoreError), self.app.db.another_connection() as db:  # a busy file: the next look will do
                for owner in {each.owner for each in callers.listing(db) if not (each.mine or each.revoked_at)}:
                    tasks.claim_due(db, owner, self.app.time, interval)

    async def close(self) -> None:
        """End the turns, then the jobs, then the conversations of callers, and let go of the file."""

        def end() -> None:
            self._worker.end(_JOB_STOP_SECONDS)
            self._reminding.join()
            with suppress(AgentError), self.app.db.another_connection() as db:  # the next start closes what is left
                for session in callers.open_sessions(db):
                    closing.close(db, session, self.app.time, actor="program")

        self.stopping.set()
        await self.turns.close()
        await asyncio.to_thread(end)

    def app_of(self, caller: callers.Caller) -> App:
        """The app with this caller as owner. The folders, feeds and tool servers in the settings are the person's: a
        program with a memory of its own reaches none of them."""
        key = caller.scope, caller.mine
        if key not in self._apps:
            if caller.mine:
                if self.app.config.mcp:
                    turns.servers(self.app)  # of tools: one set of them for all that may reach them, none started here
                self._apps[key] = replace(self.app, scope=caller.scope)
            else:
                loaded = replace(self.app.loaded, config=replace(self.app.config, folders=[], feeds={}, mcp={}))
                self._apps[key] = replace(self.app, scope=caller.scope, loaded=loaded, tool_servers=None)
        return self._apps[key]

    def begin(self, request: Request, turn_request: TurnRequest, session: str | None) -> Turn:
        """Put a turn in the queue. `session`: a name known before it begins. Raises Refused."""
        caller = turn_request.caller
        work = partial(_run_logged if caller.writes else _run_unlogged, self, turn_request)
        turn = Turn(work, caller.id, request.receive, self.limits.turn_seconds)
        self.turns.begin(turn, _lock_key(caller, session) if session else None)
        return turn

    async def read(self, work: Callable[[Database], T]) -> T:
        """Run `work` with a connection on a thread, so that the event loop does not wait."""

        def run() -> T:
            with self.app.db.another_connection() as db:
                return work(db)

        return await asyncio.to_thread(run)

    async def health(self) -> dict[str, str]:
        """What is found of each part: "ok", or a sentence without paths and addresses."""
        async with self._one_look:  # whoever asks needs no token
            return await self.read(partial(_look, self.app))


def _look(app: App, db: Database) -> dict[str, str]:
    found = dict.fromkeys(("database", "disk", "model"), OK)
    try:
        sessions.latest(db, app.scope.owner)
    except AgentError:
        found["database"] = "it cannot be read: `agent db check` says more"
    else:
        if not (db.in_memory or os.access(db.path, os.W_OK)):
            found["database"] = "it cannot be written"
    free = shutil.disk_usage(Path(db.path).parent).free if not db.in_memory else _ROOM
    if free < _ROOM:
        found["disk"] = f"{free // 1_000_000} MB are free"
    if app.config.model != "offline" and not app.config.model.startswith("scripted:"):
        try:
            app.engine.listing()
        except AgentError:
            found["model"] = "no model server answers"
    return found


# The turn of a request: that of `agent ask`, read as events. Nobody is at a keyboard: what needs asking is denied, and
# nothing that comes in is ever accepted as a fact. A caller that only reads is answered by a conversation that is kept
# nowhere.


def _lock_key(caller: callers.Caller, session: str) -> Hashable:
    """What turns wait for: a session of this owner, or the wait would tell when another is answered."""
    return caller.owner, session


def resume_session(db: Database, app: App, handle: str) -> int:
    """The number of a session that is open to this caller and to nobody else now. Raises Refused."""
    try:
        session = sessions.get(db, ids.number("session", handle), app.scope.owner)
    except UsageError:
        session = None
    if session is None or session.hidden_at:
        raise responses.Refused(404, "no_session", f"there is no session {handle}: leave it out to begin a new one")
    if sessions.is_open_elsewhere(db, session.id):
        raise responses.Refused(
            409, "in_use", f"{handle} is open elsewhere on that machine: close it there, or begin a new one"
        )
    return sessions.reopen(db, session.id, app.scope.owner, app.time()).id


def _run_logged(state: ServerState, request: TurnRequest, queued: Turn) -> Iterator[JsonObject]:
    app = state.app_of(request.caller)
    with state.app.db.another_connection() as db:
        reminders: list[tasks.Reminder] = []
        if not request.caller.mine:  # those of its own tasks that came up since its last message
            last = sessions.latest(db, app.scope.owner)
            asked = log.nth_last(db, last.id, "user", 1) if last else None
            reminders = tasks.reminded_since(db, app.scope.owner, asked.at if asked else "", app.time())
        session, parts = request.open_session(db, app)
        if not queued.claim(_lock_key(request.caller, ids.handle("session", session))):
            raise responses.busy("another message of this conversation came first: ask again")
        try:
            yield from _run(app, request, turns.tool_context(app, db, session), parts, queued.cancel, reminders)
            upkeep.after_turn(app, db)
        finally:
            sessions.release(db, session)


def _run_unlogged(state: ServerState, request: TurnRequest, queued: Turn) -> Iterator[JsonObject]:
    app = state.app_of(request.caller).incognito(reads=True)
    with app.db:
        session, parts = request.open_session(app.db, app)
        context = turns.tool_context(app, app.db, session)
        with context.remembered:  # the file, where there is one to read
            yield from _run(app, request, context, parts, queued.cancel)


def _run(
    app: App,
    request: TurnRequest,
    context: ToolContext,
    parts: Sequence[Part],
    cancel: Cancel,
    reminders: Sequence[tasks.Reminder] = (),
) -> Iterator[JsonObject]:
    """The events of a turn as JSON objects; when it is cut, first what had arrived."""
    transcript, caller = Transcript(context, scores=request.caller.mine), request.caller
    review = "agent facts review" if caller.mine else f"agent --as {caller.name} facts review"
    try:
        question = Question(context, parts, cancel=cancel, instructions=request.instructions)
        with closed_after(turns.run_sent(app, question, "http", review)) as arriving:
            for event in arriving:
                objects = transcript.take(event)
                if isinstance(event, TurnEnded) and request.on_answer and app.keeps:
                    last = log.last_message(context.db, context.session)
                    answer = transcript.streamed if request.streamed else transcript.clean_answer
                    request.on_answer(context.db, app, context.session, last, answer)
                yield from objects
                if isinstance(event, QuestionLogged) and app.keeps:
                    for reminder in reminders:
                        yield from transcript.take(Noticed(tasks.format_reminder(reminder, app.time())))
    except Exception:
        finish = "cancelled" if cancel else "failed"
        with suppress(StoreError):
            events.append(context.db, app.time, f"turn {finish}", "", actor="program", session=context.session)
        yield {"type": "cut", **transcript.as_object(finish)}
        raise
