"""The trigrams of an import: made behind it, while its words are found."""

import json

import pytest

from agent_cli.memory.conversations import log
from agent_cli.memory.search import index, word_tables
from agent_cli.memory.transfers import transfer
from agent_cli.store import file, meta
from tests.conftest import HERE, NOON, noon
from tests.recalling import check_indexes, find, finish, matches, note

MANY = 2600  # messages: an import, not a conversation


def is_exact(db):
    check_indexes(db)
    return word_tables.trigrams_until(db) is None


def segments(db, which):
    return db.value(f"select count(distinct segid) from {word_tables.table(db, which)}_idx")


def take_in(db, texts):
    messages = [{"id": str(n), "role": "user", "content": text} for n, text in enumerate(texts)]
    transfer.import_lines(db, HERE, [json.dumps({"id": "a", "messages": messages})], "test", noon, print)


@pytest.fixture
def imported(tmp_path):
    """A file with an import whose words are indexed, and whose trigrams are not."""
    db = file.open_file(tmp_path / "memory.db", NOON, print)
    take_in(db, ["We met Katarzyna", *(f"Line {number}" for number in range(MANY - 2)), "Lisbon in May"])
    next(index.refresh_steps(db))
    assert index.count_stale(db) == 0
    yield db
    db.close()


def test_an_import_is_found_by_words_before_it_has_trigrams(imported):
    assert matches(imported, "katarzyna") == ["m1"]
    assert matches(imported, "lisbon") == [f"m{MANY}"]
    assert matches(imported, "kat", "trigrams") == matches(imported, "lis", "trigrams") == []
    assert (index.is_complete(imported), word_tables.count_without_trigrams(imported)) == (False, MANY)
    assert index.check(imported) == []  # what is still to be made is no damage
    finish(imported)
    assert matches(imported, "kat", "trigrams") == ["m1"]
    assert matches(imported, "lis", "trigrams") == [f"m{MANY}"]
    assert (index.is_complete(imported), word_tables.count_without_trigrams(imported)) == (True, 0)
    assert is_exact(imported)


def test_the_segments_of_an_import_are_merged_behind_it_even_after_a_crash(imported):
    note(imported, "The boat is called Esmeralda")
    for _ in index.refresh_steps(imported):
        if word_tables.trigrams_until(imported) is None:
            break  # all trigrams are made, and the process ends here
    assert segments(imported, "words") > 1
    assert not index.is_complete(imported)
    finish(imported)
    assert segments(imported, "words") == segments(imported, "trigrams") == 1
    assert index.is_complete(imported)
    settings = f"select v from {word_tables.table(imported, 'words')}_config where k in ('crisismerge', 'hashsize')"
    assert imported.rows(f"{settings} order by k") == [(16,), (1 << 20,)]  # as FTS5 has them by itself
    assert is_exact(imported)


def test_what_is_written_meanwhile_is_found_by_parts_of_words_too(imported):
    note(imported, "The boat is called Esmeralda")
    index.refresh(imported)
    finish(imported)
    assert matches(imported, "esm", "trigrams") == ["n1"]
    assert [hit.kind for hit in find(imported, "Esmeralde").hits] == ["note"]
    assert is_exact(imported)


def test_what_is_erased_while_words_are_indexed_is_in_no_index(tmp_path):
    db = file.open_file(tmp_path / "memory.db", NOON, print)
    take_in(db, [*["wide " * 18_000] * 23, *(f"Line {number}" for number in range(MANY)), "Lisbon in May"])
    last = MANY + 24
    steps = index.refresh_steps(db)
    next(steps)  # of the long texts; another connection reads all others meanwhile
    assert 0 < index.count_stale(db) < last
    with db.write():
        log.erase(db, [last])
    next(steps)
    assert index.count_stale(db) == 0
    assert db.rows("select max(row) from passage") == [(last - 1,)]
    db.close()


@pytest.mark.parametrize("made", [False, True])
@pytest.mark.parametrize("row", [1, MANY])
def test_what_is_erased_meanwhile_is_in_no_index(imported, row, made):
    if made:
        next(index.refresh_steps(imported))
    word, triple = ("katarzyna", "kat") if row == 1 else ("lisbon", "lis")
    with imported.write():
        index.erase(imported, "m", [row])
    assert matches(imported, word) == matches(imported, triple, "trigrams") == []
    finish(imported)
    assert matches(imported, triple, "trigrams") == []
    assert is_exact(imported)


def test_very_many_that_are_erased_meanwhile_are_in_no_index(imported):
    with imported.write():
        index.erase(imported, "m", range(1, MANY))
    assert matches(imported, "kat", "trigrams") == []
    assert is_exact(imported)


@pytest.mark.parametrize("how", [word_tables.rewrite, lambda db: word_tables.repair(db, "trigrams"), index.rebuild])
def test_an_index_made_anew_has_all_trigrams(imported, how):
    for _ in how(imported) or ():
        pass
    assert matches(imported, "lis", "trigrams") == [f"m{MANY}"]
    assert is_exact(imported)


def test_damage_of_the_trigrams_ends_their_making_and_a_repair_makes_all(imported):
    imported.execute("drop table trigrams_1_data")
    finish(imported)
    assert meta.damaged_indexes(imported) == ["trigrams"]
    assert matches(imported, "lisbon") == [f"m{MANY}"]
    word_tables.repair(imported, "trigrams")
    assert matches(imported, "lis", "trigrams") == [f"m{MANY}"]
    assert index.is_complete(imported)
