"""Turns in their order: so many at once, one at a time in a session, the others in line up to a limit.

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
from agent_cli.serve.core.keyed_locks import Lines
from agent_cli.serve.core.limits import Limits

Work = Callable[[Cancel], Iterator[JsonObject]]
"""Runs on the turn's thread; the last it gives is an event "end", or "cut" before it raises."""

_NEVER_BEGAN = "the turn did not begin in time, and nothing of it is kept: ask again later"


class Turn:
    """One turn, from its arrival to its end. All but `cancel` belongs to the event loop."""

    def __init__(self, work: Work, seconds: float, whose: Hashable):
        self.whose = whose
        self.cancel = Cancel()
        self.last: JsonObject | None = None  # its end, or what had arrived when it was cut
        self.waited = 0.0  # seconds in line
        self.began = False
        self.started = asyncio.Event()  # once there is something to tell, or it has ended
        self.answered = asyncio.Event()  # once the answer is whole, or it has ended: what is new is indexed after that
        self.ended = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self._told: asyncio.Queue[JsonObject | None] = asyncio.Queue()
        self._work, self._seconds = work, seconds
        self._late = False
        self._error: BaseException | None = None

    async def next(self) -> JsonObject | None:
        """What there is to tell, in order; None at the end."""
        return await self._told.get()

    def leave(self) -> None:
        """Nobody waits for it any more: what runs is cut, what waits in line never begins."""
        if self.began:
            threading.Thread(target=self.cancel, name="cancel", daemon=True).start()  # it may wait for a lock
        elif self.task:
            self.task.cancel()

    def give_up(self) -> None:
        """Its time is over."""
        self._late = True
        self.leave()

    def check(self) -> None:
        """Raises what ended it: Refused, or an error that is a bug."""
        error = self._error
        if isinstance(error, Cancelled) and self._late and self.began:
            error = TimedOut(f"no whole answer within {self._seconds:g} s; what arrived is kept")
        if isinstance(error, AgentError):
            raise refusals.of(error)
        if error is not None:
            raise error

    def end(self, error: BaseException | None = None) -> None:
        self._error = self._error or error
        self._told.put_nowait(None)
        for event in (self.started, self.answered, self.ended):
            event.set()

    async def run(self) -> None:
        """Carry it out on a thread; returns when that has ended, whatever is cancelled meanwhile."""
        self.began = True
        loop, over = asyncio.get_running_loop(), asyncio.Event()

        def hand_over(what: Callable[..., None], value: object) -> None:
            with suppress(RuntimeError):  # the loop is closed: the server was ended by force
                loop.call_soon_threadsafe(what, value)

        def work() -> None:
            error: BaseException | None = None
            try:
                for told in self._work(self.cancel):
                    hand_over(self._take, told)
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

    def _take(self, told: JsonObject) -> None:
        if told["type"] in ("end", "cut"):
            self.last = told
        if told["type"] != "cut":
            self._told.put_nowait(told)
            self.started.set()
        if told["type"] == "end":
            self.answered.set()


class Turns:
    """All that run or wait in line. `busy` is told when the first begins (true) and the last has ended."""

    def __init__(self, limits: Limits, busy: Callable[[bool], None]):
        self._limits, self._busy = limits, busy
        self._slots = asyncio.Semaphore(limits.turns)
        self._lines = Lines()
        self._turns: set[Turn] = set()
        self._closed = False
        self.running = self.waiting = 0

    def begin(self, work: Work, line: Hashable | None, whose: Hashable = None) -> Turn:
        """Have it carried out when it is its turn. `line`: of these one runs at a time. Raises Refused."""
        if self._closed:
            raise refusals.busy("the server is ending: ask again when it is back")
        if self.waiting >= self._limits.waiting:
            raise refusals.busy(f"{self.waiting} turns wait in line already: ask again later")
        if sum(each.whose == whose and not each.began for each in self._turns) >= self._limits.each:
            raise refusals.busy(f"{self._limits.each} turns of yours wait in line already: ask again later")
        turn = Turn(work, self._limits.seconds, whose)
        self.waiting += 1
        self._turns.add(turn)
        turn.task = asyncio.create_task(self._carry(turn, line))
        return turn

    async def close(self) -> None:
        """Begin no more; let those that run end, and cut what has not ended in time."""
        self._closed = True
        for turn in self._turns:
            if not turn.began:
                turn.leave()
        for seconds in (self._limits.grace, self._limits.grace):
            if tasks := [turn.task for turn in self._turns if turn.task]:
                await asyncio.wait(tasks, timeout=seconds)
            for turn in self._turns:
                turn.leave()

    async def _carry(self, turn: Turn, line: Hashable | None) -> None:
        timer = asyncio.get_running_loop().call_later(self._limits.seconds, turn.give_up)
        error: BaseException | None = None
        arrived = time.monotonic()
        try:
            async with self._lines.of(line), self._slots:
                turn.waited = time.monotonic() - arrived
                self._count(-1, 1)
                try:
                    await turn.run()
                finally:
                    self._count(0, -1)
        except asyncio.CancelledError:
            error = refusals.busy(_NEVER_BEGAN)
        finally:
            if not turn.began:
                self._count(-1, 0)
            timer.cancel()
            self._turns.discard(turn)
            turn.end(error)

    def _count(self, waiting: int, running: int) -> None:
        before, self.running = self.running, self.running + running
        self.waiting += waiting
        if bool(before) != bool(self.running):
            self._busy(bool(self.running))
