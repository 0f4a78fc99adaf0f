"""Selects what is shown of the scored passages, and judges from them whether the answer is known.

Messages that tell nothing (questions, empty replies, small talk, replies that repeat a source) never make a question
known and take at most one place. The best fact, note and file each have a place when they are good enough, and what is
said twice is shown once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from agent_cli.memory.entities import named_entities
from agent_cli.memory.language import statements, terms
from agent_cli.memory.search.ranking import Scored

KNOWN, MAYBE = 0.68, 0.35  # coverage from which a question counts as known, or perhaps
KNOWN_BY_MEANING = 0.87  # the same for known, of coverage and closeness together, where there are vectors
_VERDICTS = ("known", "maybe", "nothing")
_FILES = 0.9  # weight of the best file beside an equally good message
_KEPT = "fnd"  # kinds whose best hit has a place: facts, notes and files


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
    if is_clear(best) and not (best.row.role == "assistant" and first_person):
        return "known"
    return "maybe" if best.coverage >= MAYBE or best.closeness else "nothing"


def is_clear(each: Scored) -> bool:
    """Whether a passage clearly answers the question: where there are vectors, by closeness beside the words."""
    if each.closeness is None:
        return each.coverage >= KNOWN
    return each.coverage + each.closeness >= KNOWN_BY_MEANING


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
