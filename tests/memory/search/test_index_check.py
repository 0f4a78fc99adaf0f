"""Damage that raises no error is noticed by a cheap look; the trigrams of an import are made behind it."""

import json
import random
import shutil

import pytest

from agent_cli.agent.jobs import worker
from agent_cli.agent.jobs.job_context import JobContext
from agent_cli.llm.model import Cancel
from agent_cli.memory.conversations import log
from agent_cli.memory.planner import notes
from agent_cli.memory.search import index, recall, vectors, word_tables
from agent_cli.memory.search.candidates import Filter
from agent_cli.memory.transfers import transfer
from agent_cli.store import jobs, meta
from agent_cli.store.db import Database
from agent_cli.store.file import open_file
from tests.agent.jobs.test_worker import NO_EMBEDDER
from tests.conftest import HERE, NOON, empty, noon
from tests.recalling import (
    EMBEDDED,
    catch_up,
    check_indexes,
    embed,
    find,
    finish,
    matches,
    note,
    say,
    session_of,
    take_in,
)
from tests.tables import listed


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Enough messages for indexes of several pages, and vectors in two chunks."""
    path = tmp_path_factory.mktemp("template") / "memory.db"
    db = empty(path)
    session, drawn = session_of(db), random.Random(1)
    words = ["".join(drawn.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(4000)]
    with db.write():
        for _ in range(1500):
            say(db, session, " ".join(drawn.choices(words, k=20)))
    say(db, session, "The submarine is yellow")
    embed(db)
    db.execute("pragma wal_checkpoint(truncate)")
    db.close()
    return path


@pytest.fixture
def file(template, tmp_path):
    return shutil.copy(template, tmp_path / "memory.db")


def opened(file, *damages):
    """The file with some damage done to it."""
    db = Database(file)
    for sql in damages:
        db.execute(sql)
    db.close()
    db = Database(file)
    db.prepare()
    return db


def job_context(db, time=noon):
    return JobContext(db, time, lambda: None, NO_EMBEDDER, 10_000, Cancel())


def index_job(db, time=noon):
    jobs.add(db, worker.INDEX, "all", time())
    while worker.run_one(job_context(db, time)):
        pass


SILENT = {
    "words": [
        "delete from words_1_idx",
        "delete from words_1_docsize where id % 2 = 0",
        "delete from words_1_docsize where id = 7",
    ],
    "trigrams": ["delete from trigrams_1_idx"],
    "vectors": listed("""delete from bits_1_rowids | delete from bits_1_chunks | delete from vectors_1
        update bits_1_chunks set validity = zeroblob(length(validity))
        update bits_1_vector_chunks00 set vectors = zeroblob(length(vectors))
        update vectors_1 set e = zeroblob(256)"""),
}
LOUD = {
    "words": ["delete from words_1_data", "drop table words_1_data"],
    "trigrams": [  # the first is damage that ends the transaction in which it is read
        "update trigrams_1_data set block = x'380b01925c24d12a9d05daa1c127b43b252a27d1fa433cd79388fc4691969d7a'",
        "update trigrams_1_data set block = randomblob(40)",
    ],
    "vectors": ["drop table vectors_1", "drop table bits_1_vector_chunks00", "update vectors_1 set e = x'00'"],
}


@pytest.mark.parametrize(("name", "sql"), [(name, some[name][0]) for some in (SILENT, LOUD) for name in some])
def test_damage_is_noticed_and_mended_by_the_index_job(file, name, sql):
    db = opened(file, sql)
    assert meta.damaged_indexes(db) == []
    index_job(db)
    assert meta.damaged_indexes(db) == []
    assert [row["state"] for row in jobs.listing(db, 10) if row["kind"] == "mend"] == ["done"]
    assert index.check(db) == []
    found = recall.find(db, "submarine", Filter("person"), NOON, 1, EMBEDDED)
    assert ([hit.text for hit in found.hits], found.damaged) == (["The submarine is yellow"], ())
    db.close()


@pytest.mark.parametrize(
    ("name", "sql"), [(name, sql) for some in (SILENT, LOUD) for name in some for sql in some[name]]
)
def test_damage_is_noted_under_its_name_and_the_silent_is_noticed_by_no_search(file, name, sql):
    db = opened(file, sql)
    if sql in SILENT[name]:
        assert recall.find(db, "submarine", Filter("person"), NOON).damaged == ()
    assert index.check(db) == [name]
    db.close()


def test_what_is_whole_is_never_taken_for_damaged(file):
    db = opened(file)
    session = session_of(db)
    odd = 'x|…|🙂 🙃|"quoted" -words OR "|a\0b|我下周去东京出差|İstanbul ÄÖÜ ß Ⅻ ½|snake_case isn\'t'
    for words in (*f"{odd}|cafe\u0301 nai\u0308ve|\u200b\u200c|²|١٢٣|e\u0301".split("|"), "word " * 700):
        say(db, session, words)
        take_in(db, session, words, "Ann")
    note(db, "Buy milk", title="Shopping")
    catch_up(db)
    with db.write():
        index.erase(db, "m", [9])
    notes.edit(db, notes.get(db, 1, "person"), "Buy pomegranates", "", noon)
    catch_up(db)
    for _ in range(2):
        vectors.fill(db, vectors.current(db), EMBEDDED.embed_documents)
        for _ in range(30):
            assert index.check(db) == []
    db.close()


def test_an_empty_memory_is_sound_and_every_odd_text_is_looked_for(db, session):
    """All of a small memory is in each sample."""
    assert index.check(db) == []
    for words in ("…", "🙂", '"', "a\0b", "我下周去东京出差", "İstanbul ß Ⅻ", "cafe\u0301", "\u200b", "²", "١٢٣"):
        say(db, session, words)
    catch_up(db)
    assert index.check(db) == []


def test_vectors_swapped_while_they_are_looked_at_are_not_taken_for_damaged(file, monkeypatch):
    db, other, draw = opened(file), Database(file), random.sample
    vectors.create(db, EMBEDDED.identity(), EMBEDDED.dimension(), EMBEDDED.similarity_floor, "vectors next")

    def swapping(ids, count):
        vectors.swap(other)
        return draw(ids, count)

    monkeypatch.setattr(random, "sample", swapping)
    assert index.check(db) == []
    assert vectors.being_filled(db) is None
    other.close()
    db.close()


MANY = 2600  # messages: an import, not a conversation


def is_exact(db):
    check_indexes(db)
    return word_tables.trigrams_until(db) is None


def segments(db, which):
    return db.value(f"select count(distinct segid) from {word_tables.table(db, which)}_idx")


def import_texts(db, texts):
    messages = [{"id": str(n), "role": "user", "content": text} for n, text in enumerate(texts)]
    transfer.import_lines(db, HERE, [json.dumps({"id": "a", "messages": messages})], "test", noon, print)


@pytest.fixture
def imported(tmp_path):
    """A file with an import whose words are indexed, and whose trigrams are not."""
    db = open_file(tmp_path / "memory.db", NOON, print)
    import_texts(db, ["We met Katarzyna", *(f"Line {number}" for number in range(MANY - 2)), "Lisbon in May"])
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
    db = open_file(tmp_path / "memory.db", NOON, print)
    import_texts(db, [*["wide " * 18_000] * 23, *(f"Line {number}" for number in range(MANY)), "Lisbon in May"])
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
