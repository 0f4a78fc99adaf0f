"""The other commands: models, jobs, doctor, help and demo; and a database or a command that cannot be used."""

import json
import os
import signal
import socket
import threading
from contextlib import suppress

import pytest

from agent_cli import checks
from agent_cli.config.values import Config
from agent_cli.repl.commands import commands
from agent_cli.store import jobs
from agent_cli.store.db import Database
from agent_cli.store.schema import VERSION
from tests.conftest import CHAT, EMBEDDER, NOON, Ran
from tests.ollama_server import script
from tests.ollama_server.registry import Model
from tests.ollama_server.script import reply
from tests.ollama_server.server import OllamaServer
from tests.tables import listed

STUB = Model("big:cloud", remote_host="https://ollama.com")
TINY = Model("tiny:1b", size=400)


@pytest.fixture
def server():
    with OllamaServer(models=[CHAT, EMBEDDER, STUB], library=[TINY]) as running:
        yield running


def test_models_are_listed_with_what_they_can_and_clouds_are_marked(program, server):
    program.use(server)("ask", "hi")
    row = {"size": 5225388164, "context": 40960, "capabilities": ["completion", "tools", "thinking"]}
    assert program("models", "list", "--json").json == [
        {"id": "qwen3:8b", **row, "loaded": True, "cloud": False},
        {
            "id": "nomic-embed-text:latest",
            **row,
            "context": 2048,
            "capabilities": ["embedding"],
            "loaded": False,
            "cloud": False,
        },
        {"id": "big:cloud", **row, "capabilities": ["completion"], "loaded": False, "cloud": True},
    ]
    assert program("models").out == program("models", "list").out
    assert [line.split()[0] for line in program("models").out.splitlines() if "cloud, not used" in line] == [
        "big:cloud"
    ]


def test_a_model_is_fetched_and_used(program, server):
    program.use(server).env["AGENT_CONFIG"] = str(program.home / "config.toml")
    ran = program("models", "pull", "tiny:1b")
    assert (ran.code, ran.out) == (0, "tiny:1b is here; `agent models use tiny:1b` makes it the one that answers\n")
    steps = ran.err.splitlines()
    assert steps[0] == "agent: pulling manifest"
    assert steps[-1] == "agent: success"
    assert any(step.endswith(" 50 %") for step in steps)
    assert len(steps) == len(set(steps))
    assert (program("models", "use", "tiny:1b").code, program("models", "use", "tiny:1b").err) == (0, "")
    del program.env["AGENT_MODEL"]
    assert program("ask", "--json", "hi").json["model"] == "tiny:1b"


def test_a_model_that_no_server_has_is_not_chosen_and_where_none_answers_that_is_said(program, server):
    program.env["AGENT_CONFIG"] = str(program.home / "config.toml")
    unchecked = program("models", "use", "zzz")
    assert (unchecked.code, "zzz could not be checked, and is used when one does\n" in unchecked.err) == (0, True)
    said = f"the model 'yyy' is not on the server at {server.url}: run `agent models pull yyy`"
    assert program.use(server)("models", "use", "yyy") == Ran(4, "", f"agent: {said}\n")
    assert "zzz" in (program.home / "config.toml").read_text()


def test_a_fetch_whose_connection_breaks_goes_on_when_it_is_run_again(program, server):
    server.pull_cuts, pulling = 1, f"agent: pulling {TINY.digest[:12]}"
    broken = program.use(server)("models", "pull", "tiny:1b")
    assert broken.code == 1
    assert broken.err.startswith(f"agent: pulling manifest\n{pulling} 0 %\n{pulling} 20 %\n")
    assert broken.err.endswith(" is incomplete or cannot be read: run the same command again to continue\n")
    again = program("models", "pull", "tiny:1b").err
    assert again.startswith(f"agent: pulling manifest\n{pulling} 20 %\n")
    assert again.endswith("agent: success\n")


def test_a_fetch_that_is_stopped_says_how_to_go_on(program, server):
    server.pull_held = 100
    process = program.use(server).start("models", "pull", "tiny:1b")
    while "20 %" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    server.pull_held = 0
    again = program("models", "pull", "tiny:1b").err
    assert again.startswith("agent: pulling manifest\nagent: pulling ")
    assert " 0 %" not in again
    assert err.splitlines()[-1] == (
        "agent: stopped at 25 %; what has arrived is kept, and `agent models pull tiny:1b` goes on from there"
    )


def test_at_a_terminal_a_fetch_is_one_line(program, server, terminal):
    server.pull_delay = 0.3
    program.use(server)
    screen = terminal("models", "pull", "tiny:1b")
    assert screen.wait("tiny:1b is here").ended() == 0
    drawn = screen.raw.decode()
    assert ("50 % · 200 B of 400 B" in drawn, "B/s · 0:00:0" in drawn) == (True, True)
    assert "%" not in screen.text
    assert screen.raw.count(b"\n") == 1


def test_a_model_that_cannot_be_fetched_is_said(program, server):
    program.use(server)
    ran = program("models", "pull", "nope:1b")
    assert (ran.code, ran.out) == (4, "")
    assert ran.err.splitlines()[-1] == "agent: there is no model 'nope:1b' to fetch: see https://ollama.com/library"
    assert program("models", "pull", "big:cloud").code == 4
    assert not any(request.path == "/api/pull" and "cloud" in str(request.body) for request in server.requests)


def test_a_model_in_the_cloud_cannot_be_chosen(program, server):
    program.use(server).env["AGENT_CONFIG"] = str(program.home / "config.toml")
    ran = program("models", "use", "big:cloud")
    assert (ran.code, ran.out) == (4, "")
    assert ran.err.startswith("agent: the model 'big:cloud' runs on somebody else's machine")
    assert not (program.home / "config.toml").exists()


@pytest.mark.parametrize("arguments", [["models"], ["models", "list", "--json"], ["models", "pull", "tiny:1b"]])
def test_without_a_server_models_say_so(program, arguments):
    ran = program(*arguments)
    assert ran.code == 3
    assert "no model server answers at http://127.0.0.1:9" in ran.out + ran.err
    assert "Traceback" not in ran.err


@pytest.fixture
def queued(program, server):
    """A summary waits to be written."""
    program.env |= {"AGENT_LEARN": "off", "AGENT_NOW": NOON.isoformat()}  # learning has tests of its own
    server.play(script.reply("At 2 bar."))
    program.use(server)("ask", "the boiler pressure?")
    db = Database(program.db)
    db.prepare()
    jobs.add(db, "summary", "s1", NOON)
    db.close()


def test_jobs_are_listed_and_run(program, server, queued):
    listed = program("jobs", "list", "--json").json
    assert [(job["id"], job["kind"], job["subject"], job["state"]) for job in listed] == [
        ("j3", "summary", "s1", "ready"),
        ("j2", "index", "all", "ready"),
        ("j1", "grain", "2026-01-02", "ready"),
    ]
    server.play(script.reply("The boiler is at 2 bar."))
    assert program("jobs", "run", "--until-idle") == Ran(0, "", "agent: 3 jobs were run\n")  # the last: its vectors
    assert program("jobs", "run", "--until-idle") == Ran(0, "", "agent: 0 jobs were run\n")
    lines = program("jobs", "list").out.splitlines()
    assert [line.split()[1:4] for line in lines] == [
        ["summary", "2026-01-02", "later"],
        ["index", "all", "done"],
        ["summary", "s1", "done"],
        ["index", "all", "done"],
    ]
    assert lines[0].split()[4:] == ["0", "2026-01-03", "00:00"]  # when the day is over, as the person's clock shows it
    assert program.rows("select text, method from summary") == [("The boiler is at 2 bar.", "model")]


def test_a_job_that_fails_waits_and_can_be_tried_at_once(program, server, queued):
    failure = script.template_error()
    server.play(failure)
    assert program("jobs", "run", "--until-idle").code == 0
    ((state, attempts, error),) = program.rows("select state, attempts, error from job where kind = 'summary'")
    assert (state, attempts, "refuses the conversation" in error) == ("ready", 1, True)
    assert program("jobs", "run", "--until-idle").err == "agent: 0 jobs were run\n"
    assert program("jobs", "retry", "j3") == Ran(0, "j3 will run next\n", "")
    server.play(script.reply("The boiler is at 2 bar."))
    assert program("jobs", "run", "--until-idle").err == "agent: 2 jobs were run\n"
    assert program("jobs", "retry", "j3").code == 2  # it is done


def test_doctor_finds_everything_in_order(program, server):
    program.use(server).env["AGENT_LEARN"] = "off"
    program("ask", "hi")
    program("jobs", "run", "--until-idle")
    ran = program("doctor", "--json")
    assert (ran.code, ran.err) == (0, "")
    found = {row["id"]: row for row in ran.json}
    ids = "settings server models model loaded database indexes embedder vectors jobs disk command terminal encoding"
    assert list(found) == ids.split()
    assert all(set(row) == {"id", "ok", "found", "fix"} and row["ok"] for row in ran.json)
    assert found["server"]["found"] == f"{server.url}, Ollama 0.33.0, 3 models"
    assert found["models"]["found"] == (
        "qwen3:8b (chat, tools, thinking); nomic-embed-text:latest (embedding); big:cloud (in the cloud, not used)"
    )
    assert found["model"]["found"] == "qwen3:8b, context 8192 tokens of the 40960 it was made for"
    assert found["loaded"]["found"] == "qwen3:8b, 5.2 GB, on the CPU"
    assert "2 messages" in found["database"]["found"]
    assert found["vectors"]["found"] == "2 made, complete"
    assert found["embedder"]["found"] == "nomic-embed-text:latest on the server"
    assert {line[:3] for line in program("doctor").out.splitlines()} == {"ok "}


def test_doctor_says_what_is_wrong_and_what_to_do(program, server):
    ran = program("doctor")
    assert (ran.code, ran.err) == (1, "")
    assert "NOT  server     no model server answers at http://127.0.0.1:9" in ran.out
    program.use(server)
    for model, num_ctx, line in (
        ("nope:1b", "8192", "nope:1b is not on the server\n                → agent models pull nope:1b\n"),
        ("nomic-embed-text", "8192", "nomic-embed-text cannot chat here\n"),
        ("big:cloud", "8192", "the model 'big:cloud' runs on somebody else's machine"),
        ("qwen3:8b", "50000", "qwen3:8b, context 50000 tokens, and it was made for 40960\n"),
    ):
        ran = program("doctor", env={"AGENT_MODEL": model, "AGENT_NUM_CTX": num_ctx})
        assert (ran.code, f"NOT  model      {line}" in ran.out) == (1, True), ran.out
    assert "→ agent config set num_ctx 40960" in ran.out
    ran = program("doctor", "--json", env={"AGENT_NUM_CTX": "many"})
    assert [row["id"] for row in ran.json if not row["ok"]] == ["settings", "server", "database"]


def test_doctor_names_what_the_settings_name_and_is_not_there():
    told = Config(
        folders=["/no/folder", "/"],
        feeds={"news": "https://example.org/rss", "diary": "/no/diary.ics"},
        mcp={"engram": {"command": "no-such-engram"}, "shell": {"command": "sh"}, "far": {"url": "http://127.0.0.1:9"}},
    )
    assert [(each.ok, each.id, each.found, each.fix) for each in checks._missing_paths(told)] == [
        (False, "folders", "/no/folder is not a folder", "make it, or take it out: agent config edit"),
        (False, "feeds", "diary: /no/diary.ics is not a file", "put it there, or correct it: agent config edit"),
        (
            False,
            "mcp",
            "engram: there is no command no-such-engram",
            "install it, or give its whole path in [mcp.engram]: agent config edit",
        ),
    ]


def test_doctor_does_not_count_the_tries_of_jobs_that_were_given_up(program):
    program("notes", "add", "milk")
    database = Database(program.db)
    jobs.add(database, "summary", "s1", NOON)
    with database.write():
        database.execute("update job set state = 'parked', attempts = 1 where kind = 'summary'")
    database.close()
    found = {row["id"]: row for row in program("doctor", "--json").json}["jobs"]
    assert found == {
        "id": "jobs",
        "ok": False,
        "found": "1 given up",
        "fix": "agent jobs list says why; then agent jobs retry ID",
    }


def test_doctor_knows_what_ssh_keeps_from_the_terminal(program):
    del program.env["PROMPT_TOOLKIT_NO_CPR"]
    (terminal,) = [
        row for row in program("doctor", "--json", env={"SSH_CONNECTION": "1 2 3 4"}).json if row["id"] == "terminal"
    ]
    assert "ssh yes" in terminal["found"]
    assert terminal["fix"] == "if ^[[12;1R appears at your prompt: export PROMPT_TOOLKIT_NO_CPR=1"


STRANGE = listed("""<html> | [] | {} | 5 | {"models": 5} | {"models": [5]} | {"models": [{"name": 5, "details": 5}]}
    null""")


def test_doctor_has_a_sentence_for_whatever_answers(program):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            with suppress(OSError):  # the test has ended
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(65536)
                        body = current[0].encode()
                        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

        current = [""]
        threading.Thread(target=serve, daemon=True).start()
        program.env["OLLAMA_HOST"] = f"127.0.0.1:{listener.getsockname()[1]}"
        program.env["AGENT_MODEL"] = "qwen3:8b"
        for current[0] in STRANGE:
            ran = program("doctor", "--json")
            assert (ran.code, ran.err) == (1, ""), current
            assert {"server", "model"} & {row["id"] for row in ran.json if not row["ok"]}


def test_resume_without_a_session_says_what_lists_them(program):
    said = "agent: -r needs a session: its handle or words in it; `agent sessions list` shows the latest\n"
    for words in (["-r"], ["-q", "--resume"], ["-r", ""]):
        assert program(*words) == Ran(2, "", said)


@pytest.mark.usefixtures("no_database")
def test_a_demonstration_needs_neither_server_nor_file(program):
    ran = program("demo")
    assert (ran.code, ran.err) == (0, "")
    assert "✓ kept f1 “I must bring the X-rays”" in ran.out
    assert "\nYou must bring the X-rays [f1].\n" in ran.out
    assert "(f1): “I must bring the X-rays”\n" in ran.out
    assert "⟦" not in ran.out
    assert not program.db.exists()


EVERY = [["ask", "hi"], ["notes", "list"], ["sessions", "list"], ["jobs", "list"], ["notes", "add", "x"]]


@pytest.mark.parametrize("command", EVERY[:3], ids=" ".join)
def test_a_newer_database_is_refused_untouched(program, command):
    db = Database(program.db, "delete")
    db.execute(f"pragma application_id = {0x41474E54}; pragma user_version = {VERSION + 1}; create table a (b)")
    db.close()
    before = program.db.read_bytes()
    said = (
        f"agent: {program.db}: a newer agent wrote this file (format {VERSION + 1}, this program knows {VERSION}); "
        "update agent-cli, or name another file with --db\n"
    )
    assert program(*command) == Ran(6, "", said)
    assert program.db.read_bytes() == before
    assert sorted(file.name for file in program.home.iterdir()) == ["memory.db", "work"]


NO_FILE = {
    "another program's": lambda path: _other(path),
    "no database": lambda path: path.write_text("not a database " * 1000),
    "a folder": lambda path: path.mkdir(),
    "in a file": None,
}


def _other(path):
    db = Database(path, "delete")
    db.execute("create table theirs (a)")
    db.close()


@pytest.mark.usefixtures("no_database")
@pytest.mark.parametrize("kind", NO_FILE)
def test_a_database_that_cannot_be_used_is_said(program, kind):
    if NO_FILE[kind]:
        NO_FILE[kind](program.db)
    else:
        (program.home / "file").touch()
        program.env["AGENT_DB"] = str(program.home / "file" / "memory.db")
    for command in EVERY[:2]:
        ran = program(*command)
        assert (ran.code, ran.out) == (6, "")
        assert ran.err.startswith(f"agent: {program.env['AGENT_DB']}: ")
        assert ran.err.count("\n") == 1
    ran = program("notes", "list", "--json")
    assert (ran.code, ran.json["error"]["code"], ran.err) == (6, "database", "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_database_folder_without_permission_is_said(program):
    closed = program.home / "closed"
    closed.mkdir(mode=0o000)
    ran = program("--db", str(closed / "deep" / "memory.db"), "ask", "hi")
    assert (ran.code, ran.out, "Traceback" in ran.err) == (6, "", False)


def test_a_damaged_database_is_said_and_doctor_knows(program):
    program("notes", "add", "x" * 100_000)
    db = Database(program.db)
    db.execute("pragma wal_checkpoint(truncate)")
    db.close()
    raw = bytearray(program.db.read_bytes())
    raw[4096 * 2 : -4096] = b"\xff" * (len(raw) - 4096 * 3)
    program.db.write_bytes(raw)
    for command in EVERY:
        ran = program(*command)
        assert ran.code in (0, 6)
        assert "Traceback" not in ran.err
    ran = program("doctor", "--json")
    assert ran.code == 1
    assert "database" in [row["id"] for row in json.loads(ran.out) if not row["ok"]]


def test_a_noun_alone_lists_what_there_is_with_the_options_of_its_list(program):
    for noun in ("facts", "notes", "docs", "sessions", "tasks", "skills", "summaries", "schedule", "jobs"):
        ran = program(noun, "--json")
        assert (ran.code, ran.out, ran.err) == (0, "[]\n", ""), noun
    program("notes", "add", "the spare key hangs behind the door")
    for alone, whole in (
        (["notes", "--limit", "1"], ["notes", "list"]),
        (["config", "--origin"], ["config", "show", "--origin"]),
        (["db"], ["db", "status"]),
    ):
        assert program(*alone).out == program(*whole).out != ""


def test_help_groups_the_commands_as_the_help_of_a_conversation_does(program):
    groups = [line[:-1] for line in program("--help").out.splitlines() if line.endswith(":") and line[0] != " "]
    assert groups[1:] == [name for name, *_ in commands.GROUPS]


def test_words_say_what_memory_would_add_or_erase_and_when_a_schedule_runs(program):
    program.env |= {"AGENT_MODEL": "offline", "TZ": "Europe/Vienna"}
    program("notes", "add", "Dr. Huber is the dentist in Linz")
    assert "n1, " in program("why", "when", "is", "the", "dentist?").out
    assert program("why", "dentist", "--json").json[0]["id"] == "n1"
    assert program("why", "what", "is", "a", "zebra").out == "nothing was recalled for this question\n"
    assert program("sessions", "--json").json == []  # the question is kept nowhere
    assert "1 note" in program("forget", "--dry-run", "Huber", "Linz").out
    for words, cron in SCHEDULED.items():
        assert program("schedule", "add", *words.split(), "--prompt", "hi").code == 0, words
        assert cron in [each["cron"] for each in program("schedule", "--json").json], words
    assert program("schedule", "add", "every day at 7", "say hello").out.startswith("added c9 “say hello”: ")
    assert program("schedule", "add", "@daily", "say", "bye").out.startswith("added c10 “say bye”: ")
    for words, why in (
        ("tomorrow at 9", "'tomorrow at 9' happens once"),
        ("daily until 9.9.2099", "a schedule has no end"),
    ):
        assert program("schedule", "add", words, "--prompt", "hi").err.startswith(f"agent: {why}")


SCHEDULED = {
    "every day at 7": "0 7 * * *",
    "every monday 9:00": "0 9 * * 1",
    "every last friday 17:00": "0 17 * * 5L",
    "every second tuesday of the month at 8": "0 8 * * 2#2",
    "jeden Werktag um 6:30": "30 6 * * 1,2,3,4,5",
    "every year on 24 december at 9": "0 9 24 12 *",
    "every 15 minutes": "*/15 * * * *",
    "0 5 * * *": "0 5 * * *",
}


OLD = Model("llama3.2:3b", modified_at="2026-01-04T17:37:44Z")
NEW = Model("qwen3:8b", modified_at="2026-05-04T17:37:44Z")
NEWER = Model("gemma3:4b", modified_at="2026-06-04T17:37:44Z")


@pytest.fixture
def two(program):
    """A server with two models, of which none is named in the settings."""
    with OllamaServer(models=[OLD, NEW]) as server:
        server.answer = lambda body: reply("Fine.")
        program.env["OLLAMA_HOST"] = server.host
        yield server


def answering(program):
    return program("ask", "--json", "how are you?").json["model"]


def test_a_model_named_for_one_run_answers_that_run_alone_and_the_newest_the_others(program, two):
    assert program("-m", OLD.name, "ask", "--json", "hello").json["model"] == OLD.name
    assert program("-v", "ask", "hi").err.startswith(f"agent: using {NEW.name}; -m or /model chooses another\n")
    assert answering(program) == NEW.name
    assert program("-m", OLD.name, "ask", "-c", "--json", "hello").json["model"] == OLD.name
    assert answering(program) == NEW.name


def test_a_model_that_is_fetched_later_does_not_become_the_default(program, two):
    assert answering(program) == NEW.name
    with OllamaServer(models=[OLD, NEW, NEWER]) as later:
        later.answer = two.answer
        program.env["OLLAMA_HOST"] = later.host
        assert answering(program) == NEW.name


def test_the_model_chosen_at_the_prompt_answers_from_then_on(program, two, terminal):
    shell = (
        terminal().wait_prompt().enter(f"/model {OLD.name}").wait(f"{OLD.name} answers").wait_prompt().enter("/exit")
    )
    assert shell.ended() == 0
    assert answering(program) == OLD.name
    shell = terminal("-m", NEW.name).wait_prompt().enter("hello").wait("Fine.").wait_prompt().enter("/exit")
    assert shell.ended() == 0
    assert answering(program) == OLD.name


def test_the_model_of_the_settings_is_the_default(program, two):
    assert answering(program) == NEW.name
    assert program("models", "use", OLD.name).code == 0
    assert answering(program) == OLD.name
