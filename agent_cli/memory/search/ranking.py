"""Scores passages against a question, judges whether the answer is known, and selects what is shown: pure arithmetic.

Each signal ("leg") is divided by its best score and the legs are added; ranks are not fused, because that amplifies the
noise of the weaker leg. All weights were measured on long conversations (turn-level recall); benchmarks/README.md has
the figures.

The word leg is BM25 over the passage's own words and, with smaller weights, the passages before and after it, its
author and date, and the facts taken from it.

Messages that tell nothing (questions, empty replies, small talk, replies that repeat a source) never make a question
known and take at most one place. The best fact, note and file each have a place when they are good enough, and what is
said twice is shown once.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent_cli.memory.language import languages, statements, terms
from agent_cli.memory.search import named_entities
from agent_cli.text import Pattern
from agent_cli.values import frozen

K1, B = 1.2, 0.3
OWN, BEFORE, BEFORE_THAT, AFTER, AUTHOR, DATE, FACTS = 1.0, 0.6, 0.2, 0.4, 2.0, 0.5, 1.0
SESSION, VECTOR, SPEAKER, QUESTION, MOMENT, TIME, ENTITY = 0.3, 0.3, 0.4, 0.2, 0.1, 0.3, 0.2
MINE = 0.6  # for the person's own words, when the question is in the first person
REPLY = 0.35  # share of its score that a reply of the assistant loses beside what people said
EMPTY = 0.75  # share of its score that a message loses when it tells nothing
OUTDATED = 0.5  # share of its score that a message loses when its facts are no longer true
HALF_LIFE = 30.0  # days
FLOOR = 0.8  # without one, R@10 fell from 70 to 39 per cent
KNOWN, MAYBE = 0.68, 0.35  # coverage from which a question counts as known, or perhaps
KNOWN_BY_MEANING = 0.75  # the same for known, of coverage and closeness together, where there are vectors
_VERDICTS = ("known", "maybe", "nothing")
_FILES = 0.9  # weight of the best file beside an equally good message
_KEPT = "fnd"  # kinds whose best hit has a place: facts, notes and files

_TIME_WORDS = Pattern(rf"\b{languages.alternatives('TIME_WORDS')}\b", re.IGNORECASE)
_WHEN_QUESTION = Pattern(rf"\s*{languages.alternatives('WHEN_QUESTION')}\b", re.IGNORECASE)
_SENTENCE = Pattern(r"(?<=[.!?…。！？])\s*")


@dataclass(eq=False, repr=False)
class CandidateRow:
    """A passage and its context, each as counts of the question's words."""

    id: int
    session: int | None
    length: int  # characters
    age: float  # days
    text: str
    author: str
    own_words: Mapping[str, int]
    before: Mapping[str, int] = field(default_factory=dict)
    before_that: Mapping[str, int] = field(default_factory=dict)
    after: Mapping[str, int] = field(default_factory=dict)
    by: Mapping[str, int] = field(default_factory=dict)
    date: Mapping[str, int] = field(default_factory=dict)
    facts: Mapping[str, int] = field(default_factory=dict)
    cosine: float = 0.0
    timely: bool = False  # within the time range that the question names
    kind: str = "m"  # letter of its kind
    row: int = 0  # id of its row
    at: int = 0  # seconds since 1970
    place: str = ""  # where a fact holds, when that is another place
    named: float = 0.0  # weight of a fact about an entity that the question names
    ended: float | None = None  # when its facts ceased to be true, in seconds since 1970
    partly: bool = False  # whether only some of its facts did
    begins: float | None = None  # of a fact that is planned: from when it is true
    ends: float | None = None  # of a fact that ends in the future: until when
    role: str = ""  # of a message: user, or assistant when that is no other person
    empty: str = ""  # why it tells nothing: a question, small talk, an empty reply, or a repetition of another row
    withdrawn: bool = False  # a reply whose source was deleted

    frequencies: dict[str, float] = field(init=False)  # of each word, weighted by where it is

    def __post_init__(self) -> None:
        total: dict[str, float] = {}
        for weight, counts in (
            (OWN, self.own_words),
            (BEFORE, self.before),
            (BEFORE_THAT, self.before_that),
            (AFTER, self.after),
            (AUTHOR, self.by),
            (DATE, self.date),
            (FACTS, self.facts),
        ):
            if counts:  # most are empty
                for term, count in counts.items():
                    total[term] = total.get(term, 0.0) + weight * count
        self.frequencies = total


@frozen
class Scored:
    row: CandidateRow
    score: float
    legs: Mapping[str, float]  # adds up to score
    coverage: float
    closeness: float = 0.0  # its cosine to the question, above the floor of unrelated texts
    relevance: float = 0.0  # the part of its score that is not owed to who said it


def idf(rows: int, found: int) -> float:
    """log(1 + (N - n + 1/2) / (n + 1/2)), never below zero."""
    return math.log(1 + max(0.0, rows - found + 0.5) / (found + 0.5))


def bm25(row: CandidateRow, idfs: Mapping[str, float], average: float) -> float:
    """BM25 of a row and its context."""
    norm = K1 * (1 - B + B * row.length / max(1.0, average))
    return sum([idfs[term] * tf * (K1 + 1) / (tf + norm) for term, tf in row.frequencies.items()])


def coverage(row: CandidateRow, idfs: Mapping[str, float]) -> float:
    """The share of the question's words in the row, weighted by idf; a reply does not hold those of its question."""
    held: Iterable[str] = row.frequencies
    if row.role == "assistant":
        held = {*row.own_words, *row.by, *row.date, *row.facts}
    return sum([idfs[term] for term in held]) / (sum(idfs.values()) or 1.0)


def score(
    query: str,
    rows: Sequence[CandidateRow],
    idfs: Mapping[str, float],
    average: float,
    sessions: Mapping[int, float],
    named_authors: frozenset[str],
    floor: float,
    weight: float = VECTOR,
) -> list[Scored]:
    """Score rows, best first. `sessions`: the sum of each one's best word hits; `named`: authors the question names."""
    mine = statements.is_in_first_person(query)
    words = [bm25(row, idfs, average) for row in rows]
    best_words = max(words, default=0.0) or 1.0
    best_session = max(sessions.values(), default=0.0) or 1.0
    best_cosine = max((row.cosine - floor for row in rows), default=0.0)
    when = bool(_WHEN_QUESTION.match(query))
    scored = []
    for row, word_score in zip(rows, words, strict=True):
        legs = {"words": word_score / best_words}
        if row.session is not None and row.session in sessions:
            legs["session"] = SESSION * sessions[row.session] / best_session
        if best_cosine > 0 and row.cosine > floor:
            legs["meaning"] = weight * (row.cosine - floor) / best_cosine
        if row.author in named_authors:
            legs["speaker"] = SPEAKER
        if mine and row.role != "assistant":
            legs["mine"] = MINE
        if row.timely:
            legs["time"] = TIME
        if when and _TIME_WORDS.search(row.text):
            legs["moment"] = MOMENT
        if row.named:
            legs["entity"] = ENTITY * row.named
        if "?" in row.text:
            legs["question"] = -QUESTION * _question_share(row.text)
        if row.role == "assistant":
            legs["reply"] = -REPLY * sum(legs.values())
        about = 1 - legs.get("mine", 0.0) / (sum(legs.values()) or 1.0)
        if row.withdrawn or (row.ended and not row.partly):
            legs["outdated"] = -OUTDATED * sum(legs.values())
        if row.empty:
            legs["empty"] = -EMPTY * sum(legs.values())
        total = sum(legs.values())
        recency = FLOOR + (1 - FLOOR) * 0.5 ** (max(0.0, row.age) / HALF_LIFE)
        legs["age"] = total * recency - total
        whole = total * recency
        nonzero = {name: share for name, share in legs.items() if share}
        scored.append(Scored(row, whole, nonzero, coverage(row, idfs), max(0.0, row.cosine - floor), about * whole))
    return sorted(scored, key=_sort_key)


def _sort_key(each: Scored) -> tuple[float, int, str, int, int]:
    """Best first, then newest; ids of passages change when they are rebuilt, so they come last."""
    return -each.score, -each.row.at, each.row.kind, -each.row.row, each.row.id


def _question_share(text: str) -> float:
    """The share of a text in questions, which seldom hold an answer."""
    return sum(len(piece) for piece in _SENTENCE.split(text) if piece.rstrip().endswith("?")) / max(1, len(text))


def verdict(query: str, scored: Sequence[Scored]) -> str:
    """known, maybe or nothing, by the best passage that tells something.

    A reply of the assistant is judged beside what people said; alone it never makes known what a person asks about
    themselves.
    """
    telling = [each for each in scored if not each.row.empty]
    best = telling[:1]
    if best and best[0].row.role == "assistant":
        best += [each for each in telling if each.row.role != "assistant"][:1]
    verdicts = [_verdict(each, statements.is_in_first_person(query)) for each in best]
    if telling and any(each.row.named == named_entities.NAMED for each in scored):
        verdicts.append("maybe")
    return min(verdicts, key=_VERDICTS.index, default="nothing")


def _verdict(best: Scored, first_person: bool) -> str:
    """The verdict by one passage: with vectors, its closeness counts beside the words that it holds."""
    alone = best.row.role == "assistant" and first_person
    if not alone and (best.coverage + best.closeness >= KNOWN_BY_MEANING if best.closeness else best.coverage >= KNOWN):
        return "known"
    return "maybe" if best.coverage >= MAYBE or best.closeness else "nothing"


def merge(query: str, remembered: Sequence[Scored], from_files: Sequence[Scored]) -> tuple[str, Sequence[Scored]]:
    """Merge two lists. Scores are relative to the best of each list; those of files are scaled by their coverage."""
    of_memory, of_files = verdict(query, remembered), verdict(query, from_files)
    if not from_files or (of_memory != "nothing" and of_files == "nothing"):
        return of_memory, remembered
    most = remembered[0].coverage if remembered else 0.0
    weight = _FILES * min(1.0, from_files[0].coverage / most) if most else 1.0
    from_files = [
        replace(
            each,
            score=weight * each.score,
            relevance=weight * each.relevance,
            legs=_scaled_legs(each.legs, weight),
        )
        for each in from_files
    ]
    best = min((of_memory, of_files), key=_VERDICTS.index)
    return best, sorted((*remembered, *from_files), key=lambda each: -each.score)


def choose(scored: Sequence[Scored], limit: int, least: float) -> list[Scored]:
    """The best results, each thing once. `least`: their relevance, as a share of that of the best."""
    enough = least * max((each.relevance for each in scored), default=0.0)
    distinct = _distinct(each for each in scored if each.relevance >= enough or each.row.named == named_entities.NAMED)
    chosen, others = distinct[:limit], distinct[limit:]
    for kind in _KEPT:
        best = next((each for each in others if each.row.kind == kind and _is_good(each)), None)
        if best and all(each.row.kind != kind for each in chosen):
            _give_place(chosen, best)
    return sorted(chosen, key=lambda each: -each.score)


def _is_good(each: Scored) -> bool:
    return not each.row.empty and _verdict(each, first_person=False) != "nothing"


def _give_place(chosen: list[Scored], best: Scored) -> None:
    """Put a hit in the place of the last that is not itself the only one of a kept kind."""
    kinds = [each.row.kind for each in chosen]
    for index in reversed(range(1, len(chosen))):  # never that of the best
        if kinds[index] not in _KEPT or kinds.count(kinds[index]) > 1:
            chosen[index] = best
            return


def _distinct(scored: Iterable[Scored]) -> list[Scored]:
    """The results without further chunks of the same text, without similar texts, and with one empty one at most.

    A fact takes the place of the message that says the same.
    """
    chosen: list[tuple[Scored, frozenset[tuple[str, ...]]]] = []
    sources: set[tuple[str, int]] = set()
    has_empty = False
    for each in scored:
        source, shingles = (each.row.kind, each.row.row), terms.shingles(each.row.text)
        if source in sources or (each.row.empty and has_empty):
            continue
        sources.add(source)
        repeated = next((index for index, known in enumerate(chosen) if _is_same(each, shingles, *known)), None)
        if repeated is None:
            chosen.append((each, shingles))
            has_empty = has_empty or bool(each.row.empty)
        elif each.row.kind == "f" and chosen[repeated][0].row.kind == "m":
            chosen[repeated] = _in_place_of(chosen[repeated][0], each), shingles
    return [each for each, _ in chosen]


def _is_same(
    one: Scored, shingles: frozenset[tuple[str, ...]], other: Scored, others: frozenset[tuple[str, ...]]
) -> bool:
    return terms.nearly_equal(shingles, others) and terms.is_similar(one.row.text, other.row.text)


def _in_place_of(one: Scored, other: Scored) -> Scored:
    """Another hit with the rank of this one; the difference becomes a leg of its own."""
    legs = {**other.legs, "said": one.score - other.score}
    return replace(other, score=one.score, relevance=one.relevance, coverage=one.coverage, legs=legs)


def _scaled_legs(legs: Mapping[str, float], weight: float) -> dict[str, float]:
    """The legs of a scaled score; the difference becomes a leg of its own."""
    return {**legs, "file": (weight - 1) * sum(legs.values())} if weight < 1 else dict(legs)
