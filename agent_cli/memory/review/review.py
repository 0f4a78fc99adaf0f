"""The queue of proposals that wait for the person: what is shown of each, and each decision. A decision checks, in its
transaction, that the database still holds exactly what was shown: nobody approves other words. So a new skill is shown
whole, a change with every line that differs, and invisible characters are removed."""

import difflib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, field, replace
from datetime import datetime
from itertools import islice
from typing import Any

from agent_cli import clock
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import log, readings, sessions
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.facts.facts import FACTS, Fact
from agent_cli.memory.language import triples
from agent_cli.memory.proposals import ACCEPTED, MAX_WAIT, PENDING, MemoryContext, Proposals
from agent_cli.memory.scope import Scope
from agent_cli.memory.skills import skills
from agent_cli.memory.skills.skills import MERGED, SKILLS, Skill
from agent_cli.messages import Request
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.text import counted, one_line, visible
from agent_cli.values import frozen

STAYS, ENDS, LATER = "stays", "ends", "later"  # what a yes does to a known fact; later: the known fact is the newer one
EVERYWHERE = "everywhere"  # where a fact is true that holds in no single project or session
_MAX_CONFLICTS = 5  # contradicted facts that are shown: first those that acceptance ends, then the newest
_SESSION_END = 8  # messages shown for a proposal without a source message
_CONTEXT = 3  # lines around a change of a skill
_BYTE_ORDER_MARK = "\ufeff"
_KINDS: Mapping[str, Proposals[Any]] = {"fact": FACTS, "skill": SKILLS}

_COMPARED = {  # the columns of which a change is reported; the first is what the person knows the row by
    "fact": ("statement", "place", "session_id", "valid_from", "valid_to"),
    "skill": ("name", "text", "files"),
}
_MAX_CHANGES = 10  # lines

ProposalKey = tuple[str, int]
"""The kind of a proposal and its id."""


@frozen
class ConflictingFact(ids.Handled):
    kind = "fact"
    id: int
    statement: str
    since: str
    utc_offset: int
    outcome: str

    @property
    def day(self) -> str:
        return clock.format_day(self.since, self.utc_offset)


@frozen
class Proposal(ids.Handled):
    """All that is shown of a proposal. Two are equal when a person would decide on the same words."""

    kind: str
    id: int
    statement: str  # in visible characters, as it will be stored; for a skill its whole text
    hidden: bool  # whether invisible characters were removed
    edited: bool  # whether the reviewer changed the words
    operation: str
    reach: str  # where it is true, in words
    since: str = ""  # from which day to which, where that is known
    until: str = ""
    filed: str = ""  # subject, predicate and object, where they do not follow from the statement
    origin: str = ""
    trust: str = ""
    inferred: bool = False
    quote: str = ""
    message: int | None = None
    known: tuple[ConflictingFact, ...] = ()
    more: int = 0  # how many further facts it contradicts, which are not shown and not changed
    at: str = field(default="", compare=False)
    utc_offset: int = field(default=0, compare=False)
    session: str = field(default="", compare=False)  # the handle of the session it comes from; `title` is its name
    title: str = field(default="", compare=False)
    read: str = ""  # what was read in the turn that proposed it, with its message
    read_message: int | None = None
    heading: str = ""  # of a skill: its name and description
    body: tuple[str, ...] = ()  # of a skill: the lines that acceptance adds (+) or removes (-), with positions (@)

    @property
    def foreign(self) -> bool:
        """Whether it rests on what was read from somebody else: it ends what is known only by a key of its own."""
        return self.trust in readings.ORIGINS

    def describe(self) -> dict[str, Any]:
        known = [{"id": each.handle, "statement": each.statement, "since": each.since} for each in self.known]
        values = asdict(self) | {"id": self.handle, "conflicts": known}
        values["message"] = ids.handle("message", self.message) if self.message else None
        left_out = {"utc_offset", "edited", "known", "read_message"} | ({"heading", "body"} if not self.body else set())
        return {key: value for key, value in values.items() if key not in left_out}


@frozen
class ReviewDecision:
    """Decisions of one batch, which are undone together."""

    proposals: tuple[Proposal, ...]
    accepted: bool
    receipts: tuple[str, ...]
    batch: str


def pending(memory: MemoryContext, session: int | None = None) -> list[ProposalKey]:
    """The keys of pending proposals by kind, those first that were proposed after something foreign was read."""
    of = memory.db, memory.scope.owner, session, readings.ORIGINS
    return [(name, id) for name, kind in _KINDS.items() for id in kind.pending_ids(*of)]


def read(memory: MemoryContext, key: ProposalKey, words: str = "") -> Proposal | None:
    """A proposal as it is shown, with other words if given; None when it is no longer pending."""
    found = _KINDS[key[0]].many(memory.db, [key[1]], memory.scope.owner)
    if not found or found[0].state != PENDING or found[0].hidden_at:
        return None
    words = parse_edit(key, words) if words else ""
    return _read_fact(memory, found[0], words) if key[0] == "fact" else _read_skill(memory, found[0], words)


def parse_edit(key: ProposalKey, words: str) -> str:
    """The reviewer's words as they would be stored. Raises UsageError when they are not valid."""
    return visible_line(words) if key[0] == "fact" else skills.parse(cleaned(words)).text


def accept(memory: MemoryContext, proposal: Proposal, *, replacing: bool = False) -> ReviewDecision:
    """Accept a proposal; `replacing`: also end what it contradicts. Raises UsageError when it is not as it was read."""
    with memory.changing() as memory:
        return ReviewDecision((proposal,), True, (_accept(memory, proposal, replacing),), memory.batch)


def reject(memory: MemoryContext, proposal: Proposal) -> ReviewDecision:
    """Reject a proposal. Raises UsageError like `accept`."""
    with memory.changing() as memory:
        row = _KINDS[proposal.kind].reject(memory, _unchanged(memory, proposal))
        return ReviewDecision((proposal,), False, (f"rejected {row.handle}",), memory.batch)


def accept_all(memory: MemoryContext, proposals: Sequence[Proposal]) -> ReviewDecision:
    """Accept those that are unchanged, and end the facts they contradict, unless they rest on something foreign."""
    done, receipts = [], []
    with memory.changing() as memory:
        for each in proposals:
            try:
                with memory.db.write():
                    receipts.append(_accept(memory, each, not each.foreign))
            except UsageError:
                continue  # decided meanwhile, or changed by another of these decisions: it stays in the queue
            done.append(each)
    return ReviewDecision(tuple(done), True, tuple(receipts), memory.batch)


def last_batch(memory: MemoryContext) -> str:
    """The batch of the last decision if it included a skill and the person has changed no fact since; else empty."""
    query = """select v.batch from skill_version v join skill s on s.id = v.skill_id
               where s.owner = ?1 and v.undone = 0 and v.change in ('accepted', 'rejected')
                 and v.at >= (select coalesce(max(v.at), '') from fact_version v join fact f on f.id = v.fact_id
                              where f.owner = ?1 and v.undone = 0 and v.actor = 'person')
               order by v.id desc limit 1"""
    return memory.db.value(query, (memory.scope.owner,)) or ""


def undo_batch(memory: MemoryContext, batch: str) -> list[str]:
    """Undo a batch of decisions, whatever it included. Raises UsageError when one was changed since."""
    lines = []
    with memory.db.write():
        for row in [row for kind in _KINDS.values() for row in kind.undo_batch(memory, batch)]:
            if row.state == PENDING:
                lines.append(f"{row.handle} waits again")
            elif row.kind == "fact":
                lines.append(f"{row.handle} is {'true again' if row.is_accepted else row.state}")
            else:
                now = f"version {row.version} again" if row.state == ACCEPTED else row.state
                lines.append(f"{row.handle} {row.name} is {now}")
    return lines


def changes(memory: MemoryContext, batch: str) -> list[str]:
    """What a batch changed, the last first: `f3 “I live in Graz”, added on 22 Nov 2026`."""
    lines = []
    for kind in _KINDS.values():
        for id, change, at, offset in kind.of_batch(memory.db, batch):
            row = kind.get(memory.db, id, memory.scope.owner)
            name = row.statement if isinstance(row, Fact) else row.name
            lines.append(f"{row.handle} “{visible_line(name)}”, {change} on {clock.format_day(at, offset)}")
    return lines


def passage(memory: MemoryContext, proposal: Proposal) -> list[tuple[log.Entry, bool]]:
    """The message it comes from (True) with two around it, or the end of the session. Raises UsageError."""
    source = proposal.read_message or proposal.message
    if source:
        entries = log.context_of(memory.db, memory.scope.owner, source, 2, 2)
    elif proposal.session:
        last = log.history(memory.db, ids.number("session", proposal.session), _SESSION_END)
        entries = [entry for entry in last if entry.message.text]
    else:
        raise UsageError(f"{proposal.handle} comes from no message")
    return [(entry, bool(source) and entry.id in (source, proposal.message)) for entry in entries]


def expiry_notice(memory: MemoryContext) -> str:
    """A sentence about proposals that expired since the last call; empty when there are none."""
    expired = {name: kind.expire_old(memory) for name, kind in _KINDS.items()}
    if not any(expired.values()):
        return ""
    most = f"{FACTS.max_pending} facts and {SKILLS.max_pending} skills" if expired["skill"] else FACTS.max_pending
    limits = f"each waits for {MAX_WAIT.days} days at most, and {most} at once"
    return f"{counted(sum(expired.values()), 'proposal')} expired unread: {limits}"


def start_notices(memory: MemoryContext) -> list[str]:
    return [line for line in (expiry_notice(memory), waiting_notice(pending(memory))) if line]


def waiting_notice(waiting: Iterable[ProposalKey]) -> str:
    """How many of each kind are to review: `3 facts and 1 skill to review: /review`; empty where nothing waits."""
    counts = Counter(kind for kind, _ in waiting).items()
    listed = " and ".join(counted(count, kind) for kind, count in counts)
    return Request(f"{listed} to review: /review" if listed else "")


def changed_since_opened(db: Database, session: int, owner: str, command: str) -> list[str]:
    """What changed since a session was opened, as `+ f12 …`, `~ f3 …`, `- f4 …`, and how many proposals wait."""
    opened = db.value("select max(started_at, coalesce(opened_at, '')) from session where id = ?", (session,))
    found = [change for kind in _COMPARED for change in _changes_since(db, kind, owner, opened)]
    lines = [f"{sign} {words}" for wanted in "+~-" for sign, words in found if sign == wanted]
    if len(lines) > _MAX_CHANGES:
        lines = [*lines[:_MAX_CHANGES], f"and {len(lines) - _MAX_CHANGES} more"]
    count = sum(sign == PENDING for sign, _ in found)
    return [*lines, Request(f"{count} to review: {command}")] if count else lines


def describe_scope(scope: Scope, fact: Fact) -> str:
    if fact.session_id:
        return f"in session {ids.handle('session', fact.session_id)} alone"
    where = "in this project" if fact.place == scope.place else f"in {visible_line(fact.place)}"
    return where if fact.place else EVERYWHERE


def visible_line(words: str) -> str:
    return " ".join(visible(words).split())


def format_receipt(adopted: adoption.Adopted, now: datetime) -> str:
    """The receipt for an accepted fact: `kept f14, since 21 Nov 2026, replaces f31 (until 21 Nov 2026)`."""
    dates = facts.format_dates(adopted.fact, now)
    line = f"kept {adopted.fact.handle}{f', {dates}' if dates else ''}"
    for each in adopted.replaced:
        until = clock.format_day(each.valid_to or "", each.utc_offset)
        line += f", {'ends' if adopted.fact.operation == 'delete' else 'replaces'} {each.handle} (until {until})"
    return line


def cleaned(text: str) -> str:
    """A text without invisible characters, except for a byte order mark and the line ends."""
    lines = []
    for line in text.removeprefix(_BYTE_ORDER_MARK).split("\n"):
        words = line.removesuffix("\r").replace("\u2028", " ").replace("\u2029", " ")
        while (seen := visible(words)) != words:  # removing a character may join two others
            words = seen
        lines.append(f"{words}\r" if line.endswith("\r") else words)
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    return mark + "\n".join(lines)


def _unchanged(memory: MemoryContext, shown: Proposal) -> Any:
    """The fact or skill that a proposal shows. Raises UsageError when it is not as it was shown."""
    found = _KINDS[shown.kind].many(memory.db, [shown.id], memory.scope.owner)
    now = read(memory, (shown.kind, shown.id), shown.statement if shown.edited else "")
    if now is None:
        state = ("hidden" if found[0].hidden_at else found[0].state) if found else "gone"
        raise UsageError(f"{shown.handle} was decided meanwhile: it is {'accepted' if state == MERGED else state}")
    if now != shown:
        raise UsageError(f"{shown.handle} has changed since it was shown; look at it again")
    return found[0]


def _accept(memory: MemoryContext, proposal: Proposal, replacing: bool) -> str:
    """Accept the words that were shown; returns the receipt. `replacing`: the older facts that were shown end too."""
    row = _unchanged(memory, proposal)
    if proposal.kind == "skill":
        skill = row if proposal.statement == row.text else skills.edit(memory, row, proposal.statement)
        now = skills.accept(memory, skill)
        version = f": {now.handle} {now.name} is version {now.version} now" if now.id != skill.id else f" {now.name}"
        return f"kept {skill.handle}{version}"
    fact = row if proposal.statement == row.statement else adoption.edit(memory, row, proposal.statement)
    older = [each.id for each in proposal.known if replacing and each.outcome != LATER]
    known = facts.many(memory.db, older, fact.owner)
    adopted = adoption.accept(memory, fact, replacing=known[0] if known else None)
    replaced = {each.id for each in adopted.replaced}
    ended = [adoption.end(memory, each) for each in known[1:] if each.id not in replaced]
    return format_receipt(replace(adopted, replaced=(*adopted.replaced, *ended)), memory.time())


def _source(memory: MemoryContext, row: Fact | Skill, session: int | None, at: str, offset: int) -> dict[str, Any]:
    """What a proposal comes from: with the handle and the name of its session."""
    source: dict[str, Any] = {"origin": row.origin, "trust": row.trust, "at": at, "utc_offset": offset}
    found = sessions.get(memory.db, session, memory.scope.owner) if session else None
    named = {"session": found.handle, "title": visible_line(sessions.name(memory.db, found))} if found else {}
    return source | named


def _read_fact(memory: MemoryContext, fact: Fact, words: str) -> Proposal:
    db, statement = memory.db, words or visible_line(fact.statement)
    edited = fact if statement == fact.statement else adoption.reworded(fact, statement, memory.time())
    said_in = db.row("select session_id, at, utc_offset from message where id = ?", (fact.message_id,))
    source = _source(memory, fact, *(said_in or (None, fact.learned_at, fact.utc_offset)))
    messages = [message for message, _ in facts.sources(db, fact)] if fact.trust in readings.ORIGINS else []
    read, read_message = readings.describe(db, messages)
    dates = (edited.valid_from, edited.valid_to)
    since, until = (clock.format_day(moment, fact.utc_offset) if moment else "" for moment in dates)
    # A triple of a model, which is not what the rules make of the statement, is approved too.
    triple = triples.Triple(edited.subject, edited.predicate, edited.object)
    as_parsed = not edited.predicate or triple == triples.parse(edited.statement)
    filed = "" if as_parsed else visible_line(f"{edited.subject} · {edited.predicate} · {edited.object}")
    hidden = visible_line(fact.statement) != " ".join(fact.statement.split()) and not words
    known = _conflicts(memory, edited)
    source |= {"known": tuple(known[:_MAX_CONFLICTS]), "more": max(0, len(known) - _MAX_CONFLICTS)}
    source |= {"message": fact.message_id, "inferred": bool(fact.inferred), "quote": visible_line(fact.quote)}
    source |= {"read": read, "read_message": read_message, "since": since, "until": until, "filed": filed}
    reach = describe_scope(memory.scope, fact)
    return Proposal("fact", fact.id, statement, hidden, bool(words), fact.operation, reach, **source)


def _conflicts(memory: MemoryContext, fact: Fact) -> list[ConflictingFact]:
    """The facts that a proposed one contradicts, those first that end or are newer, then the newest."""
    found = adoption.conflicts(memory, fact)
    single = bool(found) and fact.predicate in memory.single_valued
    values = facts.in_order([*adoption.values(memory, fact), fact]) if single else [fact]
    earlier = {each.id for each in values[: values.index(fact)]}

    def shown(known: Fact) -> ConflictingFact:
        outcome = STAYS
        if known.id == fact.target_id and fact.operation in ("update", "delete"):
            outcome = ENDS
        elif single and (known.subject, known.predicate) == (fact.subject, fact.predicate):
            outcome = ENDS if known.id in earlier else LATER
        return ConflictingFact(known.id, visible_line(known.statement), known.began_at, known.utc_offset, outcome)

    return sorted(map(shown, found), key=lambda each: (each.outcome == STAYS, -each.id))


def _read_skill(memory: MemoryContext, skill: Skill, words: str) -> Proposal:
    text, name, description = words or cleaned(skill.text), skill.name, skill.description
    with suppress(UsageError):  # it is invalid without the invisible characters: accepting it will raise this
        file = skills.parse(text)
        name, description = file.name, file.description
    known = skills.listing(memory.db, skill.owner)
    named = [each for each in known if each.name == name]
    target = next(iter(named or (each for each in known if each.id == skill.target_id)), None)
    reach = f"a change to {target.handle} {target.name}" if target else "new skill"
    if target and skill.base is not None and target.id == skill.target_id:
        now = f" (it is version {target.version} now)" if target.version != skill.base else ""
        reach += f", made from version {skill.base}{now}"
    session = skill.session_id if skill.trust in readings.ORIGINS else None
    read, message = readings.describe_in_session(memory.db, session, skill.at)
    source = _source(memory, skill, skill.session_id, skill.at, skill.utc_offset)
    changed = (*difference(target.text if target else None, text), *_files_changed(skill, target))
    source |= {"body": changed or ("@ nothing that can be seen would change",), "read": read, "read_message": message}
    heading, hidden = visible_line(f"{name}: {description}"), text != skill.text and not words
    operation = "update" if target else "insert"
    return Proposal("skill", skill.id, text, hidden, bool(words), operation, reach, heading=heading, **source)


def difference(before: str | None, after: str) -> Iterator[str]:
    """The lines of a new skill, or those that a change adds and removes, each after its sign."""
    old, new = (
        [line.removesuffix("\r") for line in cleaned(text or "").removeprefix(_BYTE_ORDER_MARK).split("\n")]
        for text in (before, after)
    )
    old, new = (lines if lines[-1] else lines[:-1] for lines in (old, new))
    if before is None:
        yield from (f"+ {line}" for line in new)
        return
    for line in islice(difflib.unified_diff(old, new, n=_CONTEXT, lineterm=""), 2, None):  # without the file names
        if line.startswith("@@"):
            yield f"@ from line {line.split()[2][1:].partition(',')[0]}"
        else:
            yield f"{line[0]} {line[1:]}"


def _files_changed(skill: Skill, target: Skill | None) -> Iterator[str]:
    """The lines that a skill adds to and removes from its files, each file after its path."""
    before, after = (skills.file_texts(each.files) if each else {} for each in (target, skill))
    for path in sorted({*before, *after}):
        if before.get(path) != after.get(path):
            yield f"@ {visible_line(path)}{'' if path in after else ' goes'}"
            yield from difference(before.get(path), after[path]) if path in after else ()


def _changes_since(db: Database, kind: str, owner: str, since: str) -> Iterator[tuple[str, str]]:
    """(sign, handle and words) of each row that differs from what it was at that time, as its history has it."""
    words, *_ = compared = _COMPARED[kind]
    query = f"""select {kind}_id, was from {kind}_version
                where id in (select min(id) from {kind}_version where at >= ? group by {kind}_id) order by 1"""
    former = {id: json.loads(was or "{}") for id, was in db.rows(query, (since,))}
    for row in _KINDS[kind].many(db, list(former), owner):
        was, now = former[row.id], asdict(row)
        before, after = ("" if each.get("hidden_at") else each.get("state", "") for each in (was, now))
        if ACCEPTED in (before, after) and before != after:
            sign = "+" if after == ACCEPTED else "-"
        elif after == ACCEPTED:
            sign = "~" if any(was.get(column) != now[column] for column in compared) else ""
        else:
            sign = PENDING if after == PENDING != before else ""
        if sign:
            yield sign, f"{row.handle} {one_line(now[words], 100)}"
