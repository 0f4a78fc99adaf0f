"""Imports facts from JSON lines: each has a statement, and may have source (the external id of a message), at, since,
until, subject, predicate and object, place and quote.
"""

import time as real_time
from collections.abc import Callable, Iterable, Set
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any

from agent_cli import clock, limits, text
from agent_cli.errors import UsageError
from agent_cli.memory import tombstones
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.facts.facts import EXPIRED, PENDING, Fact
from agent_cli.memory.language.triples import SINGLE_VALUED, Claim, Triple
from agent_cli.memory.scope import Scope
from agent_cli.store import events, ids
from agent_cli.store.db import Database

_BATCH = 100
_PAUSE = 0.02  # between batches, so that other programs get their turn to write


def import_lines(
    db: Database,
    scope: Scope,
    lines: Iterable[str],
    source: str,
    time: clock.Clock,
    complain: Callable[[str], None],
    *,
    accepted: bool = False,
    single_valued: Set[str] = SINGLE_VALUED,
) -> tuple[int, int]:
    """Import facts as proposals or as accepted; returns how many are new and how many lines were invalid.

    Importing twice adds nothing, and restores nothing that was rejected, ended or forgotten. A proposal, pending or
    expired, is accepted when the same line is imported as accepted. One undo reverts the whole import.
    """
    new = broken = 0
    batch = ids.new(time())
    rows = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    while numbered := list(islice(rows, _BATCH)):
        before = new
        with db.write():
            for number, line in numbered:
                try:
                    with db.write():  # a savepoint for each line
                        claim = _parse_line(db, scope, line, source, time())
                        if tombstones.contains(db, claim.statement, scope.owner):
                            complain(f"line {number} was skipped: you had it erased")
                            continue
                        new += _import_claim(db, scope, claim, time, accepted, single_valued, batch)
                except (ValueError, TypeError, KeyError, AttributeError, RecursionError, UsageError) as error:
                    broken += 1
                    complain(f"line {number} was skipped: {text.one_line(str(error) or type(error).__name__, 120)}")
            if new > before:
                events.append(db, time, "facts imported", str(new - before), actor="import")
        real_time.sleep(_PAUSE)
    return new, broken


def _import_claim(
    db: Database, scope: Scope, claim: Claim, time: clock.Clock, accepted: bool, single_valued: Set[str], batch: str
) -> bool:
    """Import one claim; returns whether that changed anything."""
    before = _imported_before(db, scope, claim)
    if before and before.state == EXPIRED:
        values = {"state": PENDING, "decided_at": None}
        before = facts.change(db, before, "proposed", time, actor="person", batch=batch, **values)
        if not accepted:
            return True
    if before:
        accepting = accepted and before.state == PENDING
        if accepting:
            adoption.accept(db, before, time, single_valued=single_valued, batch=batch)
        return accepting
    if accepted:
        return adoption.add(db, scope, claim, time, single_valued, batch=batch).new
    return adoption.propose(db, scope, claim, time, actor="person", batch=batch) is not None


def _imported_before(db: Database, scope: Scope, claim: Claim) -> Fact | None:
    """The fact that the same line became in an earlier import."""
    learned = clock.utc(claim.learned) if claim.learned else ""
    found = db.rows(
        """select id from fact where owner = ? and source = ? and message_id is ? and statement = ?
             and (message_id is not null or ?5 in ('', learned_at)) order by id desc limit 1""",
        (scope.owner, claim.source, claim.message, claim.statement, learned),
    )
    return next(iter(facts.many(db, [id for (id,) in found], scope.owner)), None)


def _parse_line(db: Database, scope: Scope, line: str, source: str, now: datetime) -> Claim:
    """The claim of a line. Raises ValueError and UsageError."""
    row = limits.load_json(line)
    if not isinstance(row, dict):
        raise ValueError("it is not a JSON object")
    statement = _text_field(row, "statement")
    if not statement:
        raise ValueError("it has no statement")
    if isinstance(row.get("source"), list | dict):
        raise ValueError("the source is not text")
    message = db.value(
        """select m.id from message m join session s on s.id = m.session_id
           where m.owner = ? and s.source = ? and m.external_id = ?""",
        (scope.owner, source, row.get("source")),
    )
    since, until = _time_field(row, "since", now), _time_field(row, "until", now)
    if since and until and until < since:
        raise ValueError("it ends before it begins")
    claim = adoption.claim(
        statement,
        "import",
        message=message,
        learned=_time_field(row, "at", now),
        source=source,
        valid_from=since,
        valid_to=until,
        place=_text_field(row, "place"),
        quote=_text_field(row, "quote") if message else "",
    )
    parts = [_text_field(row, name) for name in ("subject", "predicate", "object")]
    if any(parts) and not all(parts):
        raise ValueError("subject, predicate and object go together")
    return replace(claim, triple=Triple(*parts)) if all(parts) and claim.statement == statement else claim


def _text_field(row: dict[str, Any], name: str) -> str:
    """A field as text on one line, empty when it is missing. Raises ValueError."""
    value = row.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or text.without_surrogates(value) != value:
        raise ValueError(f"the {name} is not text")
    return " ".join(value.split())


def _time_field(row: dict[str, Any], name: str, now: datetime) -> datetime | None:
    value = _text_field(row, name)
    return clock.parse(value, now) if value else None
