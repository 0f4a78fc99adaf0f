"""What the options before a command say, and what they open, once and only when it is needed."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent_cli.cli import output
from agent_cli.errors import UsageError

if TYPE_CHECKING:
    from agent_cli.app import App
    from agent_cli.config import Loaded
    from agent_cli.memory.sessions import Session


@dataclass
class Run:
    flags: dict[str, Any]
    quiet: bool = False
    verbose: bool = False
    latest: bool = False  # -c
    resume: str | None = None  # -r
    child: bool = False  # the assistant itself has started this process
    _app: "App | None" = field(default=None, repr=False)

    def app(self) -> "App":
        """Everything opened. Raises ConfigError and StoreError."""
        if self._app is None:
            from agent_cli.app import open_app  # `--help` needs none of it

            self._app = open_app(self.flags, self.note, child=self.child)
        return self._app

    def settings(self) -> "Loaded":
        """The settings alone: nothing is opened. Raises ConfigError."""
        from agent_cli import config

        return config.load(config.default_file(), flags=self.flags)

    def note(self, text: str) -> None:
        if not self.quiet:
            output.note(text)

    def chosen(self) -> "Session | None":
        """The session that -c or -r names. Raises UsageError when there is none."""
        from agent_cli.memory import sessions

        app = self.app()
        if self.resume:
            return sessions.resolve(app.db, self.resume, app.scope.owner)
        if not self.latest:
            return None
        found = sessions.latest(app.db, app.scope.owner)
        if found is None:
            raise UsageError("there is no session to continue yet; start one without -c")
        return found
