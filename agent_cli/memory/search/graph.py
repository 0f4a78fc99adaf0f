"""The graph of entities and relations, derived from accepted facts, and which facts a question names by it.

Names match whatever their case, accents and article, and a person by the first name too. An entity has its name from a
fact that still exists: a forgotten fact leaves no name behind.

A question names somebody by a name ("Anna") or by a relation kept as a fact ("my sister"), which is resolved to its
object. What a named entity is related to follows one step behind. A common word that is somebody's name too ("Will",
"Ernst") counts as a name only where it is written as one: with a capital, not at the beginning of a sentence, not after
an article.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from agent_cli.memory.language import languages, terms, triples
from agent_cli.store import ids
from agent_cli.store.db import Database, Row
from agent_cli.text import Pattern, counted
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
    entity: int
    words: tuple[str, ...]  # the words of the question that name it
    weight: float


def facts(
    db: Database, named: Sequence[Mention], candidates: Sequence[int] = ()
) -> dict[int, tuple[float, frozenset[str]]]:
    """The facts of what is named, those with most of the names first: the weight of each, and the words of the question
    that it answers to. `candidates`: further facts that count where they are about the same."""
    naming: dict[int, list[Mention]] = {}
    for each in named:
        for fact in _facts_of(db, each.entity, candidates):
            naming.setdefault(fact, []).append(each)
    weights = {fact: max(each.weight for each in by) for fact, by in naming.items()}
    chosen = sorted(naming, key=lambda fact: (-len(naming[fact]), -weights[fact], -fact))[:MAX_FACTS]
    related = _facts_of_related(db, [each.entity for each in named if each.weight == NAMED])
    wanted = [*chosen, *naming.keys() & set(candidates), *related][: MAX_FACTS + len(candidates)]
    return {
        fact: (weights.get(fact, RELATED), frozenset(word for each in naming.get(fact, ()) for word in each.words))
        for fact in wanted
    }


def mentions(db: Database, owner: str, question: str) -> list[Mention]:
    """The entities that a question names."""
    found: dict[int, Mention] = {}
    for each in (*_by_relation(db, owner, question), *_mentioned_by_name(db, owner, question)):
        found.setdefault(each.entity, each)
    return list(found.values())[:_MAX_ENTITIES]


def _mentioned_by_name(db: Database, owner: str, question: str) -> list[Mention]:
    words = list(_WORD.finditer(question))[:_MAX_WORDS]
    folded = [fold(word[0]) for word in words]
    telling = [_may_be_a_name(question, word) for word in words]
    grams = dict[str, tuple[str, ...]]()  # neighbouring words, also without a genitive s
    for start in range(len(words)):
        for end in range(start + 1, min(start + _MAX_NAME_WORDS, len(words)) + 1):
            if any(telling[start:end]):
                gram = " ".join(folded[start:end])
                grams |= dict.fromkeys({gram, gram.removesuffix("s")} - {""}, tuple(folded[start:end]))
    query = """select distinct a.entity_id, g.value, e.name
               from json_each(?) g cross join alias a on a.owner = ? and a.folded = g.value
               join entity e on e.id = a.entity_id limit ?"""
    rows = db.rows(query, (sorted(grams), owner, _MAX_ENTITIES))
    return [Mention(id, grams[gram], NAMED if name[:1] != name[:1].lower() else RELATED) for id, gram, name in rows]


def _may_be_a_name(question: str, word: re.Match[str]) -> bool:
    folded, before = word[0].casefold(), question[: word.start()]
    if folded not in terms.STOP_WORDS and not _COMMON_NAME.fullmatch(folded):
        return True
    return word[0][0].isupper() and not _SENTENCE_BEGINS.search(before) and not _NO_NAME_AFTER.search(before)


def relations(question: str) -> dict[str, str]:
    """The predicates of relations to the person that a question names, each with its word: of "my sister" sister."""
    words = list[str]()
    for group in _POSSESSIVE.findall(question):  # of "my little sister" both
        words += takewhile(lambda word: word and word not in terms.STOP_WORDS, map(str.casefold, group))
    words += (word.casefold() for word in _WORD.findall(question) if _FAMILY_NAME.fullmatch(word))
    found = dict[str, str]()
    for word in words:
        stems = {word.removesuffix(ending) for ending in _ENDINGS}
        found |= dict.fromkeys((name for stem in stems if len(stem) > 1 for name in triples.named_by(stem)), word)
    return found


def related(db: Database, owner: str, predicates: Iterable[str]) -> list[tuple[str, int, str]]:
    """(predicate, entity, its name) of those that have one of these relations to the person, the newest fact first."""
    query = """select r.predicate, o.id, o.name from entity p cross join relation r on r.subject_id = p.id
               cross join entity o on o.id = r.object_id
               where p.owner = ? and p.name = ? and r.predicate in (select value from json_each(?))
               order by +r.fact_id desc limit ?"""
    return db.rows(query, (owner, PERSON, sorted(predicates), _MAX_ENTITIES))


def _by_relation(db: Database, owner: str, question: str) -> list[Mention]:
    """What the relations in a question lead to, "my sister" to Anna and to what is told of Anna by her name alone."""
    words = relations(question)
    return [
        Mention(entity, (words[predicate],), NAMED)
        for predicate, object, _ in (related(db, owner, words) if words else ())
        for entity in (object, *bare_names(db, object))
    ]


def _facts_of(db: Database, entity: int, candidates: Sequence[int]) -> list[int]:
    """The newest facts of an entity, and those of the candidates that are about it."""
    newest = f"order by fact_id desc limit {_FACTS_PER_NAME}"
    query = f"""select * from (select fact_id from relation where subject_id = ?1 {newest})
                union select * from (select fact_id from relation where object_id = ?1 {newest})
                union select r.fact_id from json_each(?2) c cross join relation r on r.fact_id = c.value
                      where ?1 in (r.subject_id, r.object_id)"""
    return db.column(query, (entity, candidates))


def _facts_of_related(db: Database, entities: Sequence[int]) -> Iterator[int]:
    """The newest facts about what these entities are related to."""
    sql = "select {} from relation where subject_id = ? order by fact_id desc limit ?"
    related = dict[int, None]()
    for entity in entities:
        related |= dict.fromkeys(db.column(sql.format("object_id"), (entity, MAX_FACTS)))
    for entity in (id for id in related if id not in entities):
        yield from db.column(sql.format("fact_id"), (entity, _FACTS_OF_RELATED))


PERSON = "person"
_MAX_SHOWN = 30  # relations of one entity in a tree, and best connected entities
_ARTICLE = Pattern(rf"^{languages.alternatives('ARTICLE')}\s+(?=\S)")
_FULL_NAME = Pattern(r"[^\W\d_][\w'’-]+(?: (?:von|van|de|der|[^\W\d_][\w'’.-]*)){1,3}")


def add_fact(db: Database, fact: int, owner: str, subject: str, predicate: str, object: str) -> None:
    remove_fact(db, fact)
    _relate(db, fact, owner, subject, predicate, object)


def remove_fact(db: Database, fact: int) -> None:
    """Remove a fact, with the names that no other fact holds. Runs in the caller's transaction."""
    row = db.row("select subject_id, object_id from relation where fact_id = ?", (fact,))
    if row is None:
        return
    db.execute("delete from relation where fact_id = ?", (fact,))
    for entity in set(row):
        _tidy_entity(db, entity)


def rebuild(db: Database) -> None:
    with db.write():
        for table in ("relation", "alias", "entity"):
            db.execute(f"delete from {table}")
        for row in db.rows(
            """select id, owner, subject, predicate, object from fact
               where state = 'accepted' and hidden_at is null and predicate <> '' order by id"""
        ):
            _relate(db, *row)


def outline(db: Database, owner: str, name: str | None, depth: int) -> list[tuple[int, str]]:
    """(depth, line) of an entity's relations; without a name, the best connected entities but for bare values."""
    if name is None:
        query = f"""with r as (select subject_id as id, count(*) as n from relation group by subject_id
                        union all select object_id, count(*) from relation group by object_id)
                    select e.name, sum(n) from r join entity e on e.id = r.id
                    where e.owner = ? and ' ' || e.name not glob '* [0-9]*'
                    group by e.id order by sum(n) desc, e.name limit {_MAX_SHOWN}"""
        rows = db.rows(query, (owner,))
        return [(0, f"{_display_name(each)}: {counted(count, 'fact')}") for each, count in rows]
    shown_lines = list[tuple[int, str]]()
    itself = PERSON if name.casefold() in languages.phrases("SELF_NAMES") else name
    by_name = "select id from entity where owner = ? and name = ?"
    for root in _by_alias(db, owner, fold_name(name)) or db.column(by_name, (owner, itself)):
        shown_lines.append((0, _display_name(str(db.value("select name from entity where id = ?", (root,))))))
        shown_lines += _branches(db, root, depth)
    return shown_lines


def outside(db: Database, owner: str) -> int:
    sql = "select count(*) from fact where owner = ? and state = 'accepted' and hidden_at is null and predicate = ''"
    return int(db.value(sql, (owner,)))


def fold_name(name: str) -> str:
    """A name without case, accents, punctuation and article."""
    return " ".join(re.findall(r"\w+", _ARTICLE.sub("", " ".join(fold(name).split()))))


def fold(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(c))


def bare_names(db: Database, entity: int) -> list[int]:
    """The entities that are called no more than this one may be called in short: "Anna" for Anna Huber."""
    owner, name = db.rows("select owner, name from entity where id = ?", (entity,))[0]
    short = [id for alias in _aliases(name) - {fold_name(name)} for id in _by_alias(db, owner, alias)]
    return [id for id in short if len(str(db.value("select name from entity where id = ?", (id,))).split()) == 1]


def _branches(db: Database, root: int, depth: int) -> Iterator[tuple[int, str]]:
    """The relations of an entity, each once, followed by those of the entity at its other end, which is shown where it
    is nearest; not by those of the person."""
    newest, levels, relations = f"order by fact_id desc limit {_MAX_SHOWN + 1}", {root: 1}, dict[int, list[Row]]()
    for entity in (waiting := [root]):  # grows meanwhile
        query = f"""select r.fact_id, r.predicate, r.subject_id = ?1, o.id, o.name from (
                        select * from (select *, object_id as other from relation where subject_id = ?1 {newest}) union
                        select * from (select *, subject_id from relation where object_id = ?1 {newest}) {newest}) r
                    join entity o on o.id = r.other order by r.fact_id desc"""
        relations[entity] = db.rows(query, (entity,))
        if levels[entity] < depth:
            near = dict.fromkeys(id for *_, id, name in relations[entity] if name != PERSON and id not in levels)
            levels |= dict.fromkeys(near, levels[entity] + 1)
            waiting += near
    seen = set[int]()

    def below(entity: int) -> Iterator[tuple[int, str]]:
        for fact, predicate, onward, other, name in sorted(relations[entity][:_MAX_SHOWN]):
            if fact not in seen:
                seen.add(fact)
                line = f"{predicate}{':' if onward else ' of'} {_display_name(name)} ({ids.handle('fact', fact)})"
                yield levels[entity], line
                if levels.get(other) == levels[entity] + 1:
                    yield from below(other)
        if len(relations[entity]) > _MAX_SHOWN:
            yield levels[entity], "… and older ones"

    yield from below(root)


def _relate(db: Database, fact: int, owner: str, subject: str, predicate: str, object: str) -> None:
    ends = _entity(db, owner, subject), _entity(db, owner, object)
    db.execute("insert into relation values (?, ?, ?, ?)", (fact, ends[0], predicate, ends[1]))


def _entity(db: Database, owner: str, name: str) -> int:
    """The entity with this name, created when there is none: "Anna" is Anna Huber unless there is another Anna."""
    folded = fold_name(name)
    same = db.value("select id from entity where owner = ? and name = ?", (owner, name))
    known = [same] if same else _by_alias(db, owner, folded) if folded else []
    if len(known) == 1:
        return int(known[0])
    id = db.insert("entity", {"owner": owner, "name": name})
    if name != PERSON:
        db.execute_many("insert into alias values (?, ?, ?)", [(owner, alias, id) for alias in _aliases(name)])
    return id


def _aliases(name: str) -> set[str]:
    folded = fold_name(name)
    aliases = {folded} - {""}
    if _FULL_NAME.fullmatch(name) and all(word[0].isupper() for word in (name.split()[0], name.split()[-1])):
        aliases.add(folded.split()[0])
    return aliases


def _by_alias(db: Database, owner: str, folded: str) -> list[int]:
    return db.column("select entity_id from alias where owner = ? and folded = ? order by entity_id", (owner, folded))


def _tidy_entity(db: Database, entity: int) -> None:
    """Delete an entity without facts; recreate one whose name came only from a deleted fact."""
    name = db.value("select name from entity where id = ?", (entity,))
    if name == PERSON or name is None:
        used = "select 1 from relation where subject_id = ?1 union all select 1 from relation where object_id = ?1"
        if name and not db.value(f"{used} limit 1", (entity,)):
            db.execute("delete from entity where id = ?", (entity,))
        return
    query = """select 1 from relation r join fact f on f.id = r.fact_id where r.subject_id = ?1 and f.subject = ?2
           union all
           select 1 from relation r join fact f on f.id = r.fact_id where r.object_id = ?1 and f.object = ?2 limit 1"""
    if db.value(query, (entity, name)):
        return
    sql = """select f.id, f.owner, f.subject, f.predicate, f.object from relation r join fact f on f.id = r.fact_id
                  where r.subject_id = ?1 or r.object_id = ?1 order by f.id"""
    left = db.rows(sql, (entity,))
    db.execute("delete from relation where subject_id = ?1 or object_id = ?1", (entity,))
    db.execute("delete from alias where entity_id = ?", (entity,))
    db.execute("delete from entity where id = ?", (entity,))
    for row in left:
        _relate(db, *row)


def _display_name(name: str) -> str:
    return "you" if name == PERSON else name
