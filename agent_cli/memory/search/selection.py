"""Selects what is shown of the scored passages, and judges from them whether the answer is known.

Messages that tell nothing (questions, empty replies, small talk, replies that repeat a source) never make a question
known and take at most one place. The best fact, note and file each have a place when they are good enough, and what is
said twice is shown once.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from agent_cli.memory.entities import named_entities
from agent_cli.memory.language import statements, terms
from agent_cli.memory.search import ranking
from agent_cli.memory.search.ranking import Scored

KNOWN, MAYBE = 0.68, 0.35  # coverage from which a question counts as known, or perhaps, where there are no vectors
KNOWN_BY_MEANING = 1.0  # clearness from which it counts as known, where there are vectors
KNOWN_AMONG_PEOPLE = 1.25  # the same for what people said to each other, who tell much in passing
_OF_SCORE = 0.051  # weight of the score beside coverage and closeness
MAYBE_WEIGHTS = {"closeness": 8.4, "entity": 5.9, "similar": 6.7, "score": 0.34, "coverage": 3.1}
NOTHING = 2.9  # sum of these from which there is perhaps an answer among a thousand passages
_BY_SIZE = 0.4  # what more is asked of the best of e times as many: the best of strangers is nearer, too
_THOUSAND = 1000
_VERDICTS = ("known", "maybe", "nothing")
_FILES = 0.9  # weight of the best file beside an equally good message
_JUDGED = 4  # passages by which it is judged whether the answer is known
_AS_GOOD = 0.5  # coverage of a source that a reply stands behind, as a share of that of the reply
_BEHIND = 0.999
_KEPT = "fnd"  # kinds whose best hit has a place: facts, notes and files


def verdict(query: str, scored: Sequence[Scored], passages: int = _THOUSAND) -> str:
    """known, maybe or nothing, by the best passages that tell something, of so many.

    A reply of the assistant never makes known what a person asks about themselves.
    """
    first_person = statements.is_in_first_person(query)
    telling = [each for each in scored if not each.row.empty][:_JUDGED]
    telling += [each for each in scored if not each.row.empty and each.row.role != "assistant"][:1]
    verdicts = [_verdict(each, first_person, passages) for each in telling]
    if telling and any(each.row.named == named_entities.NAMED for each in scored):
        verdicts.append("maybe")
    return min(verdicts, key=_VERDICTS.index, default="nothing")


def _verdict(best: Scored, first_person: bool, passages: int = _THOUSAND) -> str:
    if is_clear(best) and not (best.row.role == "assistant" and first_person):
        return "known"
    if best.closeness is None:
        return "maybe" if best.coverage >= MAYBE else "nothing"
    least = NOTHING + _BY_SIZE * math.log(max(1, passages) / _THOUSAND)
    return "maybe" if _likelihood(best) >= least else "nothing"


def is_clear(each: Scored) -> bool:
    """Whether a passage clearly answers the question: where there are vectors, by closeness beside the words."""
    if each.closeness is None:
        return each.coverage >= KNOWN
    clearness = each.coverage + each.closeness + _OF_SCORE * each.score
    return clearness >= (KNOWN_AMONG_PEOPLE if each.row.among_people else KNOWN_BY_MEANING)


def _likelihood(each: Scored) -> float:
    """How likely there is an answer at all, as log odds up to a constant."""
    similar = each.features.get("similar", 0.0) * ranking.verbosity(each.row)
    values = {
        "closeness": each.closeness or 0.0,
        "entity": each.row.named,
        "similar": similar,
        "score": each.score,
        "coverage": each.coverage,
    }
    return sum(weight * values[name] for name, weight in MAYBE_WEIGHTS.items())


def merge(
    query: str, remembered: Sequence[Scored], from_files: Sequence[Scored], sizes: tuple[int, int]
) -> tuple[str, Sequence[Scored]]:
    """Merge two lists; `sizes`: of how many passages each is the best.

    Scores are relative to the best of each list; those of files are scaled by their coverage.
    """
    of_memory, of_files = verdict(query, remembered, sizes[0]), verdict(query, from_files, sizes[1])
    if not from_files or (of_memory != "nothing" and of_files == "nothing"):
        return of_memory, _behind_sources(query, remembered)
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
    return best, _behind_sources(query, sorted((*remembered, *from_files), key=lambda each: -each.score))


def _behind_sources(query: str, scored: Sequence[Scored]) -> Sequence[Scored]:
    """Put replies that rest on nothing kept behind the best of what was said, noted or read of the same matter."""
    if ranking.asks_for_reply(query):
        return scored
    sources = [each for each in scored if each.row.role != "assistant" and not (each.row.empty or each.row.withdrawn)]
    placed = []
    for each in scored:
        same = (other for other in sources if other.coverage >= _AS_GOOD * each.coverage)
        best = next(same, None) if each.row.unsupported else None
        behind = best is not None and best.score < each.score
        placed.append(_scaled(each, _BEHIND * best.score / each.score) if best and behind else each)
    return sorted(placed, key=lambda each: -each.score)


def _scaled(each: Scored, share: float) -> Scored:
    legs = {**each.legs, "unsupported": (share - 1) * each.score}
    return replace(each, score=share * each.score, relevance=share * each.relevance, legs=legs)


def choose(scored: Sequence[Scored], limit: int, least: float) -> list[Scored]:
    """The best results, each thing once. `least`: their relevance, as a share of that of the best.

    Further chunks of the same text and similar texts are left out, and all empty ones but one. A fact takes the place
    of the message that says the same.
    """
    enough = least * max((each.relevance for each in scored), default=0.0)
    chosen: list[tuple[Scored, frozenset[tuple[str, ...]]]] = []
    sources: set[tuple[str, int]] = set()
    missing, has_empty = set(_KEPT), False
    for each in scored:
        source, is_full = (each.row.kind, each.row.row), len(chosen) >= limit
        if is_full and (each.row.kind not in missing or not _is_good(each)):
            continue
        if source in sources or (each.row.empty and has_empty):
            continue
        if each.relevance < enough and each.row.named != named_entities.NAMED:
            continue
        sources.add(source)
        shingles = terms.shingles(each.row.text)
        repeated = next((index for index, known in enumerate(chosen) if _is_same(each, shingles, *known)), None)
        if repeated is None and is_full:
            _give_place(chosen, (each, shingles))
        elif repeated is None:
            chosen.append((each, shingles))
            has_empty = has_empty or bool(each.row.empty)
        elif each.row.kind == "f" and chosen[repeated][0].row.kind == "m":
            chosen[repeated] = _in_place_of(chosen[repeated][0], each), shingles
        missing.discard(each.row.kind)
    return sorted((each for each, _ in chosen), key=lambda each: -each.score)


def _is_good(each: Scored) -> bool:
    return not each.row.empty and _verdict(each, first_person=False) != "nothing"


def _give_place(
    chosen: list[tuple[Scored, frozenset[tuple[str, ...]]]], best: tuple[Scored, frozenset[tuple[str, ...]]]
) -> None:
    """Put a hit in the place of the last that is not itself the only one of a kept kind."""
    kinds = [each.row.kind for each, _ in chosen]
    for index in reversed(range(1, len(chosen))):  # never that of the best
        if kinds[index] not in _KEPT or kinds.count(kinds[index]) > 1:
            chosen[index] = best
            return


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
