"""The life cycle of facts and skills, which are proposed and count only when the person accepts them. Each change is
recorded with the row as it was before; changes made together are one batch, and are undone together. What differs
between the kinds is in a `Proposals` value each, in facts/facts.py and skills/skills.py."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from datetime import timedelta
from typing import Any, Generic, Literal, TypeVar

from agent_cli import clock
from agent_cli.errors import UsageError
from agent_cli.memory.language.triples import SINGLE_VALUED
from agent_cli.memory.scope import Scope
from agent_cli.store import events, ids, meta
from agent_cli.store.db import Database
from agent_cli.values import frozen

PENDING, ACCEPTED, REJECTED, EXPIRED = "pending", "accepted", "rejected", "expired"
MAX_WAIT = timedelta(days=30)


class Proposed(ids.Handled):
    kind: Literal["fact", "skill"]
    id: int
    owner: str
    state: str
    utc_offset: int
    decided_at: str | None
    hidden_at: str | None

    @property
    def is_accepted(self) -> bool:
        return self.state == ACCEPTED and self.hidden_at is None

    def local_day(self, moment: str | None) -> str:
        return f"{clock.local(moment, self.utc_offset):%Y-%m-%d}" if moment else ""


Row = TypeVar("Row", bound=Proposed)


@frozen
class MemoryContext:
    """Whose memory is changed, when, by which settings. `batch`: of changes to be undone together; empty: one for
    each."""

    db: Database
    scope: Scope
    time: clock.Clock
    single_valued: frozenset[str] = SINGLE_VALUED  # predicates with one value at a time
    batch: str = ""
    actor: str = "person"  # who changes it, where a change does not say

    @contextmanager
    def changing(self) -> Iterator["MemoryContext"]:
        """A transaction, whose changes are one batch."""
        with self.db.write():
            yield self.in_one_batch()

    def in_one_batch(self) -> "MemoryContext":
        """The same, with one batch for all changes where there is none yet."""
        return self if self.batch else replace(self, batch=ids.new(self.time()))


@frozen
class Version:
    """A row as it was before a change. `was`: its columns; empty where the change created it."""

    change: str
    was: Mapping[str, Any]
    actor: str
    undone: bool
    at: str
    utc_offset: int


@frozen
class Proposals(Generic[Row]):
    """The rows of a kind: how they are read, changed, decided and undone."""

    row: type[Row]
    text: str  # the column with the words, of which the event log has a hash
    list_command: str
    of_session: str  # the condition that a row belongs to the session ?2
    max_pending: int  # proposals of a model that may wait at once
    fixed: tuple[str, ...]  # columns that undoing leaves as they are: never written, or erased since
    changed_since: str  # the error when a change cannot be undone; {}: the handle
    write: Callable[[MemoryContext, Row, Mapping[str, Any]], None]  # columns of a row, with what follows from them

    @property
    def kind(self) -> str:
        return self.row.kind

    @property
    def _columns(self) -> list[str]:
        return [each.name for each in fields(self.row)]  # type: ignore[arg-type]

    @property
    def _unreported(self) -> str:
        return "expired untold" if self.kind == "fact" else f"expired {self.kind}s untold"

    def get(self, db: Database, id: int, owner: str) -> Row:
        """Raises UsageError when this owner has no such row."""
        if found := self.select(db, "id = ? and owner = ?", (id, owner)):
            return found[0]
        raise UsageError(f"there is no {self.kind} {ids.handle(self.kind, id)}; `{self.list_command}` shows them all")

    def many(self, db: Database, found: Sequence[int], owner: str) -> list[Row]:
        """The rows with these ids that this owner has, in the order of the ids."""
        where = "+owner = ? and id in (select value from json_each(?))"
        rows = {each.id: each for each in self.select(db, where, (owner, found))}
        return [rows[id] for id in found if id in rows]

    def select(self, db: Database, where: str, values: Sequence[Any] | Mapping[str, Any]) -> list[Row]:
        rows = db.rows(f"select {', '.join(self._columns)} from {self.kind} where {where}", values)
        return [self.row(*row) for row in rows]

    def pending(self, db: Database, owner: str, *, session: int | None = None, origin: str | None = None) -> list[Row]:
        """Proposals, the oldest first; those of one session or origin, or all."""
        return self.many(db, self.pending_ids(db, owner, session, origin=origin), owner)

    def pending_ids(
        self, db: Database, owner: str, session: int | None, first: Sequence[str] = (), origin: str | None = None
    ) -> list[int]:
        """The ids of proposals, those of a trust in `first` first, then the oldest."""
        waiting = f"""select id from {self.kind} where owner = ?1 and state = 'pending' and hidden_at is null
                        and (?2 is null or {self.of_session}) and origin = coalesce(?4, origin)
                      order by trust in (select value from json_each(?3)) desc, id"""
        return db.column(waiting, (owner, session, first, origin))

    def history(self, db: Database, id: int) -> list[Version]:
        columns = "change, was, actor, undone, at, utc_offset"
        rows = db.rows(f"select {columns} from {self.kind}_version where {self.kind}_id = ? order by id", (id,))
        return [Version(what, json.loads(was or "{}"), who, bool(undone), *at) for what, was, who, undone, *at in rows]

    def insert(self, memory: MemoryContext, change: str, *, actor: str, **columns: Any) -> Row:
        db, now, owner = memory.db, memory.time(), memory.scope.owner
        if (columns["state"], columns["origin"]) == (PENDING, "model"):  # the oldest make room for it
            made = self.pending(db, owner, origin="model")
            self.expire(memory, made[: max(0, len(made) + 1 - self.max_pending)])
        decided_at = None if columns["state"] == PENDING else clock.utc(now)
        columns |= {"uid": ids.new(now), "owner": owner, "decided_at": decided_at}
        row = self.get(db, db.insert(self.kind, columns), owner)
        self.record(memory, row, None, change, actor=actor)
        return row

    def change(self, memory: MemoryContext, row: Row, change: str, *, actor: str = "", **values: Any) -> Row:
        """Change some columns of a row and record its former values. Runs in the caller's transaction."""
        before = self.get(memory.db, row.id, row.owner)
        self.write(memory, before, values)
        changed = self.get(memory.db, row.id, row.owner)
        self.record(memory, changed, before, change, actor=actor or memory.actor)
        return changed

    def record(
        self, memory: MemoryContext, row: Row, before: Row | None, change: str, *, actor: str, undone: bool = False
    ) -> None:
        """Record a row as it was before a change (None: it is new). Runs in the caller's transaction."""
        now, content = memory.time(), getattr(row, self.text)
        was = None if before is None else json.dumps(asdict(before), ensure_ascii=False)  # type: ignore[call-overload]
        version = {f"{self.kind}_id": row.id, "change": change, "was": was, "batch": memory.batch or ids.new(now)}
        version |= {"actor": actor, "undone": int(undone), "at": clock.utc(now), "utc_offset": clock.offset(now)}
        memory.db.insert(f"{self.kind}_version", version)
        events.append(memory.db, memory.time, f"{self.kind} {change}", row.handle, actor=actor, content=content)

    def require_pending(self, db: Database, row: Row) -> Row:
        """The proposal as it is now. Raises UsageError when it is decided."""
        now = self.get(db, row.id, row.owner)
        if now.state != PENDING:
            raise UsageError(f"{row.handle} does not wait for approval: it is {now.state}")
        return now

    def reject(self, memory: MemoryContext, row: Row) -> Row:
        """The person rejects a proposal, for good. Raises UsageError when it is not pending."""
        with memory.db.write():
            proposal = self.require_pending(memory.db, row)
            return self.change(memory, proposal, REJECTED, state=REJECTED, decided_at=clock.utc(memory.time()))

    def hide(self, memory: MemoryContext, row: Row) -> Row:
        with memory.db.write():
            return self.change(memory, row, "hidden", hidden_at=clock.utc(memory.time()))

    def expire(self, memory: MemoryContext, proposals: Iterable[Row]) -> None:
        """Expire these proposals; the next start reports them. Runs in the caller's transaction."""
        for each in proposals:
            now = clock.utc(memory.time())
            self.change(memory, each, EXPIRED, actor="program", state=EXPIRED, decided_at=now)
            meta.increase(memory.db, self._unreported)

    def expire_old(self, memory: MemoryContext) -> int:
        """Expire proposals that have waited for 30 days; returns how many have expired since the last call."""
        db, old = memory.db, "uid < ? and owner = ? and state = 'pending' and hidden_at is null"
        values = (ids.lowest(memory.time() - MAX_WAIT), memory.scope.owner)
        if not (self.select(db, f"{old} limit 1", values) or meta.get(db, self._unreported)):
            return 0
        with db.write():
            self.expire(memory, self.select(db, f"{old} order by id", values))
            count = meta.number(db, self._unreported)
            meta.drop(db, self._unreported)
        return count

    def of_batch(self, db: Database, batch: str) -> list[tuple[int, str, str, int]]:
        """What a batch did, the last first: the id of each row, its last change there, the time and its UTC offset."""
        last = f"select max(id) from {self.kind}_version where batch = ? and undone = 0 group by {self.kind}_id"
        columns = f"{self.kind}_id, change, at, utc_offset"
        return db.rows(f"select {columns} from {self.kind}_version where id in ({last}) order by id desc", (batch,))

    def undo_batch(self, memory: MemoryContext, batch: str) -> list[Row]:
        """Undo a batch, the last change first; returns each row as it is then. A row that the batch added becomes
        rejected. Raises UsageError when the person has changed one of them since."""
        db, versions, undone = memory.db, f"{self.kind}_version", dict[int, Row]()
        changed_since = f"""select l.{self.kind}_id from {versions} v
                            join {versions} l on l.{self.kind}_id = v.{self.kind}_id and l.id > v.id
                            where v.batch = ?1 and v.undone = 0 and l.batch <> ?1 and l.undone = 0
                              and l.actor = 'person' limit 1"""
        changes = f"select id, {self.kind}_id, was from {versions} where batch = ? and undone = 0 order by id desc"
        with replace(memory, batch="").changing() as undoing:
            if later := db.value(changed_since, (batch,)):
                raise UsageError(self.changed_since.format(ids.handle(self.kind, later)))
            for version, id, was in db.rows(changes, (batch,)):
                former = json.loads(was) if was else {"state": REJECTED, "decided_at": clock.utc(memory.time())}
                columns = {name: former[name] for name in self._columns if name in former and name not in self.fixed}
                row = self.get(db, id, memory.scope.owner)
                self.write(undoing, row, columns)
                undone[id] = self.get(db, id, row.owner)
                self.record(undoing, undone[id], row, "undone", actor="person", undone=True)
                db.execute(f"update {self.kind}_version set undone = 1 where id = ?", (version,))
        return list(undone.values())

    def clear(self, db: Database, column: str, values: Iterable[int], **replacements: str | None) -> None:
        """Where a former row has one of these values in a column, overwrite it, and others, with `replacements`, so
        that erased words are neither shown nor restored. Runs in the caller's transaction."""
        changed = "".join(f", '$.{name}', ?" for name in replacements)
        query = f"""update {self.kind}_version set was = json_set(was{changed})
                    where was ->> '{column}' in (select value from json_each(?))"""
        db.execute(query, (*replacements.values(), values))

    def drop_versions(self, db: Database, versions: Iterable[int], column: str = "id") -> None:
        """Delete versions by their ids, or by the value of another column. Runs in the caller's transaction."""
        db.execute(f"delete from {self.kind}_version where {column} in (select value from json_each(?))", (versions,))
