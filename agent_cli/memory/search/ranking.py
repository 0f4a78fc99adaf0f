"""How well a passage answers a question: pure arithmetic over what was fetched.

Each leg is divided by its best score and the legs are added; ranks are never fused, because that lifts the noise of the
weaker leg. All weights were measured on long conversations (turn-level recall); benchmarks/README.md has the figures.

The word leg is BM25 over a wide row: the passage's own words, and with smaller weights what stood before and after it,
who said it, when, and which facts came of it.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent_cli.text import Pattern
from agent_cli.values import frozen

K1, B = 1.2, 0.3
OWN, BEFORE, BEFORE_THAT, AFTER, AUTHOR, DATE, FACTS = 1.0, 0.6, 0.2, 0.4, 2.0, 0.5, 1.0
SESSION, VECTOR, SPEAKER, QUESTION, MOMENT, TIME, ENTITY = 0.3, 0.3, 0.4, 0.2, 0.1, 0.3, 0.2
OUTDATED = 0.5  # of its score a message loses when what came of it is true no more
HALF_LIFE = 30.0  # days
FLOOR = 0.8  # without one, R@10 fell from 70 to 39 per cent

_MOMENTS = Pattern(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|weeks?|weekend|months?|years?|since|recently|soon|morning"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october"
    r"|november|december|gestern|heute|morgen|letzte\w*|nächste\w*|vor|woche\w*|monat\w*|jahr\w*|seit|montag|dienstag"
    r"|mittwoch|donnerstag|freitag|samstag|sonntag|januar|februar|märz|mai|juni|juli|oktober|dezember|\d+\.?(?:st|nd|rd|th)?)\b",
    re.IGNORECASE,
)
_WHEN = Pattern(r"\s*(?:when|how long|(?:in )?(?:what|which) (?:year|month|date|day)|wann|seit wann|wie lange)\b", re.I)
_SENTENCE = Pattern(r"(?<=[.!?…。！？])\s*")


@dataclass(eq=False, repr=False)
class Row:
    """A passage and its surroundings, each as the counts of the question's words in it."""

    id: int
    session: int | None
    length: int  # characters
    age: float  # days
    text: str
    author: str
    own: Mapping[str, int]
    before: Mapping[str, int] = field(default_factory=dict)
    before_that: Mapping[str, int] = field(default_factory=dict)
    after: Mapping[str, int] = field(default_factory=dict)
    by: Mapping[str, int] = field(default_factory=dict)
    date: Mapping[str, int] = field(default_factory=dict)
    facts: Mapping[str, int] = field(default_factory=dict)
    cosine: float = 0.0
    timely: bool = False  # from the time that the question names
    kind: str = "m"  # as the index has it, and
    row: int = 0  # the id among its kind
    at: int = 0  # seconds since 1970
    place: str = ""  # of a fact that is true in another place only
    named: bool = False  # a fact about somebody or something the question names
    ended: float | None = None  # since when, in seconds since 1970, what came of it as fact is true no more, or
    partly: bool = False  # some of it

    frequencies: dict[str, float] = field(init=False)  # of each word in and around it, weighted by where

    def __post_init__(self) -> None:
        total: dict[str, float] = {}
        for weight, counts in (
            (OWN, self.own), (BEFORE, self.before), (BEFORE_THAT, self.before_that), (AFTER, self.after),
            (AUTHOR, self.by), (DATE, self.date), (FACTS, self.facts),
        ):  # fmt: skip
            if counts:  # most are empty
                for term, count in counts.items():
                    total[term] = total.get(term, 0.0) + weight * count
        self.frequencies = total


@frozen
class Scored:
    row: Row
    score: float
    legs: Mapping[str, float]  # adds up to score
    coverage: float


def idf(rows: int, found: int) -> float:
    """log(1 + (N - n + 1/2) / (n + 1/2)), never below zero."""
    return math.log(1 + max(0.0, rows - found + 0.5) / (found + 0.5))


def wide(row: Row, idfs: Mapping[str, float], average: float) -> float:
    """BM25 of a row and its surroundings."""
    norm = K1 * (1 - B + B * row.length / max(1.0, average))
    return sum([idfs[term] * tf * (K1 + 1) / (tf + norm) for term, tf in row.frequencies.items()])


def coverage(row: Row, idfs: Mapping[str, float]) -> float:
    """The share of the question's words that the row holds, weighted by how much they say."""
    return sum([idfs[term] for term in row.frequencies]) / (sum(idfs.values()) or 1.0)


def score(
    query: str, rows: Sequence[Row], idfs: Mapping[str, float], average: float, sessions: Mapping[int, float],
    named: frozenset[str], floor: float, weight: float = VECTOR,
) -> list[Scored]:  # fmt: skip
    """Score rows, best first. `sessions`: the sum of each one's best word hits; `named`: authors the question names."""
    words = [wide(row, idfs, average) for row in rows]
    best_words = max(words, default=0.0) or 1.0
    best_session = max(sessions.values(), default=0.0) or 1.0
    best_cosine = max((row.cosine - floor for row in rows), default=0.0)
    when = bool(_WHEN.match(query))
    scored = []
    for row, told in zip(rows, words, strict=True):
        legs = {"words": told / best_words}
        if row.session is not None and row.session in sessions:
            legs["session"] = SESSION * sessions[row.session] / best_session
        if best_cosine > 0 and row.cosine > floor:
            legs["meaning"] = weight * (row.cosine - floor) / best_cosine
        if row.author in named:
            legs["speaker"] = SPEAKER
        if row.timely:
            legs["time"] = TIME
        if when and _MOMENTS.search(row.text):
            legs["moment"] = MOMENT
        if row.named:
            legs["entity"] = ENTITY
        if "?" in row.text:
            legs["question"] = -QUESTION * _asking(row.text)
        if row.ended and not row.partly:
            legs["outdated"] = -OUTDATED * sum(legs.values())
        total = sum(legs.values())
        recency = FLOOR + (1 - FLOOR) * 0.5 ** (max(0.0, row.age) / HALF_LIFE)
        legs["age"] = total * recency - total
        scored.append(Scored(row, total * recency, {k: v for k, v in legs.items() if v}, coverage(row, idfs)))
    return sorted(scored, key=_order)


def _order(each: Scored) -> tuple[float, int, str, int, int]:
    """Of equals the newer first; ids of passages change when they are made anew, so they decide last."""
    return -each.score, -each.row.at, each.row.kind, -each.row.row, each.row.id


def _asking(text: str) -> float:
    """The share of a text that asks: a question seldom holds an answer."""
    return sum(len(piece) for piece in _SENTENCE.split(text) if piece.rstrip().endswith("?")) / max(1, len(text))
