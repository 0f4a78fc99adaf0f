"""`agent ask`: what it continues, and what --json, --no-stream and --dry-run make of an answer."""

import json
from subprocess import DEVNULL

import pytest

from tests.conftest import NOBODY, Ran
from tests.ollama_server import script

pytestmark = pytest.mark.usefixtures("talking")

LOG = "select session_id, role, text from message order by id"


def shown(server):
    """The messages that the model was last asked with, below the system message."""
    return without_date(server.turns[-1]["messages"][1:])


def without_date(messages):
    return [(message["role"], message["content"].partition("\n\n⟦ Today is")[0]) for message in messages]


def test_a_session_is_continued_by_its_handle_and_the_model_knows_what_was_said(program, server):
    server.play(script.reply("Hello Ada."), script.reply("Ada."))
    assert program("ask", "I am Ada").code == 0
    assert program("ask", "--session", "s1", "who am I?") == Ran(0, "Ada.\n", "")
    assert shown(server) == [("user", "I am Ada"), ("assistant", "Hello Ada."), ("user", "who am I?")]
    assert program.rows(LOG) == [
        (1, "user", "I am Ada"),
        (1, "assistant", "Hello Ada."),
        (1, "user", "who am I?"),
        (1, "assistant", "Ada."),
    ]


def test_the_latest_session_is_the_one_continued_last(program, server):
    for words in ("apples", "pears"):
        program("ask", words)
    program("ask", "--session", "s1", "more")
    program("ask", "--session", "s2", "more")
    program("ask", "--session", "s1", "and more")
    server.play(script.reply("Apples."))
    assert program("ask", "-c", "which?").out == "Apples.\n"
    assert program("-c", "ask", "which?").code == 0
    assert shown(server)[0] == ("user", "apples")
    assert program.rows("select count(*) from session") == [(2,)]


NO_SESSION = {
    "s99": "there is no session s99; `agent sessions list` shows them all",
    "s99999999999999999999": "'s99999999999999999999' is not a handle of a session: write it like s4",
    "swordfish": "no session mentions 'swordfish'; `agent sessions list` shows them all",
    "the": "several sessions mention 'the'; name one by its handle:\n  s2  the train\n  s1  the boiler",
}


def test_a_session_that_cannot_be_told_is_said_and_nothing_is_asked(program, server):
    program("ask", "the boiler")
    program("ask", "the train")
    for told, said in NO_SESSION.items():
        ran = program("ask", "--session", told, "hi")
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(f"agent: {said}")
    assert len(server.turns) == 2


def test_a_session_that_is_open_elsewhere_is_not_taken_over(program, server):
    program("ask", "hi")
    server.play(script.silence(20, script.reply("late")))
    with program.start("ask", "--session", "s1", "wait", stdin=DEVNULL) as other:
        server.wait_for_chats(2)
        said = "s1 is open in another terminal; close it there, or start a new session"
        assert program("ask", "--session", "s1", "hi") == Ran(2, "", f"agent: {said}\n")
        other.kill()
    assert program("ask", "--session", "s1", "hi").code == 0  # a dead process holds nothing


def test_json_is_one_object_with_everything(program, server):
    server.play(script.reply("Hello  there\n", prompt_tokens=26, tokens=5))
    ran = program("ask", "--json", "hi")
    assert ran == Ran(
        0,
        '{"schema": 1, "answer": "Hello  there", "model": "qwen3:8b", "session": "s1", "turn": "m1", "used": [], '
        '"usage": {"tokens_in": 26, "tokens_out": 5}, "finish": "stop", "receipts": []}\n',
        "",
    )
    server.play(script.reply("Well", finish="length"))
    ran = program("ask", "--json", "--session", "s1", "日本語?")
    assert [ran.json[key] for key in ("answer", "session", "turn", "finish")] == ["Well", "s1", "m3", "length"]


ERRORS = {
    "no_server": (3, NOBODY, []),
    "no_model": (4, {"AGENT_MODEL": "nope:1b"}, []),
    "context_exceeded": (5, {}, [script.context_exceeded(9999, 8192)]),
    "database": (6, {"AGENT_DB": "/dev/null/memory.db"}, []),
    "model_failed": (1, {}, [script.reply("half", then=script.CUT)]),
    "usage": (2, {}, []),
    "config": (2, {"AGENT_NUM_CTX": "many"}, []),
}


def test_json_errors_are_one_object_on_standard_output(program, server):
    for code, (exit_code, env, scripts) in ERRORS.items():
        server.play(*scripts)
        ran = program("ask", "--json", *([] if code == "usage" else ["hi"]), env=env)
        assert (ran.code, ran.err, ran.out.count("\n")) == (exit_code, "", 1), code
        assert (set(ran.json), ran.json["schema"], ran.json["error"]["code"]) == ({"schema", "error"}, 1, code)
        assert len(ran.json["error"]["message"]) > 20


def test_without_streaming_the_answer_is_printed_when_it_is_whole(program, server):
    server.play(script.reply("Hello there"))
    assert program("ask", "--no-stream", "hi") == Ran(0, "Hello there\n", "")
    server.play(script.reply("half of", then=script.CUT))
    ran = program("ask", "--no-stream", "hi")
    assert (ran.code, ran.out) == (1, "")
    assert program.rows(LOG)[-1] == (2, "assistant", "half of")


@pytest.mark.parametrize("words", ["Hello\n\n\n", "\n \nHello\n \t"])
def test_an_answer_has_no_blank_lines_around_it_and_ends_with_exactly_one_newline(program, server, words):
    server.play(script.reply(words), script.reply(words, words=False))
    assert program("ask", "hi").out == program("ask", "--no-stream", "hi").out == "Hello\n"


def contents(program):
    tables = [name for (name,) in program.rows("select name from sqlite_schema where type = 'table' order by name")]
    return {name: program.rows(f'select * from "{name}"') for name in tables}


def test_a_dry_run_shows_the_request_sends_nothing_and_leaves_the_file_as_it_was(program, server):
    server.play(script.reply("Hello Ada."), script.reply("I am agent."))
    program("ask", "I am Ada")
    program("ask", "--session", "s1", "and you?")
    before, asked = contents(program), len(server.requests)
    new = program("ask", "--dry-run", "-s", "Be brief.", "hi")
    again = program("ask", "--dry-run", "--session", "s1", "hi")
    assert (new.code, new.err, again.code, again.err) == (0, "", 0, "")
    assert without_date(again.json["messages"][1:]) == [
        ("user", "I am Ada"),
        ("assistant", "Hello Ada."),
        ("user", "and you?"),
        ("assistant", "I am agent."),
        ("user", "hi"),
    ]
    assert new.json["messages"][0]["content"].endswith("\n\nBe brief.")
    assert (new.json["model"], new.json["num_ctx"]) == ("qwen3:8b", 8192)
    names = "save_note propose_fact search_memory create_reminder use_tool"
    assert [tool["name"] for tool in new.json["tools"]] == names.split()
    assert contents(program) == before
    assert len(server.requests) == asked


def test_a_dry_run_shows_what_would_really_be_sent(program, server):
    program.env["AGENT_NOW"] = "2026-01-02T12:00:00+00:00"
    program("notes", "add", "The passport lies in the attic")
    dry = program("ask", "--dry-run", "where is my passport?").json
    program("ask", "where is my passport?")
    (body,) = server.turns
    assert "The passport lies in the attic" in dry["messages"][-1]["content"]
    assert dry["messages"] == body["messages"]
    assert dry["tools"] == [tool["function"] for tool in body["tools"]]


def test_a_closed_session_that_is_continued_is_closed_and_summarised_again(program, server):
    message = {"id": "1", "role": "user", "content": "I like tea", "at": "2026-01-01T10:00:00Z"}
    program("sessions", "import", "-", stdin=json.dumps({"id": "1", "messages": [message]}))
    program("ask", "-c", "and zebras")
    assert program.rows("select closed_at is not null from session") == [(1,)]
    assert program.rows("select kind, subject, state from job where kind = 'summary'") == [("summary", "s1", "ready")]
