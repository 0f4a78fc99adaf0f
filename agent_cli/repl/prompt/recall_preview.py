"""A preview of what memory will add to the message being typed, shown above the prompt; a key drops an item.

When the typing pauses, memory is searched by words, on a thread of its own; embeddings, which need the server, are not
used. So the line shows what will be used, but may miss some of it.
"""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from agent_cli.agent import model_context, prompt_recall
from agent_cli.app.app import App
from agent_cli.errors import StoreError
from agent_cli.store.db import Database
from agent_cli.text import one_line
from agent_cli.tools.tool import ToolContext
from agent_cli.values import frozen

PAUSE = 0.3  # seconds
_SWITCH_INTERVAL = 0.0002  # seconds
_MIN_DRAFT = 8  # characters of a draft that is searched for
_MAX_ITEMS, _MAX_ITEM = 5, 28  # items, and characters of each


@frozen
class PreviewItem:
    kind: str
    id: int
    text: str

    @property
    def key(self) -> tuple[str, int]:
        return self.kind, self.id


class RecallPreview:
    """`session` gives the id of the current session; `redraw` redraws the prompt and may be called on any thread."""

    def __init__(self, app: App, session: Callable[[], int | None], buffer: Buffer, redraw: Callable[[], None]):
        self._app, self._session, self._buffer, self._redraw = app, session, buffer, redraw
        self._found: tuple[PreviewItem, ...] = ()
        self._dropped: set[tuple[str, int]] = set()
        self._searched = ""
        self._timer: asyncio.TimerHandle | None = None
        self._busy = False
        buffer.on_text_changed += lambda _: self._changed()

    @property
    def line(self) -> str:
        """The line above the prompt; empty when memory has nothing for the draft."""
        remaining = self._items
        if not remaining:
            return ""
        items = " · ".join(f"{n} {each.text}" for n, each in enumerate(remaining, 1))
        return f"will use: {items} (Alt-{'1' if len(remaining) == 1 else f'1…{len(remaining)}'} drops one)"

    def take_dropped(self) -> frozenset[tuple[str, int]]:
        """(kind, id) of the dropped items; starts anew, as the line is sent."""
        dropped, self._dropped, self._found, self._searched = frozenset(self._dropped), set(), (), ""
        return dropped

    def clear(self) -> None:
        """Drop what was found before: some of it may have been forgotten since."""
        self._found, self._searched = (), ""
        self._changed()

    def bind(self, keys: KeyBindings) -> None:
        """Let Alt and a digit drop that item; without such an item the keys keep their meaning."""
        for number in range(1, _MAX_ITEMS + 1):
            shown = Condition(partial(self._has, number))
            keys.add("escape", str(number), filter=shown)(partial(self._drop, number))

    def _has(self, number: int) -> bool:
        return len(self._items) >= number

    @property
    def _items(self) -> list[PreviewItem]:
        return [each for each in self._found if each.key not in self._dropped] if self._buffer.text else []

    def _drop(self, number: int, event: KeyPressEvent) -> None:
        self._dropped.add(self._items[number - 1].key)
        event.app.invalidate()

    def _changed(self) -> None:
        """Search once the typing pauses."""
        if self._timer:
            self._timer.cancel()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._timer = loop.call_later(PAUSE, self._begin, loop)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        draft = self._buffer.text
        if draft == self._searched or not (self._app.reads and self._app.keeps and self._app.config.preview):
            return
        if self._busy:
            self._timer = loop.call_later(PAUSE, self._begin, loop)
            return
        self._searched = draft
        if len(draft.strip()) < _MIN_DRAFT or draft.startswith("/"):
            self._found = ()
            return
        self._busy = True
        loop.run_in_executor(None, self._search, draft)

    def _search(self, draft: str) -> None:
        found: tuple[PreviewItem, ...] = ()
        try:
            # StoreError: the next command reports what is wrong with the file.
            with _short_switch_interval(), suppress(StoreError), closing(self._app.db.another_connection()) as db:
                found = items(self._app, db, self._session(), draft)
        finally:
            self._busy = False
        if self._searched == draft:  # else the line was sent meanwhile, or something was forgotten
            self._found = found
            self._redraw()


@contextmanager
def _short_switch_interval() -> Iterator[None]:
    """Let the thread of the prompt run after 0.2 ms instead of 5 ms each time it waits for the interpreter.

    With a million messages and a draft of 2,000 characters a key then takes 11 ms during a search, not 30; and the
    search, which uses threads itself, ends sooner.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_INTERVAL)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def items(app: App, db: Database, session: int | None, draft: str) -> tuple[PreviewItem, ...]:
    """What memory would add to this draft, searched by words alone."""
    turn_context = ToolContext(db, session or 0, app.scope, app.time)
    shown_messages = model_context.visible(db, session, app.window) if session else []
    chosen = prompt_recall.select(turn_context, draft, shown_messages, logged=False).used
    return tuple(
        PreviewItem(hit.kind, hit.id, f"{hit.handle} {one_line(hit.file or hit.text, _MAX_ITEM)}")
        for hit, _ in chosen[:_MAX_ITEMS]
    )
