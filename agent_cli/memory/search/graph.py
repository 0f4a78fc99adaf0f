"""Who has to do with whom: entities and relations, made from accepted facts. Derived; dropped and rebuilt at will.

A name is known whatever its case, accents and article, and a person by the first name too; so a name in a question is
spotted without a model. An entity is called as a fact calls it that is still there: a forgotten fact leaves no name.
"""

import re
import unicodedata
from collections.abc import Iterator

from agent_cli.memory.language import terms
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.text import Pattern, counted

PERSON = "person"
MAX_FACTS = 20  # facts that the names in a question bring
_FACTS_PER_NAME = 200  # of each name so many facts are looked at, the newest
_MAX_NAME_WORDS = 4  # words of a name
_MAX_QUESTION_WORDS = 100  # words of a question
_MAX_NEIGHBOURS = 2000  # neighbours at most
_MAX_SHOWN = 30  # relations of one entity in a tree, and best connected entities

_ARTICLE = Pattern(r"^(?:the|an?|der|die|das|den|dem|ein|eine|einen)\s+(?=\S)")
_FULL_NAME = Pattern(r"[^\W\d_][\w'’-]+(?: (?:von|van|de|der|[^\W\d_][\w'’.-]*)){1,3}")


def add_fact(db: Database, fact: int, owner: str, subject: str, predicate: str, object: str) -> None:
    """Take a fact that is true now in. Runs in the caller's transaction."""
    remove_fact(db, fact)
    _relate(db, fact, owner, subject, predicate, object)


def remove_fact(db: Database, fact: int) -> None:
    """Take a fact out, with the names that no other fact holds. Runs in the caller's transaction."""
    row = db.row("select subject_id, object_id from relation where fact_id = ?", (fact,))
    if row is None:
        return
    db.execute("delete from relation where fact_id = ?", (fact,))
    for entity in set(row):
        _tidy(db, entity)


def rebuild(db: Database) -> None:
    """Make the graph anew from the facts that are true now."""
    with db.write():
        for table in ("relation", "alias", "entity"):
            db.execute(f"delete from {table}")
        for row in db.rows(
            """select id, owner, subject, predicate, object from fact
               where state = 'accepted' and valid_to is null and hidden_at is null and predicate <> '' order by id"""
        ):
            _relate(db, *row)


def facts_named_in(db: Database, owner: str, question: str) -> list[int]:
    """Facts about what a question names: first those with most of the names, then the newest."""
    counts: dict[int, int] = {}
    newest = f"order by fact_id desc limit {_FACTS_PER_NAME}"
    for entity in _named(db, owner, question):
        rows = db.rows(
            f"""select * from (select fact_id from relation where subject_id = ?1 {newest})
                union select * from (select fact_id from relation where object_id = ?1 {newest})""",
            (entity,),
        )
        for (fact,) in rows:
            counts[fact] = counts.get(fact, 0) + 1
    return sorted(counts, key=lambda fact: (-counts[fact], -fact))[:MAX_FACTS]


def neighbours(db: Database, entity: int, depth: int) -> dict[int, int]:
    """The nearest entities within so many relations, and how far each is.

    What has to do with very many, as the person has, links none of them.
    """
    return dict(
        db.rows(
            f"""with recursive near (id, far) as (
                    values (:entity, 0)
                    union
                    select iif(r.subject_id = near.id, r.object_id, r.subject_id), near.far + 1
                    from near cross join relation r on r.subject_id = near.id or r.object_id = near.id
                    where near.far < :depth
                      and (near.far = 0 or {_FACTS_PER_NAME} >= (select count(*) from (
                          select 1 from relation where subject_id = near.id union all
                          select 1 from relation where object_id = near.id limit {_FACTS_PER_NAME + 1})))
                    limit {_MAX_NEIGHBOURS})
                select id, min(far) from near group by id""",
            {"entity": entity, "depth": depth},
        )
    )


def outline(db: Database, owner: str, name: str | None, depth: int) -> list[tuple[int, str]]:
    """(depth, line) of what an entity has to do with; without a name the best connected ones, each with its count."""
    if name is None:
        rows = db.rows(
            f"""with r as (select subject_id as id, count(*) as told from relation group by subject_id
                    union all select object_id, count(*) from relation group by object_id)
                select e.name, sum(told) from r join entity e on e.id = r.id
                where e.owner = ? group by e.id order by sum(told) desc, e.name limit {_MAX_SHOWN}""",
            (owner,),
        )
        return [(0, f"{_shown(each)}: {counted(count, 'fact')}") for each, count in rows]
    lines: list[tuple[int, str]] = []
    for root in _by_alias(db, owner, fold(name)) or _by_name(db, owner, name):
        lines.append((0, _shown(str(db.value("select name from entity where id = ?", (root,))))))
        lines += _branches(db, root, neighbours(db, root, depth), 1, depth, set())
    return lines


def fold(name: str) -> str:
    """A name without case, accents, marks and its article."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name.casefold()) if not unicodedata.combining(c))
    return " ".join(re.findall(r"\w+", _ARTICLE.sub("", " ".join(plain.split()))))


def _branches(
    db: Database, root: int, far: dict[int, int], level: int, depth: int, seen: set[int]
) -> Iterator[tuple[int, str]]:
    """The relations of an entity, each told once, and beneath it those of the entity on its other end."""
    newest = f"order by fact_id desc limit {_MAX_SHOWN + 1}"
    rows = db.rows(
        f"""select r.fact_id, r.subject_id = ?1, r.predicate, iif(r.subject_id = ?1, o.id, s.id), s.name, o.name
            from (select * from (select * from relation where subject_id = ?1 {newest})
                  union select * from (select * from relation where object_id = ?1 {newest}) {newest}) r
            join entity s on s.id = r.subject_id join entity o on o.id = r.object_id order by r.fact_id desc""",
        (root,),
    )
    for fact, onward, predicate, other, subject, object in sorted(rows[:_MAX_SHOWN]):
        if fact in seen:
            continue
        seen.add(fact)
        line = f"{predicate}: {_shown(object)}" if onward else f"{predicate} of {_shown(subject)}"
        yield level, f"{line} ({ids.handle('fact', fact)})"
        if level < depth and far.get(other) == level and _shown(subject if not onward else object) != "you":
            yield from _branches(db, other, far, level + 1, depth, seen)
    if len(rows) > _MAX_SHOWN:
        yield level, "… and older ones"


def _relate(db: Database, fact: int, owner: str, subject: str, predicate: str, object: str) -> None:
    ends = _entity(db, owner, subject), _entity(db, owner, object)
    db.execute("insert into relation values (?, ?, ?, ?)", (fact, ends[0], predicate, ends[1]))


def _entity(db: Database, owner: str, name: str) -> int:
    """The entity with this name, made when there is none: "Anna" is Anna Huber while there is no other Anna."""
    folded = fold(name)
    same = db.value("select id from entity where owner = ? and name = ?", (owner, name))
    known = [same] if same else _by_alias(db, owner, folded) if folded else []
    if len(known) == 1:
        return int(known[0])
    id = db.insert("insert into entity (owner, name) values (?, ?)", (owner, name))
    if name != PERSON:
        db.execute_many("insert into alias values (?, ?, ?)", [(owner, alias, id) for alias in _aliases(name)])
    return id


def _aliases(name: str) -> set[str]:
    """How a name is told, folded."""
    folded = fold(name)
    aliases = {folded} - {""}
    if _FULL_NAME.fullmatch(name) and all(word[0].isupper() for word in (name.split()[0], name.split()[-1])):
        aliases.add(folded.split()[0])
    return aliases


def _by_alias(db: Database, owner: str, folded: str) -> list[int]:
    rows = db.rows("select entity_id from alias where owner = ? and folded = ? order by entity_id", (owner, folded))
    return [id for (id,) in rows]


def _by_name(db: Database, owner: str, name: str) -> list[int]:
    me = name.casefold() in ("me", "i", "you", "ich", PERSON)
    rows = db.rows("select id from entity where owner = ? and name = ?", (owner, PERSON if me else name))
    return [id for (id,) in rows]


def _tidy(db: Database, entity: int) -> None:
    """Drop an entity that no fact holds; make one anew whose name only a fact had that is gone."""
    name = db.value("select name from entity where id = ?", (entity,))
    used = (
        "exists (select 1 from relation where subject_id = ?1) or exists (select 1 from relation where object_id = ?1)"
    )
    if name == PERSON or name is None:
        if name and not db.value(f"select {used}", (entity,)):
            db.execute("delete from entity where id = ?", (entity,))
        return
    so_called = db.value(
        """select 1 from relation r join fact f on f.id = r.fact_id where r.subject_id = ?1 and f.subject = ?2
           union all
           select 1 from relation r join fact f on f.id = r.fact_id where r.object_id = ?1 and f.object = ?2 limit 1""",
        (entity, name),
    )
    if so_called:
        return
    left = db.rows(
        """select f.id, f.owner, f.subject, f.predicate, f.object from relation r join fact f on f.id = r.fact_id
           where r.subject_id = ?1 or r.object_id = ?1 order by f.id""",
        (entity,),
    )
    db.execute("delete from relation where subject_id = ?1 or object_id = ?1", (entity,))
    db.execute("delete from alias where entity_id = ?", (entity,))
    db.execute("delete from entity where id = ?", (entity,))
    for row in left:
        _relate(db, *row)


def _named(db: Database, owner: str, question: str) -> list[int]:
    """The entities that a question names."""
    words = fold(question).split()[:_MAX_QUESTION_WORDS]
    grams = {
        " ".join(words[start : start + length])
        for length in range(1, _MAX_NAME_WORDS + 1)
        for start in range(len(words) - length + 1)
        if any(word not in terms.STOP_WORDS for word in words[start : start + length])
    }
    rows = db.rows(
        """select distinct a.entity_id from json_each(?) g cross join alias a on a.owner = ? and a.folded = g.value
           limit 20""",
        (sorted(grams), owner),
    )
    return [id for (id,) in rows]


def _shown(name: str) -> str:
    return "you" if name == PERSON else name
