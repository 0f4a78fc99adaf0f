"""Keeps the garbage collector from holding keys up.

With what a session has loaded, a whole search for garbage takes 15 to 40 ms, and with Python's thresholds one comes
every few hundred keys. So what is loaded is never searched, and the rest rarely: a key leaves little behind, once the
largest part of what prompt-toolkit leaves is let go without a search.
"""

import gc
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.layout.screen import Screen

_THRESHOLDS = 20_000, 20, 20  # values made since the last search, and searches before a deeper one


def spare_loaded() -> None:
    """To be called when a session begins, and again when more is loaded."""
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


def search_recent() -> None:
    """Search what was made lately, at a moment at which nobody waits."""
    gc.collect(1)


def spare_drawn(app: "Application[Any]") -> None:
    """Empty each drawing of the screen when the next one makes it useless.

    A function of prompt-toolkit that names itself holds all of it until it is searched for: the characters, and two
    values for where each of them stood.
    """
    drawings = _Drawings()
    app.before_render += drawings.forget_places
    app.after_render += drawings.forget_characters


class _Drawings:
    def __init__(self) -> None:
        self._last: Screen | None = None

    def forget_places(self, app: "Application[Any]") -> None:
        for window in app.layout.visible_windows:
            if window.render_info:
                getattr(window.render_info, "_rowcol_to_yx", {}).clear()  # its own matter: another version may lack it

    def forget_characters(self, app: "Application[Any]") -> None:
        drawn = app.renderer.last_rendered_screen
        if self._last is not None and self._last is not drawn:
            self._last.data_buffer.clear()
        self._last = drawn
