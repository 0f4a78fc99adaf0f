"""Finds the few skills that may help with a question, or none.

The question is compared with names and descriptions only, which are written to be matched: by word stems that are rare
among the skills, and by vector similarity where there are vectors. One shared word is too little, unless the question
has hardly another. The weights and thresholds were measured on 30 skills and 100 questions.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from agent_cli.memory.language import languages, terms
from agent_cli.memory.proposals import ACCEPTED
from agent_cli.memory.search import candidates, vectors
from agent_cli.store.db import Database, IndexDamaged
from agent_cli.values import frozen

MAX_MATCHES = 3
# Weights of a stem in the name, of a common word of requests, and of vector similarity.
NAME, WEAK, SIMILARITY = 1.25, 0.4, 1.0
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


def has_skills(db: Database, owner: str) -> bool:
    query = "select 1 from skill where owner = ? and state = ? and hidden_at is null limit 1"
    return bool(db.value(query, (owner, ACCEPTED)))


def find(db: Database, owner: str, question: str, vector: Sequence[float] | None = None) -> list[Match]:
    """The skills that may help, best first, at most three. `vector`: of the question, where there is one."""
    query = "select id, name, description from skill where owner = ? and state = ? and hidden_at is null"
    rows = db.rows(query, (owner, ACCEPTED))
    stems, weights = _stems(db, question, rows)
    whole = sum(weights.values()) or 1.0
    similarities = _similarities(db, [id for id, _, _ in rows], vector)
    found = []
    for id, name, description in rows:
        named, matched = stems.get(id, (set(), set()))
        words = sum(weights[stem] * (NAME if stem in named else 1.0) for stem in matched)
        covered = sum(weights[stem] for stem in matched) / whole
        similarity = similarities.get(id, 0.0)
        if (
            words + SIMILARITY * similarity >= MIN_SCORE
            or (words >= MIN_WORD_SCORE and covered >= MIN_COVERAGE)
            or similarity >= MIN_SIMILARITY
        ):
            legs = {"words": words, "meaning": SIMILARITY * similarity}
            found.append(Match(id, name, description, {leg: share for leg, share in legs.items() if share}))
    return sorted(found, key=lambda match: (-match.score, match.name))[:MAX_MATCHES]


def _stems(
    db: Database, question: str, rows: Sequence[tuple[int, str, str]]
) -> tuple[dict[int, tuple[set[str], set[str]]], dict[str, float]]:
    """The question's stems in the name and the text of each skill, and their weights by inverse document frequency; of
    scripts without spaces, pairs of characters."""
    asked = question if len(question) <= _HEAD + _TAIL else f"{question[:_HEAD]} {question[-_TAIL:]}"
    weights: dict[str, float] = {}
    for word in terms.content_words(asked):
        if word not in terms.STOP_WORDS:
            weights |= dict.fromkeys(db.tokens(word), WEAK if word in _WEAK else 1.0)
    pairs = list(dict.fromkeys(pair for run in terms.unspaced_runs(asked) for pair in terms.content_pairs(run)))
    weights |= dict.fromkeys(pairs, 1.0)
    names, descriptions = db.tokens_of([name for _, name, _ in rows]), db.tokens_of([words for _, _, words in rows])
    stems, count = dict[int, tuple[set[str], set[str]]](), Counter[str]()
    for (id, _, description), name, words in zip(rows, names, descriptions, strict=True):
        named = weights.keys() & name
        stems[id] = named, named | (weights.keys() & words) | {pair for pair in pairs if pair in description}
        count.update(stems[id][1])
    rare = candidates.idf(len(rows) + _PRIOR, 1)
    for stem in weights:
        weights[stem] *= min(1.0, candidates.idf(len(rows) + _PRIOR, count[stem]) / rare)
    return stems, weights


def _similarities(db: Database, skills: Sequence[int], vector: Sequence[float] | None) -> dict[int, float]:
    """The similarity of each skill by its nearest passage: 0 at the embedder's floor, 1 for equal vectors."""
    among = vectors.current(db)
    if among is None or vector is None or len(vector) != among.dimension:
        return {}
    query = "select p.id, p.row from json_each(?) c cross join passage p on p.kind = 'k' and p.row = c.value"
    passages: dict[int, int] = dict(db.rows(query, (skills,)))
    try:
        with db.index_access():
            cosines = vectors.cosines(db, among, vector, list(passages))
    except IndexDamaged:
        return {}
    near: dict[int, float] = {}
    for passage, cosine in cosines.items():
        near[passages[passage]] = max(min(1.0, among.closeness(cosine)), near.get(passages[passage], 0.0))
    return near
