"""Waiting in line: of those that name the same thing one goes at a time, in the order in which they came."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager


class Lines:
    def __init__(self) -> None:
        self._lines: dict[Hashable, _Line] = {}

    def many(self, name: Hashable) -> int:
        """How many wait in this line, with the one whose turn it is."""
        return self._lines[name].many if name in self._lines else 0

    @asynccontextmanager
    async def of(self, name: Hashable | None) -> AsyncIterator[None]:
        """None waits for nobody."""
        if name is None:
            yield
            return
        line = self._lines.setdefault(name, _Line())
        line.many += 1
        try:
            async with line.lock:
                yield
        finally:
            line.many -= 1
            if not line.many:
                del self._lines[name]


class _Line:
    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.many = 0
