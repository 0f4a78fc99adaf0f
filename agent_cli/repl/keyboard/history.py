"""The history of the prompt, stored in the database: it outlives the program, and forgotten lines leave it.

Nothing is read before the first prompt is drawn: prompt-toolkit loads the lines afterwards.
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

_MAX_LINES = 2000
_TIMEOUT = 0.5  # seconds that a key may wait for another process


class PromptHistory(History):
    """`session` gives the id of the current session, if there is one."""

    def __init__(self, app: App, session: Callable[[], int | None], pastes: Pastes):
        super().__init__()
        self._app, self._session, self._pastes = app, session, pastes
        self._rounds = tombstones.erasure_count(app.db)
        self._version = self._database_version()

    def load_history_strings(self) -> Iterable[str]:
        with suppress(StoreError):  # the next command reports a file that cannot be read
            self._pastes.load(prompts.pasted(self._app.db, self._app.scope.owner, _MAX_LINES))
            return prompts.recent(self._app.db, self._app.scope.owner, _MAX_LINES)
        return []

    def lines(self) -> list[str]:
        """Every line once, the newest first."""
        if not self._loaded:  # a key that was typed before the prompt stood there
            self._loaded_strings, self._loaded = list(self.load_history_strings()), True
        return list(dict.fromkeys(self._loaded_strings))

    def append_string(self, string: str) -> None:
        """Add a line, with large pastes expanded; not when it begins with a space or repeats the last one."""
        string = self._pastes.expanded(string)
        if string.strip() and not string.startswith(" ") and string != next(iter(self._loaded_strings), None):
            super().append_string(string)

    def store_string(self, string: str) -> None:
        with self._short_timeout(), suppress(StoreError):  # a line of history is not worth an error
            line, pasted = without_surrogates(string), map(without_surrogates, self._pastes.pasted_in(string))
            prompts.add(self._app.db, self._app.scope, self._session(), line, self._app.time(), pasted)

    def outdated(self) -> bool:
        """Whether something was forgotten, in any process, since the last call: then the lines are read again."""
        with suppress(StoreError):
            version = self._database_version()
            rounds = self._rounds if version == self._version else tombstones.erasure_count(self._app.db)
            self._version = version
            if rounds != self._rounds:
                self._rounds = rounds
                self.clear()
                return True
        return False

    def clear(self) -> None:
        """Drop all lines; those that still exist are read again from the file."""
        self._loaded, self._loaded_strings = False, []

    def _database_version(self) -> object:
        """A value that changes with each commit, of this or another process; takes 2 µs."""
        return self._app.db.row("select (select * from pragma_data_version), total_changes()")

    @contextmanager
    def _short_timeout(self) -> Iterator[None]:
        before, self._app.db.busy_timeout = self._app.db.busy_timeout, _TIMEOUT
        try:
            yield
        finally:
            self._app.db.busy_timeout = before
