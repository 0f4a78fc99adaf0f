"""What a session tells its terminal besides text, at a terminal that says it can."""

import pytest

from agent_cli.repl.conversation import Conversation
from tests.ollama_server import script
from tests.terminal import CTRL_C, ENTER, past

KITTY = {"TERM": "xterm-kitty"}


@pytest.fixture
def talked(program, server):
    return program.use(server)


def test_what_is_set_while_keys_are_read_is_ended_whenever_they_are_not(talked, server, terminal):
    server.play(script.reply("See https://example.org/a."))
    shell = terminal(**KITTY).wait_prompt()
    shell.enter("where is it?").wait("See https://example.org/a.").wait_prompt()
    shell.type("\x1b[100;5u")  # Ctrl-D
    assert shell.ended() == 0
    for on, off in ((b"\x1b[>1u", b"\x1b[<u"), (b"\x1b[?1004h", b"\x1b[?1004l"), (b"\x1b[22;2t", b"\x1b[23;2t")):
        assert shell.raw.count(on) == shell.raw.count(off) > 0
    address = b"https://example.org/a"
    assert b"\x1b]8;;" + address + b"\x1b\\" + address + b"\x1b]8;;\x1b\\." in shell.raw
    marks = [shell.raw.find(b"\x1b]133;%s\x1b\\" % letter) for letter in (b"A", b"B", b"C", b"D")]
    assert marks == sorted(marks)
    assert marks[0] > 0
    assert b"\x1b]2;agent: where is it?\x1b\\" in shell.raw


def test_keys_of_the_protocol_of_kitty_do_what_they_always_did(talked, server, terminal):
    server.play(script.reply("I see."))
    shell = terminal(**KITTY).wait_prompt().type("one").wait_for_line("❯ one").type("\x1b[13;2u")
    shell.type("two").wait_for_line("  two").type(ENTER).wait("I see.").wait_prompt()
    assert talked.rows("select text from message where role = 'user'") == [("one\ntwo",)]
    shell.type("draft").wait_for_line("❯ draft").type("\x1b[99;").type("5u").wait_prompt()  # Ctrl-C in two pieces


def test_who_looks_elsewhere_is_notified_of_a_question(talked, server, terminal):
    save = ("save_note", {"text": "Buy milk", "title": "Milk"})
    server.play(*[script.reply(calls=[save]), script.reply("Saved.")] * 2)
    shell = terminal(**KITTY).wait_prompt().enter("note: milk").wait("allow it?").type("n").wait_prompt()
    assert b"\x1b]9;" not in shell.raw
    shell.enter("note: milk again").type("\x1b[O").wait("allow it?", times=2).type("n").wait_prompt()
    assert b"\x1b]9;a question waits for you\x1b\\" in shell.raw


def test_a_paste_whose_end_was_lost_ends_by_itself(talked, terminal):
    shell = terminal().wait_prompt().type("\x1b[200~half a paste")
    shell.until(past(1.1), "a second").type("!").wait_for_line("❯ half a paste!").type(CTRL_C).wait_prompt()


def test_the_keys_of_vi_can_be_switched_on_and_off(talked, terminal):
    shell = terminal().wait_prompt().enter("/vim").wait("are those of vi").wait_prompt()
    shell.type("tea pot").wait_for_line("❯ tea pot").type("\x1b").until(past(1.1), "Esc").type("0dwipan \x1b")
    shell.wait_for_line("❯ pan pot")


def test_the_line_below_the_prompt_names_the_mode_of_vi_and_the_model_that_was_chosen_last(talked, terminal):
    shell = terminal(AGENT_EDITING_MODE="vi", PROMPT_TOOLKIT_NO_CPR="").wait_prompt()
    shell.enter("/facts").until(lambda: shell.raw.count(b"\x1b[6n") > 1, "the question").type("\x1b[20;3R")
    shell.wait("\nINSERT · qwen3:8b").type("\x1b").wait("\nNORMAL · qwen3:8b").type("i").wait("\nINSERT · qwen3:8b")
    shell.enter("/model offline").wait("offline answers").until(lambda: shell.raw.count(b"\x1b[6n") > 2, "the question")
    shell.type("\x1b[20;3R").wait("\nINSERT · offline")


def test_a_command_of_ones_own_tells_the_line_below_the_prompt(talked, server, terminal):
    server.play(script.reply("I see."))
    command = 'python3 -c \'import json, sys; print("told:", json.load(sys.stdin)["context_percent"] is not None)\''
    shell = terminal(AGENT_STATUS_COMMAND=command, PROMPT_TOOLKIT_NO_CPR="").wait_prompt()
    shell.enter("hello there, all of you").wait("I see.").until(lambda: shell.raw.count(b"\x1b[6n") > 1, "the question")
    shell.type("\x1b[20;3R").wait("\ntold: True")  # the row of the cursor: there is room for the line below


def test_a_session_goes_on_in_a_folder_that_is_gone(app, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert (Conversation(app).state()["folder"], Conversation(app).state()["context_percent"]) == ("", None)
