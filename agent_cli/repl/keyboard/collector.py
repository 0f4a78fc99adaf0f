"""Keeps the garbage collector from holding keys up.

With what a session has loaded, a whole search for garbage takes 15 to 40 ms, and with Python's thresholds one comes
every few hundred keys. So what is loaded is never searched, and the rest rarely: a key leaves little behind, once the
largest part of what prompt-toolkit leaves is let go without a search.
"""

import gc
from typing import Any

from prompt_toolkit.application import Application

_THRESHOLDS = 20_000, 20, 20  # values made since the last search, and searches before a deeper one


def spare_loaded() -> None:
    """To be called when a session begins, and again when more is loaded."""
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


def spare_drawn(app: "Application[Any]") -> None:
    """Let go, before the screen is drawn anew, where each character of the last one stood.

    That is two values for each character, which a function that names itself would hold until the next search.
    """
    app.before_render += _forget_places


def _forget_places(app: "Application[Any]") -> None:
    for window in app.layout.visible_windows:
        if window.render_info:
            window.render_info._rowcol_to_yx.clear()
