"""What memory will put beside the words being typed: shown above the prompt before they are sent, a key drops one.

It is looked for when the typing pauses, by words and on a thread of its own, and shown only where something is known.
What a server would have to be asked for is not: the line says what will be used, and may miss some of it.
"""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from agent_cli.agent import context, prompt_recall
from agent_cli.app.app import App
from agent_cli.errors import StoreError
from agent_cli.store.db import Database
from agent_cli.text import one_line
from agent_cli.tools.tool import ToolContext
from agent_cli.values import frozen

PAUSE = 0.3  # seconds
_TURN = 0.0002  # seconds
_LEAST = 8  # characters of a draft that asks for something
_SHOWN, _WORDS = 5, 28  # of them, and characters of each


@frozen
class Foreseen:
    kind: str
    id: int
    text: str

    @property
    def row(self) -> tuple[str, int]:
        return self.kind, self.id


class Foresight:
    """`session` gives the number of the conversation; `redraw` draws the prompt anew, from any thread."""

    def __init__(self, app: App, session: Callable[[], int | None], buffer: Buffer, redraw: Callable[[], None]):
        self._app, self._session, self._buffer, self._redraw = app, session, buffer, redraw
        self._found: tuple[Foreseen, ...] = ()
        self._dropped: set[tuple[str, int]] = set()
        self._asked = ""
        self._timer: asyncio.TimerHandle | None = None
        self._busy = False
        buffer.on_text_changed += lambda _: self._changed()

    @property
    def line(self) -> str:
        """What stands above the prompt; empty when nothing is known of the draft."""
        left = self._left
        if not left:
            return ""
        told = " · ".join(f"{n} {each.words}" for n, each in enumerate(left, 1))
        return f"will use: {told} (Alt-{'1' if len(left) == 1 else f'1…{len(left)}'} drops one)"

    def dropped(self) -> frozenset[tuple[str, int]]:
        """What is not to be used this time: told once, when the line is sent."""
        gone, self._dropped, self._found, self._asked = frozenset(self._dropped), set(), (), ""
        return gone

    def let_go(self) -> None:
        """Show nothing that was found before: some of it may have been forgotten since."""
        self._found, self._asked = (), ""
        self._changed()

    def bind(self, keys: KeyBindings) -> None:
        """Alt and a number drop what stands there; where nothing does, the keys mean what they meant."""
        for number in range(1, _SHOWN + 1):
            there = Condition(partial(self._has, number))
            keys.add("escape", str(number), filter=there)(partial(self._drop, number))

    def _has(self, number: int) -> bool:
        return len(self._left) >= number

    @property
    def _left(self) -> list[Foreseen]:
        return [each for each in self._found if each.row not in self._dropped] if self._buffer.text else []

    def _drop(self, number: int, event: KeyPressEvent) -> None:
        self._dropped.add(self._left[number - 1].row)
        event.app.invalidate()

    def _changed(self) -> None:
        """Look once the typing pauses."""
        if self._timer:
            self._timer.cancel()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._timer = loop.call_later(PAUSE, self._begin, loop)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        draft = self._buffer.text
        if draft == self._asked or not (self._app.reads and self._app.keeps and self._app.config.preview):
            return
        if self._busy:
            self._timer = loop.call_later(PAUSE, self._begin, loop)
            return
        self._asked = draft
        if len(draft.strip()) < _LEAST or draft.startswith("/"):
            self._found = ()
            return
        self._busy = True
        loop.run_in_executor(None, self._look, draft)

    def _look(self, draft: str) -> None:
        found: tuple[Foreseen, ...] = ()
        try:
            # Of a StoreError: what the person does next tells what is wrong with the file.
            with _short_turns(), suppress(StoreError), closing(self._app.db.again()) as db:
                found = foreseen(self._app, db, self._session(), draft)
        finally:
            self._busy = False
        if self._asked == draft:  # else it was sent meanwhile, or something was forgotten
            self._found = found
            self._redraw()


@contextmanager
def _short_turns() -> Iterator[None]:
    """Let the thread that draws the prompt in after 0.2 ms, not after 5 ms each time that it waits.

    With a million messages and a draft of 2,000 characters a key then takes 11 ms beside a search, not 30; and the
    search is done sooner, since it hands over to itself on another thread.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(_TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def foreseen(app: App, db: Database, session: int | None, draft: str) -> tuple[Foreseen, ...]:
    """What a message in these words would bring along, by words alone."""
    here = ToolContext(db, session or 0, app.scope, app.time)
    seen = context.visible(db, session, app.window) if session else []
    used, _ = prompt_recall.chosen(here, draft, seen, logged=False)
    return tuple(
        Foreseen(hit.kind, hit.id, f"{hit.handle} {one_line(hit.file or hit.text, _WORDS)}") for hit, _ in used[:_SHOWN]
    )
