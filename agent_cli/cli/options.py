"""Options that several commands share."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated

import typer

from agent_cli import clock
from agent_cli.errors import UsageError

AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]
Limit = Annotated[int, typer.Option("--limit", min=1, help="At most so many.")]


def parse_moment(text: str, now: datetime, before_day_end: timedelta | None = None) -> datetime:
    """A day or a time as typed; of a day its first moment, or one so long before its end. Raises UsageError."""
    try:
        found = clock.parse(text, now)
        return found + timedelta(days=1) - before_day_end if before_day_end and len(text) == 10 else found
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{text!r} is no day: write it like 2026-11-20") from error


class PeriodUnit(StrEnum):
    """What a summary tells of."""

    session = "session"
    day = "day"
    week = "week"
    month = "month"
    quarter = "quarter"
    year = "year"
