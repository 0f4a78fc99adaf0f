"""The facts of whom and what a question names, by a name ("Anna") or by a relation kept as a fact ("my sister").

"My sister" is resolved to the object of that relation, and the facts about it count as if they had said "sister".
What a named entity is related to follows one step behind, so that no fact is more than two relations away. A common
word that is somebody's name too ("Will", "Ernst") counts as a name only where it is written as one: with a capital, not
at the beginning of a sentence, not after an article.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from agent_cli.memory.entities import graph
from agent_cli.memory.language import languages, terms, triples
from agent_cli.store.db import Database
from agent_cli.text import Pattern
from agent_cli.values import frozen

MAX_FACTS = 20  # facts proposed for what a question names
_FACTS_PER_NAME = 200  # the newest facts of each name from which they are chosen
_FACTS_OF_RELATED = 5  # the newest facts of each entity that a named one is related to
_MAX_NAME_WORDS = 4
_MAX_WORDS = 100  # words of a question
_MAX_ENTITIES = 20
NAMED, RELATED = 1.0, 0.5  # weight of a fact about what is named by a proper name or a relation, and of any other

_WORD = re.compile(r"\w+")
_SENTENCE_BEGINS = Pattern(r"(?:^|[.!?:…\n])[^\w.!?:…\n]*$")
_POSSESSIVE = Pattern(rf"{languages.alternatives('POSSESSIVE')}\s+(\w+)(?:\s+(\w+))?(?:\s+(\w+))?", re.IGNORECASE)
_FAMILY_NAME = Pattern(rf"{languages.alternatives('FAMILY_NAME')}", re.IGNORECASE)
_COMMON_NAME = Pattern(rf"{languages.alternatives('COMMON_NAME')}", re.IGNORECASE)
_NO_NAME_AFTER = Pattern(rf"\b{languages.alternatives('NO_NAME_AFTER')}\s+$", re.IGNORECASE)
_ENDINGS = ("", "s", "n", "es", "en")  # of plural and genitive


@frozen
class Mention:
    """An entity that a question names."""

    entity: int
    words: tuple[str, ...]  # the words of the question that name it
    weight: float


@frozen
class NamedFact:
    weight: float
    words: frozenset[str] = frozenset()  # words of the question that the fact answers to, though it may not hold them


def facts(db: Database, named: Sequence[Mention], candidates: Sequence[int] = ()) -> dict[int, NamedFact]:
    """The facts of what is named: those with most of the names first, then the newest, then what is related.

    `candidates`: ids of facts that count as well, where they are about the same, however many newer ones there are.
    """
    found: dict[int, NamedFact] = {}
    counts: dict[int, int] = {}
    for each in named:
        for fact in _facts_of(db, each.entity, candidates):
            before = found.get(fact, NamedFact(0.0))
            found[fact] = NamedFact(max(before.weight, each.weight), before.words.union(each.words))
            counts[fact] = counts.get(fact, 0) + 1
    chosen = sorted(counts, key=lambda fact: (-counts[fact], -found[fact].weight, -fact))[:MAX_FACTS]
    related = _facts_of_related(db, [each.entity for each in named if each.weight == NAMED])
    wanted = [*chosen, *found.keys() & set(candidates), *related][: MAX_FACTS + len(candidates)]
    return {fact: found.get(fact, NamedFact(RELATED)) for fact in wanted}


def mentions(db: Database, owner: str, question: str) -> list[Mention]:
    """The entities that a question names."""
    found: dict[int, Mention] = {}
    for each in (*_by_relation(db, owner, question), *_by_name(db, owner, question)):
        found.setdefault(each.entity, each)
    return list(found.values())[:_MAX_ENTITIES]


def _by_name(db: Database, owner: str, question: str) -> list[Mention]:
    grams = dict(_grams(question))
    rows = db.rows(
        """select distinct a.entity_id, g.value, e.name
           from json_each(?) g cross join alias a on a.owner = ? and a.folded = g.value
           join entity e on e.id = a.entity_id limit ?""",
        (sorted(grams), owner, _MAX_ENTITIES),
    )
    return [Mention(id, grams[gram], NAMED if name[:1] != name[:1].lower() else RELATED) for id, gram, name in rows]


def _grams(question: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What may be a name: up to four neighbouring words, folded, each with its words; also without a genitive s."""
    words = list(_WORD.finditer(question))[:_MAX_WORDS]
    folded = [graph.fold(word[0]) for word in words]
    telling = [_may_be_a_name(question, word) for word in words]
    for start in range(len(words)):
        for end in range(start + 1, min(start + _MAX_NAME_WORDS, len(words)) + 1):
            if any(telling[start:end]):
                gram = " ".join(folded[start:end])
                yield from ((each, tuple(folded[start:end])) for each in {gram, gram.removesuffix("s")} - {""})


def _may_be_a_name(question: str, word: re.Match[str]) -> bool:
    folded, before = word[0].casefold(), question[: word.start()]
    if folded not in terms.STOP_WORDS and not _COMMON_NAME.fullmatch(folded):
        return True
    return word[0][0].isupper() and not _SENTENCE_BEGINS.search(before) and not _NO_NAME_AFTER.search(before)


def relations(question: str) -> dict[str, str]:
    """The predicates of relations to the person that a question names, each with its word: of "my sister" sister."""
    return {name: word for word in _relation_words(question) for name in _predicates(word)}


def related(db: Database, owner: str, predicates: Iterable[str]) -> list[tuple[str, int, str]]:
    """(predicate, entity, its name) of those that have one of these relations to the person, the newest fact first."""
    return db.rows(
        """select r.predicate, o.id, o.name from entity p cross join relation r on r.subject_id = p.id
           cross join entity o on o.id = r.object_id
           where p.owner = ? and p.name = ? and r.predicate in (select value from json_each(?))
           order by +r.fact_id desc limit ?""",
        (owner, graph.PERSON, sorted(predicates), _MAX_ENTITIES),
    )


def _by_relation(db: Database, owner: str, question: str) -> list[Mention]:
    """What the relations in a question lead to, "my sister" to Anna and to what is told of Anna by her name alone."""
    words = relations(question)
    return [
        Mention(entity, (words[predicate],), NAMED)
        for predicate, object, _ in (related(db, owner, words) if words else ())
        for entity in (object, *graph.bare_names(db, object))
    ]


def _relation_words(question: str) -> Iterator[str]:
    """The words of a question that may be a relation to the person: of "my little sister" both."""
    for group in _POSSESSIVE.findall(question):
        for word in group:
            if not word or word.casefold() in terms.STOP_WORDS:
                break
            yield word.casefold()
    yield from (word.casefold() for word in _WORD.findall(question) if _FAMILY_NAME.fullmatch(word))


def _predicates(word: str) -> set[str]:
    """The predicates that a word may stand for, in the plural and the genitive too."""
    stems = {word.removesuffix(ending) for ending in _ENDINGS}
    return {name for stem in stems if len(stem) > 1 for name in triples.named_by(stem)}


def _facts_of(db: Database, entity: int, candidates: Sequence[int]) -> list[int]:
    """The newest facts of an entity, and those of the candidates that are about it."""
    newest = f"order by fact_id desc limit {_FACTS_PER_NAME}"
    rows = db.rows(
        f"""select * from (select fact_id from relation where subject_id = ?1 {newest})
            union select * from (select fact_id from relation where object_id = ?1 {newest})
            union select r.fact_id from json_each(?2) c cross join relation r on r.fact_id = c.value
                  where ?1 in (r.subject_id, r.object_id)""",
        (entity, candidates),
    )
    return [fact for (fact,) in rows]


def _facts_of_related(db: Database, entities: Sequence[int]) -> Iterator[int]:
    """The newest facts about what these entities are related to."""
    related: Mapping[int, None] = dict.fromkeys(
        id
        for entity in entities
        for (id,) in db.rows(
            "select object_id from relation where subject_id = ? order by fact_id desc limit ?", (entity, MAX_FACTS)
        )
        if id not in entities
    )
    for entity in related:
        for (fact,) in db.rows(
            "select fact_id from relation where subject_id = ? order by fact_id desc limit ?",
            (entity, _FACTS_OF_RELATED),
        ):
            yield fact
