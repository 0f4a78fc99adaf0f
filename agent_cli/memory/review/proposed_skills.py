"""Skills that wait for a yes: how they are found, shown and decided. (The queue is review.py.)

All of a new skill is shown, and of a change every line that differs from the present text: a yes keeps nothing that was
not on the screen. So characters that cannot be seen are not kept either; the mark at the beginning of a file and the
ends of its lines, which say nothing, stay as they came.
"""

import difflib
from collections.abc import Iterator

from agent_cli.errors import UsageError
from agent_cli.memory.conversations import sessions
from agent_cli.memory.review.proposals import Proposal, Reviewer, visible_line
from agent_cli.memory.skills import skill_adoption, skill_file, skills
from agent_cli.memory.skills.skills import ACCEPTED, PENDING, Skill
from agent_cli.store import meta
from agent_cli.store.db import Database
from agent_cli.text import visible

_CONTEXT = 3  # lines around a change
_BYTE_ORDER_MARK = "\ufeff"
_LAST_REPORTED = "expired skills told"  # the last row of skill_version that was looked at


def pending(reviewer: Reviewer, session: int | None) -> list[int]:
    """The numbers of those that wait, the oldest first; with a session, of what was learned in it."""
    return [each.id for each in skills.pending(reviewer.db, reviewer.scope.owner, session)]


def read(reviewer: Reviewer, id: int, words: str) -> Proposal | None:
    """A skill as it is shown, in this text or its own; None when it waits no more."""
    skill = next(iter(skills.many(reviewer.db, [id], reviewer.scope.owner)), None)
    if skill is None or skill.state != PENDING or skill.hidden_at is not None:
        return None
    kept = words or cleaned(skill.text)
    name, description = _name_and_description(skill, kept)
    target = _target(reviewer.db, skill, name)
    session, title = _source(reviewer, skill)
    return Proposal(
        "skill",
        skill.id,
        kept,
        hidden=kept != skill.text and not words,
        edited=bool(words),
        operation="update" if target else "insert",
        reach=_describe_change(skill, target),
        since="",
        until="",
        filed="",
        origin=skill.origin,
        trust=skill.trust,
        inferred=False,
        quote="",
        message=None,
        known=(),
        more=0,
        heading=visible_line(f"{name}: {description}"),
        body=_body(kept, target),
        at=skill.at,
        utc_offset=skill.utc_offset,
        session=session,
        title=title,
    )


def parse_edit(words: str) -> str:
    """The text of a skill as a person left it in the editor. Raises UsageError when it is none."""
    return skill_file.parse(cleaned(words)).text


def state(reviewer: Reviewer, id: int) -> str:
    """What became of it, in a word."""
    found = skills.many(reviewer.db, [id], reviewer.scope.owner)
    if not found:
        return "gone"
    return "hidden" if found[0].hidden_at else "accepted" if found[0].state == skills.MERGED else found[0].state


def accept(reviewer: Reviewer, proposal: Proposal, replacing: bool, batch: str) -> str:
    """The yes, to the text that was shown. The receipt."""
    skill = skills.get(reviewer.db, proposal.id, reviewer.scope.owner)
    if proposal.statement != skill.text:
        skill = skill_adoption.edit(reviewer.db, skill, proposal.statement, reviewer.time, batch=batch)
    now = skill_adoption.accept(reviewer.db, skill, reviewer.time, batch=batch)
    if now.id == skill.id:
        return f"kept {now.handle} {now.name}"
    return f"kept {skill.handle}: {now.handle} {now.name} is version {now.version} now"


def reject(reviewer: Reviewer, proposal: Proposal, batch: str) -> str:
    """The no. The receipt."""
    skill = skills.get(reviewer.db, proposal.id, reviewer.scope.owner)
    return f"rejected {skill_adoption.reject(reviewer.db, skill, reviewer.time, batch=batch).handle}"


def undo(reviewer: Reviewer, batch: str) -> list[str]:
    """Undo what was decided at once. Raises UsageError when one of these skills was changed since."""
    undone = skills.undo_batch(reviewer.db, reviewer.scope.owner, batch, reviewer.time)
    return [
        f"{each.handle} waits again"
        if each.state == PENDING
        else f"{each.handle} {each.name} is {_state_after_undo(each)}"
        for each in undone
    ]


def expire(reviewer: Reviewer) -> int:
    """Let go of what nobody looked at; how many went unread since this was last asked."""
    db, owner = reviewer.db, reviewer.scope.owner
    skill_adoption.expire(db, owner, reviewer.time)
    told = meta.number(db, _LAST_REPORTED)
    count, last = db.row(
        """select count(*), max(v.id) from skill_version v join skill s on s.id = v.skill_id
           where v.id > ? and v.change = 'expired' and s.owner = ? and s.state = 'expired'""",
        (told, owner),
    ) or (0, None)
    if last:
        meta.put(db, _LAST_REPORTED, str(last))
    return int(count)


def cleaned(text: str) -> str:
    """A text without what cannot be seen in it."""
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    return mark + "\n".join(_clean_line(line) for line in text.removeprefix(_BYTE_ORDER_MARK).split("\n"))


def _clean_line(line: str) -> str:
    end = "\r" if line.endswith("\r") else ""
    words = line.removesuffix("\r").replace("\u2028", " ").replace("\u2029", " ")
    while (seen := visible(words)) != words:  # what was taken out may have held two others apart
        words = seen
    return words + end


def _name_and_description(skill: Skill, kept: str) -> tuple[str, str]:
    """Name and description as they stand in the text that would be kept."""
    try:
        told = skill_file.parse(kept)
    except UsageError:  # nothing but what cannot be seen held it together: a yes will say so
        return skill.name, skill.description
    return told.name, told.description


def _target(db: Database, skill: Skill, name: str) -> Skill | None:
    """The skill that a yes would change."""
    known = skills.listing(db, skill.owner)
    named = next((each for each in known if each.name == name), None)
    return named or next((each for each in known if each.id == skill.target_id), None)


def _describe_change(skill: Skill, target: Skill | None) -> str:
    if target is None:
        return "new skill"
    told = f"a change to {target.handle} {target.name}"
    if skill.base is None or target.id != skill.target_id:
        return told
    now = f" (it is version {target.version} now)" if target.version != skill.base else ""
    return f"{told}, made from version {skill.base}{now}"


def _body(kept: str, target: Skill | None) -> tuple[str, ...]:
    """The lines of a new skill, or those that a change takes out and brings, each behind its sign."""
    new = _lines(kept)
    if target is None:
        return tuple(f"+ {line}" for line in new)
    return tuple(_difference(_lines(target.text), new)) or ("@ nothing that can be seen would change",)


def _lines(text: str) -> list[str]:
    lines = [line.removesuffix("\r") for line in cleaned(text).removeprefix(_BYTE_ORDER_MARK).split("\n")]
    return lines if lines[-1] else lines[:-1]


def _difference(old: list[str], new: list[str]) -> Iterator[str]:
    told = difflib.unified_diff(old, new, n=_CONTEXT, lineterm="")
    for number, line in enumerate(told):
        if number < 2:
            continue  # the names of two files
        if line.startswith("@@"):
            yield f"@ from line {line.split()[2][1:].partition(',')[0]}"
        else:
            yield f"{line[0]} {line[1:]}"


def _source(reviewer: Reviewer, skill: Skill) -> tuple[str, str]:
    """The handle and the name of the session it comes from."""
    if skill.session_id is None:
        return "", ""
    found = sessions.get(reviewer.db, skill.session_id, skill.owner)
    return found.handle, visible_line(sessions.name(reviewer.db, found))


def _state_after_undo(skill: Skill) -> str:
    return f"version {skill.version} again" if skill.state == ACCEPTED else skill.state
