"""Facts to and from files: JSON lines, a Markdown list for other agents, and one Markdown file to edit.

Facts that hold in one session alone are not exported: other databases do not have that session. Of JSON lines each has
a statement, and may have source (the external id of a message), at, since, until, subject, predicate and object, place
and quote. The file to edit has a section for each subject and a line for each fact, beginning with its handle; its
changes are applied as one batch, and an ambiguous file is refused whole: a typing error in a handle must not hide a
fact and add another.
"""

import re
import time as real_time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from agent_cli import clock, limits, text
from agent_cli.errors import UsageError
from agent_cli.memory import tombstones
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.facts.adoption import Adopted
from agent_cli.memory.facts.facts import Fact
from agent_cli.memory.language import languages
from agent_cli.memory.language.triples import Claim, Triple
from agent_cli.memory.proposals import EXPIRED, PENDING, MemoryContext
from agent_cli.store import events, ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

_SELF = languages.pattern(r"\b<OF_SELF>\b")
_BATCH = 100
_PAUSE = 0.02  # between batches, so that other programs get their turn to write
_INTRO = """<!-- What is known about you: a line for each fact, with its handle.
Change the words of a line and the fact is changed; delete a line and it is hidden; write a line "- words" without a
handle and that is a new fact, true where the heading above it says. Leave the handles as they are.
`agent facts undo` takes all of it back. -->
"""
_YOU, _OTHER = "You", "Other"
_ITEM = re.compile(r"[-*+]\s+(?:(f\d{1,18}):(?=\s|$))?\s*(.*)", re.IGNORECASE)
_LIKE_HANDLE = re.compile(r"f\s*\d+\b|[a-z]{0,2}\d+\s*:(?=\s|$)|f[\dol]*:", re.IGNORECASE)

FactScope = tuple[str, int | None]
"""Where a fact holds: a place (empty: everywhere) and a session (None: every one)."""


@frozen
class Changes:
    edited: tuple[tuple[Fact, str], ...]
    hidden: tuple[Fact, ...]
    added: tuple[tuple[str, FactScope], ...]

    def __len__(self) -> int:
        return len(self.edited) + len(self.hidden) + len(self.added)


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


def render(found: Sequence[Fact]) -> str:
    """The text of the file. Facts that hold in one place or session alone have a heading of their own."""

    def order(fact: Fact) -> tuple[Any, ...]:  # the person's facts first, those without a subject last
        scope = bool(fact.place or fact.session_id), fact.place, fact.session_id or 0
        return *scope, fact.subject != "person", not fact.subject, fact.subject.casefold(), fact.id

    sections: dict[str, list[str]] = {}
    for each in sorted(found, key=order):
        sections.setdefault(_heading(each), []).append(f"- {each.handle}: {_displayed(each)}")
    if _YOU not in sections:
        sections = {_YOU: [], **sections}
    blocks = ["\n".join([f"## {name}", "", *lines]) for name, lines in sections.items()]
    return "\n\n".join([_INTRO + "\n# Facts", *blocks]) + "\n"


def read(opened: Sequence[Fact], edited: str) -> Changes:
    """The changes that the person made. Raises UsageError where a line is ambiguous."""
    if not edited.strip():
        raise UsageError("the file came back empty, and nothing was changed; delete lines to hide their facts")
    known = {each.handle: each for each in opened}
    everywhere: FactScope = ("", None)
    scopes: dict[str, FactScope] = {_heading(each): (each.place, each.session_id) for each in opened}
    seen, added, section_scope = dict[str, str](), list[tuple[str, FactScope]](), everywhere
    for number, line in _items(edited):
        if line.startswith("#"):
            section_scope = scopes.get(line.lstrip("#").strip(), everywhere)
            continue
        match = _ITEM.fullmatch(line)
        handle, words = ((match[1] or "").lower(), " ".join(match[2].split())) if match else ("", "")
        wrong = ""
        if match is None:
            wrong = 'a fact begins with "- "'
        elif not handle and _LIKE_HANDLE.match(words):
            wrong = f"“{text.one_line(words, 20)}” looks like a broken handle; write it as in “- f4: words”"
        elif not words:
            wrong = f"{handle or 'the fact'} has no words; delete the whole line to hide a fact"
        elif handle and handle not in known:
            wrong = f"{handle} is not a fact of this file; a new line has no handle"
        elif handle in seen:
            wrong = f"{handle} is there twice"
        if wrong:
            raise UsageError(f"line {number}: {wrong}; nothing was changed")
        if handle:
            seen[handle] = words
        else:
            added.append((words, section_scope))
    return Changes(
        tuple((known[handle], words) for handle, words in seen.items() if words != _displayed(known[handle])),
        tuple(each for handle, each in known.items() if handle not in seen),
        tuple(added),
    )


def apply(memory: MemoryContext, changes: Changes) -> tuple[list[Fact], list[Fact], list[Adopted]]:
    """Write what was edited, hidden and added. Raises UsageError, with nothing written, when a fact was changed."""
    with memory.changing() as memory:
        for each in (*(fact for fact, _ in changes.edited), *changes.hidden):
            if facts.many(memory.db, [each.id], each.owner) != [each]:
                raise UsageError(f"{each.handle} was changed elsewhere while you wrote; nothing was changed")
        hidden = [facts.hide(memory, each) for each in changes.hidden]
        edited = [adoption.edit(memory, each, words) for each, words in changes.edited]
        claims = [
            adoption.claim(words, "typed", place=place, session=session) for words, (place, session) in changes.added
        ]
        return edited, hidden, [adoption.add(memory, each) for each in claims]


def _items(edited: str) -> list[tuple[int, str]]:
    """(line number, text) of headings and items; an indented line continues the item above it."""
    found, rest = list[tuple[int, str]](), edited
    if edited.lstrip().startswith("<!--") and "-->" in edited:
        intro, _, rest = edited.partition("-->")
        rest = "\n" * intro.count("\n") + rest
    for number, line in enumerate(rest.split("\n"), 1):
        if not line.strip():
            continue
        if line[0].isspace() and found and not found[-1][1].startswith("#") and not _ITEM.match(line.strip()):
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
        else:
            found.append((number, line.strip()))
    return found


def _displayed(fact: Fact) -> str:
    return " ".join(text.clean(fact.statement).split())


def _heading(fact: Fact) -> str:
    name = {"person": _YOU, "": _OTHER}.get(fact.subject) or text.one_line(fact.subject)
    if fact.session_id:
        return f"{name}, in session {ids.handle('session', fact.session_id)} alone"
    return f"{name}, in {text.one_line(fact.place, 200)}" if fact.place else name
