"""Reminders as they come up: above the prompt, at the start, beside an answer, and by a command of the person's own.

Idle costs nothing: the next moment is kept in mind, and the file is asked again only when something was written or that
moment has come. Where two programs are open, the one that marks a reminder in the file shows it.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from agent_cli.app.app import App
from agent_cli.memory.dates import zones
from agent_cli.memory.planner import tasks
from agent_cli.memory.planner.tasks import Reminder
from agent_cli.store.db import Database
from agent_cli.text import clean

if TYPE_CHECKING:
    import subprocess

_SHOWN = 3  # lines; more are counted
_ON_TIME = timedelta(minutes=2)
_PATIENCE = 0.05  # seconds to wait for another program that writes: a later look does as well
_LIMIT = 30  # seconds that the person's command may take

_started: list["subprocess.Popen[bytes]"] = []  # what still runs, so that those that have ended can be buried


class Reminders:
    """What comes up in a conversation."""

    def __init__(self, app: App):
        self._app = app
        self._seen: object = None
        self._next: datetime | None = None
        self._explained = False

    def look(self) -> list[str]:
        """What has come up since the last look."""
        db, now = self._app.db, self._app.time()
        seen = (db.value("pragma data_version"), db.value("select total_changes()"))
        if seen != self._seen:
            self._next = tasks.next_moment(db, self._app.scope.owner, now, _again(self._app))
            self._seen = seen
        if self._next is None or now < self._next:
            return []
        self._seen = None
        return self._explain(*come_up(self._app))

    def greet(self) -> list[str]:
        """At the start: what fell due meanwhile, and what will today."""
        return [*self._explain(*come_up(self._app)), *today(self._app)]

    def _explain(self, found: Sequence[Reminder], wrong: str) -> list[str]:
        now = self._app.time()
        lines = [told(each, now) for each in found[:_SHOWN]]
        if lines and not self._explained:
            self._explained = True
            handle = found[0].task.handle
            lines[0] += f" · /tasks done {handle} · /tasks snooze {handle} 1 hour"
        if len(found) > _SHOWN:
            lines.append(f"and {len(found) - _SHOWN} more: /tasks")
        return [*lines, wrong] if wrong else lines


def beside(app: App) -> str:
    """One line for all that has come up, beside an answer; empty where nothing has."""
    found, wrong = come_up(app)
    if not found:
        return ""
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{told(found[0], app.time())}{more}: agent tasks{f'; {wrong}' if wrong else ''}"


def come_up(app: App) -> tuple[list[Reminder], str]:
    """Mark what has come up and run the person's command for it; with what is wrong with that command."""
    with _impatient(app.db):
        found = tasks.claim_due(app.db, app.scope.owner, app.time, _again(app))
    first = [each.task for each in found if each.first]
    return found, run(app.config.remind_command, [each.text for each in first]) if first else ""


def today(app: App) -> list[str]:
    """One line of what is due later today."""
    now = app.time()
    midnight = now.replace(hour=23, minute=59, second=59)
    already = {each.id for each in tasks.due(app.db, app.scope.owner, now)}
    found = [each for each in tasks.due(app.db, app.scope.owner, now, midnight) if each.id not in already]
    parts = [f"{_clock(each.comes_up or '', each.zone, now)} {each.name} ({each.handle})" for each in found[:_SHOWN]]
    more = f" and {len(found) - _SHOWN} more: /tasks" if len(found) > _SHOWN else ""
    return [f"today: {', '.join(parts)}{more}"] if parts else []


def told(reminder: Reminder, now: datetime) -> str:
    """As in: reminder t4: call the dentist (due yesterday 15:00)."""
    due = _since(reminder.due, now)
    if reminder.times > 1:
        when = f" ({reminder.times} times since {due})"
    else:
        when = f" (due {due})" if now - reminder.due >= _ON_TIME else ""
    return f"reminder {reminder.task.handle}: {reminder.task.name}{when}"


def run(command: Sequence[str], texts: Sequence[str]) -> str:
    """Start the person's command, with no shell, for each of the texts; gives what is wrong with it, or nothing."""
    if not command:
        return ""
    import shutil  # only where there is a command
    import subprocess

    if shutil.which(command[0]) is None:
        return f"remind_command cannot be run: there is no {command[0]!r} (agent config set remind_command)"
    # An argument that begins with a dash would be an option of the command, and the words may be a model's.
    words = [f" {each}" if each.startswith("-") else each for each in map(clean, texts)]
    timed = [
        sys.executable,
        "-P",
        "-m",
        "agent_cli.repl.session.timed_commands",
        str(_LIMIT),
        str(len(command)),
        *command,
        *words,
    ]
    nowhere = subprocess.DEVNULL
    _started[:] = [each for each in _started if each.poll() is None]
    with suppress(OSError):  # no process to be had: the line is shown all the same
        _started.append(subprocess.Popen(timed, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True))
    return ""


def _again(app: App) -> timedelta:
    return timedelta(minutes=app.config.remind_again)


@contextmanager
def _impatient(db: Database) -> Iterator[None]:
    patience, db.busy_timeout = db.busy_timeout, min(db.busy_timeout, _PATIENCE)
    try:
        yield
    finally:
        db.busy_timeout = patience


def _clock(stored: str, zone: str, now: datetime) -> str:
    return f"{datetime.fromisoformat(stored).astimezone(zones.get(zone, now)):%H:%M}"


def _since(due: datetime, now: datetime) -> str:
    """The time of a moment, with its day as a person would say it."""
    days = (now.astimezone(due.tzinfo).date() - due.date()).days
    if days in (0, 1):
        return f"{'yesterday ' if days else ''}{due:%H:%M}"
    return f"{due:%A %H:%M}" if days < 7 else f"{due.day} {due:%b %Y, %H:%M}"
