"""Where the answer of a schedule goes: a note, a file, or the standard input of a command.

A command is a list of words and is run without a shell, so that no part of an answer or a name is ever run.
"""

import json
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from agent_cli import atomic_file
from agent_cli.app.app import App
from agent_cli.errors import AgentError, UsageError
from agent_cli.llm.model import Cancel
from agent_cli.memory.planner import notes
from agent_cli.memory.planner.schedules import Schedule, Target
from agent_cli.text import one_line

COMMAND_SECONDS = 120.0  # that a command may take
_STDERR_BYTES = 2000  # read of the errors of a command


def choose(file: str, command: Sequence[str], to_note: bool) -> tuple[Target, str]:
    """The target that the options choose, and its path or command as stored. Raises UsageError."""
    if bool(file) + bool(command) + to_note > 1:
        raise UsageError("say one of --to-note, --to-file and --to-command")
    if file:
        return "file", _pattern(file)
    return ("command", _command(command)) if command else ("note", "")


def _pattern(typed: str) -> str:
    """The path to store: absolute or from ~, with date fields as in %Y-%m-%d. Raises UsageError."""
    if typed.startswith("~") or os.path.isabs(typed):
        pattern = typed
    else:
        pattern = os.path.join(os.getcwd().replace("%", "%%"), typed)
    if "\0" in pattern or pattern.endswith("/") or os.path.isdir(file_path(pattern, datetime(2026, 1, 1))):
        raise UsageError(f"{typed!r} is not a file that can be written: name one, as in ~/briefing.md or ~/%Y-%m-%d.md")
    return pattern


def _command(words: Sequence[str]) -> str:
    """Its words as JSON, the first as an absolute path: a timer searches fewer folders. Raises UsageError."""
    found = shutil.which(os.path.expanduser(words[0]))
    if found is None:
        raise UsageError(f"there is no command {words[0]!r}: name one that your shell finds, or its whole path")
    return json.dumps([os.path.abspath(found), *words[1:]], ensure_ascii=False)


def file_path(pattern: str, now: datetime) -> Path:
    """The file that a pattern names on that day, links resolved."""
    return Path(os.path.realpath(os.path.expanduser(now.strftime(pattern))))


def save_note(app: App, schedule: Schedule, answer: str, session: int) -> str:
    """Write the answer as a note; its handle. Runs in the transaction of the caller."""
    title = f"{schedule.name}, {app.time():%Y-%m-%d}"
    note = notes.add(app.db, app.scope, answer, app.time, title=title, origin="schedule", session=session)
    return note.handle


def send(schedule: Schedule, answer: str, now: datetime, stop: Cancel) -> str:
    """Write the answer to the file or pass it to the command; the path or command. Raises AgentError."""
    if schedule.target == "file":
        return write_file(file_path(schedule.target_path, now), answer)
    return pass_to_command(schedule.command, answer, stop)


def write_file(file: Path, answer: str) -> str:
    """Replace a file by the answer, atomically. Raises AgentError."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        atomic_file.write(file, f"{answer}\n".encode())
    except OSError as error:
        raise AgentError(f"{file} cannot be written: {error.strerror}") from error
    return str(file)


def pass_to_command(command: Sequence[str], answer: str, stop: Cancel, seconds: float = COMMAND_SECONDS) -> str:
    """Run a command with the answer on its standard input. Raises AgentError, and Cancelled with the command ended."""
    import subprocess
    import tempfile  # errors may be gigabytes, and only their beginning is read

    name = os.path.basename(command[0])
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        except OSError as error:
            raise AgentError(f"{command[0]} cannot be run: {error.strerror}") from error
        try:
            with stop.on_cancel(lambda: _kill_group(process.pid)):
                process.communicate(f"{answer}\n".encode(), timeout=seconds)
        except subprocess.TimeoutExpired:
            raise AgentError(f"{name} took longer than {seconds:g} seconds, and was ended") from None
        finally:
            if process.poll() is None:
                _kill_group(process.pid)
                process.wait()
        if process.returncode:
            stop.check()
            errors.seek(0)
            reason = one_line(errors.read(_STDERR_BYTES).decode("utf-8", "replace"), 500) or "it gave no reason"
            raise AgentError(f"{name} ended with {process.returncode}: {reason}")
    return name


def _kill_group(pid: int) -> None:
    """Kill a process and all that it started: it leads a process group of its own."""
    import signal

    with suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
