"""`agent doctor`: check the server, the model, the database and the terminal, and say how to fix what is wrong."""

from dataclasses import asdict

import typer

from agent_cli import checks
from agent_cli.cli import output
from agent_cli.cli.invocation import AsJson, Invocation

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def doctor(context: typer.Context, as_json: AsJson = False) -> None:
    """Check the server, the model, the database and the terminal. Exit 1 when something is wrong."""
    invocation: Invocation = context.obj
    found = []
    for finding in checks.findings(invocation.settings, invocation.app):
        found.append(finding)
        if not as_json:
            output.say(checks.format_line(finding))
    if as_json:
        output.put_json([asdict(finding) for finding in found])
    if not all(finding.ok for finding in found):
        raise typer.Exit(1)
