"""Documents follow their files: what is new, changed, moved, deleted, taken out or forgotten between two looks."""

import os
import random
import threading

import pytest

from agent_cli import kinds
from agent_cli.errors import UsageError
from agent_cli.llm import embedded
from agent_cli.memory.documents import documents
from agent_cli.memory.documents.documents import SyncResult
from agent_cli.memory.search import index, vectors
from agent_cli.store import jobs
from tests.conftest import HERE, NOON, empty, noon
from tests.recalling import find, say


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "notes"
    made.mkdir()
    return made


def sync(db, only=None):
    tally = SyncResult()
    for _ in documents.sync(db, "person", noon, tally, only):
        pass
    return tally


def add(db, path):
    documents.add(db, HERE, documents.absolute(str(path), "/"), noon)
    return sync(db)


def told(tally):
    """What it counted, without the zeros."""
    return {name: many for name, many in tally.describe().items() if many}


def sections(db):
    """Section by section: its id, file, line and text."""
    rows = db.rows(
        "select s.id, path, line, text from section s join document d on d.id = document_id order by path, position"
    )
    return [(f"d{id}", os.path.basename(path), line, text) for id, path, line, text in rows]


def found(db, words):
    return [(hit.handle, hit.file) for hit in find(db, words, kinds=("section",)).hits]


def test_what_stands_in_a_file_is_found_with_file_and_line(db, folder):
    (folder / "router.md").write_text("# Router\n\n## Passwords\n\nThe admin is called marmot.\n")
    assert told(add(db, folder)) == {"new": 1}
    [hit] = find(db, "Who is the admin of the router?").hits
    assert (hit.handle, hit.label, hit.line) == ("d1", f"{folder}/router.md:5", 5)
    assert hit.text == "Router › Passwords\nThe admin is called marmot."


def test_a_file_changed_moved_and_deleted_gives_exactly_the_expected_hits(db, folder):
    (folder / "stay.md").write_text("# A\nalpha\n\n# B\nbravo\n\n# C\ncharlie\n")
    (folder / "move.md").write_text("delta echo\n")
    (folder / "gone.md").write_text("foxtrot\n")
    add(db, folder)
    assert sections(db) == [
        ("d1", "gone.md", 1, "foxtrot"),
        ("d2", "move.md", 1, "delta echo"),
        ("d3", "stay.md", 2, "alpha"),
        ("d4", "stay.md", 5, "bravo"),
        ("d5", "stay.md", 8, "charlie"),
    ]

    assert db.rows("select title from document order by path") == [("",), ("",), ("A",)]
    (folder / "stay.md").write_text("# A\nalpha\n\nnew line\n\n# B\nbravissimo\n\n# C\ncharlie\n")
    (folder / "sub").mkdir()
    (folder / "move.md").rename(folder / "sub" / "moved.md")
    (folder / "gone.md").unlink()

    assert told(sync(db)) == {"changed": 1, "moved": 1, "gone": 1}
    assert sections(db) == [
        ("d6", "stay.md", 2, "alpha\n\nnew line"),
        ("d7", "stay.md", 7, "bravissimo"),
        ("d5", "stay.md", 10, "charlie"),
        ("d2", "moved.md", 1, "delta echo"),
    ]
    assert found(db, "foxtrot") == []
    assert found(db, "bravo") == []
    assert found(db, "bravissimo") == [("d7", "stay.md:7")]
    assert found(db, "delta") == [("d2", "moved.md:1")]
    assert found(db, "charlie") == [("d5", "stay.md:10")]
    assert db.rows("select title from document order by path") == [("A",), ("",)]
    assert told(sync(db)) == {"unchanged": 2}


def test_a_file_of_the_same_size_and_time_is_not_read(db, folder):
    file = folder / "a.txt"
    file.write_text("alpha")
    add(db, folder)
    stamp = file.stat()
    file.write_text("bravo")
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert told(sync(db)) == {"unchanged": 1}
    os.utime(file, ns=(5, 5))
    assert told(sync(db)) == {"changed": 1}
    os.utime(file, ns=(6, 6))
    before = db.rows("select * from section")
    assert told(sync(db)) == {"unchanged": 1}  # touched, with the same bytes
    assert db.value("select changed_ns from document") == 6
    assert db.rows("select * from section") == before


def test_a_file_moved_to_another_folder_that_was_added_keeps_its_ids(db, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "one" / "a.txt").write_text("alpha")
    add(db, tmp_path / "one")
    add(db, tmp_path / "two")
    (tmp_path / "one" / "a.txt").rename(tmp_path / "two" / "b.txt")
    assert told(sync(db)) == {"moved": 1}
    assert (sections(db), found(db, "alpha")) == ([("d1", "b.txt", 1, "alpha")], [("d1", "b.txt:1")])


def test_copies_of_a_file_are_files_of_their_own(db, folder):
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text("alpha")
    assert told(add(db, folder)) == {"new": 2}


def test_hidden_made_and_linked_files_are_left_out(db, folder, tmp_path):
    (tmp_path / "outside.txt").write_text("outside")
    for path in (".hidden.txt", ".git/config.txt", "node_modules/x.txt", "venv/x.txt", "cache/x.txt", "sub/in.txt"):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(path)
    (folder / "venv" / "pyvenv.cfg").touch()
    (folder / "cache" / "CACHEDIR.TAG").touch()
    (folder / "out.txt").symlink_to(tmp_path / "outside.txt")
    (folder / "loop").symlink_to(folder)
    (folder / "in.txt").symlink_to(folder / "sub" / "in.txt")
    (folder / "open.txt").symlink_to(folder / ".hidden.txt")
    assert told(add(db, folder)) == {"new": 1}
    assert [name for _, name, *_ in sections(db)] == ["in.txt"]
    assert told(sync(db)) == {"unchanged": 1}


def test_a_glob_takes_what_it_names(db, folder):
    (folder / "sub").mkdir()
    for path in ("a.md", "a.txt", "sub/b.md"):
        (folder / path).write_text(path)
    add(db, f"{folder}/*.md")
    assert [name for _, name, *_ in sections(db)] == ["a.md"]
    add(db, f"{folder}/**/*.md")
    assert sorted(name for _, name, *_ in sections(db)) == ["a.md", "b.md"]


def test_what_cannot_be_read_is_listed_with_the_reason_and_the_rest_goes_on(db, folder):
    (folder / "binary").write_bytes(b"\x7fELF\0\0\1")
    with (folder / "large.txt").open("w") as large:
        large.truncate(25_000_000)
    (folder / "photo.jpg").write_bytes(b"\xff\xd8")
    (folder / "scan.pdf").write_text("%PDF nonsense")
    (folder / "z.txt").write_text("fine")
    os.mkfifo(folder / "pipe")
    assert told(add(db, folder)) == {"new": 1, "failed": 4}
    failed = [(os.path.basename(row["path"]), row["error"]) for row in documents.files(db, "person", failed=True)]
    assert failed == [
        ("binary", "it is not text but binary"),
        ("large.txt", "it is too large: 25 MB, and at most 20 are read"),
        ("photo.jpg", "it is not text: .jpg files are not read"),
        ("scan.pdf", "it cannot be parsed as PDF (PdfStreamError)"),
    ]
    assert told(sync(db)) == {"unchanged": 5}
    (folder / "binary").write_text("now text")
    assert told(sync(db)) == {"changed": 1, "unchanged": 4}


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_a_file_is_read_once_its_owner_allows_it(db, folder):
    (folder / "a.txt").write_text("alpha")
    (folder / "a.txt").chmod(0)
    assert told(add(db, folder)) == {"failed": 1}
    (folder / "a.txt").chmod(0o600)
    assert told(sync(db)) == {"changed": 1}


def test_a_folder_that_is_not_there_now_loses_nothing(db, folder, tmp_path):
    (folder / "a.txt").write_text("alpha")
    add(db, folder)
    folder.rename(tmp_path / "elsewhere")
    [kept] = sync(db).warnings
    assert kept.startswith(f"{folder} cannot be found now")
    assert found(db, "alpha") == [("d1", "a.txt:1")]
    folder.mkdir()  # the place of a disk that is not mounted: empty since before it was read
    os.utime(folder, (5, 5))
    assert [kept.partition(":")[0] for kept in sync(db).warnings] == [
        f"{folder} is empty, as if a disk were not mounted"
    ]
    assert found(db, "alpha") == [("d1", "a.txt:1")]


def test_the_last_file_of_a_folder_can_be_deleted_and_so_can_a_file_that_was_added_alone(db, folder):
    (folder / "a.txt").write_text("alpha")
    (folder / "sub").mkdir()
    (folder / "sub" / "b.txt").write_text("bravo")
    add(db, folder / "a.txt")
    add(db, folder / "sub")
    (folder / "a.txt").unlink()
    (folder / "sub" / "b.txt").unlink()
    assert told(sync(db)) == {"gone": 2}
    assert sections(db) == []


def test_taken_out_is_out_at_once_and_stays_out_until_it_is_added_again(db, folder):
    (folder / "a.txt").write_text("alpha")
    (folder / "b.txt").write_text("bravo")
    add(db, folder)
    assert "1 file is out of memory" in documents.remove(db, "person", str(folder / "a.txt"), noon)
    assert found(db, "alpha") == []
    (folder / "a.txt").write_text("alpha again")
    (folder / "a.txt").rename(folder / "c.txt")
    (folder / "a.txt").write_text("alpha again")
    sync(db)
    assert [name for _, name, *_ in sections(db)] == ["b.txt", "c.txt"]
    assert (folder / "a.txt").exists()
    add(db, folder / "a.txt")
    assert sorted(name for _, name, *_ in sections(db)) == ["a.txt", "b.txt", "c.txt"]
    documents.remove(db, "person", str(folder), noon)
    assert (sections(db), documents.listing(db, "person"), db.rows("select * from document")) == ([], [], [])
    with pytest.raises(UsageError, match="is not among your documents"):
        documents.remove(db, "person", str(folder), noon)


def test_a_file_of_two_collections_is_read_once(db, folder):
    (folder / "a.txt").write_text("alpha")
    add(db, folder / "a.txt")
    assert told(add(db, folder)) == {"unchanged": 1, "elsewhere": 1}
    assert [section[0] for section in sections(db)] == ["d1"]
    documents.remove(db, "person", str(folder / "a.txt"), noon)  # of the one it goes, of the other it is left out
    sync(db)
    assert (sections(db), [row["left_out"] for row in documents.listing(db, "person")]) == ([], [1])


def rows(db):
    """All that is kept of documents, but for what chance and the clock made of it."""
    return [
        db.rows("select id, path, size, hash, title, error from document order by id"),
        db.rows("select * from section order by id"),
        db.rows("select id, kind, row, start, length from passage order by id"),
    ]


def test_two_that_sync_at_once_double_nothing(tmp_path, folder):
    chance = random.Random(5)
    for n in range(120):
        (folder / f"{n}.txt").write_text(" ".join(str(chance.random()) for _ in range(20)))
    alone, together = empty(tmp_path / "alone.db"), empty(tmp_path / "together.db")
    add(alone, folder)
    documents.add(together, HERE, str(folder), noon)

    def other():
        db = together.another_connection()
        sync(db)
        db.close()

    threads = [threading.Thread(target=other) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [len(table) for table in rows(together)] == [len(table) for table in rows(alone)] == [120, 120, 120]
    assert together.value("select count(*) from stale") == 0
    for db in (alone, together):
        db.close()


def test_names_that_are_no_text_and_times_that_no_calendar_has_are_kept(db, folder):
    with open(os.path.join(os.fsencode(folder), b"caf\xe9.txt"), "w") as file:
        file.write("alpha")
    os.utime(os.path.join(os.fsencode(folder), b"caf\xe9.txt"), ns=(-(10**18), -(10**18)))
    assert told(add(db, folder)) == {"new": 1}
    assert told(sync(db)) == {"unchanged": 1}
    assert found(db, "alpha") == [("d1", "caf\ufffd.txt:1")]


def test_the_name_of_a_file_cannot_drive_the_terminal(db, folder):
    (folder / "evil\x1b]0;x\x07\nname.txt").write_text("alpha")
    add(db, folder)
    assert found(db, "alpha") == [("d1", "evil]0;x name.txt:1")]


def test_what_is_said_is_indexed_before_files(db, session, folder):
    (folder / "a.txt").write_text("alpha")
    add(db, folder)
    db.execute("insert into stale (kind, row) values ('d', 1)")
    say(db, session, "bravo")
    assert [(each.kind, each.row) for each in index.read_stale(db, 1, 1)] == [("m", 1)]


def test_a_collection_is_looked_at_again_by_a_job_when_some_minutes_have_passed(db, folder):
    documents.queue(db, NOON)
    assert not jobs.is_pending(db, documents.JOB)
    add(db, folder)
    documents.queue(db, NOON + documents.EVERY)
    assert not jobs.is_pending(db, documents.JOB)
    documents.queue(db, NOON + 2 * documents.EVERY)
    assert jobs.is_pending(db, documents.JOB, "all")


def test_files_change_nothing_of_what_else_is_found(db, session, folder):
    for n in range(40):
        say(db, session, f"The marmot number {n} lives near lake {n % 7} and whistles at {n % 5} o'clock")
    questions = ("Where does marmot 7 live?", "lake whistles", "Which marmot whistles at 3?")
    said = tuple(kind.name for kind in kinds.SEARCHABLE if kind.name != "section")
    before = [[hit.handle for hit in find(db, each, kinds=said).hits] for each in questions]
    for n in range(60):
        (folder / f"{n}.txt").write_text(f"marmot lake whistles live number {n} o'clock " * 5)
    add(db, folder)
    assert [[hit.handle for hit in find(db, each, kinds=said).hits] for each in questions] == before
    everything = find(db, "marmot 7 lake", limit=20).hits
    assert {hit.kind for hit in everything} == {"message", "section"}


def test_the_index_made_anew_finds_files_too(db, folder):
    (folder / "a.txt").write_text("alpha bravo")
    add(db, folder)
    for _ in index.rebuild(db):
        pass
    assert found(db, "alpha") == [("d1", "a.txt:1")]
    assert db.value("select id from passage where kind = 'd'") == -1


def test_files_are_found_by_meaning_in_vectors_of_their_own(db, session, folder):
    embedder = embedded.EmbeddedEmbedder()
    say(db, session, "Tomorrow I see the dentist")
    (folder / "a.txt").write_text("The physician has office hours on Friday.")
    (folder / "b.txt").write_text("Gravel for the garden path.")
    among = vectors.create(db, embedder.identity(), embedder.dimension(), embedder.similarity_floor)
    add(db, folder)
    index.refresh_all(db)
    while vectors.fill(db, among, embedder.embed_documents):
        pass
    assert (vectors.count(db, among), vectors.count_missing(db, among)) == (3, 0)
    [hit] = find(db, "Who may see a doctor?", meaning=embedder, kinds=("section",)).hits
    assert (hit.file, "words" in hit.legs) == ("a.txt:1", False)
    (folder / "a.txt").write_text("Nothing of the kind, and of some length.")
    sync(db)
    while vectors.fill(db, among, embedder.embed_documents):
        pass
    assert db.rows(f"select id from {among.files.table} order by id") == [(-3,), (-2,)]
    assert vectors.count(db, among) == 3
    vectors.recreate(db)
    assert not db.rows("select 1 from sqlite_schema where name glob '*_1f'")


def test_a_file_in_the_deepest_folder_is_found(abyss):
    [(path, real, size, _)] = documents.walk(str(abyss))
    assert (path, size) == (real, 22)
    assert path.endswith("/d/d/bottom.txt")
