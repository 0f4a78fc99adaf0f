"""Judges how certainly each scored passage answers the question, and selects what is shown.

Messages that tell nothing (questions, empty replies, small talk, replies that repeat a source) never make a question
known and take at most one place. The best fact, note and file each have a place when they are good enough, and what is
said twice is shown once.

How certain a passage is follows from the words that it holds, those like them, and its meaning. Words that only ask
("which", "since when", "name of") need not be in an answer, so they do not count. Where a question names somebody who
took part, a passage of somebody else is less likely the answer. The weights were learned, with those of the ranking, as
`python -m benchmarks learn_weights` does, on questions that have an answer in their conversations and questions of
other conversations (two people, and a person with an assistant). The weight of words alone and the two bounds were
chosen on these and on the days of `python -m benchmarks life`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from agent_cli.memory.entities import graph
from agent_cli.memory.language import statements, terms
from agent_cli.memory.search import ranking
from agent_cli.memory.search.ranking import QueryContext, Scored

WEIGHTS = {"words": 2.36, "like words": 2.70, "closeness": 4.83, "other speaker": -1.06, "words alone": 6.0}
BIAS = -3.39
CONTEXTUAL = {"words": 2.35, "like words": 2.71, "closeness": 3.93, "other speaker": -0.16}
CONTEXTUAL_BIAS = -4.50
KNOWN, MAYBE = 0.72, -2.0  # from which a passage clearly answers, or perhaps
LIKELY = -0.6  # from which it is shown to a model that did not ask for it

KEPT = "fnd"  # facts, notes and files

_CLOSE = 0.03  # closeness of what may answer without a telling word
_BESIDE = 0.4  # share of the telling words that stand beside it, instead

_GUESSED = 0.6  # share of its weight that a word loses when it is only taken for a misspelt one
_FOUND_OTHERWISE = {"entity", "exchange", "later"}  # legs of what was found otherwise than by words and meaning
_LIKE = 0.4  # cosine from which words are taken for alike
_VERDICTS = ("known", "maybe", "nothing")
_FILES = 0.9  # weight of the best file beside an equally good message
_AS_GOOD = 0.5  # coverage of a source that a reply stands behind, as a share of that of the reply
_BEHIND = 0.999


def judge(question: QueryContext, scored: Sequence[Scored]) -> list[Scored]:
    """The same passages, in order, with how certain each of the best is, and each fact, note and file."""
    words = _asked_for(question)
    total = sum(words.values()) or 1.0
    return [
        _judged(question, each, words, total) if number < ranking.CLOSELY or each.row.kind in KEPT else each
        for number, each in enumerate(scored)
    ]


def _judged(question: QueryContext, each: Scored, words: Mapping[str, float], total: float) -> Scored:
    signs = _signs(question, each, words, total)
    is_contextual = question.vector_set is not None and question.vector_set.unit
    bias, weights = (CONTEXTUAL_BIAS, CONTEXTUAL) if is_contextual else (BIAS, WEIGHTS)
    certainty = bias + sum([weights[name] * value for name, value in signs.items()])
    if each.row.kind in KEPT and each.closeness and each.legs.keys() & ranking.ASKED_FOR.keys():
        certainty = max(MAYBE, certainty)  # "dentist, Friday 3pm" may say when one sees the doctor
    known = each.row, each.score, each.legs, each.coverage, each.closeness, each.relevance, each.features, each.cosines
    return Scored(*known, certainty, signs)  # in a quarter of the time of `replace`


def _signs(question: QueryContext, each: Scored, words: Mapping[str, float], total: float) -> dict[str, float]:
    """What speaks for it that a passage answers; without vectors only the words do."""
    row = each.row
    holding = [question.held_by(row), row.date, row.facts, row.by]
    if each.closeness is None and row.role != "assistant":  # a reply does not hold the words of the question before it
        holding += [row.before, row.before_that, row.after]
    held = anywhere = words.keys() & set().union(*[question.words_in(counts) for counts in holding if counts])
    if row.statements:  # a summary tells of many things, and only what one of its sentences says together is told
        others = question.words_in(row.date)
        statements_held = (words.keys() & (question.words_in(each) | others) for each in row.statements)
        held = max(statements_held, key=lambda some: sum([words[word] for word in some]))
    of_held = sum([words[word] for word in held])
    if row.guessed and not row.named:
        guessed = question.words_in(dict.fromkeys(row.guessed, 1))
        of_held -= _GUESSED * sum([words[word] for word in words.keys() & guessed])
    if each.closeness is None:
        return {"words alone": of_held / total}
    like = {word: max(0.0, (each.cosines.get(word, 0.0) - _LIKE) / (1 - _LIKE)) for word in words.keys() - anywhere}
    return {
        "words": of_held / total,
        "like words": (of_held + sum([words[word] * share for word, share in like.items()])) / total,
        "closeness": each.closeness,
        "other speaker": float(bool(question.authors) and row.author not in question.authors),
    }


def _asked_for(question: QueryContext) -> dict[str, float]:
    """The idfs of the words that an answer should hold; of all words, when all of them only ask."""
    telling = {word: weight for word, weight in question.weights.items() if not terms.only_asks(word)}
    return telling or question.weights


def telling(query: str, scored: Sequence[Scored]) -> list[Scored]:
    """Those that may answer: what the assistant said does not tell what a person asks about themselves, unless they ask
    for what it said."""
    found = [each for each in scored if not each.row.empty]
    if statements.is_in_first_person(query) and not statements.asks_for_reply(query):
        return [each for each in found if each.row.role != "assistant"]
    return found


def verdict(query: str, scored: Sequence[Scored]) -> str:
    """known, maybe or nothing, by the passage that most certainly answers, of those that tell something."""
    among = telling(query, scored)
    found = _verdict(max((each.certainty for each in among), default=-math.inf))
    if found == "nothing" and among and any(each.row.named == graph.NAMED for each in scored):
        return "maybe"
    return found


def is_likely(query: str, scored: Sequence[Scored]) -> bool:
    """Whether one of those that may answer is certain enough to be shown unasked, or of somebody who was named."""
    return any(
        each.certainty >= (MAYBE if each.closeness is None or each.row.guessed or each.row.kind in KEPT else LIKELY)
        or each.row.named > 0
        for each in telling(query, scored)
    )


def _verdict(of: float) -> str:
    return "known" if of >= KNOWN else "maybe" if of >= MAYBE else "nothing"


def plausible(question: QueryContext, scored: list[Scored]) -> list[Scored]:
    """Of what perhaps answers only what holds a telling word, stands beside such words, or is close in meaning."""
    if verdict(question.text, scored) != "maybe":
        return scored
    words = _asked_for(question)
    return [each for each in scored if _is_plausible(question, each, words)]


def _is_plausible(question: QueryContext, each: Scored, words: Mapping[str, float]) -> bool:
    row = each.row
    if (each.closeness or 0.0) > _CLOSE or each.legs.keys() & _FOUND_OTHERWISE:
        return True
    if words.keys() & question.words_in({**question.held_by(row), **row.date, **row.facts, **row.by}):
        return True
    beside = words.keys() & question.words_in({**row.before, **row.before_that, **row.after})
    return sum(words[word] for word in beside) > _BESIDE * sum(words.values())


def is_clear(each: Scored) -> bool:
    """Whether a passage clearly answers the question."""
    return each.certainty >= KNOWN


def merge(query: str, remembered: Sequence[Scored], from_files: Sequence[Scored]) -> tuple[str, Sequence[Scored]]:
    """Merge two lists. Scores are relative to the best of each list; those of files are scaled by their coverage."""
    of_memory, of_files = verdict(query, remembered), verdict(query, from_files)
    if not from_files or (of_memory != "nothing" and of_files == "nothing"):
        return of_memory, _behind_sources(query, remembered)
    most = remembered[0].coverage if remembered else 0.0
    weight = _FILES * min(1.0, from_files[0].coverage / most) if most else 1.0
    from_files = [_scaled(each, weight, "file") for each in from_files]
    best = min((of_memory, of_files), key=_VERDICTS.index)
    return best, _behind_sources(query, sorted((*remembered, *from_files), key=lambda each: -each.score))


def _behind_sources(query: str, scored: Sequence[Scored]) -> Sequence[Scored]:
    """Put replies that rest on nothing kept behind the best of what was said, noted or read of the same matter."""
    if not any(each.row.unsupported for each in scored) or statements.asks_for_reply(query):
        return scored
    sources = [each for each in scored if each.row.role != "assistant" and not (each.row.empty or each.row.withdrawn)]
    placed = []
    for each in scored:
        same = (other for other in sources if other.coverage >= _AS_GOOD * each.coverage)
        best = next(same, None) if each.row.unsupported else None
        behind = best is not None and best.score < each.score
        placed.append(_scaled(each, _BEHIND * best.score / each.score, "unsupported") if best and behind else each)
    return sorted(placed, key=lambda each: -each.score)


def later_first(scored: Sequence[Scored]) -> list[Scored]:
    """Put what a later statement replaced behind that one, which takes its rank and is as certain."""
    by_passage = {each.row.id: each for each in scored}
    for each in scored:
        later = by_passage.get(each.row.replaced_by)
        if later is None:
            continue
        if later.score < each.score:
            legs = {**later.legs, "later": each.score - later.score}
            later = replace(later, score=each.score, relevance=each.relevance, coverage=each.coverage, legs=legs)
        by_passage[later.row.id] = replace(later, certainty=max(later.certainty, each.certainty))
        by_passage[each.row.id] = _scaled(each, 1 - ranking.OUTDATED, "outdated")
    return sorted(by_passage.values(), key=lambda each: -each.score)


def _scaled(each: Scored, share: float, leg: str) -> Scored:
    """The same passage with a share of its score; the difference becomes a leg of its own."""
    if share >= 1:
        return each
    legs = {**each.legs, leg: (share - 1) * sum(each.legs.values())}
    return replace(each, score=share * each.score, relevance=share * each.relevance, legs=legs)


def choose(scored: Sequence[Scored], limit: int, least: float) -> list[Scored]:
    """The best results, each thing once. `least`: their relevance, as a share of that of the best.

    Further chunks of the same text and similar texts are left out, and all empty ones but one. A fact takes the place
    of the message that says the same.
    """
    enough = least * max((each.relevance for each in scored), default=0.0)
    chosen: list[tuple[Scored, frozenset[tuple[str, ...]]]] = []
    sources: set[tuple[str, int]] = set()
    missing, has_empty = set(KEPT), False
    for each in scored:
        source, is_full = (each.row.kind, each.row.row), len(chosen) >= limit
        if is_full and (each.row.kind not in missing or not _is_good(each)):
            continue
        if source in sources or (each.row.empty and has_empty):
            continue
        if each.relevance < enough and each.row.named != graph.NAMED:
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
    return not each.row.empty and each.certainty >= MAYBE


def _give_place(
    chosen: list[tuple[Scored, frozenset[tuple[str, ...]]]], best: tuple[Scored, frozenset[tuple[str, ...]]]
) -> None:
    """Put a hit in the place of the last that is not itself the only one of a kept kind."""
    kinds = [each.row.kind for each, _ in chosen]
    for index in reversed(range(1, len(chosen))):  # never that of the best
        if kinds[index] not in KEPT or kinds.count(kinds[index]) > 1:
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
