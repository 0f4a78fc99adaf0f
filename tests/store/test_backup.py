"""Copies of the database under load, and what becomes of the file when one is brought back."""

import json
import stat
import time
import zlib

import pytest

from agent_cli.errors import StoreBusy, StoreError, UsageError
from agent_cli.memory import tombstones
from agent_cli.memory.planner import notes
from agent_cli.memory.search import index, vectors
from agent_cli.store import backup, file, file_check, schema
from agent_cli.store.db import Database
from tests import warm
from tests.conftest import HERE, NOON, noon

WRITER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.scope import PERSON, Scope
from agent_cli.messages import Part
from agent_cli.store import file

now, here = datetime.now(UTC), Scope(PERSON, "/")
db = file.open_file(Path(sys.argv[1]), now, print)
session = sessions.start(db, here, now)
number = 0
while True:
    log.add_user_message(db, session, here, [Part(f"message {number} " + "words " * 200, "typed")], now)
    number += 1
    if number == 50:
        print("writing", flush=True)
"""

HOLDER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from agent_cli.store import file
db = file.open_file(Path(sys.argv[1]), datetime.now(UTC), print)
print("open", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def opened(path):
    db = file.open_file(path, NOON, print)
    yield db
    db.close()


@pytest.fixture
def beside(path):
    """Starts a process on the file and waits until it says it is there."""
    running = []

    def start(script):
        running.append(warm.python(script, path))
        assert running[-1].stdout.readline()
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.communicate()


def texts(path):
    db = Database(path)
    try:
        return [text for (text,) in db.rows("select text from note order by id")]
    finally:
        db.close()


def write(db, *words):
    for each in words:
        notes.add(db, HERE, each, noon)


def test_a_copy_made_while_another_process_writes_is_whole_and_of_one_moment(opened, path, tmp_path, beside):
    write(opened, *[f"note {number} " + "words " * 500 for number in range(300)])
    beside(WRITER)
    copied = backup.create(opened, tmp_path / "copy.db")
    now = opened.value("select count(*) from message")
    backup.restore(tmp_path / "restored.db", copied.path, NOON, print)
    other = file.open_file(tmp_path / "restored.db", NOON, print)
    assert file_check.check(other) == file_check.CheckResult()
    assert backup.counts(other) == copied.rows
    assert 50 <= copied.rows["message"] <= now
    assert copied.rows["note"] == 300
    other.close()
    until = time.monotonic() + 10  # the writer may just have been waiting
    while opened.value("select count(*) from message") == now and time.monotonic() < until:
        time.sleep(0.02)
    assert opened.value("select count(*) from message") > now


def test_a_copy_is_one_file_of_the_owners_alone_and_is_noted(opened, path, tmp_path):
    write(opened, "buy milk")
    copied = backup.create(opened, tmp_path / "copy.db")
    assert stat.S_IMODE(copied.path.stat().st_mode) == 0o600
    assert sorted(each.name for each in tmp_path.glob("*copy*")) == ["copy.db"]
    assert list(tmp_path.glob(".*")) == []
    assert file.known_copies(opened) == [str(copied.path)]
    assert json.loads(opened.value("select value from meta where key = 'backups'")) == [str(copied.path)]
    backup.create(opened, copied.path, force=True)
    assert file.known_copies(opened) == [str(copied.path)]


def test_a_file_that_is_there_is_not_written_over_unless_told(opened, path, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"mine.txt exists already; name another file, or say --force"):
        backup.create(opened, tmp_path / "mine.txt")
    with pytest.raises(UsageError, match="is a folder; name a file in it"):
        backup.create(opened, tmp_path)
    for name in (path, path.with_name("memory.db-wal")):
        with pytest.raises(UsageError, match="is the database itself"):
            backup.create(opened, name, force=True)
    with pytest.raises(StoreError, match="no file can be written there"):
        backup.create(opened, tmp_path / "nowhere" / "copy.db")
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert backup.create(opened, tmp_path / "mine.txt", force=True).rows["note"] == 0


def test_a_file_with_a_plain_journal_is_copied_too_and_its_check_finds_a_row_that_points_nowhere(path, tmp_path):
    db = Database(path, "delete")
    db.prepare()
    schema.reconcile(db, NOON)
    write(db, "buy milk")
    copied = backup.create(db, tmp_path / "copy.db")
    db.execute("pragma foreign_keys = off")
    db.execute("insert into jotting (uid, session_id, text, at, utc_offset) values ('x', 9, 'x', '', 0)")
    assert file_check.check(db).canonical == ("jotting 1 refers to a session that does not exist",)
    db.close()
    assert texts(copied.path) == ["buy milk"]


def test_the_former_file_is_kept_aside_when_a_copy_is_restored(opened, path, tmp_path):
    write(opened, "one")
    copied = backup.create(opened, tmp_path / "copy.db")
    write(opened, "two")
    opened.close()
    restored = backup.restore(path, copied.path, NOON, print)
    assert restored.former == tmp_path / "memory-before-2026-01-02-120000.db"
    assert (texts(path), texts(restored.former), texts(copied.path)) == (["one"], ["one", "two"], ["one"])
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(restored.former.stat().st_mode) == 0o600
    assert not list(tmp_path.glob("*-wal")) + list(tmp_path.glob(".*"))
    again = backup.restore(path, copied.path, NOON, print)
    assert again.former == tmp_path / "memory-before-2026-01-02-120000-1.db"
    db = file.open_file(path, NOON, print)
    assert {*file.known_copies(db)} == {str(each) for each in (copied.path, restored.former, again.former)}
    db.close()


def test_the_copy_that_was_restored_is_noted_also_under_another_name(opened, path, tmp_path):
    moved = backup.create(opened, tmp_path / "copy.db").path.rename(tmp_path / "moved.db")
    opened.close()
    backup.restore(path, moved, NOON, print)
    db = file.open_file(path, NOON, print)
    assert str(moved) in file.known_copies(db), "what is forgotten later is searched there too"
    db.close()


def test_what_was_written_to_the_wal_alone_is_kept_aside_as_well(path, tmp_path):
    db = file.open_file(path, NOON, print)
    copied = backup.create(db, tmp_path / "copy.db")
    db.close()
    script = f"""
import os
from datetime import UTC, datetime
from pathlib import Path
from agent_cli.memory.planner import notes
from agent_cli.memory.scope import PERSON, Scope
from agent_cli.store import file
now = lambda: datetime.now(UTC)
notes.add(file.open_file(Path({str(path)!r}), now(), print), Scope(PERSON, "/"), "in the wal", now)
os._exit(9)
"""
    warm.python(script).communicate()
    assert path.with_name("memory.db-wal").exists()
    restored = backup.restore(path, copied.path, NOON, print)
    assert (texts(path), texts(restored.former)) == ([], ["in the wal"])


def test_nothing_is_restored_while_another_process_has_the_file_open(opened, path, tmp_path, beside):
    write(opened, "one")
    copied = backup.create(opened, tmp_path / "copy.db")
    write(opened, "two")
    opened.close()
    process = beside(HOLDER)
    with pytest.raises(StoreBusy, match=r"another process has the database open; .*nothing was changed"):
        backup.restore(path, copied.path, NOON, print)
    assert texts(path) == ["one", "two"]
    assert not list(tmp_path.glob("*before*")) + list(tmp_path.glob(".*"))
    process.communicate("\n")
    assert texts(backup.restore(path, copied.path, NOON, print).former) == ["one", "two"]


def test_a_session_that_a_living_process_holds_is_named(opened, path, tmp_path, beside):
    copied = backup.create(opened, tmp_path / "copy.db")
    opened.execute("pragma journal_mode = delete")
    writer = beside(WRITER)
    with pytest.raises(StoreBusy, match=rf"another process has the database open \(process {writer.pid}\)"):
        backup.restore(path, copied.path, NOON, print)


def test_a_damaged_database_is_replaced_and_kept(opened, path, tmp_path):
    write(opened, "one")
    copied = backup.create(opened, tmp_path / "copy.db")
    opened.close()
    path.write_bytes(b"no database at all" * 1000)
    path.with_name("memory.db-wal").write_bytes(b"left")
    restored = backup.restore(path, copied.path, NOON, print)
    assert texts(path) == ["one"]
    assert restored.former.read_bytes() == b"no database at all" * 1000
    assert restored.former.with_name(restored.former.name + "-wal").read_bytes() == b"left"


def damaged(copy):
    raw = bytearray(copy.read_bytes())
    raw[4096 * 3 : 4096 * 12] = b"\xa5" * (4096 * 9)
    copy.write_bytes(raw)


def newer(copy):
    db = Database(copy, "delete")
    db.execute("pragma user_version = 99")
    db.close()


def another(copy):
    copy.unlink()
    db = Database(copy, "delete")
    db.execute("create table word (text)")
    db.close()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (damaged, "damaged|malformed"),
        (newer, "a newer agent wrote this file"),
        (another, "belongs to another program"),
        (lambda copy: copy.write_bytes(b""), "this is not a database of agent"),
        (lambda copy: copy.write_text("words " * 2000), "this is not an SQLite database"),
        (lambda copy: copy.unlink(), "there is no file"),
    ],
)
def test_a_copy_that_cannot_be_used_changes_nothing(opened, path, tmp_path, spoil, said):
    write(opened, "one")
    copied = backup.create(opened, tmp_path / "copy.db")
    opened.close()
    spoil(copied.path)
    with pytest.raises((StoreError, UsageError), match=said):
        backup.restore(path, copied.path, NOON, print)
    assert texts(path) == ["one"]
    assert not list(tmp_path.glob("*before*")) + list(tmp_path.glob(".*"))


def test_a_restore_tells_when_forgotten_things_may_be_back(opened, path, tmp_path):
    write(opened, "one")
    copied = backup.create(opened, tmp_path / "copy.db")
    opened.close()
    assert not backup.restore(path, copied.path, NOON, print).revives_erased
    db = file.open_file(path, NOON, print)
    with db.write():
        tombstones.add(db, ["one"], NOON)
    db.close()
    assert backup.restore(path, copied.path, NOON, print).revives_erased


def unit(text):
    """A vector that depends on the text."""
    checksum = zlib.crc32(text.encode())
    return [(checksum % (n + 7)) / (n + 7) / 8 - 0.06 for n in range(64)]


def test_compacting_gives_space_back_and_changes_nothing_that_is_found(opened):
    for first in "ab":  # more pieces than go into one block of vectors
        write(opened, " ".join(f"{first}{number % 99}" for number in range(150_000)))
    index.refresh_all(opened, seconds=60)
    made = vectors.create(opened, "test", 64, 0.0)
    while vectors.fill(opened, made, lambda texts: [unit(text) for text in texts]):
        pass
    with opened.write():
        index.erase(opened, "n", [1])
        opened.execute("delete from note where id = 1")
    among = vectors.current(opened)
    nearest = vectors.nearest(opened, among, unit("b77 b78"), 20)
    before, after = backup.compact(opened)
    assert (after < before, len(nearest)) == (True, 20)
    assert vectors.nearest(opened, among, unit("b77 b78"), 20) == nearest
    assert file_check.check(opened) == file_check.CheckResult()
    assert opened.value("pragma journal_mode") == "wal"
