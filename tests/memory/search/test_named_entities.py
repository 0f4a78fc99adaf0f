"""A name or a relation in a question brings the facts of whom it means, whatever else the question says."""

import pytest

from agent_cli.memory.facts import facts
from agent_cli.memory.search import graph, index
from tests.conftest import HERE, memory_of
from tests.memory.search.test_graph import learn, learn_all
from tests.recalling import STRANGER, find, say
from tests.tables import columns, listed


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
