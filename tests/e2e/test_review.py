"""The review at a real terminal: what is kept reaches the next session, and nothing but a key of the person decides."""

import os
import pty
import signal
import time

import pytest

from agent_cli import clock
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.language.triples import Claim
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.scope import Scope
from agent_cli.store import file
from tests.conftest import Ran, memory_of
from tests.ollama_server import script
from tests.terminal import CTRL_C, ENTER

PROPOSED = ("I like green tea", "My bank is in Vienna", "My dog is called Rex", "My bus leaves at 8", "I play the oboe")
PASTE = "\x1b[200~{}\x1b[201~"


@pytest.fixture
def waiting(program):
    """Five that wait; the fourth contradicts what is known."""
    db = file.open_file(program.db, clock.now(), print)
    scope = Scope("person", str(program.work))
    adoption.add(MemoryContext(db, scope, clock.now), Claim("My bus leaves at 7", "typed"))
    for words in PROPOSED:
        adoption.propose(MemoryContext(db, scope, clock.now), Claim(words, "model"))
    db.close()
    return program


def states(program):
    return [state for (state,) in program.rows("select state from fact where id > 1 order by id")]


def once_more(shell, key):
    """The same key as before, and not held down."""
    end = time.monotonic() + 0.12
    return shell.until(lambda: time.monotonic() > end, "a moment").type(key)


def keys(shell):
    """Wait until a key is asked for."""
    return shell.until(lambda: shell.text.endswith("? help"), "the keys")


PENDING = ["pending"] * 5


def test_what_is_kept_reaches_the_next_session_and_nothing_else_does(waiting, server, terminal):
    waiting.use(server)
    shell = keys(terminal("facts", "review").wait("Fact 1 of 5 · f2"))
    keys(shell.type("y").wait("✓ kept f2").wait("Fact 2 of 5"))
    keys(shell.type("n").wait("· rejected f3").wait("Fact 3 of 5"))
    shell.type("e").wait_for_line("+ My dog is called Rex").type("\x17Bello").wait_for_line("called Bello").type(ENTER)
    keys(shell.wait("in your words now")).type("y").wait("kept f4").wait("Fact 4 of 5")
    once_more(keys(shell.wait("y replace")), "y").wait("kept f5, replaces f1 (until ").wait("Fact 5 of 5")
    assert shell.text.count("Fact ") < 5, "what is decided takes one line"
    keys(shell).type("u").wait("undone: f1 is true again").wait("Fact 4 of 5")
    keys(shell).type("y").wait("kept f5", times=2).wait("Fact 5 of 5")
    keys(shell).type("q").wait("3 kept, 1 rejected, 1 left")
    assert shell.ended() == 0
    assert states(waiting) == ["accepted", "rejected", "accepted", "accepted", "pending"]

    terminal().wait("1 fact to review: /review").wait_prompt()
    for question, known in (
        ("which tea do I like?", "I like green tea"),
        ("what is my dog called?", "My dog is called Bello"),
        ("when does my bus leave?", "My bus leaves at 8"),
        ("which bank is mine?", ""),
        ("do I play the oboe?", ""),
    ):
        waiting("ask", question)
        recalled = server.turns[-1]["messages"][-1]["content"].replace(question, "")
        assert known in recalled
        assert [words for words in ("Vienna", "Rex", "leaves at 7", "play the oboe") if words in recalled] == []


def test_a_pipe_decides_nothing(waiting):
    printed = waiting("facts", "review", stdin="y\n" * 1000)
    assert (printed.code, printed.err) == (0, "")
    assert [line for line in printed.out.splitlines() if line.startswith("  + ")] == [
        *(f"  + {words}" for words in PROPOSED[:3]),
        f"  + My bus leaves at 8 (said {clock.format_day(clock.utc(clock.now()), 0)})",
        "  + I play the oboe",
    ]
    assert states(waiting) == PENDING


@pytest.mark.parametrize("piped", ["stdin", "stdout"])
def test_half_a_terminal_decides_nothing(waiting, piped):
    leader, follower = pty.openpty()
    os.write(leader, b"yyyyy")
    process = waiting.start("facts", "review", **{"stdout" if piped == "stdin" else "stdin": follower})
    process.communicate("y\n" * 9 if piped == "stdin" else None, 30)
    os.close(leader)
    os.close(follower)
    assert (process.returncode, states(waiting)) == (0, PENDING)


def test_check_tells_how_many_wait_by_number_and_exit_code(waiting):
    assert waiting("facts", "review", "--check") == Ran(1, "5\n", "")
    assert waiting("facts", "review", "--check", "--session", "s9").code == 2
    db = file.open_file(waiting.db, clock.now(), print)
    for fact in facts.pending(db, "person"):
        facts.reject(memory_of(db, clock.now), fact)
    db.close()
    assert waiting("facts", "review", "--check") == Ran(0, "0\n", "")
    assert waiting("facts", "review") == Ran(0, "", "")
    assert waiting("facts", "review", "--json") == Ran(0, "[]\n", "")


def test_the_queue_as_json(waiting):
    rows = waiting("facts", "review", "--json").json
    assert [(row["id"], row["statement"]) for row in rows] == [(f"f{n}", words) for n, words in enumerate(PROPOSED, 2)]
    assert [each["id"] for each in rows[3]["conflicts"]] == ["f1"]


def test_a_process_of_the_assistant_may_look_and_not_decide(waiting, terminal):
    shell = terminal("facts", "review", AGENT_CHILD="1").wait("only you can say yes")
    assert shell.ended() == 2
    assert waiting("facts", "review", "--check", env={"AGENT_CHILD": "1"}).out == "5\n"
    shell = terminal(AGENT_CHILD="1").wait_prompt().enter("/review").wait("only you can say yes").wait_prompt()
    shell.enter("/remember I am the boss").wait("only you can say yes", times=2).wait_prompt()
    assert states(waiting) == PENDING


def test_killed_in_the_middle_only_what_was_decided_is_stored(waiting, terminal):
    shell = keys(keys(terminal("facts", "review")).type("y").wait("kept f2").wait("Fact 2 of 5"))
    shell.type("e").wait_for_line("+ My bank is in Vienna").type(" or not").wait_for_line("or not")
    assert shell.signal(signal.SIGKILL).ended() == -signal.SIGKILL
    assert states(waiting) == ["accepted", *PENDING[1:]]
    assert waiting.rows("pragma integrity_check") == [("ok",)]
    assert waiting("facts", "review", "--check").out == "4\n"


@pytest.mark.parametrize(
    ("leave", "code"),
    [(CTRL_C, 0), ("q", 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)],
    ids=str,
)
def test_however_it_ends_the_terminal_is_as_it_was(waiting, terminal, leave, code):
    shell = terminal("facts", "review")
    before = shell.settings()
    keys(keys(shell).type("y").wait("kept f2").wait("Fact 2 of 5"))
    shell.type(leave) if isinstance(leave, str) else shell.signal(leave)
    shell.until(lambda: not shell.read(0.05), "the end")
    after = shell.settings()
    assert (shell.ended(), after) == (code, before)
    assert shell.raw.rfind(b"\x1b[?2004l") > shell.raw.rfind(b"\x1b[?2004h"), "bracketed paste stays on"
    assert states(waiting) == ["accepted", *PENDING[1:]]


def test_a_terminal_that_is_closed_decides_nothing(waiting, terminal):
    assert terminal("facts", "review").wait("? help").hang_up() == 129
    assert states(waiting) == PENDING


def test_keys_typed_before_the_first_item_decide_nothing(waiting, terminal):
    shell = terminal("facts", "review", typed="yyyyy\ry").wait("? help")
    shell.type("q").wait("0 kept, 0 rejected, 5 left")
    assert (shell.ended(), states(waiting)) == (0, PENDING)


def test_pastes_and_bursts_decide_nothing(waiting, terminal):
    shell = terminal("facts", "review").wait("? help")
    shell.type(PASTE.format("y\ry\r")).wait("a paste decides nothing").type("yy").wait("several keys at once")
    shell.type("x").wait("x does nothing here").type("A").wait("type yes and Enter").type("yes\r").wait(
        "(a paste, or several keys"
    )
    shell.type(CTRL_C).wait("nothing was decided").wait("? help", times=2).type(CTRL_C)
    assert (shell.ended(), states(waiting)) == (0, PENDING)


def test_for_a_screen_reader(waiting, terminal):
    for arguments, env in ((["--screen-reader"], {}), ([], {"ACCESSIBLE": "1"})):
        shell = terminal("facts", "review", *arguments, **env).wait("Number and Enter:")
        assert not set(shell.text) & set("·~+—│")
        shell.type(ENTER).wait("Nothing was decided").type("0").wait_for_line("Enter: 0").type(ENTER).wait("5 left")
        assert shell.ended() == 0
    shell = terminal("facts", "review", "--screen-reader").wait("Number and Enter:").type("1").wait_for_line("Enter: 1")
    shell.type(ENTER).wait("kept f2").wait("Number and Enter:", times=2).type("0").wait_for_line("Enter: 0").type(ENTER)
    assert (shell.ended(), states(waiting)) == (0, ["accepted", *PENDING[1:]])


def test_review_inside_a_session(waiting, server, terminal):
    waiting.use(server)
    shell = terminal().wait("5 facts to review: /review").wait_prompt()
    shell.enter("/review").wait("Fact 1 of 5")
    keys(keys(shell).type("y").wait("kept f2").wait("Fact 2 of 5")).type("q").wait(
        "1 kept, 0 rejected, 4 left"
    ).wait_prompt()
    shell.enter("/facts").wait("I like green tea", times=2).wait("4 facts to review: /review").wait_prompt()
    server.play(script.reply("Green."))
    shell.enter("which tea?").wait("Green.").wait_prompt()
    assert "I like green tea" in server.turns[-1]["messages"][-1]["content"]
    keys(shell.enter("/review").wait("Fact 1 of 4")).type(CTRL_C).wait("0 kept").wait_prompt()
    shell.enter("/exit")
    assert shell.ended() == 0
    assert states(waiting) == ["accepted", *PENDING[1:]]


def test_a_signal_during_a_review_inside_a_session(waiting, terminal):
    shell = terminal()
    before = shell.settings()
    shell.wait_prompt().enter("/review").wait("? help").signal(signal.SIGTERM)
    shell.until(lambda: not shell.read(0.05), "the end")
    after = shell.settings()
    assert (shell.ended(), after, states(waiting)) == (143, before, PENDING)


@pytest.mark.parametrize("line", ["/review", "/remember I am the boss", " /remember I am the boss\n"])
def test_a_pasted_command_decides_nothing_and_its_words_count_as_pasted(waiting, server, terminal, line):
    waiting.use(server)
    shell = terminal().wait_prompt().type(PASTE.format(line)).wait_for_line(line.rstrip()).type(ENTER)
    shell.wait("not run: Enter again runs it").wait_for_line(f"❯ {line.rstrip()}").type(ENTER)
    shell.wait("? help" if line == "/review" else "pasted words")
    assert states(waiting)[: len(PENDING)] == PENDING
    assert waiting.rows("select count(*) from fact where statement like '%boss%' and state <> 'pending'") == [(0,)]
