"""Facts as they are kept: listed, as of a day, with their history, undone, and found when said again."""

from contextlib import closing
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_cli.errors import UsageError
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.language import terms
from agent_cli.memory.proposals import ACCEPTED, PENDING, REJECTED, MemoryContext
from agent_cli.memory.scope import PERSON, Scope
from tests.conftest import empty, memory_of, noon
from tests.facts import add, as_of, claim, later, lives, propose, rows, stand
from tests.recalling import STRANGER, day, session_of, take_in

WORDS = st.lists(
    st.sampled_from(("the", "nas", "answers", "at", "in", "my", "house", "Graz", "Linz", "4", "192.168.1.20"))
)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_each_home_is_true_until_the_next_one_in_whatever_order_they_are_told(db, order):
    moves = lives("Graz", "2026-03-01"), lives("Wien", "2026-05-01"), lives("Linz", "2026-06-01", "I moved to Linz")
    for number in order:
        add(db, moves[number], time=later(200))
    assert [each.statement for each in facts.listing(db, PERSON, 9)] == ["I moved to Linz"]
    then = [as_of(db, when) for when in ("2026-02-01", "2026-04-01", "2026-05-15", "2026-07-01")]
    assert then == [[], ["I live in Graz"], ["I live in Wien"], ["I moved to Linz"]]


def test_what_was_true_for_a_while_lapses_and_ends_nothing(db):
    add(db, lives("Graz", "2026-03-01"), time=later(200))
    wien = claim("I lived in Wien", "person", "lives_in", "Wien", since="2020-01-01", valid_to=day("2022-01-01"))
    added = add(db, wien, time=later(200))
    assert (added.fact.state, added.fact.valid_to, added.replaced) == (facts.SUPERSEDED, "2022-01-01T12:00:00.000Z", ())
    assert as_of(db, "2021-01-01") == ["I lived in Wien"]
    assert as_of(db, "2024-01-01") == []
    assert as_of(db, "2026-04-01") == ["I live in Graz"]


def test_a_fact_whose_time_has_run_out_is_let_go_without_being_announced(db):
    add(db, claim("The printer is on loan", valid_to=day("2026-02-01")))
    assert as_of(db, "2026-01-15") == ["The printer is on loan"]
    assert as_of(db, "2026-02-15") == []
    assert facts.listing(db, PERSON, 9, not_over=later(60)()) == []
    assert as_of(db, "2026-01-15") == ["The printer is on loan"]


def test_a_list_shows_only_what_is_accepted_unless_told_otherwise(db):
    add(db, "I like tea")
    propose(db, "I like coffee with oat milk")
    facts.reject(memory_of(db), propose(db, "I like beer for breakfast"))
    facts.hide(memory_of(db), add(db, "I like wine").fact)

    def listed(**options):
        return [each.handle for each in facts.listing(db, PERSON, 9, **options)]

    assert listed() == ["f1"]
    assert listed(states=(PENDING, REJECTED)) == ["f3", "f2"]
    assert listed(hidden=True) == ["f4"]
    assert [each.handle for each in facts.listing(db, PERSON, 1, states=(PENDING, REJECTED))] == ["f3"]


def test_facts_of_a_place_are_listed_with_those_that_hold_everywhere(db):
    add(db, "I like tea")
    fact = add(db, claim("The tests run with make", place="/home/one")).fact
    assert (fact.place, fact.owner, fact.origin, fact.trust) == ("/home/one", PERSON, "typed", "typed")
    add(db, claim("The tests run with tox", place="/home/two"))
    assert [each.handle for each in facts.listing(db, PERSON, 9, place="/home/one")] == ["f2", "f1"]


def test_another_owner_sees_and_changes_nothing(db):
    mine = add(db, "I like tea").fact
    propose(db, "I like coffee with oat milk")
    assert facts.listing(db, "caller", 9, states=(ACCEPTED, PENDING)) == facts.pending(db, "caller") == []
    assert facts.similar(db, "caller", "I like tea") == facts.many(db, [1, 2], "caller") == []
    with pytest.raises(UsageError, match="there is no fact f1"):
        facts.get(db, mine.id, "caller")
    with pytest.raises(UsageError, match="there is no change to take back"):
        facts.undo(MemoryContext(db, Scope("caller", ""), noon))
    assert add(db, "I like tea", STRANGER).new


def test_history_tells_what_was_done_and_how_it_was(db):
    fact = propose(db, "I like tea")
    adoption.accept(memory_of(db), fact)
    adoption.edit(memory_of(db), fact, "I like green tea")
    facts.hide(memory_of(db), fact)
    facts.undo(memory_of(db))
    changes = [
        (each.change, each.was.get("statement", ""), each.was.get("state", ""), each.actor, each.undone)
        for each in facts.history(db, fact.id)
    ]
    assert changes == [
        ("proposed", "", "", "model", False),
        ("accepted", "I like tea", PENDING, "person", False),
        ("edited", "I like tea", ACCEPTED, "person", False),
        ("hidden", "I like green tea", ACCEPTED, "person", True),
        ("undone", "I like green tea", ACCEPTED, "person", True),
    ]


def test_undo_brings_back_exactly_what_was(db):
    add(db, lives("Graz", "2026-03-01"))
    waiting = propose(db, lives("Linz", "2026-06-01", origin="model"))
    with pytest.raises(UsageError, match="there is no change of f2 to take back"):
        facts.undo(memory_of(db), waiting)
    steps = [
        lambda: adoption.accept(memory_of(db), waiting),
        lambda: adoption.edit(memory_of(db), waiting, "I live in Linz, near the river"),
        lambda: facts.hide(memory_of(db), waiting),
        lambda: adoption.restore(memory_of(db), waiting),
        lambda: adoption.end(memory_of(db), waiting),
    ]
    before = []
    for step in steps:
        before.append(rows(db))
        step()
    for was in reversed(before):
        facts.undo(memory_of(db))
        assert rows(db) == was


def test_undo_of_a_new_fact_rejects_it_and_gives_back_what_it_replaced(db):
    add(db, lives("Graz", "2026-03-01"), time=later(200))
    add(db, lives("Linz", "2026-06-01"), time=later(200))
    assert stand(db) == [("I live in Graz", facts.SUPERSEDED), ("I live in Linz", ACCEPTED)]
    assert [each.handle for each in facts.undo(memory_of(db))] == ["f1", "f2"]
    assert stand(db) == [("I live in Graz", ACCEPTED), ("I live in Linz", REJECTED)]
    assert as_of(db, "2026-07-01") == ["I live in Graz"]


def test_undo_of_a_change_refuses_where_a_later_one_stands_on_it(db):
    graz = add(db, lives("Graz", "2026-03-01")).fact
    linz = add(db, lives("Linz", "2026-06-01")).fact
    facts.hide(memory_of(db), graz)
    with pytest.raises(UsageError, match="f1 was changed again since; take that back first: `agent facts undo f1`"):
        facts.undo(memory_of(db), linz)
    facts.undo(memory_of(db), graz)
    facts.undo(memory_of(db), linz)
    assert stand(db) == [("I live in Graz", ACCEPTED), ("I live in Linz", REJECTED)]


def test_sources_are_all_messages_that_said_it(db):
    session = session_of(db)
    said = [int(take_in(db, session, words)[1:]) for words in ("I like tea", "Yes, I like tea")]
    fact = add(db, claim("I like tea", message=said[0], quote="I like tea")).fact
    assert add(db, claim("I like tea.", message=said[1], quote="Yes, I like tea")).new is False
    assert facts.sources(db, fact) == [(said[0], "I like tea"), (said[1], "Yes, I like tea")]


def test_erasing_leaves_no_row_of_a_fact(db):
    add(db, lives("Graz", "2026-03-01"))
    with db.write():
        facts.erase(db, [1])
    for table in ("fact", "fact_version", "fact_mark", "fact_source"):
        assert db.rows(f"select * from {table}") == []


@pytest.fixture(scope="module")
def used():
    """One database for all examples."""
    with closing(empty()) as db:
        yield db


@given(WORDS, WORDS, st.integers(0, 30), st.lists(WORDS, max_size=4))
def test_marks_never_miss_a_pair_that_is_alike(used, one, other, shared, besides):
    one, other = " ".join([*one[:shared], *one]), " ".join([*one[:shared], *other])
    _never_missed(used, one, other, besides)


@given(st.lists(st.text("abcdefgh", min_size=4, max_size=6), min_size=12, max_size=60), st.integers(0, 11))
def test_marks_never_miss_a_long_statement_with_a_word_changed(used, words, at):
    _never_missed(used, " ".join(words), " ".join([*words[:at], "else", *words[at + 1 :]]), [words[3:]])


def _never_missed(db, one, other, besides):
    """Whatever else is known: `besides` make some marks common."""
    with db.write():
        facts.erase(db, [id for (id,) in db.rows("select id from fact")])
        for words in filter(None, besides):
            facts.insert(memory_of(db, batch="x"), claim(" ".join(words)), ACCEPTED, "added", actor="person")
        if one.strip():
            fact = facts.insert(memory_of(db, batch="x"), claim(one), ACCEPTED, "added", actor="person")
            blanks = [terms.shingles(terms.mask_numbers(text)) for text in (one, other)]
            assert (fact in facts.similar(db, PERSON, other)) == terms.nearly_equal(*blanks, facts.SIMILARITY)


def test_a_fact_said_again_is_found_among_many(db):
    for number in range(60):
        add(db, f"The box number {number} in the cellar holds the books of shelf {number}")
    assert not add(db, "The box number 37 in the cellar holds the books of shelf 37!").new
    assert len(stand(db)) == 60
