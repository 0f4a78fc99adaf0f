"""Keeps the garbage collector from holding keys up.

With what a session has loaded, a whole search for garbage takes 15 to 40 ms, and with Python's thresholds one comes
every few hundred keys. So what is loaded is never searched, and the rest rarely: a key leaves little behind.
"""

import gc

_THRESHOLDS = 20_000, 20, 20  # values made since the last search, and searches before a deeper one


def spare_loaded() -> None:
    """To be called when a session begins, and again when more is loaded."""
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
