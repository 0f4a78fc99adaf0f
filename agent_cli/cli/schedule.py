"""`agent schedule`: prompts and skills that run by the clock, and what of the machine runs them, every minute.

`install` sets up a timer of systemd, an agent of launchd or a line for cron, each of the person's own account. All of
it is shown before it is written, and `uninstall` removes the same.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument

from agent_cli import atomic_file, text
from agent_cli.app.app import App
from agent_cli.cli import consent, output, schedule_run
from agent_cli.cli import skills as skill_commands
from agent_cli.cli.invocation import Decision, noun
from agent_cli.cli.options import AsJson, Hidden, Yes, argument, flag, option
from agent_cli.errors import AgentError, UsageError
from agent_cli.memory.planner import schedules
from agent_cli.store import ids
from agent_cli.values import frozen

_HELP = """Run prompts and skills by the clock.

No conversation runs them, however long it is open: `agent schedule run` does while it stays in the foreground, or a
timer of your machine, which `agent schedule install` sets up."""
_TO_COMMAND = "--to-command"
_RUNNER_SEEN = timedelta(minutes=10)  # a runner that works has looked within this time

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
    when: list[str] = argument('In words, as in "every day at 7"; five fields of cron; or a name as @daily.'),
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
        found = skill_commands.find_skill(app_, skill)
        if not found.is_accepted:
            state = "hidden" if found.hidden_at else found.state
            way = " (agent skills review)" if state == "pending" else ""
            raise UsageError(f"{found.handle} {found.name} is {state}: only a skill you said yes to can be run{way}")
        skill = found.name
    target, where = schedule_run.choose(to_file, to_command or (), to_note)
    added = schedules.add(
        app_.db,
        app_.scope,
        schedules.from_words(" ".join(when), app_.time()),
        app_.time,
        zone=schedules.machine_zone(),
        prompt=prompt,
        skill=skill,
        model=model,
        target=target,
        target_path=where,
    )
    output.say(f"added {_short(added)}: {schedules.explain(added.cron)}, next {_when(added.next_at, added)}")
    _warn_unless_run(app_, [added])


@app.command("list")
def list_(app_: App, as_json: AsJson = False, hidden: Hidden = False) -> None:
    """List schedules, the next one first."""
    found = schedules.listing(app_.db, app_.scope.owner, hidden=hidden)
    output.listing(
        found,
        as_json,
        schedules.Schedule.describe,
        lambda each: {
            "id": each.handle,
            "cron": each.cron,
            "next": _state(each, app_.time()),
            "what": each.name,
            "last": _last(each),
        },
        "there are no such schedules" if hidden else "there are no schedules; `agent schedule add` adds one",
    )
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
        "when": f"{each.cron} ({schedules.explain(each.cron)}, {each.zone})",
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


@app.command(cls=Decision)
def rm(app_: App, handles: ScheduleHandles) -> None:
    """Hide schedules, which run no more; `restore` brings them back."""
    _change(app_, handles, "hidden")


@app.command(cls=Decision)
def restore(app_: App, handles: ScheduleHandles) -> None:
    """Bring hidden schedules back."""
    _change(app_, handles, "restored")


@app.command()
def pause(app_: App, handles: ScheduleHandles) -> None:
    """Pause schedules until `resume`."""
    _change(app_, handles, "paused")


@app.command(cls=Decision)
def resume(app_: App, handles: ScheduleHandles) -> None:
    """Let schedules run again; missed runs are not made up."""
    _change(app_, handles, "resumed")


def _change(app_: App, handles: list[str], done: Literal["hidden", "restored", "paused", "resumed"]) -> None:
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


app.command(cls=Decision)(schedule_run.run)


def _schedule(app_: App, handle: str) -> schedules.Schedule:
    return schedules.get(app_.db, ids.number("schedule", handle), app_.scope.owner)


def _short(each: schedules.Schedule) -> str:
    return f"{each.handle} “{text.one_line(each.name, 60)}”"


def _when(stored: str, each: schedules.Schedule) -> str:
    return f"{schedules.to_zone(stored, each.zone):%a %Y-%m-%d %H:%M}"


def _state(each: schedules.Schedule, now: datetime) -> str:
    if each.paused_at:
        return "paused"
    if each.running:
        return "running"
    missed = datetime.fromisoformat(each.next_at) <= now
    return f"{_when(each.next_at, each)}{' (due)' if missed else ''}"


def _last(each: schedules.Schedule) -> str:
    return f"{_when(each.last_at, each)}: {each.error or 'went well'}" if each.last_at else "not run yet"


def _warn_unless_run(app_: App, found: list[schedules.Schedule]) -> None:
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
        since = f"{schedules.to_zone(last.isoformat(), schedules.machine_zone()):%Y-%m-%d %H:%M}"
        output.note(f"{by[0]} is to run schedules, and has not looked since {since}: is it running?")


Scheduler = Literal["systemd", "launchd", "crontab"]

_NAME = "agent-cli-schedules"
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


@frozen
class _Installation:
    """The files or the crontab to write, and the commands that enable them."""

    scheduler: Scheduler
    files: Mapping[Path, str]
    commands: Sequence[Sequence[str]]
    crontab: str | None = None  # its whole new text; None: it is not touched
    hint: str = ""

    def described(self) -> list[str]:
        lines = []
        for path, words in self.files.items():
            lines += [f"{path}:", *(f"  {line}" for line in words.splitlines())]
        if self.crontab is not None:
            lines += ["crontab:", *(f"  {line}" for line in self.crontab.splitlines() if line.endswith(_MARK))]
        return lines + [f"run: {shlex.join(command)}" for command in self.commands]


@app.command(cls=Decision)
def install(
    app_: App,
    by: Scheduler | None = option("--by", "What runs them; by default what the machine has."),
    print_: bool = flag("--print", "Print what would be written, and write nothing."),
    yes: Yes = False,
) -> None:
    """Have the machine run schedules.

    By a timer of systemd, an agent of launchd or a line for cron, whichever it has.
    """
    installation = _plan(app_, by or _available_scheduler(), shown=print_)
    output.lines(installation.described())
    if print_:
        return
    if not yes:
        consent.confirm("install this?", "nothing was changed", "--print")
    for path, words in installation.files.items():
        try:
            atomic_file.make_folder(path.parent)
            atomic_file.write(path, words.encode())
        except OSError as error:
            raise AgentError(f"{path} cannot be written: {error.strerror}") from error
    if installation.crontab is not None:
        _write_crontab(installation.crontab)
    for command in installation.commands:
        _run(command, may_fail="bootout" in command)
    output.say(f"installed: schedules run by {installation.scheduler} (agent schedule uninstall takes it out)")
    if installation.hint:
        output.note(installation.hint)


@app.command(cls=Decision)
def uninstall(yes: Yes = False) -> None:
    """Remove what `install` has written."""
    found = _installed()
    if not found:
        output.note("nothing is installed that runs schedules")
        return
    places = {each: files[-1] for each, files in _files().items()}
    output.lines(f"{each}: {places.get(each, 'a line of your crontab')}" for each in found)
    if not yes:
        consent.confirm("take this out?", "nothing was changed", "--print")
    for each in found:
        if each == "systemd":
            _run(["systemctl", "--user", "disable", "--now", f"{_NAME}.timer"], may_fail=True)
        elif each == "launchd":
            _run(["launchctl", "bootout", f"gui/{os.getuid()}/{_NAME}"], may_fail=True)
        else:
            _write_crontab("".join(f"{line}\n" for line in _other_lines()))
        for file in _files().get(each, ()):
            file.unlink(missing_ok=True)
        if each == "systemd":
            _run(["systemctl", "--user", "daemon-reload"], may_fail=True)
    output.say("taken out: schedules run only while `agent schedule run` does")


def _available_scheduler() -> Scheduler:
    """The scheduler that this machine has. Raises UsageError where it has none."""
    if sys.platform == "darwin" and shutil.which("launchctl"):
        return "launchd"
    with suppress(OSError, subprocess.SubprocessError):
        asked = ["systemctl", "--user", "show-environment"]
        if shutil.which("systemctl") and not subprocess.run(asked, capture_output=True, timeout=5).returncode:
            return "systemd"
    if shutil.which("crontab"):
        return "crontab"
    raise UsageError(
        "there is no systemd for your user, no launchd and no crontab here: keep `agent schedule run` running, or have "
        "something else run `agent schedule run --due`"
    )


def _plan(app_: App, by: Scheduler, *, shown: bool) -> _Installation:
    """What to write so that this program runs what is due in this database. `shown`: it is only printed."""
    command = [sys.executable, "-P", "-m", "agent_cli", "--db", str(app_.path), "-q", "schedule", "run", "--due"]
    names = {origin.removeprefix("environment ") for origin in app_.loaded.origins.values()}
    variables = {  # in effect here, and not passed on by a timer
        name: value
        for name, value in sorted(os.environ.items())
        if value and (name in _VARIABLES or (name in names and name != "AGENT_DB"))
    }
    match by:
        case "systemd":
            service, timer = _files()[by]
            settings = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in variables.items())
            words = " ".join(_quoted(word).replace("$", "$$") for word in command)
            return _Installation(
                by,
                {service: _SERVICE.format(settings=settings, command=words), timer: _TIMER},
                [["systemctl", "--user", "daemon-reload"], ["systemctl", "--user", "enable", "--now", timer.name]],
                hint="it runs while you are logged in; `loginctl enable-linger` lets it run when you are not",
            )
        case "launchd":
            import plistlib

            agent = {
                "Label": _NAME,
                "ProgramArguments": command,
                "EnvironmentVariables": variables,
                "StartInterval": 60,
                "RunAtLoad": True,
                "ProcessType": "Background",
                "AbandonProcessGroup": True,
            }
            (file,), domain = _files()[by], f"gui/{os.getuid()}"
            commands = [["launchctl", "bootout", f"{domain}/{_NAME}"], ["launchctl", "bootstrap", domain, str(file)]]
            return _Installation(by, {file: plistlib.dumps(agent).decode()}, commands)
        case "crontab":
            # Of what is only printed other lines are not shown, and cron may be elsewhere.
            return _Installation(by, {}, [], _crontab(command, variables, () if shown else _other_lines()))


def _quoted(word: str) -> str:
    """A word quoted for systemd, which refuses a line end in a path anyway."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("\n", "\\n")
    return f'"{escaped}"'


def _crontab(command: Sequence[str], variables: Mapping[str, str], others: Iterable[str]) -> str:
    if any("\n" in word for word in (*command, *variables.values())):
        raise UsageError("a path with a line break cannot be written to a crontab; keep the file elsewhere, with --db")
    words = [*(["env", *(f"{name}={value}" for name, value in variables.items())] if variables else []), *command]
    line = f"* * * * * {shlex.join(words)}".replace("%", r"\%")
    return "".join(f"{each}\n" for each in (*others, f"{line} {_MARK}"))


def _files() -> dict[Scheduler, list[Path]]:
    """The files of an installation; where one stands last."""
    units = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd" / "user"
    return {
        "systemd": [units / f"{_NAME}.service", units / f"{_NAME}.timer"],
        "launchd": [Path.home() / "Library" / "LaunchAgents" / f"{_NAME}.plist"],
    }


def _installed() -> list[Scheduler]:
    found = [each for each, files in _files().items() if files[-1].exists()]
    with suppress(AgentError):  # no crontab can be read, so none of our lines is in it
        if any(line.endswith(_MARK) for line in _crontab_lines()):
            found.append("crontab")
    return found


def _crontab_lines() -> list[str]:
    """The lines of the person's crontab. Raises AgentError where it cannot be read: it must not be overwritten."""
    ran = _completed(["crontab", "-l"])
    if ran.returncode and "no crontab" not in ran.stderr.lower():
        raise AgentError(f"your crontab cannot be read: {ran.stderr.strip() or 'crontab -l failed'}")
    return ran.stdout.splitlines() if not ran.returncode else []


def _other_lines() -> list[str]:
    return [line for line in _crontab_lines() if not line.endswith(_MARK)]


def _write_crontab(words: str) -> None:
    ran = _completed(["crontab", "-"], words)
    if ran.returncode:
        raise AgentError(f"your crontab was not changed: {ran.stderr.strip() or 'crontab failed'}")


def _run(command: Sequence[str], *, may_fail: bool = False) -> None:
    ran = _completed(command)
    if ran.returncode and not may_fail:
        raise AgentError(f"`{shlex.join(command)}` failed: {ran.stderr.strip() or f'it ended with {ran.returncode}'}")


def _completed(command: Sequence[str], given: str = "") -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    except OSError as error:
        raise AgentError(f"{command[0]} cannot be run: {error.strerror}") from error
