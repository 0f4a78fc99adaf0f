"""`candidates.by_words`: which passages the word index proposes where some words are common."""

import pytest

from agent_cli.memory.conversations import log
from agent_cli.memory.scope import PERSON
from agent_cli.memory.search import candidates
from agent_cli.memory.search.candidates import Filter
from tests.conftest import HERE, NOON
from tests.recalling import catch_up


@pytest.fixture
def garden(db, session):
    """A log in which one word is common, another in a hundred messages, and another in three."""

    def words(number):
        rare = "lantern" if number < 3 else "terrace" if number < 103 else "gravel"
        return (
            f"The garden {number} has a {rare}"
            if number % 2 and number < 3200
            else f"The {rare} of the number {number}"
        )

    said = [log.ImportedMessage(str(number), NOON, "user", words(number)) for number in range(3300)]
    with db.write():
        log.append_imported(db, session, HERE, said)
    catch_up(db)
    return db


def proposed(db, question):
    return [id for id, _ in candidates.by_words(db, candidates.parse_query(db, question), Filter(PERSON))]


def test_messages_with_only_a_common_word_are_proposed_when_few_have_a_rare_one(garden):
    found = proposed(garden, "garden lantern")

    assert len(found) == candidates.WORDS
    assert set(found[:3]) == {1, 2, 3}


def test_a_common_word_still_decides_among_messages_with_a_rarer_one(garden):
    best = proposed(garden, "garden terrace")[:50]

    assert all(4 <= id <= 103 and id % 2 == 0 for id in best)  # ids are one above their numbers
