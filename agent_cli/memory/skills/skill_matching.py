"""Finds the few skills that may help with a question, or none.

The question is compared with names and descriptions only, which are written to be matched: by word stems that are rare
among the skills, and by vector similarity where there are vectors. One shared word is too little, unless the question
has hardly another. The weights and thresholds were measured on 30 skills and 100 questions: of the 50 questions with a
skill, 46 are answered by words, and 2 of the other 50 get a wrong match. Similarity adds 3 right and 3 wrong matches
where the steps are short; with long steps their passage hides the description, and similarity changes nothing.
"""

from collections.abc import Mapping, Sequence

from agent_cli.memory.language import languages, terms
from agent_cli.memory.proposals import ACCEPTED
from agent_cli.memory.search import candidates, vectors
from agent_cli.store.db import Database, IndexDamaged
from agent_cli.values import frozen

MAX_MATCHES = 3
NAME, WEAK, SIMILARITY = (
    1.25,
    0.4,
    1.0,
)  # weights: of a stem in the name, of a common request word, of vector similarity
MIN_SCORE = 1.5  # a skill matches with at least this score, where 1 is one rare word; or
MIN_WORD_SCORE, MIN_COVERAGE = 1.2, 0.6  # with this score of words that cover this share of the question; or
MIN_SIMILARITY = 0.5  # with this similarity, from the embedder's floor (0) to equal (1)
_PRIOR = 20  # skills added to the count: among three skills no word is rare
_HEAD, _TAIL = 400, 200  # characters of a long question that are compared
_WEAK = languages.words("WEAK_WORDS")


@frozen
class Match:
    id: int
    name: str
    description: str
    legs: Mapping[str, float]  # score by signal

    @property
    def score(self) -> float:
        return sum(self.legs.values())


@frozen
class _QueryTerms:
    weights: Mapping[str, float]  # of each stem, regardless of its rarity
    starts: Sequence[str]  # beginnings of the stems, at least one of which a matching text contains
    pairs: Sequence[str]  # character pairs of scripts without spaces


def has_skills(db: Database, owner: str) -> bool:
    return bool(
        db.value("select 1 from skill where owner = ? and state = ? and hidden_at is null limit 1", (owner, ACCEPTED))
    )


def find(db: Database, owner: str, question: str, vector: Sequence[float] | None = None) -> list[Match]:
    """The skills that may help, best first, at most three. `vector`: of the question, where there is one."""
    rows = db.rows(
        "select id, name, description from skill where owner = ? and state = ? and hidden_at is null", (owner, ACCEPTED)
    )
    query = _query_terms(db, question)
    stems = _stems_found(db, query, rows)
    weights = _stem_weights(query, stems, len(rows))
    whole = sum(weights.values()) or 1.0
    similarities = _similarities(db, [row[0] for row in rows], vector)
    found = []
    for id, name, description in rows:
        named, matched = stems.get(id, (frozenset(), frozenset()))
        words = sum(weights[stem] * (NAME if stem in named else 1.0) for stem in matched)
        covered = sum(weights[stem] for stem in matched) / whole
        similarity = similarities.get(id, 0.0)
        enough = (
            words + SIMILARITY * similarity >= MIN_SCORE
            or (words >= MIN_WORD_SCORE and covered >= MIN_COVERAGE)
            or similarity >= MIN_SIMILARITY
        )
        if enough:
            legs = {"words": words, "meaning": SIMILARITY * similarity}
            found.append(Match(id, name, description, {leg: share for leg, share in legs.items() if share}))
    return sorted(found, key=lambda match: (-match.score, match.name))[:MAX_MATCHES]


def _query_terms(db: Database, question: str) -> _QueryTerms:
    words = question if len(question) <= _HEAD + _TAIL else f"{question[:_HEAD]} {question[-_TAIL:]}"
    weights: dict[str, float] = {}
    for word in terms.content_words(words):
        if word not in terms.STOP_WORDS:
            weights |= dict.fromkeys(db.tokens(word), WEAK if word in _WEAK else 1.0)
    pairs = list(dict.fromkeys(pair for run in terms.unspaced_runs(words) for pair in terms.content_pairs(run)))
    # Stemming changes at most the last letter of the stem.
    return _QueryTerms(weights | dict.fromkeys(pairs, 1.0), [stem[:-1] or stem for stem in weights], pairs)


def _stems_found(
    db: Database, query: _QueryTerms, rows: Sequence[tuple[int, str, str]]
) -> dict[int, tuple[frozenset[str], frozenset[str]]]:
    """For each skill that contains any of the question's stems: those in its name, and those in name or description."""
    worth = [row for row in rows if _may_match(f"{row[1]} {row[2]}", query)]
    names = db.tokens_of([name for _, name, _ in worth])
    descriptions = db.tokens_of([description for _, _, description in worth])
    stems_by_skill = {}
    for (id, _, description), name, matched in zip(worth, names, descriptions, strict=True):
        named = frozenset(stem for stem in name if stem in query.weights)
        pairs = [pair for pair in query.pairs if pair in description]
        stems_by_skill[id] = named, named.union((stem for stem in matched if stem in query.weights), pairs)
    return stems_by_skill


def _may_match(text: str, query: _QueryTerms) -> bool:
    """Whether a text may contain a stem; text that is not ASCII always may, since the tokenizer drops diacritics."""
    folded = text.lower()
    return not text.isascii() or any(start in folded for start in query.starts)


def _stem_weights(
    query: _QueryTerms, stems_by_skill: Mapping[int, tuple[frozenset[str], frozenset[str]]], count: int
) -> dict[str, float]:
    """The weight of each stem by its inverse document frequency: 1 for a stem of one skill alone."""
    rare = candidates.idf(count + _PRIOR, 1)
    found: dict[str, int] = {}
    for _, matched in stems_by_skill.values():
        for stem in matched:
            found[stem] = found.get(stem, 0) + 1
    return {
        stem: weight * min(1.0, candidates.idf(count + _PRIOR, found.get(stem, 0)) / rare)
        for stem, weight in query.weights.items()
    }


def _similarities(db: Database, skills: Sequence[int], vector: Sequence[float] | None) -> dict[int, float]:
    """The similarity of each skill by its nearest passage: 0 at the embedder's floor, 1 for equal vectors."""
    among = vectors.current(db)
    if among is None or vector is None or len(vector) != among.dimension:
        return {}
    passages: dict[int, int] = dict(
        db.rows(
            "select p.id, p.row from json_each(?) c cross join passage p on p.kind = 'k' and p.row = c.value", (skills,)
        )
    )
    try:
        with db.index_access():
            cosines = vectors.cosines(db, among, vector, list(passages))
    except IndexDamaged:
        return {}
    near: dict[int, float] = {}
    for passage, cosine in cosines.items():
        near[passages[passage]] = max(min(1.0, among.closeness(cosine)), near.get(passages[passage], 0.0))
    return near
