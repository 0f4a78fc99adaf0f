"""`agent schedule`: prompts and skills that run by the clock."""

import os
import shlex
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from agent_cli import text
from agent_cli.app.app import App
from agent_cli.cli import output, schedule_install, schedule_run
from agent_cli.cli import skills as skill_commands
from agent_cli.cli.invocation import AsJson, Decision, Noun
from agent_cli.errors import UsageError
from agent_cli.memory.planner import schedules
from agent_cli.memory.planner.schedules import Schedule
from agent_cli.store import ids

_HELP = """Run prompts and skills by the clock.

No conversation runs them, however long it is open: `agent schedule run` does while it stays in the foreground, or a
timer of your machine, which `agent schedule install` sets up."""
_TO_COMMAND = "--to-command"
_RUNNER_SEEN = timedelta(minutes=10)  # a runner that works has looked within this time

app = typer.Typer(cls=Noun, add_completion=False, rich_markup_mode=None, help=_HELP)

ScheduleHandle = Annotated[str, typer.Argument(help="The schedule's handle, as in c3.")]
ScheduleHandles = Annotated[list[str], typer.Argument(metavar="HANDLE...")]


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
    context: typer.Context,
    when: Annotated[
        list[str], typer.Argument(help='In words, as in "every day at 7"; five fields of cron; or a name as @daily.')
    ],
    prompt: Annotated[str, typer.Option("--prompt", help="What is asked each time.")] = "",
    skill: Annotated[str, typer.Option("--skill", help="The skill to carry out, instead of a prompt.")] = "",
    model: Annotated[
        str, typer.Option("-m", "--model", help="The model that answers; by default that of the settings.")
    ] = "",
    to_note: Annotated[bool, typer.Option("--to-note", help="Keep each answer as a note (the default).")] = False,
    to_file: Annotated[
        str, typer.Option("--to-file", help="Write it to a file; ~ and dates as %Y-%m-%d are filled in.")
    ] = "",
    to_command: Annotated[
        list[str] | None,
        typer.Option(_TO_COMMAND, metavar="CMD ARGS...", help="Pass it to a command; must be the last option."),
    ] = None,
) -> None:
    """Add a schedule.

    Times are those of the machine's clock. Missed runs are made up by a single one.
    """
    app_: App = context.obj.app()
    if skill:
        skill = _skill(app_, skill)
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
def list_(
    context: typer.Context,
    as_json: AsJson = False,
    hidden: Annotated[bool, typer.Option("--hidden", help="Those that `rm` has hidden.")] = False,
) -> None:
    """List schedules, the next one first."""
    app_: App = context.obj.app()
    found = schedules.listing(app_.db, app_.scope.owner, hidden=hidden)
    if as_json:
        output.put_json([each.describe() for each in found])
        return
    rows = [
        {
            "id": each.handle,
            "cron": each.cron,
            "next": _state(each, app_.time()),
            "what": each.name,
            "last": _last(each),
        }
        for each in found
    ]
    empty = "there are no such schedules" if hidden else "there are no schedules; `agent schedule add` adds one"
    output.listing(rows, ("id", "cron", "next", "what", "last"), as_json=False, empty=empty)
    _warn_unless_run(app_, [] if hidden else found)


@app.command()
def show(context: typer.Context, handle: ScheduleHandle, as_json: AsJson = False) -> None:
    """Show a schedule whole."""
    each = _schedule(context.obj.app(), handle)
    if as_json:
        output.put_json(each.describe())
        return
    rows = {
        "schedule": each.handle,
        "when": f"{each.cron} ({schedules.explain(each.cron)}, {each.zone})",
        "next": _state(each, context.obj.app().time()),
        "skill": each.skill,
        "prompt": text.clean(each.prompt),
        "model": each.model,
        "to": _target(each),
        "place": each.place,
        "last": _last(each),
        "session": each.describe()["last_session"] or "",
    }
    for name, value in rows.items():
        if value:
            output.say(f"{name:<8} {value}")


@app.command(cls=Decision)
def rm(context: typer.Context, handles: ScheduleHandles) -> None:
    """Hide schedules, which run no more; `restore` brings them back."""
    for each in _schedules(context, handles):
        if each.hidden_at:
            raise UsageError(f"{each.handle} is hidden already")
        schedules.hide(context.obj.app().db, each, context.obj.app().time)
        output.say(f"hidden {_short(each)} (agent schedule restore {each.handle})")


@app.command(cls=Decision)
def restore(context: typer.Context, handles: ScheduleHandles) -> None:
    """Bring hidden schedules back."""
    for each in _schedules(context, handles):
        if not each.hidden_at:
            raise UsageError(f"{each.handle} is not hidden")
        back = schedules.restore(context.obj.app().db, each, context.obj.app().time)
        output.say(f"restored {_short(back)}, next {_state(back, context.obj.app().time())}")


@app.command()
def pause(context: typer.Context, handles: ScheduleHandles) -> None:
    """Pause schedules until `resume`."""
    for each in _schedules(context, handles):
        schedules.pause(context.obj.app().db, each, context.obj.app().time)
        output.say(f"paused {_short(each)} (agent schedule resume {each.handle})")


@app.command(cls=Decision)
def resume(context: typer.Context, handles: ScheduleHandles) -> None:
    """Let schedules run again; missed runs are not made up."""
    for each in _schedules(context, handles):
        if not each.paused_at:
            raise UsageError(f"{each.handle} is not paused")
        back = schedules.resume(context.obj.app().db, each, context.obj.app().time)
        output.say(f"resumed {_short(back)}, next {_state(back, context.obj.app().time())}")


app.command(cls=Decision)(schedule_run.run)
app.command(cls=Decision)(schedule_install.install)
app.command(cls=Decision)(schedule_install.uninstall)


def _skill(app_: App, name: str) -> str:
    """The name of an accepted skill. Raises UsageError when there is none."""
    skill = skill_commands.find_skill(app_, name)
    if not skill.is_accepted:
        state = "hidden" if skill.hidden_at else skill.state
        way = " (agent skills review)" if state == "pending" else ""
        raise UsageError(f"{skill.handle} {skill.name} is {state}: only a skill you said yes to can be run{way}")
    return skill.name


def _schedule(app_: App, handle: str) -> Schedule:
    return schedules.get(app_.db, ids.number("schedule", handle), app_.scope.owner)


def _schedules(context: typer.Context, handles: list[str]) -> list[Schedule]:
    return [_schedule(context.obj.app(), handle) for handle in dict.fromkeys(handles)]


def _short(each: Schedule) -> str:
    return f"{each.handle} “{text.one_line(each.name, 60)}”"


def _target(each: Schedule) -> str:
    match each.target:
        case "file":
            return f"the file {each.target_path}"
        case "command":
            return f"the command {shlex.join(each.command)}"
        case _:
            return "a note"


def _when(stored: str, each: Schedule) -> str:
    return f"{schedules.to_zone(stored, each.zone):%a %Y-%m-%d %H:%M}"


def _state(each: Schedule, now: datetime) -> str:
    if each.paused_at:
        return "paused"
    if each.running:
        return "running"
    missed = datetime.fromisoformat(each.next_at) <= now
    return f"{_when(each.next_at, each)}{' (due)' if missed else ''}"


def _last(each: Schedule) -> str:
    """How the last run went."""
    if not each.last_at:
        return "not run yet"
    return f"{_when(each.last_at, each)}: {each.error or 'went well'}"


def _warn_unless_run(app_: App, found: list[Schedule]) -> None:
    """Print a note when schedules wait and nothing runs them."""
    last = schedules.last_look(app_.db)
    seen = last is not None and abs(app_.time() - last) <= _RUNNER_SEEN
    if seen or not any(each.paused_at is None for each in found) or any(each.running for each in found):
        return
    by = schedule_install.installed(os.environ)
    if not by:
        output.note(
            "nothing runs schedules: `agent schedule install` has your machine do it, `agent schedule run` does"
        )
    elif last is not None:
        since = f"{schedules.to_zone(last.isoformat(), schedules.machine_zone()):%Y-%m-%d %H:%M}"
        output.note(f"{by[0]} is to run schedules, and has not looked since {since}: is it running?")
