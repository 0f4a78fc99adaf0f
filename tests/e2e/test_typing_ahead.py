"""What is typed while an answer comes: it is seen below the answer, can be edited, and a stop never sends it."""

import pytest

from tests.ollama_server import script
from tests.terminal import CTRL_C, ENTER

WORDS = [f"word{n}" for n in range(1, 400)]
SLOW = script.pieces(*(script.Piece(f"{word} ", delay=0.02) for word in WORDS))
LONG = script.pieces(*(script.Piece(f"{word} ", delay=0.01) for word in WORDS[:60]))


@pytest.fixture
def asked(program, server, terminal):
    """A session that asked something whose answer is on its way."""

    def ask(reply, *then, **options):
        server.play(reply, *then)
        shell = terminal(**{**program.use(server).env, **options}).wait_prompt()
        return shell.enter("hello").wait("word3")

    return ask


def said(program):
    return [text for (text,) in program.rows("select text from message where role = 'user' order by id")]


def test_what_is_typed_ahead_is_seen_below_the_answer_and_edited_before_it_is_sent(program, asked):
    shell = asked(LONG, script.reply("Linz is in Austria."))
    shell.by_hand("and Linx").wait("\n❯ and Linx").by_hand("\x7fz?").wait("\n❯ and Linz?").type(ENTER)
    shell.wait("❯ and Linz? ⏎   sent after the answer; Backspace takes it back")
    shell.wait("word60").wait("Linz is in Austria.").wait_prompt()
    words = shell.text.split("hello", 1)[1].split("❯")[0].split()
    assert words == WORDS[:60], "no word of the answer is lost or written over"
    assert (said(program), shell.text.count("⏎")) == (["hello", "and Linz?"], 0)


def test_what_was_sent_ahead_is_taken_back(program, asked):
    asked(LONG).by_hand("no").type(ENTER).wait("no ⏎").by_hand("\x7f\x7f\x7f").wait("word60").wait_prompt()
    assert said(program) == ["hello"]


def test_ctrl_c_stops_the_answer_and_sends_nothing_that_was_typed_ahead(program, asked):
    shell = asked(SLOW).by_hand("first").type(ENTER).wait("first ⏎").by_hand("second").wait("second").type(CTRL_C)
    shell.wait("stopped").wait("❯ first\n  second")
    assert said(program) == ["hello"]
    shell.type(CTRL_C).wait_prompt()


def test_nothing_is_drawn_below_an_answer_for_a_screen_reader(program, asked):
    shell = asked(LONG, ACCESSIBLE="1").by_hand("unseen").wait("word60").wait_for_line("> unseen")
    assert b"\x1bD" not in shell.raw
    shell.type(CTRL_C)


def test_ctrl_z_puts_a_program_aside_that_answers(program, server, terminal):
    program.use(server)
    server.play(LONG)
    started = " ".join(program.command)
    program.command = ["bash", "--norc", "--noprofile", "-i"]
    shell = terminal(PS1="$ ").wait("$").type(f"{started}\r").wait_prompt().enter("hello").wait("word3").type("\x1a")
    shell.wait("Stopped").type("echo out$((1+1))side\r").wait("out2side").type("fg\r").wait("word60").wait_prompt()


def test_the_preview_of_recall_goes_away_when_the_message_is_sent(program, server, terminal):
    program("notes", "add", "the dentist is in the Herrengasse")
    server.play(script.reply("There."))
    shell = terminal(**program.use(server).env).wait_prompt().by_hand("where is the dentist", 0.02)
    shell.wait("will use: 1 n1").type(ENTER).wait("There.").wait_prompt()
    assert "will use" not in shell.text


def test_esc_esc_replaces_the_last_message(program, server, terminal):
    (program.work / "a.txt").write_text("milk and bread")
    server.play(script.reply("Milk."), script.reply("Bread."))
    shell = (
        terminal(**program.use(server).env).wait_prompt().enter("what is first in @a.txt").wait("Milk.").wait_prompt()
    )
    shell.type("\x1b\x1b").wait_for_line("❯ /edit m1 what is first in @a.txt").type("\x17\x17\x17last in @a.txt")
    shell.wait_for_line("what is last in @a.txt").type(ENTER).wait("Bread.").wait_prompt()
    asked = [each["content"] for each in server.turns[-1]["messages"] if each["role"] == "user"]
    assert (len(asked), "what is last in" in asked[0], "milk and bread" in asked[0]) == (1, True, True)
    assert said(program)[-1].endswith("what is last in @a.txt")
