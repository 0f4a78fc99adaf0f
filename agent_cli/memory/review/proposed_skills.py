"""Proposed skills: how they are found, shown and decided. The queue of all kinds is in review.py.

A new skill is shown whole, and a change with every line that differs from the present text: nothing is accepted that
was not on the screen. So invisible characters are removed, except for a byte order mark and the line ends.
"""

import difflib
from collections.abc import Iterator

from agent_cli.errors import UsageError
from agent_cli.memory.conversations import readings, sessions
from agent_cli.memory.review.proposals import Proposal, Reviewer, describe_changes, visible_line
from agent_cli.memory.skills import skill_adoption, skill_file, skills
from agent_cli.memory.skills.skills import ACCEPTED, PENDING, Skill
from agent_cli.store import meta
from agent_cli.store.db import Database
from agent_cli.text import visible

_CONTEXT = 3  # lines around a change
_BYTE_ORDER_MARK = "\ufeff"
_LAST_REPORTED = "expired skills told"  # the id of the last skill_version row that was reported


def pending(reviewer: Reviewer, session: int | None) -> list[int]:
    """The ids of pending skills; with a session, those learned in it. Those after something foreign stand first."""
    waiting = skills.pending(reviewer.db, reviewer.scope.owner, session)
    return [each.id for each in sorted(waiting, key=lambda each: each.trust not in readings.ORIGINS)]


def read(reviewer: Reviewer, id: int, words: str) -> Proposal | None:
    """The proposal of a skill, with another text if given; None when it is no longer pending."""
    skill = next(iter(skills.many(reviewer.db, [id], reviewer.scope.owner)), None)
    if skill is None or skill.state != PENDING or skill.hidden_at is not None:
        return None
    text = words or cleaned(skill.text)
    name, description = _name_and_description(skill, text)
    target = _target(reviewer.db, skill, name)
    session, title = _source(reviewer, skill)
    session_id = skill.session_id if skill.trust in readings.ORIGINS else None
    read, message = readings.describe_in_session(reviewer.db, session_id, skill.at) if session_id else ("", None)
    return Proposal(
        "skill",
        skill.id,
        text,
        hidden=text != skill.text and not words,
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
        body=_body(text, target),
        at=skill.at,
        utc_offset=skill.utc_offset,
        session=session,
        title=title,
        read=read,
        read_message=message,
    )


def parse_edit(words: str) -> str:
    """The text of a skill as edited by the person. Raises UsageError when it is not valid."""
    return skill_file.parse(cleaned(words)).text


def state(reviewer: Reviewer, id: int) -> str:
    """The state of a skill, `hidden`, or `gone` when it was erased."""
    found = skills.many(reviewer.db, [id], reviewer.scope.owner)
    if not found:
        return "gone"
    return "hidden" if found[0].hidden_at else "accepted" if found[0].state == skills.MERGED else found[0].state


def accept(reviewer: Reviewer, proposal: Proposal, replacing: bool, batch: str) -> str:
    """Accept the text that was shown; returns the receipt."""
    skill = skills.get(reviewer.db, proposal.id, reviewer.scope.owner)
    if proposal.statement != skill.text:
        skill = skill_adoption.edit(reviewer.db, skill, proposal.statement, reviewer.time, batch=batch)
    now = skill_adoption.accept(reviewer.db, skill, reviewer.time, batch=batch)
    if now.id == skill.id:
        return f"kept {now.handle} {now.name}"
    return f"kept {skill.handle}: {now.handle} {now.name} is version {now.version} now"


def reject(reviewer: Reviewer, proposal: Proposal, batch: str) -> str:
    """Reject a skill; returns the receipt."""
    skill = skills.get(reviewer.db, proposal.id, reviewer.scope.owner)
    return f"rejected {skill_adoption.reject(reviewer.db, skill, reviewer.time, batch=batch).handle}"


def undo(reviewer: Reviewer, batch: str) -> list[str]:
    """Undo a batch of decisions; returns a line for each skill. Raises UsageError when one was changed since."""
    undone = skills.undo_batch(reviewer.db, reviewer.scope.owner, batch, reviewer.time)
    return [
        f"{each.handle} waits again"
        if each.state == PENDING
        else f"{each.handle} {each.name} is {_state_after_undo(each)}"
        for each in undone
    ]


def changes(reviewer: Reviewer, batch: str) -> list[str]:
    """What a batch changed, a line for each skill."""
    return describe_changes(reviewer, "skill", batch, lambda id: skills.get(reviewer.db, id, reviewer.scope.owner).name)


def expire(reviewer: Reviewer) -> int:
    """Expire old proposals; returns how many have expired since the last call."""
    db, owner = reviewer.db, reviewer.scope.owner
    skill_adoption.expire(db, owner, reviewer.time)
    reported = meta.number(db, _LAST_REPORTED)
    count, last = db.row(
        """select count(*), max(v.id) from skill_version v join skill s on s.id = v.skill_id
           where v.id > ? and v.change = 'expired' and s.owner = ? and s.state = 'expired'""",
        (reported, owner),
    ) or (0, None)
    if last:
        meta.put(db, _LAST_REPORTED, str(last))
    return int(count)


def cleaned(text: str) -> str:
    """A text without invisible characters, except for a byte order mark and the line ends."""
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    return mark + "\n".join(_clean_line(line) for line in text.removeprefix(_BYTE_ORDER_MARK).split("\n"))


def _clean_line(line: str) -> str:
    end = "\r" if line.endswith("\r") else ""
    words = line.removesuffix("\r").replace("\u2028", " ").replace("\u2029", " ")
    while (seen := visible(words)) != words:  # removing a character may join two others
        words = seen
    return words + end


def _name_and_description(skill: Skill, text: str) -> tuple[str, str]:
    """Name and description in the text that would be stored."""
    try:
        file = skill_file.parse(text)
    except UsageError:  # it is invalid without the invisible characters: accepting it will raise this
        return skill.name, skill.description
    return file.name, file.description


def _target(db: Database, skill: Skill, name: str) -> Skill | None:
    """The skill that acceptance would change."""
    known = skills.listing(db, skill.owner)
    named = next((each for each in known if each.name == name), None)
    return named or next((each for each in known if each.id == skill.target_id), None)


def _describe_change(skill: Skill, target: Skill | None) -> str:
    if target is None:
        return "new skill"
    change = f"a change to {target.handle} {target.name}"
    if skill.base is None or target.id != skill.target_id:
        return change
    now = f" (it is version {target.version} now)" if target.version != skill.base else ""
    return f"{change}, made from version {skill.base}{now}"


def _body(text: str, target: Skill | None) -> tuple[str, ...]:
    """The lines of a new skill, or those that a change adds and removes, each after its sign."""
    new = _lines(text)
    if target is None:
        return tuple(f"+ {line}" for line in new)
    return tuple(_difference(_lines(target.text), new)) or ("@ nothing that can be seen would change",)


def _lines(text: str) -> list[str]:
    lines = [line.removesuffix("\r") for line in cleaned(text).removeprefix(_BYTE_ORDER_MARK).split("\n")]
    return lines if lines[-1] else lines[:-1]


def _difference(old: list[str], new: list[str]) -> Iterator[str]:
    lines = difflib.unified_diff(old, new, n=_CONTEXT, lineterm="")
    for number, line in enumerate(lines):
        if number < 2:
            continue  # file names
        if line.startswith("@@"):
            yield f"@ from line {line.split()[2][1:].partition(',')[0]}"
        else:
            yield f"{line[0]} {line[1:]}"


def _source(reviewer: Reviewer, skill: Skill) -> tuple[str, str]:
    """The handle and the name of the session that the skill comes from."""
    if skill.session_id is None:
        return "", ""
    found = sessions.get(reviewer.db, skill.session_id, skill.owner)
    return found.handle, visible_line(sessions.name(reviewer.db, found))


def _state_after_undo(skill: Skill) -> str:
    return f"version {skill.version} again" if skill.state == ACCEPTED else skill.state
