"""A person types, at a real terminal: what needs one."""

import re
import signal

import pytest

from tests.ollama_server import script
from tests.terminal import CTRL_C, ENTER

pytestmark = pytest.mark.usefixtures("talking")


def test_a_draft_outlives_a_signal(program, terminal):
    shell = terminal().wait_prompt().type("a draft").wait_for_line("❯ a draft").signal(signal.SIGTERM)
    assert shell.ended() == 143
    closed = terminal().wait_prompt().type("a window").wait_for_line("❯ a window")
    assert closed.hang_up() == 129
    assert program.rows("select text from prompt") == [("a draft",), ("a window",)]
    again = terminal().wait_prompt().type("\x1b[A").wait_for_line("❯ a window").type(CTRL_C).wait_prompt()
    again.type(CTRL_C).wait("press Ctrl-C again").type(CTRL_C)
    assert again.ended() == 0


def test_a_draft_goes_through_the_editor_and_takes_a_file_along(program, server, terminal):
    (program.work / "notes.txt").write_text("buy milk")
    program.edit_with('printf "%s @notes.txt?" "$(cat "$1")" > "$1"')
    server.play(script.reply("Milk."))
    shell = terminal().wait_prompt().type("what is").wait_for_line("❯ what is").type("\x07")
    shell.wait_for_line("❯ what is @notes.txt?").type(ENTER).wait("sent along: notes.txt (8 characters)")
    shell.wait("Milk.").wait_prompt()
    parts = '[["file", 10, "notes.txt"], ["typed", 19]]'
    assert program.rows("select text, parts from message where role = 'user'") == [
        ("buy milk\n\nwhat is @notes.txt?", parts)
    ]


def test_a_program_put_aside_comes_back_with_its_draft(program, terminal):
    started = " ".join(program.command)
    program.command = ["bash", "--norc", "--noprofile", "-i"]
    shell = terminal(PS1="$ ").wait("$").type(f"{started}\r").wait_prompt()
    shell.type("a draft").wait_for_line("❯ a draft").type("\x1a").wait("Stopped")
    shell.type("echo out$((1+1))side\r").wait("out2side").type("fg\r").wait_for_line("❯ a draft")
    shell.type(ENTER).wait("You said: a draft").wait_prompt()


def test_resume_alone_lets_one_choose(program, terminal):
    program("ask", "hello there")
    program("ask", "please tell me about the harbour of Trieste")
    shell = terminal("-r").wait("about the harbour of Trieste").wait("which one?").wait("you: please tell me about")
    shell.type("lo th").until(lambda: "Trieste" not in shell.text, "the list of what matches")
    shell.wait("you: hello there").type(ENTER)
    shell.wait("s1 “hello there” goes on")
    shell.wait_prompt().type("/se").wait("/search").type("\t").wait("/sessions").type(CTRL_C).wait_prompt()
    shell.enter("/exit")
    assert shell.ended() == 0
    assert re.findall(rb"\x1b\[[0-9;]*(?:[34]8;[25]|4[0-7]|10[0-7])[0-9;]*m", shell.raw) == [], "colours of its own"
    left = terminal("-r").wait("which one?").type(CTRL_C)
    assert left.ended() == 0
    assert program("-r").code == 2


def test_resume_in_a_session_lets_one_choose_too_and_leaves_no_trace_of_the_list(program, terminal):
    program("ask", "what is the boat called?")
    program("ask", "where is the harbour?")
    shell = (
        terminal()
        .wait_prompt()
        .enter("/resume")
        .wait("which one?")
        .wait("you: where is the harbour?")
        .type("\x1b[B\x1b[B")
    )
    shell.wait("you: what is the boat called?").type(ENTER).wait("s1 “what is the boat called?” goes on").wait_prompt()
    assert "which one?" not in shell.text
    assert shell.text.count("where is the harbour?") == 1, "the line of the start alone"
    shell.enter("/resume").wait("which one?").type("\x1b").wait("the session goes on").wait_prompt()
    shell.enter("/sessions").wait("Asked on their own:").wait("today, ").wait_prompt()
