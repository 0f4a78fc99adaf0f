"""Scores passages against a question: a weighted sum of what speaks for each. Pure arithmetic over fetched rows.

Ranks are not fused, because that amplifies the noise of the weaker signal. The words of a question count by their idf:
in the passage, around it, in facts taken from it, and as far as the passage holds words like them. Most of this is
divided by the length of the text, or long answers of the assistant would crowd out what the person said. Some questions
ask for a kind of answer: a time, a place, a number, a title.

The weights were learned on conversations of two people and on chats with an assistant together, by
`python -m benchmarks learn_weights`: those learned on one kind alone fail on the other. benchmarks/README.md has the
figures, what each feature is worth, and why the weights of replies were chosen near those learned. A model that reads
a text as a whole tells more than the built-in table of words, so its closeness has weights of its own.
"""

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property

from agent_cli.memory.language import languages, statements, terms
from agent_cli.memory.search.vectors import QueryEmbedder, VectorSet
from agent_cli.text import Pattern
from agent_cli.values import frozen

_LEARNED = {  # for the built-in table of words, and for contextual embedders
    "words": (2.11, 1.54),
    "session": (0.77, 0.57),
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
    "title": (0.83, 0.99),
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
OWN, BEFORE, BEFORE_THAT, AFTER, AUTHOR, DATE, FACTS = 1.0, 0.6, 0.2, 0.4, 2.0, 0.5, 1.0
_SIMILAR_FLOOR = 0.25  # cosine of unrelated words
_SHORT = 150  # characters of a text that loses nothing by its length
ASKED_FOR = {  # of a feature: the questions that ask for it, and the texts that hold one
    "moment": (languages.pattern(r"\A\s*\b<WHEN_QUESTION>\b"), languages.pattern(r"\b<TIME_WORDS>\b")),
    "place": (languages.pattern(r"\b<WHERE_QUESTION>\b"), Pattern(rf"\b{languages.alternatives('PLACE')}\b")),
    "number": (languages.pattern(r"\b<NUMBER_QUESTION>\b"), languages.pattern(r"\d|\b<NUMERALS>\b")),
    "title": (
        languages.pattern(r"\b<TITLE_QUESTION>\b"),
        Pattern(r"[\"“”„«»'‘]\w[^\"“”„«»'‘’\n]{2,60}[\"“”«»'’]"),
    ),
}
_NONE: Mapping[str, float] = {}
_NO_WORDS: Mapping[str, float] = {"nearby": 0.0, "similar": 0.0, "covered": 0.0}


@dataclass(eq=False, repr=False, slots=True)
class CandidateRow:
    """A passage and its context, each as counts of the question's words. A search makes hundreds: slots halve that."""

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
    outdated: bool = False  # whether it does not hold today, and the question does not ask for what it says
    begins: float | None = None  # of a fact that is planned: from when it is true
    ends: float | None = None  # of a fact that ends in the future: until when
    role: str = ""  # of a message: user, or assistant when that is no other person
    empty: str = ""  # why it tells nothing: a question, small talk, an empty reply, or a repetition of another row
    neighbours: tuple[int, int] = (0, 0)  # ids of the passages before and after it; 0 when there is none
    cosines_around: tuple[float, float] = (0.0, 0.0)  # of these two
    withdrawn: bool = False  # a reply whose source was deleted
    answered: str = ""  # the message before a reply
    with_assistant: bool = False  # a message between a person and the assistant, not between people
    judged: bool = False  # whether it was judged if it tells anything
    unsupported: bool = False  # a reply that rests on nothing kept
    guessed: frozenset[str] = frozenset()  # of own_words: the stems that it holds otherwise spelt
    replaced_by: int = 0  # id of the passage of a later statement that holds instead
    replaced_in: str = ""  # the handle of that statement
    statements: tuple[frozenset[str], ...] = ()  # of a summary: the words of each of its sentences and details
    around: frozenset[str] | None = None  # the words in a wider window; of a message between people only
    exchange: int = 0  # the id of the reply, of a question and its reply when that is asked for
    said: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # how often both hold each word that is asked,
    said_length: int = 0  # in the same form and in any; and their length
    partner: int = 0  # the first passage of the other of the two

    frequencies: dict[str, float] = field(init=False)  # of each word, weighted by where it is
    _words: list[str] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        total = {term: OWN * count for term, count in self.own_words.items()}
        around = (BEFORE, self.before), (BEFORE_THAT, self.before_that), (AFTER, self.after)
        for weight, counts in (*around, (AUTHOR, self.by), (DATE, self.date), (FACTS, self.facts)):
            if counts:  # most are empty
                for term, count in counts.items():
                    total[term] = total.get(term, 0.0) + weight * count
        self.frequencies = total

    @property
    def words(self) -> list[str]:
        """The content words of its text."""
        if self._words is None:
            self._words = terms.content_words(self.text)
        return self._words


@frozen
class QueryContext:
    """What is known of a question before passages are compared with it."""

    text: str
    idfs: Mapping[str, float]  # of its stems, and of its runs in scripts without spaces
    stems: Mapping[str, Sequence[str]]  # of each content word that names no author, and of each run
    average: float = 1.0  # the average length of passages
    sessions: Mapping[int, float] = field(default_factory=dict)  # the sum of the best word hits of each
    authors: frozenset[str] = frozenset()  # those that it names
    vector_set: VectorSet | None = None  # whose cosines count
    fact_half_life: float = 0.0  # days; see Filter

    @property
    def feature_weights(self) -> Mapping[str, float]:
        return CONTEXTUAL if self.vector_set and self.vector_set.unit else WEIGHTS

    @cached_property
    def about_replies(self) -> bool:
        """Whether it is about what the assistant said."""
        return statements.asks_for_reply(self.text)

    @cached_property
    def asks_for_replies(self) -> bool:
        """Whether a reply may answer it: it is about what the assistant said, or how something was worked out."""
        return self.about_replies or statements.asks_how_it_was_done(self.text)

    def held_by(self, row: CandidateRow) -> Mapping[str, int]:
        """The words that a row holds: a reply that is asked for also those of the message that it answers."""
        return {**row.before, **row.own_words} if self.is_asked_for(row) else row.own_words

    def is_asked_for(self, row: CandidateRow) -> bool:
        """Whether it is a reply, and these are asked for."""
        return self.asks_for_replies and row.role == "assistant"

    @cached_property
    def is_own(self) -> bool:
        """Whether the person asks about themselves, and not what the assistant said."""
        return statements.is_in_first_person(self.text) and not self.about_replies

    def said_by(self, author: str, role: str) -> dict[str, float]:
        """The features of a passage that follow from who said it."""
        is_reply = role == "assistant"
        return {
            "speaker": float(author in self.authors),
            "mine": float(self.is_own and not is_reply),
            "reply": float(is_reply and not self.asks_for_replies),
        }

    @cached_property
    def weights(self) -> dict[str, float]:
        """The idf of each word."""
        return {word: max((self.idfs[stem] for stem in stems), default=0.0) for word, stems in self.stems.items()}

    @cached_property
    def total(self) -> float:
        return sum(self.weights.values()) or 1.0

    @cached_property
    def words_with(self) -> dict[str, list[str]]:
        """The words with each stem."""
        return {stem: [word for word, stems in self.stems.items() if stem in stems] for stem in self.idfs}

    def words_in(self, found: Iterable[str]) -> set[str]:
        """Its words of which a stem was found."""
        return set().union(*map(self.words_with.__getitem__, found))


@frozen
class Scored:
    row: CandidateRow
    score: float
    legs: Mapping[str, float]  # adds up to score
    coverage: float
    closeness: float | None = None  # how far its cosine is above that of unrelated texts, up to 1; None: no vectors
    relevance: float = 0.0  # the part of its score that is not owed to who said it
    features: Mapping[str, float] = field(default_factory=dict, repr=False)
    cosines: Mapping[str, float] = field(default_factory=dict, repr=False)  # of each word asked for to the likest in it
    certainty: float = -math.inf  # the log-odds that it answers the question
    signs: Mapping[str, float] = field(default_factory=dict, repr=False)  # what these follow from


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
    if held and row.role == "assistant":
        held = {*row.own_words, *row.by, *row.date, *row.facts}
    return sum([idfs[term] for term in held]) / (sum(idfs.values()) or 1.0) if held else 0.0


def score(question: QueryContext, rows: Sequence[CandidateRow]) -> list[Scored]:
    """Score rows by what is counted of them, best first."""
    weighted = [_weighted(question, row, found) for row, found in zip(rows, _features(question, rows), strict=True)]
    return sorted(weighted, key=_sort_key)


def score_closely(
    question: QueryContext, ordered: Sequence[Scored], embedder: QueryEmbedder | None = None
) -> list[Scored]:
    """Score the best rows again with what their texts show, and with the words like those asked for."""
    best, words = ordered[:CLOSELY], list(question.stems)
    texts = [each.row.words for each in best]
    matches = embedder.match_words(words, texts) if embedder and words else None
    cosines = [dict(zip(words, each, strict=True)) for each in matches] if matches else [dict[str, float]()] * len(best)
    closer = _close_features(question, [each.row for each in best], cosines)
    features = [{**each.features, **more} for each, more in zip(best, closer, strict=True)]
    for each, found in zip(best, features, strict=True) if statements.asks_for_advice(question.text) else ():
        if each.row.role != "assistant" and statements.tells_wish(each.row.text):
            found["wish"] = found["meaning"] + found["covered"]  # as far as it is about the same
    rescored = [
        _weighted(question, each.row, found, like) for each, found, like in zip(best, features, cosines, strict=True)
    ]
    return sorted([*rescored, *ordered[CLOSELY:]], key=_sort_key)


def _close_features(
    question: QueryContext, rows: Sequence[CandidateRow], matches: Sequence[Mapping[str, float]]
) -> list[dict[str, float]]:
    """The features of each row that its text must be read for. `matches`: of each word to the likest in each row."""
    asked_for = [(name, answer) for name, (pattern, answer) in ASKED_FOR.items() if pattern.search(question.text)]
    made = []
    for row, cosines in zip(rows, matches, strict=True):
        found = {name: float(bool(answer.search(row.text))) for name, answer in asked_for}
        found["question"] = statements.question_share(row.text)
        found["around"] = 0.0 if row.around is None else _share_around(question, row, row.around)
        if cosines:
            found |= _word_features(question, row, {word: _likeness(cosine) for word, cosine in cosines.items()})
        made.append(found)
    return made


def _weighted(
    question: QueryContext, row: CandidateRow, features: Mapping[str, float], cosines: Mapping[str, float] = _NONE
) -> Scored:
    weights = question.feature_weights
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
    """Best first, then newest; ids of passages change when they are rebuilt, so they come last."""
    return -each.score, -each.row.at, each.row.kind, -each.row.row, each.row.id


def _features(question: QueryContext, rows: Sequence[CandidateRow]) -> list[dict[str, float]]:
    """The features of each row that its counts are enough for, mostly between 0 and 1."""
    words = [bm25(row, question.idfs, question.average) for row in rows]
    best_words = max(words, default=0.0) or 1.0
    best_session = max(question.sessions.values(), default=0.0) or 1.0
    exchanges = _exchanges(rows) if question.asks_for_replies else {}
    above, made = question.vector_set.closeness if question.vector_set else lambda cosine: 0.0, []
    for row, word_score in zip(rows, words, strict=True):
        asked, in_talk = question.is_asked_for(row), row.kind == "m" and not row.with_assistant
        follows = in_talk or row.role != "user"  # what a person asks the assistant next is another matter
        before, after = row.cosines_around
        made.append(
            {
                "words": 0.0 if row.exchange else word_score / best_words,
                "exchange": exchanges.get(row.exchange, 0.0) if exchanges else 0.0,
                "asked reply": float(asked and row.exchange > 0),
                "session": question.sessions.get(row.session or 0, 0.0) / best_session if in_talk else 0.0,
                "meaning": above(max(row.cosine, before) if asked else row.cosine),
                "meaning before": above(before) if follows else 0.0,
                "meaning after": above(after),
                **question.said_by(row.author, row.role),
                "time": float(row.timely),
                "facts": _in_facts(question, row),
                **_word_features(question, row, {}),
            }
        )
    return made


def _exchanges(rows: Sequence[CandidateRow]) -> dict[int, float]:
    """For each exchange the BM25 of all of it among these, as a share of that of the best. All words count: those that
    most hold weigh next to nothing."""
    exchanges = {row.exchange: row for row in rows if row.exchange}
    average = max(1.0, sum(row.said_length for row in exchanges.values()) / max(1, len(exchanges)))
    scores = dict.fromkeys(exchanges, 0.0)
    for word in next(iter(exchanges.values())).said if exchanges else ():
        form = 0 if any(row.said[word][0] for row in exchanges.values()) else 1  # most hold some form of a word
        counts = {id: count for id, row in exchanges.items() if (count := row.said[word][form])}
        for id, count in counts.items():
            norm = K1 * (1 - EXCHANGE_B + EXCHANGE_B * exchanges[id].said_length / average)
            scores[id] += idf(len(exchanges), len(counts)) * count * (K1 + 1) / (count + norm)
    best = max(scores.values(), default=0.0) or 1.0
    return {id: score / best for id, score in scores.items()}


def _word_features(question: QueryContext, row: CandidateRow, likeness: Mapping[str, float]) -> Mapping[str, float]:
    """The shares of the question's words that are near, that have only like words, and that are covered by either.

    `likeness`: how alike each word of the question is to the likest in the row.
    """
    if row.exchange or not (likeness or row.frequencies):
        return _NO_WORDS
    weights, words_with = question.weights, question.words_with
    covered = dict[str, float]()
    places = (row.before_that, BEFORE_THAT), (row.after, AFTER), (row.before, BEFORE), (row.own_words, OWN)
    for counts, share in places:  # the greatest share last
        for stem in counts:
            for word in words_with[stem]:
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


def _share_around(question: QueryContext, row: CandidateRow, around: Set[str]) -> float:
    """The share of the question's words in the row and in its wider window."""
    found = question.words_in({*around, *row.own_words, *row.date, *row.facts})
    return brevity(row.length) * sum([question.weights[word] for word in found]) / question.total


def brevity(length: int) -> float:
    """1 for a short text, less for another: a longer one holds more by chance."""
    return 1 / (0.5 + 0.5 * math.sqrt(max(length / _SHORT, 1)))


def _likeness(cosine: float) -> float:
    """How alike two words are, from 0 to 1."""
    return min(1.0, max(0.0, (cosine - _SIMILAR_FLOOR) / (1 - _SIMILAR_FLOOR)))


def _in_facts(question: QueryContext, row: CandidateRow) -> float:
    """The share of the question's words in the facts taken from the row; each counts more when said more often."""
    if not row.facts:
        return 0.0
    found = sum(question.idfs[stem] * 1.6 * count / (count + 0.6) for stem, count in row.facts.items())
    return found / (sum(question.idfs.values()) or 1.0)
