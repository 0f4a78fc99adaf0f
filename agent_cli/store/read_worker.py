"""A worker thread, perhaps with a resource of its own: a connection to read with.

SQLite releases Python's lock while it searches, so that searches on two connections use two cores. An executor of
`concurrent.futures` would not close its connections, its import takes 3 to 7 ms, and each use 0.1 ms more.
"""

import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Generic, NoReturn, Protocol, TypeVar


class Closeable(Protocol):
    def close(self) -> None: ...


C = TypeVar("C", bound=Closeable | None)
T = TypeVar("T")


class Pending(Generic[T]):
    """The result of some work, perhaps on another thread: a call waits for it, or raises what it raised."""

    def __init__(self, wait: Callable[[], T], is_ready: Callable[[], bool] = lambda: True):
        self._wait = wait
        self.is_ready = is_ready  # whether a call gives it at once, or nearly so

    def __call__(self) -> T:
        return self._wait()


class ReadWorker(Generic[C]):
    """Runs submitted functions one after the other on a thread that opens the resource when it is first needed."""

    def __init__(self, open_resource: Callable[[], C]):
        self._open_resource = open_resource
        self._steps: SimpleQueue[Callable[[C | None], C | None] | None] = SimpleQueue()
        self._is_working = False
        self._thread = threading.Thread(target=self._run, name="read worker", daemon=True)
        self._thread.start()

    @property
    def is_idle(self) -> bool:
        """Whether work that is submitted now begins at once."""
        return self._steps.empty() and not self._is_working

    def submit(self, work: Callable[[C], T]) -> Pending[T]:
        """Begin some work."""
        outcome: SimpleQueue[Callable[[], T]] = SimpleQueue()

        def step(resource: C | None) -> C | None:
            try:
                resource = resource or self._open_resource()
                result = work(resource)
                outcome.put(lambda: result)
            except BaseException as error:
                outcome.put(partial(_raise, error))
            return resource

        self._steps.put(step)
        return Pending(lambda: outcome.get()(), lambda: not outcome.empty())

    def close(self) -> None:
        """Close the resource once the submitted work is done."""
        self._steps.put(None)
        self._thread.join()

    def _run(self) -> None:
        resource: C | None = None
        while step := self._steps.get():
            self._is_working = True
            resource = step(resource)
            self._is_working = False
            del step  # it refers to the submitted work, which should be freed before the next
        opened: Closeable | None = resource
        if opened:
            opened.close()


def _raise(error: BaseException) -> NoReturn:
    raise error
