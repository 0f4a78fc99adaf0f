"""What a crash, a crowd or a full disk must not take away; and the file alone holds everything once it is closed."""

import json
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import urllib.request
from itertools import chain

import pytest

from agent_cli.store.db import Database
from tests import crash, crowd
from tests.conftest import Ran
from tests.ollama_server import script

WORDS = " ".join(f"word {number}." for number in range(400))


@pytest.fixture
def talked(program, server):
    """The program with a session to go on with, and a server."""
    session = {"id": "1", "messages": [{"id": "1", "role": "user", "content": "hello"}]}
    program.use(server)("sessions", "import", "-", stdin=json.dumps(session))
    return program


def integrity(program):
    return program.rows("pragma integrity_check")


def roles(program):
    return program.rows("select role, finish, failed from message where id > 1 order by id")


@pytest.mark.parametrize("seed", [1])
def test_nothing_acknowledged_is_lost_when_the_program_is_killed(tmp_path, seed):
    outcome = crash.kill_rounds(tmp_path, 8, seed)
    assert (outcome.rounds, outcome.lost, outcome.broken) == (8, [], [])
    assert min(outcome.questions, outcome.words, outcome.cut) > 0, "no kill came while something was going on"


def test_a_call_that_was_killed_is_answered_interrupted(talked, server, terminal):
    server.play(script.reply("I save it.", calls=[("save_note", {"text": "milk"})]))
    shell = terminal("-c").wait_prompt().enter("save it").wait("allow it?")
    shell.signal(signal.SIGKILL)
    assert shell.ended() == -signal.SIGKILL
    server.play(script.reply("It was not saved."))
    assert talked("ask", "-c", "did you?").out == "It was not saved.\n"
    sent = [(message["role"], message["content"]) for message in server.turns[-1]["messages"][2:]]
    assert sent[:2] == [("assistant", "I save it."), ("tool", "interrupted")]
    assert roles(talked)[2] == ("tool", "stop", 1)
    assert talked.rows("select count(*) from note") == [(0,)]


def test_what_two_sessions_and_a_killed_runner_of_jobs_do_together_happens_once(tmp_path):
    outcome = crowd.run(tmp_path, 3, seed=1)
    assert outcome.wrong == []
    assert min(outcome.turns, outcome.kills, outcome.proposals) > 0, "nothing went on"


@pytest.mark.usefixtures("no_database")
def test_eight_processes_write_into_one_file(program):
    numbers = crash.write_together(program.db, 8, 200)
    assert [len(each) for each in numbers] == [200] * 8
    kept = program.rows("select id, uid, text from message order by id")
    assert sorted(chain(*numbers)) == [id for id, _, _ in kept]
    assert {text for _, _, text in kept} == {f"writer {who} {number}" for who in range(8) for number in range(200)}
    assert len({uid for _, uid, _ in kept}) == 1600
    assert integrity(program) == [("ok",)]


LIMITED = "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, ({0}, {0}))"
POWERLESS = """
import ctypes
held, version, libc = (ctypes.c_uint32 * 6)(), (ctypes.c_uint32 * 2)(0x20080522), ctypes.CDLL(None)
libc.capget(version, held)
for each in (0, 1):
    held[each] &= ~0b110  # effective and permitted, without CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
if os.geteuid() == 0 and (libc.prctl(24, 1, 0, 0, 0) or libc.capset(version, held)):  # PR_CAPBSET_DROP
    sys.exit(99)"""


@pytest.mark.parametrize("room", [20_000, 60_000, 200_000])
def test_a_disk_that_fills_up_during_a_turn_leaves_the_file_whole(talked, server, room):
    """So many bytes are left for SQLite's log of writes, which begins empty: enough to open the file, or to begin."""
    server.answer = lambda body: script.reply(WORDS, delay=0.0005)
    ran = talked("-q", "ask", "-c", "go on", first=LIMITED.format(room))
    assert (ran.code, ran.err.count("\n")) == (6, 1), ran.err
    assert ran.err.startswith(f"agent: {talked.db}: the disk")
    assert integrity(talked) == [("ok",)]
    replied = talked.rows("select group_concat(text) from message where role = 'assistant'")[0][0] or ""
    assert ran.out.strip() in replied
    server.play(script.reply("Here I am."))
    assert talked("ask", "-c", "are you there?").out == "Here I am.\n"
    assert talked.rows("select count(*) from message where finish is null") == [(0,)]


@pytest.fixture
def read_only(talked):
    """Runs the program with a file that may be read and no more."""
    talked("notes", "add", "milk")
    talked.db.chmod(0o400)

    def run(*words):
        ran = talked(*words, first=POWERLESS)
        if ran.code == 99:
            pytest.skip("root cannot give up its rights here")
        return ran

    yield run
    talked.db.chmod(0o600)


def test_a_file_that_may_not_be_written_can_be_read(read_only):
    listed = read_only("notes", "list")
    assert (listed.code, listed.out.split()[-1], listed.err) == (0, "milk", "")
    assert read_only("sessions", "list").code == 0


@pytest.mark.parametrize("words", [("ask", "-c", "hello"), ("ask", "hello"), ("notes", "add", "bread")])
def test_a_file_that_may_not_be_written_is_told_in_a_sentence(read_only, talked, words):
    sentence = f"agent: {talked.db}: the database cannot be written; check the permissions of the file and its folder\n"
    assert read_only(*words) == Ran(6, "", sentence)


def test_on_a_disk_that_is_read_only_a_file_can_be_read(talked):
    talked("notes", "add", "milk")
    home = shlex.quote(str(talked.home))
    mounted = f"mount --bind {home} {home} && mount -o remount,ro,bind {home}"
    if subprocess.run(["unshare", "-rm", "sh", "-c", mounted], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    agent = shlex.join([sys.executable, "-m", "agent_cli"])
    inside = f"{mounted} && {agent} notes list && {agent} db check && {agent} -q notes add bread"
    ran = subprocess.run(["unshare", "-rm", "sh", "-c", inside], env=talked.env, capture_output=True, text=True)
    assert (ran.returncode, "Traceback" in ran.stderr) == (6, False)
    assert (ran.stdout.split()[2], " is whole: " in ran.stdout) == ("milk", True)


def test_in_a_folder_that_may_not_be_written_a_file_can_be_read(read_only, talked):
    talked.home.chmod(0o500)
    read, written = read_only("notes", "list"), read_only("-q", "notes", "add", "bread")
    talked.home.chmod(0o700)
    assert (read.code, read.out.split()[-1], read.err.count("\n")) == (0, "milk", 1)
    assert (written.code, written.out, written.err.count("\n")) == (6, "", 1)
    assert [str(talked.db) in each.err for each in (read, written)] == [True, True]


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
