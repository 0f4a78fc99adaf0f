"""`agent mcp`: this memory for other assistants, and the tools of other programs for this one."""

from typing import Annotated

import typer

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Offer this memory to other assistants, and see the tools of other programs (MCP).",
)


@app.callback()
def mcp() -> None:
    """Offer this memory to other assistants, and see the tools of other programs (MCP)."""


@app.command()
def serve(
    context: typer.Context,
    write: Annotated[
        bool, typer.Option("--write", help="Notes may be saved too, and facts proposed; those wait for your yes.")
    ] = False,
) -> None:
    """Serve what is remembered, on standard input and output. Another assistant starts this."""
    from agent_cli.serve import mcp  # the library takes 0.6 s

    mcp.serve(context.obj.app(), writes=write)
