"""The life cycle of facts and skills, which are proposed and count only when the person accepts them.

A proposal waits until the person accepts or rejects it, or expires. What was accepted can be changed, hidden and
restored. Each change is recorded with the row as it was before, so that it can be shown and undone; changes made
together are one batch, and are undone together. A `Proposals` value says what differs between the kinds;
facts/facts.py and skills/skills.py have one each, and write the rows themselves.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import timedelta
from typing import Any, ClassVar, Generic, Literal, TypeVar

from agent_cli import clock
from agent_cli.errors import UsageError
from agent_cli.store import events, ids, meta
from agent_cli.store.db import Database
from agent_cli.values import frozen

PENDING, ACCEPTED, REJECTED, EXPIRED = "pending", "accepted", "rejected", "expired"
MAX_WAIT = timedelta(days=30)


class Proposed:
    """A row that is proposed and decided."""

    kind: ClassVar[Literal["fact", "skill"]]
    id: int
    owner: str
    state: str
    utc_offset: int
    decided_at: str | None
    hidden_at: str | None

    @property
    def handle(self) -> str:
        return ids.handle(self.kind, self.id)

    @property
    def is_accepted(self) -> bool:
        """Whether it is accepted and not hidden."""
        return self.state == ACCEPTED and self.hidden_at is None

    def local_day(self, moment: str | None) -> str:
        """The local day of a moment; empty without one."""
        return f"{clock.local(moment, self.utc_offset):%Y-%m-%d}" if moment else ""


Row = TypeVar("Row", bound=Proposed)


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
    fixed: frozenset[str]  # columns that undoing leaves as they are: never written, or erased since
    changed_since: str  # the error when a change cannot be undone; {}: the handle
    write: Callable[[Database, Row, Mapping[str, Any], clock.Clock], None]  # columns of a row

    @property
    def kind(self) -> str:
        return self.row.kind

    def get(self, db: Database, id: int, owner: str) -> Row:
        """Raises UsageError when this owner has no such row."""
        found = self.select(db, "id = ? and owner = ?", (id, owner))
        if not found:
            handle = ids.handle(self.kind, id)
            raise UsageError(f"there is no {self.kind} {handle}; `{self.list_command}` shows them all")
        return found[0]

    def many(self, db: Database, found: Sequence[int], owner: str) -> list[Row]:
        """The rows with these ids that this owner has, in the order of the ids."""
        where = "+owner = ? and id in (select value from json_each(?))"
        rows = {each.id: each for each in self.select(db, where, (owner, found))}
        return [rows[id] for id in found if id in rows]

    def select(self, db: Database, where: str, values: Sequence[Any] | Mapping[str, Any]) -> list[Row]:
        """The rows of this condition."""
        rows = db.rows(f"select {', '.join(self._columns)} from {self.kind} where {where}", values)
        return [self.row(*row) for row in rows]

    def pending(self, db: Database, owner: str, *, session: int | None = None, origin: str | None = None) -> list[Row]:
        """Proposals, the oldest first; those of one session or origin, or all."""
        return self.select(
            db,
            f"""owner = ?1 and state = 'pending' and hidden_at is null and (?2 is null or {self.of_session})
                and origin = coalesce(?3, origin) order by id""",
            (owner, session, origin),
        )

    def pending_ids(self, db: Database, owner: str, session: int | None, first: Sequence[str]) -> list[int]:
        """The ids of proposals, those of a trust in `first` first, then the oldest."""
        rows = db.rows(
            f"""select id from {self.kind} where owner = ?1 and state = 'pending' and hidden_at is null
                  and (?2 is null or {self.of_session})
                order by trust in (select value from json_each(?3)) desc, id""",
            (owner, session, first),
        )
        return [id for (id,) in rows]

    def history(self, db: Database, id: int) -> list[Version]:
        """The versions of a row, the oldest first."""
        rows = db.rows(
            f"""select change, was, actor, undone, at, utc_offset from {self.kind}_version where {self.kind}_id = ?
                order by id""",
            (id,),
        )
        return [
            Version(change, json.loads(was) if was else {}, actor, bool(undone), at, offset)
            for change, was, actor, undone, at, offset in rows
        ]

    def change(
        self,
        db: Database,
        row: Row,
        change: str,
        time: clock.Clock,
        *,
        actor: str = "person",
        batch: str = "",
        **values: Any,
    ) -> Row:
        """Change some columns of a row and record its former values. Runs in the caller's transaction."""
        before = self.get(db, row.id, row.owner)
        self.write(db, before, values, time)
        changed = self.get(db, row.id, row.owner)
        self.record(db, changed, before, change, time, actor=actor, batch=batch)
        return changed

    def record(
        self,
        db: Database,
        row: Row,
        before: Row | None,
        change: str,
        time: clock.Clock,
        *,
        actor: str,
        batch: str,
        undone: bool = False,
    ) -> None:
        """Record a row as it was before a change (None: it is new). Runs in the caller's transaction."""
        now = time()
        was = None if before is None else json.dumps(asdict(before), ensure_ascii=False)  # type: ignore[call-overload]
        db.execute(
            f"""insert into {self.kind}_version ({self.kind}_id, change, was, batch, actor, undone, at, utc_offset)
                values (?, ?, ?, ?, ?, ?, ?, ?)""",
            (row.id, change, was, batch or ids.new(now), actor, int(undone), clock.utc(now), clock.offset(now)),
        )
        events.append(db, time, f"{self.kind} {change}", row.handle, actor=actor, content=getattr(row, self.text))

    def require_pending(self, db: Database, row: Row) -> Row:
        """The proposal as it is now. Raises UsageError when it is decided."""
        now = self.get(db, row.id, row.owner)
        if now.state != PENDING:
            raise UsageError(f"{row.handle} does not wait for approval: it is {now.state}")
        return now

    def reject(self, db: Database, row: Row, time: clock.Clock, *, batch: str = "") -> Row:
        """The person rejects a proposal, for good. Raises UsageError when it is not pending."""
        with db.write():
            proposal = self.require_pending(db, row)
            return self.change(db, proposal, REJECTED, time, batch=batch, state=REJECTED, decided_at=clock.utc(time()))

    def hide(self, db: Database, row: Row, time: clock.Clock, *, batch: str = "") -> Row:
        """Leave a row out of lists, search and what the model is shown, until it is restored."""
        with db.write():
            return self.change(db, row, "hidden", time, batch=batch, hidden_at=clock.utc(time()))

    def make_room(self, db: Database, owner: str, time: clock.Clock) -> None:
        """Expire the oldest proposals of a model where one more would be too many."""
        made = self.pending(db, owner, origin="model")
        self.expire(db, made[: max(0, len(made) + 1 - self.max_pending)], time)

    def expire(self, db: Database, proposals: Iterable[Row], time: clock.Clock) -> None:
        """Expire these proposals; the next start reports them. Runs in the caller's transaction."""
        for each in proposals:
            self.change(db, each, EXPIRED, time, actor="program", state=EXPIRED, decided_at=clock.utc(time()))
            meta.increase(db, self._unreported)

    def expire_old(self, db: Database, owner: str, time: clock.Clock) -> int:
        """Expire proposals that have waited for 30 days; returns how many have expired since the last call."""
        oldest = f"""uid < ? and id in (select id from {self.kind} where owner = ? and state = 'pending'
                                        and hidden_at is null order by id limit 200)"""
        while old := self.select(db, oldest, (ids.lowest(time() - MAX_WAIT), owner)):
            with db.write():
                read_again = self.many(db, [each.id for each in old], owner)
                self.expire(db, [each for each in read_again if each.state == PENDING], time)
        if not meta.get(db, self._unreported):
            return 0
        with db.write():
            count = meta.number(db, self._unreported)
            meta.drop(db, self._unreported)
        return count

    @property
    def _columns(self) -> list[str]:
        return [each.name for each in fields(self.row)]  # type: ignore[arg-type]

    @property
    def _unreported(self) -> str:
        return "expired untold" if self.kind == "fact" else f"expired {self.kind}s untold"

    def of_batch(self, db: Database, batch: str) -> list[tuple[int, str, str, int]]:
        """What a batch did, the last first: the id of each row, its last change there, the time and its UTC offset."""
        return db.rows(
            f"""select {self.kind}_id, change, at, utc_offset from {self.kind}_version
                where id in (select max(id) from {self.kind}_version where batch = ? and undone = 0
                             group by {self.kind}_id)
                order by id desc""",
            (batch,),
        )

    def undo_batch(self, db: Database, owner: str, batch: str, time: clock.Clock) -> list[Row]:
        """Undo a batch, the last change first: a row that the batch added becomes rejected.

        Returns each row as it is then. Raises UsageError when the person has changed one of them since.
        """
        undoing, undone = ids.new(time()), dict[int, Row]()
        with db.write():
            later = db.value(
                f"""select l.{self.kind}_id from {self.kind}_version v
                    join {self.kind}_version l on l.{self.kind}_id = v.{self.kind}_id and l.id > v.id
                    where v.batch = ?1 and v.undone = 0 and l.batch <> ?1 and l.undone = 0 and l.actor = 'person'
                    limit 1""",
                (batch,),
            )
            if later:
                raise UsageError(self.changed_since.format(ids.handle(self.kind, later)))
            for version, id, was in db.rows(
                f"""select id, {self.kind}_id, was from {self.kind}_version where batch = ? and undone = 0
                    order by id desc""",
                (batch,),
            ):
                former = json.loads(was) if was else {"state": REJECTED, "decided_at": clock.utc(time())}
                columns = {name: former[name] for name in self._columns if name in former and name not in self.fixed}
                row = self.get(db, id, owner)
                self.write(db, row, columns, time)
                undone[id] = self.get(db, id, owner)
                self.record(db, undone[id], row, "undone", time, actor="person", batch=undoing, undone=True)
                db.execute(f"update {self.kind}_version set undone = 1 where id = ?", (version,))
        return list(undone.values())

    def clear(self, db: Database, column: str, values: Iterable[int], **replacements: str | None) -> None:
        """Where a former row has one of these values in a column, overwrite it, and others, with `replacements`.

        Erased words are then neither shown nor restored. Runs in the caller's transaction.
        """
        changed = "".join(f", '$.{name}', ?" for name in replacements)
        db.execute(
            f"""update {self.kind}_version set was = json_set(was{changed})
                where was ->> '{column}' in (select value from json_each(?))""",
            (*replacements.values(), values),
        )

    def drop_versions(self, db: Database, versions: Iterable[int], column: str = "id") -> None:
        """Delete versions by their ids, or by the value of another column. Runs in the caller's transaction."""
        db.execute(f"delete from {self.kind}_version where {column} in (select value from json_each(?))", (versions,))
