"""Recall for a prompt: a few dated lines of memory beside each message, fenced; nothing when nothing is known.

Small models get worse with more than some 3,000 tokens of recalled text, so at most five items and 1,200 tokens are
shown, and of skills only the description: their steps are read by a tool. Files are searched separately and shown under
their own heading; they take part of the tokens, but never the place of another item. The model is told when the answer
is only perhaps among them, and when nothing is kept of what it was asked; beside small talk nothing is recalled.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_cli import clock, kinds, text
from agent_cli.agent import estimate
from agent_cli.kinds import MEMORY, SKILLS
from agent_cli.memory import tombstones
from agent_cli.memory.language import statements
from agent_cli.memory.search import recall_log, vectors
from agent_cli.store.db import Database
from agent_cli.tools.tool import ToolContext
from agent_cli.values import frozen

if TYPE_CHECKING:
    from agent_cli.memory.search.candidates import Filter
    from agent_cli.memory.search.recall import Hit, RecallResult
    from agent_cli.memory.skills.skill_matching import Match

ITEMS = 5
ITEMS_MAYBE = 3  # items when the verdict is "maybe"
TOKENS = 1200
VERDICTS = {"maybe": "Perhaps, none of it holds most of the question.", "nothing": "Nothing is kept of this in memory."}
_LONGEST = 900  # characters of one item
_AS_GOOD = 0.75  # coverage of a file shown beside what is known, as a share of that of the best other hit
_LONGEST_DESCRIPTION = 200  # characters of the description of a skill
FILES = 2  # items from files
_FILE_TOKENS = 400  # for files when other items are shown too


class EmbedOnce:
    """Embeds a question once, and returns the same vector from then on."""

    def __init__(self, embedder: vectors.QueryEmbedder):
        self._embedder, self._embedded = embedder, False
        self.match_words, self.knows_word = embedder.match_words, embedder.knows_word
        self.vector: list[float] | None = None

    def embed_query(self, question: str) -> list[float] | None:
        if not self._embedded:
            self._embedded, self.vector = True, self._embedder.embed_query(question)
        return self.vector


@frozen
class Selection:
    """What is shown beside a message: each memory with its line, and the verdict on all of memory."""

    used: tuple[tuple["Hit", str], ...] = ()
    verdict: str = ""  # known, maybe, nothing; empty: not judged
    damaged: Sequence[str] = ()  # names of damaged indexes


def recall_for_message(context: ToolContext, message: int, words: str, shown: Sequence[int]) -> Sequence[str]:
    """Recall memories for a message and record them; returns the names of damaged indexes.

    `shown`: numbers of the messages that the model sees anyway.
    """
    rounds = tombstones.erasure_count(context.remembered)
    selection = select(context, words, (*shown, message), logged=True)
    used = [(hit, line) for hit, line in selection.used if (hit.kind, hit.id) not in context.excluded]
    notice = VERDICTS.get(selection.verdict, "")
    if selection.verdict == "nothing" and not (
        statements.asks_what_was_told(words) and _is_unknown(context, message, words, shown)
    ):
        notice = ""
    if used or notice:
        with context.db.write():
            if tombstones.erasure_count(context.remembered) == rounds:  # else one of them may just have been erased
                recall_log.record(context.db, message, used, notice, context.time())
    return selection.damaged


def _is_unknown(context: ToolContext, message: int, words: str, shown: Sequence[int]) -> bool:
    """Whether the messages that the model sees anyway do not answer a question either."""
    if not shown or context.memory is not None:
        return not shown
    from agent_cli.memory.search import recall
    from agent_cli.memory.search.candidates import Filter

    allowed = Filter(context.scope.owner, ("message",), excluded_messages=(message,))
    found = recall.find(context.db, words, allowed, context.time(), ITEMS, logged=True)
    return found.verdict == "nothing" or not any(hit.id in shown for hit in found.hits)


def select(context: ToolContext, words: str, shown: Sequence[int], *, logged: bool) -> Selection:
    """The memories for a question. `logged`: it is in the log."""
    if statements.is_small_talk(words):
        return Selection()
    from agent_cli.memory.search import recall  # a tenth of what is loaded: not for small talk, nor before the prompt
    from agent_cli.memory.search.candidates import Filter
    from agent_cli.memory.skills import skill_matching

    separate_memory = context.memory is not None  # memory is another database, without this conversation
    has_skills = skill_matching.has_skills(context.remembered, context.scope.owner)
    headings = (MEMORY,) if has_skills else (MEMORY, SKILLS)  # skills of the person are matched separately
    wanted = tuple(kind.name for kind in kinds.SEARCHABLE if kind.heading in headings)
    allowed = Filter(
        context.scope.owner,
        wanted,
        excluded_messages=() if separate_memory else tuple(shown),
        current_place=context.scope.place,
        current_session=None if separate_memory else context.session,
    )
    embed_once = EmbedOnce(context.embedder) if context.embedder else None

    def find(filter: "Filter", limit: int, logged: bool = False) -> "RecallResult":
        now = context.time()
        return recall.find(context.remembered, words, filter, now, limit, embed_once, logged=logged, least=recall.LEAST)

    found = find(allowed, ITEMS, logged and not separate_memory)
    vector = embed_once.vector if embed_once else None
    skills = skill_matching.find(context.remembered, context.scope.owner, words, vector) if has_skills else []
    offered = [(_skill_hit(each, context), _skill_line(each)) for each in skills]
    room = TOKENS - _size(offered)
    of_files = find(replace(allowed, kinds=("section",)), FILES)
    files = _fit_files(of_files, room if found.verdict == "nothing" else min(room, _FILE_TOKENS), found)
    verdict = min((found.verdict, of_files.verdict), key=("known", "maybe", "nothing").index)
    others = _fit(found, room - _size(files))
    if not files:
        return Selection((*others, *offered), verdict, found.damaged)
    sources, replies = ([each for each in others if each[0].unsupported is wanted] for wanted in (False, True))
    if _coverage(of_files.hits) > _coverage([hit for hit, _ in sources]):
        sources, files = files, sources
    return Selection((*sources, *files, *replies, *offered), verdict, found.damaged)


def block(db: Database, message: int) -> str:
    """The recorded memories of a message as the model sees them, or an empty string."""
    texts_by_heading: dict[str, list[str]] = {}  # in the order of recall
    for each in recall_log.recalled_for(db, message):
        texts_by_heading.setdefault(kinds.BY_NAME[each.kind].heading, []).append(each.text)
    verdict = recall_log.verdict_for(db, message)
    block_lines = [line for heading, items in texts_by_heading.items() for line in (heading, *items)]
    block_lines = [verdict, *block_lines] if verdict else block_lines
    begin, end = text.FENCE
    return f"{begin} {text.unfenced(chr(10).join(block_lines))}\n{end}" if block_lines else ""


def _fit(found: "RecallResult", room: int) -> list[tuple["Hit", str]]:
    """The best hits that fit into `room` tokens, with their lines."""
    used: list[tuple[Hit, str]] = []
    telling = [hit for hit in found.hits if not hit.empty]
    for hit in telling[: {"known": ITEMS, "maybe": ITEMS_MAYBE}.get(found.verdict, 0)]:
        line = _hit_line(hit)
        room -= estimate.tokens(line)
        if room < 0:
            break
        used.append((hit, line))
    return used


def _fit_files(found: "RecallResult", room: int, others: "RecallResult") -> list[tuple["Hit", str]]:
    """The hits in files that fit into `room` tokens; only one that may answer, and that as well as the others."""
    used: list[tuple[Hit, str]] = []
    if found.verdict == "known":
        shown = found.hits
    elif found.verdict == "maybe" and (
        others.verdict != "known" or found.hits[0].coverage >= _AS_GOOD * _coverage(others.hits)
    ):
        shown = found.hits[:1]
    else:
        return used
    for hit in shown:
        line = f"- {hit.handle}, {text.unfenced(text.one_line(hit.file, 80))}: {text.unfenced(_words(hit))}"
        if _size([*used, (hit, line)]) > room:
            break
        used.append((hit, line))
    return used


def _coverage(hits: Iterable["Hit"]) -> float:
    """How much of the question the best hit that tells something holds."""
    return max((hit.coverage for hit in hits if not hit.empty), default=0.0)


def _size(hits: Sequence[tuple["Hit", str]]) -> int:
    return sum(estimate.tokens(line) for _, line in hits)


def _words(hit: "Hit") -> str:
    words = " ".join(hit.text.split())
    return words if len(words) <= _LONGEST else words[:_LONGEST] + " …"


def _hit_line(hit: "Hit") -> str:
    day = clock.from_timestamp(hit.at)
    label = f" {hit.label}" if hit.label else ""
    return f"- {hit.handle}, {day:%d %B %Y}{text.unfenced(label)}: {text.unfenced(_words(hit))}"


def _skill_line(skill: "Match") -> str:
    return f"- {skill.name}: {text.unfenced(text.one_line(skill.description, _LONGEST_DESCRIPTION))}"


def _skill_hit(skill: "Match", context: ToolContext) -> "Hit":
    from agent_cli.memory.search.recall import Hit

    at = context.time().timestamp()
    return Hit("skill", skill.id, None, None, at, skill.score, skill.description, skill.legs)
