"""`agent facts export` and `import`: facts to and from other programs."""

import json
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from agent_cli import limits
from agent_cli.app import background, upkeep
from agent_cli.app.app import App
from agent_cli.cli import consent, output
from agent_cli.errors import AgentError, UsageError
from agent_cli.memory.facts import fact_export, fact_lines, facts
from agent_cli.memory.facts.facts import SUPERSEDED
from agent_cli.memory.proposals import ACCEPTED
from agent_cli.text import counted


def export(
    context: typer.Context,
    format: Annotated[
        Literal["jsonl", "md"], typer.Option("--format", help="jsonl can be imported again; md for other agents.")
    ] = "jsonl",
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The folder to write to; by default md goes here, jsonl is printed."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="jsonl: also what was true before.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that another program wrote.")] = False,
) -> None:
    """Write what is true now as JSON lines or Markdown."""
    app_: App = context.obj.app()
    if every and format == "md":
        raise UsageError("MEMORY.md and USER.md hold what is true now; --all is for --format jsonl")
    states, now = (ACCEPTED, SUPERSEDED) if every else (ACCEPTED,), app_.time()
    found = facts.listing(app_.db, app_.scope.owner, -1, states=states)
    exported = [each for each in found if each.is_open(now) or (every and each.valid_to)]
    if format == "md":
        files = fact_export.documents(exported)
    else:
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in fact_export.json_rows(app_.db, exported))
        if out is None:
            sys.stdout.write(lines)
            return
        files = {"facts.jsonl": lines}
    for path in fact_export.write_files((out or Path()).expanduser(), files, force=force):
        output.say(f"wrote {path}")
    session_only = sum(each.session_id is not None for each in exported)
    if session_only:
        output.note(
            f"{counted(session_only, 'fact of one session alone stays', 'facts of one session alone stay')} out"
        )


def import_(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            help="JSON lines: statement, and source (a message's id), at, since, until, subject, predicate, object, "
            "place where they are known; - is standard input."
        ),
    ],
    source: Annotated[str, typer.Option("--source", help="Where the messages were imported from.")] = "import",
    accept: Annotated[bool, typer.Option("--accept", help="Accept them all; needs --yes.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm that you have read them.")] = False,
) -> None:
    """Read facts from JSON lines, into the queue unless accepted."""
    if accept and not yes:
        raise UsageError("--accept accepts every line without a review: say --yes as well, or leave it out")
    app_: App = context.obj.app()
    if accept:
        what = "what is on standard input" if file == Path("-") else str(file)
        consent.obtain(app_, f"take every line of {what} as true, without a review?", "nothing was imported")
    state = "accepted" if accept else "pending"
    try:
        with sys.stdin if file == Path("-") else file.open(encoding="utf-8", errors="replace") as opened:
            new, broken = fact_lines.import_lines(
                app_.db,
                app_.scope,
                limits.lines(opened),
                source,
                app_.time,
                output.first_notes(),
                accepted=accept,
                single_valued=app_.single_valued,
            )
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    upkeep.index_all(app_, app_.db)
    background.start(app_)
    output.say(f"imported {counted(new, 'fact')}, {state}")
    if broken:
        skipped = counted(broken, "broken line was", "broken lines were")
        raise AgentError(f"{skipped} skipped; the others are imported")
