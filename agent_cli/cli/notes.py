"""`agent notes`: write, find and change notes."""

import sys
from typing import Annotated

import typer

from agent_cli.app.app import App
from agent_cli.cli import output
from agent_cli.cli.invocation import AsJson, Decision, LimitOption, Noun
from agent_cli.clock import local
from agent_cli.errors import UsageError
from agent_cli.memory.planner import notes
from agent_cli.memory.planner.notes import Note
from agent_cli.messages import Origin
from agent_cli.store import ids
from agent_cli.terminal import edited

app = typer.Typer(cls=Noun, add_completion=False, rich_markup_mode=None, help="Write, find and change notes.")

NoteHandle = Annotated[str, typer.Argument(help="The note's handle, as in n4.")]


@app.command()
def add(
    context: typer.Context,
    words: Annotated[
        list[str] | None, typer.Argument(help="The note; without words it is read from standard input.")
    ] = None,
    title: Annotated[str, typer.Option("-t", "--title", help="A short title.")] = "",
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="Put #TAG behind its words; may be given again.")
    ] = None,
) -> None:
    """Write a note."""
    app_ = context.obj.app()
    tags = [notes.tag(each) for each in tag or ()]
    if words:
        _add(app_, " ".join(words), title, tags, "typed")
    elif sys.stdin.isatty():
        with edited("", app_.config.editor) as text:
            _add(app_, text, title, tags, "typed")
    else:
        _add(app_, sys.stdin.buffer.read().decode("utf-8", "replace").strip("\n"), title, tags, "piped")


def _add(app_: App, text: str, title: str, tags: list[str], origin: Origin) -> None:
    origin = "tool" if app_.child else origin
    text = " ".join([text, *(f"#{each}" for each in tags)]) if text.strip() else text
    note = notes.add(app_.db, app_.scope, text, app_.time, title=title, origin=origin)
    output.say(f"saved {note.handle} “{note.name}”")


@app.command("list")
def list_(
    context: typer.Context,
    limit: LimitOption = 50,
    as_json: AsJson = False,
    hidden: Annotated[bool, typer.Option("--hidden", help="Those that `rm` has hidden.")] = False,
    tag: Annotated[str, typer.Option("--tag", help="Only those that say #TAG.")] = "",
) -> None:
    """List notes, the latest first."""
    app_ = context.obj.app()
    wanted = notes.tag(tag) if tag else ""
    empty = "there are no such notes" if hidden or tag else "there are no notes; `agent notes add TEXT` adds one"
    _list(notes.listing(app_.db, app_.scope.owner, limit, hidden=hidden, tag=wanted), as_json, empty)


@app.command()
def tags(context: typer.Context, as_json: AsJson = False) -> None:
    """List the tags of notes, #garden, and how many notes have each."""
    app_ = context.obj.app()
    rows = [{"tag": f"#{name}", "notes": count} for name, count in notes.tags(app_.db, app_.scope.owner)]
    empty = "there are no tags; `agent notes add TEXT --tag NAME` adds one"
    output.listing(rows, ("tag", "notes"), as_json=as_json, empty=empty)


@app.command()
def show(context: typer.Context, handle: NoteHandle, as_json: AsJson = False) -> None:
    """Show a note whole."""
    note = _note(context, handle)
    if as_json:
        output.put_json(note.describe())
    else:
        output.say(f"{note.title}\n\n{note.text}" if note.title else note.text)


@app.command(cls=Decision)
def edit(
    context: typer.Context,
    handle: NoteHandle,
    words: Annotated[list[str] | None, typer.Argument(help="Its new words; without them your editor opens.")] = None,
) -> None:
    """Change a note: give its new words, or write them in your editor."""
    app_ = context.obj.app()
    note = _note(context, handle)
    if words:
        notes.edit(app_.db, note, " ".join(words), note.title, app_.time)
        output.say(f"changed {note.handle}")
        return
    with edited(note.text, app_.config.editor) as text:
        if text.strip() == note.text.strip():
            output.note(f"{note.handle} was left as it is")
            return
        notes.edit(app_.db, note, text, note.title, app_.time)
    output.say(f"changed {note.handle}")


@app.command()
def search(context: typer.Context, words: list[str], limit: LimitOption = 20, as_json: AsJson = False) -> None:
    """Find notes by their words, the best first."""
    app_ = context.obj.app()
    _list(
        notes.search(app_.db, app_.scope.owner, " ".join(words), limit, app_.time()), as_json, "no note has these words"
    )


@app.command(cls=Decision)
def rm(context: typer.Context, handles: list[str]) -> None:
    """Hide notes; `restore` brings them back."""
    for note in [_note(context, handle) for handle in handles]:
        notes.hide(context.obj.app().db, note, context.obj.app().time)
        output.say(f"hidden {note.handle} “{note.name}” (agent notes restore {note.handle})")


@app.command(cls=Decision)
def restore(context: typer.Context, handles: list[str]) -> None:
    """Bring hidden notes back."""
    for note in [_note(context, handle) for handle in handles]:
        if note.hidden_at is None:
            raise UsageError(f"{note.handle} is not hidden")
        notes.restore(context.obj.app().db, note, context.obj.app().time)
        output.say(f"restored {note.handle} “{note.name}”")


def _note(context: typer.Context, handle: str) -> Note:
    app_ = context.obj.app()
    return notes.get(app_.db, ids.number("note", handle), app_.scope.owner)


def _list(found: list[Note], as_json: bool, empty: str) -> None:
    rows = [
        {**note.describe(), "name": note.name, "day": f"{local(note.at, note.utc_offset):%Y-%m-%d}"} for note in found
    ]
    if as_json:
        output.put_json([note.describe() for note in found])
    else:
        output.listing(rows, ("id", "day", "name"), as_json=False, empty=empty)
