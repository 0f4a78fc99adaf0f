"""`agent remind`: add a task, with the time to be reminded of it."""

import sys
from typing import Annotated

import typer

from agent_cli.app.app import App
from agent_cli.cli import output
from agent_cli.memory.dates import due_times, zones
from agent_cli.memory.planner import tasks
from agent_cli.messages import Origin

app = typer.Typer(add_completion=False, rich_markup_mode=None)

AtOption = Annotated[
    str | None, typer.Option("--at", help="When; then no word of the text is taken for a time. “never”: no time.")
]


@app.command(no_args_is_help=False)
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
    now, zone = app_.time(), zones.local_name()
    text, due = (words, due_times.parse(at, now, zone)) if at is not None else due_times.find(words, now, zone)
    origin = "tool" if app_.child else origin
    task = tasks.add(app_.db, app_.scope, text, due, app_.time, origin=origin)
    output.say(f"kept {tasks.receipt(task, now)}")
