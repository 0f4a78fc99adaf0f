"""What has changed in memory since a session was taken up: told when it closes.

Read from the history of facts and skills, which keeps each as it was before a change: so what was changed and changed
back is no news, and nothing needs to be counted while a session runs.
"""

import json
from collections.abc import Iterator
from typing import Any

from agent_cli import text
from agent_cli.memory.facts.facts import ACCEPTED, PENDING
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

LINES = 10
_NEW, _CHANGED, _GONE = "+~-"


@frozen
class _Kind:
    name: str  # of its table too
    shown: str  # the column that is told
    columns: tuple[str, ...]  # it counts as changed when one of these is another


_KINDS = (
    _Kind("fact", "statement", ("statement", "place", "session_id", "valid_from")),
    _Kind("skill", "name", ("name", "text")),
)


def since_opened(db: Database, session: int, owner: str, review: str) -> list[str]:
    """The difference in lines, `+ f12 …`, `~ f3 …`, `- f4 …`, and how many wait for a yes; none when nothing changed.

    `review`: what shows those that wait.
    """
    opened = db.value("select max(started_at, coalesce(opened_at, '')) from session where id = ?", (session,))
    changes = [change for kind in _KINDS for change in _changes(db, kind, owner, opened)]
    lines = [f"{sign} {words}" for wanted in (_NEW, _CHANGED, _GONE) for sign, words in changes if sign == wanted]
    if len(lines) > LINES:
        lines = [*lines[:LINES], f"and {len(lines) - LINES} more"]
    wait = sum(sign == PENDING for sign, _ in changes)
    return [*lines, f"{wait} {'waits' if wait == 1 else 'wait'} for your yes: {review}"] if wait else lines


def _changes(db: Database, kind: _Kind, owner: str, since: str) -> Iterator[tuple[str, str]]:
    """(what became of it, what it says) of each whose first change since then led somewhere else."""
    read = ("id", "state", "hidden_at", *(["valid_to"] if kind.name == "fact" else []), *kind.columns)
    rows = db.rows(
        f"""select v.was, {", ".join(f"t.{column}" for column in read)}
            from (select {kind.name}_id changed, min(id) first from {kind.name}_version where at >= ?2 group by 1) c
            join {kind.name} t on t.id = c.changed join {kind.name}_version v on v.id = c.first
            where t.owner = ?1 order by t.id""",
        (owner, since),
    )
    for kept, *values in rows:
        was, now = json.loads(kept or "{}"), dict(zip(read, values, strict=True))
        sign = _sign(kind, was, now)
        if sign:
            yield sign, f"{ids.handle(kind.name, now['id'])} {text.one_line(now[kind.shown], 100)}"


def _sign(kind: _Kind, was: dict[str, Any], now: dict[str, Any]) -> str:
    if _counts(was) != _counts(now):
        return _NEW if _counts(now) else _GONE
    if _counts(now):
        return _CHANGED if any(was.get(column) != now[column] for column in kind.columns) else ""
    return PENDING if _waits(now) and not _waits(was) else ""


def _counts(row: dict[str, Any]) -> bool:
    """Whether it is accepted and true."""
    return row.get("state") == ACCEPTED and not row.get("hidden_at") and not row.get("valid_to")


def _waits(row: dict[str, Any]) -> bool:
    return row.get("state") == PENDING and not row.get("hidden_at")
