"""Work on another thread, which holds something of its own: a connection.

SQLite lets go of Python's lock while it searches, so that searches on two connections use two cores. An executor of
`concurrent.futures` would do it too: its import costs 3 to 7 ms, and who closes its connections is left open.
"""

import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Generic, NoReturn, Protocol, TypeVar


class Closeable(Protocol):
    def close(self) -> None: ...


C = TypeVar("C", bound=Closeable)
T = TypeVar("T")


class ReadWorker(Generic[C]):
    def __init__(self, open_resource: Callable[[], C]):
        self._open_resource = open_resource
        self._steps: SimpleQueue[Callable[[C | None], C | None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="aside", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[C], T]) -> Callable[[], T]:
        """Begin some work; what is returned waits for its result, or raises what it raised."""
        told: SimpleQueue[Callable[[], T]] = SimpleQueue()

        def step(held: C | None) -> C | None:
            try:
                held = held or self._open_resource()
                result = work(held)
                told.put(lambda: result)
            except BaseException as error:
                told.put(partial(_raise, error))
            return held

        self._steps.put(step)
        return lambda: told.get()()

    def close(self) -> None:
        """Let go of what is held, once the work begun is done."""
        self._steps.put(None)
        self._thread.join()

    def _run(self) -> None:
        resource: C | None = None
        while step := self._steps.get():
            resource = step(resource)
            del step  # it refers to what was asked, which need not live until the next
        if resource:
            resource.close()


def _raise(error: BaseException) -> NoReturn:
    raise error
