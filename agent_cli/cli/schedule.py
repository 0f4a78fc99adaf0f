"""`agent schedule`: prompts and skills that run by the clock, and what of the machine runs them, every minute.

Each due run is made once, even when several processes do it, and is due until its answer was delivered. A note is
written in the transaction that marks the run as done; a command may get an answer twice, after a process was killed.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument

from agent_cli import atomic_file, text
from agent_cli.agent.jobs.worker import TIME_LIMIT
from agent_cli.app import background, models, turns
from agent_cli.app.app import App
from agent_cli.cli import ask, consent, output
from agent_cli.cli.invocation import Invocation
from agent_cli.cli.options import AsJson, Decision, Hidden, Yes, argument, flag, noun, option
from agent_cli.errors import AgentError, Cancelled, StoreBusy, UsageError
from agent_cli.llm.model import Cancel
from agent_cli.memory.dates import moments
from agent_cli.memory.planner import notes, schedules
from agent_cli.memory.planner.schedules import Schedule, Target
from agent_cli.memory.skills import skills
from agent_cli.messages import Failure, Part
from agent_cli.repl import reminders
from agent_cli.store import ids
from agent_cli.tools import memory_tools

_HELP = """Run prompts and skills by the clock.

No conversation runs them, however long it is open: `agent schedule run` does while it stays in the foreground, or a
timer of your machine, which `agent schedule install` sets up."""
_TO_COMMAND = "--to-command"
_RUNNER_SEEN = timedelta(minutes=10)  # a runner that works has looked within this time
COMMAND_SECONDS = 120.0  # that a command may take
_STDERR_BYTES = 2000  # read of the errors of a command
_PAUSE = 20.0  # seconds between checks: a schedule may be added, or the clock be set
_BUSY_PAUSE = 5.0  # seconds between checks while another process runs what is due
_IDLE = 20.0  # seconds without a running schedule before queued jobs go on
_SKILL_REQUEST = "Carry out the skill {name} now."
_SKILL_INSTRUCTIONS = (
    "The skill {name}; answer with what it gives and nothing else, and ask nothing, since nobody is there:\n\n{steps}"
)

app = noun(_HELP)

ScheduleHandle = Annotated[str, Argument(help="The schedule's handle, as in c3.")]
ScheduleHandles = Annotated[list[str], Argument(metavar="HANDLE...")]


class _AddCommand(Decision):
    """Takes all arguments after --to-command as the command, including options."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        if _TO_COMMAND in args:
            at = args.index(_TO_COMMAND)
            command = args[at + 1 :] or [""]
            args = [*args[:at], *(f"{_TO_COMMAND}={word}" for word in command)]
        return super().parse_args(ctx, args)


@app.command(cls=_AddCommand)
def add(
    app_: App,
    when: list[str] = argument(
        'In words, as in "every day at 7"; five fields of cron; or a name as @daily. The prompt may follow.',
        metavar="WHEN [PROMPT]",
    ),
    prompt: str = option("--prompt", "What is asked each time.", ""),
    skill: str = option("--skill", "The skill to carry out, instead of a prompt.", ""),
    model: str = option("-m, --model", "The model that answers; by default that of the settings.", ""),
    to_note: bool = flag("--to-note", "Keep each answer as a note (the default)."),
    to_file: str = option("--to-file", "Write it to a file; ~ and dates as %Y-%m-%d are filled in.", ""),
    to_command: list[str] | None = option(
        _TO_COMMAND, "Pass it to a command; must be the last option.", metavar="CMD ARGS..."
    ),
) -> None:
    """Add a schedule.

    Times are those of the machine's clock. Missed runs are made up by a single one.
    """
    if skill:
        found = skills.named(app_.db, app_.scope.owner, skill)
        if not found.is_accepted:
            state = "hidden" if found.hidden_at else found.state
            way = " (agent skills review)" if state == "pending" else ""
            raise UsageError(f"{found.handle} {found.name} is {state}: only a skill you said yes to can be run{way}")
        skill = found.name
    if not (prompt or skill) and (" " in when[0] or when[0].startswith("@")):
        when, prompt = when[:1], " ".join(when[1:])
    target, where = choose(to_file, to_command or (), to_note)
    cron, zone = schedules.from_words(" ".join(when), app_.time()), moments.local_zone()
    what = {"zone": zone, "prompt": prompt, "skill": skill, "model": model, "target_path": where}
    added = schedules.add(app_.db, app_.scope, cron, app_.time, target=target, **what)
    output.say(f"added {_short(added)}: {schedules.explain(added.cron)}, next {_when(added.next_at, added)}")
    _warn_unless_run(app_, [added])


@app.command("list")
def list_(app_: App, as_json: AsJson = False, hidden: Hidden = False) -> None:
    """List schedules, the next one first."""
    found = schedules.listing(app_.db, app_.scope.owner, hidden=hidden)

    def row(each: Schedule) -> tuple[str, ...]:
        return each.handle, each.cron, _state(each, app_.time()), each.name, _last(each)

    empty = "there are no such schedules" if hidden else "there are no schedules; `agent schedule add` adds one"
    output.listing(found, as_json, Schedule.describe, "id cron next what last", row, empty)
    if not (as_json or hidden):
        _warn_unless_run(app_, found)


@app.command()
def show(app_: App, handle: ScheduleHandle, as_json: AsJson = False) -> None:
    """Show a schedule whole."""
    each = _schedule(app_, handle)
    if as_json:
        output.put_json(each.describe())
        return
    targets = {"file": f"the file {each.target_path}", "command": f"the command {shlex.join(each.command)}"}
    rows = {
        "schedule": each.handle,
        "when": f"{each.cron} ({schedules.explain(each.cron)}, {each.zone or 'local time'})",
        "next": _state(each, app_.time()),
        "skill": each.skill,
        "prompt": text.clean(each.prompt),
        "model": each.model,
        "to": targets.get(each.target, "a note"),
        "place": each.place,
        "last": _last(each),
        "session": each.describe()["last_session"],
    }
    output.fields(((name, value) for name, value in rows.items() if value), 8)


_CHANGES: tuple[tuple[str, schedules.Change, str], ...] = (
    ("rm", "hidden", "Hide schedules, which run no more; `restore` brings them back."),
    ("restore", "restored", "Bring hidden schedules back."),
    ("pause", "paused", "Pause schedules until `resume`."),
    ("resume", "resumed", "Let schedules run again; missed runs are not made up."),
)


def _change(done: schedules.Change, app_: App, handles: ScheduleHandles) -> None:
    """Change schedules, and say when each runs next or what takes the change back."""
    back = {"hidden": "restore", "paused": "resume"}.get(done)
    for each in [_schedule(app_, handle) for handle in dict.fromkeys(handles)]:
        faults = {
            "hidden": each.hidden_at and "is hidden already",
            "restored": not each.hidden_at and "is not hidden",
            "resumed": not each.paused_at and "is not paused",
        }
        if fault := faults.get(done):
            raise UsageError(f"{each.handle} {fault}")
        now = schedules.change(app_.db, each, done, app_.time)
        then = f" (agent schedule {back} {each.handle})" if back else f", next {_state(now, app_.time())}"
        output.say(f"{done} {_short(now)}{then}")


for _name, _done, _help in _CHANGES:
    app.command(_name, help=_help, decides=_name != "pause")(partial(_change, _done))


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
            reason = text.one_line(errors.read(_STDERR_BYTES).decode("utf-8", "replace"), 500) or "it gave no reason"
            raise AgentError(f"{name} ended with {process.returncode}: {reason}")
    return name


def _schedule(app_: App, handle: str) -> Schedule:
    return schedules.get(app_.db, ids.number("schedule", handle), app_.scope.owner)


def _short(each: Schedule) -> str:
    return f"{each.handle} “{text.one_line(each.name, 60)}”"


def _when(stored: str, each: Schedule) -> str:
    return f"{schedules.to_zone(stored, each.zone):%a %Y-%m-%d %H:%M}"


def _state(each: Schedule, now: datetime) -> str:
    if each.paused_at:
        return "paused"
    if each.running:
        return "running"
    return f"{_when(each.next_at, each)}{' (due)' if datetime.fromisoformat(each.next_at) <= now else ''}"


def _last(each: Schedule) -> str:
    return f"{_when(each.last_at, each)}: {each.error or 'went well'}" if each.last_at else "not run yet"


def _warn_unless_run(app_: App, found: list[Schedule]) -> None:
    """Print a note when schedules wait and nothing runs them."""
    last = schedules.last_look(app_.db)
    seen = last is not None and abs(app_.time() - last) <= _RUNNER_SEEN
    if seen or not any(each.paused_at is None for each in found) or any(each.running for each in found):
        return
    by = _installed()
    if not by:
        how = "`agent schedule install` has your machine do it, `agent schedule run` does"
        output.note(f"nothing runs schedules: {how}")
    elif last is not None:
        since = f"{schedules.to_zone(last.isoformat(), moments.local_zone()):%Y-%m-%d %H:%M}"
        output.note(f"{by[0]} is to run schedules, and has not looked since {since}: is it running?")


@app.command(decides=True)
def run(
    invocation: Invocation,
    handle: str | None = argument("Run this one at once, as in c3, and exit.", None, metavar="[SCHEDULE]"),
    due: bool = flag("--due", "Run what is due, and exit."),
) -> None:
    """Run schedules as they fall due, until it is stopped.

    Queued jobs run between them.
    """
    app_ = invocation.app()
    if due and handle:
        raise UsageError("--due and a schedule exclude each other: run what is due, or one at once")
    stop = Cancel()  # what is cancelled stays due
    signals = ask.cancel_on(stop, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    try:
        if handle:
            _run_one(app_, invocation, handle, stop)
        elif not due:
            _run_continuously(app_, invocation, stop)
        else:
            went_well = _run_due(app_, invocation, stop)
            if failed := went_well.count(False):  # so that a timer shows a failed command
                raise AgentError(f"{failed} of {len(went_well)} failed; `agent schedule list` says why")
            if not went_well:
                invocation.note("nothing is due")
            background.start(app_)
    except Cancelled:
        if signals and signals[0] != signal.SIGINT:
            raise SystemExit(128 + signals[0]) from None
        raise


def _run_due(app: App, invocation: Invocation, stop: Cancel) -> list[bool]:
    """Run all that is due; for each run whether it went well. Raises Cancelled."""
    owner, went_well = app.scope.owner, []
    schedules.record_look(app.db, app.time())
    schedules.change_zone(app.db, owner, moments.local_zone(), app.time())
    if app.config.remind_command:  # else a reminder would count as shown though nobody saw it
        reminders.claim_due(app)
    while claimed := schedules.claim(app.db, owner, app.time()):
        error = _carry_out(app, invocation, claimed, stop)
        if error:
            invocation.note(Failure(f"{_short(claimed)} failed: {error}"))
        went_well.append(error is None)
    return went_well


def _run_one(app: App, invocation: Invocation, handle: str, stop: Cancel) -> None:
    wanted = _schedule(app, handle)
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


def _run_turn(app: App, schedule: Schedule, stop: Cancel) -> turns.Outcome:
    """Run the turn of a schedule within its time. Raises AgentError, and UsageError when the skill no longer exists."""
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
    with cancel.limited(TIME_LIMIT, too_late), stop.on_cancel(cancel):
        asked, title, rounds = [Part(words, "schedule")], f"scheduled: {schedule.name}", app.config.schedule_rounds
        return turns.run_once(app, asked, "schedule", cancel, title=title, instructions=instructions, rounds=rounds)


def _deliver(app: App, schedule: Schedule, answer: str, stop: Cancel) -> str:
    """Write the answer to the file or pass it to the command; where it went. Raises AgentError and LostRun."""
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


Scheduler = Literal["systemd", "crontab"]

_NAME = "agent-cli-schedules"
_SYSTEMCTL = ("systemctl", "--user")
_MARK = "# agent-cli schedules"  # ends our line in the crontab, so that it is found again
_VARIABLES = ("AGENT_CONFIG", "XDG_CONFIG_HOME", "OLLAMA_HOST", "TZ")  # variables of this shell that a timer would lack
_TIMER = """\
[Unit]
Description=Schedules of agent, every minute

[Timer]
OnCalendar=minutely
AccuracySec=5s
Persistent=true

[Install]
WantedBy=timers.target
"""
_SERVICE = """\
[Unit]
Description=Schedules of agent

[Service]
Type=oneshot
{settings}ExecStart={command}
KillMode=process
Nice=10
"""  # KillMode: a background process for queued jobs is not killed


@app.command(decides=True)
def install(
    app_: App,
    by: Scheduler | None = option("--by", "What runs them; by default what the machine has."),
    print_: bool = flag("--print", "Print what would be written, and write nothing."),
    yes: Yes = False,
) -> None:
    """Have the machine run schedules.

    By a timer of systemd or a line for cron, whichever it has.
    """
    by = by or _available_scheduler()
    command = [sys.executable, "-P", "-m", "agent_cli", "--db", str(app_.path), "-q", "schedule", "run", "--due"]
    names = {origin.removeprefix("environment ") for origin in app_.loaded.origins.values()}
    variables = {  # in effect here, and not passed on by a timer
        name: value
        for name, value in sorted(os.environ.items())
        if value and (name in _VARIABLES or (name in names and name != "AGENT_DB"))
    }
    if by == "systemd":
        service, timer = _units()
        settings = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in variables.items())
        words = " ".join(_quoted(word).replace("$", "$$") for word in command)
        files = {service: _SERVICE.format(settings=settings, command=words), timer: _TIMER}
        for path, words in files.items():
            output.lines([f"{path}:", *(f"  {line}" for line in words.splitlines())])
        output.lines(f"run: systemctl --user {each}" for each in ("daemon-reload", f"enable --now {timer.name}"))
    else:
        line = _crontab_line(command, variables)
        output.lines(["crontab:", f"  {line}"])
    if print_:
        return
    if not yes:
        consent.confirm("install this?", "nothing was changed", "--print")
    if by == "systemd":
        for path, words in files.items():
            write_file(path, words.rstrip("\n"))
        _completed([*_SYSTEMCTL, "daemon-reload"])
        _completed([*_SYSTEMCTL, "enable", "--now", timer.name])
    else:
        _completed(["crontab", "-"], f"{_other_lines()}{line}\n")
    output.say(f"installed: schedules run by {by} (agent schedule uninstall takes it out)")
    if by == "systemd":
        output.note("it runs while you are logged in; `loginctl enable-linger` lets it run when you are not")


@app.command(decides=True)
def uninstall(yes: Yes = False) -> None:
    """Remove what `install` has written."""
    found = _installed()
    if not found:
        output.note("nothing is installed that runs schedules")
        return
    output.lines(f"{each}: {_units()[-1] if each == 'systemd' else 'a line of your crontab'}" for each in found)
    if not yes:
        consent.confirm("take this out?", "nothing was changed", look="")
    if "systemd" in found:
        _completed([*_SYSTEMCTL, "disable", "--now", _units()[-1].name], may_fail=True)
        for file in _units():
            file.unlink(missing_ok=True)
        _completed([*_SYSTEMCTL, "daemon-reload"], may_fail=True)
    if "crontab" in found:
        _completed(["crontab", "-"], _other_lines())
    output.say("taken out: schedules run only while `agent schedule run` does")


def _available_scheduler() -> Scheduler:
    """The scheduler that this machine has. Raises UsageError where it has none."""
    with suppress(OSError, subprocess.SubprocessError):
        asked = [*_SYSTEMCTL, "show-environment"]
        if shutil.which(asked[0]) and not subprocess.run(asked, capture_output=True, timeout=5).returncode:
            return "systemd"
    if shutil.which("crontab"):
        return "crontab"
    raise UsageError(
        "there is no systemd for your user and no crontab here: keep `agent schedule run` running, or have "
        "something else run `agent schedule run --due`"
    )


def _quoted(word: str) -> str:
    """A word quoted for systemd, which refuses a line end in a path anyway."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("\n", "\\n")
    return f'"{escaped}"'


def _crontab_line(command: Sequence[str], variables: Mapping[str, str]) -> str:
    if any("\n" in word for word in (*command, *variables.values())):
        raise UsageError("a path with a line break cannot be written to a crontab; keep the file elsewhere, with --db")
    words = [*(["env", *(f"{name}={value}" for name, value in variables.items())] if variables else []), *command]
    return f"* * * * * {shlex.join(words)}".replace("%", r"\%") + f" {_MARK}"


def _units() -> list[Path]:
    """The service of systemd and its timer."""
    units = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd" / "user"
    return [units / f"{_NAME}.service", units / f"{_NAME}.timer"]


def _installed() -> list[Scheduler]:
    found: list[Scheduler] = ["systemd"] if _units()[-1].exists() else []
    with suppress(AgentError):  # no crontab can be read, so none of our lines is in it
        if any(line.endswith(_MARK) for line in _crontab_lines()):
            found.append("crontab")
    return found


def _crontab_lines() -> list[str]:
    """The lines of the person's crontab. Raises AgentError where it cannot be read: it must not be overwritten."""
    ran = _completed(["crontab", "-l"], may_fail=True)
    if ran.returncode and "no crontab" not in ran.stderr.lower():
        raise AgentError(f"your crontab cannot be read: {ran.stderr.strip() or 'crontab -l failed'}")
    return ran.stdout.splitlines() if not ran.returncode else []


def _other_lines() -> str:
    return "".join(f"{line}\n" for line in _crontab_lines() if not line.endswith(_MARK))


def _completed(command: Sequence[str], given: str = "", may_fail: bool = False) -> "subprocess.CompletedProcess[str]":
    try:
        ran = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    except OSError as error:
        raise AgentError(f"{command[0]} cannot be run: {error.strerror}") from error
    if ran.returncode and not may_fail:
        raise AgentError(f"`{shlex.join(command)}` failed: {ran.stderr.strip() or f'it ended with {ran.returncode}'}")
    return ran
