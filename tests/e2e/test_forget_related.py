"""What else says the same as what a person forgets: asked at a terminal, left alone by --yes, taken by --also."""

import pytest

from tests.forgetting import traces
from tests.ollama_server import script
from tests.terminal import ENTER

pytestmark = pytest.mark.usefixtures("scripts_decide")

ASK = "erase it for good? type yes; or all, or numbers as in 1 3, to erase these too:"
SHOWN = "cites f1 · has the word graz"


@pytest.fixture
def graz(program, server):
    """A fact that a reply repeated and cited, and a note with the same word."""
    program.use(server)
    program("facts", "add", "I live in Graz")
    server.play(script.reply("You live in Graz [f1]."), script.reply("Home"))
    program("ask", "Where in Graz do I live?")
    program("notes", "add", "the dentist in Graz is good")
    return program


def test_with_yes_only_what_is_named_goes_and_the_rest_is_counted(graz):
    shown = graz("forget", "f1", "--dry-run").out
    assert f"You live in Graz [f1].  ({SHOWN})" in shown
    ran = graz("forget", "f1", "--yes")
    assert ran.code == 8
    assert "word or line: 3 left (m1, m2, n1)" in ran.out
    assert graz("forget", "m1", "m2", "n1", "--yes").code == 0
    assert traces(graz.db, "Graz") == 0


def test_what_else_says_it_goes_when_it_is_named_and_no_other_row(graz):
    refused = graz("forget", "f1", "--yes", "--also", "m9")
    assert (refused.code, "'m9' is not one of the rows that say the same" in refused.err) == (2, True)
    assert graz.rows("select count(*) from fact") == [(1,)]
    ran = graz("forget", "f1", "--yes", "--also", "m2")
    assert (ran.code, ": 2 left (m1, n1)" in ran.out) == (8, True)
    assert graz.rows("select text from message") == [("Where in Graz do I live?",)]


def test_one_sentence_is_cut_out_of_what_was_said_and_the_rest_stays(program, server):
    program.use(server)
    server.play(script.reply("I see."), script.reply("Home"))
    program("ask", "I live in Graz. My sister Clara owns a greenhouse.")
    shown = program("forget", "m1.1", "--dry-run").out
    assert shown.startswith("m1.1   ")
    assert "  I live in Graz.\nto be erased: 1 message in part" in shown
    assert program("forget", "m1.1", "--yes").code == 0
    assert program.rows("select text from message") == [("(erased) My sister Clara owns a greenhouse.",), ("I see.",)]
    assert traces(program.db, "Graz") == 0


def test_at_a_terminal_one_answer_says_what_is_erased(graz, terminal):
    refused = terminal("forget", "f1").wait(ASK).answer("none").wait("nothing was erased")
    assert (refused.ended(), graz.rows("select count(*) from fact")) == (1, [(1,)])
    asked = terminal("forget", "f1").wait(SHOWN).wait(ASK).answer("1 3").wait("words and lines: 0 left")
    assert asked.ended() == 0
    assert traces(graz.db, "Graz") == 0


def test_the_prompt_asks_once_too(graz, terminal):
    shell = terminal().wait_prompt().enter("/forget f1").wait(SHOWN).wait(ASK).type(ENTER).wait("nothing was erased")
    shell.wait_prompt().enter("/forget f1").wait(ASK, times=2).answer("all").wait(
        "words and lines: 0 left"
    ).wait_prompt()
    shell.enter("/exit")
    assert shell.ended() == 0
    assert traces(graz.db, "Graz") == 0
