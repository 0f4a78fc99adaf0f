"""Due reminders, shown by the one program that marks them so: at the prompt, beside an answer, and by a command."""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from agent_cli import clock
from agent_cli.app.app import App
from agent_cli.errors import StoreError
from agent_cli.memory.dates import moments
from agent_cli.memory.planner import tasks
from agent_cli.text import clean

if TYPE_CHECKING:
    import subprocess

_SHOWN = 3  # lines; more are counted
_TIMEOUT = 0.05  # seconds to wait for another program that writes; the next poll will do too
_POLL = 1.0  # seconds between two looks of a program without a prompt

_started: list["subprocess.Popen[bytes]"] = []  # running processes; ended ones are reaped


class Reminders:
    """The due reminders of a conversation, as lines."""

    def __init__(self, app: App, *, hint: bool = True):
        self._app, self._hint_shown = app, not hint

    def start_lines(self) -> list[str]:
        """Lines for the start: what became due meanwhile, and what is due later today, if anything is."""
        lines, now = self.due_lines(), self._app.time()
        due = tasks.due(self._app.db, self._app.scope.owner, now, now.replace(hour=23, minute=59, second=59))
        found, parts = [each for each in due if (each.comes_up or "") > clock.utc(now)], []
        for each in found[:_SHOWN]:
            at = datetime.fromisoformat(each.comes_up or "").astimezone(moments.get_zone(each.zone, now))
            parts.append(f"{at:%H:%M} {each.name} ({each.handle})")
        more = f" and {len(found) - _SHOWN} more: /tasks" if len(found) > _SHOWN else ""
        return [*lines, f"today: {', '.join(parts)}{more}"] if parts else lines

    def due_lines(self) -> list[str]:
        (found, error), now = claim_due(self._app), self._app.time()
        lines = [tasks.format_reminder(each, now) for each in found[:_SHOWN]]
        if lines and not self._hint_shown:
            self._hint_shown = True
            handle = found[0].task.handle
            lines[0] += f" · /tasks done {handle} · /tasks snooze {handle} 1 hour"
        if len(found) > _SHOWN:
            lines.append(f"and {len(found) - _SHOWN} more: /tasks")
        return [*lines, error] if error else lines


@contextmanager
def shown_meanwhile(app: App, show: Callable[[str], None], *, quiet: bool) -> Iterator[None]:
    """Show due reminders from a thread of its own, without a prompt; left to the next one where nobody sees a line."""
    if not app.config.remind_command and (quiet or not sys.stderr.isatty()):
        yield
        return
    ended = threading.Event()

    def watch() -> None:
        with app.db.another_connection() as db:
            watched = Reminders(replace(app, db=db), hint=False)
            while True:
                with suppress(StoreError):  # a busy or full file: the next look will do
                    for line in watched.due_lines():
                        show(line)
                if ended.wait(_POLL):
                    return

    thread = threading.Thread(target=watch, name="reminders", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(_POLL)


def due_line(app: App) -> str:
    """One line about all reminders that have become due, for the end of an answer; empty when none has."""
    found, error = claim_due(app)
    if not found:
        return ""
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{tasks.format_reminder(found[0], app.time())}{more}: agent tasks{f'; {error}' if error else ''}"


def claim_due(app: App) -> tuple[list[tasks.Reminder], str]:
    """Mark due reminders as shown and run the person's command for them; returns them, and an error of the command."""
    with app.db.patience(_TIMEOUT):
        found = tasks.claim_due(app.db, app.scope.owner, app.time, timedelta(minutes=app.config.remind_again))
    first = [each.task for each in found if each.first]
    return found, run_command(app.config.remind_command, [each.text for each in first]) if first else ""


def run_command(command: Sequence[str], texts: Sequence[str]) -> str:
    """Start the person's command, without a shell, for each text; returns an error, or an empty string."""
    if not command:
        return ""
    import shutil  # only where a command is configured
    import subprocess

    if shutil.which(command[0]) is None:
        return f"remind_command cannot be run: there is no {command[0]!r} (agent config set remind_command)"
    # A text that begins with a dash would be an option of the command, and a model may have written it.
    arguments = [f" {each}" if each.startswith("-") else each for each in map(clean, texts)]
    null = subprocess.DEVNULL
    _started[:] = [each for each in _started if each.poll() is None]
    for each in arguments:
        with suppress(OSError):  # no process can be started: the line is shown all the same
            process = subprocess.Popen([*command, each], stdin=null, stdout=null, stderr=null, start_new_session=True)
            _started.append(process)
    return ""
