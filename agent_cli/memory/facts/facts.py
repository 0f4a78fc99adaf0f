"""Reading and writing facts about the person. adoption.py decides who may add one and what it replaces. Whether an
accepted fact is planned, true or over is decided by its dates when it is read: nothing has to run on that day."""

import math
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from agent_cli import clock, text
from agent_cli.errors import UsageError
from agent_cli.memory import lineage
from agent_cli.memory.language import keywords, languages, statements, terms
from agent_cli.memory.language.triples import KIN, RELATIVE, Claim, Triple
from agent_cli.memory.proposals import ACCEPTED, REJECTED, MemoryContext, Proposals, Proposed
from agent_cli.memory.search import graph, index
from agent_cli.messages import Receipt
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

SUPERSEDED = "superseded"  # the state of what was true before; the others are those of all proposals
_RELATION = languages.pattern(rf"(?:<FAMILY_NAME>|<POSSESSIVE> (?:{'|'.join(KIN)}))(?: (?-i:[A-ZÄÖÜ])\w+)?(?![\w-])")
SIMILARITY = 0.72  # Jaccard index of the shingles from which two statements count as the same


@frozen
class Fact(Proposed):
    kind = "fact"
    id: int
    owner: str
    place: str
    session_id: int | None
    statement: str
    subject: str
    predicate: str
    object: str
    state: str
    operation: str
    target_id: int | None
    origin: str
    trust: str
    inferred: int
    message_id: int | None
    quote: str
    valid_from: str | None  # null: from when it was learned
    valid_to: str | None
    learned_at: str
    decided_at: str | None
    utc_offset: int
    source: str | None
    hidden_at: str | None
    in_profile: str  # always, never, or empty: whether every session is told it; see agent/profile.py

    @property
    def began_at(self) -> str:
        """The time from which it is true; where that is unknown, when it was learned."""
        return self.valid_from or self.learned_at

    @property
    def day(self) -> str:
        return self.local_day(self.began_at)

    def days(self, now: datetime) -> str:
        """Since and until when it is true; until when alone, where it began at an unknown time before it was typed."""
        begins = f"{'planned, from' if self.is_planned(now) else 'since'} {self.day}"
        if self.valid_to is None:
            return begins
        until = f"until {self.local_day(self.valid_to)}"
        return until if self.valid_to < self.began_at else f"{begins} {until}"

    def is_over(self, now: datetime) -> bool:
        return self.valid_to is not None and self.valid_to <= clock.utc(now)

    def is_planned(self, now: datetime) -> bool:
        """Whether it is accepted and begins in the future."""
        return self.is_open(now) and self.began_at > clock.utc(now)

    def is_true(self, now: datetime) -> bool:
        return self.is_open(now) and self.began_at <= clock.utc(now)

    def is_open(self, now: datetime) -> bool:
        """Whether it is true now or planned."""
        return self.is_accepted and not self.is_over(now)

    def describe(self) -> dict[str, Any]:
        values = asdict(self) | {"id": self.handle, "inferred": bool(self.inferred)}
        for key, kind in (("message", "message"), ("session", "session"), ("target", "fact")):
            id = values.pop(f"{key}_id")
            values[key] = ids.handle(kind, id) if id else None
        return {key: value for key, value in values.items() if key not in ("owner", "utc_offset")}


def listing(
    db: Database,
    owner: str,
    limit: int,
    *,
    states: Sequence[str] = (ACCEPTED,),
    hidden: bool = False,
    place: str | None = None,
    as_of: datetime | None = None,
    not_over: datetime | None = None,
) -> list[Fact]:
    """Facts, the newest first. `as_of`: what was true then, whatever has replaced it; `not_over`: not over then."""
    moment, ends_after = (clock.utc(each) if each else None for each in (as_of, not_over))
    where = f"""owner = ?1 and state in (select value from json_each(?2))
          and hidden_at is {"not null" if hidden else "null"} and (?3 is null or place in ('', ?3))
          and (?4 is null or (
               (coalesce(valid_from, learned_at) <= ?4 or valid_from is null and valid_to <= learned_at)
               and coalesce(valid_to > ?4, true) and operation <> 'delete'))
          and coalesce(valid_to > ?5, true) order by id desc limit ?6"""
    allowed = (ACCEPTED, SUPERSEDED) if as_of else states
    return FACTS.select(db, where, (owner, allowed, place, moment, ends_after, limit))


def accepted_values(db: Database, owner: str, subject: str, predicates: Sequence[str]) -> list[Fact]:
    """The facts of this subject and these predicates that are or were accepted, the earliest first."""
    where = """owner = ? and subject = ? and predicate in (select value from json_each(?)) and hidden_at is null
               and state in ('accepted', 'superseded') and operation <> 'delete'
               order by coalesce(valid_from, learned_at), id"""
    return FACTS.select(db, where, (owner, subject, predicates))


def similar(db: Database, owner: str, statement: str) -> list[Fact]:
    """Facts in any state that say nearly the same, numbers ignored. Read are those with one of so many of the rarest
    marks that any similar statement has one (prefix filtering: Chaudhuri and others, 2006)."""
    marks, shingles = _marks(statement), _shingles(statement)
    by_rarity = """select c.value, (select count(*) from (select 1 from fact_mark where hash = c.value limit 500))
                   from json_each(?) c order by 2, 1"""
    rarest = db.rows(by_rarity, (marks,))[: len(marks) - math.ceil(SIMILARITY * len(marks)) + 1]
    where = """+owner = ?2 and id in (
        select k.fact_id from json_each(?1) c cross join fact_mark k on k.hash = c.value) order by id"""
    found = FACTS.select(db, where, ([mark for mark, _ in rarest], owner))
    return [each for each in found if terms.nearly_equal(shingles, _shingles(each.statement), SIMILARITY)]


def same(db: Database, owner: str, statement: str) -> list[Fact]:
    """Facts in any state that say the same."""
    return [each for each in similar(db, owner, statement) if terms.is_similar(each.statement, statement)]


def stated_last(db: Database, owner: str, words: str) -> list[Fact]:
    """The accepted and proposed facts that the person's last message states, if these are its words."""
    last = "select id, text from message where owner = ?1 and role = 'user' order by id desc limit 1"
    where = f"""owner = ?1 and state in ('accepted', 'pending') and hidden_at is null and operation <> 'delete'
                and id in (select f.id from fact f join ({last}) m on m.id = f.message_id where m.text = ?2
                           union select s.fact_id from fact_source s join ({last}) m on m.id = s.message_id
                           where m.text = ?2) order by id"""
    return FACTS.select(db, where, (owner, words))


def sources(db: Database, fact: Fact) -> list[tuple[int, str]]:
    others = "select message_id, quote from fact_source where fact_id = ? and message_id is not ? order by message_id"
    first = [(fact.message_id, fact.quote)] if fact.message_id else []
    return [*first, *db.rows(others, (fact.id, fact.message_id))]


def with_triple(db: Database, owner: str, triple: Triple | None) -> list[Fact]:
    """The facts that are or were accepted with this triple."""
    if triple is None:
        return []
    values = accepted_values(db, owner, triple.subject, [triple.predicate])
    return [each for each in values if each.object.casefold() == triple.object.casefold()]


def replaced(db: Database, fact: Fact, *, by: bool = False) -> list[Fact]:
    """The facts that ended when this one was accepted; `by`: those that ended this one when they were accepted."""
    query = """select distinct o.fact_id from fact_version v
               join fact_version o on o.batch = v.batch and o.fact_id <> v.fact_id and o.undone = 0
               where v.fact_id = ?1 and v.undone = 0 and (v.change = 'replaced') = ?2 and (o.change = 'replaced') <> ?2
                 and v.change in ('added', 'accepted', 'edited', 'restored', 'replaced')
                 and o.change in ('added', 'accepted', 'edited', 'restored', 'replaced') order by 1"""
    return many(db, db.column(query, (fact.id, by)), fact.owner)


def in_order(found: Sequence[Fact]) -> list[Fact]:
    """Values in the order in which they became true; one without a date when it was said, after what had begun then."""
    said = sorted(found, key=lambda each: (each.learned_at, each.id))
    places: dict[int, tuple[str, int]] = {}
    for number, each in enumerate(said):
        begun = [places[other.id] for other in said[:number] if (other.valid_from or "~") <= each.learned_at]
        places[each.id] = (each.began_at, number) if each.valid_from else max(begun, default=("", -1))
    return sorted(said, key=lambda each: (places[each.id], each.valid_from is None))


def by_uid(db: Database, found: Sequence[Fact]) -> list[Fact]:
    """Facts in the order in which they were made, the same on all of the person's machines."""
    query = "select id from fact where id in (select value from json_each(?)) order by uid"
    facts = {each.id: each for each in found}
    return [facts[id] for id in db.column(query, ([*facts],))]


def confirmed(db: Database, fact_ids: Sequence[int]) -> dict[int, str]:
    """When each of these was decided or stated last."""
    query = """select f.id, max(coalesce(f.decided_at, f.learned_at), coalesce(max(s.at), ''))
               from json_each(?) c cross join fact f on f.id = c.value left join fact_source s on s.fact_id = f.id
               group by f.id"""
    return dict(db.rows(query, (fact_ids,)))


def last_change(db: Database) -> int:
    return int(db.value("select max(id) from fact_version") or 0)


def insert(memory: MemoryContext, claim: Claim, state: str, change: str, *, actor: str) -> Fact:
    db, now = memory.db, memory.time()
    columns = stated(claim, now) | {"utc_offset": clock.offset(claim.learned or now), "source": claim.source}
    columns |= {"place": claim.place, "session_id": claim.session, "target_id": claim.target, "origin": claim.origin}
    columns |= {"trust": claim.trust or claim.origin, "inferred": claim.inferred}
    columns |= {"message_id": claim.message, "quote": claim.quote}
    fact = FACTS.insert(memory, change, actor=actor, state=state, **columns)
    update_tables(db, fact, None)
    add_source(db, fact, claim.read_in, "", now)
    return fact


def stated(claim: Claim, now: datetime) -> dict[str, Any]:
    """The columns that a claim states."""
    dates = {"learned_at": claim.learned or now, "valid_from": claim.valid_from, "valid_to": claim.valid_to}
    columns = {name: clock.utc(moment) if moment else None for name, moment in dates.items()}
    words = {"statement": claim.statement.strip(), "operation": claim.operation}
    return words | asdict(claim.triple or Triple("", "", "")) | columns


def add_source(db: Database, fact: Fact, message: int | None, quote: str, at: datetime) -> None:
    if message is not None and message != fact.message_id:
        add_sources(db, fact.id, [(message, quote, clock.utc(at))])


def undo(memory: MemoryContext, fact: Fact | None = None) -> list[Fact]:
    """Undo the person's last change, of this fact or of any, with its whole batch. Raises UsageError."""
    with memory.db.write():
        return FACTS.undo_batch(memory, last_batch(memory.db, memory.scope.owner, fact))


def last_batch(db: Database, owner: str, fact: Fact | None = None) -> str:
    """The batch of the person's last change, of this fact or of any. Raises UsageError when there is none."""
    query = """select v.batch from fact_version v join fact f on f.id = v.fact_id
               where f.owner = ?1 and (?2 is null or f.id = ?2) and v.undone = 0 and v.actor = 'person'
               order by v.id desc limit 1"""
    batch = db.value(query, (owner, fact.id if fact else None))
    if batch is None:
        raise UsageError(f"there is no change{f' of {fact.handle}' if fact else ''} to take back")
    return str(batch)


def add_sources(db: Database, id: int, found: Sequence[tuple[int, str, str]]) -> None:
    """Add (message, quote, time) as sources, besides the one that the fact names. Runs in the caller's transaction."""
    rows = [(id, *each) for each in found]
    db.execute_many("insert into fact_source values (?, ?, ?, ?) on conflict do nothing", rows)
    named = "select message_id from fact where id = ?1"
    db.execute(f"delete from fact_source where fact_id = ?1 and message_id = ({named})", (id,))


def erase(db: Database, fact_ids: Sequence[int]) -> None:
    for id in fact_ids:
        index.erase(db, "f", [id])
        graph.remove_fact(db, id)
    FACTS.drop_versions(db, fact_ids, "fact_id")
    db.execute("delete from fact_mark where fact_id in (select value from json_each(?))", (fact_ids,))
    db.execute("delete from fact_source where fact_id in (select value from json_each(?))", (fact_ids,))
    db.execute("update fact set target_id = null where target_id in (select value from json_each(?))", (fact_ids,))
    db.execute("delete from fact where id in (select value from json_each(?))", (fact_ids,))


def drop_source(db: Database, messages: Sequence[int], only: Collection[int] | None = None) -> list[int]:
    """Drop erased messages as sources (`only` of these facts); returns the facts without another, which stay."""
    values = (messages, None if only is None else sorted(only))
    of = "message_id in (select value from json_each(?1)) and (?2 is null or {0} in (select value from json_each(?2)))"
    db.execute(f"delete from fact_source where {of.format('fact_id')}", values)
    unsupported = []
    for id in db.column(f"select id from fact where {of.format('id')}", values):
        other = db.row("select message_id, quote from fact_source where fact_id = ? order by message_id", (id,))
        if other is None:
            unsupported.append(id)
            db.execute("update fact set message_id = null where id = ?", (id,))
            continue
        db.execute("update fact set message_id = ?, quote = ? where id = ?", (*other, id))
        db.execute("delete from fact_source where fact_id = ? and message_id = ?", (id, other[0]))
    return unsupported


def _write(memory: MemoryContext, fact: Fact, values: Mapping[str, Any]) -> None:
    """Write columns, and update the index, the marks and the graph."""
    changed = replace(fact, **values)
    if changed.statement != fact.statement:
        index.erase(memory.db, "f", [fact.id])  # needs the former words
    memory.db.update("fact", fact.id, values)
    update_tables(memory.db, changed, fact)


def update_tables(db: Database, fact: Fact, before: Fact | None) -> None:
    """Write the hashes of its shingles, by which similar statements are found without reading all facts, and the graph,
    which holds accepted facts only."""
    if before is None or before.statement != fact.statement:
        db.execute("delete from fact_mark where fact_id = ?", (fact.id,))
        marks = [(mark, fact.id) for mark in _marks(fact.statement)]
        db.execute_many("insert into fact_mark values (?, ?)", marks)
    if fact.is_accepted and fact.predicate:
        graph.add_fact(db, fact.id, fact.owner, fact.subject, fact.predicate, fact.object)
    else:
        graph.remove_fact(db, fact.id)


def _marks(statement: str) -> list[int]:
    return sorted({zlib.crc32(" ".join(shingle).encode()) for shingle in _shingles(statement)})


def _shingles(statement: str) -> frozenset[tuple[str, ...]]:
    return terms.shingles(terms.mask_numbers(statement))


def about(fact: Fact) -> str:
    """Whom a fact is about: "You", a name or a relation ("Clara", "Dad"), or else "Other"."""
    is_named = fact.subject and not fact.subject.startswith(RELATIVE)
    if not is_named and (relation := _RELATION.match(fact.statement)):
        return text.capitalised(relation[0].split()[-1])
    is_of_person = fact.subject == "person" or (not fact.subject and statements.is_in_first_person(fact.statement))
    return "You" if is_of_person else fact.subject or "Other"


def name(fact: Fact, limit: int = 80) -> str:
    return text.one_line(fact.statement, limit)


def format_names(found: Iterable[Fact]) -> str:
    return ", ".join(f"{each.handle} “{name(each)}”" for each in found)


def format_dates(fact: Fact, now: datetime | None = None) -> str:
    """Since and until when a fact is true, as far as that was stated. With `now`: whether it is planned or over."""
    since, until = (moment and clock.format_day(moment, fact.utc_offset) for moment in (fact.valid_from, fact.valid_to))
    if now and fact.is_planned(now):
        return f"planned from {since}{f' until {until}' if until else ''}"
    if now and fact.is_over(now):
        return f"true {f'from {since} ' if since and fact.began_at < (fact.valid_to or '') else ''}until {until}"
    if since:
        return f"since {since}{f', until {until}' if until else ''}"
    return f"true until {until}" if until else ""


def dates_ahead(fact: Fact, now: datetime) -> str:
    """That a fact begins or ends in the future; else empty."""
    if fact.is_planned(now):
        return format_dates(fact, now)
    return f"until {clock.format_day(fact.valid_to, fact.utc_offset)}" if fact.valid_to and fact.is_true(now) else ""


def undone_receipt(fact: Fact) -> str:
    """The receipt for a change that was taken back; a fact that the change had added is rejected by that."""
    state = "is not kept" if fact.state == REJECTED else f"is {fact.state} again{', hidden' if fact.hidden_at else ''}"
    return Receipt(f"taken back: {fact.handle} “{name(fact)}” {state}")


def pending_receipt(fact: Fact) -> str:
    stated = format_dates(fact)
    return f"{fact.handle} waits for your yes: “{name(fact)}”{f' ({stated})' if stated else ''}"


def json_rows(db: Database, found: Sequence[Fact]) -> Iterator[dict[str, Any]]:
    """Facts as they are exported, without those of one session: other databases do not have it."""
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
            part = about(each) == "You"
            if each.place != places[part]:
                places[part] = each.place
                parts[part] += ["", f"## In {text.one_line(each.place, 200)}", ""]
            parts[part].append(f"- {' '.join(text.clean(each.statement).split())} ({each.day})")
    return "\n".join([*parts[True], *parts[False]])


FACTS = Proposals(
    Fact,
    text="statement",
    list_command="agent facts list --all",
    of_session="session_id = ?2 or message_id in (select id from message where session_id = ?2)",
    max_pending=50,
    fixed=("id", "owner", "origin", "utc_offset", "source", "session_id", "target_id", "message_id", "quote"),
    changed_since="{0} was changed again since; take that back first: `agent facts undo {0}`",
    write=_write,
)
get, many, pending, change, history = FACTS.get, FACTS.many, FACTS.pending, FACTS.change, FACTS.history
reject, hide, undo_batch = FACTS.reject, FACTS.hide, FACTS.undo_batch


# Erasure: a fact goes with the last message it was learned from, or with the session it holds in. One that has another
# source stays and loses its quote, in every version.

_TABLES = (
    lineage.Table(
        "fact",
        time="learned_at",
        made_from={"session": "session_id {ids}"},
        line="statement",
        mentions=f"""{lineage.mentions_topic("statement", "subject", "object", "quote")}
                     or exists (select 1 from fact_version
                                where fact_id = fact.id and {lineage.mentions_topic("was")})""",
        stated_text=lineage.joined("statement", "object", "iif(message_id is null, quote, '')"),
        personal_texts=("statement, quote, object", "select quote from fact_source where fact_id {ids}"),
        statements=("statement",),
        remembered=("statement",),
    ),
    lineage.Table(
        "fact_version",
        made_from={"fact": "fact_id {ids}"},
        part_of="fact",
        stated_text="coalesce(iif(was ->> 'message_id' is null, was, json_remove(was, '$.quote')), '')",
        personal_texts=("was ->> 'statement', was ->> 'quote', was ->> 'object'",),
        statements=("was ->> 'statement'",),
        remembered=("was ->> 'statement'",),
    ),
)


def _derive(db: Database, walk: lineage.Walk) -> None:
    """Add the facts learned from erased messages and sentences alone; those with another source lose this one."""
    query = """with lost as materialized (select id from message where id {ids}),
           learned as (select id from fact where message_id in (select id from lost)
                       union select fact_id from fact_source where message_id in (select id from lost))
           select f.id, f.message_id, f.quote from learned l join fact f on f.id = l.id
           union all select s.fact_id, s.message_id, s.quote from learned l join fact_source s on s.fact_id = l.id"""
    erased, cut, lost, supported = {*walk["message"]}, walk.partial["message"], set[int](), set[int]()
    for fact, message, quote in lineage.rows(db, query, walk.losing_words("message")):
        is_cut = message in cut and keywords.fold(quote) not in keywords.fold(cut[message].left)
        (lost if message in erased or is_cut else supported).add(fact)
    walk.add("fact", lost - supported)
    walk.partial["fact"] = dict.fromkeys(sorted((lost & supported) - {*walk["fact"]}))


def _erase_walk(db: Database, walk: lineage.Walk, time: clock.Clock) -> None:
    """Erase facts; messages that stay are indexed again without the facts that were learned from them."""
    learned = lineage.column(db, "select message_id from fact where message_id is not null and id {ids}", walk["fact"])
    learned += lineage.column(db, "select message_id from fact_source where fact_id {ids}", walk["fact"])
    drop_source(db, walk["message"])
    cut = walk.partial["message"]
    drop_source(db, [*cut], only={*walk.staying("fact"), *walk["fact"]})
    FACTS.clear(db, "message_id", [*walk["message"], *cut], message_id=None, quote="")  # no undo restores quotes
    index.reindex(db, "m", sorted({*learned} - {*walk["message"]}))
    erase(db, walk["fact"])


LINEAGE = lineage.Owner(_TABLES, _erase_walk, _derive)
