"""Facts: what is known about the person. Here only how accepted ones come in by a bulk import that the person typed."""

import json
import time as real_time
from collections.abc import Callable, Iterable
from datetime import datetime

from agent_cli import clock, text
from agent_cli.memory.scope import Scope
from agent_cli.store import events, ids
from agent_cli.store.db import Database

_BATCH = 500
_PAUSE = 0.02  # between batches, so that other programs get their turn to write


def read(
    db: Database, scope: Scope, lines: Iterable[str], source: str, state: str, time: clock.Clock,
    complain: Callable[[str], None],
) -> tuple[int, int]:  # fmt: skip
    """Import JSON lines of statement, source (a message's external id) and at; returns how many are new and broken.

    `state` is "accepted", or "pending" to leave them to review. Importing twice adds nothing.
    """
    new = broken = 0
    rows = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    for start in range(0, len(rows), _BATCH):
        with db.write():
            for number, line in rows[start : start + _BATCH]:
                try:
                    new += _read(db, scope, json.loads(line), source, state, time())
                except (ValueError, TypeError, KeyError, AttributeError) as error:
                    broken += 1
                    complain(f"line {number} was skipped: {text.one_line(str(error) or type(error).__name__, 120)}")
        real_time.sleep(_PAUSE)
    if new:
        events.append(db, time, f"facts imported as {state}", source, actor="person")
    return new, broken


def _read(db: Database, scope: Scope, row: dict[str, str], source: str, state: str, now: datetime) -> int:
    statement = row["statement"]
    if not isinstance(statement, str) or not statement.strip():
        raise ValueError("the statement is empty")
    at = clock.parse(row["at"], now) if row.get("at") else now
    message = db.value(
        """select m.id from message m join session s on s.id = m.session_id
           where m.owner = ? and s.source = ? and m.external_id = ?""",
        (scope.owner, source, row.get("source")),
    )
    return db.execute(
        """insert into fact (uid, owner, statement, state, origin, message_id, learned_at, decided_at, utc_offset,
              source)
           select ?1, ?2, ?3, ?4, 'import', ?5, ?6, ?7, ?8, ?9 where not exists (
              select 1 from fact where owner = ?2 and source = ?9 and message_id is ?5 and statement = ?3)""",
        (ids.new(now), scope.owner, statement, state, message, clock.utc(at), clock.utc(now), clock.offset(at), source),
    )
