"""Connections: so many at once, and none for which no request comes; the one that waits longest makes room.

What opens one needs no token yet, and a connection costs a file of this process, without which the memory cannot be
opened: so one that says nothing, or says it a letter at a time, is closed.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from agent_cli.serve.core.limits import ServerLimits


def limited_protocol(limits: ServerLimits) -> type[asyncio.Protocol]:
    """The protocol of a server that keeps to these limits."""

    class Limited(_Connection):
        def __init__(self, *args: Any, **named: Any):
            super().__init__(*args, **named)
            self.limits = limits

    return Limited


class _Connection(H11Protocol):
    """HTTP, where the head of a request must come in time; its body is for the gate."""

    limits: ServerLimits
    _opened_at = 0.0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._opened_at = self.loop.time()
        if len(self.connections) > self.limits.connections:
            self._make_room()
        if not transport.is_closing():
            self._wait()

    def _make_room(self) -> None:
        """Close the connection that has waited longest for its request; where all are in use, this one."""
        others = [each for each in self.connections if isinstance(each, _Connection) and each is not self]
        waiting = [each for each in others if each._timer]
        chosen = min(waiting, key=lambda each: each._opened_at, default=self)
        chosen._stop_waiting()  # it is still listed until the loop has closed it
        chosen.transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_waiting()

    def _wait(self) -> None:
        """Wait for the head of a request, from its first letter on; while one is answered there is nothing to wait for.

        Between two requests the library has a time of its own.
        """
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.limits.read_seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
