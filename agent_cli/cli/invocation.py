"""The options before a command, what they open, and how commands read times, files and words."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO

from typer import Exit, Option, echo

from agent_cli import CHILD, clock, terminal
from agent_cli.cli import output, usage
from agent_cli.errors import AgentError, StoreError, UsageError
from agent_cli.messages import Origin, Part
from agent_cli.store import sealing
from agent_cli.text import counted

if TYPE_CHECKING:
    from agent_cli.app.app import App
    from agent_cli.config.settings_file import Loaded
    from agent_cli.memory.conversations.sessions import Session


def parse_moment(text: str | None, now: datetime, before_day_end: timedelta | None = None) -> datetime | None:
    """The moment that a typed day or time names; None without one. Raises UsageError.

    A day without a time is its first moment, or with `before_day_end` the moment that long before its end.
    """
    if text is None:
        return None
    try:
        found = clock.parse(text, now)
        whole_day = len(text) == 10
        return found + timedelta(days=1) - before_day_end if whole_day and before_day_end is not None else found
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{text!r} is not a day: write it like 2026-11-20") from error


def opened(file: Path) -> TextIO:
    """A file to be read, of - standard input. Raises UsageError."""
    try:
        return sys.stdin if file == Path("-") else file.open(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error


@contextmanager
def given(words: list[str] | None, editor: str) -> Iterator[tuple[str, Origin]]:
    """The words behind a command with their origin; without any what is typed in the editor, or what is piped in."""
    if words:
        yield " ".join(words), "typed"
    elif sys.stdin.isatty():
        with terminal.edited("", editor) as typed:
            yield typed, "typed"
    else:
        yield sys.stdin.buffer.read().decode("utf-8", "replace"), "piped"


def report_skipped(broken: int, one: str, many: str) -> None:
    """Raises AgentError when an import has left out what was broken."""
    if broken:
        what = counted(broken, f"broken {one} was", f"broken {many} were")
        raise AgentError(f"{what} skipped; the others are imported")


def _print_version(requested: bool) -> None:
    if requested:
        echo(usage.VERSION)
        raise Exit


@dataclass(eq=False, repr=False)  # each costs time at the start
class Invocation:
    """Each field is an option, but the last two; usage.OPTIONS has what they do."""

    model: Annotated[str | None, Option("-m", "--model")] = None
    latest: Annotated[bool, Option("-c", "--continue")] = False
    resume: Annotated[str | None, Option("-r", "--resume")] = None
    interactive: Annotated[bool, Option("-i", "--interactive")] = False
    caller: Annotated[str, Option("--as")] = ""
    db: Annotated[Path | None, Option("--db")] = None
    no_memory: Annotated[bool, Option("--no-memory")] = False
    incognito: Annotated[bool, Option("--incognito")] = False
    memory: Annotated[bool, Option("--memory")] = False
    color: Annotated[Literal["auto", "always", "never"], Option("--color")] = "auto"
    plain: Annotated[bool, Option("--plain")] = False
    screen_reader: Annotated[bool, Option("--screen-reader")] = False
    quiet: Annotated[bool, Option("-q", "--quiet")] = False
    verbose: Annotated[bool, Option("-v", "--verbose")] = False
    version: Annotated[bool, Option("--version", callback=_print_version, is_eager=True)] = False
    child: bool = field(default_factory=lambda: CHILD in os.environ, init=False)  # the assistant started this process
    _app: "App | None" = field(default=None, init=False)

    @property
    def flags(self) -> dict[str, Any]:
        """The options that are settings."""
        return {"model": self.model, "db": str(self.db) if self.db else None}

    def app(self) -> "App":
        """The app, opened at the first call. Raises ConfigError and StoreError."""
        if self._app is None:
            from agent_cli.app.app import open_app  # `--help` needs none of it

            reads = self.memory or not (self.no_memory or self.incognito)
            self._app = open_app(self.flags, self.note, child=self.child, reads=reads, incognito=self.incognito)
            if self.caller:
                from agent_cli.memory.conversations import callers  # needed with --as only

                self._app.scope = callers.get(self._app.db, self.caller).scope
        return self._app

    def settings(self) -> "Loaded":
        """The settings alone; the database is not opened. Raises ConfigError."""
        from agent_cli.config import settings_file

        loaded = settings_file.load(settings_file.default_file(), flags=self.flags)
        sealing.KEYS.settings = loaded.config.seal
        return loaded

    def note(self, text: str) -> None:
        if not self.quiet:
            output.note(text)

    def check(self) -> None:
        if self.memory and self.no_memory:
            raise UsageError("--memory and --no-memory exclude each other")
        if self.resume is not None and self.latest:
            raise UsageError("-c and -r exclude each other: continue the last session here, or resume a named one")
        if self.incognito and (self.latest or self.resume is not None):
            raise UsageError("an incognito run is kept nowhere, so it continues no session: leave -c and -r out")

    def chosen_session(self) -> "Session | None":
        """The session that -c or -r names; None without them. Raises UsageError when there is none."""
        from agent_cli.memory.conversations import sessions

        app = self.app()
        if self.resume:
            return sessions.resolve(app.db, self.resume, app.scope.owner)
        if not self.latest:
            return None
        if found := sessions.last_here(app.db, app.scope, app.terminal):
            return found
        nothing = "nothing was asked in this terminal or folder yet, so there is no session to continue: leave -c out"
        if latest := sessions.latest(app.db, app.scope.owner):
            name = sessions.name(app.db, latest)
            nothing += f"; the latest elsewhere is {latest.handle} “{name}” (-r {latest.handle})"
        raise UsageError(nothing)

    def converse(self, session: "Session | None", first: Sequence[Part] = ()) -> None:
        """Converse until the person leaves; `first` is sent at once. Raises AgentError."""
        _import_asyncio()
        from agent_cli.repl.shell import shell  # with prompt-toolkit 100 ms

        shell.run(self.app(), session, first, output.display())

    def resume_chosen(self) -> None:
        """Let the person choose a session, and go on with it. Raises AgentError."""
        _import_asyncio()
        import asyncio

        from agent_cli.repl.commands import session_commands  # prompt-toolkit, as above

        if session := asyncio.run(session_commands.choose(self.app())):
            self.converse(session)

    def update_index(self) -> None:
        """Index what a command wrote, for later runs that may only read the file; vectors follow by a job."""
        if self._app is None or not self._app.keeps:
            return
        from agent_cli.agent.jobs.job_context import INDEX  # an app has loaded these
        from agent_cli.memory.search import index
        from agent_cli.store import jobs

        self._app.db.busy_timeout = 0.1
        with suppress(StoreError):  # the next question indexes it, or reports what is wrong
            if index.refresh(self._app.db):
                from agent_cli.app import background  # 50 ms, where something was written

                jobs.add(self._app.db, INDEX, "all", self._app.time())
                background.start(self._app)

    def damage(self) -> str:
        """A sentence about the damage of the database, which may be what a command failed of; empty: it has none."""
        if self._app is None or not self._app.keeps:
            return ""
        from agent_cli.store import file_check  # needed for this alone

        found = file_check.check(self._app.db).canonical
        return f"{self._app.db.path}: the database is damaged; `agent db check` says where" if found else ""

    def close(self) -> None:
        """Close the database. Its journal is emptied first: the file alone then holds everything."""
        if self._app is not None:
            with suppress(StoreError):  # another program is using it, or the disk is full: the journal stays
                self._app.db.truncate_journal(0.1)
            with suppress(StoreError):
                self._app.db.close()


def _import_asyncio() -> None:
    """Import asyncio without ssl, which takes as long as the rest of it: nothing here speaks TLS through asyncio."""
    if "ssl" in sys.modules:
        return
    sys.modules["ssl"] = None  # type: ignore[assignment]
    try:
        import asyncio  # noqa: F401
    finally:
        del sys.modules["ssl"]
