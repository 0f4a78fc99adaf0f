"""Entities and relations: names in a question are spotted, and a forgotten fact leaves no name."""

import pytest

from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.language.triples import Claim, Triple
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.search import graph
from tests.conftest import HERE, memory_of, noon


def learn(db, statement, subject="", predicate="", object="", scope=HERE):
    triple = Triple(subject, predicate, object) if subject else None
    told = Claim(statement, "typed", triple=triple) if triple else adoption.claim(statement, "typed")
    return adoption.add(MemoryContext(db, scope, noon), told).fact


def learn_all(db, *statements):
    for each in statements:
        learn(db, each)


def named(db, owner, question):
    return list(graph.facts(db, graph.mentions(db, owner, question)))


def names(db):
    return [name for (name,) in db.rows("select name from entity order by name")]


def whole(db):
    """No entity without a relation, no alias without an entity."""
    used = "select subject_id from relation union select object_id from relation"
    assert db.rows(f"select name from entity where id not in ({used})") == []
    assert db.rows("select folded from alias where entity_id not in (select id from entity)") == []


@pytest.mark.parametrize(
    "question", ["Where does Zoë live?", "where does zoe live", "ZOË?", "What about Zoë's house?", "Wo wohnt Zoe?"]
)
def test_a_name_is_spotted_whatever_its_case_and_accents(db, question):
    fact = learn(db, "Zoë lives in Graz")
    learn(db, "Tom lives in Linz")
    assert named(db, "person", question) == [fact.id]


def test_a_thing_is_known_with_its_article_and_without(db):
    first = learn(db, "The NAS answers at 192.168.1.12")
    second = learn(db, "NAS runs Debian", "NAS", "runs", "Debian")
    assert names(db) == ["192.168.1.12", "Debian", "NAS"]
    assert named(db, "person", "is the nas up?") == [second.id, first.id]
    assert named(db, "person", "who is 192.168.1.12?") == [first.id]


def test_somebody_is_known_by_the_first_name(db):
    first = learn(db, "Anna Huber is my sister")
    second = learn(db, "Anna lives in Graz")
    assert named(db, "person", "What does Anna do?") == [second.id, first.id]
    assert names(db) == ["Anna Huber", "Graz", "person"]


def test_what_holds_more_of_the_names_comes_first(db):
    both = learn(db, "Anna lives in Graz")
    learn(db, "Anna likes tea")
    learn(db, "Tom lives in Graz")
    assert named(db, "person", "Does Anna live in Graz?")[0] == both.id


def test_no_name_is_no_fact_and_the_person_is_not_a_name(db):
    learn(db, "I live in Graz")
    assert named(db, "person", "Which person lives by the sea?") == []
    assert named(db, "person", "") == []
    assert named(db, "person", "the of and a") == []


def test_at_most_twenty_facts_are_brought(db):
    for number in range(30):
        learn(db, f"Anna has {number} cats", "Anna", "has", f"{number} cats")
    assert len(named(db, "person", "Anna?")) == 20


def test_a_replaced_or_hidden_fact_is_in_the_graph_no_more_and_one_that_waits_not_yet(db):
    adoption.propose(memory_of(db), adoption.claim("Anna lives in Graz", "model"))
    assert names(db) == []
    learn(db, "I live in Graz")
    learn(db, "I moved to Linz")
    assert names(db) == ["Linz", "person"]
    linz = facts.listing(db, "person", 1)[0]
    facts.hide(memory_of(db), linz)
    assert names(db) == []
    adoption.restore(memory_of(db), facts.get(db, linz.id, "person"))
    assert names(db) == ["Linz", "person"]
    whole(db)


def test_an_erased_fact_leaves_no_name_that_only_it_had(db):
    secret = learn(db, "Anna Xyzzyhuber is my sister")
    learn(db, "Anna lives in Graz")
    with db.write():
        facts.erase(db, [secret.id])
    assert names(db) == ["Anna", "Graz"]
    assert db.rows("select folded from alias where folded like '%xyzzy%'") == []
    whole(db)


def test_a_rebuilt_graph_is_the_same(db):
    learn_all(db, "Anna Huber is my sister", "Anna lives in Graz", "I moved to Linz", "The NAS answers at 10.0.0.1")

    def dump():
        return db.rows(
            """select r.fact_id, s.name, predicate, o.name from relation r join entity s on s.id = subject_id
               join entity o on o.id = object_id order by 1"""
        ), db.rows("select folded, name from alias join entity on entity.id = entity_id order by 1, 2")

    before = dump()
    graph.rebuild(db)
    assert dump() == before


def test_the_tree_tells_what_somebody_has_to_do_with(db):
    learn_all(db, "Anna is my sister", "Anna lives in Graz", "Tom lives in Graz", "Tom is allergic to walnuts")
    anna = [(0, "Anna"), (1, "sister of you (f1)"), (1, "lives_in: Graz (f2)")]
    further = [(2, "lives_in of Tom (f3)"), (3, "allergic_to: walnuts (f4)")]
    assert graph.outline(db, "person", "anna", 3) == [*anna, *further]
    assert graph.outline(db, "person", "anna", 1) == anna
    assert graph.outline(db, "person", "me", 1) == [(0, "you"), (1, "sister: Anna (f1)")]
    assert graph.outline(db, "person", "nobody", 3) == []
    assert graph.outline(db, "caller", None, 1) == []
    assert graph.outline(db, "person", None, 1)[:3] == [(0, "Anna: 2 facts"), (0, "Graz: 2 facts"), (0, "Tom: 2 facts")]
