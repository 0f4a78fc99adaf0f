"""Scores passages against a question: a weighted sum of what speaks for each. Pure arithmetic over fetched rows.

The words of a question count by their idf: in the passage, around it, in facts taken from it, and as far as the passage
holds words like them. Most of this is divided by the length of the text, or long answers of the assistant would crowd
out what the person said.

The weights were learned by `python -m benchmarks learn_weights` (benchmarks/README.md has the figures). A model that
reads a text as a whole tells more than the built-in table of words, so its closeness has weights of its own.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from agent_cli.memory.language import languages, statements, terms
from agent_cli.memory.search import candidates, graph
from agent_cli.memory.search.candidates import Question
from agent_cli.memory.search.passage_context import AFTER, BEFORE, BEFORE_THAT, OWN, CandidateRow, words_of
from agent_cli.memory.search.vectors import QueryEmbedder
from agent_cli.text import Pattern

_LEARNED = {  # for the built-in table of words, and for contextual embedders
    "words": (2.11, 1.54),
    "meaning": (3.33, 2.69),
    "meaning before": (1.34, 1.60),
    "meaning after": (1.34, 1.53),
    "speaker": (3.12, 3.11),
    "mine": (1.52, 1.99),
    "reply": (-2.60, -2.60),
    "exchange": (5.00, 5.00),
    "asked reply": (0.30, 0.30),
    "time": (2.17, 2.64),
    "nearby": (1.87, 1.93),
    "around": (2.01, 2.00),
    "similar": (2.16, 2.72),
    "covered": (1.63, 1.94),
    "facts": (1.28, 1.48),
    "question": (-0.43, -0.46),
    "moment": (2.38, 2.50),
    "place": (1.93, 2.42),
    "number": (1.30, 1.17),
    "wish": (3.72, 2.51),
}
WEIGHTS, CONTEXTUAL = ({name: both[which] for name, both in _LEARNED.items()} for which in (0, 1))
ENTITY = 1.0  # for a fact about an entity that the question names
EMPTY = 0.75  # share of its score that a message loses when it tells nothing
OUTDATED = 0.5  # share of its score that a passage loses when it is no longer true, or not yet
CLOSELY = 30  # rows that are looked at closely
HALF_LIFE = 30.0  # days
FLOOR = 0.8  # without one, R@10 fell from 70 to 39 per cent
K1, B, EXCHANGE_B = 1.2, 0.3, 0.75
_SIMILAR_FLOOR = 0.25  # cosine of unrelated words
_SHORT = 150  # characters of a text that loses nothing by its length
ASKED_FOR = {  # of a feature: the questions that ask for it, and the texts that hold one
    "moment": (languages.pattern(r"\A\s*\b<WHEN_QUESTION>\b"), languages.pattern(r"\b<TIME_WORDS>\b")),
    "place": (languages.pattern(r"\b<WHERE_QUESTION>\b"), Pattern(rf"\b{languages.alternatives('PLACE')}\b")),
    "number": (languages.pattern(r"\b<NUMBER_QUESTION>\b"), languages.pattern(r"\d|\b<NUMERALS>\b")),
}
# Of how certainly a passage answers: the log-odds of each sign, and of none.
VERDICT = {
    "words": 2.36,
    "like words": 2.70,
    "closeness": 4.83,
    "other speaker": -1.06,
    "words alone": 6.0,
    "bias": -3.39,
}
CONTEXTUAL_VERDICT = {"words": 2.35, "like words": 2.71, "closeness": 3.93, "other speaker": -0.16, "bias": -4.50}
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
_NONE: Mapping[str, float] = {}
_NO_WORDS: Mapping[str, float] = {"nearby": 0.0, "similar": 0.0, "covered": 0.0}


class Scored(NamedTuple):
    row: CandidateRow
    score: float
    legs: Mapping[str, float] = _NONE  # adds up to score
    coverage: float = 0.0
    closeness: float | None = None  # how far its cosine is above that of unrelated texts, up to 1; None: no vectors
    relevance: float = 0.0  # the part of its score that is not owed to who said it
    features: Mapping[str, float] = _NONE
    cosines: Mapping[str, float] = _NONE  # of each word asked for to the likest in it
    certainty: float = -math.inf  # the log-odds that it answers the question
    signs: Mapping[str, float] = _NONE  # what these follow from


def _is_asked_for(question: Question, row: CandidateRow) -> bool:
    """Whether it is a reply, and these are asked for."""
    return question.asks_for_replies and row.role == "assistant"


def _held_by(question: Question, row: CandidateRow) -> Mapping[str, int]:
    """The words that a row holds: a reply that is asked for also those of the message that it answers."""
    return {**row.before, **row.own_words} if _is_asked_for(question, row) else row.own_words


def of_speaker(question: Question, author: str, role: str) -> dict[str, float]:
    """The features of a passage that follow from who said it."""
    is_reply = role == "assistant"
    return {
        "speaker": float(author in question.authors),
        "mine": float(question.is_own and not is_reply),
        "reply": float(is_reply and not question.asks_for_replies),
    }


def bm25(row: CandidateRow, idfs: Mapping[str, float], average: float) -> float:
    norm = K1 * (1 - B + B * row.length / max(1.0, average))
    return sum([idfs[term] * tf * (K1 + 1) / (tf + norm) for term, tf in row.frequencies.items()])


def coverage(row: CandidateRow, idfs: Mapping[str, float]) -> float:
    """The share of the question's words in the row, weighted by idf; a reply does not hold those of its question."""
    held: Iterable[str] = row.frequencies
    if held and row.role == "assistant":
        held = {*row.own_words, *row.by, *row.date, *row.facts}
    return sum([idfs[term] for term in held]) / (sum(idfs.values()) or 1.0) if held else 0.0


def score(question: Question, rows: Sequence[CandidateRow]) -> list[Scored]:
    """Score rows by what is counted of them, best first."""
    weighted = [_weighted(question, row, found) for row, found in zip(rows, _features(question, rows), strict=True)]
    return sorted(weighted, key=_sort_key)


def score_closely(question: Question, ordered: Sequence[Scored], embedder: QueryEmbedder | None = None) -> list[Scored]:
    """Score the best rows again with what their texts show, and with the words like those asked for."""
    best, words = ordered[:CLOSELY], list(question.asked)
    texts = [words_of(each.row.text) for each in best]
    matches = embedder.match_words(words, texts) if embedder and words else None
    asked_for = [(name, answer) for name, (pattern, answer) in ASKED_FOR.items() if pattern.search(question.text)]
    for_advice = statements.asks_for_advice(question.text)
    rescored = list[Scored]()
    for number, (row, *_, counted, _, _, _) in enumerate(best):
        found = {**counted, **{name: float(bool(answer.search(row.text))) for name, answer in asked_for}}
        found |= {"question": statements.question_share(row.text), "around": 0.0}
        if row.around is not None:  # the share of the question's words in the row and in its wider window
            held = question.words_in({*row.around, *row.own_words, *row.date, *row.facts})
            found["around"] = brevity(row.length) * sum([question.weights[word] for word in held]) / question.total
        cosines = dict(zip(words, matches[number], strict=True)) if matches else _NONE
        if cosines:
            floor, unit = _SIMILAR_FLOOR, 1 - _SIMILAR_FLOOR
            likeness = {word: min(1.0, max(0.0, (cosine - floor) / unit)) for word, cosine in cosines.items()}
            found |= _word_features(question, row, likeness)
        if for_advice and row.role != "assistant" and statements.tells_wish(row.text):
            found["wish"] = found["meaning"] + found["covered"]  # as far as it is about the same
        rescored.append(_weighted(question, row, found, cosines))
    return sorted([*rescored, *ordered[CLOSELY:]], key=_sort_key)


def _weighted(
    question: Question, row: CandidateRow, features: Mapping[str, float], cosines: Mapping[str, float] = _NONE
) -> Scored:
    weights = CONTEXTUAL if question.is_contextual else WEIGHTS
    legs = {name: weights[name] * value for name, value in features.items() if value}
    if row.named:
        legs["entity"] = ENTITY * row.named
    total = sum(legs.values())
    about = 1 - legs.get("mine", 0.0) / (total or 1.0)
    if row.withdrawn or row.outdated:
        legs["outdated"] = -OUTDATED * total
        total += legs["outdated"]
    if row.empty:
        legs["empty"] = -EMPTY * total
        total += legs["empty"]
    set_by_person = question.fact_half_life if row.kind == "f" else 0.0
    floor = 0.0 if set_by_person else FLOOR
    recency = floor + (1 - floor) * 0.5 ** (max(0.0, row.age) / (set_by_person or HALF_LIFE))
    if age := total * recency - total:
        legs["age"] = age
    whole = total * recency
    closeness = features["meaning"] if question.vector_set else None
    return Scored(row, whole, legs, coverage(row, question.idfs), closeness, about * whole, features, cosines)


def _sort_key(each: Scored) -> tuple[float, int, str, int, int]:
    return -each.score, -each.row.at, each.row.kind, -each.row.row, each.row.id


def _features(question: Question, rows: Sequence[CandidateRow]) -> list[dict[str, float]]:
    """The features of each row that its counts are enough for, mostly between 0 and 1."""
    words = [bm25(row, question.idfs, question.average) for row in rows]
    best_words = max(words, default=0.0) or 1.0
    total = sum(question.idfs.values()) or 1.0
    exchanges = _exchanges(rows) if question.asks_for_replies else {}
    above, made = question.vector_set.closeness if question.vector_set else lambda cosine: 0.0, []
    for row, word_score in zip(rows, words, strict=True):
        asked, between_people = _is_asked_for(question, row), row.kind == "m" and not row.with_assistant
        follows = between_people or row.role != "user"  # what a person asks the assistant next is another matter
        before, after = row.cosines_around
        # The words of the question in the facts taken from the row; each counts more when said more often.
        in_facts = [question.idfs[stem] * 1.6 * count / (count + 0.6) for stem, count in row.facts.items()]
        made.append(
            {
                "words": 0.0 if row.exchange else word_score / best_words,
                "exchange": exchanges.get(row.exchange.reply, 0.0) if row.exchange else 0.0,
                "asked reply": float(asked and row.exchange is not None),
                "meaning": above(max(row.cosine, before) if asked else row.cosine),
                "meaning before": above(before) if follows else 0.0,
                "meaning after": above(after),
                **of_speaker(question, row.author, row.role),
                "time": float(row.timely),
                "facts": sum(in_facts) / total if in_facts else 0.0,
                **_word_features(question, row, _NONE),
            }
        )
    return made


def _exchanges(rows: Sequence[CandidateRow]) -> dict[int, float]:
    """For each exchange the BM25 of all of it among these, as a share of that of the best. All words count: those that
    most hold weigh next to nothing."""
    exchanges = {row.exchange.reply: row.exchange for row in rows if row.exchange}
    average = max(1.0, sum(each.length for each in exchanges.values()) / max(1, len(exchanges)))
    scores = dict.fromkeys(exchanges, 0.0)
    for word in next(iter(exchanges.values())).said if exchanges else ():
        form = 0 if any(each.said[word][0] for each in exchanges.values()) else 1  # most hold some form of a word
        counts = {id: count for id, each in exchanges.items() if (count := each.said[word][form])}
        for id, count in counts.items():
            norm = K1 * (1 - EXCHANGE_B + EXCHANGE_B * exchanges[id].length / average)
            scores[id] += candidates.idf(len(exchanges), len(counts)) * count * (K1 + 1) / (count + norm)
    best = max(scores.values(), default=0.0) or 1.0
    return {id: score / best for id, score in scores.items()}


def _word_features(question: Question, row: CandidateRow, likeness: Mapping[str, float]) -> Mapping[str, float]:
    """The shares of the question's words that are near, that have only words like them, and that are covered by either.
    `likeness`: how alike each is to the likest in the row."""
    if row.exchange or not (likeness or row.frequencies):
        return _NO_WORDS
    weights, covered = question.weights, dict[str, float]()
    by_place = row.before_that, row.after, row.before, row.own_words  # the greatest share last
    for counts, share in zip(by_place, (BEFORE_THAT, AFTER, BEFORE, OWN), strict=True):
        for stem in counts:
            for word in question.words_with[stem]:
                covered[word] = share
    near = {*covered, *(question.words_in({**row.date, **row.facts}) if row.date or row.facts else ())}
    scale = brevity(row.length) / question.total
    similar = [weights[word] * share for word, share in likeness.items() if covered.get(word) != OWN]
    covered |= {word: share for word, share in likeness.items() if share > covered.get(word, 0.0)}
    return {
        "nearby": scale * sum([weights[word] for word in near]),
        "similar": scale * sum(similar),
        "covered": scale * sum([weights[word] * share for word, share in covered.items()]),
    }


def brevity(length: int) -> float:
    """1 for a short text, less for another: a longer one holds more by chance."""
    return 1 / (0.5 + 0.5 * math.sqrt(max(length / _SHORT, 1)))


def rate(question: Question, scored: Sequence[Scored]) -> list[Scored]:
    """The same passages, in order, with how certain each of the best is, and each fact, note and file."""
    words = _asked_for(question)
    weights = CONTEXTUAL_VERDICT if question.is_contextual else VERDICT
    rated = []
    for number, each in enumerate(scored):
        if number < CLOSELY or each.row.kind in KEPT:
            signs = _signs(question, each, words)
            certainty = weights["bias"] + sum([weights[name] * value for name, value in signs.items()])
            if each.row.kind in KEPT and each.closeness and not each.legs.keys().isdisjoint(ASKED_FOR):
                certainty = max(MAYBE, certainty)  # "dentist, Friday 3pm" may say when one sees the doctor
            each = each._replace(certainty=certainty, signs=signs)
        rated.append(each)
    return rated


def _signs(question: Question, each: Scored, words: Mapping[str, float]) -> dict[str, float]:
    """What speaks for it that a passage answers; without vectors only the words do."""
    row, total = each.row, sum(words.values()) or 1.0
    holding = [_held_by(question, row), row.date, row.facts, row.by]
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


def _asked_for(question: Question) -> dict[str, float]:
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
    most = max((each.certainty for each in among), default=-math.inf)
    if most >= KNOWN:
        return "known"
    is_named = bool(among) and any(each.row.named == graph.NAMED for each in scored)
    return "maybe" if most >= MAYBE or is_named else "nothing"


def is_likely(query: str, scored: Sequence[Scored]) -> bool:
    """Whether one of those that may answer is certain enough to be shown unasked, or of somebody who was named."""
    return any(
        each.certainty >= (MAYBE if each.closeness is None or each.row.guessed or each.row.kind in KEPT else LIKELY)
        or each.row.named > 0
        for each in telling(query, scored)
    )


def plausible(question: Question, scored: list[Scored]) -> list[Scored]:
    """Of what perhaps answers only what holds a telling word, stands beside such words, or is close in meaning."""
    if verdict(question.text, scored) != "maybe":
        return scored
    words = _asked_for(question)
    most = _BESIDE * sum(words.values())

    def is_plausible(each: Scored) -> bool:
        row = each.row
        if (each.closeness or 0.0) > _CLOSE or not each.legs.keys().isdisjoint(_FOUND_OTHERWISE):
            return True
        if words.keys() & question.words_in({**_held_by(question, row), **row.date, **row.facts, **row.by}):
            return True
        beside = words.keys() & question.words_in({**row.before, **row.before_that, **row.after})
        return sum(words[word] for word in beside) > most

    return [each for each in scored if is_plausible(each)]


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
            later = later._replace(score=each.score, relevance=each.relevance, coverage=each.coverage, legs=legs)
        by_passage[later.row.id] = later._replace(certainty=max(later.certainty, each.certainty))
        by_passage[each.row.id] = _scaled(each, 1 - OUTDATED, "outdated")
    return sorted(by_passage.values(), key=lambda each: -each.score)


def _scaled(each: Scored, share: float, leg: str) -> Scored:
    """The same passage with a share of its score; the difference becomes a leg of its own."""
    if share >= 1:
        return each
    legs = {**each.legs, leg: (share - 1) * sum(each.legs.values())}
    return each._replace(score=share * each.score, relevance=share * each.relevance, legs=legs)


def choose(scored: Sequence[Scored], limit: int, least: float) -> list[Scored]:
    """The best results, each thing once. `least`: their relevance, as a share of that of the best. Left out are similar
    texts and all empty ones but one. A fact takes the place of the message that says the same."""
    enough = least * max((each.relevance for each in scored), default=0.0)
    chosen: list[tuple[Scored, frozenset[tuple[str, ...]]]] = []
    sources: set[tuple[str, int]] = set()
    missing, has_empty = set(KEPT), False
    for each in scored:
        row, source, is_full = each.row, (each.row.kind, each.row.row), len(chosen) >= limit
        if is_full and (row.kind not in missing or row.empty or each.certainty < MAYBE):
            continue
        if source in sources or (row.empty and has_empty) or (each.relevance < enough and row.named != graph.NAMED):
            continue
        sources.add(source)
        shingles = terms.shingles(row.text)
        repeated = next(
            (
                place
                for place, (other, others) in enumerate(chosen)
                if terms.nearly_equal(shingles, others) and terms.is_similar(row.text, other.row.text)
            ),
            None,
        )
        if repeated is None and is_full:  # in the place of the last that is not itself the only one of a kept kind
            kinds = [other.row.kind for other, _ in chosen]
            for place in reversed(range(1, len(chosen))):  # never in that of the best
                if kinds[place] not in KEPT or kinds.count(kinds[place]) > 1:
                    chosen[place] = each, shingles
                    break
        elif repeated is None:
            chosen.append((each, shingles))
            has_empty = has_empty or bool(row.empty)
        elif row.kind == "f" and (said := chosen[repeated][0]).row.kind == "m":
            legs = {**each.legs, "said": said.score - each.score}
            fact = each._replace(score=said.score, relevance=said.relevance, coverage=said.coverage, legs=legs)
            chosen[repeated] = fact, shingles
        missing.discard(row.kind)
    return sorted((each for each, _ in chosen), key=lambda each: -each.score)
