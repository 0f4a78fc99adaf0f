"""Erasure of skills: what they lose with the messages they were learned from.

A proposal is erased with the session it was learned in. An accepted skill loses only the wordings that a model wrote in
that session and that contain distinctive words of the erased messages, and later wordings that still contain them. The
skill then reverts to its newest remaining wording.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from agent_cli import clock
from agent_cli.memory import lineage
from agent_cli.memory.language import keywords
from agent_cli.memory.language.keywords import SearchTerms
from agent_cli.memory.lineage import Owner, Table, Walk
from agent_cli.memory.skills import skills
from agent_cli.store import events, ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

_CONTENTS = "(select coalesce(group_concat(value, char(10)), '') from json_each({}))"  # of all files, as text
_FILES, _WAS_FILES = _CONTENTS.format("files"), _CONTENTS.format("coalesce(was ->> 'files', json_object())")
_WORDS = ("name", "description", "text", _FILES)
_WAS = ("(was ->> 'name')", "(was ->> 'description')", "(was ->> 'text')", _WAS_FILES)

_TABLES = (
    Table(
        "skill",
        text_columns="name description text files",
        other_columns="uid owner state origin trust at changed_at decided_at hidden_at",
        letter="k",
        counts={("skills", "skill"): "true"},
        partial_names=("skills in part", "skill in part"),
        day="changed_at",
        line="name || ': ' || description",
        mentions=f"""{lineage.mentions_topic(*_WORDS)}
                     or exists (select 1 from skill_version
                                where skill_id = skill.id and {lineage.mentions_topic(*_WAS)})""",
        stated_text=lineage.joined(*_WORDS),
        personal_texts=(f"select {', '.join(_WORDS)} from skill where origin <> 'model' and id {{ids}}",),
        other_texts=(", ".join(_WORDS),),
        remembered=("text",),
    ),
    Table(
        "skill_version",
        text_columns="was",
        other_columns="change batch actor at",
        letter="k",
        handle="skill_id",
        stated_text=f"coalesce({lineage.joined(*_WAS)}, '')",
        other_texts=(", ".join(_WAS),),
        remembered=("was ->> 'text'",),
    ),
)


@frozen
class Wording:
    """A skill as it is or was before a change. `row`: the row of skill_version; None for the present wording."""

    row: int | None
    text: str
    words: str  # name, description, text and files
    accepted: bool
    session: int | None
    origin: str
    version: int


def _derive(db: Database, walk: Walk) -> None:
    """Find what is erased of the skills learned in sessions that lose messages, and of those that mention the topic.

    A skill that stays reverts to an earlier wording, or keeps its present one and loses former versions.
    """
    sessions = sorted({*walk["session"], *walk.staying("session")})
    proposed = lineage.column(db, "select id from skill where state <> 'accepted' and session_id {ids}", sessions)
    erased = {*walk["skill"], *proposed}
    learned_in = db.rows(  # accepted skills with a wording from one of these sessions
        """select id from skill where state = 'accepted' and (session_id in (select value from json_each(?1))
             or id in (select skill_id from skill_version
                       where was ->> 'session_id' in (select value from json_each(?1)))) order by id""",
        (sessions,),
    )
    learned = sorted({*(id for (id,) in learned_in), *walk.request.mentioned.get("skill", ())} - erased)
    wanted = _distinctive_terms(db, walk, sessions) if learned else SearchTerms()
    is_about = keywords.topic_matcher(walk.request.topic, db.tokens)
    walk.partial["skill"] = {}
    for id in learned:
        wordings = _wordings(db, id)
        removed = _lost_texts(wordings, wanted, {*sessions}, is_about)
        if not removed:
            continue
        proposals = db.rows(
            f"select id, {lineage.joined(*_WORDS)} from skill where target_id = ? and state <> 'accepted'", (id,)
        )
        erased |= {each for each, text in proposals if wanted.found_in(keywords.fold(text))}
        left = [each for each in wordings if each.accepted and each.text not in removed]
        if not left:
            erased.add(id)
            continue
        walk.add("skill_version", [each.row for each in wordings if each.row is not None and each.text in removed])
        newest = max(left, key=lambda each: (each.version, each.row or 0))
        walk.partial["skill"][id] = newest if wordings[-1].text in removed else None
    changing = "select id from skill where state <> 'accepted' and target_id {ids}"  # proposals to change these
    walk.add("skill", erased | {*lineage.column(db, changing, erased)})
    versions = "select id from skill_version where was is not null and skill_id {ids}"
    walk.add("skill_version", lineage.column(db, versions, walk["skill"]))
    reverted = [id for id, newest in walk.partial["skill"].items() if newest]
    walk.removed_texts["skill"] = lineage.texts(
        db, [f"select {', '.join(_WORDS)} from skill where id {{ids}}"], reverted
    )


def _erase(db: Database, walk: Walk, time: clock.Clock) -> None:
    """Delete skills, or revert them to an earlier wording."""
    skills.erase(db, walk["skill"])
    for id, newest in walk.partial["skill"].items():
        if newest:
            _revert(db, id, newest.row or 0, time)
    skills.drop_versions(db, walk["skill_version"], walk["session"])


SKILLS = Owner(_TABLES, _erase, _derive)


def describe_shortened(db: Database, walk: Walk) -> list[str]:
    """A sentence for each skill that stays and loses a wording, those that revert first."""
    found = sorted(walk.partial["skill"].items(), key=lambda each: each[1] is None)
    names: dict[int, str] = dict(lineage.rows(db, "select id, name from skill where id {ids}", walk.partial["skill"]))
    return [
        f"{ids.handle('skill', id)} {names[id]}: "
        + (f"goes back to version {newest.version}" if newest else "loses an earlier version")
        for id, newest in found
    ]


def _revert(db: Database, skill: int, row: int, time: clock.Clock) -> None:
    """Revert a skill to this row of skill_version, without recording the present wording.

    It is hidden when another skill has its former name by now. Runs in the caller's transaction.
    """
    was = json.loads(db.value("select was from skill_version where id = ?", (row,)))
    columns = {key: was[key] for key in ("name", "description", "text", "version", "origin", "trust", "session_id")}
    columns["files"] = was.get("files", "{}")
    now = clock.utc(time())
    taken = db.value(
        "select 1 from skill where owner = ? and name = ? and state = 'accepted' and hidden_at is null and id <> ?",
        (was["owner"], was["name"], skill),
    )
    skills.write(db, skill, **columns, changed_at=now, **({"hidden_at": now} if taken else {}))
    events.append(db, time, "skill forgotten", ids.handle("skill", skill), actor="person", content=was["text"])


def _wordings(db: Database, id: int) -> list[Wording]:
    """The wordings of a skill, the oldest first, the present one last."""
    content, was_content = "text || char(10) || " + _FILES, "(was ->> 'text') || char(10) || " + _WAS_FILES
    rows: list[tuple[Any, ...]] = db.rows(
        f"""select id, {was_content}, {lineage.joined(*_WAS)}, was ->> 'state', was ->> 'session_id', was ->> 'origin',
                   was ->> 'version'
            from skill_version where skill_id = ? and was is not null order by id""",
        (id,),
    )
    columns = f"{content}, {lineage.joined(*_WORDS)}, state, session_id, origin, version"
    rows += db.rows(f"select null, {columns} from skill where id = ?", (id,))
    return [
        Wording(row, text, words, state == "accepted", session, origin, version)
        for row, text, words, state, session, origin, version in rows
    ]


def _lost_texts(
    wordings: Sequence[Wording], wanted: SearchTerms, sessions: set[int], is_about: Callable[[str], bool]
) -> set[str]:
    """The texts about the topic, and those with erased words from the first one that was learned in the sessions.

    Texts from before that one have another source, and may have been restored since.
    """
    lost, before, learned = set[str](), set[str](), False
    for each in wordings:
        has_erased_words = bool(wanted.found_in(keywords.fold(each.words)))
        learned |= has_erased_words and each.origin == "model" and each.session in sessions
        if not learned:
            before.add(each.text)
        if (has_erased_words and learned and each.text not in before) or is_about(each.words):
            lost.add(each.text)
    return lost


def _distinctive_terms(db: Database, walk: Walk, sessions: Sequence[int]) -> SearchTerms:
    """The erased words and lines of messages that occur in no other message of their sessions."""
    erased_ids, cut = {*walk["message"]}, walk.partial["message"]
    rows = lineage.rows(db, "select id, text from message where session_id {ids} and text <> ''", sessions)
    calls = "select m.id, c.arguments from tool_call c join message m on m.id = c.message_id where m.session_id {ids}"
    rows += lineage.rows(db, calls, sessions)
    erased = [text for id, text in rows if id in erased_ids]
    erased += [sentence for message in cut.values() for sentence in message.removed.values()]
    remaining = [text for id, text in rows if id not in erased_ids and id not in cut]
    remaining += [message.left for message in cut.values()]
    words = set(keywords.distinctive_words(erased)) - set(keywords.distinctive_words(remaining))
    return SearchTerms(
        frozenset(set(keywords.line_ends(erased)) - set(keywords.line_ends(remaining))), frozenset(words)
    )
