"""How a skill is proposed, accepted, rejected, changed and expires.

What the person writes is accepted at once; what a model or a file proposes waits for approval. A change to a skill is a
proposal of its own; accepting it makes its text the next version of the skill.
"""

from collections.abc import Sequence
from datetime import timedelta

from agent_cli import clock
from agent_cli.errors import UsageError
from agent_cli.memory import tombstones
from agent_cli.memory.language import secrets
from agent_cli.memory.skills import skill_file, skills
from agent_cli.memory.skills.skills import ACCEPTED, EXPIRED, MERGED, PENDING, REJECTED, Skill
from agent_cli.messages import Origin
from agent_cli.store import ids
from agent_cli.store.db import Database

MAX_PENDING = 10  # proposals of a model that may wait at once
MAX_WAIT = timedelta(days=30)


def add(db: Database, owner: str, text: str, time: clock.Clock, *, origin: Origin = "typed", batch: str = "") -> Skill:
    """Add a skill that the person wrote or approved. Raises UsageError when its name is taken."""
    file = skill_file.parse(text)
    with db.write():
        known = skills.by_name(db, owner, file.name)
        if known:
            raise UsageError(f"there is a skill {file.name} already; `agent skills edit {file.name}` changes it")
        return skills.insert(db, owner, file, ACCEPTED, "added", time, origin=origin, batch=batch, actor="person")


def propose(
    db: Database,
    owner: str,
    text: str,
    time: clock.Clock,
    *,
    origin: Origin = "model",
    trust: str = "",
    session: int | None = None,
    base: int | None = None,
    batch: str = "",
) -> Skill | None:
    """Queue a skill, or a change to the skill of its name, for review.

    None when its text is known, pending, rejected or forgotten. Secrets in a model's text are masked. `base`: the
    version of the known skill that the change was made from. Raises UsageError like `add`.
    """
    file = skill_file.parse(secrets.mask(text) if origin == "model" else text)
    actor = "model" if origin == "model" else "person"
    with db.write():
        if tombstones.contains(db, file.text, owner) or _exists(db, owner, file.text, origin):
            return None
        known = skills.by_name(db, owner, file.name)
        if origin == "model":
            _make_room(db, owner, time)
        return skills.insert(
            db,
            owner,
            file,
            PENDING,
            "proposed",
            time,
            origin=origin,
            trust=trust,
            session=session,
            batch=batch,
            actor=actor,
            target=known,
            base=base or (known.version if known else None),
        )


def accept(db: Database, skill: Skill, time: clock.Clock, *, batch: str = "") -> Skill:
    """The person accepts a proposal; returns the skill as it is then. Raises UsageError when it is not pending."""
    batch = batch or ids.new(time())
    with db.write():
        proposal = _require_pending(db, skill)
        target = skills.by_name(db, skill.owner, proposal.name) or _target(db, proposal)
        now = clock.utc(time())
        if target is None:
            return skills.change(
                db, proposal, "accepted", time, batch=batch, state=ACCEPTED, target_id=None, decided_at=now
            )
        skills.change(db, proposal, "accepted", time, batch=batch, state=MERGED, target_id=target.id, decided_at=now)
        file = skill_file.parse(proposal.text)
        return skills.change(
            db,
            target,
            "changed",
            time,
            batch=batch,
            text=file.text,
            name=file.name,
            description=file.description,
            version=target.version + 1,
            session_id=proposal.session_id,
            origin=proposal.origin,
            trust=proposal.trust,
        )


def reject(db: Database, skill: Skill, time: clock.Clock, *, batch: str = "") -> Skill:
    """The person rejects a proposal, for good. Raises UsageError like `accept`."""
    with db.write():
        return skills.change(
            db, _require_pending(db, skill), "rejected", time, batch=batch, state=REJECTED, decided_at=clock.utc(time())
        )


def edit(db: Database, skill: Skill, text: str, time: clock.Clock, *, batch: str = "") -> Skill:
    """Change the text to what the person typed. Raises UsageError like `add`, and when it was changed meanwhile."""
    file = skill_file.parse(text)
    with db.write():
        now = skills.get(db, skill.id, skill.owner)
        if (now.text, now.state, now.hidden_at) != (skill.text, skill.state, skill.hidden_at):
            raise UsageError(f"{skill.handle} was changed meanwhile, and was left as it is now; look at it again")
        return skills.change(
            db,
            now,
            "edited",
            time,
            batch=batch,
            text=file.text,
            name=file.name,
            description=file.description,
            version=now.version + (now.state == ACCEPTED),
        )


def hide(db: Database, skill: Skill, time: clock.Clock) -> Skill:
    """Leave a skill out of lists, search and suggestions, until `restore`."""
    with db.write():
        return skills.change(db, skill, "hidden", time, hidden_at=clock.utc(time()))


def restore(db: Database, skill: Skill, time: clock.Clock, version: int | None = None) -> Skill:
    """Show a hidden skill again, or restore an older version. Raises UsageError when there is no such version."""
    with db.write():
        now = skills.get(db, skill.id, skill.owner)
        if version is None or version == now.version:
            return skills.change(db, now, "restored", time, hidden_at=None)
        older = next((each for each in skills.former(db, now) if each.was["version"] == version), None)
        if older is None:
            raise UsageError(
                f"{now.name} has no version {version}; `agent skills show {now.name} --versions` lists them"
            )
        file = skill_file.parse(older.was["text"])
        return skills.change(
            db,
            now,
            "restored",
            time,
            hidden_at=None,
            text=file.text,
            name=file.name,
            description=file.description,
            version=now.version + 1,
        )


def expire(db: Database, owner: str, time: clock.Clock) -> int:
    """Expire proposals that have waited for 30 days; returns how many."""
    oldest = ids.lowest(time() - MAX_WAIT)
    rows = db.rows("select id from skill where owner = ? and state = 'pending' and uid < ?", (owner, oldest))
    if rows:
        with db.write():
            old = [each for each in skills.many(db, [id for (id,) in rows], owner) if each.state == PENDING]
            withdraw(db, old, time)
            return len(old)
    return 0


def withdraw(db: Database, proposals: Sequence[Skill], time: clock.Clock) -> None:
    """Expire these proposals."""
    for each in proposals:
        skills.change(db, each, EXPIRED, time, actor="program", state=EXPIRED, decided_at=clock.utc(time()))


def _target(db: Database, proposal: Skill) -> Skill | None:
    """The current skill that a proposal changes, whatever its name."""
    found = skills.many(db, [proposal.target_id] if proposal.target_id else [], proposal.owner)
    return found[0] if found and found[0].current else None


def _exists(db: Database, owner: str, text: str, origin: str) -> bool:
    """Whether a skill or proposal has exactly this text; expired ones do not count.

    A former version may be proposed again by the person, but not by a model.
    """
    return bool(
        db.value(
            """select 1 from skill where owner = ? and text = ? and state <> 'expired'
                 and (state <> 'merged' or ? = 'model') limit 1""",
            (owner, text, origin),
        )
    )


def _require_pending(db: Database, skill: Skill) -> Skill:
    now = skills.get(db, skill.id, skill.owner)
    if now.state != PENDING:
        raise UsageError(f"{skill.handle} does not wait for approval: it is {now.state}")
    return now


def _make_room(db: Database, owner: str, time: clock.Clock) -> None:
    made = [each for each in skills.pending(db, owner) if each.origin == "model"]
    withdraw(db, made[: max(0, len(made) + 1 - MAX_PENDING)], time)
