"""Questions that the person keeps, and whether memory brings what must be mentioned."""

import pytest

from agent_cli.errors import UsageError
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.scope import PERSON
from agent_cli.memory.search import recall
from agent_cli.memory.search.candidates import Filter
from tests.conftest import HERE, NOON, memory_of, noon
from tests.facts import add, propose
from tests.recalling import STRANGER, catch_up, note


def add_test(db, question="Where does the NAS answer?", *mentions, scope=HERE):
    return facts.add_test(db, scope, question, mentions or ("192.168.1.20",), noon)


def missing(db, test, owner=PERSON):
    catch_up(db)
    hits = recall.find(db, test.question, Filter(owner), NOON, facts.TEST_HITS).hits
    return facts.missing_words(test, [hit.text for hit in hits])


def test_a_note_answers_as_well_and_case_and_spaces_make_no_difference(db):
    note(db, "The NAS answers in the\nCELLAR  rack")
    assert missing(db, add_test(db, "Where does the NAS answer?", "cellar Rack")) == []


def test_all_that_must_be_mentioned_must_be_there(db):
    add(db, "The NAS answers at 192.168.1.20")
    assert missing(db, add_test(db, "Where does the NAS answer?", "192.168.1.20", "cellar")) == ["cellar"]


def test_a_fact_that_is_found_answers_the_question_and_one_that_waits_or_is_hidden_does_not(db):
    test = add_test(db)
    assert missing(db, test) == ["192.168.1.20"]
    fact = propose(db, "The NAS answers at 192.168.1.20")
    assert missing(db, test) == ["192.168.1.20"]
    adoption.accept(memory_of(db), fact)
    assert missing(db, test) == []
    facts.hide(memory_of(db), facts.get(db, fact.id, PERSON))
    assert missing(db, test) == ["192.168.1.20"]


def test_tests_are_listed_and_erased(db):
    add_test(db), add_test(db, "What do I drink?", " green  tea ", "")
    assert [each.describe() for each in facts.list_tests(db, PERSON)] == [
        {"id": "q1", "question": "Where does the NAS answer?", "mention": ["192.168.1.20"]},
        {"id": "q2", "question": "What do I drink?", "mention": ["green tea"]},
    ]
    with db.write():
        facts.erase_tests(db, [1])
    assert [each.handle for each in facts.list_tests(db, PERSON, 5)] == ["q2"]


def test_another_owner_has_none_of_them(db):
    add_test(db)
    assert facts.list_tests(db, STRANGER.owner) == []
    with pytest.raises(UsageError, match="there is no test q1; `agent facts test list` shows them all"):
        facts.get_test(db, 1, STRANGER.owner)


@pytest.mark.parametrize(("question", "mention"), [(" ", "tea"), ("what?", " "), ("", "")])
def test_an_empty_test_is_refused(db, question, mention):
    with pytest.raises(UsageError, match="a test needs a question and"):
        add_test(db, question, mention)
