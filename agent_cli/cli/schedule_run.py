"""`agent schedule run`: run schedules that are due, each time once, even when several processes do it.

A run stays due until its answer was delivered, so one that is stopped or killed is made up. A note is written in the
transaction that marks the run as done, so never twice; a command may get an answer twice, when the process was killed
in between.
"""

import json
import os
import shutil
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from agent_cli import atomic_file
from agent_cli.agent.jobs.worker import TIME_LIMIT
from agent_cli.app import background, models, turns
from agent_cli.app.app import App
from agent_cli.cli import ask
from agent_cli.cli.invocation import Invocation
from agent_cli.cli.options import argument, flag, option
from agent_cli.errors import AgentError, Cancelled, StoreBusy, UsageError
from agent_cli.llm.model import Cancel
from agent_cli.memory.planner import notes, schedules
from agent_cli.memory.planner.schedules import Schedule, Target
from agent_cli.memory.skills import skills
from agent_cli.messages import Failure, Part
from agent_cli.repl import reminders
from agent_cli.store import ids
from agent_cli.text import one_line
from agent_cli.tools import memory_tools

COMMAND_SECONDS = 120.0  # that a command may take
_STDERR_BYTES = 2000  # read of the errors of a command
_PAUSE = 20.0  # seconds between checks: a schedule may be added, or the clock be set
_BUSY_PAUSE = 5.0  # seconds between checks while another process runs what is due
_IDLE = 20.0  # seconds without a running schedule before queued jobs go on
_SKILL_REQUEST = "Carry out the skill {name} now."
_SKILL_INSTRUCTIONS = (
    "The skill {name}; answer with what it gives and nothing else, and ask nothing, since nobody is there:\n\n{steps}"
)


def choose(file: str, command: Sequence[str], to_note: bool) -> tuple[Target, str]:
    """The target that the options choose, and its path or command as stored. Raises UsageError."""
    if bool(file) + bool(command) + to_note > 1:
        raise UsageError("say one of --to-note, --to-file and --to-command")
    if file:  # stored as it is or from ~, with date fields as in %Y-%m-%d
        whole = file.startswith("~") or os.path.isabs(file)
        pattern = file if whole else os.path.join(os.getcwd().replace("%", "%%"), file)
        if "\0" in pattern or pattern.endswith("/") or os.path.isdir(file_path(pattern, datetime(2026, 1, 1))):
            example = "~/briefing.md or ~/%Y-%m-%d.md"
            raise UsageError(f"{file!r} is not a file that can be written: name one, as in {example}")
        return "file", pattern
    if command:  # its words as JSON, the first as an absolute path: a timer searches fewer folders
        found = shutil.which(os.path.expanduser(command[0]))
        if found is None:
            raise UsageError(f"there is no command {command[0]!r}: name one that your shell finds, or its whole path")
        return "command", json.dumps([os.path.abspath(found), *command[1:]], ensure_ascii=False)
    return "note", ""


def file_path(pattern: str, now: datetime) -> Path:
    """The file that a pattern names on that day, links resolved."""
    return Path(os.path.realpath(os.path.expanduser(now.strftime(pattern))))


def write_file(file: Path, answer: str) -> str:
    """Replace a file by the answer, atomically. Raises AgentError."""
    try:
        atomic_file.make_folder(file.parent)
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
                command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True
            )
        except OSError as error:
            raise AgentError(f"{command[0]} cannot be run: {error.strerror}") from error

        def kill() -> None:
            with suppress(OSError):  # it leads a process group of its own, with all that it started
                os.killpg(process.pid, signal.SIGKILL)

        try:
            with stop.on_cancel(kill):
                process.communicate(f"{answer}\n".encode(), timeout=seconds)
        except subprocess.TimeoutExpired:
            raise AgentError(f"{name} took longer than {seconds:g} seconds, and was ended") from None
        finally:
            if process.poll() is None:
                kill()
                process.wait()
        if process.returncode:
            stop.check()
            errors.seek(0)
            reason = one_line(errors.read(_STDERR_BYTES).decode("utf-8", "replace"), 500) or "it gave no reason"
            raise AgentError(f"{name} ended with {process.returncode}: {reason}")
    return name


def run(
    invocation: Invocation,
    handle: str | None = argument("Run this one at once, as in c3, and exit.", None, metavar="[SCHEDULE]"),
    due: bool = flag("--due", "Run what is due, and exit."),
    now: str | None = option("--now", "The same as naming it.", metavar="C3"),
) -> None:
    """Run schedules as they fall due, until it is stopped.

    Queued jobs run between them.
    """
    app_ = invocation.app()
    if due + bool(now) + bool(handle) > 1:
        raise UsageError("--due and a schedule exclude each other: run what is due, or one at once")
    with _stopping_in_order() as stop:
        if named := handle or now:
            _run_one(app_, invocation, named, stop)
        elif not due:
            _run_continuously(app_, invocation, stop)
        else:
            went_well = _run_due(app_, invocation, stop)
            if failed := went_well.count(False):  # so that a timer shows a failed command
                raise AgentError(f"{failed} of {len(went_well)} failed; `agent schedule list` says why")
            if not went_well:
                invocation.note("nothing is due")
            background.start(app_)


def _run_due(app: App, invocation: Invocation, stop: Cancel) -> list[bool]:
    """Run all that is due; for each run whether it went well. Raises Cancelled."""
    owner, went_well = app.scope.owner, []
    schedules.record_look(app.db, app.time())
    schedules.change_zone(app.db, owner, schedules.machine_zone(), app.time())
    if app.config.remind_command:  # else a reminder would count as shown though nobody saw it
        reminders.claim_due(app)
    while claimed := schedules.claim(app.db, owner, app.time()):
        error = _carry_out(app, invocation, claimed, stop)
        if error:
            invocation.note(Failure(f"{_short(claimed)} failed: {error}"))
        went_well.append(error is None)
    return went_well


def _run_one(app: App, invocation: Invocation, handle: str, stop: Cancel) -> None:
    wanted = schedules.get(app.db, ids.number("schedule", handle), app.scope.owner)
    if wanted.hidden_at:
        raise UsageError(f"{wanted.handle} is hidden; `agent schedule restore {wanted.handle}` brings it back")
    claimed = schedules.claim(app.db, app.scope.owner, app.time(), wanted.id)
    if claimed is None:
        raise UsageError(f"{wanted.handle} is running already, in another process")
    error = _carry_out(app, invocation, claimed, stop)
    background.start(app)
    if error:
        raise error


def _run_continuously(app: App, invocation: Invocation, stop: Cancel) -> None:
    invocation.note("running schedules when they are due; Ctrl-C stops it")
    jobs = background.IdleWorker(lambda cancel: background.job_context(app, app.db.another_connection(), cancel), _IDLE)
    try:
        while True:
            due = schedules.next_due(app.db, app.scope.owner)
            waits = due is not None and due <= app.time()
            if waits:
                jobs.touch(busy=True)
            try:
                _run_due(app, invocation, stop)
            except StoreBusy as error:  # what was due still is due
                invocation.note(str(error))
            if waits:
                jobs.touch(busy=False)
            due = schedules.next_due(app.db, app.scope.owner)
            ahead = (due - app.time()).total_seconds() if due else _PAUSE
            stop.wait(min(_PAUSE, ahead) if ahead > 0 else _BUSY_PAUSE)
    finally:
        jobs.end(5.0)


def _carry_out(app: App, invocation: Invocation, schedule: Schedule, stop: Cancel) -> AgentError | None:
    """Run a claimed schedule, store and print how it went; the error, if any. Raises Cancelled."""
    placed = replace(app, scope=replace(app.scope, place=schedule.place), learns=False)
    outcome, error, where, answer = None, None, "", ""
    try:
        try:
            outcome = _run_turn(placed, schedule, stop)
            answer = outcome.transcript.answer
            if outcome.error:
                raise outcome.error
            if schedule.target != "note":
                where = _deliver(placed, schedule, answer, stop)
        except Cancelled:
            raise
        except AgentError as failed:
            error = failed
        with app.db.write():
            session = outcome.session if outcome else None
            problem = str(error) if error else _problem(outcome) if outcome else ""
            schedules.finish(app.db, schedule, app.time, session=session, error=problem)
            if not (where or error):
                title = f"{schedule.name}, {app.time():%Y-%m-%d}"
                note = notes.add(
                    app.db, placed.scope, answer, app.time, title=title, origin="schedule", session=session
                )
                where = note.handle
    except schedules.LostRun:
        invocation.note(f"{schedule.handle} was run by another process or forgotten meanwhile: this answer was dropped")
        return None
    except BaseException:  # stopped: it stays due
        schedules.unclaim(app.db, schedule, app.time)
        invocation.note(f"{_short(schedule)} was stopped; it is made up at the next run")
        raise
    if not error:
        invocation.note(f"{_short(schedule)} → {where}{f' ({problem})' if problem else ''}")
    return error


def _short(schedule: Schedule) -> str:
    return f"{schedule.handle} {one_line(schedule.name, 40)}"


def _run_turn(app: App, schedule: Schedule, stop: Cancel) -> turns.Outcome:
    """Run the turn of a schedule within the time that a run may take.

    The steps of a skill are instructions and not part of the request: the log would repeat them for every run. Raises
    AgentError, and UsageError when the skill no longer exists.
    """
    words, instructions = schedule.prompt, ""
    if name := schedule.skill:
        with suppress(UsageError):
            skill = skills.named(app.db, app.scope.owner, name)
            if skill.is_accepted:
                words = _SKILL_REQUEST.format(name=skill.name)
                instructions = _SKILL_INSTRUCTIONS.format(name=skill.name, steps=memory_tools.format_steps(skill))
        if not instructions:
            raise UsageError(f"there is no skill {name!r} any more; `agent skills list` shows those there are")
    if schedule.model:
        models.switch(app, schedule.model)
    cancel = Cancel()
    too_late = f"no whole answer within {TIME_LIMIT // 60} minutes; what arrived is kept"
    with ask.limited(cancel, TIME_LIMIT, too_late), stop.on_cancel(cancel):
        return turns.run_once(
            app,
            [Part(words, "schedule")],
            "schedule",
            cancel,
            title=f"scheduled: {schedule.name}",
            instructions=instructions,
            rounds=app.config.schedule_rounds,
        )


def _deliver(app: App, schedule: Schedule, answer: str, stop: Cancel) -> str:
    """Write the answer to the file or pass it to the command; where it went.

    Raises AgentError, and LostRun when another process ran it.
    """
    if not schedules.is_held(app.db, schedule):
        raise schedules.LostRun
    if schedule.target == "command":
        return pass_to_command(schedule.command, answer, stop)
    return write_file(file_path(schedule.target_path, app.time()), answer)


def _problem(outcome: turns.Outcome) -> str:
    """What the person should know about a run that gave an answer; empty when nothing."""
    problems, turn = [], outcome.transcript
    if turn.model == "offline" and turn.notices:
        problems.append(turn.notices[0])
    if outcome.refused:
        allow = "; ".join(f"agent config set rules.{name} allow" for name in outcome.refused)
        problems.append(f"refused, as nobody can be asked: {', '.join(outcome.refused)} (to allow it: {allow})")
    if turn.ended and turn.ended.stopped_by:
        problems.append(f"the turn was ended: {turn.ended.stopped_by}")
    return "; ".join(problems)


@contextmanager
def _stopping_in_order() -> Iterator[Cancel]:
    """SIGINT, SIGTERM and SIGHUP cancel the run, so that it stays due; a second Ctrl-C does not wait."""
    stop, by = Cancel(), list[int]()

    def end(number: int, _: object) -> None:
        by.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Thread(target=stop).start()  # what the handler interrupts may hold the locks that this needs

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    try:
        yield stop
    except Cancelled:
        if by and by[0] != signal.SIGINT:
            raise SystemExit(128 + by[0]) from None
        raise
