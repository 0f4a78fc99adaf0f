"""The program with a real model in a process of its own: what it says is nonsense, what is kept and counted is not.

What is asked of the other engines with scripted replies is asked here where the words do not matter, and of the model
alone in tests/llm/local. All share one process.
"""

import json
import signal
from subprocess import DEVNULL

import pytest

from agent_cli.llm import local
from tests.conftest import Program

pytestmark = pytest.mark.skipif(not local.is_small_ready(), reason="the small model is not installed")

SONG = "la " * 300


def use(program, runtime):
    """Let it talk to the small model; answers are short, to be quick."""
    program.env |= {
        "AGENT_ENGINE": "local",
        "AGENT_MODEL": local.SMALL,
        "AGENT_CHEAP_MODEL": local.SMALL,
        "AGENT_ANSWER_TOKENS": "6",
        "AGENT_NUM_CTX": "4096",
        "AGENT_OPTIONS": "{temperature = 0}",
        "XDG_RUNTIME_DIR": str(runtime.parent),
    }
    return program


def say_only(program, value):
    """Let the model write nothing but this, as JSON."""
    wanted = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"const": value}}}
    written = json.dumps({"response_format": wanted}, separators=(",", "="))  # an inline table of TOML
    program.env |= {"AGENT_OPTIONS": written, "AGENT_ANSWER_TOKENS": "400"}


@pytest.fixture
def program(program, runtime):
    return use(program, runtime)


@pytest.fixture(scope="module")
def talked(tmp_path_factory, runtime):
    """A conversation that was gone on with, closed and learned from."""
    program = use(Program(tmp_path_factory.mktemp("local")), runtime)
    questions = (["ask", "we live in Graz"], ["ask", "-c", "and where is it?"])
    program.answers = [program(*question, timeout=120) for question in questions]
    assert program("sessions", "close", "s1", timeout=120).code == 0
    program.rows("update job set state = 'done' where kind = 'reflect'")  # which reads as learning does, for seconds
    assert program("jobs", "run", "--until-idle", timeout=200).code == 0
    return program


def test_a_conversation_is_held_gone_on_with_and_counted(talked):
    assert [(each.code, bool(each.out.strip())) for each in talked.answers] == [(0, True)] * 2
    sql = "select session_id, role, model, finish, thinking, tokens_in > 10, tokens_out from message order by id"
    asked, answered = (1, "user", "", "stop", "", 0, 0), (1, "assistant", local.SMALL, "length", "", 1, 6)
    assert talked.rows(sql) == [asked, answered] * 2


def test_it_is_closed_with_a_summary_and_learned_from_and_nothing_is_adopted(talked):
    assert talked.rows("select closed_at is not null from session") == [(1,)]
    assert talked.rows("select method, model from summary where grain = 'session'") == [("model", local.SMALL)]
    jobs = dict(talked.rows("select kind, state from job"))
    assert jobs["summary"] == "done"
    assert jobs["learn"] in ("done", "parked")  # parked: what it wrote cannot be read
    assert talked.rows("select count(*) from fact where state = 'accepted'") == [(0,)]


def test_ctrl_c_keeps_what_came(program):
    say_only(program, SONG)
    process = program.start("ask", "sing", stdin=DEVNULL)
    assert process.stdout.read(1) == '"'
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "agent: stopped\n")
    rows = program.rows("select role, finish from message order by id")
    assert rows == [("user", "stop"), ("assistant", "cancelled")]


def test_what_is_kept_is_found_by_the_vectors_of_a_file(program):
    program.env["AGENT_EMBED_MODEL"] = file = str(local.small_file())
    for words in ("the heating engineer comes on Friday", "tea is in the garden"):
        program("notes", "add", words)
    assert program("index", "rebuild", "--embedder", "local", timeout=60).code == 0
    status = program("index", "status", "--json").json
    assert status["embedder"].startswith(f"local {file} ")
    assert (status["vectors"], status["missing vectors"]) == (2, 0)
    assert "the heating engineer" in program("search", "heating engineer").out


def test_nothing_runs_for_a_command_that_asks_nothing(program):
    program.env["XDG_RUNTIME_DIR"] = str(program.home / "run")
    assert program("notes", "add", "tea").code == program("doctor").code == 0
    assert not list((program.home / "run").rglob("*.lock"))
