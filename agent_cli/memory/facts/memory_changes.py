"""The facts and skills that changed since a session was opened, shown when it closes.

Read from the history of facts and skills, which has each as it was before a change: a change that was reverted is not
shown, and nothing needs to be counted while a session runs.
"""

import json
from collections.abc import Iterator
from typing import Any

from agent_cli import text
from agent_cli.memory.proposals import ACCEPTED, PENDING
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

MAX_LINES = 10
_NEW, _CHANGED, _REMOVED = "+~-"


@frozen
class _Table:
    name: str
    displayed: str  # the column that is shown
    columns: tuple[str, ...]  # a row counts as changed when one of these differs


_TABLES = (
    _Table("fact", "statement", ("statement", "place", "session_id", "valid_from", "valid_to")),
    _Table("skill", "name", ("name", "text")),
)


def since_opened(db: Database, session: int, owner: str, review: str) -> list[str]:
    """The changes as lines, `+ f12 …`, `~ f3 …`, `- f4 …`, and how many proposals wait; none when nothing changed.

    `review`: the command that shows the proposals.
    """
    opened = db.value("select max(started_at, coalesce(opened_at, '')) from session where id = ?", (session,))
    changes = [change for table in _TABLES for change in _changes(db, table, owner, opened)]
    lines = [f"{sign} {words}" for wanted in (_NEW, _CHANGED, _REMOVED) for sign, words in changes if sign == wanted]
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], f"and {len(lines) - MAX_LINES} more"]
    count = sum(sign == PENDING for sign, _ in changes)
    return [*lines, f"{count} to review: {review}"] if count else lines


def _changes(db: Database, table: _Table, owner: str, since: str) -> Iterator[tuple[str, str]]:
    """(sign, handle and words) of each row that differs from what it was at that time."""
    read = ("id", "state", "hidden_at", *table.columns)
    rows = db.rows(
        f"""select v.was, {", ".join(f"t.{column}" for column in read)}
            from (select {table.name}_id changed, min(id) first from {table.name}_version where at >= ?2 group by 1) c
            join {table.name} t on t.id = c.changed join {table.name}_version v on v.id = c.first
            where t.owner = ?1 order by t.id""",
        (owner, since),
    )
    for former, *values in rows:
        was, now = json.loads(former or "{}"), dict(zip(read, values, strict=True))
        sign = _sign(table, was, now)
        if sign:
            yield sign, f"{ids.handle(table.name, now['id'])} {text.one_line(now[table.displayed], 100)}"


def _sign(table: _Table, was: dict[str, Any], now: dict[str, Any]) -> str:
    if _is_accepted(was) != _is_accepted(now):
        return _NEW if _is_accepted(now) else _REMOVED
    if _is_accepted(now):
        return _CHANGED if any(was.get(column) != now[column] for column in table.columns) else ""
    return PENDING if _is_pending(now) and not _is_pending(was) else ""


def _is_accepted(row: dict[str, Any]) -> bool:
    """Whether it is accepted and not ended."""
    return row.get("state") == ACCEPTED and not row.get("hidden_at")


def _is_pending(row: dict[str, Any]) -> bool:
    return row.get("state") == PENDING and not row.get("hidden_at")
