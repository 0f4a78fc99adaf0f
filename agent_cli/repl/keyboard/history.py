"""The lines of the arrow keys, from the file: they outlive the program, and go when they are forgotten.

Nothing is read before the first prompt stands there: prompt-toolkit asks for the lines when it has been drawn.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from prompt_toolkit.history import History

from agent_cli.app.app import App
from agent_cli.errors import StoreError
from agent_cli.memory import tombstones
from agent_cli.memory.conversations import prompts
from agent_cli.repl.keyboard.pastes import Pastes
from agent_cli.text import without_surrogates

_LOADED = 2000
_PATIENCE = 0.5  # seconds that a key may wait for another process


class Prompts(History):
    def __init__(self, app: App, session: Callable[[], int | None], pastes: Pastes):
        super().__init__()
        self._app, self._session, self._pastes = app, session, pastes
        self._rounds = tombstones.rounds(app.db)
        self._version = self._now()

    def load_history_strings(self) -> Iterable[str]:
        with suppress(StoreError):  # a file that cannot be read is for what the person does next to tell
            self._pastes.recall(prompts.pasted(self._app.db, self._app.scope.owner, _LOADED))
            return prompts.recent(self._app.db, self._app.scope.owner, _LOADED)
        return []

    def append_string(self, string: str) -> None:
        """Lines that begin with a space are kept nowhere, the same line again is kept once, a large paste whole."""
        string = self._pastes.expanded(string)
        if string.strip() and not string.startswith(" ") and string != next(iter(self._loaded_strings), None):
            super().append_string(string)

    def store_string(self, string: str) -> None:
        with self._hurried(), suppress(StoreError):  # a line in the history is not worth more
            line, pasted = without_surrogates(string), map(without_surrogates, self._pastes.within(string))
            prompts.add(self._app.db, self._app.scope, self._session(), line, self._app.time(), pasted)

    def outdated(self) -> bool:
        """Whether something was forgotten, here or elsewhere, since this was last asked: then it reads anew."""
        with suppress(StoreError):
            version = self._now()
            rounds = self._rounds if version == self._version else tombstones.rounds(self._app.db)
            self._version = version
            if rounds != self._rounds:
                self._rounds = rounds
                self.drop()
                return True
        return False

    def drop(self) -> None:
        """Let go of all lines; those that are left come back from the file."""
        self._loaded, self._loaded_strings = False, []

    def _now(self) -> object:
        """Changes with each commit of another process (2 µs), and with each of this one."""
        return self._app.db.row("select (select * from pragma_data_version), total_changes()")

    @contextmanager
    def _hurried(self) -> Iterator[None]:
        before, self._app.db.patience = self._app.db.patience, _PATIENCE
        try:
            yield
        finally:
            self._app.db.patience = before
