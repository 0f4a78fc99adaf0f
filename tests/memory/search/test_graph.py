"""Entities and relations: names in a question are spotted, and a forgotten fact leaves no name."""

import pytest

from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.language.triples import Claim, Triple
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.search import graph, index
from tests.conftest import HERE, memory_of, noon
from tests.recalling import STRANGER, find, say
from tests.tables import columns, listed


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


def recalled(db, question, **more):
    """The verdict and the statements found."""
    found = find(db, question, limit=5, **more)
    return found.verdict, [hit.text for hit in found.hits]


def fill(db, session):
    """Other things that are remembered, so that no word of a question is rare by accident."""
    for number in range(30):
        say(db, session, f"What should I cook tonight, number {number}, and what can I eat at noon?")
        say(db, session, f"Was kann ich heute essen oder kochen, Nummer {number}?")


ENGLISH = ("My sister is called Anna", "Anna is allergic to nuts")
GERMAN = ("Meine Schwester heißt Anna", "Anna ist allergisch gegen Nüsse")


@pytest.mark.parametrize("question", ["What should I cook tonight for Anna?", "what can anna eat?", "Anna's dinner?"])
def test_a_name_brings_the_facts_of_the_person(db, session, question):
    fill(db, session)
    learn_all(db, *ENGLISH, "Tom is allergic to eggs")
    verdict, statements = recalled(db, question, kinds=("fact",))
    assert verdict != "nothing"
    assert set(statements) == set(ENGLISH)


@pytest.mark.parametrize(
    ("kept", "question"),
    [
        (ENGLISH, each)
        for each in listed("""what can my sister eat? | What can my little sister eat tonight?
        And my sister's dinner? | Was kann meine Schwester essen?""")
    ]
    + [
        (GERMAN, each)
        for each in listed("""was kann meine Schwester essen? | What can my sister eat?
        Was soll ich meiner kleinen Schwester kochen? | was kann meine schwester heute essen?""")
    ],
)
def test_a_relation_leads_to_the_person_and_what_is_known_of_her(db, session, kept, question):
    fill(db, session)
    learn_all(db, *kept, "My brother is called Tom", "Tom is allergic to eggs")
    verdict, statements = recalled(db, question, kinds=("fact",))
    assert verdict != "nothing"
    assert set(statements[:2]) == set(kept)
    assert "Tom is allergic to eggs" not in statements


@pytest.mark.parametrize(
    ("relation", "question"),
    columns("""I am married to Anna → What does my wife eat? | My mother is called Anna → What can Mum eat?
        Meine Oma heißt Anna → Was kann Oma essen? | My dog is called Anna → What can our pet eat?
        Mein Bruder heißt Anna → Die Allergie meines Bruders?"""),
)
def test_a_relation_is_understood_in_other_words_too(db, relation, question):
    learn(db, relation)
    learn(db, "Anna is allergic to nuts")
    verdict, statements = recalled(db, question)
    assert (verdict != "nothing", "Anna is allergic to nuts" in statements) == (True, True)


def test_a_relation_that_nobody_kept_brings_nothing(db, session):
    fill(db, session)
    learn_all(db, *ENGLISH)
    assert recalled(db, "what can my brother eat?", kinds=("fact",)) == ("nothing", [])
    assert graph.mentions(db, "person", "what can a sister eat?") == []


def test_the_german_genitive_without_apostrophe_is_the_name(db, session):
    fill(db, session)
    learn_all(db, *GERMAN)
    verdict, statements = recalled(db, "Was ist Annas Leibspeise, und was soll ich kochen?", kinds=("fact",))
    assert (verdict, set(statements)) == ("maybe", set(GERMAN))


@pytest.mark.parametrize(
    ("name", "question", "named"),
    columns("""Will → What should I cook tonight for Will? → named | Will → Will it rain on Friday? →
        Will → will it rain → | Mark → what can Mark eat tonight? → named | Mark → Mark the bill as paid →
        Mark → please mark the bill as paid → | May → What can I cook for May? → named | May → What did we do in May? →
        Rose → Which flower is the Rose? → | Ernst → Was soll ich heute für Ernst kochen? → named
        Ernst → Ist das dein ernst? → | Wolf → Ist ein Wolf gefährlich? →"""),
)
def test_a_name_that_is_a_common_word_counts_only_where_it_is_a_name(db, session, name, question, named):
    fill(db, session)
    fact = learn(db, f"{name} is allergic to nuts")
    mentions = graph.mentions(db, "person", question)
    assert list(graph.facts(db, mentions)) == ([fact.id] if named else [])
    if named:
        assert recalled(db, question, kinds=("fact",))[0] != "nothing"


def test_of_two_people_with_one_name_both_are_brought_and_the_relation_tells_them_apart(db):
    sister, colleague, either = (f"Anna{name} is allergic to nuts" for name in (" Huber", " Berger", ""))
    learn_all(db, "Anna Huber is my sister", "Anna Berger is my colleague", sister, colleague, either)

    def allergic(question):
        return {each for each in recalled(db, question)[1] if "allergic" in each}

    assert allergic("What should I cook for Anna?") == {sister, colleague, either}
    assert allergic("What should I cook for my sister?") == {sister, either}  # which Anna was not said


def test_what_somebody_has_to_do_with_comes_after_what_is_known_of_them_and_no_further(db):
    known = listed("""My sister is called Anna | Anna is married to Paul | Paul works at Siemens
        Siemens answers at a.example""")
    learn_all(db, *known)
    assert recalled(db, "What about Anna?")[1] == [known[1], known[0], known[2]]


def test_of_many_facts_the_one_that_answers_comes_first_however_old(db, monkeypatch):
    monkeypatch.setattr(graph, "_FACTS_PER_NAME", 25)
    learn(db, "My sister is called Anna")
    learn(db, "Anna is allergic to nuts")
    for number in range(30):
        learn(db, f"Anna likes tea number {number}")
    assert recalled(db, "Which allergy does my sister have?")[1][0] == "Anna is allergic to nuts"
    assert recalled(db, "What is Anna allergic to?")[1][0] == "Anna is allergic to nuts"


def test_nothing_of_another_owner_and_nothing_hidden_is_brought(db):
    learn(db, "My sister is called Anna")
    hidden = learn(db, "Anna is allergic to nuts")
    learn(db, "My sister is called Xenia", scope=STRANGER)
    learn(db, "Xenia is allergic to eggs", scope=STRANGER)
    facts.hide(memory_of(db), hidden)
    assert recalled(db, "what can my sister eat?")[1] == ["My sister is called Anna"]
    assert index.refresh(db) == 0
    assert recalled(db, "what can Xenia eat?", owner=HERE.owner)[1] == []
