"""That a forked command is as one that starts from nothing."""

import subprocess

import pytest

from tests import warm
from tests.ollama_server import script

COMMANDS = [
    (["notes", "list", "--json"], ""),
    (["config", "path"], ""),
    (["ask", "is", "anybody", "there?"], "nobody is, café"),
    (["facts", "add", "I live in Linz", "--nonsense"], ""),
    (["search", "when do I see the doctor?", "--json"], ""),
]


def test_a_forked_command_says_and_ends_as_one_from_nothing(program, monkeypatch):
    program.env["AGENT_NOW"] = "2026-01-02T12:00:00+00:00"  # what is found grows older
    program("notes", "add", "dentist appointment Friday 3pm")
    program("search", "dentist")  # the index and its vectors are made
    forked = [program(*arguments, stdin=stdin) for arguments, stdin in COMMANDS]
    monkeypatch.setattr(program, "cold", True)
    assert [program(*arguments, stdin=stdin) for arguments, stdin in COMMANDS] == forked


def test_a_command_that_takes_too_long_is_killed(program, server):
    server.play(script.silence(20, script.reply("at last")))
    with pytest.raises(subprocess.TimeoutExpired):
        program.use(server)("ask", "hello", timeout=0.5)
    server.wait_until_idle()


def test_what_the_interpreter_reads_at_its_start_is_never_forked(program):
    assert warm.can(program.env)
    assert not warm.can({**program.env, "PYTHONUTF8": "0"})
    assert not warm.can({**program.env, "LC_ALL": "C"})
