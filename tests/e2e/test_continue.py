"""What `-c` continues, and what a person sees of it."""

import json
import subprocess
import sys

import pytest

from tests.ollama_server.script import reply
from tests.terminal import Terminal

AGENT = f"{sys.executable} -m agent_cli"


@pytest.fixture
def asks(program, server):
    """Asks with `agent ask` where there is no terminal."""
    program.use(server)
    server.answer = lambda body: reply("Camomile.")

    def run(*arguments, folder=None):
        where = {"cwd": folder or program.work, "stdin": subprocess.DEVNULL, "start_new_session": True}
        process = program.start("ask", *arguments, **where)
        out, err = process.communicate(timeout=60)
        return process.wait(), out, err

    return run


def sent(server):
    return [message["content"] for message in server.turns[-1]["messages"] if message["role"] == "user"]


def test_the_last_question_of_the_folder_is_continued_and_named(asks, program, server):
    assert asks("which tea is the mildest?")[0] == 0
    code, out, err = asks("-c", "and which the strongest?")
    assert (code, out) == (0, "Camomile.\n")
    assert err == "agent: continuing s1, just now: which tea is the mildest?\n"
    assert [words.partition("\n")[0] for words in sent(server)] == [
        "which tea is the mildest?",
        "and which the strongest?",
    ]
    assert asks("-c", "and why?")[2].startswith("agent: continuing s1, ")
    assert program.rows("select count(*) from session") == [(1,)]


def test_a_later_question_is_continued_and_not_the_older_conversation(asks, program, terminal):
    program.env["AGENT_NOW"] = "2026-01-02T12:00:00+00:00"
    chat = terminal().wait_prompt().enter("my boat is red").wait("Camomile.").wait_prompt()
    chat.enter("/exit")
    assert chat.ended() == 0
    program.env["AGENT_NOW"] = "2026-01-02T12:10:00+00:00"
    assert asks("which tea is the mildest?")[0] == 0
    program.env["AGENT_NOW"] = "2026-01-02T12:13:00+00:00"
    assert asks("-c", "and the strongest?")[2] == "agent: continuing s2, 3 minutes ago: which tea is the mildest?\n"


def test_with_nothing_to_continue_in_terminal_or_folder_it_says_so(asks, program, tmp_path):
    code, out, err = asks("-c", "and why?")
    nothing = "nothing was asked in this terminal or folder yet, so there is no session to continue: leave -c out"
    assert (code, out, err) == (2, "", f"agent: {nothing}\n")
    assert asks("--json", "-c", "and why?")[0] == 2
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert asks("which tea?", folder=elsewhere)[0] == 0
    assert asks("-c", "and then?", folder=elsewhere)[0] == 0
    assert asks("-c", "and why?")[::2] == (2, f"agent: {nothing}; the latest elsewhere is s1 “which tea?” (-r s1)\n")


def test_a_terminal_continues_its_own_whichever_the_folder(asks, program, tmp_path, server):
    (tmp_path / "elsewhere").mkdir()
    line = f"{AGENT} ask one; {AGENT} ask -c two | cat; cd {tmp_path}/elsewhere; {AGENT} ask -c three"
    asks("older")
    first = Terminal(["sh", "-c", f"{line}; read wait; {AGENT} ask -c four"], program.env, program.work)
    first.wait("Camomile.", times=3)
    assert first.text.count("continuing s2, just now: one") == 2
    assert asks("newer")[0] == 0
    first.type("\r").wait("Camomile.", times=4)
    assert first.text.count("continuing s2, just now: one") == 3
    assert first.ended() == 0
    assert json.loads(program("sessions", "list", "--json").out)[0]["id"] == "s2"
    assert asks("-c", "five")[2].startswith("agent: continuing s2, ")


def test_a_side_question_is_not_what_is_continued(asks, program, terminal):
    chat = terminal().wait_prompt().enter("my boat is red").wait("Camomile.").wait_prompt()
    chat.enter("/btw what is a keel?").wait("that was a side question").wait_prompt().enter("/exit")
    assert chat.ended() == 0
    assert asks("-c", "and why?")[2].startswith("agent: continuing s1, ")


def test_an_incognito_question_is_never_continued(asks):
    asks("which tea?")
    asks("--incognito", "a secret")
    assert asks("-c", "and why?")[2].startswith("agent: continuing s1, just now: which tea?")
