"""What may reach a terminal or a pipe: the answer alone, and clean; and what a model may do only with a yes."""

import json
import re

import pytest

from tests.conftest import Ran
from tests.e2e.test_server import ASKED, kept
from tests.ollama_server import script

pytestmark = pytest.mark.usefixtures("talking")

HOSTILE = (
    "a\x1b[31mred\x1b[0m b\x1b]52;c;ZXZpbA==\x07 c\x9b31m d\u202egnp.exe\u202c e\U000e0041\U000e0042 f\x00 g\x7f "
    "h\u2066i"
)
HARMLESS = "a[31mred[0m b]52;c;ZXZpbA== c31m dgnp.exe e f g hi"
UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


@pytest.mark.parametrize("words", [True, False], ids=["in words", "at once"])
def test_control_characters_never_reach_the_output_and_stand_unchanged_in_the_log(program, server, words):
    server.play(script.reply(HOSTILE, words=words))
    assert program("ask", "hi") == Ran(0, f"{HARMLESS}\n", "")
    assert kept(program) == [ASKED, ("assistant", HOSTILE, "stop")]


def test_control_characters_never_reach_json_nor_what_is_shown_later(program, server):
    server.play(*[script.reply(HOSTILE)] * 3)
    assert program("ask", "--json", "hi").json["answer"] == HARMLESS
    assert program("ask", "--no-stream", "hi").out == f"{HARMLESS}\n"
    program("sessions", "rename", "s1", HOSTILE.replace("\x00", ""))
    for words in ("list", "show s1", "show s1 --json", "export s1 --format jsonl", "close s1"):
        ran = program("sessions", *words.split())
        assert (ran.code, "gnp.exe" in ran.out) == (0, True), words
        assert not UNSAFE.search(ran.out + ran.err), words
    exported = json.loads(program("sessions", "export", "s1", "--format", "jsonl").out)
    assert exported["messages"][1]["content"] == HOSTILE  # the way to take it elsewhere whole


def test_control_characters_in_errors_names_and_calls_never_reach_standard_error(program, server):
    server.play(
        script.error(500, HOSTILE),
        script.reply(calls=[(f"tool{HOSTILE}", {}), ("save_note", {"text": HOSTILE, "title": HOSTILE})]),
        script.reply("Well", then=script.midstream_error(HOSTILE)),
    )
    ran = program("-v", "ask", "hi", env={"AGENT_RULES": '{save_note = "allow"}'})
    assert (ran.code, ran.out) == (1, "Well\n")
    assert not UNSAFE.search(ran.err)
    assert HARMLESS in ran.err
    assert program.rows("select text, title from note") == [(HOSTILE, HOSTILE)]
    listed = program("notes", "list").out + program("notes", "show", "n1").out
    assert not UNSAFE.search(listed)


def test_there_are_no_colours_in_a_pipe(program, server):
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        program.env[name] = "1"
    server.play(script.reply("**bold** `code`\n\n```python\nx = 1\n```"))
    assert program("ask", "hi").out == "**bold** `code`\n\n```python\nx = 1\n```\n"
    for arguments in (["--help"], ["doctor"], ["models"], ["nope"], ["sessions", "show", "s1"], ["demo"]):
        ran = program(*arguments)
        assert "\x1b" not in ran.out + ran.err, arguments


SAVE = script.reply("Let me note that.", calls=[("save_note", {"text": "Buy milk", "title": "Milk"})])


def test_a_call_that_needs_a_yes_is_refused_and_said(program, server):
    server.play(SAVE, script.reply("I could not save it."))
    refused = "agent: the model wanted to call save_note; that needs your yes, so it was refused here\n"
    assert program("ask", "note: milk") == Ran(0, "Let me note that.\n\nI could not save it.\n", refused)
    assert program.rows("select text, failed from message where role = 'tool'") == [
        ("refused: nobody can be asked here", 1)
    ]
    assert program.rows("select * from note") == []
    assert ("call refused", "program", "save_note") in program.rows("select kind, actor, subject from event")


def test_a_rule_of_the_person_allows_the_call(program, server):
    server.play(SAVE, script.reply("Saved."))
    ran = program("ask", "note: milk", env={"AGENT_RULES": '{save_note="allow"}'})
    assert ran == Ran(0, "Let me note that.\n\nSaved.\n", "agent: saved n1 “Milk”\n")
    assert program.rows("select text, title, origin from note") == [("Buy milk", "Milk", "model")]
    written = "select kind, actor, subject from event where kind like 'call %' or kind like 'note %' order by id"
    assert program.rows(written) == [("call allowed by rule", "program", "save_note"), ("note written", "model", "n1")]


def test_quiet_leaves_out_everything_but_the_answer_and_errors(program, server):
    server.play(SAVE, script.reply("Saved."), script.context_exceeded(9, 8))
    assert program("-q", "ask", "note: milk", env={"AGENT_RULES": '{save_note="allow"}'}).err == ""
    assert program("-q", "ask", "hi").err.startswith("agent: the conversation does not fit")


def test_verbose_tells_what_the_tools_said(program, server):
    server.play(script.reply(calls=[("search_notes", {"query": "tea"})]), script.reply("None."))
    assert program("-v", "ask", "tea?") == Ran(0, "None.\n", "agent: search_notes: no note has these words\n")
