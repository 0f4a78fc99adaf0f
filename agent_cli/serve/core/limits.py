"""The limits of a server: per request, per caller, and at once."""

import time
from collections.abc import Callable

from agent_cli.values import frozen


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
