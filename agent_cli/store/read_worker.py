"""Work on another thread, which holds something of its own: a connection.

SQLite lets go of Python's lock while it searches, so that searches on two connections use two cores. An executor of
`concurrent.futures` would do it too: its import costs 3 to 7 ms, and who closes its connections is left open.
"""

import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Generic, NoReturn, Protocol, TypeVar


class Held(Protocol):
    def close(self) -> None: ...


H = TypeVar("H", bound=Held)
T = TypeVar("T")


class Aside(Generic[H]):
    def __init__(self, hold: Callable[[], H]):
        self._hold = hold
        self._asked: SimpleQueue[Callable[[H | None], H | None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="aside", daemon=True)
        self._thread.start()

    def ask(self, work: Callable[[H], T]) -> Callable[[], T]:
        """Begin some work; what is returned waits for its result, or raises what it raised."""
        told: SimpleQueue[Callable[[], T]] = SimpleQueue()

        def step(held: H | None) -> H | None:
            try:
                held = held or self._hold()
                result = work(held)
                told.put(lambda: result)
            except BaseException as error:
                told.put(partial(_raise, error))
            return held

        self._asked.put(step)
        return lambda: told.get()()

    def close(self) -> None:
        """Let go of what is held, once the work begun is done."""
        self._asked.put(None)
        self._thread.join()

    def _run(self) -> None:
        held: H | None = None
        while step := self._asked.get():
            held = step(held)
            del step  # it refers to what was asked, which need not live until the next
        if held:
            held.close()


def _raise(error: BaseException) -> NoReturn:
    raise error
