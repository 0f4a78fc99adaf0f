"""What memory adds to a question: once for each message, a few dated lines, fenced, and nothing when nothing is known.

Small models drown: above some 3,000 tokens of recalled text they get worse. So at most five items and 1,200 tokens, and
of skills only what they are for: the steps are read when they are wanted. Files are looked through by themselves and
told under a heading of their own: however many there are, they take the place of nothing that was said, but for a part
of the tokens.
"""

from collections.abc import Sequence
from dataclasses import replace

from agent_cli import clock, kinds, text
from agent_cli.agent import estimate
from agent_cli.kinds import MEMORY, SKILLS
from agent_cli.memory import tombstones
from agent_cli.memory.search import recall, recall_log
from agent_cli.memory.search.candidates import Filter
from agent_cli.memory.search.recall import Hit
from agent_cli.memory.skills import skill_matching
from agent_cli.memory.skills.skill_matching import Match
from agent_cli.store.db import Database
from agent_cli.tools.tool import ToolContext

ITEMS = 5
UNSURE = 3  # items when it may be that none of them answers
TOKENS = 1200
_LONGEST = 900  # characters of one item
_UNSURE = (("maybe", "maybe"), ("maybe", "nothing"))  # verdicts on files and on all else with which one file is told
_DESCRIBED = 200  # of what a skill is for
FILES = 2  # items of files, and
_FILE_TOKENS = 400  # what they may take where something else is found too


class _Remembered:
    """Makes the vector of a question once, and keeps it for whoever asks next."""

    def __init__(self, meaning: recall.EmbedQuery):
        self._meaning, self._asked = meaning, False
        self.vector: list[float] | None = None

    def __call__(self, question: str) -> list[float] | None:
        if not self._asked:
            self._asked, self.vector = True, self._meaning(question)
        return self.vector


def recollect(here: ToolContext, message: int, words: str, shown: Sequence[int]) -> Sequence[str]:
    """Recall for a message and write it down; returns which indexes are damaged.

    `shown`: messages the model sees anyway.
    """
    rounds = tombstones.rounds(here.remembered)
    used, damaged = chosen(here, words, (*shown, message), logged=True)
    used = [(hit, line) for hit, line in used if (hit.kind, hit.id) not in here.excluded]
    if used:
        with here.db.write():
            if tombstones.rounds(here.remembered) == rounds:  # else some of it may just have been erased
                recall_log.record(here.db, message, used, here.time())
    return damaged


def chosen(
    here: ToolContext, words: str, shown: Sequence[int], *, logged: bool
) -> tuple[list[tuple[Hit, str]], Sequence[str]]:
    """What fits a question, each with its line, and which indexes are damaged. `logged`: it stands in the log."""
    apart = here.memory is not None  # then memory has never heard of this conversation
    skilled = skill_matching.there(here.remembered, here.scope.owner)
    headings = (MEMORY,) if skilled else (MEMORY, SKILLS)  # skills that are there are offered by themselves
    wanted = tuple(kind.name for kind in kinds.SEARCHABLE if kind.heading in headings)
    allowed = Filter(
        here.scope.owner,
        wanted,
        excluded_messages=() if apart else tuple(shown),
        current_place=here.scope.place,
        current_session=None if apart else here.session,
    )
    meaning = _Remembered(here.embed) if here.embed else None
    found = recall.find(here.remembered, words, allowed, here.time(), ITEMS, meaning, logged=logged and not apart)
    vector = meaning.vector if meaning else None
    skills = skill_matching.matching(here.remembered, here.scope.owner, words, vector) if skilled else []
    offered = [(_hit(each, here), _offer(each)) for each in skills]
    room = TOKENS - _size(offered)
    of_files = recall.find(here.remembered, words, replace(allowed, kinds=("section",)), here.time(), FILES, meaning)
    files = _of_files(of_files, room if found.verdict == "nothing" else min(room, _FILE_TOKENS), found.verdict)
    return [*_fitting(found, room - _size(files)), *files, *offered], found.damaged


def block(db: Database, message: int) -> str:
    """What the model is shown beside a message, or an empty string."""
    told: dict[str, list[str]] = {}  # by heading, in the order in which they were recalled
    for each in recall_log.recalled_for(db, message):
        told.setdefault(kinds.BY_NAME[each.kind].heading, []).append(each.text)
    lines = [line for heading, items in told.items() for line in (heading, *items)]
    return "[[ " + "\n".join([*lines, "]]"]) if lines else ""


def _fitting(found: recall.RecallResult, room: int) -> list[tuple[Hit, str]]:
    """The best of what was found, with their lines."""
    used: list[tuple[Hit, str]] = []
    for hit in found.hits[: {"known": ITEMS, "maybe": UNSURE}.get(found.verdict, 0)]:
        line = _line(hit)
        room -= estimate.tokens(line)
        if room < 0:
            break
        used.append((hit, line))
    return used


def _of_files(found: recall.RecallResult, room: int, said: str) -> list[tuple[Hit, str]]:
    """What stands in files; where something that was said is known, only what is known too."""
    used: list[tuple[Hit, str]] = []
    for hit in found.hits if found.verdict == "known" or (found.verdict, said) in _UNSURE else ():
        line = f"- {hit.handle}, {text.unfenced(text.one_line(hit.file, 80))}: {text.unfenced(_words(hit))}"
        if _size([*used, (hit, line)]) > room:
            break
        used.append((hit, line))
    return used if found.verdict == "known" else used[:1]


def _size(lines: Sequence[tuple[Hit, str]]) -> int:
    return sum(estimate.tokens(line) for _, line in lines)


def _words(hit: Hit) -> str:
    words = " ".join(hit.text.split())
    return words if len(words) <= _LONGEST else words[:_LONGEST] + " …"


def _line(hit: Hit) -> str:
    day = clock.from_timestamp(hit.at)
    label = f" {hit.label}" if hit.label else ""
    return f"- {hit.handle}, {day:%d %B %Y}{text.unfenced(label)}: {text.unfenced(_words(hit))}"


def _offer(skill: Match) -> str:
    return f"- {skill.name}: {text.unfenced(text.one_line(skill.description, _DESCRIBED))}"


def _hit(skill: Match, here: ToolContext) -> Hit:
    at = here.time().timestamp()
    return Hit("skill", skill.id, None, None, at, skill.score, skill.description, skill.legs)
