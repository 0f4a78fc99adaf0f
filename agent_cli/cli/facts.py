"""`agent facts`: what is known about you."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from agent_cli.cli import output, review
from agent_cli.errors import AgentError, UsageError
from agent_cli.memory import fact_lines

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="What is known about you.")


@app.callback()
def group() -> None:
    """What is known about you."""


app.command("review")(review.review)


@app.command("import")
def import_(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(help="JSON lines: statement, source (a message's id), at; - is standard input.")
    ],
    source: Annotated[str, typer.Option("--source", help="Where the messages were imported from.")] = "import",
    accept: Annotated[bool, typer.Option("--accept", help="Accept them all; needs --yes.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="You have read them.")] = False,
) -> None:
    """Read facts from JSON lines: into the queue, or accepted with --accept --yes."""
    if accept and not yes:
        raise UsageError("--accept takes every line as true without a look: say --yes as well, or leave it to review")
    app_ = context.obj.app()
    if accept:
        app_.refuse_child()
    state = "accepted" if accept else "pending"
    try:
        with sys.stdin if file == Path("-") else file.open(encoding="utf-8", errors="replace") as lines:
            new, broken = fact_lines.read(app_.db, app_.scope, lines, source, app_.time, output.note, accepted=accept)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    app_.catch_up(app_.db)
    output.say(f"imported {new} facts, {state}")
    if broken:
        raise AgentError(f"{broken} broken lines were skipped; the others are imported")
