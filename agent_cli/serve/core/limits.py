"""The limits of a server: per request, per caller, and at once.

Locks by key: of those that hold the same key one goes at a time, in the order in which they came.

Connections to the file for threads that come and go; each is used by one thread at a time.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from queue import Empty, LifoQueue

from agent_cli.store.db import Database
from agent_cli.values import frozen


class KeyedLocks:
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
