"""What the person says against what is known: noticed where rules are sure, and nowhere else."""

from dataclasses import replace

import pytest

from agent_cli.memory.conversations import log
from agent_cli.memory.facts import adoption, facts
from agent_cli.messages import Part
from tests.conftest import HERE, NOON, memory_of
from tests.tables import listed


@pytest.fixture
def known(db):
    """I live in Graz."""
    return adoption.add(memory_of(db), adoption.claim("I live in Graz", "typed")).fact


def found(db, session, *parts):
    message = log.add_user_message(db, session, HERE, parts, NOON)
    return adoption.contradictions(memory_of(db, lambda: NOON), session, message, parts)


def messages(db, session, words, origin="typed"):
    return [each.message() for each in found(db, session, Part(words, origin))]


def test_another_value_of_the_same_is_told_in_one_line(db, session, known):
    assert messages(db, session, "Hello! I live in Linz now. What is on tonight?") == [
        "f1 says “I live in Graz” · /update keeps what you just said"
    ]
    assert messages(db, session, "Ich wohne jetzt in Linz.") != []


@pytest.mark.parametrize(
    "words",
    [
        *listed("""I live in Graz. | Do I live in Linz? | I live in Linz? | If I lived in Linz, I would know.
        He said “I live in Linz”. | > I live in Linz | `I live in Linz` | Maybe I live in Linz. | I like Linz.
        Anna lives in Linz. | I might live in Linz. | I do not live in Linz. | I used to live in Linz.
        I never lived in Linz. | Say: I live in Linz | I will live in Linz. | I wish I lived in Linz."""),
        "    I live in Linz",
    ],
)
def test_what_is_not_sure_is_let_be(db, session, known, words):
    assert messages(db, session, words) == []


@pytest.mark.parametrize("origin", ["pasted", "piped", "file"])
def test_words_of_others_contradict_nothing(db, session, known, origin):
    assert messages(db, session, "I live in Linz.", origin) == []
    assert found(db, session, Part("Look: ", "typed"), Part("I live in Linz.", origin)) == []
    assert found(db, session, Part("I live in ", "typed"), Part("Linz.", origin)) == []


def test_what_was_rejected_before_is_not_offered_again(db, session, known):
    waits = adoption.propose(memory_of(db), adoption.claim("I live in Linz", "model"))
    facts.reject(memory_of(db), waits)
    assert messages(db, session, "I live in Linz.") == []


def test_a_fact_that_holds_elsewhere_or_no_more_is_contradicted_by_nothing(db, session):
    claim = adoption.claim("I live in Graz", "typed")
    adoption.add(memory_of(db), replace(claim, place="/elsewhere"))
    ended = adoption.add(memory_of(db), claim).fact
    adoption.end(memory_of(db), ended)
    assert messages(db, session, "I live in Linz.") == []


def test_keeping_it_ends_the_fact_and_names_the_message_as_its_source(db, session, known):
    [line] = adoption.accept_contradictions(memory_of(db), found(db, session, Part("I live in Linz now.", "typed")))
    assert line == ("kept f2 “I live in Linz now”, in place of f1 “I live in Graz” (/undo f2 takes it back)")
    new = facts.get(db, 2, HERE.owner)
    assert (new.object, new.message_id, new.quote, new.trust) == ("Linz", 1, "I live in Linz now.", "typed")
    assert not facts.get(db, 1, HERE.owner).is_open(NOON)


def test_what_waits_already_is_accepted_by_it(db, session, known):
    waits = adoption.propose(memory_of(db), adoption.claim("I live in Linz", "model"))
    [line] = adoption.accept_contradictions(memory_of(db), found(db, session, Part("I live in Linz.", "typed")))
    assert line.startswith(f"kept {waits.handle} “I live in Linz”, in place of f1 ")
