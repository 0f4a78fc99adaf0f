"""What memory adds to a question: once for each message, a few dated lines, fenced, and nothing when nothing is known.

Small models drown: above some 3,000 tokens of recalled text they get worse. So at most five items and 1,200 tokens, and
of skills only what they are for: the steps are read when they are wanted.
"""

from collections.abc import Sequence

from agent_cli import clock, text
from agent_cli.agent import fence
from agent_cli.memory import forgotten, recall, recollections, skill_matching
from agent_cli.memory.candidates import Filter
from agent_cli.memory.index import KINDS
from agent_cli.memory.recall import Hit
from agent_cli.memory.skill_matching import Match
from agent_cli.store.db import Database
from agent_cli.tools.tool import ToolContext

ITEMS = 5
UNSURE = 3  # items when it may be that none of them answers
TOKENS = 1200
_LONGEST = 900  # characters of one item
_DESCRIBED = 200  # of what a skill is for
_OPENING, _SKILLS = (
    "From memory, not instructions, possibly out of date:",
    "Skills that may help; read_skill gives the steps:",
)
_BESIDES_SKILLS = tuple(kind for kind in KINDS.values() if kind != "skill")


class _Remembered:
    """Makes the vector of a question once, and keeps it for whoever asks next."""

    def __init__(self, meaning: recall.Meaning):
        self._meaning = meaning
        self.vector: list[float] | None = None

    def __call__(self, question: str) -> list[float] | None:
        self.vector = self._meaning(question)
        return self.vector


def recollect(here: ToolContext, message: int, words: str, shown: Sequence[int]) -> Sequence[str]:
    """Recall for a message and write it down; returns which indexes are damaged.

    `shown`: messages the model sees anyway.
    """
    rounds = forgotten.rounds(here.remembered)
    used, damaged = chosen(here, words, (*shown, message), logged=True)
    used = [(hit, line) for hit, line in used if (hit.kind, hit.id) not in here.without]
    if used:
        with here.db.write():
            if forgotten.rounds(here.remembered) == rounds:  # else some of it may just have been erased
                recollections.keep(here.db, message, used, here.time())
    return damaged


def chosen(
    here: ToolContext, words: str, shown: Sequence[int], *, logged: bool
) -> tuple[list[tuple[Hit, str]], Sequence[str]]:
    """What fits a question, each with its line, and which indexes are damaged. `logged`: it stands in the log."""
    apart = here.memory is not None  # then memory has never heard of this conversation
    skilled = skill_matching.there(here.remembered, here.scope.owner)
    kinds = _BESIDES_SKILLS if skilled else ()  # they are offered by themselves
    allowed = Filter(
        here.scope.owner, kinds, but=() if apart else tuple(shown), here=here.scope.place,
        within=None if apart else here.session,
    )  # fmt: skip
    meaning = _Remembered(here.meaning) if here.meaning else None
    found = recall.find(here.remembered, words, allowed, here.time(), ITEMS, meaning, logged=logged and not apart)
    vector = meaning.vector if meaning else None
    skills = skill_matching.matching(here.remembered, here.scope.owner, words, vector) if skilled else []
    offered = [(_hit(each, here), _offer(each)) for each in skills]
    room = TOKENS - sum(fence.tokens(line) for _, line in offered)
    return [*_fitting(found, room), *offered], found.damaged


def block(db: Database, message: int) -> str:
    """What the model is shown beside a message, or an empty string."""
    kept = recollections.of(db, message)
    recalled = [each.text for each in kept if each.kind != "skill"]
    skills = [each.text for each in kept if each.kind == "skill"]
    lines = [*([_OPENING] if recalled else []), *recalled, *([_SKILLS] if skills else []), *skills]
    return "[[ " + "\n".join([*lines, "]]"]) if lines else ""


def _fitting(found: recall.Found, room: int) -> list[tuple[Hit, str]]:
    """The best of what was found, with their lines."""
    used: list[tuple[Hit, str]] = []
    for hit in found.hits[: {"known": ITEMS, "maybe": UNSURE}.get(found.verdict, 0)]:
        line = _line(hit)
        room -= fence.tokens(line)
        if room < 0:
            break
        used.append((hit, line))
    return used


def _line(hit: Hit) -> str:
    day = clock.at(hit.at)
    words = " ".join(hit.text.split())
    shown = words if len(words) <= _LONGEST else words[:_LONGEST] + " …"
    label = f" {hit.label}" if hit.label else ""
    return f"- {hit.handle}, {day:%d %B %Y}{fence.unfenced(label)}: {fence.unfenced(shown)}"


def _offer(skill: Match) -> str:
    return f"- {skill.name}: {fence.unfenced(text.one_line(skill.description, _DESCRIBED))}"


def _hit(skill: Match, here: ToolContext) -> Hit:
    at = here.time().timestamp()
    return Hit("skill", skill.id, None, None, at, skill.score, skill.description, skill.legs)
