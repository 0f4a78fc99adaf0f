"""`agent stats`: what the answers took."""

from enum import StrEnum
from typing import Annotated

import typer

from agent_cli.cli import output
from agent_cli.cli.options import AsJson, Limit
from agent_cli.memory import counts

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_COLUMNS = ("answers", "tokens_in", "tokens_out", "seconds", "cost")


class Per(StrEnum):
    day = "day"
    model = "model"
    session = "session"
    turn = "turn"


@app.command()
def stats(
    context: typer.Context,
    per: Annotated[Per, typer.Option("--per", help="What to count by.")] = Per.day,
    limit: Limit = 30,
    as_json: AsJson = False,
) -> None:
    """Count tokens, time and cost of the answers, by day, model, session or turn."""
    app_ = context.obj.app()
    rows = counts.used(app_.db, app_.scope.owner, per.value, limit)
    columns = (per.value, *_COLUMNS)
    heading = [{name: name.replace("_", " ") for name in columns}] if rows and not as_json else []
    output.listing([*heading, *rows], columns, as_json=as_json)
