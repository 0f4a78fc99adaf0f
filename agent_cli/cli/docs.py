"""`agent docs`: files of yours that are read and indexed, so that their text can be found."""

import os
from datetime import datetime
from typing import Annotated, Any

from typer import Argument

from agent_cli.app import upkeep
from agent_cli.app.app import App
from agent_cli.cli import output
from agent_cli.cli.invocation import AsJson, Decision, Invocation, argument, flag, noun
from agent_cli.errors import Cancelled, UsageError
from agent_cli.memory.documents import documents
from agent_cli.memory.scope import short_path
from agent_cli.store import ids

app = noun("Read files, so that their content can be found: text, Markdown, HTML, PDF, source code.")

_EMPTY = "there are no documents; `agent docs add PATH` reads a file or a folder"
_EXCERPT = 300  # characters shown of a neighbouring section

Paths = Annotated[list[str], Argument(metavar="PATH|GLOB…", help="Files, folders, or globs such as 'notes/**/*.md'.")]


@app.command(cls=Decision)
def add(invocation: Invocation, paths: Paths, as_json: AsJson = False) -> None:
    """Have files, folders or globs read, now and whenever they change. The files stay where they are.

    In a folder everything is read except hidden files and folders, node_modules, __pycache__, environments of Python,
    caches marked by a CACHEDIR.TAG, and links that lead out of the folder. A .gitignore is not considered: files that
    it names are read too, unless you remove them (agent docs rm). Files of more than 20 MB and files that are not
    text are listed with the reason (agent docs list --failed), as are files that take more than two minutes or
    1,000 MB of memory. Text that you erased stays out (agent forget). PDF needs: pip install 'agent-cli[documents]'
    """
    app_ = invocation.app()
    patterns = [documents.existing(path, os.getcwd()) for path in paths]
    for pattern in patterns:
        documents.add(app_.db, app_.scope, pattern, app_.time)
    _sync(invocation, app_, patterns, as_json)


@app.command()
def sync(invocation: Invocation, as_json: AsJson = False) -> None:
    """Check all files again for new, changed, moved and deleted ones. After Ctrl-C the next sync continues there."""
    app_ = invocation.app()
    if not documents.collections(app_.db, app_.scope.owner):
        raise UsageError(_EMPTY)
    _sync(invocation, app_, None, as_json)


@app.command("list")
def list_(
    app_: App,
    as_json: AsJson = False,
    files: bool = flag("--files", "Every file."),
    failed: bool = flag("--failed", "Files that could not be read, and why."),
) -> None:
    """List what was added, with how many files and sections it has."""
    owner = app_.scope.owner
    if files or failed:
        columns = ("path", "error") if failed else ("first", "sections", "path", "error")
        output.listing(
            documents.files(app_.db, owner, failed=failed),
            as_json,
            dict,
            lambda row: {name: short_path(row[name]) if name == "path" else row.get(name) for name in columns},
            "every file could be read" if failed else _EMPTY,
        )
    else:
        output.listing(documents.listing(app_.db, owner), as_json, dict, _collection, _EMPTY)


def _collection(row: dict[str, Any]) -> dict[str, str]:
    parts = [f"{row['files']} files", f"{row['sections']} sections"]
    parts += [f"{row['failed']} not readable"] if row["failed"] else []
    parts += [f"{row['left_out']} taken out"] if row["left_out"] else []
    at = row["synced_at"]
    parts.append(f"looked at {datetime.fromisoformat(at).astimezone():%Y-%m-%d %H:%M}" if at else "not read yet")
    return {"pattern": short_path(row["pattern"]), "details": ", ".join(parts)}


@app.command()
def show(app_: App, handle: str = argument("As in d12."), as_json: AsJson = False) -> None:
    """Show a section with its file and line, and its neighbours."""
    section = documents.get(app_.db, ids.number("section", handle), app_.scope.owner)
    around = documents.neighbours(app_.db, section)
    if as_json:
        output.put_json({**section.describe(), "around": [each.describe() for each in around if each.id != section.id]})
        return
    output.say(f"{section.handle}  {section.where}{f'  {section.heading}' if section.heading else ''}")
    output.lines(f"\n{each.text if each.id == section.id else _excerpt(each, section)}" for each in around)


def _excerpt(section: documents.Section, shown: documents.Section) -> str:
    """The end of a section before the shown one, or the beginning of one after it."""
    cut = section.text
    if len(cut) > _EXCERPT:
        cut = f"… {cut[-_EXCERPT:]}" if section.position < shown.position else f"{cut[:_EXCERPT]} …"
    return f"({section.handle}, line {section.line}) {cut}"


@app.command(cls=Decision)
def rm(app_: App, paths: Paths) -> None:
    """Take files out of memory, at once. The files themselves stay; `add` takes them in again."""
    for path in paths:
        pattern = documents.absolute(path, os.getcwd())
        output.say(documents.remove(app_.db, app_.scope.owner, pattern, app_.time))


def _sync(invocation: Invocation, app_: App, only: list[str] | None, as_json: bool) -> None:
    tally = documents.SyncResult()
    try:
        with output.ProgressLine(invocation.quiet) as line:
            for what, done, total in upkeep.sync_documents(app_, app_.db, tally, only):
                line.step(what, done, total, "sections") if total else line.show(what)
    except KeyboardInterrupt:
        raise Cancelled(f"stopped; {tally.sentence()} so far, and `agent docs sync` goes on from there") from None
    for notice in tally.warnings:
        output.note(notice)
    if as_json:
        output.put_json(tally.describe())
    else:
        output.say(tally.sentence())
