"""`candidates.by_words`: which passages the word index proposes where some words are common."""

import pytest

from agent_cli.memory.conversations import log
from agent_cli.memory.scope import PERSON
from agent_cli.memory.search import candidates, recall
from agent_cli.memory.search.candidates import Filter, Request
from agent_cli.store.db import Database
from tests.conftest import HERE, NOON, empty
from tests.recalling import catch_up


def say_all(db, session, texts):
    said = [log.ImportedMessage(str(number), NOON, "user", text) for number, text in enumerate(texts)]
    with db.write():
        log.append_imported(db, session, HERE, said)
    catch_up(db)


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

    say_all(db, session, map(words, range(3300)))
    return db


def proposed(db, question, **allowed):
    request = Request(db, question, Filter(PERSON, **allowed), NOON)
    return [id for id, _ in candidates.by_words(db, candidates.parse(request), request.allowed)]


def test_messages_with_only_a_common_word_are_proposed_when_few_have_a_rare_one(garden):
    found = proposed(garden, "garden lantern")
    assert len(found) == candidates.WORDS
    assert set(found[:3]) == {1, 2, 3}


def test_a_common_word_still_decides_among_messages_with_a_rarer_one(garden):
    best = proposed(garden, "garden terrace")[:50]
    assert all(4 <= id <= 103 and id % 2 == 0 for id in best)  # ids are one above their numbers


@pytest.mark.parametrize("apart", [candidates.APART, 0])
@pytest.mark.parametrize("allowed", [{}, {"since": 0.0}, {"kinds": ("message",)}])
def test_a_common_word_decides_among_messages_with_one_of_several_rarer_ones(garden, monkeypatch, apart, allowed):
    monkeypatch.setattr(candidates, "APART", apart)
    best = proposed(garden, "garden terrace lantern", **allowed)
    assert best[:3] == [2, 1, 3]  # of those with the rarest word the second has the common one too
    assert all(4 <= id <= 103 and id % 2 == 0 for id in best[3:53])
    assert all(4 <= id <= 103 and id % 2 for id in best[53:103])


def terraces(db, session, lanterns):
    """A log of 2,000 messages: some with a rare word, 200 with a less rare one, 20 of these with a common one too."""

    def words(number):
        rare = "lantern" if number < lanterns else "terrace" if 100 <= number < 300 else "gravel"
        return f"The {rare} {number} of the {'garden' if 280 <= number < 700 else 'number'}"

    say_all(db, session, map(words, range(2000)))


@pytest.mark.parametrize(("lanterns", "alone"), [(100, False), (20, True)])
def test_a_less_rare_word_counts_alone_only_where_few_have_a_rarer_one(db, session, monkeypatch, lanterns, alone):
    terraces(db, session, lanterns)
    monkeypatch.setattr(candidates, "LEADING", 150)
    monkeypatch.setattr(candidates, "MIN_BUDGET", 350)
    monkeypatch.setattr(candidates, "DECISIVE", 0.5)
    found = set(proposed(db, "lantern terrace garden"))
    assert set(range(1, lanterns + 1)) | set(range(281, 301)) <= found  # the latter with the common word
    assert bool(found & set(range(101, 281))) == alone


def test_words_that_nearly_half_of_all_hold_do_not_outweigh_a_second_rare_one(db, session):
    def words(number):
        rare = "quince" if number < 400 else "barn" if number < 800 else "plain"
        return f"{rare} {'garden letter river winter' if number % 20 < 9 else 'gravel stone'} number {number}"

    both = "the quince behind the old wooden barn carries fruit again"
    say_all(db, session, [both, *map(words, range(1, 4000))])
    assert proposed(db, "quince barn garden letter river winter")[0] == 1


@pytest.mark.parametrize("question", ["", "???"])
def test_a_question_without_words_needs_no_index(tmp_path, question):
    empty(tmp_path / "memory.db").close()
    db = Database(tmp_path / "memory.db", read_only=True)
    db.prepare()
    assert recall.mentions(db, question, Filter(PERSON), NOON, 5) == ()
    assert recall.find(db, question, Filter(PERSON), NOON).damaged == ()
    db.close()
