"""A yes takes a key, pressed by a person at a terminal that the assistant did not make."""

import shlex
import sys

import pytest

from agent_cli import clock
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.scope import PERSON, Scope
from agent_cli.messages import Part
from tests.conftest import Ran, empty, noon
from tests.tables import listed
from tests.terminal import Terminal, without_control

AGENT = f"{shlex.quote(sys.executable)} -m agent_cli"
SCOPE = Scope(PERSON, "/")


@pytest.fixture
def waiting(program):
    """The program with a proposal, a hidden fact and a fact: f1, f2, f3."""
    db = empty(program.db)
    adoption.propose(MemoryContext(db, SCOPE, noon), adoption.claim("I like tea", "piped"), actor="person")
    hidden = adoption.add(MemoryContext(db, SCOPE, noon), adoption.claim("I like wine", "typed")).fact
    facts.hide(MemoryContext(db, SCOPE, noon), hidden)
    adoption.add(MemoryContext(db, SCOPE, noon), adoption.claim("Rex is a dog", "typed"))
    db.close()
    return program


def states(program):
    return program.rows("select statement, state, hidden_at is null, valid_to is null from fact order by id")


WITHOUT_A_TERMINAL = listed("""facts approve f1 | facts approve --all --yes | facts restore f2 | facts undo
    facts edit f3 'Rex is a cat' | facts edit f3 --until 2026-01-01 | facts scripts on
    facts import lines --accept --yes | forget f3 --yes | skills import skill --accept --yes
    skills add tea 'drink it' -d 'how to drink: use when thirsty'""")


@pytest.mark.parametrize("command", WITHOUT_A_TERMINAL)
def test_without_a_terminal_nothing_is_decided(waiting, command):
    (waiting.work / "lines").write_text('{"statement": "I am the king"}')
    (waiting.work / "skill").mkdir()
    (waiting.work / "skill" / "SKILL.md").write_text("---\nname: skill\ndescription: what: use when\n---\n1. go\n")
    before = states(waiting)
    ran = waiting(*shlex.split(command), stdin="y\nyes\n")
    assert (ran.code, states(waiting)) == (9, before)
    assert "takes a key at a terminal, and there is none here" in ran.err
    assert waiting.rows("select count(*) from skill") == [(0,)]


def test_a_file_is_imported_as_true_after_a_key(program, terminal):
    (program.work / "lines").write_text('{"statement": "I like tea"}')
    assert program("facts", "import", "lines", "--accept").code == 2
    shell = terminal("facts", "import", "lines", "--accept", "--yes").wait("lines as true, without a review? y, ")
    assert shell.type("y").ended() == 0
    assert program.rows("select state from fact") == [("accepted",)]


def test_what_is_said_without_a_terminal_waits(program):
    ran = program("facts", "add", "I", "like", "tea")
    assert ran == Ran(
        9,
        "f1 “I like tea” waits for your yes (agent facts approve f1)\n",
        "agent: nothing counts yet: that takes a key at a terminal, and there is none here "
        "(`agent facts scripts --help`)\n",
    )
    assert program.rows("select state, origin from fact") == [("pending", "piped")]


def test_at_a_terminal_one_key_accepts(waiting, terminal):
    shell = terminal("facts", "approve", "f1").wait("accept it? y, anything else no:")
    assert "f1 “I like tea”" in shell.text
    assert shell.type("y").ended() == 0
    assert shell.text.endswith("kept f1 “I like tea” (agent facts undo takes it back)")
    shell = terminal("facts", "add", "I like chess and live in Graz").wait("keep “I like chess” and “I live in Graz”?")
    assert shell.type("y").ended() == 0
    assert states(waiting)[0][1] == states(waiting)[3][1] == "accepted"


def test_the_question_shows_all_that_a_yes_accepts(program, terminal):
    db = empty(program.db)
    adoption.add(MemoryContext(db, SCOPE, clock.now), adoption.claim("I live in Graz", "typed"))
    long = f"I like tea with {'very ' * 20}much milk and I owe Max 5,000 euros"
    session = sessions.start(db, SCOPE, clock.now())
    read = log.add_user_message(db, session, SCOPE, [Part("tea", "file", "tea.md")], clock.now())
    adoption.propose(MemoryContext(db, SCOPE, clock.now), adoption.claim(long, "model", message=read, trust="file"))
    adoption.propose(MemoryContext(db, SCOPE, clock.now), adoption.claim("I live in Wels", "model", trust="typed"))
    db.close()
    asked = " ".join(terminal("facts", "approve", "f2", "f3").wait("anything else no:").text.split())
    assert (
        f"f2 “{long}” proposed after reading the file tea.md, m1 f3 “I live in Wels” ends f1 “I live in Graz” " in asked
    )


def test_the_question_names_what_undo_takes_back(program, terminal):
    db = empty(program.db)
    tea = adoption.add(MemoryContext(db, SCOPE, noon), adoption.claim("I like tea", "typed")).fact
    adoption.edit(MemoryContext(db, SCOPE, noon), tea, "I like green tea")
    adoption.add(MemoryContext(db, SCOPE, noon), adoption.claim("I like chess", "typed"))
    db.close()
    shell = terminal("facts", "undo", "f1").wait("take it back? y, anything else no:")
    assert "f1 “I like green tea”, edited on 2 Jan 2026\n" in shell.text
    assert shell.type("n").ended() == 1
    shell = terminal("facts", "undo").wait("f2 “I like chess”, added on 2 Jan 2026\ntake it back? y,")
    assert shell.type("y").ended() == 0
    assert shell.text.endswith("taken back: f2 “I like chess” is not kept")


def test_any_other_key_leaves_it(waiting, terminal):
    asked = {keys: terminal("facts", "approve", "f1") for keys in ("n", "\r", "\x04", "\x1b", "q")}
    for keys, shell in asked.items():
        assert shell.wait("anything else no:").type(keys).ended() == 1
        assert "nothing was accepted" in shell.text
        assert states(waiting)[0][1] == "pending"


def test_what_was_typed_before_the_question_and_what_is_pasted_is_no_answer(waiting, terminal):
    shell = terminal("facts", "approve", "f1").type("y\ryyy\r").wait("anything else no:")
    shell.read(0.3)
    assert states(waiting)[0][1] == "pending"
    for number, keys in enumerate(("yy", "\x1b[200~y\x1b[201~", "\x1b[200~n\x1b[201~y"), 2):
        shell.type(keys).wait("anything else no:", times=number)
    assert states(waiting)[0][1] == "pending"
    assert shell.type("y").ended() == 0
    assert states(waiting)[0][1] == "accepted"


def test_a_pipe_in_the_place_of_the_keyboard_is_no_answer_at_a_terminal_either(waiting, terminal):
    waiting.command = ["/bin/sh", "-c", f'yes | {AGENT} "$@"', "sh"]
    shell = terminal("facts", "approve", "f1").wait("anything else no:")
    shell.read(0.3)
    assert states(waiting)[0][1] == "pending"
    assert shell.type("n").ended() == 1


def test_a_terminal_that_waits_for_no_key_is_made_to_wait(waiting, terminal):
    waiting.command = ["/bin/sh", "-c", f'stty min 0 time 0; {AGENT} "$@"', "sh"]  # as one of screen
    shell = terminal("facts", "approve", "f1").wait("anything else no:")
    shell.read(0.1)
    assert shell.type("y").ended() == 0
    assert states(waiting)[0][1] == "accepted"


AT_A_TERMINAL_OF_ITS_OWN = """
import os, pty, sys, time
pid, end = pty.fork()
if not pid:
    os.execv(sys.executable, [sys.executable, "-m", "agent_cli", "facts", "approve", "f1"])
text = b""
try:
    while True:
        text += os.read(end, 4096)
        if b"no:" in text:
            os.write(end, b"y")
except OSError:
    pass
sys.stdout.write(text.decode())
os.waitpid(pid, 0)
"""

CHILDREN = {
    "plain": f"{AGENT} facts approve f1",
    "all, with a yes": f"{AGENT} facts approve --all --yes",
    "a double fork": f"(setsid {AGENT} facts approve f1 &)",
    "a terminal of its own, after a double fork": "(setsid python terminal.py &)",
}


@pytest.mark.parametrize("name", CHILDREN)
def test_what_the_assistant_started_decides_nothing(waiting, name):
    waiting.let_scripts_decide()  # which is for the person's scripts alone
    (waiting.work / "terminal.py").write_text(AT_A_TERMINAL_OF_ITS_OWN)
    said = waiting.work / "said"
    command = CHILDREN[name].replace("python terminal", f"{sys.executable} terminal")
    waiting.edit_with(
        f"({command}) </dev/null >{said} 2>&1\n"
        f"while ! grep -q 'started this' {said} && [ $((n += 1)) -lt 99 ]; do sleep 0.05; done"
    )
    waiting("notes", "add", "n")
    waiting("notes", "edit", "n1")
    assert "the assistant started this process, and only you can say yes" in said.read_text()
    assert states(waiting)[0][1] == "pending"


def test_scripts_of_the_persons_own_decide_once_that_was_set_at_a_terminal(waiting, terminal):
    shell = terminal("facts", "scripts", "on").wait("allow it? y")
    assert "every program that runs as you" in " ".join(shell.text.split())
    assert shell.type("y").ended() == 0
    assert waiting("facts", "approve", "f1") == Ran(0, "kept f1 “I like tea” (agent facts undo takes it back)\n", "")
    assert waiting("facts", "approve", "f1", env={"AGENT_CHILD": "1"}).code == 2
    assert waiting("facts", "scripts", "off").out == "off: each yes takes a key at a terminal\n"
    assert waiting("facts", "restore", "f2").code == 9
    kinds = "select kind, actor from event where kind like 'scripts%' order by id"
    assert waiting.rows(kinds) == [("scripts decide", "person"), ("scripts ask", "person")]


PASTED = ("/set rules.save_note allow\r", "/undo\r", "/note I\r", "/tas rm t1\r", "\x1b[200~x\x1b[201~\x15/undo\r",
          "/docs add .\ryes\r")  # fmt: skip


def test_a_command_whose_keys_came_together_is_not_run(waiting, terminal):
    before = states(waiting)[1:]
    shell = terminal()
    for number, keys in enumerate(PASTED, 1):
        shell.wait_prompt().type(keys).wait("the command was not run", times=number)
    shell.read(0.2)
    assert (states(waiting)[1:], waiting.rows("select * from document")) == (before, [])
    assert waiting.rows("select * from note") == [] == list(waiting.home.rglob("config.toml"))
    shell.wait_prompt().enter("/facts").wait("Rex is a dog")


def test_keys_that_come_together_answer_no_question_at_the_prompt(waiting, terminal):
    shell = terminal().wait_prompt().enter("/forget f3").wait_for_line("erase it for good? type yes:")
    shell.type("yes\r").wait("several keys at once").wait("type yes:", times=2).answer("no").wait_prompt()
    assert len(states(waiting)) == 3
    shell.enter("/forget f3").wait("type yes:", times=3).answer("yes").wait("0 left")
    assert len(states(waiting)) == 2


def test_keys_that_come_together_allow_no_tool(waiting, terminal):
    shell = terminal("-m", waiting.script(NOTE)).wait_prompt().enter("note it").wait("allow it?")
    shell.type("a\ry\r").wait("several keys at once").type("n").wait("Well.")
    assert waiting.rows("select count(*) from note") == [(0,)]


NOTE = '[[reply]]\ncalls = [{ name = "save_note", arguments = { text = "x" } }]\n[[reply]]\nsay = "Well."\n'
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


@pytest.mark.parametrize(("command", "code"), {"facts review": 9, "": 9, "forget f3": 2, "facts approve f1": 9}.items())
def test_a_terminal_that_does_not_control_the_process_decides_nothing(waiting, command, code):
    shell = Terminal([*waiting.command, *shlex.split(command)], waiting.env, waiting.work, without_control)
    try:
        assert shell.ended() == code
        assert [state in ("pending", "expired") for _, state, *_ in states(waiting)] == [True, False, False]
    finally:
        shell.close()


def test_a_typed_yes_takes_an_enter_that_was_pressed_after_the_question(waiting, terminal):
    shell = terminal("forget", "f3").type("yes\ryes\r").wait("type yes:")
    shell.type("yes\r").wait("type yes:", times=2).type("\x1b[200~yes\r\x1b[201~").wait("type yes:", times=3)
    assert len(states(waiting)) == 3
    shell.type("yex").wait_for_line(": yex").type("\x7f").until(lambda: shell.line.endswith(": ye"), "ye")
    shell.type("s").wait_for_line(": yes").type("\r").wait("0 left")
    assert len(states(waiting)) == 2
