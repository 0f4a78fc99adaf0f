"""`agent tasks` and `agent remind`: tasks, with the time to be reminded of them."""

import sys
from typing import Annotated, Literal

import typer

from agent_cli.app.app import App
from agent_cli.cli import output
from agent_cli.cli.invocation import AsJson, Decision, LimitOption, Noun
from agent_cli.errors import UsageError
from agent_cli.memory.dates import due_times, moments
from agent_cli.memory.planner import tasks
from agent_cli.memory.planner.tasks import Task
from agent_cli.messages import Origin
from agent_cli.store import ids
from agent_cli.terminal import edited

remind_app = typer.Typer(add_completion=False, rich_markup_mode=None)

AtOption = Annotated[
    str | None, typer.Option("--at", help="When; then no word of the text is taken for a time. “never”: no time.")
]


@remind_app.command(no_args_is_help=False)
def remind(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(help="What and when: call the dentist friday 3pm. Without words standard input is read."),
    ] = None,
    at: AtOption = None,
) -> None:
    """Add a task with a reminder: `agent remind call the dentist friday 3pm`.

    Times are written as “friday 3pm”, “in two hours”, “tomorrow at noon”, “24.12. 18:00”, “every monday 9:00”,
    “every last friday 17:00”, or in German. The time that was understood is printed.
    """
    app_ = context.obj.app()
    if words or sys.stdin.isatty():
        add_task(app_, " ".join(words or []), at, "typed")
    else:
        add_task(app_, sys.stdin.buffer.read().decode("utf-8", "replace"), at, "piped")


def add_task(app_: App, words: str, at: str | None, origin: Origin) -> None:
    """Add a task and print the time that was understood. Raises UsageError."""
    now, zone = app_.time(), moments.local_zone()
    text, due = (words, due_times.parse(at, now, zone)) if at is not None else due_times.find(words, now, zone)
    origin = "tool" if app_.child else origin
    task = tasks.add(app_.db, app_.scope, text, due, app_.time, origin=origin)
    output.say(f"kept {tasks.receipt(task, now)}")


app = typer.Typer(cls=Noun, add_completion=False, rich_markup_mode=None, help="List and change what is to be done.")

TaskHandleArgument = Annotated[str, typer.Argument(metavar="TASK", help="Its handle, as in t4.")]
TaskHandleArguments = Annotated[list[str], typer.Argument(metavar="TASK…", help="Their handles, as in t4 t5.")]
ShowAll = Annotated[bool, typer.Option("--all", help="Also those that are done.")]
OnlyDone = Annotated[bool, typer.Option("--done", help="Only those that are done.")]
OnlyHidden = Annotated[bool, typer.Option("--hidden", help="Those that `rm` has hidden.")]


@app.command("list")
def list_(
    context: typer.Context,
    all_: ShowAll = False,
    done: OnlyDone = False,
    hidden: OnlyHidden = False,
    limit: LimitOption = 50,
    as_json: AsJson = False,
) -> None:
    """List what is to be done, by its time."""
    if all_ + done + hidden > 1:
        raise UsageError("--all, --done and --hidden exclude each other")
    app_ = context.obj.app()
    which: Literal["open", "done", "all", "hidden"] = (
        "all" if all_ else "done" if done else "hidden" if hidden else "open"
    )
    found = tasks.listing(app_.db, app_.scope.owner, which, limit)
    if as_json:
        output.put_json([each.describe() for each in found])
        return
    if not found:
        others = all_ or done or hidden
        output.note_empty("there are no such tasks" if others else "there are no open tasks; `agent remind` adds one")
        return
    display = output.look(sys.stdout)
    if display:
        from agent_cli.repl import pages  # a pipe needs none of it

        print(pages.tasks_page(found, app_.time(), display))
    else:
        for each in found:
            output.say(tasks.format_line(each, app_.time()))


@app.command()
def show(context: typer.Context, handle: TaskHandleArgument, as_json: AsJson = False) -> None:
    """Show a task whole."""
    task, app_ = _task(context, handle), context.obj.app()
    if as_json:
        output.put_json(task.describe())
        return
    output.say(task.text)
    output.say(tasks.format_due(task, app_.time()) or "any time")
    if task.due_words:
        output.say(f"told: {task.due_words}{f' ({task.zone})' if task.zone else ''}")
    if task.state == "done":
        output.say("done")


@app.command()
def add(
    context: typer.Context,
    words: Annotated[list[str], typer.Argument(help="What and when: call the dentist friday 3pm.")],
    at: AtOption = None,
) -> None:
    """Add a task, as `agent remind` does."""
    add_task(context.obj.app(), " ".join(words), at, "typed")


@app.command()
def done(context: typer.Context, handles: TaskHandleArguments) -> None:
    """Mark tasks as done. One that repeats moves to its next time; `rm` ends it."""
    _change(context, "done", handles)


@app.command()
def reopen(context: typer.Context, handles: TaskHandleArguments) -> None:
    """Open tasks again."""
    _change(context, "reopen", handles)


@app.command()
def snooze(
    context: typer.Context,
    handle: TaskHandleArgument,
    when: Annotated[list[str], typer.Argument(metavar="WHEN", help="Until when: 1 hour, tomorrow at 9.")],
) -> None:
    """Postpone a reminder."""
    app_ = context.obj.app()
    until = due_times.parse_moment(" ".join(when), app_.time(), moments.local_zone())
    task = tasks.snooze(app_.db, _task(context, handle), until, app_.time)
    output.say(f"snoozed {tasks.receipt(task, app_.time())}")


@app.command(cls=Decision)
def edit(
    context: typer.Context,
    handle: TaskHandleArgument,
    words: Annotated[list[str] | None, typer.Argument(help="Its new words; without them your editor opens.")] = None,
    at: AtOption = None,
) -> None:
    """Change the words of a task, or its time with --at."""
    app_, task = context.obj.app(), _task(context, handle)
    if at is not None:
        due = due_times.parse(at, app_.time(), moments.local_zone())
        task = tasks.move(app_.db, task, due, app_.time)
    if words:
        task = tasks.edit(app_.db, task, " ".join(words), app_.time)
    elif at is None:
        if not sys.stdin.isatty():
            raise UsageError("write the new words after the task, or its new time with --at")
        with edited(task.text, app_.config.editor) as text:
            task = tasks.edit(app_.db, task, text, app_.time)
    output.say(f"changed {tasks.receipt(task, app_.time())}")


@app.command(cls=Decision)
def rm(context: typer.Context, handles: TaskHandleArguments) -> None:
    """Hide tasks; they come up no more."""
    _change(context, "rm", handles)


@app.command(cls=Decision)
def restore(context: typer.Context, handles: TaskHandleArguments) -> None:
    """Bring hidden tasks back."""
    _change(context, "restore", handles)


def _task(context: typer.Context, handle: str) -> Task:
    app_ = context.obj.app()
    return tasks.get(app_.db, ids.number("task", handle), app_.scope.owner)


def _change(context: typer.Context, verb: tasks.Verb, handles: list[str]) -> None:
    app_ = context.obj.app()
    for line in tasks.change(app_.db, app_.scope.owner, verb, handles, app_.time, "agent tasks"):
        output.say(line)
