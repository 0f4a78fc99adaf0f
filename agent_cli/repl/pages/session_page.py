"""Sessions in lines: conversations first, questions that were asked on their own apart, each with day and time."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from agent_cli import clock
from agent_cli.memory.conversations.sessions import ONE_SHOTS
from agent_cli.text import counted

_APART = {"ask": "Asked on their own", "schedule": "Run by a schedule", "trial": "Tried"}


def page(rows: Sequence[Mapping[str, Any]], now: datetime) -> str:
    """Rows of `sessions.listing`, aligned, below a heading for each kind that is no conversation."""
    width = max((len(when(row, now)) for row in rows), default=0)
    lines = [line(row, now, width) for row in rows if row["kind"] not in ONE_SHOTS]
    for kind in ONE_SHOTS:
        apart = [line(row, now, width) for row in rows if row["kind"] == kind]
        lines += [*([""] if lines and apart else []), *([f"{_APART[kind]}:"] if apart else []), *apart]
    return "\n".join(lines)


def line(row: Mapping[str, Any], now: datetime, width: int = 0) -> str:
    """`s4     today, 14:05   3 turns  Router in the attic`."""
    return f"{row['id']:<6} {when(row, now):<{width}}  {counted(row['turns'], 'turn'):>8}  {row['title']}"


def when(row: Mapping[str, Any], now: datetime) -> str:
    """When something was last said: `today, 14:05`, `Fri 20 Nov, 15:00`, with the year where it is another one."""
    at = clock.local(row["last_at"], clock.offset(now))
    near = {-1: "yesterday", 0: "today"}.get((at.date() - now.date()).days)
    day = near or f"{at:%a} {at.day} {at:%b}{f' {at.year}' if at.year != now.year else ''}"
    return f"{day}, {at:%H:%M}"
