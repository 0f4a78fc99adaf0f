"""Recall for a prompt: dated lines of memory beside each message, fenced; nothing when nothing is known.

Small models get worse with more than some 3,000 tokens of recalled text, so the lines have a budget of tokens: of long
texts the sentences that answer are shown, and of skills only the description. Beside a request for advice stand the
preferences that are nearest to it, however their words differ. Files are searched separately and never take the place
of another item. The model is told when the answer is only perhaps among the lines, and when nothing is kept of what it
was asked. Beside a message that names a skill, as in "/deploy-site to staging", stand its steps.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from agent_cli import clock, kinds, text
from agent_cli.agent import profile
from agent_cli.kinds import CALLED_SKILL, MEMORY, PREFERENCES
from agent_cli.memory import tombstones
from agent_cli.memory.facts import facts
from agent_cli.memory.language import statements, terms
from agent_cli.memory.search import recall_log, vectors
from agent_cli.store.db import Database
from agent_cli.tools.tool import ToolContext
from agent_cli.values import frozen

if TYPE_CHECKING:
    from agent_cli.memory.search.candidates import Filter
    from agent_cli.memory.search.recall import Hit, RecallResult

ITEMS = 12
ITEMS_FOR_ADVICE = 24  # preferences beside a request for advice
PREFERENCE_SHARE = 0.6  # of the tokens, where something else was found too
LEAST_CERTAIN = -4.0  # log-odds of an item
BESIDE_PROFILE = "Nothing more is kept of this in memory than what stands above."
VERDICTS = {"maybe": "Perhaps, none of it holds most of the question.", "nothing": "Nothing is kept of this in memory."}
_LONGEST, _LONGEST_FIRST = 400, 800  # characters of an item, and of the best
_LONGEST_OF_FILE = 900
_AS_GOOD = 0.75  # coverage of a file shown beside what is known, as a share of that of the best other hit
_LONGEST_DESCRIPTION = 200  # characters of the description of a skill
_SPEAKERS = {"user": "person", "assistant": "assistant"}
FILES = 2  # items from files
_FILE_TOKENS = 400  # for files when other items are shown too
_SKILL_CALL = text.Pattern(r"\s*/([a-z0-9-]+)(?=\s|\Z)")


class EmbedOnce:
    """Embeds a question once, and returns the same vector from then on."""

    def __init__(self, embedder: vectors.QueryEmbedder):
        self.embed_query = cache(embedder.embed_query)
        self.match_words, self.knows_word = embedder.match_words, embedder.knows_word


Shown = tuple["Hit", str]
"""A memory and its line."""


@frozen
class Selection:
    """What is shown beside a message: each memory with its line, and the verdict on all of memory."""

    used: tuple[Shown, ...] = ()
    verdict: str = ""  # known, maybe, nothing; empty: not judged
    damaged: Sequence[str] = ()  # names of damaged indexes


def recall_for_message(
    context: ToolContext, message: int, words: str, shown: Sequence[int], in_profile: Collection[int] = ()
) -> Sequence[str]:
    """Recall and record memories for a message; returns the damaged indexes. `shown`: messages that are seen anyway."""
    rounds = tombstones.erasure_count(context.remembered)
    used, notice, damaged = _recalled(context, message, words, shown, in_profile)
    if used or notice:
        with context.db.write():
            if tombstones.erasure_count(context.remembered) == rounds:  # else one of them may just have been erased
                recall_log.record(context.db, message, used, notice, context.time())
    return damaged


def for_program(context: ToolContext, words: str, shown: Sequence[int] = ()) -> str:
    """What another program is given for a question: the block that a session would show. Nothing of it is recorded."""
    used, notice, _ = _recalled(context, 0, words, shown, ())
    rows = [recall_log.RecalledRow(hit.kind, hit.id, hit.score, dict(hit.legs), line) for hit, line in used]
    return _format(rows, notice)


def _recalled(
    context: ToolContext, message: int, words: str, shown: Sequence[int], in_profile: Collection[int]
) -> tuple[Sequence[Shown], str, Sequence[str]]:
    """The memories for a message, what the model is told of the verdict, and the damaged indexes."""
    selection = select(context, words, (*shown, message), in_profile, logged=message > 0)
    called = _called_skill(context, words)
    left_out = {*context.excluded, *((hit.kind, hit.id) for hit, _ in called)}
    used = [*called, *((hit, line) for hit, line in selection.used if (hit.kind, hit.id) not in left_out)]
    notice = "" if called else VERDICTS.get(selection.verdict, "")
    if notice and selection.verdict == "nothing":
        unknown = statements.asks_what_was_told(words) and _is_unknown(context, message, words, shown)
        notice = (BESIDE_PROFILE if in_profile else notice) if unknown else ""
    return used, notice, selection.damaged


def _is_unknown(context: ToolContext, message: int, words: str, shown: Sequence[int]) -> bool:
    """Whether the messages that the model sees anyway do not answer a question either."""
    if not shown or context.memory is not None:
        return not shown
    from agent_cli.memory.search import recall
    from agent_cli.memory.search.candidates import Filter

    allowed = Filter(context.scope.owner, ("message",), excluded_messages=(message,))
    found = recall.find(context.db, words, allowed, context.time(), ITEMS, logged=True)
    return not found.likely or not any(hit.id in shown for hit in found.hits)


def select(
    context: ToolContext, words: str, shown: Sequence[int], in_profile: Collection[int] = (), *, logged: bool
) -> Selection:
    """The memories for a question. `logged`: it is in the log."""
    if statements.is_small_talk(words) or context.recall_tokens <= 0:
        return Selection()
    from agent_cli.memory.search import recall  # a tenth of what is loaded: not for small talk, nor before the prompt
    from agent_cli.memory.search.candidates import Filter
    from agent_cli.memory.skills import skills

    memory, owner = context.remembered, context.scope.owner
    is_separate = context.memory is not None  # memory is another database, without this conversation
    allowed = Filter(
        owner,
        tuple(kind.name for kind in kinds.SEARCHABLE if kind.heading == MEMORY),  # skills are matched separately
        excluded_messages=() if is_separate else tuple(shown),
        current_place=context.scope.place,
        current_session=None if is_separate else context.session,
        fact_half_life=context.fact_half_life,
    )
    in_files = replace(allowed, kinds=("section",))
    embed_once = EmbedOnce(context.embedder) if context.embedder else None

    def find(filter: "Filter", limit: int, logged: bool = False) -> "RecallResult":
        return recall.find(memory, words, filter, context.time(), limit, embed_once, logged=logged, least=recall.LEAST)

    found = find(allowed, ITEMS, logged and not is_separate)
    offered: list[Shown] = []
    vector, now = embed_once.embed_query(words) if embed_once else None, context.time().timestamp()
    for each in skills.matching(memory, owner, words, vector):
        about = text.unfenced(text.one_line(each.description, _LONGEST_DESCRIPTION))
        hit = recall.Hit("skill", each.id, None, None, now, each.score, each.description, each.legs)
        offered.append((hit, f"- {each.name}: {about}"))
    room = context.recall_tokens - _size(offered)
    of_files = find(in_files, FILES)
    if (sections := [hit.id for hit in of_files.hits]) and not is_separate:
        from agent_cli.memory.documents import documents  # as much again

        if documents.refresh(context.db, owner, sections, context.time):
            of_files = find(in_files, FILES)
    files = _fit_files(of_files, min(room, _FILE_TOKENS) if found.likely else room, found)
    room -= _size(files)
    wishes: list[Shown] = []
    if embed_once and statements.asks_for_advice(words):
        near = recall.preferences(memory, words, allowed, context.time(), ITEMS_FOR_ADVICE, embed_once)
        known = facts.many(memory, [hit.id for hit in near if hit.kind == "fact"], owner)
        left_out = {each.id for each in known if each.place not in ("", context.scope.place) or profile.instructs(each)}
        left_out.update(in_profile)
        lines = [(hit, _line(hit)) for hit in near if hit.kind != "fact" or hit.id not in left_out]
        wishes = _fit(lines, int(room * PREFERENCE_SHARE) if found.likely else room)
    as_wishes = {(hit.kind, hit.id) for hit, _ in wishes}
    others_found = [hit for hit in found.hits if (hit.kind, hit.id) not in as_wishes] if found.likely else []
    best = [hit for hit in others_found if not hit.empty and hit.certainty >= LEAST_CERTAIN][:ITEMS]
    lines = [(hit, _line(hit, words, _LONGEST if n else _LONGEST_FIRST)) for n, hit in enumerate(best)]
    others = _fit(lines, room - _size(wishes), in_profile)
    verdict = of_files.verdict if files else "nothing"
    if found.likely:
        verdict = found.verdict if found.verdict == "known" else "maybe"
    if not files:
        return Selection((*others, *wishes, *offered), verdict, found.damaged)
    sources, replies = ([each for each in others if each[0].unsupported is wanted] for wanted in (False, True))
    if _coverage(of_files.hits) > _coverage([hit for hit, _ in sources]):
        sources, files = files, sources
    return Selection((*sources, *files, *replies, *wishes, *offered), verdict, found.damaged)


def block(db: Database, message: int, in_profile: Collection[int] = ()) -> str:
    """The recorded memories of a message as the model sees them, but the facts in the profile; or an empty string."""
    recorded = recall_log.recalled_for(db, message)
    rows = [each for each in recorded if each.kind != "fact" or each.row not in in_profile]
    return _format(rows, recall_log.verdict_for(db, message))


def _format(rows: Sequence[recall_log.RecalledRow], verdict: str) -> str:
    texts_by_heading: dict[str, list[str]] = {}  # in the order of recall
    for each in rows:
        heading = PREFERENCES if "preference" in each.legs else kinds.BY_NAME[each.kind].heading
        heading = CALLED_SKILL if "called" in each.legs else heading
        texts_by_heading.setdefault(heading, []).append(each.text)
    block_lines = [line for heading, items in texts_by_heading.items() for line in (heading, *items)]
    if verdict and (block_lines or verdict != VERDICTS["maybe"]):
        block_lines = [verdict, *block_lines]
    return text.fenced_lines(block_lines) if block_lines else ""


def _fit(lines: Iterable[Shown], room: int, in_profile: Collection[int] = ()) -> list[Shown]:
    """The first that fit into so many tokens together. `in_profile`: facts that the profile shows, which take none."""
    used: list[Shown] = []
    for hit, line in lines:
        room -= 0 if hit.kind == "fact" and hit.id in in_profile else text.tokens(line)
        if room < 0:
            break
        used.append((hit, line))
    return used


def _fit_files(found: "RecallResult", room: int, others: "RecallResult") -> list[Shown]:
    """The hits in files that fit into `room` tokens; only one that may answer, and that as well as the others."""
    hits = found.hits if found.verdict == "known" else found.hits[:1] if found.verdict == "maybe" else ()
    if hits and found.verdict != "known" and others.verdict == "known":
        hits = hits if hits[0].coverage >= _AS_GOOD * _coverage(others.hits) else ()
    named = [f"{text.one_line(hit.file, 80)}: {text.one_line(hit.text, _LONGEST_OF_FILE)}" for hit in hits]
    return _fit([(hit, f"- {hit.handle}, {text.unfenced(line)}") for hit, line in zip(hits, named, strict=True)], room)


def _coverage(hits: Iterable["Hit"]) -> float:
    """How much of the question the best hit that tells something holds."""
    return max((hit.coverage for hit in hits if not hit.empty), default=0.0)


def _size(shown: Sequence[Shown]) -> int:
    return sum(text.tokens(line) for _, line in shown)


def excerpt(words: str, question: str, limit: int) -> str:
    """A text on one line; of a longer one the sentences that hold most of the question's words, in their order."""
    flat = " ".join(words.split())
    if len(flat) <= limit:
        return flat

    def beginnings_of(words: str) -> set[str]:
        return {word[: terms.BEGINNING] for word in terms.content_words(words) if not terms.only_asks(word)}

    asked = beginnings_of(question)
    pieces = [each for line in words.split("\n") for each in text.sentences(line)]
    held = [len(asked & beginnings_of(each)) for each in pieces]
    chosen, room = list[int](), limit
    for number in sorted(range(len(pieces)), key=lambda number: (-held[number], number)):
        if not chosen or (len(pieces[number]) <= room and held[number]):
            chosen.append(number)
            room -= len(pieces[number])
    shown = [text.one_line(piece, limit) if n in chosen else "…" for n, piece in enumerate(pieces)]
    return " ".join(words for words, before in zip(shown, ["", *shown], strict=False) if (words, before) != ("…", "…"))


def _line(hit: "Hit", question: str = "", longest: int = 0) -> str:
    """A line with the date, and of a message who said it; without a question what it tells of limits and likings."""
    by = hit.author or _SPEAKERS.get(hit.role, "")
    about = f"{f', {by}' if by else ''}{f' {hit.label}' if hit.label else ''}"
    if question:
        about += f", after “{text.one_line(hit.before, 100)}”" if hit.before else ""
        words = excerpt(hit.text, question, longest)
    else:
        stated = " ".join(statements.preferences(hit.text)) if hit.kind == "message" else hit.text
        words = text.one_line(stated, _LONGEST)
    return f"- {hit.handle}, {clock.from_timestamp(hit.at):%d %B %Y}{text.unfenced(f'{about}: {words}')}"


def _called_skill(context: ToolContext, words: str) -> list[Shown]:
    if not (name := _SKILL_CALL.match(words)):
        return []
    from agent_cli.memory.search.recall import Hit
    from agent_cli.memory.skills import skills
    from agent_cli.tools import memory_tools

    skill = skills.called(context.remembered, context.scope.owner, name[1])
    if skill is None:
        return []
    hit = Hit("skill", skill.id, None, None, context.time().timestamp(), 1.0, skill.description, {"called": 1.0})
    return [(hit, text.unfenced(memory_tools.format_steps(skill)))]
