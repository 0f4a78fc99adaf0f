"""Long texts: indexed a few passages at a time, continued where a crash left off, and exact all the while."""

from contextlib import closing
from itertools import islice

import pytest

from agent_cli.memory.forgetting import forget, selection
from agent_cli.memory.search import index
from agent_cli.store import file
from tests.conftest import NOON, empty, noon
from tests.recalling import catch_up, check_indexes, fact, finish, handles, matches, note, say, session_of

PASSAGES = "select row, start, length, masked, text, facts from passage where kind = 'm' order by row, start"
KEY = "ghp_" + "A1b2C3d4E5" * 4


def words(characters, at=()):
    """So long a text of numbered words, with others at some places in it."""
    text = " ".join(f"word{number}" for number in range(characters // 9))[:characters]
    for place, other in at:
        text = f"{text[:place]} {other} {text[place + len(other) + 2 :]}"
    return text


LONG = words(150_000, [(80_000, "pomegranate"), (140_000, "quince")])


def is_exact(db):
    """Both indexes hold what the passages say, and the passages what the texts say."""
    check_indexes(db)
    return not db.value(
        """select count(*) from passage p join message m on m.id = p.row
           where p.kind = 'm' and p.masked is null and p.text is not substr(m.text, p.start + 1, p.length)"""
    )


@pytest.fixture(scope="module")
def passages():
    """The passages of the long text, indexed without a break."""
    with closing(empty()) as db:
        say(db, session_of(db), LONG)
        finish(db)
        return db.rows(PASSAGES)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory.db"


def test_each_transaction_indexes_a_small_part_of_a_long_text(db, session):
    say(db, session, LONG)
    most, before = 0, 0
    for _ in index.refresh_steps(db):
        now = db.value("select count(*) from passage")
        most, before = max(most, now - before), now
    assert before > 120
    assert most <= 60
    assert matches(db, "pomegranate") == matches(db, "quince") == ["m1"]
    assert is_exact(db)


def test_what_is_said_meanwhile_is_found_before_the_rest_of_a_long_text(db, session):
    say(db, session, LONG)
    catch_up(db)
    later = note(db, "The medlar is ripe")
    assert index.refresh(db) == 1
    assert handles(db, "medlar") == [later]
    assert index.count_stale(db) == 1  # the rest of the text
    finish(db)
    assert (matches(db, "quince"), index.count_stale(db)) == (["m1"], 0)


@pytest.mark.parametrize("steps", [1, 2])
def test_indexing_continues_where_a_process_was_killed(passages, path, steps):
    killed = file.open_file(path, NOON, print)
    say(killed, session_of(killed), LONG)
    list(islice(index.refresh_steps(killed), steps))
    done = killed.value("select count(*) from passage")
    killed.close()
    other = file.open_file(path, NOON, print)
    step = next(index.refresh_steps(other), "a step")
    assert (done > 0, step) == (True, None)
    assert other.value("select count(*) from passage") > done
    finish(other)
    assert other.rows(PASSAGES) == passages
    assert is_exact(other)
    other.close()


def test_two_processes_that_index_the_same_text_do_it_once(passages, path):
    one = file.open_file(path, NOON, print)
    say(one, session_of(one), LONG)
    other = one.another_connection()
    steps = [index.refresh_steps(one), index.refresh_steps(other)]
    while steps:
        steps = [each for each in steps if next(each, "ended") is None]
    assert one.rows(PASSAGES) == passages
    assert is_exact(one)
    other.close()
    one.close()


@pytest.mark.parametrize("steps", [2, 1000])
def test_a_fact_learned_before_or_after_the_rest_was_indexed_is_found_and_leaves_the_passages(db, session, steps):
    say(db, session, LONG)
    list(islice(index.refresh_steps(db), steps))
    behind = "select id from passage where kind = 'm' and start > 0 order by id"
    before = db.rows(behind)
    with db.write():
        fact(db, "The person grows medlars", message=1)
    finish(db)
    assert db.rows(behind)[: len(before)] == before
    assert matches(db, "medlars") == ["f1", "m1"]
    assert matches(db, "quince") == matches(db, "pomegranate") == ["m1"]
    assert is_exact(db)


@pytest.mark.parametrize("steps", [1, 1000])
def test_a_long_text_is_forgotten_whole_however_much_of_it_was_indexed(db, session, steps):
    say(db, session, words(100_000, [(60_000, "pomegranate")]))
    list(islice(index.refresh_steps(db), steps))
    forget.erase(db, forget.planned(db, selection.select_by_topic(db, "person", "pomegranate")), noon)
    assert (matches(db, "word7"), db.value("select count(*) from passage"), index.count_stale(db)) == ([], 0, 0)
    assert is_exact(db)


def test_a_text_that_is_erased_while_it_is_indexed_leaves_no_passage(db, session):
    say(db, session, LONG)
    steps = index.refresh_steps(db)
    list(islice(steps, 2))
    with db.write():
        index.erase(db, "m", [1])
        db.execute("delete from message where id = 1")
    list(steps)
    assert (db.value("select count(*) from passage"), index.count_stale(db)) == (0, 0)
    assert is_exact(db)


def test_secrets_are_masked_wherever_in_a_long_text_they_are(db, session):
    places = range(40_000, 260_000, 9_999)
    say(db, session, words(270_000, [(place, f"token {KEY}") for place in places]))
    finish(db)
    assert matches(db, KEY) == []
    masked = db.rows("select masked from passage_text t join passage p on p.id = t.id where p.masked is not null")
    assert len(masked) >= len(places)
    assert not db.value("select 1 from passage_text where own like '%A1b2C3d4E5%'")
    assert is_exact(db)


def test_a_rebuild_makes_the_same_passages(db, session, passages):
    say(db, session, LONG)
    progress = list(index.rebuild(db))
    assert db.rows(PASSAGES) == passages
    assert progress[-1] == (1, 1)
    assert is_exact(db)


def test_long_notes_are_indexed_to_their_end_and_edited_like_others(db):
    handle = note(db, words(120_000, [(110_000, "quince")]), title="Fruit")
    finish(db)
    assert handles(db, "quince") == [handle]
    with db.write():
        index.erase(db, "n", [1])
        db.execute("update note set text = 'medlar'")
    finish(db)
    assert (handles(db, "quince"), handles(db, "medlar")) == ([], [handle])


def test_a_search_indexes_a_long_text_for_a_short_time_only(db, session):
    say(db, session, LONG)
    index.refresh_all(db, 0)
    assert index.count_stale(db) == 1
    index.refresh_all(db, 60)
    assert index.count_stale(db) == 0
