"""`agent stats`: tokens, time and cost of the answers, and what the log says about the person's days."""

import sys
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, Any

import typer

from agent_cli.cli import output
from agent_cli.cli.options import AsJson, LimitOption
from agent_cli.memory.reports import records, signals
from agent_cli.store import ids

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_COLUMNS = ("answers", "tokens_in", "tokens_out", "seconds", "cost")
_BARS = " "  # the heading of the bars
_BAR = 16  # cells


class GroupBy(StrEnum):
    day = "day"
    model = "model"
    session = "session"
    turn = "turn"


@app.command()
def stats(
    context: typer.Context,
    per: Annotated[GroupBy, typer.Option("--per", help="What to count by.")] = GroupBy.day,
    days: Annotated[
        bool, typer.Option("--signals", help="Only what is due, days in a row, and what the tools did.")
    ] = False,
    limit: LimitOption = 30,
    as_json: AsJson = False,
) -> None:
    """Count tokens, time and cost of the answers, by day, model, session or turn; say what is due."""
    app_ = context.obj.app()
    owner, now = app_.scope.owner, app_.time()
    if not days:
        at_terminal = output.look(sys.stdout)
        rows = records.token_usage(app_.db, owner, per.value, limit)
        columns: tuple[str, ...] = (per.value, *_COLUMNS)
        heading = (
            [{name: name.replace("_", " ") for name in columns}] if rows and not as_json and not at_terminal else []
        )
        if at_terminal and not at_terminal.screen_reader:
            rows, columns = _with_bars(rows), (*columns, _BARS)
        output.listing([*heading, *rows], columns, as_json=as_json, empty="there are no answers to count")
        if as_json:
            return
    found = signals.read(app_.db, owner, now, now - signals.PERIOD)
    if as_json:
        due = {name: [ids.handle("task", id) for id in getattr(found.due, name)] for name in ("overdue", "today")}
        output.put_json({**asdict(found), "due": {**due, "open": found.due.open}})
    else:
        lines = signals.format_lines(found)
        for line in ["", *lines] if lines and not days else lines:
            output.say(line)


def _with_bars(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with a bar each: its tokens beside those of the row that took most."""
    from agent_cli.render.marking import bar  # a pipe needs none of it

    tokens = [row["tokens_in"] + row["tokens_out"] for row in rows]
    most = max([1, *tokens])
    return [{**row, _BARS: bar(count / most, _BAR)} for row, count in zip(rows, tokens, strict=True)]
