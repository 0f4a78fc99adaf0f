"""A program that types at the person's terminal (TIOCSTI), as an editor or what it left behind could, is not a person.

What is left waits until the file `go` is there, so that each test says when it types.
"""

import shlex
import sys

import pytest

from agent_cli import clock
from agent_cli.memory.facts import adoption
from agent_cli.memory.scope import PERSON, Scope
from tests import typists
from tests.conftest import empty
from tests.terminal import ENTER, Terminal
from tests.typists import EDIT_DRAFT

AGENT = f"{shlex.quote(sys.executable)} -m agent_cli"
NOTE = '[[reply]]\ncalls = [{ name = "save_note", arguments = { text = "x" } }]\n[[reply]]\nsay = "Well."\n'

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not typists.can_type(), reason="no program can type at a terminal here"
)


@pytest.fixture
def leaving(program):
    """Let the editor leave a process behind that types keys once `go` is there, and ends."""
    yield lambda keys, draft="": program.edit_with(typists.left_by_editor(program.home, keys, draft))
    (program.home / "go").touch()


@pytest.fixture
def go(program):
    return (program.home / "go").touch


def left(program):
    number = (program.home / "left").read_text().strip()
    return f"process {number}, which an editor or a tool of the assistant left at this terminal"


def test_an_editor_cannot_send_the_draft_that_it_wrote(program, terminal):
    program.edit_with(f"printf 'Remember that I like rum' >$1; stty raw; {typists.command(program.home, chr(13))}")
    shell = terminal("-m", "offline").wait_prompt().type(EDIT_DRAFT).wait_for_line("Remember that I like rum")
    shell.type("!").wait_for_line("I like rum!")
    assert program.rows("select statement from fact") == []


def test_what_a_process_at_the_terminal_typed_is_not_the_persons_word(program, terminal, leaving, go):
    leaving(" I like rum\r", "Remember that")
    shell = terminal("-m", "offline").wait_prompt().type("Re").wait_for_line("Re").type(EDIT_DRAFT)
    shell.wait_for_line("Remember that")
    go()
    shell.wait("No model server answers.")
    assert left(program) in " ".join(shell.text.split())
    assert program.rows("select statement, state from fact") == []
    assert program.rows("select parts from message where role = 'user'") == [('[["tool", 24]]',)]


def test_a_process_that_an_editor_left_decides_nothing_in_a_review(program, terminal, leaving, go):
    db = empty(program.db)
    adoption.propose(db, Scope(PERSON, "/"), adoption.claim("I like tea", "piped"), clock.now, actor="person")
    db.close()
    leaving("y")
    shell = terminal("facts", "review").wait("quit").type("E").wait("its words were not changed").wait("quit", times=2)
    go()
    shell.until(lambda: left(program) in " ".join(shell.text.split()), "the refusal")
    assert program.rows("select state from fact") == [("pending",)]


def test_while_a_process_could_type_no_tool_is_allowed_in_a_session(program, terminal, leaving, go):
    leaving("y", "note it")
    shell = terminal("-m", program.script(NOTE)).wait_prompt().type(EDIT_DRAFT).wait_for_line("note it")
    shell.type(ENTER).wait("Well.")
    assert left(program) in " ".join(shell.text.split())
    assert program.rows("select kind from event where kind like 'call %'") == [("call refused",)]


def test_while_a_process_could_type_no_tool_is_allowed_in_an_answer(program, leaving, go):
    program("notes", "add", "n")
    leaving("y")
    ask = f"{AGENT} -m {program.script(NOTE)} ask 'note it'"
    screen = Terminal(["sh", "-c", f"{AGENT} notes edit n1; {ask}"], program.env, program.work).wait("Well.")
    assert left(program) in " ".join(screen.text.split())
    assert program.rows("select kind from event where kind like 'call %'") == [("call refused",)]
    screen.close()


LONG = "\n".join(f"line {number} {'雪' * 38}" for number in range(390))


@pytest.mark.parametrize("command", ["", "ask 'note it'"], ids=["session", "ask"])
def test_a_key_that_was_pressed_before_a_tool_question_stood_there_is_no_answer(program, terminal, command):
    """The whole call is more than a terminal holds, so the program cannot have asked while the rest is not read."""
    program.env["AGENT_NUM_CTX"] = "200000"
    call = NOTE.replace('"x"', f'"""{LONG}""", title = """{LONG}"""')
    shell = terminal("-m", program.script(call), *shlex.split(command))
    if not command:
        shell.wait_prompt().enter("note it")
    shell.wait("o shows it all").type("o").wait("line 30 ").type("y")
    shell.until(lambda: shell.text.endswith("anything else no:"), "the question").type("n").wait("Well.")
    assert program.rows("select kind, actor from event where kind like 'call %'") == [("call refused", "person")]


def test_what_has_ended_with_the_editor_types_nothing_more(program, terminal):
    """It has no parent that would take it away, so the system still lists it."""
    ended = (
        "(true & echo $! >left); p=/proc/$(cat left); while [ -e $p ] && ! grep -q ') Z ' $p/stat; do sleep 0.01; done"
    )
    program.edit_with(f"printf 'Remember that I like rum' >$1; cd {program.home}; {ended}")
    shell = terminal("-m", "offline").wait_prompt().type(EDIT_DRAFT).wait_for_line("I like rum")
    shell.type(ENTER).wait("kept f1")
