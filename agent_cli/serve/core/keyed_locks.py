"""Locks by key: of those that hold the same key one goes at a time, in the order in which they came."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager


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
