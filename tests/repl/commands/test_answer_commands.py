"""/copy and /raw: answers as they were given, and the ways to the clipboard."""

import base64
import io
import os

import pytest

from agent_cli.errors import UsageError
from agent_cli.repl.commands import commands, exchange_commands
from tests.recalling import reply, say
from tests.tables import for_each

ANSWER = "Use this:\n\n```sh\nls -l\n```\n\nor **this**:\n\n~~~python\nprint('a')\n\nprint('b')\n~~~\n\nThat is all.\n"


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clip(tmp_path, monkeypatch):
    """A clipboard whose program is on PATH, and what is on it."""
    there = tmp_path / "bin"
    there.mkdir()
    (there / "xclip").write_text(f"#!/bin/sh\ncat > {tmp_path}/clipboard\n")
    (there / "xclip").chmod(0o755)
    for name in ("TMUX", "SSH_CONNECTION", "SSH_TTY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{there}:{os.environ['PATH']}")
    monkeypatch.setenv("DISPLAY", ":0")
    return tmp_path / "clipboard"


def answer(conversation, words):
    app = conversation.app
    say(app.db, conversation.ensure_session(), "well?", app.time(), app.scope)
    reply(app.db, conversation.id, words, app.time(), scope=app.scope)


def run(conversation, line):
    command, argument = commands.find(line)
    return command.run(conversation, argument)


def test_raw_shows_an_answer_as_it_was_written(conversation):
    with pytest.raises(UsageError, match="nothing was answered here yet"):
        run(conversation, "/raw")
    answer(conversation, "**One.**")
    answer(conversation, "Two.")
    assert run(conversation, "/raw") == "Two."
    assert run(conversation, "/raw 2") == "**One.**"
    for wrong in ("3", "0", "x"):
        with pytest.raises(UsageError):
            run(conversation, f"/raw {wrong}")


def test_copy_takes_the_answer_or_its_last_code_to_the_letter(conversation, clip):
    answer(conversation, ANSWER)
    assert run(conversation, "/copy") == f"copied m2, {len(ANSWER.strip())} characters, with xclip"
    assert clip.read_text() == ANSWER.strip()
    assert run(conversation, "/copy code") == "copied the code of m2, 22 characters, with xclip"
    assert clip.read_text() == "print('a')\n\nprint('b')"
    answer(conversation, "No code.")
    with pytest.raises(UsageError, match="there is no code in m4; /copy takes all of it"):
        run(conversation, "/copy code")


@pytest.mark.parametrize("cut", ["```\nls -l\n", "```\nls -l"])
def test_code_that_an_answer_broke_off_in_counts(conversation, clip, cut):
    answer(conversation, cut)
    run(conversation, "/copy code")
    assert clip.read_text() == "ls -l"


def test_a_program_that_keeps_the_clipboard_is_not_left_at_the_terminal(conversation, clip):
    """There it could type, so no yes would be taken any more."""
    (clip.parent / "bin" / "xclip").write_text(f"#!/bin/sh\nps -o sid= -p $$ >{clip}\n")
    answer(conversation, ANSWER)
    run(conversation, "/copy")
    assert int(clip.read_text()) != os.getsid(0)


def test_without_a_program_the_terminal_is_asked_and_nothing_but_base64_is_in_it():
    screen = Screen()
    told = exchange_commands.to_clipboard("evil \x1b]0;title\x07 é", {"TERM": "xterm"}, screen)
    assert told.startswith("through the terminal; if nothing arrives")
    begin, end = "\x1b]52;c;", "\x07"
    written = screen.getvalue()
    assert (written.startswith(begin), written.endswith(end)) == (True, True)
    assert base64.b64decode(written[len(begin) : -1]).decode() == "evil \x1b]0;title\x07 é"


def test_over_ssh_no_program_of_the_other_machine_is_used(clip):
    screen = Screen()
    exchange_commands.to_clipboard("words", {"TERM": "xterm", "DISPLAY": ":10", "SSH_CONNECTION": "1 2 3 4"}, screen)
    assert screen.getvalue().startswith("\x1b]52;")
    assert not clip.exists()


@for_each(
    ("words", "environ", "screen"),
    [
        ("words", {"TERM": "xterm"}, io.StringIO()),
        ("words", {"TERM": "dumb"}, Screen()),
        ("words", {}, Screen()),
        ("x" * 60_000, {"TERM": "xterm"}, Screen()),
    ],
)
def test_what_cannot_be_copied_is_said_with_what_to_do(words, environ, screen):
    with pytest.raises(UsageError, match="/raw shows it to be selected, /export FILE writes the session"):
        exchange_commands.to_clipboard(words, environ, screen)
    assert screen.getvalue() == ""


def test_a_program_that_fails_leaves_it_to_the_terminal(clip):
    (clip.parent / "bin" / "xclip").write_text("#!/bin/sh\nexit 1\n")
    screen = Screen()
    assert exchange_commands.to_clipboard("words", {"TERM": "xterm", "DISPLAY": ":0"}, screen).startswith(
        "through the terminal"
    )


def test_what_is_copied_cannot_steer_the_terminal_it_is_pasted_into(conversation, clip):
    answer(conversation, "ls\x1b[201~\nrm -r x\x07")
    run(conversation, "/copy")
    assert "\x1b" not in clip.read_text()
    assert "\x07" not in clip.read_text()
