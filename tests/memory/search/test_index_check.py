"""Damage that raises no error is noticed, by a look so cheap that it can be taken now and then."""

import random
import shutil

import pytest

from agent_cli.agent.jobs import worker
from agent_cli.agent.jobs.job_context import JobContext
from agent_cli.llm.model import Cancel
from agent_cli.memory.planner import notes
from agent_cli.memory.search import index, recall, vectors
from agent_cli.memory.search.candidates import Filter
from agent_cli.store import jobs, meta
from agent_cli.store.db import Database
from tests.agent.jobs.test_worker import NO_EMBEDDER
from tests.conftest import NOON, empty, noon
from tests.recalling import EMBEDDED, catch_up, embed, note, say, session_of, take_in
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
    "trigrams": ["update trigrams_1_data set block = randomblob(40)"],
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
