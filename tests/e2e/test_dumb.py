"""A terminal that can move no cursor: it edits and echoes the line itself, and a line may come whole."""

from threading import Event

import pytest

from agent_cli import clock
from agent_cli.memory.facts import adoption
from agent_cli.memory.language.triples import Claim
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.scope import Scope
from agent_cli.store import file
from tests.ollama_server import script
from tests.terminal import CTRL_C, CTRL_D


@pytest.fixture
def dumb(terminal):
    opened = terminal(TERM="dumb")
    return opened.wait_prompt()


def test_line_that_comes_whole_is_answered_and_shown_once_and_a_key_taken_back_at_a_dumb_terminal(dumb):
    dumb.type("/note the harbour master is called Brandt\r").wait("saved n1")
    assert dumb.text.count("harbour master") == 2  # as typed, and in the receipt
    dumb.wait_prompt().type("/note buy milx").wait("milx").type("\x7f").type("k\r").wait("saved n2 “buy milk”")
    assert "\x1b[" not in dumb.raw.decode()


def test_ctrl_c_at_a_dumb_terminal_drops_the_line_and_twice_leaves(program, dumb):
    dumb.type("half a line").wait("half a line").type(CTRL_C).wait("press Ctrl-C again to leave")
    dumb.type(CTRL_C)
    assert dumb.ended() == 0


def test_dumb_terminal_is_left_by_ctrl_d(dumb):
    assert dumb.type(CTRL_D).ended() == 0


def test_lines_pasted_into_a_dumb_terminal_are_one_message_and_no_word_of_the_persons(program, dumb):
    dumb.type("/remember I am the admin\r/facts\r").wait("f1 waits for your yes: pasted words")
    assert program.rows("select statement, state from fact") == [("I am the admin /facts", "pending")]


def test_what_is_typed_during_an_answer_comes_next_at_a_dumb_terminal(program, server, terminal):
    server.play(script.held("one two and", "three", answer := Event()))
    program.use(server)
    dumb = terminal(TERM="dumb").wait_prompt()
    dumb.type("hello\r").wait("one two").type("/note typed ahead\r")
    answer.set()
    dumb.wait("three").wait("saved n1 “typed ahead”")


def test_ctrl_c_stops_an_answer_at_a_dumb_terminal(program, server, terminal):
    server.play(script.held("one two"))
    program.use(server)
    dumb = terminal(TERM="dumb").wait_prompt()
    dumb.type("hello\r").wait("two").type(CTRL_C).wait("stopped").wait_prompt()
    dumb.type("/undo\r").wait("hello\n(Enter alone sends that)").type(CTRL_D)
    assert dumb.ended() == 0


def test_a_call_is_asked_about_at_a_dumb_terminal_and_ctrl_c_refuses_it(program, server, terminal):
    save = script.reply(calls=[("save_note", {"text": "milk"})])
    server.play(save, script.reply("Saved."), save)
    program.use(server)
    dumb = terminal(TERM="dumb", ACCESSIBLE="1").wait_prompt()
    dumb.type("save it\r").wait("text  milk").wait("anything else no:").type("y\r").wait("Saved.").wait_prompt()
    dumb.type("again\r").wait("anything else no:", times=2).type(CTRL_C).wait("stopped").wait_prompt()
    assert program.rows("select count(*) from note") == [(1,)]


@pytest.fixture
def waiting(program):
    """Three proposals that wait."""
    db = file.open_file(program.db, clock.now(), print)
    for words in ("My dog is called Rex", "I play the oboe", "I like tea"):
        adoption.propose(MemoryContext(db, Scope("person", str(program.work)), clock.now), Claim(words, "model"))
    db.close()
    return program


def asked(shell, question):
    """Wait until this is asked."""
    return shell.until(lambda: shell.text.endswith(f"\n{question}"), question)


def test_review_at_a_dumb_terminal_takes_a_key_with_enter_and_other_words(waiting, dumb):
    dumb.wait("no model server").type("/review\r")
    asked(dumb, "key and Enter:").type("yy\r").wait("several keys decide nothing")
    asked(dumb, "key and Enter:").type("y\ry\r").wait("a paste decides nothing")
    asked(dumb, "key and Enter:").type("e\r").wait("Enter alone leaves them")
    asked(dumb, "  +").type("My dog is called Bello\r").wait("in your words now")
    asked(dumb, "key and Enter:").type("y\r").wait("kept f1")
    asked(dumb, "key and Enter:").type("e\r")
    asked(dumb, "  +").type("\r").wait("its words were not changed")
    asked(dumb, "key and Enter:").type(CTRL_C).wait("1 kept, 0 rejected, 2 left").wait_prompt()
    assert "\x1b[" not in dumb.raw.decode()
    known = [("My dog is called Bello", "accepted"), ("I play the oboe", "pending"), ("I like tea", "pending")]
    assert waiting.rows("select statement, state from fact order by id") == known


def test_ctrl_c_leaves_the_review_of_the_command_line_at_a_dumb_terminal(waiting, terminal):
    shell = (
        terminal("facts", "review", TERM="dumb").wait("Enter:").type("n\r").wait("rejected f1").wait("Enter:", times=2)
    )
    shell.type(CTRL_C).wait("0 kept, 1 rejected, 2 left")
    assert shell.ended() == 0
