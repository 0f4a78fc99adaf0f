import subprocess
import sys
import threading
from contextlib import closing

import pytest

from agent_cli.errors import StoreError
from agent_cli.memory.forgetting import erasure_receipt
from agent_cli.store import sealing
from agent_cli.store.db import Database, TransactionLost, open_shared_memory


@pytest.fixture
def file(path):
    database = Database(path, busy_timeout=0.1)
    database.prepare()
    database.execute("create table word (text text not null unique)")
    yield database
    database.close()


def words(database):
    return [text for (text,) in database.rows("select text from word order by rowid")]


def test_every_pragma_is_really_set_on_every_connection(file):
    other = file.another_connection()
    names = ("journal_mode", "synchronous", "fullfsync", "secure_delete", "foreign_keys", "recursive_triggers")
    for database in (file, other):
        got = {name: database.value(f"pragma {name}") for name in names}
        assert got == dict(zip(names, ("wal", 2, 1, 1, 1, 1), strict=True))
    other.close()


def test_a_pragma_that_is_not_taken_is_told(path):
    database = Database(path, "memory")
    database.prepare()
    with database.write(), pytest.raises(StoreError, match="SQLite would not set journal_mode to wal"):
        Database._pragma(database, "journal_mode", "wal")


def test_deleted_words_leave_no_trace_in_any_file_after_a_truncating_checkpoint(file, path):
    with file.write():
        file.execute("insert into word values (?)", ("Schwarzwaldklinik" * 500,))
    with file.write():
        file.execute("delete from word")
    file.execute("pragma wal_checkpoint(truncate)")
    left = [each.name for each in path.parent.iterdir() if b"Schwarzwald" in each.read_bytes()]
    assert left == []


def break_off(database):
    with database.write():
        with database.write():
            database.execute("insert into word values ('undone')")
        raise ZeroDivisionError


def test_a_nested_write_is_a_savepoint_of_the_outer(file):
    with file.write():
        file.execute("insert into word values ('kept')")
        with pytest.raises(ZeroDivisionError):
            break_off(file)
        with file.write():
            file.execute("insert into word values ('kept too')")
    assert words(file) == ["kept", "kept too"]


HOLD = """
import sys
from agent_cli.store.db import Database
db = Database(sys.argv[1])
with db.write():
    db.execute("insert into word values ('theirs')")
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_file_that_another_program_keeps_busy_is_a_sentence_and_then_free_again(file, path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        other.stdout.readline()
        with pytest.raises(StoreError) as raised, file.write():
            file.execute("insert into word values ('mine')")
        other.communicate("\n")
    assert str(raised.value) == f"{path}: another program keeps the database busy; nothing was written, try again"
    with file.write():
        file.execute("insert into word values ('mine')")
    assert words(file) == ["theirs", "mine"]


FILL = """
import resource, signal, sys
from agent_cli.errors import StoreError
from agent_cli.store.db import Database
db = Database(sys.argv[1])
db.prepare()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
try:
    with db.write():
        for number in range(1000):
            db.execute("insert into word values (?)", (str(number) * 2000,))
except StoreError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
with db.write():
    db.execute("insert into word values ('after')")
"""


def test_a_disk_that_is_full_in_the_middle_of_a_write_leaves_the_file_whole(file, path):
    with file.write():
        file.execute("insert into word values ('before')")
    ran = subprocess.run([sys.executable, "-c", FILL, str(path)], capture_output=True, text=True, timeout=30)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith(f"{path}: the disk ")
    assert "nothing of this step was written" in ran.stdout
    assert words(file) == ["before", "after"]
    assert file.value("pragma integrity_check") == "ok"


def test_a_file_that_is_no_database_is_a_sentence(path):
    path.write_text("Dear diary, this is no database at all. " * 100)
    with pytest.raises(StoreError, match=r"memory\.db: this is not an SQLite database; name another file with --db"):
        Database(path).rows("select * from sqlite_schema")
    with pytest.raises(StoreError, match="the database cannot be opened; check that its folder exists"):
        Database(path.parent).rows("select 1 from sqlite_schema")


def test_a_mistake_in_our_own_sql_is_no_sentence_for_the_person(file):
    with pytest.raises(Exception, match="no such table: nowhere") as raised:
        file.rows("select * from nowhere")
    assert not isinstance(raised.value, StoreError)


def test_a_transaction_that_sqlite_has_undone_by_itself_is_told(db):
    db.execute("create table thing (name text)")

    def step():
        with db.write():
            db.execute("insert into thing values ('first')")
            db.execute("rollback")  # as SQLite does where it runs out of memory

    with pytest.raises(TransactionLost, match="nothing of this step was written, try again"):
        step()
    assert db.rows("select name from thing") == []
    with db.write():
        db.execute("insert into thing values ('again')")
    assert db.rows("select name from thing") == [("again",)]


def test_a_database_in_memory_is_seen_by_every_thread_and_by_no_other(tmp_path):
    first, other = open_shared_memory(), open_shared_memory()
    first.prepare()
    other.prepare()
    first.execute("create table word (text text)")

    def write():
        again = first.another_connection()
        for _ in range(50):
            with again.write():
                again.execute("insert into word values ('hello')")
        again.close()

    threads = [threading.Thread(target=write) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert first.value("select count(*) from word") == 150
    assert other.rows("select name from sqlite_schema") == []
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_opened_to_be_read_is_written_by_none_of_its_threads(file, path):
    file.execute("insert into word values ('hello')")
    reader = Database(path, read_only=True)
    reader.prepare()
    for each in (reader, reader.another_connection()):
        assert (words(each), each.value("pragma temp_store"), each.read_in_background(words)()) == (
            ["hello"],
            2,
            ["hello"],
        )
        with pytest.raises(StoreError, match="cannot be written"), each.write():
            each.execute("insert into word values ('more')")
        each.close()
    assert words(file) == ["hello"]


def test_several_ids_are_bound_in_one_parameter(db):
    sql = "select value from json_each(?) order by value"
    assert db.rows(sql, ((3, 1, 2),)) == db.rows(sql, ({1, 2, 3},)) == [(1,), (2,), (3,)]
    assert db.rows(sql, ([],)) == []
    with pytest.raises(TypeError):  # not a mapping as its keys
        db.rows(sql, ({1: "one"},))


def test_the_journal_is_emptied_unless_somebody_reads_what_was_there_before(tmp_path):
    db = Database(tmp_path / "memory.db")
    db.prepare()
    db.execute("create table t (x)")
    other = db.another_connection()
    other.execute("begin; select * from t")
    db.execute("insert into t values (1)")
    assert db.truncate_journal(0.05) is False
    assert (tmp_path / "memory.db-wal").stat().st_size > 0
    other.execute("rollback")
    assert db.truncate_journal() is True
    assert (tmp_path / "memory.db-wal").stat().st_size == 0
    with db.write(), pytest.raises(StoreError, match="in the middle of a transaction"):
        db.truncate_journal()
    other.close()
    db.close()
    assert Database().truncate_journal() is True


def test_no_other_program_takes_the_journal_away_however_the_file_was_looked_at(path):
    """SQLite deletes the journal when the last connection closes, which is known by locks."""
    with closing(Database(path)) as db:
        db.prepare()
        db.execute("create table word (text)")
        db.execute("pragma wal_checkpoint")
        db.another_connection().close()
        assert sealing.head_of(path) is None
        assert erasure_receipt.count(path, [b"word"])[b"word"]
        look = f"import sqlite3; db = sqlite3.connect({str(path)!r}); db.execute('select * from word'); db.close()"
        subprocess.run([sys.executable, "-c", look], check=True)
        assert path.with_name(f"{path.name}-wal").exists()
        db.execute("insert into word values ('tea')")
