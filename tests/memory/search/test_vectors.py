"""Vectors of passages: sets are begun, filled, swapped and dropped whole, and the nearest are really the nearest."""

import random
import sys
import threading

import numpy
import pytest

from agent_cli.memory.search import index, vectors
from agent_cli.store import meta
from agent_cli.store.db import IndexDamaged
from tests.conftest import empty
from tests.recalling import catch_up, note, say, session_of

EAST, NORTH, NORTHEAST, WEST = [1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [-1.0, 0.0]
COMPASS = {"east": EAST, "north": NORTH, "northeast": NORTHEAST, "west": WEST}


def embed(texts):
    """A direction for its name, and nothing for any other text."""
    return [COMPASS.get(text) for text in texts]


@pytest.fixture
def db(tmp_path):
    database = empty(tmp_path / "memory.db")
    for words in ("east", "north", "northeast", "west"):
        note(database, words)
    catch_up(database)
    yield database
    database.close()


def begin(db, identity="compass", key="vectors"):
    return vectors.create(db, identity, 2, 0.1, key)


def filled(db, key="vectors"):
    made = begin(db, key=key)
    while vectors.fill(db, made, embed):
        pass
    return made


def held(db, among):
    """The passages that a set has, in both of its tables."""
    bits = [id for (id,) in db.rows(f"select rowid from {among.bits} order by rowid")]
    assert [id for (id,) in db.rows(f"select id from {among.table} order by id")] == bits
    return bits


@pytest.fixture(params=["NumPy", "sqlite-vec"])
def scanned(request, monkeypatch):
    """Both ways to look for the nearest bits: in memory, and in the file where NumPy is not loaded."""
    monkeypatch.setitem(sys.modules, "numpy", numpy if request.param == "NumPy" else None)


def vector_tables(db):
    rows = db.rows("select name from sqlite_schema where name glob 'bits_*' or name glob 'vectors_*' order by name")
    return [name for (name,) in rows if name.count("_") == 1]


def test_a_file_has_no_vectors_until_a_set_is_begun(db):
    assert (vectors.current(db), vectors.being_filled(db)) == (None, None)
    made = begin(db)
    assert vectors.current(db) == made == vectors.VectorSet(1, "compass", 2, 0.1)
    assert (vectors.being_filled(db), vectors.count(db, made), vectors.count_missing(db, made)) == (None, 0, 4)


def test_a_set_is_filled_in_batches_until_it_is_whole_and_with_what_is_said_later(db):
    made = begin(db)
    assert [vectors.fill(db, made, embed, 3) for _ in range(3)] == [3, 1, 0]
    assert (held(db, made), vectors.count_missing(db, made)) == ([1, 2, 3, 4], 0)
    for words in ("north", "nowhere"):
        note(db, words)
    catch_up(db)
    assert vectors.count_missing(db, made) == 2
    assert [vectors.fill(db, made, embed) for _ in range(2)] == [2, 0]  # what has no vector is looked at once
    assert (held(db, made), vectors.count_missing(db, made)) == ([1, 2, 3, 4, 5], 0)


def test_the_nearest_come_first_with_their_cosines(db, scanned):
    made = begin(db)
    assert (vectors.nearest(db, made, NORTH, 3), vectors.cosines(db, made, NORTH, [1, 2])) == ([], {})
    vectors.fill(db, made, embed)
    found = vectors.nearest(db, made, NORTHEAST, 3)
    assert [id for id, _ in found] == [3, 2, 1]
    assert [cosine for _, cosine in found] == pytest.approx([1.0, 0.8, 0.6], abs=0.01)
    assert vectors.cosines(db, made, NORTH, [1, 3, 99]) == pytest.approx({1: 0.0, 3: 0.8}, abs=0.01)


def test_a_passage_that_was_deleted_is_in_no_set(db):
    now, then = filled(db), filled(db, "vectors next")
    with db.write():
        index.erase(db, "n", [2])
    assert held(db, now) == held(db, then) == [1, 3, 4]
    assert [id for id, _ in vectors.nearest(db, now, NORTH, 1)] == [3]


def test_a_passage_deleted_while_its_vector_is_made_gets_none(db):
    made = begin(db)

    def meanwhile(texts):
        with db.write():
            index.erase(db, "n", [2])
        return embed(texts)

    assert vectors.fill(db, made, meanwhile) == 4
    assert held(db, made) == [1, 3, 4]
    assert vectors.count_missing(db, made) == 0


def test_a_passage_changed_while_its_vector_is_made_gets_that_of_its_new_words(db):
    made = begin(db)
    said = say(db, session_of(db), "south")
    catch_up(db)

    def meanwhile(texts):
        db.execute("insert into stale (kind, row) values ('m', ?)", (int(said[1:]),))
        catch_up(db)
        return embed(texts)

    vectors.fill(db, made, meanwhile)
    assert (held(db, made), vectors.count_missing(db, made)) == ([1, 2, 3, 4], 1)


def test_two_programs_that_fill_a_set_at_once_make_each_vector_once(db):
    made = begin(db)
    both, looked_at = threading.Barrier(2), []

    def together(texts):
        both.wait(30)
        return embed(texts)

    def fill(way):
        other = db.another_connection()
        looked_at.append(vectors.fill(other, made, way))
        other.close()

    threads = [threading.Thread(target=fill, args=(together,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert looked_at == [4, 4]
    assert held(db, made) == [1, 2, 3, 4]
    assert meta.damaged_indexes(db) == []


def test_a_set_dropped_while_vectors_are_made_for_it_stays_dropped(db):
    made = begin(db, key="vectors next")

    def meanwhile(texts):
        vectors.discard_unfinished(db)
        return embed(texts)

    assert vectors.fill(db, made, meanwhile) == 0
    assert vectors.fill(db, made, embed) == 0
    assert (vector_tables(db), meta.damaged_indexes(db)) == ([], [])


def test_the_present_set_is_searched_until_another_is_swapped_in(db):
    old = filled(db)
    new = begin(db, "other", "vectors next")
    assert (vectors.current(db), vectors.being_filled(db)) == (old, new)
    while vectors.fill(db, new, embed):
        pass
    for _ in range(2):  # the second finds none to swap in
        vectors.swap(db)
    assert (vectors.current(db), vectors.being_filled(db)) == (new, None)
    assert (vector_tables(db), held(db, new)) == (["bits_2", "vectors_2"], [1, 2, 3, 4])
    assert db.rows("select key from meta where key glob 'embedded *'") == [("embedded 2",)]


def test_a_set_that_is_given_up_leaves_nothing_and_its_name_is_not_used_again(db):
    old = filled(db)
    begin(db, "other", "vectors next")
    vectors.discard_unfinished(db)
    vectors.discard_unfinished(db)
    assert (vectors.current(db), vectors.being_filled(db)) == (old, None)
    assert vector_tables(db) == ["bits_1", "vectors_1"]
    assert begin(db, "third", "vectors next").number == 3


def test_renewed_sets_are_empty_and_of_the_same_embedders(db):
    filled(db)
    begin(db, "other", "vectors next")
    with meta.tolerate_damage(db, "vectors"):
        db.execute("select * from bits_9")
    assert meta.damaged_indexes(db) == ["vectors"]
    vectors.recreate(db)
    assert vectors.current(db) == vectors.VectorSet(3, "compass", 2, 0.1)
    assert vectors.being_filled(db) == vectors.VectorSet(4, "other", 2, 0.1)
    assert held(db, vectors.current(db)) == []
    assert meta.damaged_indexes(db) == []


MANY, WIDE = 21_000, 64


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A set of so many vectors that a bound on the distance is guessed, and the vectors."""
    database = empty(tmp_path_factory.mktemp("large") / "memory.db")
    made = vectors.create(database, "chance", WIDE, 0.1)
    drawn = random.Random(5)
    all_ = [drawn.choices((-0.125, 0.125), k=WIDE) for _ in range(MANY)]
    with database.write():
        for id, vector in enumerate(all_, 1):
            vectors.insert(database, made, id, vector)
    yield database, made, all_
    database.close()


def test_among_many_the_nearest_are_found(large, scanned):
    db, made, all_ = large
    bits = [int.from_bytes(vectors.to_bits(each)) for each in all_]
    for vector in all_[:5]:
        signs = int.from_bytes(vectors.to_bits(vector))
        agreeing = [WIDE - (signs ^ each).bit_count() for each in bits]
        found = vectors.nearest(db, made, vector, 15)
        assert [cosine for _, cosine in found] == pytest.approx(
            [(2 * same - WIDE) / WIDE for same in sorted(agreeing, reverse=True)[:15]], abs=0.01
        )


def test_a_few_vectors_with_ids_far_apart_are_all_looked_at(db, scanned):
    made = begin(db)
    with db.write():
        for id, direction in ((1, EAST), (1_000_000, NORTH), (1_000_001, WEST)):
            vectors.insert(db, made, id, direction)
    assert [id for id, _ in vectors.nearest(db, made, WEST, 3)] == [1_000_001, 1_000_000, 1]


@pytest.mark.parametrize("part", ["", "f"])
def test_what_was_filled_in_and_erased_since_the_last_search_is_so_in_the_next(db, scanned, part):
    made = begin(db)
    among, sign = (made.files, -1) if part else (made, 1)
    with db.write():
        if part:
            vectors._make(db, among)
        for number, direction in enumerate((EAST, NORTH, [0.0, 0.0], NORTHEAST), 1):
            vectors.insert(db, among, sign * number, direction)
    assert [id for id, _ in vectors.nearest(db, among, NORTH, 2)] == [2 * sign, 4 * sign]
    with db.write():
        vectors.insert(db, among, 5 * sign, NORTH)
        vectors.erase(db, [2 * sign])
    assert [id for id, _ in vectors.nearest(db, among, NORTH, 2)] == [5 * sign, 4 * sign]


def test_what_is_left_is_found_when_all_that_was_nearest_is_erased(db, scanned):
    made = begin(db)
    with db.write():
        for id in range(1, 201):
            vectors.insert(db, made, id, NORTH if id <= 150 else NORTHEAST)
    assert len(vectors.nearest(db, made, NORTH, 100)) == 100
    with db.write():
        vectors.erase(db, range(2, 151))
    assert len(vectors.nearest(db, made, NORTH, 10)) == 10


def test_a_set_made_anew_is_searched_in_place_of_the_old_one(db, scanned):
    made = filled(db)
    assert len(vectors.nearest(db, made, NORTH, 5)) == 4
    vectors.recreate(db)
    with db.write():
        vectors.insert(db, vectors.current(db), 77, WEST)
    assert [id for id, _ in vectors.nearest(db, vectors.current(db), NORTH, 5)] == [77]


def test_damaged_bits_are_told_as_damage(db, scanned):
    made = filled(db)
    db.execute(f"update {made.bits}_vector_chunks00 set vectors = x'00'")
    with pytest.raises(IndexDamaged), db.index_access():
        vectors.nearest(db, made, NORTH, 1)
