"""Scores passages against a question: pure arithmetic over fetched rows.

Each signal ("leg") is divided by its best score and the legs are added; ranks are not fused, because that amplifies the
noise of the weaker leg. All weights were measured on long conversations (turn-level recall); benchmarks/README.md has
the figures.

The word leg is BM25 over the passage's own words and, with smaller weights, the passages before and after it, its
author and date, and the facts taken from it.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent_cli.memory.language import languages
from agent_cli.text import Pattern
from agent_cli.values import frozen

K1, B = 1.2, 0.3
OWN, BEFORE, BEFORE_THAT, AFTER, AUTHOR, DATE, FACTS = 1.0, 0.6, 0.2, 0.4, 2.0, 0.5, 1.0
SESSION, VECTOR, SPEAKER, QUESTION, MOMENT, TIME, ENTITY = 0.3, 0.3, 0.4, 0.2, 0.1, 0.3, 0.2
OUTDATED = 0.5  # share of its score that a message loses when its facts are no longer true
HALF_LIFE = 30.0  # days
FLOOR = 0.8  # without one, R@10 fell from 70 to 39 per cent

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


def idf(rows: int, found: int) -> float:
    """log(1 + (N - n + 1/2) / (n + 1/2)), never below zero."""
    return math.log(1 + max(0.0, rows - found + 0.5) / (found + 0.5))


def bm25(row: CandidateRow, idfs: Mapping[str, float], average: float) -> float:
    """BM25 of a row and its context."""
    norm = K1 * (1 - B + B * row.length / max(1.0, average))
    return sum([idfs[term] * tf * (K1 + 1) / (tf + norm) for term, tf in row.frequencies.items()])


def coverage(row: CandidateRow, idfs: Mapping[str, float]) -> float:
    """The share of the question's words in the row, weighted by idf."""
    return sum([idfs[term] for term in row.frequencies]) / (sum(idfs.values()) or 1.0)


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
        if row.timely:
            legs["time"] = TIME
        if when and _TIME_WORDS.search(row.text):
            legs["moment"] = MOMENT
        if row.named:
            legs["entity"] = ENTITY * row.named
        if "?" in row.text:
            legs["question"] = -QUESTION * _question_share(row.text)
        if row.ended and not row.partly:
            legs["outdated"] = -OUTDATED * sum(legs.values())
        total = sum(legs.values())
        recency = FLOOR + (1 - FLOOR) * 0.5 ** (max(0.0, row.age) / HALF_LIFE)
        legs["age"] = total * recency - total
        scored.append(Scored(row, total * recency, {k: v for k, v in legs.items() if v}, coverage(row, idfs)))
    return sorted(scored, key=_sort_key)


def _sort_key(each: Scored) -> tuple[float, int, str, int, int]:
    """Best first, then newest; ids of passages change when they are rebuilt, so they come last."""
    return -each.score, -each.row.at, each.row.kind, -each.row.row, each.row.id


def _question_share(text: str) -> float:
    """The share of a text in questions, which seldom hold an answer."""
    return sum(len(piece) for piece in _SENTENCE.split(text) if piece.rstrip().endswith("?")) / max(1, len(text))
