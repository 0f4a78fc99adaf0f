"""Reading skills, and changing single skills with their history.

skill_adoption.py decides who may add a skill and what a proposal changes. Every version is stored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

from agent_cli import clock
from agent_cli.errors import UsageError
from agent_cli.memory import versions
from agent_cli.memory.search import index
from agent_cli.memory.skills import skill_file
from agent_cli.memory.versions import Version
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

PENDING, ACCEPTED, REJECTED, MERGED, EXPIRED = "pending", "accepted", "rejected", "merged", "expired"


@frozen
class Skill:
    id: int
    owner: str
    name: str
    description: str
    text: str
    version: int
    state: str  # merged: a proposal to change a skill that was accepted
    target_id: int | None
    base: int | None
    origin: str
    trust: str
    session_id: int | None
    at: str
    utc_offset: int
    changed_at: str
    decided_at: str | None
    hidden_at: str | None

    @property
    def handle(self) -> str:
        return ids.handle("skill", self.id)

    @property
    def current(self) -> bool:
        return self.state == ACCEPTED and self.hidden_at is None

    @property
    def body(self) -> str:
        return skill_file.body(self.text)

    def describe(self) -> dict[str, Any]:
        shown = {key: value for key, value in asdict(self).items() if key not in ("owner", "target_id", "utc_offset")}
        return shown | {"id": self.handle, "changes": ids.handle("skill", self.target_id) if self.target_id else None}


_COLUMNS = ", ".join(each.name for each in fields(Skill))
_CHANGES = {each.name for each in fields(Skill)} - {"id", "owner", "at", "utc_offset"}


def get(db: Database, id: int, owner: str) -> Skill:
    """Raises UsageError when this owner has no such skill."""
    row = db.row(f"select {_COLUMNS} from skill where id = ? and owner = ?", (id, owner))
    if row is None:
        raise UsageError(f"there is no skill k{id}; `agent skills list` shows them all")
    return Skill(*row)


def named(db: Database, owner: str, name_or_handle: str, *, hidden: bool = False) -> Skill:
    """The skill of a name or handle. Raises UsageError when there is none."""
    where = f"owner = ? and name = ? and state = 'accepted' and hidden_at is {'not null' if hidden else 'null'}"
    row = db.row(f"select {_COLUMNS} from skill where {where} order by id desc", (owner, name_or_handle.strip()))
    if row:
        return Skill(*row)
    try:
        return get(db, ids.number("skill", name_or_handle), owner)
    except UsageError as error:
        raise UsageError(f"there is no skill {name_or_handle!r}; `agent skills list` shows them all") from error


def many(db: Database, skill_ids: Sequence[int], owner: str) -> list[Skill]:
    """The skills with these ids that this owner has, in the order of the ids."""
    rows = db.rows(
        f"select {_COLUMNS} from skill where +owner = ? and id in (select value from json_each(?))",
        (owner, skill_ids),
    )
    skills = {row[0]: Skill(*row) for row in rows}
    return [skills[id] for id in skill_ids if id in skills]


def listing(
    db: Database, owner: str, limit: int = -1, *, states: Sequence[str] = (ACCEPTED,), hidden: bool = False
) -> list[Skill]:
    """Skills, ordered by name."""
    rows = db.rows(
        f"""select {_COLUMNS} from skill where owner = ? and state in (select value from json_each(?))
              and hidden_at is {"not null" if hidden else "null"} order by name, id limit ?""",
        (owner, states, limit),
    )
    return [Skill(*row) for row in rows]


def pending(db: Database, owner: str, session: int | None = None) -> list[Skill]:
    """Proposals, the oldest first; with a session, those learned in it."""
    rows = db.rows(
        f"""select {_COLUMNS} from skill where owner = ?1 and state = 'pending' and hidden_at is null
              and (?2 is null or session_id = ?2) order by id""",
        (owner, session),
    )
    return [Skill(*row) for row in rows]


def former(db: Database, skill: Skill) -> list[Version]:
    """The former versions of an accepted skill, the oldest first."""
    accepted = [each for each in versions.history(db, "skill", skill.id) if each.was.get("state") == ACCEPTED]
    found = {each.was["version"]: each for each in accepted}
    return [each for number, each in sorted(found.items()) if number != skill.version]


def undo_batch(db: Database, owner: str, batch: str, time: clock.Clock) -> list[Skill]:
    """Undo a batch, the last change first: a skill that the batch added becomes rejected.

    Raises UsageError when one of its skills was changed since.
    """
    undoing = ids.new(time())
    with db.write():
        later = versions.changed_since(db, "skill", batch)
        if later:
            raise UsageError(f"k{later} was changed since, and stays as it is")

        def put_back(id: int, was: Mapping[str, Any]) -> Skill:
            columns = {key: value for key, value in was.items() if key in _CHANGES}
            return change(db, get(db, id, owner), "undone", time, batch=undoing, undone=True, **columns)

        undone = versions.undo_batch(db, "skill", batch, clock.utc(time()), put_back)
    return list({each.id: each for each in undone}.values())


def erase(db: Database, skill_ids: Sequence[int]) -> None:
    """Delete skills with their versions and index entries. Runs in the caller's transaction."""
    index.erase_many(db, "k", skill_ids)
    versions.erase(db, "skill", skill_ids)
    versions.clear(db, "skill", "target_id", skill_ids, target_id=None)
    db.execute("update skill set target_id = null where target_id in (select value from json_each(?))", (skill_ids,))
    db.execute("delete from skill where id in (select value from json_each(?))", (skill_ids,))


def drop_versions(db: Database, rows: Sequence[int], sessions: Sequence[int]) -> None:
    """Delete these rows of skill_version, and every reference to these sessions. Runs in the caller's transaction."""
    versions.drop(db, "skill", rows)
    versions.clear(db, "skill", "session_id", sessions, session_id=None)
    db.execute("update skill set session_id = null where session_id in (select value from json_each(?))", (sessions,))


def write(db: Database, id: int, **columns: Any) -> None:
    """Write columns without recording their former values. Runs in the caller's transaction."""
    if "text" in columns:
        index.erase(db, "k", id)  # needs the former words
    db.execute(
        f"update skill set {', '.join(f'{key} = :{key}' for key in columns)} where id = :id", {**columns, "id": id}
    )


def by_name(db: Database, owner: str, name: str) -> Skill | None:
    """The current skill of this name."""
    row = db.row(
        f"select {_COLUMNS} from skill where owner = ? and name = ? and state = 'accepted' and hidden_at is null",
        (owner, name),
    )
    return Skill(*row) if row else None


def insert(
    db: Database,
    owner: str,
    file: skill_file.SkillFile,
    state: str,
    change: str,
    time: clock.Clock,
    *,
    actor: str,
    origin: str,
    trust: str = "",
    session: int | None = None,
    target: Skill | None = None,
    base: int | None = None,
    batch: str = "",
) -> Skill:
    """Store the skill of a file in this state. Runs in the caller's transaction."""
    now = time()
    moment = clock.utc(now)
    id = db.insert(
        """insert into skill (uid, owner, name, description, text, state, target_id, base, origin, trust, session_id,
              at, utc_offset, changed_at, decided_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            ids.new(now),
            owner,
            file.name,
            file.description,
            file.text,
            state,
            target.id if target else None,
            base,
            origin,
            trust or origin,
            session,
            moment,
            clock.offset(now),
            moment,
            None if state == PENDING else moment,
        ),
    )
    skill = get(db, id, owner)
    _record(db, skill, None, change, time, actor, batch)
    return skill


def change(
    db: Database,
    skill: Skill,
    change: str,
    time: clock.Clock,
    *,
    actor: str = "person",
    batch: str = "",
    undone: bool = False,
    **values: Any,
) -> Skill:
    """Change some columns of a skill and record their former values. Runs in the caller's transaction.

    Raises UsageError when another skill would have the same name.
    """
    before = get(db, skill.id, skill.owner)
    after = replace(before, **values)
    if after.current and (other := by_name(db, after.owner, after.name)) and other.id != after.id:
        raise UsageError(f"there is another skill {other.name} meanwhile, {other.handle}: hide that first")
    write(db, skill.id, **{"changed_at": clock.utc(time()), **values})
    changed = get(db, skill.id, skill.owner)
    _record(db, changed, before, change, time, actor, batch, undone=undone)
    return changed


def _record(
    db: Database,
    skill: Skill,
    before: Skill | None,
    change: str,
    time: clock.Clock,
    actor: str,
    batch: str,
    *,
    undone: bool = False,
) -> None:
    batch = batch or ids.new(time())
    versions.record(
        db, "skill", skill.id, change, before, time, actor=actor, batch=batch, text=skill.text, undone=undone
    )
