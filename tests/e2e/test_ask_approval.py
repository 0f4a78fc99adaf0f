"""`agent ask` at a terminal asks before a tool call that needs a yes; elsewhere such a call is refused."""

import pytest

from tests.ollama_server import script

ASKS = "? allow it? y once, a for this session, anything else no:"


@pytest.fixture
def asked(program, server, terminal):
    """`agent ask` at a terminal, whose model wants to save a note after some words."""
    program.use(server)
    server.play(
        script.reply("I will note that.", calls=[("save_note", {"text": "bring the X-rays"})]),
        script.reply("That is all."),
    )
    return lambda *options: terminal("ask", "note that I must bring the X-rays", *options)


def notes(program):
    return program.rows("select text from note")


def rulings(program):
    return program.rows("select kind, actor from event where kind like 'call %'")


@pytest.mark.parametrize(("key", "ruling"), [("y", "call allowed"), ("n", "call refused"), ("\r", "call refused")])
def test_a_call_runs_after_a_yes_alone(asked, program, key, ruling):
    screen = asked().wait(ASKS)
    assert "I will note that.\n" in screen.text
    assert "    text  bring the X-rays\n" in screen.text
    assert screen.type(key).wait("That is all.").ended() == 0
    assert rulings(program) == [(ruling, "person")]
    assert notes(program) == ([("bring the X-rays",)] if key == "y" else [])


def test_ctrl_c_ends_the_question_and_the_turn(asked, program):
    assert asked().wait(ASKS).type("\x03").ended() == 130
    assert notes(program) == []


@pytest.mark.parametrize("options", [["--json"], ["--timeout", "60"]], ids=" ".join)
def test_nobody_is_asked_where_a_program_reads_or_the_time_is_limited(asked, program, options):
    screen = asked(*options)
    assert screen.ended() == 0
    assert "allow it?" not in screen.text
    assert rulings(program) == [("call refused", "program")]
