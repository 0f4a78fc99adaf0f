"""Facts as JSON lines: statement, and where they are known source (a message's external id), at, since, until, subject,
predicate and object, place, quote.
"""

import json
import time as real_time
from collections.abc import Callable, Iterable, Set
from dataclasses import replace
from datetime import datetime
from typing import Any

from agent_cli import clock, text
from agent_cli.errors import UsageError
from agent_cli.memory import tombstones
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.facts.facts import EXPIRED, PENDING, Fact
from agent_cli.memory.language.claims import Claim, Triple
from agent_cli.memory.language.predicates import SINGLE_VALUED
from agent_cli.memory.scope import Scope
from agent_cli.store import ids
from agent_cli.store.db import Database

_BATCH = 100
_PAUSE = 0.02  # between batches, so that other programs get their turn to write


def read(
    db: Database,
    scope: Scope,
    lines: Iterable[str],
    source: str,
    time: clock.Clock,
    complain: Callable[[str], None],
    *,
    accepted: bool = False,
    single: Set[str] = SINGLE_VALUED,
) -> tuple[int, int]:
    """Import facts, to the queue or as accepted ones; returns how many are new and how many lines were broken.

    Importing twice adds nothing, and brings back nothing that was rejected, ended or forgotten. What waits already, or
    has expired while it waited, is accepted when it comes again as accepted. One undo takes all of it back.
    """
    new = broken = 0
    batch = ids.new(time())
    rows = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    for start in range(0, len(rows), _BATCH):
        with db.write():
            for number, line in rows[start : start + _BATCH]:
                try:
                    with db.write():  # a line whole or not at all
                        claim = _claim(db, scope, line, source, time())
                        if tombstones.knows(db, claim.statement, scope.owner):
                            complain(f"line {number} was skipped: you had it forgotten")
                            continue
                        new += _take_in(db, scope, claim, time, accepted, single, batch)
                except (ValueError, TypeError, KeyError, AttributeError, UsageError) as error:
                    broken += 1
                    complain(f"line {number} was skipped: {text.one_line(str(error) or type(error).__name__, 120)}")
        real_time.sleep(_PAUSE)
    return new, broken


def _take_in(
    db: Database, scope: Scope, claim: Claim, time: clock.Clock, accepted: bool, single: Set[str], batch: str
) -> bool:
    """Whether it brought something new."""
    before = _imported(db, scope, claim)
    if before and before.state == EXPIRED and before.valid_to is None:  # it waited in vain
        values = {"state": PENDING, "decided_at": None}
        before = facts.change(db, before, "proposed", time, actor="person", batch=batch, **values)
        if not accepted:
            return True
    if before:
        waits = accepted and before.state == PENDING
        if waits:
            adoption.accept(db, before, time, single=single, batch=batch)
        return waits
    if accepted:
        return adoption.add(db, scope, claim, time, single, batch=batch).new
    return adoption.propose(db, scope, claim, time, actor="person", batch=batch) is not None


def _imported(db: Database, scope: Scope, claim: Claim) -> Fact | None:
    """The fact that this very line has become earlier."""
    learned = clock.utc(claim.learned) if claim.learned else ""
    found = db.rows(
        """select id from fact where owner = ? and source = ? and message_id is ? and statement = ?
             and (message_id is not null or ?5 in ('', learned_at)) order by id desc limit 1""",
        (scope.owner, claim.source, claim.message, claim.statement, learned),
    )
    return next(iter(facts.many(db, [id for (id,) in found], scope.owner)), None)


def _claim(db: Database, scope: Scope, line: str, source: str, now: datetime) -> Claim:
    """What a line says. Raises ValueError and UsageError."""
    row = json.loads(line)
    if not isinstance(row, dict):
        raise ValueError("it is no JSON object")
    statement = _words(row, "statement")
    if not statement:
        raise ValueError("it has no statement")
    if isinstance(row.get("source"), list | dict):
        raise ValueError("the source is no text")
    message = db.value(
        """select m.id from message m join session s on s.id = m.session_id
           where m.owner = ? and s.source = ? and m.external_id = ?""",
        (scope.owner, source, row.get("source")),
    )
    since, until = _moment(row, "since", now), _moment(row, "until", now)
    if since and until and until < since:
        raise ValueError("it ends before it begins")
    claim = adoption.claim(
        statement,
        "import",
        message=message,
        learned=_moment(row, "at", now),
        source=source,
        valid_from=since,
        expires=until,
        place=_words(row, "place"),
        quote=_words(row, "quote") if message else "",
    )
    told = [_words(row, name) for name in ("subject", "predicate", "object")]
    if any(told) and not all(told):
        raise ValueError("subject, predicate and object go together")
    return replace(claim, triple=Triple(*told)) if all(told) and claim.statement == statement else claim


def _words(row: dict[str, Any], name: str) -> str:
    """A text on one line, empty when it is not there. Raises ValueError."""
    told = row.get(name)
    if told is None:
        return ""
    if not isinstance(told, str) or text.without_surrogates(told) != told:
        raise ValueError(f"the {name} is no text")
    return " ".join(told.split())


def _moment(row: dict[str, Any], name: str, now: datetime) -> datetime | None:
    told = _words(row, name)
    return clock.parse(told, now) if told else None
