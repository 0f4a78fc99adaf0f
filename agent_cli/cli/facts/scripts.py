"""`agent facts scripts`: whether scripts of the person's own may decide in their place."""

from enum import StrEnum
from typing import Annotated

import typer

from agent_cli.cli import consent, output


class Switch(StrEnum):
    on = "on"
    off = "off"


def scripts(
    context: typer.Context,
    switch: Annotated[Switch | None, typer.Argument(help="Without it: what is set now.", show_default=False)] = None,
) -> None:
    """Let your own scripts decide without asking you. Off unless you set it.

    They then accept, change and erase what is remembered.
    What it gives up: every program that runs as you can then say yes in your place. Only what the assistant itself has
    started stays refused. It is set at a terminal alone, and holds for this database.
    """
    app = context.obj.app()
    if switch:
        consent.set_unattended(app, switch == Switch.on)
    if consent.is_unattended(app):
        output.say(f"on: {consent.PRICE} (`agent facts scripts off`)")
    else:
        output.say("off: each yes takes a key at a terminal")
