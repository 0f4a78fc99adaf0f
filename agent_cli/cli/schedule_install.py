"""`agent schedule install`: have the machine run due schedules, every minute.

It uses a timer of systemd, an agent of launchd or a line for cron, each of the person's own account. All of it is shown
before it is written, and `uninstall` removes the same.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

import typer

from agent_cli import atomic_file
from agent_cli.app.app import App
from agent_cli.cli import consent, output
from agent_cli.errors import AgentError, UsageError
from agent_cli.values import frozen

Scheduler = Literal["systemd", "launchd", "crontab"]

_NAME = "agent-cli-schedules"
_MARK = "# agent-cli schedules"  # ends our line in the crontab, so that it is found again
_VARIABLES = ("AGENT_CONFIG", "XDG_CONFIG_HOME", "OLLAMA_HOST", "TZ")  # variables of this shell that a timer would lack


@frozen
class Installation:
    """The files or the crontab to write, and the commands that enable them."""

    scheduler: Scheduler
    files: Mapping[Path, str]
    commands: Sequence[Sequence[str]]
    crontab: str | None = None  # its whole new text; None: it is not touched
    hint: str = ""

    def described(self) -> list[str]:
        lines = []
        for path, text in self.files.items():
            lines += [f"{path}:", *(f"  {line}" for line in text.splitlines())]
        if self.crontab is not None:
            lines += ["crontab:", *(f"  {line}" for line in self.crontab.splitlines() if line.endswith(_MARK))]
        return lines + [f"run: {shlex.join(command)}" for command in self.commands]


def install(
    context: typer.Context,
    by: Annotated[
        Scheduler | None, typer.Option("--by", help="What runs them; by default what the machine has.")
    ] = None,
    print_: Annotated[bool, typer.Option("--print", help="Print what would be written, and write nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Have the machine run schedules.

    By a timer of systemd, an agent of launchd or a line for cron, whichever it has.
    """
    app_: App = context.obj.app()
    installation = plan(app_, by or available_scheduler(), os.environ, shown=print_)
    for line in installation.described():
        output.say(line)
    if print_:
        return
    _confirm("install this?", yes)
    apply(installation)
    output.say(f"installed: schedules run by {installation.scheduler} (agent schedule uninstall takes it out)")
    if installation.hint:
        output.note(installation.hint)


def uninstall(yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False) -> None:
    """Remove what `install` has written."""
    found = installed(os.environ)
    if not found:
        output.note("nothing is installed that runs schedules")
        return
    for each in found:
        output.say(f"{each}: {_where(each, os.environ)}")
    _confirm("take this out?", yes)
    for each in found:
        remove(each, os.environ)
    output.say("taken out: schedules run only while `agent schedule run` does")


def available_scheduler() -> Scheduler:
    """The scheduler that this machine has. Raises UsageError where it has none."""
    if sys.platform == "darwin" and shutil.which("launchctl"):
        return "launchd"
    if shutil.which("systemctl") and _succeeds(["systemctl", "--user", "show-environment"]):
        return "systemd"
    if shutil.which("crontab"):
        return "crontab"
    raise UsageError(
        "there is no systemd for your user, no launchd and no crontab here: keep `agent schedule run` running, or have "
        "something else run `agent schedule run --due`"
    )


def plan(app: App, by: Scheduler, environ: Mapping[str, str], *, shown: bool = False) -> Installation:
    """What to write so that this program runs what is due in this database. `shown`: it is only printed."""
    command = [sys.executable, "-P", "-m", "agent_cli", "--db", str(app.path), "-q", "schedule", "run", "--due"]
    if by == "crontab" and shown:
        return _crontab(command, _environment(app, environ), ())  # other lines are not shown, and cron may be elsewhere
    return _PLANNERS[by](command, _environment(app, environ), environ)


def _environment(app: App, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment variables in effect here that a timer would not pass on."""
    names = {origin.removeprefix("environment ") for origin in app.loaded.origins.values()}
    return {
        name: value
        for name, value in sorted(environ.items())
        if value and (name in _VARIABLES or (name in names and name != "AGENT_DB"))
    }


def _systemd(command: Sequence[str], variables: Mapping[str, str], environ: Mapping[str, str]) -> Installation:
    settings = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in variables.items())
    words = " ".join(_quoted(word).replace("$", "$$") for word in command)
    service = (
        f"[Unit]\nDescription=Schedules of agent\n\n[Service]\nType=oneshot\n{settings}ExecStart={words}\n"
        "KillMode=process\nNice=10\n"  # a background process for queued jobs is not killed
    )
    timer = (
        "[Unit]\nDescription=Schedules of agent, every minute\n\n[Timer]\nOnCalendar=minutely\nAccuracySec=5s\n"
        "Persistent=true\n\n[Install]\nWantedBy=timers.target\n"
    )
    folder = _units(environ)
    return Installation(
        "systemd",
        {folder / f"{_NAME}.service": service, folder / f"{_NAME}.timer": timer},
        [["systemctl", "--user", "daemon-reload"], ["systemctl", "--user", "enable", "--now", f"{_NAME}.timer"]],
        hint="it runs while you are logged in; `loginctl enable-linger` lets it run when you are not",
    )


def _quoted(word: str) -> str:
    """A word quoted for systemd, which refuses a line end in a path anyway."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("\n", "\\n")
    return f'"{escaped}"'


def _launchd(command: Sequence[str], variables: Mapping[str, str], environ: Mapping[str, str]) -> Installation:
    import plistlib

    agent = {
        "Label": _NAME,
        "ProgramArguments": list(command),
        "EnvironmentVariables": dict(variables),
        "StartInterval": 60,
        "RunAtLoad": True,
        "ProcessType": "Background",
        "AbandonProcessGroup": True,
    }
    file = _launch_agents(environ) / f"{_NAME}.plist"
    domain = f"gui/{os.getuid()}"
    commands = [["launchctl", "bootout", f"{domain}/{_NAME}"], ["launchctl", "bootstrap", domain, str(file)]]
    return Installation("launchd", {file: plistlib.dumps(agent).decode()}, commands)


def _into_crontab(command: Sequence[str], variables: Mapping[str, str], environ: Mapping[str, str]) -> Installation:
    return _crontab(command, variables, _other_lines())


def _crontab(command: Sequence[str], variables: Mapping[str, str], others: Sequence[str]) -> Installation:
    if any("\n" in word for word in (*command, *variables.values())):
        raise UsageError("a path with a line break cannot be written to a crontab; keep the file elsewhere, with --db")
    words = [*(["env", *(f"{name}={value}" for name, value in variables.items())] if variables else []), *command]
    line = f"* * * * * {shlex.join(words)}".replace("%", r"\%")
    return Installation("crontab", {}, [], "".join(f"{each}\n" for each in (*others, f"{line} {_MARK}")))


_PLANNERS: Mapping[Scheduler, Callable[[Sequence[str], Mapping[str, str], Mapping[str, str]], Installation]] = {
    "systemd": _systemd,
    "launchd": _launchd,
    "crontab": _into_crontab,
}


def apply(installation: Installation) -> None:
    """Write and enable an installation; applying it twice changes nothing. Raises AgentError."""
    for path, text in installation.files.items():
        try:
            atomic_file.make_folder(path.parent)
            atomic_file.write(path, text.encode())
        except OSError as error:
            raise AgentError(f"{path} cannot be written: {error.strerror}") from error
    if installation.crontab is not None:
        _write_crontab(installation.crontab)
    for command in installation.commands:
        _run(command, may_fail="bootout" in command)


def installed(environ: Mapping[str, str]) -> list[Scheduler]:
    """The schedulers for which an installation was written."""
    with_files: tuple[Scheduler, ...] = ("systemd", "launchd")
    found = [each for each in with_files if _where(each, environ).exists()]
    with suppress(AgentError):  # no crontab can be read, so none of our lines is in it
        if any(line.endswith(_MARK) for line in _crontab_lines()):
            found.append("crontab")
    return found


def remove(by: Scheduler, environ: Mapping[str, str]) -> None:
    """Undo what `apply` did. Raises AgentError."""
    match by:
        case "systemd":
            _run(["systemctl", "--user", "disable", "--now", f"{_NAME}.timer"], may_fail=True)
            for suffix in ("timer", "service"):
                (_units(environ) / f"{_NAME}.{suffix}").unlink(missing_ok=True)
            _run(["systemctl", "--user", "daemon-reload"], may_fail=True)
        case "launchd":
            _run(["launchctl", "bootout", f"gui/{os.getuid()}/{_NAME}"], may_fail=True)
            (_launch_agents(environ) / f"{_NAME}.plist").unlink(missing_ok=True)
        case "crontab":
            _write_crontab("".join(f"{line}\n" for line in _other_lines()))


def _where(by: Scheduler, environ: Mapping[str, str]) -> Path:
    places = {"systemd": _units(environ) / f"{_NAME}.timer", "launchd": _launch_agents(environ) / f"{_NAME}.plist"}
    return places.get(by, Path("a line of your crontab"))


def _units(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd" / "user"


def _launch_agents(environ: Mapping[str, str]) -> Path:
    return Path.home() / "Library" / "LaunchAgents"


def _crontab_lines() -> list[str]:
    """The lines of the person's crontab. Raises AgentError where it cannot be read: it must not be overwritten."""
    ran = _completed(["crontab", "-l"])
    if ran.returncode and "no crontab" not in ran.stderr.lower():
        raise AgentError(f"your crontab cannot be read: {ran.stderr.strip() or 'crontab -l failed'}")
    return ran.stdout.splitlines() if not ran.returncode else []


def _other_lines() -> list[str]:
    return [line for line in _crontab_lines() if not line.endswith(_MARK)]


def _write_crontab(text: str) -> None:
    ran = _completed(["crontab", "-"], text)
    if ran.returncode:
        raise AgentError(f"your crontab was not changed: {ran.stderr.strip() or 'crontab failed'}")


def _run(command: Sequence[str], *, may_fail: bool = False) -> None:
    ran = _completed(command)
    if ran.returncode and not may_fail:
        raise AgentError(f"`{shlex.join(command)}` failed: {ran.stderr.strip() or f'it ended with {ran.returncode}'}")


def _completed(command: Sequence[str], given: str = "") -> "subprocess.CompletedProcess[str]":
    """The completed process. Raises AgentError when the command cannot be run."""
    try:
        return subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    except OSError as error:
        raise AgentError(f"{command[0]} cannot be run: {error.strerror}") from error


def _succeeds(command: Sequence[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=5).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _confirm(question: str, yes: bool) -> None:
    """Ask for a yes. Raises AgentError without one."""
    if yes:
        return
    if not consent.is_possible():
        raise UsageError("nothing was changed: look at it with --print, then say --yes, or run it at a terminal")
    if consent.answer(f"{question} type yes: ") != "yes":
        raise AgentError("nothing was changed")
