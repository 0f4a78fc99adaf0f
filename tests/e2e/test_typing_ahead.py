"""What is typed while an answer comes: it is seen below the answer, can be edited, and a stop never sends it."""

from threading import Event

import pytest

from tests.ollama_server import script
from tests.terminal import CTRL_C, ENTER, past

WORDS = [f"word{n}{'.' * (n % 10 == 0)}" for n in range(1, 61)]  # in sentences, which are read to the blind whole


@pytest.fixture
def asked(program, server, terminal):
    """A session that asked something, of whose answer a third has come; and what lets the rest come."""

    def ask(*then, **options):
        server.play(script.held(" ".join(WORDS[:20]), " ".join(WORDS[20:]), go_on := Event()), *then)
        shell = terminal(**{**program.use(server).env, **options}).wait_prompt()
        return shell.enter("hello").wait("word3"), go_on

    return ask


def said(program):
    return [text for (text,) in program.rows("select text from message where role = 'user' order by id")]


def test_what_is_typed_ahead_is_seen_below_the_answer_and_edited_before_it_is_sent(program, asked):
    shell, answer = asked(script.reply("Linz is in Austria."))
    shell.by_hand("and Linx").wait("\n❯ and Linx").type("\x7fz?").wait("\n❯ and Linz?").type(ENTER)
    shell.wait("❯ and Linz? ⏎   sent after the answer; Backspace takes it back")
    answer.set()
    shell.wait("word60").wait("Linz is in Austria.").wait_prompt()
    words = shell.text.split("hello", 1)[1].split("❯")[0].split()
    assert words == WORDS, "no word of the answer is lost or written over"
    assert (said(program), shell.text.count("⏎")) == (["hello", "and Linz?"], 0)


def test_what_was_sent_ahead_is_taken_back(program, asked):
    shell, answer = asked()
    shell.type("no").type(ENTER).wait("no ⏎").type("\x7f\x7f\x7f").until(lambda: "no" not in shell.text, "nothing")
    answer.set()
    shell.wait("word60").wait_prompt()
    assert said(program) == ["hello"]


def test_ctrl_c_stops_the_answer_and_sends_nothing_that_was_typed_ahead(program, asked):
    shell, _ = asked()
    shell.type("first").type(ENTER).wait("first ⏎").type("second").wait("second").type(CTRL_C)
    shell.wait("stopped").wait("❯ first\n  second")
    assert said(program) == ["hello"]
    shell.type(CTRL_C).wait_prompt()


def test_nothing_is_drawn_below_an_answer_for_a_screen_reader(program, asked):
    shell, answer = asked(ACCESSIBLE="1")
    shell.type("unseen")
    answer.set()
    shell.wait("word60").wait_for_line("> unseen")
    assert b"\x1bD" not in shell.raw
    shell.type(CTRL_C)


def test_ctrl_z_puts_a_program_aside_that_answers(program, server, terminal):
    program.use(server)
    server.play(script.held(" ".join(WORDS[:20]), "word60", answer := Event()))
    started = " ".join(program.command)
    program.command = ["bash", "--norc", "--noprofile", "-i"]
    shell = terminal(PS1="$ ").wait("$").type(f"{started}\r").wait_prompt().enter("hello").wait("word3").type("\x1a")
    shell.wait("Stopped").type("echo out$((1+1))side\r").wait("out2side").type("fg\r").until(past(0.3), "a moment")
    shell.by_hand("more").wait("\n❯ more").type("\x7f" * 4)
    answer.set()
    shell.wait("word60").wait_prompt()


def test_the_preview_of_recall_goes_away_when_the_message_is_sent(program, server, terminal):
    program("notes", "add", "the dentist is in the Herrengasse")
    server.play(script.reply("There."))
    shell = terminal(**program.use(server).env).wait_prompt().type("where is the dentist")
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
