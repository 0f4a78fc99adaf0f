"""Takes rows of another machine: a union by their ids. It does not matter in which order, or how often, they come.

Of a column that was changed on both machines the later change counts; the earlier wording of a fact or a skill is in
its history, that of a note stands below the other. What is gone on one machine goes on all: see `erase`. A row that
refers to one which has not come yet waits for it. Rows that both machines made of the same thing, as the summary of a
day or an imported conversation, become one.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_cli import clock, kinds, text
from agent_cli.memory import lineage, tombstones
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.dates import periods
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.facts.facts import FACTS
from agent_cli.memory.forgetting import erasure_receipt, forget
from agent_cli.memory.forgetting.erasure_receipt import Receipt
from agent_cli.memory.forgetting.tables import TABLES
from agent_cli.memory.language.keywords import NO_KEYWORDS
from agent_cli.memory.lineage import ErasureRequest
from agent_cli.memory.proposals import MemoryContext, Proposals
from agent_cli.memory.search import index
from agent_cli.memory.skills import skills
from agent_cli.memory.skills.skills import SKILLS
from agent_cli.memory.summaries import period_summaries, summaries
from agent_cli.memory.summaries.summaries import Source
from agent_cli.store import changes, ids, jobs
from agent_cli.store.changes import FORGOTTEN, NEVER, Data, Table
from agent_cli.store.db import Database, RowsRefused
from agent_cli.store.segments import Entry
from agent_cli.values import frozen

_SAME: Mapping[
    str, Sequence[tuple[str, ...]]
] = {  # columns by which rows of two machines are the same, where the last one holds something
    "session": [("owner", "source", "external_id")],
    "message": [("session_id", "external_id")],
    "tool_call": [("message_id", "call_id")],
    "summary": [("session_id",), ("owner", "period")],
}
_HISTORIES: Mapping[str, Proposals[Any]] = {"fact": FACTS, "skill": SKILLS}
_INDEXED = {kind.name: kind.letter for kind in kinds.SEARCHABLE}
_WORDS = ("text", "title", "details", "statement")  # columns that the index holds


@dataclass
class Taken:
    """What was taken: numbers of new rows by kind, and what is still to be done about some rows."""

    new: Counter[str] = field(default_factory=Counter)
    changed: int = 0
    sentences: dict[int, frozenset[int]] = field(default_factory=dict)  # of messages, that were cut out elsewhere


def take(memory: MemoryContext, entries: Sequence[Entry], taken: Taken) -> None:
    """Take these rows. Runs in the caller's transaction."""
    db = memory.db
    with changes.during(db, "applying"):
        changes.pass_stamps(db, (stamp for _, _, data in entries if data for stamp in data.get("stamps", {}).values()))
        for kind, uid, data in sorted(entries, key=lambda entry: entry[0] != FORGOTTEN):
            if not _take(memory, kind, uid, data, taken):
                changes.wait(db, kind, changes.find(db, kind, uid)[0], data or {})


def take_waiting(memory: MemoryContext, taken: Taken) -> None:
    """Take the rows whose references have come meanwhile, and those that wait for these; what is said in sessions of
    another machine, that one learns from. Runs in the caller's transaction."""
    db, found = memory.db, True
    with changes.during(db, "applying"):
        while found:
            found = False
            for id, kind, uid, data in changes.waiting(db):
                with suppress(RowsRefused), db.foreign_rows(Path()), db.write():
                    if not _take(memory, kind, uid, data, taken):
                        continue
                lineage.delete(db, "sync_waiting", [id])
                found = True
    for id in changes.settle(db, "session"):
        sessions.skip_learning(db, id, log.last_message(db, id))


def _take(memory: MemoryContext, kind: str, uid: str, data: Data | None, taken: Taken) -> bool:
    """Take one row; False when it has to wait."""
    db, table = memory.db, changes.tables().get(kind)
    if kind == FORGOTTEN and data and tombstones.receive(db, uid, data["at"]):
        changes.send(db, kind, uid)  # before what is said here from now on
    if table is None:
        return True
    known, id, everywhere = changes.find(db, kind, uid)
    if not data:
        changes.mark_deleted(db, kind, known, sent=known != uid and everywhere is None)
        return id is None  # else it waits until it is erased
    if everywhere is not None:
        if known != uid:
            changes.mark_deleted(db, kind, uid, everywhere=bool(everywhere), sent=bool(everywhere))
        return True
    values, waits = dict[str, Any](), False
    for column, value in data["columns"].items():
        if column not in table.columns:
            continue
        if not value or column not in table.refs:
            values[column] = value
            continue
        _, target, lost = changes.find(db, table.refs[column], value)
        if target is not None or (lost is not None and column not in table.parents):
            values[column] = target
        elif lost is None:
            if column != table.soft:
                return False
            waits = True
        elif id is None:
            return True  # its machine sends it again, should it stay there
    found = [*_sources(db, kind, data)]
    if any(source[1] is None and lost is None for source, lost in found):
        return False
    if kind == "summary" and any(source[1] is None and lost for source, lost in found):
        return True  # made from something erased: its machine sends another when it has erased that too
    sources = [source for source, _ in found if source[1] is not None]
    message = data["columns"].get("message_id") if kind == "fact" and not sources and not values["message_id"] else None
    if message and changes.find(db, "message", message)[2]:
        changes.mark_deleted(db, kind, uid, sent=True)  # it was learned from nothing else
        return True
    return _put(memory, _Arrived(table, uid, values, data, sources), known, id, taken) and not waits


def _sources(db: Database, kind: str, data: Data) -> Iterator[tuple[tuple[Any, ...], bool | None]]:
    """The sources of a fact or a summary with ids in place of uids, and whether they were deleted everywhere."""
    for source in data.get("sources", ()):
        of, uid, *rest = ("message", *source) if kind == "fact" else source
        _, id, lost = changes.find(db, of, uid)
        yield (of, id, *rest), lost


@frozen
class _Arrived:
    """A row of another machine. `values`, `sources`: with ids of this machine in place of uids."""

    table: Table
    uid: str
    values: dict[str, Any]
    data: Data
    sources: Sequence[tuple[Any, ...]]

    def stamp(self, column: str) -> Sequence[int]:
        """The stamp and its base."""
        found: Sequence[int] = self.data["stamps"].get(column, (0, 0))
        return found

    def sent(self, column: str) -> Any:
        """A value with a uid in place of an id."""
        return None if self.values[column] is None else self.data["columns"][column]


def _put(memory: MemoryContext, row: _Arrived, known: str, id: int | None, taken: Taken) -> bool:
    """Add a row or change the one that is here; False when it has to wait until something is erased."""
    db, kind, local_uid = memory.db, row.table.name, known
    if id is None and kind == "session" and (id := changes.renamed(db, kind, row.uid)):
        changes.rename(db, kind, id)
    if id is None and (twin := _same(db, kind, row.values)):
        id, local_uid = twin
        known = changes.merge(db, kind, local_uid, row.uid)
        if kind == "summary":
            changes.mark_unsettled(db, kind, id)
    if id is None:
        return _insert(memory, row, taken)
    local, mine = changes.read(db, row.table, [known])[known], changes.changes_of(db, known)
    if kind == "message" and (lost := _cut_elsewhere(local["columns"], row.values)):
        taken.sentences[id] = lost
        return False
    won = [
        column
        for column in row.values
        if _rank(row.stamp(column)[0], row.uid, row.sent(column))
        > _rank(mine.get(column, NEVER)[0], local_uid, local["columns"][column])
    ]
    changed = {column: row.values[column] for column in won if row.sent(column) != local["columns"][column]}
    if kind == "note" and mine.get("text", NEVER)[1] and row.values["text"] != local["columns"]["text"]:
        (theirs, their_base), (ours, our_base) = row.stamp("text"), local["stamps"]["text"]
        is_earlier = "text" in changed  # what was written here
        if their_base != ours if is_earlier else their_base == our_base < theirs:  # neither knew of the other
            versions = local["columns"], row.values
            changed["text"] = _both(*(versions[::-1] if is_earlier else versions))
            won = [each for each in won if each != "text"]
            changes.insist(db, kind, known, "text", theirs)
    if kind == "session" and changed.get("closed_at") and sessions.is_held(db, id):
        won.remove("closed_at")
        del changed["closed_at"]
        changes.insist(db, kind, known, "closed_at", row.stamp("closed_at")[0])
    changes.set_stamps(db, known, {column: row.stamp(column) for column in won if row.stamp(column)[0]})
    if changed:
        _update(memory, row.table, id, changed)
        taken.changed += 1
        if changed.keys() & row.table.parents:  # who knew it elsewhere alone did not take what has changed of it
            changes.send(db, kind, known)
    _add_sources(db, kind, id, row.sources, bool({"text", "at"} & {*won}))
    return True


def _both(later: Mapping[str, Any], earlier: Mapping[str, Any]) -> str:
    """What a note says as it was changed last, and below it what was written on another machine at the same time."""
    until = f"{clock.local(earlier['changed_at'], earlier['utc_offset']):%Y-%m-%d %H:%M}"
    return f"{later['text']}\n\n(On another machine, {until}: {earlier['text']})"


def _rank(stamp: int, uid: str, value: Any) -> tuple[int, str, str]:
    """Of two values of a column the one with the higher rank counts."""
    return stamp, "" if stamp else uid, "" if value is None else json.dumps(value)


def _insert(memory: MemoryContext, row: _Arrived, taken: Taken) -> bool:
    db, kind, uid, values = memory.db, row.table.name, row.uid, row.values
    if tombstones.erased_at(db, remembered_text(kind, values)) > row.data.get("known", ""):
        changes.mark_deleted(db, kind, uid, sent=True)
        return True
    id = db.insert(kind, {"uid": uid, **values})
    stamps = row.data["stamps"]
    changes.set_stamps(db, uid, {column: stamps[column] for column in stamps if column in values})
    _add_sources(db, kind, id, row.sources, True)
    _record(memory, kind, id, None)
    taken.new[kind] += 1
    if kind == "session":
        changes.mark_unsettled(db, kind, id)
    return True


def _update(memory: MemoryContext, table: Table, id: int, changed: Mapping[str, Any]) -> None:
    """Write columns of a row, and what follows from them."""
    db, kind = memory.db, table.name
    history = _HISTORIES.get(kind)
    before = history.select(db, "id = ?", (id,))[0] if history else None
    if {*_WORDS, "undone_at"} & changed.keys() and kind in _INDEXED:
        index.erase(db, _INDEXED[kind], [id])  # before its words change
    db.update(kind, id, changed)
    _record(memory, kind, id, before)


def _record(memory: MemoryContext, kind: str, id: int, before: Any) -> None:
    """Record how a fact or a skill that another machine has added or changed was before, to be settled."""
    if history := _HISTORIES.get(kind):
        after = history.select(memory.db, "id = ?", (id,))[0]
        if kind == "fact":
            facts.update_tables(memory.db, after, before)
        history.record(memory, after, before, "synced", actor="program")
        changes.mark_unsettled(memory.db, kind, id)


def _same(db: Database, kind: str, values: Mapping[str, Any]) -> tuple[int, str] | None:
    """(id, uid) of the row here that stands for the same."""
    for columns in _SAME.get(kind, ()):
        if values.get(columns[-1]) not in (None, ""):
            where = " and ".join(f"{column} = ?" for column in columns)
            found = db.row(f"select id, uid from {kind} where {where}", [values.get(column) for column in columns])
            if found:
                return int(found[0]), str(found[1])
    return None


def remembered_text(kind: str, columns: Mapping[str, Any]) -> str:
    """The text of a row by which it is recognised when that was erased; empty: it is not."""
    if kind == "message":
        return tombstones.message_form(columns["at"], columns["text"])
    return "".join(columns[each] for each in TABLES[kind].remembered)


def _cut_elsewhere(row: Mapping[str, Any], values: Mapping[str, Any]) -> frozenset[int]:
    """The numbers of the sentences of a message that were cut out on another machine."""
    other = values["text"]
    if row["role"] == "tool" or log.ERASED not in other or other == log.ERASED or other == row["text"]:
        return frozenset()
    sentences = [row["text"][first:last] for first, last in text.sentence_spans(row["text"])]
    bare = [each.replace(log.ERASED, "").strip() for each in sentences]
    return frozenset(number for number, each in enumerate(bare, 1) if each and each not in other)


def _add_sources(db: Database, kind: str, id: int, sources: Sequence[tuple[Any, ...]], instead: bool) -> None:
    """Add the sources of a fact, or put those of a summary in place of its former ones."""
    if kind == "fact":
        facts.add_sources(db, id, [each[1:] for each in sources])
    elif kind == "summary" and instead:
        summaries.set_sources(db, id, [(sentence, Source(of, row)) for of, row, sentence in sources])


def settle(memory: MemoryContext, taken: Taken) -> None:
    """Take what waited until something was erased, and do what follows from what was taken, and is still there: it is
    new on this machine, and is sent to the others. Runs in the caller's transaction."""
    db, now = memory.db, memory.time()
    take_waiting(memory, taken)
    adoption.settle_merged(memory, changes.settle(db, "fact"))
    skills.settle_merged(memory, changes.settle(db, "skill"))
    for id in changes.settle(db, "summary"):
        session, period = db.row("select session_id, period from summary where id = ?", (id,)) or (None, "")
        if session:
            jobs.add(db, summaries.JOB, ids.handle("session", session), now)
        elif period:
            period_summaries.queue(db, memory.scope.owner, periods.parse(period), now)


def erase(memory: MemoryContext, taken: Taken) -> Receipt | None:
    """Erase what is gone on another machine, with all that was made from it here. Raises AgentError."""
    db, receipt = memory.db, None
    messages = changes.remaining(db, "message")
    for id in changes.remaining(db, "session"):
        if sessions.is_held(db, id) or log.count_besides(db, id, messages):
            with db.write():
                changes.rename(db, "session", id)  # it goes on, with what is left of it
    others = [kind for kind in changes.TABLES if kind not in ("tool_call", "summary")]
    for named in (others, ["summary"]):  # most summaries go with what they were made from
        rows = {kind: tuple(found) for kind in named if (found := changes.remaining(db, kind))}
        if rows or taken.sentences:
            request = ErasureRequest(rows, owner=memory.scope.owner, sentences=taken.sentences, elsewhere=True)
            erased = erasure_receipt.erase(db, forget.planned(db, request, NO_KEYWORDS), memory.time)
            receipt = receipt or erased
            taken.sentences.clear()
    return receipt
