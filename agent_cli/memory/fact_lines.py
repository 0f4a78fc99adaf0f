"""Facts as JSON lines: statement, source (a message's external id), at."""

import json
import time as real_time
from collections.abc import Callable, Iterable, Set
from typing import Any

from agent_cli import clock, text
from agent_cli.errors import UsageError
from agent_cli.memory import adoption, forgotten
from agent_cli.memory.predicates import SINGLE
from agent_cli.memory.scope import Scope
from agent_cli.store.db import Database

_BATCH = 100
_PAUSE = 0.02  # between batches, so that other programs get their turn to write


def read(
    db: Database, scope: Scope, lines: Iterable[str], source: str, time: clock.Clock,
    complain: Callable[[str], None], *, accepted: bool = False, single: Set[str] = SINGLE,
) -> tuple[int, int]:  # fmt: skip
    """Import facts, to the queue or as accepted ones; returns how many are new and how many lines were broken.

    Importing twice adds nothing. What waits already is accepted when it comes again as accepted.
    """
    new = broken = 0
    rows = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    for start in range(0, len(rows), _BATCH):
        with db.write():
            for number, line in rows[start : start + _BATCH]:
                try:
                    with db.write():  # a line whole or not at all
                        new += _read(db, scope, json.loads(line), source, time, accepted, single, number, complain)
                except (ValueError, TypeError, KeyError, AttributeError, UsageError) as error:
                    broken += 1
                    complain(f"line {number} was skipped: {text.one_line(str(error) or type(error).__name__, 120)}")
        real_time.sleep(_PAUSE)
    return new, broken


def _read(
    db: Database, scope: Scope, row: dict[str, Any], source: str, time: clock.Clock, accepted: bool, single: Set[str],
    number: int, complain: Callable[[str], None],
) -> bool:  # fmt: skip
    statement = row["statement"]
    if not isinstance(statement, str) or text.whole(statement) != statement:
        raise ValueError("the statement is no text")
    now = time()
    learned = clock.parse(row["at"], now) if row.get("at") else now
    message = db.value(
        """select m.id from message m join session s on s.id = m.session_id
           where m.owner = ? and s.source = ? and m.external_id = ?""",
        (scope.owner, source, row.get("source")),
    )
    if forgotten.knows(db, statement):
        complain(f"line {number} was skipped: you had it forgotten")
        return False
    claim = adoption.claim(statement, "import", message=message, learned=learned, source=source)
    if accepted:
        return adoption.add(db, scope, claim, time, single).new
    return adoption.propose(db, scope, claim, time, actor="person") is not None
