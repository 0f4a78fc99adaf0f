"""Which models are loaded, with what context, and whose turn it is.

One request at a time per model, in the order of arrival; the others wait without a byte being sent. A request for
another context length than the loaded one reloads the model, which on a real machine is the most expensive mistake a
client can make, so it is counted. Hanging up during a load throws the load away.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Condition

from tests.ollama_server.exchange import LOOK, Wire
from tests.ollama_server.record import Counters
from tests.ollama_server.registry import Model


@dataclass
class Slot:
    """The place of one model. num_ctx is None while it is not loaded."""

    num_ctx: int | None = None
    queue: list[object] = field(default_factory=list)  # who waits, in order; the first of them runs


class Scheduler:
    def __init__(self, counters: Counters, changed: Condition):
        self._counters = counters
        self._changed = changed
        self._slots: dict[str, Slot] = {}

    @contextmanager
    def running(self, model: Model, num_ctx: int, wire: Wire) -> Iterator[bool]:
        """Hold the model, loaded so. Gives whether it had to be loaded; raises Gone while waiting."""
        ticket = object()
        with self._changed:
            slot = self._slots.setdefault(model.full_name, Slot())
            slot.queue.append(ticket)
        try:
            self._wait_for_turn(slot, ticket, wire)
            fresh = self._load(model, slot, num_ctx, wire)
            self._count(+1)
            try:
                yield fresh
            finally:
                self._count(-1)
        finally:
            with self._changed:
                slot.queue.remove(ticket)
                self._changed.notify_all()

    def loaded(self) -> dict[str, int]:
        """The context of what is in memory, by full name."""
        with self._changed:
            return {name: slot.num_ctx for name, slot in self._slots.items() if slot.num_ctx is not None}

    def _wait_for_turn(self, slot: Slot, ticket: object, wire: Wire) -> None:
        with self._changed:
            self._counters.waiting += 1
            self._changed.notify_all()
            try:
                while slot.queue[0] is not ticket:
                    self._changed.wait(LOOK)
                    wire.look()
            finally:
                self._counters.waiting -= 1

    def _load(self, model: Model, slot: Slot, num_ctx: int, wire: Wire) -> bool:
        with self._changed:
            if slot.num_ctx == num_ctx:
                return False
            self._counters.reloads += slot.num_ctx is not None
            slot.num_ctx = None
        wire.wait(model.load_delay)
        with self._changed:
            slot.num_ctx = num_ctx
            self._counters.loads[model.full_name] += 1
            self._changed.notify_all()
        return True

    def _count(self, change: int) -> None:
        with self._changed:
            self._counters.running += change
            self._counters.peak = max(self._counters.peak, self._counters.running)
            self._changed.notify_all()
