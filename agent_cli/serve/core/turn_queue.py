"""The queue of turns: a limited number run at once, one at a time in a session; the others wait, up to a limit.

The event loop only waits: a turn runs on a thread of its own, with a connection of its own, and hands over what there
is to tell. It has ended for good before its place is free, also when nobody waits for it any more: what arrived is
kept.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress

from agent_cli.agent.transcript import JsonObject
from agent_cli.errors import AgentError, Cancelled, TimedOut
from agent_cli.llm.model import Cancel
from agent_cli.serve.core import refusals
from agent_cli.serve.core.limits import KeyedLocks, ServerLimits

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
            raise refusals.from_error(error)
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
            raise refusals.busy("the server is stopping: ask again when it runs again")
        if self.waiting >= self._limits.waiting:
            raise refusals.busy(f"{self.waiting} turns wait in line already: ask again later")
        if (
            sum(each.caller_id == caller_id and not each.began for each in self._turns)
            >= self._limits.waiting_per_caller
        ):
            raise refusals.busy(
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
            error = refusals.busy(_NEVER_BEGAN)
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
