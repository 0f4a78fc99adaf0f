"""Options that several commands share."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated

import typer

from agent_cli import clock
from agent_cli.errors import UsageError

AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]
LimitOption = Annotated[int, typer.Option("--limit", min=1, help="Show at most this many.")]


def parse_moment(
    text: str, now: datetime, before_day_end: timedelta | None = None, example: str = "2026-11-20"
) -> datetime:
    """The moment that a typed day or time names. Raises UsageError.

    A day without a time is its first moment, or with `before_day_end` the moment that long before its end. `example` is
    shown in the error.
    """
    try:
        found = clock.parse(text, now)
        whole_day = len(text) == 10
        return found + timedelta(days=1) - before_day_end if whole_day and before_day_end is not None else found
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{text!r} is not a day: write it like {example}") from error


class PeriodUnit(StrEnum):
    """What a summary covers: one session, or a period of this length."""

    session = "session"
    day = "day"
    week = "week"
    month = "month"
    quarter = "quarter"
    year = "year"
