"""What skills lose with the messages they were learned from.

A proposal goes with the session it was learned in. Of a skill that the person has said yes to only those wordings go
that a model wrote in that session and that have words of the erased messages, told in nothing that is left of it; what
was made of such a wording later goes too where it has them. The skill goes back to its newest wording that is left.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from agent_cli import clock
from agent_cli.memory.language import distinctive
from agent_cli.memory.language.distinctive import Wanted
from agent_cli.memory.skills import skills
from agent_cli.store import events, ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

Ids = tuple[int, ...]


@frozen
class Wording:
    """A skill as it is, or was before a change. `row`: of skill_version; None: it is so now."""

    row: int | None
    text: str
    told: str  # all its words
    accepted: bool
    session: int | None
    origin: str
    version: int


@frozen
class Unlearned:
    erased: Ids = ()  # skills and proposals
    back: tuple[tuple[int, int, int], ...] = ()  # (skill, the row of the version it goes back to, its number)
    rows: Ids = ()  # versions that go, of skills that stay
    losing: Ids = ()  # these skills


def found(
    db: Database, messages: Ids, sessions: Iterable[int], besides: Ids, taught: Ids, says: Callable[[str], bool]
) -> Unlearned:
    """What goes of the skills learned in sessions that lose these messages, and of those that were taught a topic.

    `besides`: skills that go anyway. `says`: whether a text says the topic.
    """
    listed = json.dumps(sorted(sessions))
    gone = set(besides) | _proposals(db, listed)
    learned = [id for id in sorted({*_learned(db, listed), *taught}) if id not in gone]
    wanted = _telling(db, messages, listed) if learned else Wanted()
    back: list[tuple[int, int, int]] = []
    rows: list[int] = []
    losing: list[int] = []
    for id in learned:
        told = _wordings(db, id)
        lost = _lost(told, wanted, set(json.loads(listed)), says)
        if not lost:
            continue
        gone |= _changes(db, id, wanted)
        left = [each for each in told if each.accepted and each.text not in lost]
        if not left:
            gone.add(id)
            continue
        losing.append(id)
        rows += [each.row for each in told if each.row is not None and each.text in lost]
        if told[-1].text in lost:
            newest = max(left, key=lambda each: (each.version, each.row or 0))
            back.append((id, newest.row or 0, newest.version))
    gone |= _changing(db, gone)
    return Unlearned(tuple(sorted(gone)), tuple(back), tuple(sorted(rows)), tuple(losing))


def go_back(db: Database, skill: int, row: int, time: clock.Clock) -> None:
    """Make a skill again what it was in this row of its versions. Runs in the caller's transaction.

    What it was until now is kept nowhere. Where its former name is another's by now it is hidden.
    """
    was = json.loads(db.value("select was from skill_version where id = ?", (row,)))
    told = {key: was[key] for key in ("name", "description", "text", "version", "origin", "trust", "session_id")}
    now = clock.utc(time())
    taken = db.value(
        "select 1 from skill where owner = ? and name = ? and state = 'accepted' and hidden_at is null and id <> ?",
        (was["owner"], was["name"], skill),
    )
    skills.put(db, skill, **told, changed_at=now, **({"hidden_at": now} if taken else {}))
    events.append(db, time, "skill forgotten", ids.handle("skill", skill), actor="person", content=was["text"])


def _proposals(db: Database, sessions: str) -> set[int]:
    rows = db.rows(
        "select id from skill where state <> 'accepted' and session_id in (select value from json_each(?))", (sessions,)
    )
    return {id for (id,) in rows}


def _learned(db: Database, sessions: str) -> list[int]:
    """Skills of which a wording comes from one of these sessions."""
    rows = db.rows(
        """select id from skill where state = 'accepted' and (session_id in (select value from json_each(?1))
             or id in (select skill_id from skill_version
                       where was ->> 'session_id' in (select value from json_each(?1)))) order by id""",
        (sessions,),
    )
    return [id for (id,) in rows]


def _wordings(db: Database, id: int) -> list[Wording]:
    """All that a skill has said, the oldest first, the present one last."""
    columns = "name, description, text, state, session_id, origin, version"
    rows: list[tuple[Any, ...]] = db.rows(
        """select id, was ->> 'name', was ->> 'description', was ->> 'text', was ->> 'state', was ->> 'session_id',
                  was ->> 'origin', was ->> 'version'
           from skill_version where skill_id = ? and was is not null order by id""",
        (id,),
    )
    rows += db.rows(f"select null, {columns} from skill where id = ?", (id,))
    return [
        Wording(row, text, "\n".join((name, description, text)), state == "accepted", session, origin, version)
        for row, name, description, text, state, session, origin, version in rows
    ]


def _lost(told: Sequence[Wording], wanted: Wanted, sessions: set[int], about: Callable[[str], bool]) -> set[str]:
    """The texts that say the topic, and those with erased words, from the first on that was learned there.

    What stood there before came from elsewhere, and may have been brought back since.
    """
    lost, before, learned = set[str](), set[str](), False
    for each in told:
        says = bool(wanted.within(distinctive.folded(each.told)))
        learned |= says and each.origin == "model" and each.session in sessions
        if not learned:
            before.add(each.text)
        if (says and learned and each.text not in before) or about(each.told):
            lost.add(each.text)
    return lost


def _changes(db: Database, id: int, wanted: Wanted) -> set[int]:
    """Proposals to change a skill that have those words too: they were made from it."""
    rows = db.rows(
        """select id, name || char(10) || description || char(10) || text from skill
           where target_id = ? and state <> 'accepted'""",
        (id,),
    )
    return {each for each, told in rows if wanted.within(distinctive.folded(told))}


def _changing(db: Database, skills: Iterable[int]) -> set[int]:
    """Proposals to change these skills."""
    rows = db.rows(
        "select id from skill where state <> 'accepted' and target_id in (select value from json_each(?))",
        (json.dumps(sorted(skills)),),
    )
    return {id for (id,) in rows}


def _telling(db: Database, messages: Ids, sessions: str) -> Wanted:
    """The words and lines of these messages that stand in no other message of their sessions."""
    gone = {*messages}
    rows = db.rows(
        "select id, text from message where session_id in (select value from json_each(?)) and text <> ''", (sessions,)
    )
    rows += db.rows(
        """select m.id, c.arguments from tool_call c join message m on m.id = c.message_id
           where m.session_id in (select value from json_each(?))""",
        (sessions,),
    )
    erased = [text for id, text in rows if id in gone]
    left = [text for id, text in rows if id not in gone]
    words = set(distinctive.words(erased)) - set(distinctive.words(left))
    return Wanted(frozenset(set(distinctive.lines(erased)) - set(distinctive.lines(left))), frozenset(words))
