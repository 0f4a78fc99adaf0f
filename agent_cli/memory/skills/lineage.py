"""Erasure of skills: what they lose with the messages they were learned from.

A proposal is erased with the session it was learned in. An accepted skill loses only the wordings that a model wrote in
that session and that contain distinctive words of the erased messages, and later wordings that still contain them. The
skill then reverts to its newest remaining wording.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from agent_cli import clock
from agent_cli.memory import lineage
from agent_cli.memory.language import keywords
from agent_cli.memory.language.keywords import SearchTerms
from agent_cli.memory.lineage import Owner, Table, Walk
from agent_cli.memory.proposals import ACCEPTED
from agent_cli.memory.skills import skills
from agent_cli.store import events, ids
from agent_cli.store.db import Database

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


Wording = Mapping[str, Any]
"""The columns of a skill as it is or was before a change. `row`: of skill_version; None for the present wording."""


def _derive(db: Database, walk: Walk) -> None:
    """Find what is erased of the skills learned in sessions that lose messages, and of those that mention the topic."""
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
        lost = _lost(wordings, wanted, {*sessions}, is_about)
        if not lost:
            continue
        changing = f"select id, {lineage.joined(*_WORDS)} from skill where target_id = ? and state <> 'accepted'"
        erased |= {each for each, words in db.rows(changing, (id,)) if wanted.found_in(keywords.fold(words))}
        left = [each for each in wordings if each["state"] == ACCEPTED and _content(each) not in lost]
        if not left:
            erased.add(id)
            continue
        walk.add("skill_version", [each["row"] for each in wordings if each["row"] and _content(each) in lost])
        newest = max(left, key=lambda each: (each["version"], each["row"] or 0))
        walk.partial["skill"][id] = newest if _content(wordings[-1]) in lost else None
    changing = "select id from skill where state <> 'accepted' and target_id {ids}"  # proposals to change these
    walk.add("skill", erased | {*lineage.column(db, changing, erased)})
    versions = "select id from skill_version where was is not null and skill_id {ids}"
    walk.add("skill_version", lineage.column(db, versions, walk["skill"]))
    reverted = [id for id, newest in walk.partial["skill"].items() if newest]
    words = f"select {', '.join(_WORDS)} from skill where id {{ids}}"
    walk.removed_texts["skill"] = lineage.texts(db, [words], reverted)


def _erase(db: Database, walk: Walk, time: clock.Clock) -> None:
    """Delete skills, or revert them to an earlier wording."""
    skills.erase(db, walk["skill"])
    for id, newest in walk.partial["skill"].items():
        if newest:
            _revert(db, id, newest, time)
    skills.drop_versions(db, walk["skill_version"], walk["session"])


SKILLS = Owner(_TABLES, _erase, _derive)


def describe_shortened(db: Database, walk: Walk) -> list[str]:
    """A sentence for each skill that stays and loses a wording, those that revert first."""
    found = sorted(walk.partial["skill"].items(), key=lambda each: each[1] is None)
    names: dict[int, str] = dict(lineage.rows(db, "select id, name from skill where id {ids}", walk.partial["skill"]))
    return [
        f"{ids.handle('skill', id)} {names[id]}: "
        + (f"goes back to version {newest['version']}" if newest else "loses an earlier version")
        for id, newest in found
    ]


def _revert(db: Database, skill: int, was: Wording, time: clock.Clock) -> None:
    """Revert a skill to a former wording without a record; it is hidden where another has that name by now."""
    columns = ("name", "description", "text", "files", "version", "origin", "trust", "session_id")
    now, other = clock.utc(time()), skills.called(db, was["owner"], was["name"])
    hidden = {"hidden_at": now} if other and other.id != skill else {}
    skills.write(db, skill, **{key: was[key] for key in columns}, changed_at=now, **hidden)
    events.append(db, time, "skill forgotten", ids.handle("skill", skill), actor="person", content=was["text"])


def _wordings(db: Database, id: int) -> list[Wording]:
    """The wordings of a skill, the oldest first, the present one last."""
    rows = db.rows("select id, was from skill_version where skill_id = ? and was is not null order by id", (id,))
    former = [{"files": "{}", **json.loads(was), "row": row} for row, was in rows]
    return [*former, *({**asdict(each), "row": None} for each in skills.SKILLS.select(db, "id = ?", (id,)))]


def _content(wording: Wording) -> tuple[str, str]:
    return wording["text"], wording["files"]


def _lost(
    wordings: Sequence[Wording], wanted: SearchTerms, sessions: set[int], is_about: Callable[[str], bool]
) -> set[tuple[str, str]]:
    """The contents about the topic, and those with erased words from the first one on that the sessions taught."""
    lost, before, learned = set[tuple[str, str]](), set[tuple[str, str]](), False
    for each in wordings:
        words = "\n".join((each["name"], each["description"], each["text"], *skills.file_texts(each["files"]).values()))
        has_erased_words = bool(wanted.found_in(keywords.fold(words)))
        learned |= has_erased_words and each["origin"] == "model" and each["session_id"] in sessions
        if not learned:
            before.add(_content(each))
        if (has_erased_words and learned and _content(each) not in before) or is_about(words):
            lost.add(_content(each))
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
    lines, words = (
        frozenset({*terms(erased)} - {*terms(remaining)}) for terms in (keywords.line_ends, keywords.distinctive_words)
    )
    return SearchTerms(lines, words)
