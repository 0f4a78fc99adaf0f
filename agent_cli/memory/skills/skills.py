"""Skills: how something is done, as the person wrote it or approved it.

Only a person accepts. What a model writes and what a file brings waits for a yes; a change to a skill is a proposal of
its own, which a yes writes into the skill as its next version. Every version stays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from datetime import timedelta
from typing import Any

from agent_cli import clock
from agent_cli.errors import UsageError
from agent_cli.memory import tombstones, versions
from agent_cli.memory.language import secrets
from agent_cli.memory.search import index
from agent_cli.memory.skills import skill_file
from agent_cli.memory.versions import Version
from agent_cli.messages import Origin
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

PENDING, ACCEPTED, REJECTED, MERGED, EXPIRED = "pending", "accepted", "rejected", "merged", "expired"
CAP = 10  # proposals of a model that may wait at once
WAIT = timedelta(days=30)


@frozen
class Skill:
    id: int
    owner: str
    name: str
    description: str
    text: str
    version: int
    state: str  # merged: it was the proposal of a change, and the change was made
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

    def described(self) -> dict[str, Any]:
        told = {key: value for key, value in asdict(self).items() if key not in ("owner", "target_id", "utc_offset")}
        return told | {"id": self.handle, "changes": ids.handle("skill", self.target_id) if self.target_id else None}


_COLUMNS = ", ".join(each.name for each in fields(Skill))
_CHANGES = {each.name for each in fields(Skill)} - {"id", "owner", "at", "utc_offset"}


def get(db: Database, id: int, owner: str) -> Skill:
    """Raises UsageError when this owner has no such skill."""
    row = db.row(f"select {_COLUMNS} from skill where id = ? and owner = ?", (id, owner))
    if row is None:
        raise UsageError(f"there is no skill k{id}; `agent skills list` shows them all")
    return Skill(*row)


def named(db: Database, owner: str, told: str, *, hidden: bool = False) -> Skill:
    """The skill of a name or handle. Raises UsageError when there is none."""
    where = f"owner = ? and name = ? and state = 'accepted' and hidden_at is {'not null' if hidden else 'null'}"
    row = db.row(f"select {_COLUMNS} from skill where {where} order by id desc", (owner, told.strip()))
    if row:
        return Skill(*row)
    try:
        return get(db, ids.number("skill", told), owner)
    except UsageError as error:
        raise UsageError(f"there is no skill {told!r}; `agent skills list` shows them all") from error


def many(db: Database, found: Sequence[int], owner: str) -> list[Skill]:
    """Those of these numbers that this owner has, in their order."""
    rows = db.rows(
        f"select {_COLUMNS} from skill where +owner = ? and id in (select value from json_each(?))",
        (owner, found),
    )
    skills = {row[0]: Skill(*row) for row in rows}
    return [skills[id] for id in found if id in skills]


def listing(
    db: Database, owner: str, limit: int = -1, *, states: Sequence[str] = (ACCEPTED,), hidden: bool = False
) -> list[Skill]:
    """By name."""
    rows = db.rows(
        f"""select {_COLUMNS} from skill where owner = ? and state in (select value from json_each(?))
              and hidden_at is {"not null" if hidden else "null"} order by name, id limit ?""",
        (owner, states, limit),
    )
    return [Skill(*row) for row in rows]


def pending(db: Database, owner: str, session: int | None = None) -> list[Skill]:
    """What waits for a yes, the oldest first; with a session, what was learned in it."""
    rows = db.rows(
        f"""select {_COLUMNS} from skill where owner = ?1 and state = 'pending' and hidden_at is null
              and (?2 is null or session_id = ?2) order by id""",
        (owner, session),
    )
    return [Skill(*row) for row in rows]


def add(db: Database, owner: str, text: str, time: clock.Clock, *, origin: Origin = "typed", batch: str = "") -> Skill:
    """Take in what the person wrote or brought and said yes to. Raises UsageError when its name is taken."""
    told = skill_file.read(text)
    with db.write():
        known = _of_name(db, owner, told.name)
        if known:
            raise UsageError(f"there is a skill {told.name} already; `agent skills edit {told.name}` changes it")
        return _insert(db, owner, told, ACCEPTED, "added", time, origin=origin, batch=batch, actor="person")


def propose(
    db: Database, owner: str, text: str, time: clock.Clock, *, origin: Origin = "model", trust: str = "",
    session: int | None = None, base: int | None = None, batch: str = "",
) -> Skill | None:  # fmt: skip
    """Queue a skill, or a change to the one of its name, for review.

    None when it says what is known, waits already, was rejected or forgotten. What a model wrote is kept without
    secrets. `base`: the version of the known skill that the change was made from. Raises UsageError like `add`.
    """
    told = skill_file.read(secrets.mask(text) if origin == "model" else text)
    actor = "model" if origin == "model" else "person"
    with db.write():
        if tombstones.knows(db, told.text, owner) or _told_before(db, owner, told.text, origin):
            return None
        known = _of_name(db, owner, told.name)
        if origin == "model":
            _make_room(db, owner, time)
        return _insert(
            db, owner, told, PENDING, "proposed", time, origin=origin, trust=trust, session=session, batch=batch,
            actor=actor, target=known, base=base or (known.version if known else None),
        )  # fmt: skip


def accept(db: Database, skill: Skill, time: clock.Clock, *, batch: str = "") -> Skill:
    """The person's yes; gives the skill as it is now. Raises UsageError when it was decided meanwhile."""
    batch = batch or ids.new(time())
    with db.write():
        waiting = _waiting(db, skill)
        target = _of_name(db, skill.owner, waiting.name) or _target(db, waiting)
        now = clock.utc(time())
        if target is None:
            return _change(db, waiting, "accepted", time, batch=batch, state=ACCEPTED, target_id=None, decided_at=now)
        _change(db, waiting, "accepted", time, batch=batch, state=MERGED, target_id=target.id, decided_at=now)
        told = skill_file.read(waiting.text)
        return _change(
            db, target, "changed", time, batch=batch, text=told.text, name=told.name, description=told.description,
            version=target.version + 1, session_id=waiting.session_id, origin=waiting.origin, trust=waiting.trust,
        )  # fmt: skip


def reject(db: Database, skill: Skill, time: clock.Clock, *, batch: str = "") -> Skill:
    """The person's no: the same proposal does not return. Raises UsageError like `accept`."""
    with db.write():
        return _change(
            db, _waiting(db, skill), "rejected", time, batch=batch, state=REJECTED, decided_at=clock.utc(time())
        )


def edit(db: Database, skill: Skill, text: str, time: clock.Clock, *, batch: str = "") -> Skill:
    """Other words, as typed by the person. Raises UsageError like `add`, and when it was changed since it was read."""
    told = skill_file.read(text)
    with db.write():
        now = get(db, skill.id, skill.owner)
        if (now.text, now.state, now.hidden_at) != (skill.text, skill.state, skill.hidden_at):
            raise UsageError(f"{skill.handle} was changed meanwhile, and was left as it is now; look at it again")
        return _change(
            db, now, "edited", time, batch=batch, text=told.text, name=told.name, description=told.description,
            version=now.version + (now.state == ACCEPTED),
        )  # fmt: skip


def hide(db: Database, skill: Skill, time: clock.Clock) -> Skill:
    """Put it out of lists, search and what is offered, until `restore`."""
    with db.write():
        return _change(db, skill, "hidden", time, hidden_at=clock.utc(time()))


def restore(db: Database, skill: Skill, time: clock.Clock, version: int | None = None) -> Skill:
    """Bring a hidden skill back, or make an older version the present one. Raises UsageError when there is none."""
    with db.write():
        now = get(db, skill.id, skill.owner)
        if version is None or version == now.version:
            return _change(db, now, "restored", time, hidden_at=None)
        older = next((each for each in former(db, now) if each.was["version"] == version), None)
        if older is None:
            raise UsageError(
                f"{now.name} has no version {version}; `agent skills show {now.name} --versions` lists them"
            )
        told = skill_file.read(older.was["text"])
        return _change(
            db, now, "restored", time, hidden_at=None, text=told.text, name=told.name, description=told.description,
            version=now.version + 1,
        )  # fmt: skip


def former(db: Database, skill: Skill) -> list[Version]:
    """The wordings it had while it was accepted, the oldest first, without the present one."""
    accepted = [each for each in versions.history(db, "skill", skill.id) if each.was.get("state") == ACCEPTED]
    found = {each.was["version"]: each for each in accepted}
    return [each for number, each in sorted(found.items()) if number != skill.version]


def take_back(db: Database, owner: str, batch: str, time: clock.Clock) -> list[Skill]:
    """Undo a batch, the last change first: a skill that it brought in counts as rejected.

    Raises UsageError when one of its skills was changed again since.
    """
    undoing = ids.new(time())
    with db.write():
        later = versions.changed_since(db, "skill", batch)
        if later:
            raise UsageError(f"k{later} was changed since, and stays as it is")

        def put_back(id: int, was: Mapping[str, Any]) -> Skill:
            told = {key: value for key, value in was.items() if key in _CHANGES}
            return _change(db, get(db, id, owner), "undone", time, batch=undoing, undone=True, **told)

        undone = versions.take_back(db, "skill", batch, clock.utc(time()), put_back)
    return list({each.id: each for each in undone}.values())


def expire(db: Database, owner: str, time: clock.Clock) -> int:
    """Let go of proposals that nobody looked at for 30 days; returns how many."""
    oldest = ids.lowest(time() - WAIT)
    rows = db.rows("select id from skill where owner = ? and state = 'pending' and uid < ?", (owner, oldest))
    if rows:
        with db.write():
            old = [each for each in many(db, [id for (id,) in rows], owner) if each.state == PENDING]
            withdraw(db, old, time)
            return len(old)
    return 0


def withdraw(db: Database, proposals: Sequence[Skill], time: clock.Clock) -> None:
    """Let go of proposals that nobody decided on."""
    for each in proposals:
        _change(db, each, EXPIRED, time, actor="program", state=EXPIRED, decided_at=clock.utc(time()))


def erase(db: Database, found: Sequence[int]) -> None:
    """Delete skills with all their versions, out of the index first. Runs in the caller's transaction."""
    index.erase_many(db, "k", found)
    versions.erase(db, "skill", found)
    versions.clear(db, "skill", "target_id", found, target_id=None)
    db.execute("update skill set target_id = null where target_id in (select value from json_each(?))", (found,))
    db.execute("delete from skill where id in (select value from json_each(?))", (found,))


def drop(db: Database, rows: Sequence[int], sessions: Sequence[int]) -> None:
    """Delete these rows of versions, and where it says that it was learned in these sessions.

    Runs in the caller's transaction.
    """
    versions.drop(db, "skill", rows)
    versions.clear(db, "skill", "session_id", sessions, session_id=None)
    db.execute("update skill set session_id = null where session_id in (select value from json_each(?))", (sessions,))


def put(db: Database, id: int, **told: Any) -> None:
    """Write columns and keep nothing of what they were. Runs in the caller's transaction."""
    if "text" in told:
        index.erase(db, "k", id)  # before its words change
    db.execute(f"update skill set {', '.join(f'{key} = :{key}' for key in told)} where id = :id", {**told, "id": id})


def _of_name(db: Database, owner: str, name: str) -> Skill | None:
    row = db.row(
        f"select {_COLUMNS} from skill where owner = ? and name = ? and state = 'accepted' and hidden_at is null",
        (owner, name),
    )
    return Skill(*row) if row else None


def _target(db: Database, proposal: Skill) -> Skill | None:
    """The skill that a proposal changes under another name, while there is one."""
    found = many(db, [proposal.target_id] if proposal.target_id else [], proposal.owner)
    return found[0] if found and found[0].current else None


def _told_before(db: Database, owner: str, text: str, origin: str) -> bool:
    """Whether a skill or proposal in any state but an expired one says just this.

    A former version may be brought back by the person, and by no model.
    """
    return bool(
        db.value(
            """select 1 from skill where owner = ? and text = ? and state <> 'expired'
                 and (state <> 'merged' or ? = 'model') limit 1""",
            (owner, text, origin),
        )
    )


def _waiting(db: Database, skill: Skill) -> Skill:
    now = get(db, skill.id, skill.owner)
    if now.state != PENDING:
        raise UsageError(f"{skill.handle} waits for no yes: it is {now.state}")
    return now


def _make_room(db: Database, owner: str, time: clock.Clock) -> None:
    made = [each for each in pending(db, owner) if each.origin == "model"]
    withdraw(db, made[: max(0, len(made) + 1 - CAP)], time)


def _insert(
    db: Database, owner: str, told: skill_file.SkillFile, state: str, change: str, time: clock.Clock, *, actor: str,
    origin: str, trust: str = "", session: int | None = None, target: Skill | None = None, base: int | None = None,
    batch: str = "",
) -> Skill:  # fmt: skip
    now = time()
    moment = clock.utc(now)
    id = db.insert(
        """insert into skill (uid, owner, name, description, text, state, target_id, base, origin, trust, session_id,
              at, utc_offset, changed_at, decided_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            ids.new(now), owner, told.name, told.description, told.text, state, target.id if target else None, base,
            origin, trust or origin, session, moment, clock.offset(now), moment, None if state == PENDING else moment,
        ),
    )  # fmt: skip
    skill = get(db, id, owner)
    _record(db, skill, None, change, time, actor, batch)
    return skill


def _change(
    db: Database, skill: Skill, change: str, time: clock.Clock, *, actor: str = "person", batch: str = "",
    undone: bool = False, **values: Any,
) -> Skill:  # fmt: skip
    """Change some columns and keep how they were. Runs in the caller's transaction.

    Raises UsageError when another skill would have its name too.
    """
    before = get(db, skill.id, skill.owner)
    after = replace(before, **values)
    if after.current and (other := _of_name(db, after.owner, after.name)) and other.id != after.id:
        raise UsageError(f"there is another skill {other.name} meanwhile, {other.handle}: hide that first")
    put(db, skill.id, **{"changed_at": clock.utc(time()), **values})
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
