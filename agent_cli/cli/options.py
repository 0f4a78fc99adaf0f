"""Options that several commands share."""

from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]
Limit = Annotated[int, typer.Option("--limit", min=1, help="At most so many.")]
