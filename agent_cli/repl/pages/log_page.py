"""What has happened, as a table: when, what, to what, in which session and by whom."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_cli import clock
from agent_cli.render.styles import Display
from agent_cli.store import ids

_COLUMNS = ("id", "when", "what", "which", "by")


def page(rows: Sequence[Mapping[str, Any]], display: Display) -> str:
    """Rows of `events.listing`; the year is shown where they are of several."""
    from agent_cli.render import drawing  # imports rich, which the first prompt must not wait for

    times = [clock.local(row["at"], row["utc_offset"]) for row in rows]
    form = "%m-%d %H:%M" if len({at.year for at in times}) == 1 else "%Y-%m-%d %H:%M"
    cells = [
        (row["id"], f"{at:{form}}", row["kind"], _which(row), row["actor"]) for row, at in zip(rows, times, strict=True)
    ]
    return drawing.table(_COLUMNS, cells, display)


def _which(row: Mapping[str, Any]) -> str:
    session = ids.handle("session", row["session"]) if row["session"] else ""
    return row["subject"] if session in ("", row["subject"]) else f"{row['subject']} in {session}".strip()
