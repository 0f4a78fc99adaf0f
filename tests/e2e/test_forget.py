"""A person forgets: from the command line and at the prompt, while other processes have the file open."""

import hashlib
import json
import re
import signal
import subprocess
import sys

import pytest

from agent_cli.store import file
from agent_cli.store.db import Database
from tests import forgetting, warm
from tests.conftest import NOON, Ran
from tests.e2e.test_crash import POWERLESS
from tests.forgetting import traces
from tests.terminal import ENTER

pytestmark = pytest.mark.usefixtures("scripts_decide")

SECRET = "Xk7Qv2Rm9Tz4Wb8Yc3Hd5Jf6"  # 24 characters
FOREIGN = "Ծաղկաձորի-գաղտնիքը-Աբգդ5"
UP = "\x1b[A"

READER = """
import sys
import apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("begin; select * from session").fetchall()
print("reading", flush=True)
sys.stdin.readline()
connection.execute("rollback").fetchall()
connection.close()
"""


@pytest.fixture
def program(program):
    program.env["AGENT_MODEL"] = "offline"
    return program


def spread(program, secret=SECRET):
    """The secret all over the program's file."""
    program("notes", "list")
    db = file.open_file(program.db, NOON, print)
    forgetting.spread(db, secret, embed=True)
    db.close()


@pytest.fixture
def reader(program):
    """Another process that reads what is in the file when it is called, until it is told to end."""
    running = []

    def read():
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        process = subprocess.Popen([sys.executable, "-c", READER, str(program.db)], text=True, **pipes)
        running.append(process)
        assert process.stdout.readline() == "reading\n"

        def end():
            process.communicate("go\n")
            assert process.returncode == 0

        return end

    yield read
    for process in running:
        process.kill()
        process.wait()


def test_a_secret_all_over_the_file_leaves_no_trace_while_a_session_is_open(program, terminal):
    secret = FOREIGN
    spread(program, secret)
    shell = terminal().wait_prompt()
    shell.enter(f"a line with {secret} in it").wait("No model server answers").wait_prompt()
    assert program.rows("select count(*) from prompt") == [(2,)]
    shell.type(UP).wait_for_line(f"❯ a line with {secret} in it")
    shell.type("\x03").wait_prompt()
    ran = program("forget", "--topic", secret, "--yes")
    assert (ran.code, ran.err) == (0, "")
    assert re.match(r"Erased\. Searched the file for \d+ words and lines: 0 left\n", ran.out), ran
    assert traces(program.db, secret) == 0
    shown = shell.text.count(secret)
    program("remind", "stretch in 1 second")
    shell.wait(": stretch").wait_prompt()  # it has looked at the file since
    shell.type(UP).type("x").until(lambda: shell.line.endswith("x"), "x")
    assert (shell.text.count(secret), shell.line) == (shown, "❯ x")
    shell.type("\x03").wait_prompt().enter("/search code").wait_prompt()
    shell.enter("still here?").wait_prompt().enter("/exit")
    assert shell.ended() == 0
    assert traces(program.db, secret) == 0


def test_what_will_go_is_shown_and_nothing_goes_without_a_yes(program, terminal):
    program("notes", "add", "the code is swordfish")
    shown = "n1     2026-01-02  the code is swordfish\nto be erased: 1 note\n"
    program.env["AGENT_NOW"] = NOON.isoformat()
    program("notes", "add", "milk")
    assert program("forget", "n2", "--dry-run").out == shown.replace("n1", "n2").replace(
        "the code is swordfish", "milk"
    )
    none = {name: [] for name in ("summaries_made_again", "summaries_in_part", "skills", "files", "related")}
    row = {"id": "n2", "day": "2026-01-02", "text": "milk"}
    told = program("forget", "n2", "--dry-run", "--json").json
    assert told == {"counts": {"notes": 1}, "rows": [row], "more": 0, "words": ["milk"], **none}
    refused = "nothing was erased: look at it with --dry-run, then say --yes, or run it at a terminal"
    assert program("forget", "n2") == Ran(2, "", f"agent: {refused}\n")
    asked = terminal("forget", "n2").wait("erase it for good? type yes:").answer("y")
    assert asked.ended() == 1
    assert program.rows("select count(*) from note") == [(2,)]
    asked = terminal("forget", "n2").wait("erase it for good? type yes:").answer("yes").wait(": 0 left")
    assert asked.ended() == 0
    assert program.rows("select text from note") == [("the code is swordfish",)]


def test_the_receipt_as_json(program):
    program("notes", "add", "the code is swordfish")
    told = program("forget", "n1", "--yes", "--json").json
    assert told["erased"] == {"notes": 1}
    assert (told["traces"], told["held_up"], told["backups"], told["rows"], told["clean"]) == (0, False, {}, [], True)
    assert told["pieces"] > 0
    assert told["bytes_read"] >= program.db.stat().st_size


@pytest.mark.parametrize("words", [["--topic", SECRET], []], ids=["the same words", "none"])
def test_with_a_reader_the_receipt_says_so_and_a_second_call_finishes(program, reader, words):
    spread(program)
    end = reader()
    first = program("forget", "--topic", SECRET, "--yes")
    assert first.code == 8, first
    assert "another process is reading the database, so the journal cannot be emptied" in first.err
    assert "each start of the program finish this" in first.err
    assert program.rows("select count(*) from note") == [(0,)]
    assert traces(program.db, SECRET) > 0
    end()
    second = program("forget", *words)
    assert (second.code, ": 0 left\n" in second.out) == (0, True), second
    assert traces(program.db, SECRET) == 0
    assert program("forget").code == 2


@pytest.mark.parametrize("next_", [("notes", "list"), ("jobs", "run", "--until-idle")])
def test_what_a_kill_left_in_the_journal_goes_with_the_next_start(program, next_):
    spread(program)
    child = f"""
import os, signal
from agent_cli.memory.forgetting import forget
from agent_cli.memory.forgetting import selection
from agent_cli.store import file
from datetime import datetime
from pathlib import Path
noon = datetime.fromisoformat({NOON.isoformat()!r})
db = file.open_file(Path({str(program.db)!r}), noon, print)
plan = forget.planned(db, selection.select_by_topic(db, "person", {SECRET!r}))
forget.erase(db, plan, lambda: noon)
os.kill(os.getpid(), signal.SIGKILL)
"""
    killed = warm.python(child)
    killed.communicate()
    assert killed.wait() == -signal.SIGKILL
    assert traces(program.db, SECRET) > 0
    ran = program(*next_)
    assert (ran.code, "the data you had forgotten has now been removed from the journal too" in ran.err) == (0, True)
    assert traces(program.db, SECRET) == 0
    assert program("notes", "list").err == ""


def test_a_backup_that_holds_it_is_named(program):
    program("notes", "add", "the code is swordfish")
    backup = program.home / "backup.db"
    db = Database(program.db)
    db.execute("vacuum into ?", (str(backup),))
    db.execute("insert into meta values ('backups', ?)", (json.dumps([str(backup), str(program.home / "gone")]),))
    db.close()
    ran = program("forget", "n1", "--yes")
    assert ran.code == 8
    assert f"traces in the backup {backup}: delete it, or make a new one" in ran.err
    assert str(program.home / "gone") not in ran.err


def test_days_are_forgotten(program):
    for day in ("2026-03-01", "2026-03-02", "2026-03-03"):
        program.env["AGENT_NOW"] = f"{day}T23:30:00+02:00"
        program("notes", "add", f"written on {day}")
    assert program("forget", "--since", "2026-03-02", "--until", "2026-03-02", "--yes").code == 0
    assert program.rows("select text from note") == [("written on 2026-03-01",), ("written on 2026-03-03",)]


WRONG = [
    (["m9"], "there is no message m9; `agent search` finds what there is"),
    (["n1", "m9"], "there is no message m9; `agent search` finds what there is"),
    (["--topic", "Graz"], "nothing is remembered about 'Graz': nothing was erased"),
    (["--session", "s9"], "there is no session s9; `agent sessions list` shows them all"),
    (["--since", "soon"], "'soon' is not a day: write it like 2026-11-20"),
    (["n1", "--topic", "milk"], "name rows by their handles, or by a topic and a time: not both at once"),
    ([], "say what to erase: handles as in m9, --topic, --session, --since or --until"),
]


def test_what_cannot_be_meant_is_said_and_nothing_is_erased(program):
    program("notes", "add", "milk")
    for arguments, said in WRONG:
        assert program("forget", *arguments, "--yes") == Ran(2, "", f"agent: {said}\n"), arguments
    assert program.rows("select text from note") == [("milk",)]


def test_a_file_that_may_not_be_written_is_told(program):
    program("notes", "add", "milk")
    program.db.chmod(0o400)
    ran = program("forget", "n1", "--yes", first=POWERLESS)
    program.db.chmod(0o600)
    if ran.code == 99:
        pytest.skip("root cannot give up its rights here")
    sentence = (
        f"agent: {program.db}: the database cannot be written; check the permissions of the file and its folder\n"
    )
    assert ran == Ran(6, "", sentence)
    assert program.rows("select text from note") == [("milk",)]


def test_the_prompt_asks_before_it_erases(program, terminal):
    shell = terminal().wait_prompt().enter("/note the code is swordfish").wait("saved n1").wait_prompt()
    shell.enter("/forget n1").wait("to be erased: 1 note").wait("type yes:").answer("no")
    shell.wait("nothing was erased").wait_prompt()
    shell.enter("/forget n1").wait("type yes:", times=2).type("\x1b[200~yes\x1b[201~" + ENTER)
    shell.wait("type yes:", times=3).answer("").wait("nothing was erased", times=2).wait_prompt()
    shell.enter("/forget swordfish").wait("type yes:", times=4).answer("yes").wait(": 0 left").wait_prompt()
    assert program.rows("select * from note") == []
    assert traces(program.db, "swordfish") == 0
    shell.type(UP)
    shell.read(0.5)
    assert "swordfish" not in shell.text.rsplit("\n", 1)[-1]
    shell.type("\x03").wait_prompt().enter("/forget m9").wait("there is no message m9").wait_prompt()


def test_a_short_fact_that_another_message_tells_is_not_said_to_be_gone(program):
    program("facts", "add", "I moved to Linz")
    program("ask", "remember this: I moved to Linz, didn't I?")
    ran = program("forget", "f1", "--yes")
    assert ran.code == 8
    assert "the same words stand in m1" in ran.err + ran.out


def test_what_the_offline_model_quoted_goes_with_the_fact(program):
    program("facts", "add", "I moved to Linz")
    assert "I moved to Linz" in program("ask", "where did I move").out
    ran = program("forget", "f1", "--yes")
    assert (ran.code, ran.err) == (0, "")
    assert program.rows("select role, text from message") == [("user", "where did I move"), ("assistant", "(erased)")]
    assert b"moved to linz" not in program.db.read_bytes().lower()


def test_a_short_fact_is_not_gone_while_the_message_it_came_from_stays(program, terminal):
    shell = terminal().wait_prompt()
    shell.enter("remember that I live in Graz").wait("kept f1").wait_prompt().enter("/exit")
    assert shell.ended() == 0
    told = program("forget", "f1", "--yes")
    assert told.out.splitlines()[:2] == [
        "Erased. Searched the file for 1 word or line: 2 left (m1, y1)",
        "rows erased: 1 fact, 1 line you typed",
    ]
    assert (told.code, "the same words stand in m1, y1: `agent forget m1 y1`" in told.err) == (8, True)
    assert program("forget", "m1", "--yes").code == 0
    assert traces(program.db, "live in Graz") == 0


def test_what_was_forgotten_of_files_tasks_and_schedules_comes_back_by_no_sync(program):
    folder = program.work / "files"
    folder.mkdir()
    (folder / "bank.md").write_text("# Bank\n\nThe vault is called swordfish.\n\n# Garden\n\nBeans in May.\n")
    program("docs", "add", "files")
    program("remind", "ask", "for", "swordfish", "tomorrow", "9:00")
    program("schedule", "add", "@daily", "--prompt", "what is new about swordfish?")
    ran = program("forget", "--topic", "swordfish", "--yes")
    told = ran.out.splitlines()
    assert re.fullmatch(r"Erased\. Searched the file for \d+ (?:word or line|words and lines): 0 left", told[0])
    assert told[1] == "rows erased: 1 task, 1 schedule, 1 section of a file"
    assert told[2].endswith("bank.md stays on the disk: no sync brings these words of it back")
    assert told[3] == "words searched for: swordfish"
    (folder / "bank.md").write_text("# Bank\n\nThe vault is called swordfish.\n\nIt is deep.\n")
    assert "what you had erased is not read again" in program("docs", "sync").out
    assert program.rows("select text from section") == [("It is deep.",)]
    assert traces(program.db, "swordfish") == 0


def test_who_has_only_the_file_cannot_guess_what_was_forgotten(program):
    program("facts", "add", "I drink no coffee")
    assert program("forget", "f1", "--yes").code == 0
    hashes = {hash for (hash,) in program.rows("select hash from forgotten")}
    values = [value for (value,) in program.rows("select value from meta")]
    assert hashes
    keys = [bytes.fromhex(value) for value in values if len(value) == 64 and set(value) <= set("0123456789abcdef")]
    assert [key for key in keys if hashlib.blake2b(b"i drink no coffee", key=key, digest_size=16).hexdigest()] == []
    (key,) = program.home.glob(".local/state/*/keys/*")
    assert hashlib.blake2b(b"i drink no coffee", key=key.read_bytes(), digest_size=16).hexdigest() in hashes
    assert "key" in program("doctor").out
    moved = program("notes", "list", env={"XDG_STATE_HOME": str(program.home / "new")})
    assert "so an import may bring that back; a new key was made" in moved.err
    assert program("notes", "list", env={"XDG_STATE_HOME": str(program.home / "new")}).err == ""
