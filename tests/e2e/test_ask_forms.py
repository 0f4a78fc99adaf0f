"""The forms of an answer, --stream-json, -x, --why and the rest, and what a question leaves behind."""

import json
from subprocess import DEVNULL

import pytest

from agent_cli.agent.loop import CUT_OFF
from tests.conftest import Ran
from tests.ollama_server import script

pytestmark = pytest.mark.usefixtures("talking")

CODE = "Do this:\n\n```sh\nls\n```\n\nor:\n\n```sh\nls -l\n```\nDone."
LOG = "select role, text from message order by id"


@pytest.fixture
def knowing(program):
    """A file that knows of a router."""
    program("notes", "add", "the router is a Fritzbox 7590 in the cellar")
    return program


def lines(ran):
    return [json.loads(line) for line in ran.out.splitlines()]


def told(server):
    return str(server.turns[-1]["messages"])


def test_stream_json_is_a_line_for_each_event(knowing, server):
    server.play(
        script.reply("Let me see.", calls=[("search_notes", {"query": "router"})], prompt_tokens=8, tokens=2),
        script.reply("In the cellar.", thinking="hm", prompt_tokens=9, tokens=3),
    )
    ran = knowing("ask", "--stream-json", "where is the router?")
    events = lines(ran)
    merged = [
        (event, "".join(each.get("text", "") for each in events if each["type"] == event))
        for event in dict.fromkeys(each["type"] for each in events)
    ]
    assert (ran.code, ran.err) == (0, "")
    assert [name for name, _ in merged] == ["start", "used", "delta", "tool", "thinking", "end"]
    assert events[0] == {"type": "start", "schema": 1, "session": "s1", "turn": "m1"}
    (used,) = events[1]["used"]
    assert (used["kind"], used["id"], used["score"] > 0) == ("note", "n1", True)
    tool = next(each for each in events if each["type"] == "tool")
    assert (tool["name"], tool["arguments"], tool["failed"]) == ("search_notes", {"query": "router"}, False)
    assert "Fritzbox" in tool["result"]
    assert dict(merged)["delta"] == "Let me see.In the cellar."
    assert events[-1] == {
        "type": "end",
        "schema": 1,
        "answer": "Let me see.\n\nIn the cellar.",
        "model": "qwen3:8b",
        "session": "s1",
        "turn": "m1",
        "used": [used],
        "usage": {"tokens_in": 17, "tokens_out": 5},
        "finish": "stop",
        "receipts": [],
    }


def test_json_holds_the_receipts_and_a_rule_that_denied_a_call_is_said(program, server):
    rules = program.home / "config.toml"
    rules.write_text('[rules]\nsave_note = "allow"\ncreate_reminder = "deny"\n')
    calls = [("save_note", {"text": "buy milk"}), ("create_reminder", {"text": "buy milk", "when": "tomorrow"})]
    server.play(script.reply(calls=calls), script.reply("Done."))
    ran = program("ask", "--json", "note it", env={"AGENT_CONFIG": str(rules)})
    assert ran.json["receipts"] == ["saved n1 “buy milk”"]
    assert "agent: the model wanted to call create_reminder; a rule denied it\n" in ran.err


def test_stream_json_ends_with_the_error_that_ended_it(program, server):
    server.play(script.reply("half of", then=script.CUT))
    ran = program("ask", "--stream-json", "hi")
    assert (ran.code, ran.err) == (1, "")
    assert [each["type"] for each in lines(ran)][:2] == ["start", "used"]
    assert (lines(ran)[-1]["type"], lines(ran)[-1]["error"]["code"]) == ("error", "model_failed")


def test_stream_json_to_a_reader_that_has_gone_ends_in_silence_and_each_line_came_at_once(program, server):
    server.play(script.pieces(*(script.Piece(f"word{n} ", delay=0.1) for n in range(100))))
    process = program.start("ask", "--stream-json", "hi", stdin=DEVNULL)
    assert [json.loads(process.stdout.readline())["type"] for _ in range(3)] == ["start", "used", "delta"]
    process.stdout.close()
    assert (process.stderr.read(), process.wait(30)) == ("", 141)
    process.stderr.close()


def test_a_slip_on_the_command_line_is_an_error_in_json_too(program):
    for form, *wrong in (["--json", "--nope"], ["--json", "--timeout", "0"], ["--stream-json", "--timeout"]):
        ran = program("ask", form, "hi", *wrong)
        assert (ran.code, ran.err, ran.out.count("\n")) == (2, "", 1)
        assert (ran.json["error"]["code"], wrong[0] in ran.json["error"]["message"]) == ("usage", True)


def test_a_question_about_json_is_answered_in_words(program, server):
    server.play(script.reply("A flag."))
    assert program("ask", "--", "--json").out == "A flag.\n"


def test_json_names_what_was_used_and_has_all_that_was_said(knowing, server):
    played = (script.reply("Let me see.", calls=[("read_jottings", {})]), script.reply("In the cellar."))
    server.play(*played, *played, *played)
    as_json = knowing("ask", "--json", "where is the router?").json
    assert [(each["kind"], each["id"]) for each in as_json["used"]] == [("note", "n1")]
    assert as_json["answer"] == "Let me see.\n\nIn the cellar."
    streamed, whole = knowing("ask", "where is it?").out, knowing("ask", "--no-stream", "where is it?").out
    assert streamed == whole == "Let me see.\n\nIn the cellar.\n"


def test_why_says_on_standard_error_what_was_used(knowing, server):
    server.play(script.reply("In the cellar."))
    ran = knowing("ask", "--why", "where is the router?")
    assert (ran.code, ran.out) == (0, "In the cellar.\n")
    assert ran.err.startswith("- n1, ")
    assert "router is a Fritzbox" in ran.err
    assert knowing("ask", "--why", "--no-memory", "hi").err == "agent: nothing was recalled for this question\n"


def test_the_last_block_of_code_is_printed_alone(program, server):
    server.play(script.reply(CODE, words=False))
    assert program("ask", "-x", "how?") == Ran(0, "ls -l\n", "")


@pytest.mark.parametrize(
    ("answer", "finish", "said"),
    [
        ("Just do it.", "stop", "agent: no block of code is in the answer; ask without -x to see it\n"),
        (
            "```sh\nrm -rf a",
            "length",
            f"agent: the turn was ended: {CUT_OFF}\n"
            "agent: the block of code was cut off before its end; ask without -x to see it\n",
        ),
    ],
    ids=["none", "cut off"],
)
def test_where_no_whole_block_of_code_is_found_nothing_is_printed(program, server, answer, finish, said):
    server.play(script.reply(answer, words=False, finish=finish))
    assert program("ask", "-x", "how?") == Ran(1, "", said)
    assert program.rows(LOG) == [("user", "how?"), ("assistant", answer)]


def test_with_colours_for_good_markdown_is_styled_in_a_pipe_too(program, server):
    server.play(script.reply("It is **so**."), script.reply("It is **so**."))
    assert program("ask", "is it?").out == "It is **so**.\n"
    assert "\x1b[1mso\x1b[" in program("ask", "--color", "always", "is it?").out


def test_without_memory_a_question_is_kept_and_told_nothing(knowing, server):
    assert knowing("ask", "--no-memory", "where is the router?").code == 0
    assert "Fritzbox" not in told(server)
    assert "search_notes" not in str(server.turns[-1]["tools"])
    assert knowing.rows("select text from message where role = 'user'") == [("where is the router?",)]


def test_a_question_that_is_not_saved_is_answered_with_memory(knowing, server):
    as_json = knowing("ask", "--incognito", "--memory", "--json", "where is the router?").json
    assert "Fritzbox" in told(server)
    assert ([each["id"] for each in as_json["used"]], as_json["session"], as_json["turn"]) == (["n1"], None, None)
    assert knowing.rows("select count(*) from message union all select count(*) from session") == [(0,), (0,)]


@pytest.mark.usefixtures("no_database")
def test_an_incognito_question_makes_no_file_and_reads_none(program, server):
    for options, piped in (
        (["ask", "--incognito", "hi"], ""),
        (["--incognito", "ask", "hi"], ""),
        (["--incognito"], "hi"),
    ):
        assert program(*options, stdin=piped).code == 0
    assert (program.db.exists(), len(server.turns)) == (False, 3)
    program("notes", "add", "the router is a Fritzbox 7590 in the cellar")
    program("ask", "--incognito", "where is the router?")
    assert "Fritzbox" not in told(server)
    assert program.rows("select count(*) from message") == [(0,)]


UNMEANT = {
    "ask --jsom": "no such option: --jsom; did you mean --json?",
    "ask hi --timeout 0": "invalid value for '--timeout'",
    "ask -c --session s1 hi": "-c and --session exclude each other",
    "-c -r s1": "-c and -r exclude each other",
    "ask --qqqq": "no such option: --qqqq (`agent ask --help` says more)",
    "notes show": "missing argument 'handle' (`agent notes show --help` says more)",
    "profile": "/profile is a command of a session; in a shell it is `agent facts profile`",
    "nope": 'a question is asked with `agent ask`: agent ask "nope"',
    "nots": "there is no command 'nots'; did you mean notes?",
    "facts hstory": "there is no command 'hstory'; did you mean history?",
    "facts nonsense": "there is no command 'nonsense' (`agent facts --help` says more)",
    "ask hello --db": "option '--db' requires an argument",
    "who am I?": 'a question is asked with `agent ask`: agent ask "who am I?"',
    "--incognito -c": "an incognito run is kept nowhere",
    "ask --incognito --session s1 hi": "an incognito run is kept nowhere",
    "ask --memory --no-memory hi": "--memory and --no-memory exclude each other",
    "ask --json -x hi": "--json, --stream-json and -x exclude each other",
    "--incognito notes add x": "--incognito is for a conversation and for `agent ask`",
    "--no-memory notes list": "--no-memory is for a conversation and for `agent ask`",
    "ask -i hi": "-i goes on as a conversation, and the output is not a terminal",
    "ask -i --json hi": "-i goes on as a conversation: leave out",
    "--color red": "invalid value for '--color'",
}


def test_what_cannot_be_meant_is_said(program, server):
    for line, said in UNMEANT.items():
        ran = program(*([line] if line.endswith("?") else line.split()))
        told, other = (ran.out, ran.err) if "--json" in line else (ran.err, ran.out)
        assert (ran.code, other, said in told, "Traceback" in told) == (2, "", True, False), line
    assert server.requests == []
