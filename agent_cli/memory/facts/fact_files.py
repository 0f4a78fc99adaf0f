"""Facts to and from files: JSON lines, and a Markdown list for other agents.

Facts that hold in one session alone are not exported: other databases do not have that session. Of JSON lines each has
a statement, and may have source (the external id of a message), at, since, until, subject, predicate and object, place
and quote.
"""

import time as real_time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from agent_cli import clock, limits, text
from agent_cli.errors import UsageError
from agent_cli.memory import tombstones
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.facts.facts import Fact
from agent_cli.memory.language import languages
from agent_cli.memory.language.triples import Claim, Triple
from agent_cli.memory.proposals import EXPIRED, PENDING, MemoryContext
from agent_cli.store import events
from agent_cli.store.db import Database

_SELF = languages.pattern(r"\b<OF_SELF>\b")
_BATCH = 100
_PAUSE = 0.02  # between batches, so that other programs get their turn to write


def json_rows(db: Database, found: Sequence[Fact]) -> Iterator[dict[str, Any]]:
    ordered = [each for each in sorted(found, key=lambda each: each.id) if each.session_id is None]
    messages = [each.message_id for each in ordered if each.message_id]
    query = "select id, coalesce(external_id, uid) from message where id in (select value from json_each(?))"
    external_ids: dict[int | None, str] = dict(db.rows(query, (messages,)))
    for each in ordered:
        dates = {"at": each.learned_at, "since": each.valid_from, "until": each.valid_to}
        row = {
            "statement": each.statement,
            **{name: clock.local(at, each.utc_offset).isoformat() for name, at in dates.items() if at},
            **{name: getattr(each, name) for name in ("subject", "predicate", "object", "place", "quote")},
            "source": external_ids.get(each.message_id),
        }
        yield {name: value for name, value in row.items() if value}


def markdown(found: Sequence[Fact]) -> str:
    """A list for other agents: facts about the person, then the others; those of one place below its heading."""
    parts = {True: ["# About the person", ""], False: ["", "# What is known besides", ""]}
    places = dict.fromkeys(parts, "")
    for each in sorted(found, key=lambda each: (each.place, each.id)):
        if each.session_id is None:
            part = each.subject == "person" or bool(not each.subject and _SELF.search(each.statement))
            if each.place != places[part]:
                places[part] = each.place
                parts[part] += ["", f"## In {text.one_line(each.place, 200)}", ""]
            parts[part].append(f"- {_displayed(each)} ({each.day})")
    return "\n".join([*parts[True], *parts[False]])


def import_lines(
    memory: MemoryContext, lines: Iterable[str], source: str, complain: Callable[[str], None], *, accepted: bool = False
) -> tuple[int, int]:
    """Import facts, once and nothing that was rejected or forgotten; how many are new, and how many lines invalid."""
    new = broken = 0
    memory, db = memory.in_one_batch(), memory.db
    rows = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    while numbered := list(islice(rows, _BATCH)):
        before = new
        with db.write():
            for number, line in numbered:
                try:
                    with db.write():  # a savepoint for each line
                        claim = _parse_line(memory, line, source)
                        if tombstones.contains(db, claim.statement, memory.scope.owner):
                            complain(f"line {number} was skipped: you had it erased")
                            continue
                        new += _import_claim(memory, claim, accepted)
                except (ValueError, TypeError, KeyError, AttributeError, RecursionError, UsageError) as error:
                    broken += 1
                    complain(f"line {number} was skipped: {text.one_line(str(error) or type(error).__name__, 120)}")
            if new > before:
                events.append(db, memory.time, "facts imported", str(new - before), actor="import")
        real_time.sleep(_PAUSE)
    return new, broken


def _import_claim(memory: MemoryContext, claim: Claim, accepted: bool) -> bool:
    """Import a claim; whether that changed anything."""
    learned = clock.utc(claim.learned) if claim.learned else ""
    where = """owner = ? and source = ? and message_id is ? and statement = ?
               and (message_id is not null or ?5 in ('', learned_at)) order by id desc limit 1"""
    values = (memory.scope.owner, claim.source, claim.message, claim.statement, learned)
    before = next(iter(facts.FACTS.select(memory.db, where, values)), None)  # of the same line, imported earlier
    if before and before.state != EXPIRED and not (accepted and before.state == PENDING):
        return False
    if accepted:
        return adoption.add(memory, claim).new
    return adoption.propose(memory, claim, actor="person") is not None


def _parse_line(memory: MemoryContext, line: str, source: str) -> Claim:
    row = limits.load_json(line)
    if not isinstance(row, dict):
        raise ValueError("it is not a JSON object")
    statement = _text_field(row, "statement")
    if not statement:
        raise ValueError("it has no statement")
    if isinstance(row.get("source"), list | dict):
        raise ValueError("the source is not text")
    query = """select m.id from message m join session s on s.id = m.session_id
               where m.owner = ? and s.source = ? and m.external_id = ?"""
    message = memory.db.value(query, (memory.scope.owner, source, row.get("source")))
    moments = (_text_field(row, name) for name in ("at", "since", "until"))
    at, since, until = (clock.parse(each, memory.time()) if each else None for each in moments)
    if since and until and until < since:
        raise ValueError("it ends before it begins")
    dates = {"learned": at, "valid_from": since, "valid_to": until}
    said = {"message": message, "quote": _text_field(row, "quote") if message else ""}
    claim = adoption.claim(statement, "import", source=source, place=_text_field(row, "place"), **dates, **said)
    parts = [_text_field(row, name) for name in ("subject", "predicate", "object")]
    if any(parts) and not all(parts):
        raise ValueError("subject, predicate and object go together")
    return replace(claim, triple=Triple(*parts)) if all(parts) and claim.statement == statement else claim


def _text_field(row: dict[str, Any], name: str) -> str:
    """A field as text on one line, empty when it is missing. Raises ValueError."""
    value = "" if row.get(name) is None else row[name]
    if not isinstance(value, str) or text.without_surrogates(value) != value:
        raise ValueError(f"the {name} is not text")
    return " ".join(value.split())


def _displayed(fact: Fact) -> str:
    return " ".join(text.clean(fact.statement).split())
