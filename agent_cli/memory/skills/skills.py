"""The skills: how they are read, added, proposed, accepted, changed and restored.

What the person writes is accepted at once; what a model or a file proposes waits for approval. A change to a skill is a
proposal of its own; accepting it makes its text the next version of the skill. Every version is stored.
memory/proposals.py has what facts and skills share.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from agent_cli import clock
from agent_cli.errors import UsageError
from agent_cli.memory import tombstones
from agent_cli.memory.language import secrets
from agent_cli.memory.proposals import ACCEPTED, PENDING, MemoryContext, Proposals, Proposed, Version
from agent_cli.memory.search import index
from agent_cli.memory.skills import skill_file
from agent_cli.memory.skills.skill_file import SkillFile
from agent_cli.messages import Origin
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

MERGED = "merged"  # the state of a proposal to change a skill that was accepted


@frozen
class Skill(Proposed):
    kind = "skill"
    id: int
    owner: str
    name: str
    description: str
    text: str
    version: int
    state: str
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
    def body(self) -> str:
        return skill_file.body(self.text)

    def describe(self) -> dict[str, Any]:
        shown = {key: value for key, value in asdict(self).items() if key not in ("owner", "target_id", "utc_offset")}
        return shown | {"id": self.handle, "changes": ids.handle("skill", self.target_id) if self.target_id else None}


def named(db: Database, owner: str, name_or_handle: str, *, hidden: bool = False) -> Skill:
    where = f"""owner = ? and name = ? and state = 'accepted' and hidden_at is {"not null" if hidden else "null"}
                order by id desc limit 1"""
    if found := SKILLS.select(db, where, (owner, name_or_handle.strip())):
        return found[0]
    try:
        return get(db, ids.number("skill", name_or_handle), owner)
    except UsageError as error:
        raise UsageError(f"there is no skill {name_or_handle!r}; `agent skills list` shows them all") from error


def listing(
    db: Database, owner: str, limit: int = -1, *, states: Sequence[str] = (ACCEPTED,), hidden: bool = False
) -> list[Skill]:
    where = f"""owner = ? and state in (select value from json_each(?))
                and hidden_at is {"not null" if hidden else "null"} order by name, id limit ?"""
    return SKILLS.select(db, where, (owner, states, limit))


def former(db: Database, skill: Skill) -> list[Version]:
    """The former versions of an accepted skill, the oldest first."""
    accepted = [each for each in SKILLS.history(db, skill.id) if each.was.get("state") == ACCEPTED]
    found = {each.was["version"]: each for each in accepted}
    return [each for number, each in sorted(found.items()) if number != skill.version]


def add(memory: MemoryContext, text: str) -> Skill:
    """Add a skill that the person wrote or approved. Raises UsageError when its name is taken."""
    file = skill_file.parse(text)
    with memory.db.write():
        if _by_name(memory.db, memory.scope.owner, file.name):
            raise UsageError(f"there is a skill {file.name} already; `agent skills edit {file.name}` changes it")
        return _insert(memory, file, ACCEPTED, "added", origin="typed", trust="typed")


def propose(
    memory: MemoryContext,
    text: str,
    *,
    origin: Origin = "model",
    trust: str = "",
    session: int | None = None,
    base: int | None = None,
) -> Skill | None:
    """Queue a skill, or a change to the skill of its name, for review.

    None when its text is known, pending, rejected or forgotten. Secrets in a model's text are masked. `base`: the
    version of the known skill that the change was made from. Raises UsageError like `add`.
    """
    file = skill_file.parse(secrets.mask(text) if origin == "model" else text)
    db, owner = memory.db, memory.scope.owner
    with db.write():
        if tombstones.contains(db, file.text, owner) or _exists(db, owner, file.text, origin):
            return None
        known = _by_name(db, owner, file.name)
        target, version = (known.id, known.version) if known else (None, None)
        if origin == "model":
            SKILLS.make_room(memory)
        sources = {"origin": origin, "trust": trust or origin, "session_id": session}
        return _insert(memory, file, PENDING, "proposed", target_id=target, base=base or version, **sources)


def accept(memory: MemoryContext, skill: Skill) -> Skill:
    """The person accepts a proposal; returns the skill as it is then. Raises UsageError when it is not pending."""
    memory, db = memory.in_one_batch(), memory.db
    with db.write():
        proposal = SKILLS.require_pending(db, skill)
        target = _by_name(db, skill.owner, proposal.name) or _target(db, proposal)
        decided = {"state": MERGED if target else ACCEPTED, "decided_at": clock.utc(memory.time())}
        changed = change(memory, proposal, "accepted", target_id=target.id if target else None, **decided)
        if target is None:
            return changed
        source = {name: getattr(proposal, name) for name in ("session_id", "origin", "trust")}
        return _reword(memory, target, "changed", skill_file.parse(proposal.text), **source)


def import_skill(memory: MemoryContext, words: str, *, accepted: bool = False) -> Skill | None:
    """Import a skill, or a change to one, as a proposal or as accepted; None when it says nothing new.

    Nothing is restored that was rejected, hidden or forgotten. A pending proposal with the same text is accepted when
    `accepted` is set. Raises UsageError like `parse`.
    """
    with memory.db.write():
        proposal = propose(memory, words, origin="file")
        if not accepted:
            return proposal
        waiting = pending(memory.db, memory.scope.owner)
        proposal = proposal or next((each for each in waiting if each.text == words), None)
        return accept(memory, proposal) if proposal else None


def edit(memory: MemoryContext, skill: Skill, text: str) -> Skill:
    """Change the text to what the person typed. Raises UsageError like `add`, and when it was changed meanwhile."""
    file = skill_file.parse(text)
    with memory.db.write():
        now = get(memory.db, skill.id, skill.owner)
        if (now.text, now.state, now.hidden_at) != (skill.text, skill.state, skill.hidden_at):
            raise UsageError(f"{skill.handle} was changed meanwhile, and was left as it is now; look at it again")
        return _reword(memory, now, "edited", file)


def restore(memory: MemoryContext, skill: Skill, version: int | None = None) -> Skill:
    """Show a hidden skill again, or restore an older version. Raises UsageError when there is no such version."""
    with memory.db.write():
        now = get(memory.db, skill.id, skill.owner)
        if version is None or version == now.version:
            return change(memory, now, "restored", hidden_at=None)
        older = next((each for each in former(memory.db, now) if each.was["version"] == version), None)
        if older is None:
            versions = f"`agent skills show {now.name} --versions` lists them"
            raise UsageError(f"{now.name} has no version {version}; {versions}")
        return _reword(memory, now, "restored", skill_file.parse(older.was["text"]), hidden_at=None)


def erase(db: Database, skill_ids: Sequence[int]) -> None:
    index.erase_many(db, "k", skill_ids)
    SKILLS.drop_versions(db, skill_ids, "skill_id")
    SKILLS.clear(db, "target_id", skill_ids, target_id=None)
    db.execute("update skill set target_id = null where target_id in (select value from json_each(?))", (skill_ids,))
    db.execute("delete from skill where id in (select value from json_each(?))", (skill_ids,))


def drop_versions(db: Database, rows: Sequence[int], sessions: Sequence[int]) -> None:
    """Delete these rows of skill_version, and every reference to these sessions. Runs in the caller's transaction."""
    SKILLS.drop_versions(db, rows)
    SKILLS.clear(db, "session_id", sessions, session_id=None)
    db.execute("update skill set session_id = null where session_id in (select value from json_each(?))", (sessions,))


def write(db: Database, id: int, **columns: Any) -> None:
    """Write columns without recording their former values. Runs in the caller's transaction."""
    if "text" in columns:
        index.erase(db, "k", id)  # needs the former words
    SKILLS.update(db, id, columns)


def _reword(memory: MemoryContext, skill: Skill, change_: str, file: SkillFile, **others: Any) -> Skill:
    """Change a skill to what a file says: of an accepted one that is its next version."""
    words = {"text": file.text, "name": file.name, "description": file.description}
    version = skill.version + (skill.state == ACCEPTED)
    return change(memory, skill, change_, version=version, **words, **others)


def _by_name(db: Database, owner: str, name: str) -> Skill | None:
    where = "owner = ? and name = ? and state = 'accepted' and hidden_at is null"
    return next(iter(SKILLS.select(db, where, (owner, name))), None)


def _target(db: Database, proposal: Skill) -> Skill | None:
    """The current skill that a proposal changes, whatever its name."""
    found = many(db, [proposal.target_id] if proposal.target_id else [], proposal.owner)
    return found[0] if found and found[0].is_accepted else None


def _exists(db: Database, owner: str, text: str, origin: str) -> bool:
    """Whether a skill or proposal has exactly this text. The person may propose a former version again, a model not."""
    query = """select 1 from skill where owner = ? and text = ? and state <> 'expired'
               and (state <> 'merged' or ? = 'model') limit 1"""
    return bool(db.value(query, (owner, text, origin)))


def _insert(memory: MemoryContext, file: SkillFile, state: str, change: str, **columns: Any) -> Skill:
    now, actor = memory.time(), "model" if columns["origin"] == "model" else "person"
    columns |= {"name": file.name, "description": file.description, "text": file.text, "state": state}
    columns |= {"at": clock.utc(now), "utc_offset": clock.offset(now), "changed_at": clock.utc(now)}
    return SKILLS.insert(memory, change, actor=actor, **columns)


def _write(memory: MemoryContext, skill: Skill, values: Mapping[str, Any]) -> None:
    """Write columns, and the time. Raises UsageError when another skill would have the same name."""
    after = replace(skill, **values)
    if after.is_accepted and (other := _by_name(memory.db, after.owner, after.name)) and other.id != after.id:
        raise UsageError(f"there is another skill {other.name} meanwhile, {other.handle}: hide that first")
    write(memory.db, skill.id, **{"changed_at": clock.utc(memory.time()), **values})


SKILLS = Proposals(
    Skill,
    text="text",
    list_command="agent skills list",
    of_session="session_id = ?2",
    max_pending=10,
    fixed=frozenset(("id", "owner", "at", "utc_offset")),
    changed_since="{0} was changed since, and stays as it is",
    write=_write,
)
get, many, pending, change = SKILLS.get, SKILLS.many, SKILLS.pending, SKILLS.change
reject, hide, undo_batch = SKILLS.reject, SKILLS.hide, SKILLS.undo_batch
