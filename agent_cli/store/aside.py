"""Work on other threads, each of which holds something of its own: a connection.

SQLite lets go of Python's lock while it searches, so that searches on two connections use two cores.
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
    def __init__(self, hold: Callable[[], H], threads: int = 2):
        self._hold = hold
        self._asked: SimpleQueue[Callable[[H | None], H | None] | None] = SimpleQueue()
        self._threads = [threading.Thread(target=self._run, name="aside", daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

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
        for _ in self._threads:
            self._asked.put(None)
        for thread in self._threads:
            thread.join()
        self._threads = []

    def _run(self) -> None:
        held: H | None = None
        while step := self._asked.get():
            held = step(held)
            del step  # it refers to what was asked, which need not live until the next
        if held:
            held.close()


def _raise(error: BaseException) -> NoReturn:
    raise error
