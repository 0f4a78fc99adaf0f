"""Which skills may help with a question: few, and none where nothing speaks for one.

Compared are the question's words with names and descriptions alone, for these are written to be matched: by stems that
are rare among the skills, and by meaning where there are vectors. One shared word is too little, unless the question
has hardly another. The weights and floors were measured on 30 skills and 100 questions: of the 50 with
a skill it is found for 46 by words, and 2 of the 50 others are offered one in vain. Meaning finds 3 more and offers 3
more in vain where the steps are short; long steps drown the description in their passage, and it changes nothing.
"""

from collections.abc import Mapping, Sequence

from agent_cli.memory.language import terms
from agent_cli.memory.search import ranking, vectors
from agent_cli.memory.skills.skills import ACCEPTED
from agent_cli.store.db import Database, IndexDamaged
from agent_cli.values import frozen

MAX_MATCHES = 3
NAME, WEAK, SIMILARITY = 1.25, 0.4, 1.0  # weights: of a stem in the name, of one that any request may have, of nearness
FLOOR = 1.5  # what speaks for a skill must add up to so much, where 1 is one rare word; or
ALONE, COVERED = 1.2, 0.6  # so much, and so much of the question; or
SIMILAR_ENOUGH = 0.5  # so near in meaning, from the embedder's floor (0) to the same (1)
_PRIOR = 20  # skills that are thought of beside those there are: among three no word is rare
_HEAD, _TAIL = 400, 200  # characters of a long question in which it says what to do
_WEAKEST = """
    make made write help need new time times day days week today use used using get go want look find show give put
    start work working thing way good last next long year month first back plan run set add check change best
    machen mache brauche neu neue zeit tag heute woche hilf hilfe schreib schreibe gib zeig mach
"""
_WEAK = frozenset(_WEAKEST.split())


@frozen
class Match:
    id: int
    name: str
    description: str
    legs: Mapping[str, float]  # what speaks for it

    @property
    def score(self) -> float:
        return sum(self.legs.values())


@frozen
class _QueryTerms:
    weights: Mapping[str, float]  # of each stem, before it is known how rare it is
    starts: Sequence[str]  # what a text must hold to hold one of the stems
    pairs: Sequence[str]  # of scripts without spaces


def has_skills(db: Database, owner: str) -> bool:
    """Whether this owner has any skill at all."""
    return bool(
        db.value("select 1 from skill where owner = ? and state = ? and hidden_at is null limit 1", (owner, ACCEPTED))
    )


def find(db: Database, owner: str, question: str, vector: Sequence[float] | None = None) -> list[Match]:
    """The skills that may help, best first. `vector`: of the question, where there is one."""
    rows = db.rows(
        "select id, name, description from skill where owner = ? and state = ? and hidden_at is null",
        (owner, ACCEPTED),
    )
    asked = _query_terms(db, question)
    held = _stems_found(db, asked, rows)
    weights = _stem_weights(asked, held, len(rows))
    whole = sum(weights.values()) or 1.0
    near = _similarities(db, [row[0] for row in rows], vector)
    found = []
    for id, name, description in rows:
        named, told = held.get(id, (frozenset(), frozenset()))
        words = sum(weights[stem] * (NAME if stem in named else 1.0) for stem in told)
        covered = sum(weights[stem] for stem in told) / whole
        meaning = near.get(id, 0.0)
        enough = (
            words + SIMILARITY * meaning >= FLOOR
            or (words >= ALONE and covered >= COVERED)
            or meaning >= SIMILAR_ENOUGH
        )
        if enough:
            legs = {"words": words, "meaning": SIMILARITY * meaning}
            found.append(Match(id, name, description, {leg: share for leg, share in legs.items() if share}))
    return sorted(found, key=lambda match: (-match.score, match.name))[:MAX_MATCHES]


def _query_terms(db: Database, question: str) -> _QueryTerms:
    words = question if len(question) <= _HEAD + _TAIL else f"{question[:_HEAD]} {question[-_TAIL:]}"
    weights: dict[str, float] = {}
    for word in terms.content_words(words):
        if word not in terms.STOP_WORDS:
            weights |= dict.fromkeys(db.tokens(word), WEAK if word in _WEAK else 1.0)
    pairs = list(dict.fromkeys(pair for run in terms.unspaced_runs(words) for pair in terms.content_pairs(run)))
    # Stemming changes no more than the last letter of what is left.
    return _QueryTerms(weights | dict.fromkeys(pairs, 1.0), [stem[:-1] or stem for stem in weights], pairs)


def _stems_found(
    db: Database, asked: _QueryTerms, rows: Sequence[tuple[int, str, str]]
) -> dict[int, tuple[frozenset[str], frozenset[str]]]:
    """Of each skill that holds any, the question's stems in its name, and those in name or description."""
    worth = [row for row in rows if _may_match(f"{row[1]} {row[2]}", asked)]
    names = db.tokens_of([name for _, name, _ in worth])
    descriptions = db.tokens_of([description for _, _, description in worth])
    held = {}
    for (id, _, description), name, told in zip(worth, names, descriptions, strict=True):
        named = frozenset(stem for stem in name if stem in asked.weights)
        pairs = [pair for pair in asked.pairs if pair in description]
        held[id] = named, named.union((stem for stem in told if stem in asked.weights), pairs)
    return held


def _may_match(text: str, asked: _QueryTerms) -> bool:
    """Whether a text is worth being taken apart; one with other letters always is, for their marks are dropped."""
    folded = text.lower()
    return not text.isascii() or any(start in folded for start in asked.starts)


def _stem_weights(
    asked: _QueryTerms, held: Mapping[int, tuple[frozenset[str], frozenset[str]]], count: int
) -> dict[str, float]:
    """What each stem says, by how few of the skills hold it: 1 for one that only one holds."""
    rare = ranking.idf(count + _PRIOR, 1)
    found: dict[str, int] = {}
    for _, told in held.values():
        for stem in told:
            found[stem] = found.get(stem, 0) + 1
    return {
        stem: weight * min(1.0, ranking.idf(count + _PRIOR, found.get(stem, 0)) / rare)
        for stem, weight in asked.weights.items()
    }


def _similarities(db: Database, skills: Sequence[int], vector: Sequence[float] | None) -> dict[int, float]:
    """How near each skill is in meaning, by its nearest passage; 0 at the embedder's floor, 1 for the same."""
    among = vectors.current(db)
    if among is None or vector is None or len(vector) != among.dimension:
        return {}
    passages: dict[int, int] = dict(
        db.rows(
            "select p.id, p.row from json_each(?) c cross join passage p on p.kind = 'k' and p.row = c.value",
            (skills,),
        )
    )
    try:
        with db.index_access():
            cosines = vectors.cosines(db, among, vector, list(passages))
    except IndexDamaged:
        return {}
    near: dict[int, float] = {}
    for passage, cosine in cosines.items():
        share = max(0.0, (cosine - among.floor) / (1 - among.floor))
        near[passages[passage]] = max(share, near.get(passages[passage], 0.0))
    return near
