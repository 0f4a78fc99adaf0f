"""`agent notes`, `agent tasks` and `agent remind`: notes, and tasks with the time to be reminded of them."""

import sys
from functools import partial
from typing import Annotated

from typer import Argument, Option

from agent_cli.app.app import App
from agent_cli.cli import output
from agent_cli.cli.invocation import given
from agent_cli.cli.options import AsJson, Hidden, Limit, NewWords, argument, flag, group, noun, option
from agent_cli.clock import local
from agent_cli.errors import UsageError
from agent_cli.memory.dates import due_times, moments
from agent_cli.memory.planner import notes, tasks
from agent_cli.messages import Origin
from agent_cli.store import ids
from agent_cli.terminal import edited

app = noun("Write, find and change notes.")

NoteHandle = Annotated[str, Argument(help="The note's handle, as in n4.")]


@app.command()
def add(
    app_: App,
    words: list[str] | None = argument("The note; without words it is read from standard input.", None),
    title: str = option("-t, --title", "A short title.", ""),
    tag: list[str] | None = option("--tag", "Put #TAG behind its words; may be given again."),
) -> None:
    """Write a note."""
    tags = [f"#{notes.tag(each)}" for each in tag or ()]
    with given(words, app_.config.editor) as (text, origin):
        text = text.strip("\n") if origin == "piped" else text
        text = " ".join([text, *tags]) if text.strip() else text
        note = notes.add(app_.db, app_.scope, text, app_.time, title=title, origin="tool" if app_.child else origin)
    output.say(f"saved {note.handle} “{note.name}”")


@app.command("list")
def list_(
    app_: App,
    limit: Limit = 50,
    as_json: AsJson = False,
    hidden: Hidden = False,
    tag: str = option("--tag", "Only those that say #TAG.", ""),
) -> None:
    """List notes, the latest first."""
    wanted = notes.tag(tag) if tag else ""
    empty = "there are no such notes" if hidden or tag else "there are no notes; `agent notes add TEXT` adds one"
    _list(notes.listing(app_.db, app_.scope.owner, limit, hidden=hidden, tag=wanted), as_json, empty)


@app.command()
def tags(app_: App, as_json: AsJson = False) -> None:
    """List the tags of notes, #garden, and how many notes have each."""
    rows = [{"tag": f"#{name}", "notes": count} for name, count in notes.tags(app_.db, app_.scope.owner)]
    output.listing(
        rows, as_json, dict, "tag notes", dict.values, "there are no tags; `agent notes add TEXT --tag NAME` adds one"
    )


@app.command()
def show(app_: App, handle: NoteHandle, as_json: AsJson = False) -> None:
    """Show a note whole."""
    note = _note(app_, handle)
    if as_json:
        output.put_json(note.describe())
    else:
        output.say(f"{note.title}\n\n{note.text}" if note.title else note.text)


@app.command(decides=True)
def edit(app_: App, handle: NoteHandle, words: NewWords = None) -> None:
    """Change a note: give its new words, or write them in your editor."""
    note = _note(app_, handle)
    if words:
        notes.edit(app_.db, note, " ".join(words), note.title, app_.time)
    else:
        with edited(note.text, app_.config.editor) as text:
            if text.strip() == note.text.strip():
                output.note(f"{note.handle} was left as it is")
                return
            notes.edit(app_.db, note, text, note.title, app_.time)
    output.say(f"changed {note.handle}")


@app.command()
def search(app_: App, words: list[str], limit: Limit = 20, as_json: AsJson = False) -> None:
    """Find notes by their words, the best first."""
    found = notes.search(app_.db, app_.scope.owner, " ".join(words), limit, app_.time())
    _list(found, as_json, "no note has these words")


@app.command(decides=True)
def rm(app_: App, handles: list[str]) -> None:
    """Hide notes; `restore` brings them back."""
    for note in [_note(app_, handle) for handle in handles]:
        notes.hide(app_.db, note, app_.time)
        output.say(f"hidden {note.handle} “{note.name}” (agent notes restore {note.handle})")


@app.command(decides=True)
def restore(app_: App, handles: list[str]) -> None:
    """Bring hidden notes back."""
    for note in [_note(app_, handle) for handle in handles]:
        if note.hidden_at is None:
            raise UsageError(f"{note.handle} is not hidden")
        notes.restore(app_.db, note, app_.time)
        output.say(f"restored {note.handle} “{note.name}”")


def _note(app_: App, handle: str) -> notes.Note:
    return notes.get(app_.db, ids.number("note", handle), app_.scope.owner)


def _list(found: list[notes.Note], as_json: bool, empty: str) -> None:
    def row(note: notes.Note) -> tuple[str, str, str]:
        return note.handle, f"{local(note.at, note.utc_offset):%Y-%m-%d}", note.name

    output.listing(found, as_json, notes.Note.describe, "id day name", row, empty)


remind_app = group()
tasks_app = noun("List and change what is to be done.")

AtOption = Annotated[
    str | None, Option("--at", help="When; then no word of the text is taken for a time. “never”: no time.")
]
TaskHandle = Annotated[str, Argument(metavar="TASK", help="Its handle, as in t4.")]
TaskHandles = Annotated[list[str], Argument(metavar="TASK…", help="Their handles, as in t4 t5.")]


@remind_app.command(no_args_is_help=False)
def remind(
    app_: App,
    words: list[str] | None = argument(
        "What and when: call the dentist friday 3pm. Without words standard input is read.", None
    ),
    at: AtOption = None,
) -> None:
    """Add a task with a reminder: `agent remind call the dentist friday 3pm`.

    Times are written as “friday 3pm”, “in two hours”, “tomorrow at noon”, “24.12. 18:00”, “every monday 9:00”,
    “every last friday 17:00”, or in German. The time that was understood is printed.
    """
    typed = bool(words) or sys.stdin.isatty()
    given_words = " ".join(words or []) if typed else sys.stdin.buffer.read().decode("utf-8", "replace")
    now, zone = app_.time(), moments.local_zone()
    text, due = (
        (given_words, due_times.parse(at, now, zone)) if at is not None else due_times.find(given_words, now, zone)
    )
    origin: Origin = "tool" if app_.child else "typed" if typed else "piped"
    task = tasks.add(app_.db, app_.scope, text, due, app_.time, origin=origin)
    timing = "" if due else f" (agent tasks edit {task.handle} --at 'friday 3pm' gives it a time)"
    output.say(f"kept {tasks.receipt(task, now)}{timing}")


@tasks_app.command("list")
def list_tasks(
    app_: App,
    every: bool = flag("--all", "Also those that are done."),
    done: bool = flag("--done", "Only those that are done."),
    hidden: Hidden = False,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List what is to be done, by its time."""
    if every + done + hidden > 1:
        raise UsageError("--all, --done and --hidden exclude each other")
    owner = app_.scope.owner
    found = tasks.listing(app_.db, owner, "all" if every else "done" if done else "hidden" if hidden else "open", limit)
    if as_json:
        output.put_json([each.describe() for each in found])
    elif not found:
        nothing = "there are no open tasks; `agent remind` adds one"
        output.note_empty("there are no such tasks" if every or done or hidden else nothing)
    else:
        from agent_cli.render.styles import Display  # no other command of this module draws
        from agent_cli.repl import pages

        one_line = Display(width=lambda: 1 << 20)
        print(pages.tasks_page(found, app_.time(), output.look() or one_line))


@tasks_app.command("show")
def show_task(app_: App, handle: TaskHandle, as_json: AsJson = False) -> None:
    """Show a task whole."""
    task = _task(app_, handle)
    if as_json:
        output.put_json(task.describe())
        return
    output.say(task.text)
    output.say(tasks.format_due(task, app_.time()) or "any time")
    if task.due_words:
        output.say(f"told: {task.due_words}{f' ({task.zone})' if task.zone else ''}")
    if task.state == "done":
        output.say("done")


def _change(verb: tasks.Verb, app_: App, handles: TaskHandles) -> None:
    output.lines(tasks.change(app_.db, app_.scope.owner, verb, handles, app_.time, "agent tasks"))


tasks_app.command("add", help="Add a task, as `agent remind` does.")(remind)
_DONE = "Mark tasks as done. One that repeats moves to its next time; `rm` ends it."
tasks_app.command("done", help=_DONE)(partial(_change, "done"))
tasks_app.command("reopen", help="Open tasks again.")(partial(_change, "reopen"))


@tasks_app.command()
def snooze(
    app_: App, handle: TaskHandle, when: list[str] = argument("Until when: 1 hour, tomorrow at 9.", metavar="WHEN")
) -> None:
    """Postpone a reminder."""
    until = due_times.parse_moment(" ".join(when), app_.time(), moments.local_zone())
    task = tasks.snooze(app_.db, _task(app_, handle), until, app_.time)
    output.say(f"snoozed {tasks.receipt(task, app_.time())}")


@tasks_app.command("edit", decides=True)
def edit_task(app_: App, handle: TaskHandle, words: NewWords = None, at: AtOption = None) -> None:
    """Change the words of a task, or its time with --at."""
    task = _task(app_, handle)
    if at is not None:
        task = tasks.move(app_.db, task, due_times.parse(at, app_.time(), moments.local_zone()), app_.time)
    if words:
        task = tasks.edit(app_.db, task, " ".join(words), app_.time)
    elif at is None:
        if not sys.stdin.isatty():
            raise UsageError("write the new words after the task, or its new time with --at")
        with edited(task.text, app_.config.editor) as text:
            task = tasks.edit(app_.db, task, text, app_.time)
    output.say(f"changed {tasks.receipt(task, app_.time())}")


tasks_app.command("rm", help="Hide tasks; they come up no more.", decides=True)(partial(_change, "rm"))
tasks_app.command("restore", help="Bring hidden tasks back.", decides=True)(partial(_change, "restore"))


def _task(app_: App, handle: str) -> tasks.Task:
    return tasks.get(app_.db, ids.number("task", handle), app_.scope.owner)
