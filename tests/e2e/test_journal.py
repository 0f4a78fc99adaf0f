"""When nothing has the database open any more, its file alone holds everything: it may be copied as it is."""

import shutil
import signal
import sqlite3
import urllib.request

import pytest

from agent_cli.store.db import Database


def copied(program):
    """The notes in a copy of the file, made without its journal."""
    copy = program.home / "copy.db"
    shutil.copyfile(program.db, copy)
    db = Database(copy, read_only=True)
    try:
        return [text for (text,) in db.rows("select text from note order by id")]
    finally:
        db.close()


def is_alone(program):
    journal = program.db.with_name("memory.db-wal")
    return not journal.exists() or journal.stat().st_size == 0


def test_after_a_conversation_the_file_alone_holds_everything(program, terminal):
    screen = terminal("-m", "offline").wait_prompt()
    screen.enter("/note Buy milk").wait("n1").wait_prompt().enter("/exit")
    screen.ended()
    assert is_alone(program)
    assert copied(program) == ["Buy milk"]


def test_after_a_server_was_asked_to_end_the_file_alone_holds_everything(program):
    process = program.start("serve", "--port", "0", "--grace", "0")
    address = ""
    for line in process.stderr:
        if "serving at" in line:
            address = line.split(" at ")[1].split(" ")[0]
            break
    urllib.request.urlopen(f"{address}/health", timeout=5).read()
    program("notes", "add", "Buy milk")  # beside it
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert process.returncode == 143
    assert is_alone(program)
    assert copied(program) == ["Buy milk"]


@pytest.mark.parametrize(
    "command", [["notes", "add", "Buy bread"], ["search", "milk"], ["notes", "rm", "n9"], ["db", "check"]]
)
def test_after_a_command_the_file_alone_holds_everything(program, command):
    program("notes", "add", "Buy milk")
    program(*command)
    assert is_alone(program)
    assert copied(program)[0] == "Buy milk"


def test_a_command_beside_an_open_conversation_leaves_what_it_wrote_in_the_file(program, terminal):
    screen = terminal("-m", "offline").wait_prompt()
    program("notes", "add", "Buy milk")
    assert copied(program) == ["Buy milk"]
    screen.enter("/exit")
    screen.ended()


def put_journal_of(program, other, *, notes):
    """Put the journal of another file beside the program's, with so many notes in it."""
    env = {"AGENT_DB": str(other)}
    program("notes", "add", "of the other", env=env)
    reader = Database(other)
    reader.prepare()
    with reader.snapshot():  # a reader keeps the journal from being emptied
        reader.rows("select 1 from note")
        for number in range(notes):
            program("notes", "add", f"other {number}", env=env)
        shutil.copyfile(f"{other}-wal", f"{program.db}-wal")
    reader.close()


def test_a_journal_of_the_file_itself_is_applied_after_a_crash(program):
    program("notes", "add", "mine")
    put_journal_of(program, program.db.rename(program.home / "was.db"), notes=2)
    shutil.copyfile(program.home / "was.db", program.db)
    assert program("notes", "list").out.count("other") == 3


def put_rollback_journal_of(program, other):
    """Put the journal of a change of another file, which is not yet complete, beside the program's."""
    db = sqlite3.connect(other, isolation_level=None)
    db.execute("pragma journal_mode = delete")
    db.execute("pragma cache_size = 1")  # its pages are written, and its journal is whole, before it ends
    db.execute("begin immediate")
    db.execute("update passage set length = length + 1")
    db.execute("create table more as select zeroblob(200000) data")
    shutil.copyfile(f"{other}-journal", f"{program.db}-journal")
    return db


def test_a_rollback_journal_of_the_file_itself_is_applied_after_a_crash(program):
    program("notes", "add", "mine")
    was = program.db.rename(program.home / "was.db")
    changing = put_rollback_journal_of(program, was)
    shutil.copyfile(was, program.db)  # as a crash leaves it
    changing.close()
    assert "mine" in program("notes", "list").out
    assert program("db", "check").code == 0
    assert Database(program.db, read_only=True).value("select count(*) from sqlite_schema where name = 'more'") == 0
