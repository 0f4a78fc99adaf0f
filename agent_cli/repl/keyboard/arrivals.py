"""When keys arrived: what came faster than anyone types is a paste, from a terminal that does not bracket pastes."""

from collections.abc import Sequence

from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

BURST_KEYS = 8  # keys that arrive together
BURST_SECONDS = 0.1  # within which they do: a fast typist needs three times as long


class KeyAhead(KeyPress):
    """A key that arrived before its prompt was shown, `at` these seconds of the monotonic clock."""

    def __init__(self, key: Keys | str, data: str | None = None, at: float = 0.0):
        super().__init__(key, data)
        self.at = at


def bursts(arrivals: Sequence[float]) -> list[bool]:
    """Which of the keys that arrived at these times, in seconds, came faster than anyone types."""
    fast = [False] * len(arrivals)
    for first in range(len(arrivals) - BURST_KEYS + 1):
        if arrivals[first + BURST_KEYS - 1] - arrivals[first] < BURST_SECONDS:
            fast[first : first + BURST_KEYS] = [True] * BURST_KEYS
    return fast
