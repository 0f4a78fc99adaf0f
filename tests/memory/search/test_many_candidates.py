"""More candidates than are read: what may answer is read, and what follows when the best of them only ask."""

import pytest

from agent_cli.memory.search import passage_context, scoring
from tests.recalling import EMBEDDED, handles, reply, say, session_of

MANY = scoring.READ - 10  # so that those beside them are too many


@pytest.fixture
def read(monkeypatch):
    """The numbers of candidates that were read at once."""
    counts, fetch = [], passage_context.fetch
    monkeypatch.setattr(
        passage_context, "fetch", lambda db, places, *more: counts.append(len(places)) or fetch(db, places, *more)
    )
    return counts


@pytest.fixture
def others(db):
    """So much else that the words asked for are rare."""
    session = session_of(db)
    for number in range(2 * MANY):
        say(db, session, f"The train was late on day {number}")


@pytest.mark.parametrize("meaning", [None, EMBEDDED])
def test_what_the_person_said_is_read_before_answers_of_the_assistant_with_more_of_the_words(db, read, others, meaning):
    for number in range(MANY):
        session = session_of(db)
        say(db, session, f"Tell me something else, number {number}")
        reply(db, session, f"A garden with an old pear tree is a fine thing, number {number}")
    said = say(db, session_of(db), "The pear stands by the wall")

    assert said in handles(db, "Where in my garden is my old pear tree?", limit=scoring.READ, meaning=meaning)
    assert read[0] == scoring.READ


def test_what_was_left_out_takes_the_place_of_questions(db, read, others):
    for number in range(MANY):
        session = session_of(db)
        say(db, session, f"What is the number of my locker at the pool, {number}?")
        say(db, session, "Well, tell me")
    said = say(db, session_of(db), "Locker 4711 it is")

    assert said in handles(db, "What is the number of my locker at the pool?")
    assert read[0] == scoring.READ
