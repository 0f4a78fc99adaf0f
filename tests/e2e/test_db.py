"""`agent db`: where the file is, how large, copied while a conversation is open, brought back, checked, compacted."""

import stat
import time

import apsw
import pytest

from tests.conftest import Ran
from tests.tables import listed

pytestmark = pytest.mark.usefixtures("at_noon")


@pytest.mark.usefixtures("no_database")
def test_the_path_is_said_without_opening_the_file(program):
    assert program("db", "path") == Ran(0, f"{program.db}\n", "")
    assert not program.db.exists()


def test_status_says_what_is_in_the_file(program):
    program.let_scripts_decide()("notes", "add", "Buy milk")
    program("facts", "add", "I like tea")
    told = program("db", "status", "--json").json
    assert [told[name] for name in ("path", "journal", "free", "backups")] == [str(program.db), "wal", 0, []]
    assert told["rows"] == {"session": 0, "message": 0, "note": 1, "fact": 1, "summary": 0, "skill": 0, "event": 2}
    assert told["size"] == program.db.stat().st_size
    lines = program("db", "status").out.splitlines()
    assert [line.split()[0] for line in lines] == listed("""path | size | wal | free | format | journal
        sealed | sqlite | holds""")
    assert lines[-1] == "holds        0 sessions, 0 messages, 1 note, 1 fact, 0 summaries, 0 skills, 2 events"


def test_a_copy_made_beside_an_open_conversation_is_brought_back_after_it(program, terminal):
    program("notes", "add", "Buy milk")
    screen = terminal("-m", "offline").wait_prompt()
    screen.enter("hello there")
    screen.wait_prompt()
    copy = program.home / "copy.db"
    ran = program("db", "backup", str(copy))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"copied to {copy} and checked: ")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    program("notes", "add", "Buy bread")
    ran = program("db", "restore", str(copy))
    assert (ran.code, ran.out) == (6, "")
    assert ran.err.startswith(f"agent: {program.db}: another process has the database open")
    screen.enter("/exit")
    screen.ended()
    ran = program("db", "restore", str(copy))
    assert ran.code == 0
    said, kept = ran.out.splitlines()
    assert said.startswith(f"restored {program.db} from {copy}: 1 session, ")
    assert kept == f"the former database is kept in {program.home}/memory-before-2026-01-02-120000.db"
    assert program("notes", "list").out == "n1  2026-01-02  Buy milk\n"
    former = {"AGENT_DB": f"{program.home}/memory-before-2026-01-02-120000.db"}
    assert program("notes", "list", env=former).out.splitlines()[0] == "n2  2026-01-02  Buy bread"


def test_a_file_that_is_there_is_kept(program):
    copy = program.home / "copy.db"
    copy.write_text("mine")
    ran = program("db", "backup", str(copy))
    said = f"agent: {copy} exists already; name another file, or say --force to write over it\n"
    assert ran == Ran(2, "", said)
    assert copy.read_text() == "mine"
    assert program("db", "backup", str(copy), "--force").code == 0


@pytest.mark.usefixtures("no_database")
def test_a_missing_copy_is_said(program):
    ran = program("db", "restore", "nowhere.db")
    assert ran == Ran(
        2, "", f"agent: there is no file {program.work}/nowhere.db; name one that `agent db backup` wrote\n"
    )
    assert not program.db.exists()


def test_a_whole_file_is_said_to_be_whole(program):
    program("notes", "add", "Buy milk")
    ran = program("db", "check")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"{program.db} is whole: 0 sessions, 0 messages, 1 note, ")
    assert program("db", "check", "--json").json == {"ok": True, "damaged": [], "indexes": []}


def test_space_is_given_back(program):
    program("notes", "add", stdin="words " * 60_000)
    program("notes", "search", "words")
    size = program.db.stat().st_size
    ran = program("db", "compact")
    assert (ran.code, ran.err) == (0, "")
    before, after, gained = ran.out.removeprefix("compacted: ").strip().split(", ")
    assert (before.endswith("MB before"), after.endswith(" after"), gained.endswith(" gained")) == (True,) * 3
    assert program.db.stat().st_size <= size
    assert program("db", "check").code == 0


@pytest.fixture
def locked(program):
    """The file with a note, which another program is writing to."""
    program("notes", "add", "the harbour at noon")
    other = apsw.Connection(str(program.db))
    other.execute("insert into stale (kind, row) values ('n', 1) on conflict do nothing")
    other.execute("begin exclusive")
    yield program
    other.close()


@pytest.mark.parametrize("command", ["notes list", "notes search harbour", "search harbour"])
def test_another_program_that_writes_does_not_keep_what_is_there_from_being_read(locked, command):
    began = time.monotonic()
    ran = locked(*command.split())
    assert (ran.code, "the harbour at noon" in ran.out) == (0, True), ran
    assert time.monotonic() - began < 10  # a write is waited for 15 s


def test_a_file_that_another_program_writes_to_is_not_called_damaged(locked):
    told = locked("doctor").out
    assert "sound, 1 row waits to be indexed" in told
    assert "damaged" not in told
    assert "restore" not in told


def test_a_damaged_file_leads_to_what_can_be_saved_and_back_into_its_place(program):
    for number in range(3):
        program("notes", "add", f"note {number}")
    program("db", "backup", "copy.db")
    program("facts", "add", "The person lives in Graz", env={"AGENT_DB": str(program.db)})
    raw = bytearray(program.db.read_bytes())
    page = raw.index(b"note 2") // 4096 * 4096
    raw[page : page + 8] = b"\xff" * 8
    program.db.write_bytes(raw)
    assert "agent db check" in program("notes", "list").err
    checked = program("db", "check")
    assert checked.code == 6
    assert f"backups: {program.work / 'copy.db'} (2" in checked.out
    assert "`agent db salvage FILE` saves what can be read into a new file" in checked.err
    assert program("db", "check", "--json").json["backups"] == [str(program.work / "copy.db")]
    refused = program("db", "backup", "other.db")
    assert (refused.code, refused.err.startswith(f"agent: {program.db}: the database is damaged (")) == (6, True)
    saved = program("db", "salvage", "new.db")
    assert "note                   0 saved, 3 lost\n" in saved.out
    assert program("db", "restore", "copy.db").code == 0
    assert program("notes", "list").out.count("note") == 3
