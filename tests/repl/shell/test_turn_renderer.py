"""A turn as the person sees it."""

import io
import re
import threading
from itertools import pairwise

import pytest

from agent_cli.agent.events import (
    Noticed,
    QuestionLogged,
    TextArrived,
    TextWasThinking,
    ThinkingArrived,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnFailed,
)
from agent_cli.errors import Cancelled, ModelFailed
from agent_cli.messages import Message, Receipt, ToolCall, ToolResult
from agent_cli.render.styles import Display
from agent_cli.repl.shell.turn_renderer import Spinner, TurnRenderer
from tests.ollama_server import script

RICH = Display(colour=True, markdown=True)
CALL = ToolCall("c1", "save_note", {"text": "milk"})
END = TurnEnded(Message("assistant", ""))


def drawn(*events, look=RICH, **options):
    """What is written; each event comes three seconds after the one before."""
    out, seconds = io.StringIO(), iter(range(0, 300, 3))
    renderer = TurnRenderer(out, look, now=lambda: next(seconds), **options)
    for event in events:
        renderer.draw(event)
    renderer.end()
    return out.getvalue()


def test_an_answer_with_what_stands_beside_it():
    told = drawn(
        QuestionLogged("m1"),
        TextArrived("I **save"),
        TextArrived("** it."),
        ToolStarted(CALL),
        ToolFinished(CALL, ToolResult("ok", receipt=Receipt("saved n1 “milk”"))),
        TextArrived("\n\nDone."),
        Noticed("a notice"),
        END,
    )
    assert told == "I \x1b[1msave\x1b[m it.\n\x1b[32m✓\x1b[m saved n1 “milk”\nDone.\n\x1b[2m· a notice\x1b[m\n"


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (ToolResult("no", failed=True, refused=True), "\x1b[31m✗\x1b[m save_note was not allowed\n"),
        (ToolResult("no room", failed=True), "\x1b[31m✗\x1b[m save_note failed: no room\n"),
        (ToolResult("fine"), ""),
    ],
)
def test_how_a_call_ended(result, said):
    assert drawn(ToolFinished(CALL, result)) == said


def test_thinking_is_one_dim_line():
    told = drawn(QuestionLogged("m1"), ThinkingArrived("hm"), ThinkingArrived(" hm"), TextArrived("Yes."), END)
    assert told == "\x1b[2m· thought for 3 s\x1b[m\nYes.\n"


def test_thinking_is_streamed_dim_when_it_is_asked_for():
    told = drawn(ThinkingArrived("hm **so**\n"), TextArrived("Yes."), END, show_thinking=True)
    assert told == "\x1b[2mhm\x1b[m \x1b[2;1mso\x1b[m\n\x1b[2m· thought for 3 s\x1b[m\nYes.\n"


def test_thinking_that_came_as_text_is_told():
    told = drawn(TextArrived("hm"), TextWasThinking(), TextArrived("Yes."))
    assert told == "hm\n\x1b[2m· (that was the model thinking aloud; it is not kept as the answer)\x1b[m\nYes.\n"


def test_a_stopped_answer_ends_its_line_and_says_so():
    assert drawn(TextArrived("So **far"), TurnFailed(Cancelled("stopped"))) == "So **far\n\x1b[2m· stopped\x1b[m\n"


def test_a_failed_turn_shows_what_arrived_and_raises():
    with pytest.raises(ModelFailed):
        drawn(TextArrived("So far"), TurnFailed(ModelFailed("it broke")))


def test_a_turn_that_was_ended_says_why():
    assert (
        drawn(TurnEnded(Message("assistant", ""), stopped_by="six rounds"))
        == "\x1b[31m✗\x1b[m the turn was ended: six rounds\n"
    )


@pytest.mark.parametrize("finish", ["repetition", "length"])
def test_an_answer_that_is_not_whole_offers_to_be_asked_again(finish):
    ended = TurnEnded(Message("assistant", ""), finish, stopped_by="it goes on and on")
    assert drawn(ended) == "\x1b[31m✗\x1b[m the turn was ended: it goes on and on · /retry asks again\n"


def test_aloud_there_are_words_for_what_others_see():
    events = [QuestionLogged("m1"), ThinkingArrived("hm"), TextArrived("It **is**. Ye"), TextArrived("s."), END]
    assert drawn(*events, look=Display(screen_reader=True)) == "Thinking.\nAnswer:\nIt **is**. Yes.\n"
    assert (
        drawn(QuestionLogged("m1"), TurnFailed(Cancelled("")), look=Display(screen_reader=True))
        == "Thinking.\nProgram: stopped\n"
    )


class Line(io.StringIO):
    """Lets a test wait for what is written."""

    def __init__(self):
        super().__init__()
        self.came = threading.Condition()

    def write(self, text):
        with self.came:
            self.came.notify_all()
            return super().write(text)

    def wait(self, words):
        with self.came:
            assert self.came.wait_for(lambda: words in self.getvalue(), 5), self.getvalue()


def test_a_wait_is_told_on_one_line_that_vanishes_before_the_words():
    out = Line()
    renderer = TurnRenderer(out, Display(spinner=True), waiting=lambda: "loading qwen3\x1b[2J:8b\n")
    renderer.draw(QuestionLogged("m1"))
    out.wait("loading qwen3[2J:8b …")
    renderer.draw(TextArrived("Yes."))
    renderer.draw(END)
    first, *_, last = out.getvalue().split("\r\x1b[K")
    assert (first, last, "\n" in out.getvalue()[:-1]) == ("", "Yes.\n", False)


def test_a_wait_is_never_wider_than_the_window_and_what_is_short_is_not_told():
    out = Line()
    spinner = Spinner(out, lambda: 20)
    spinner.show(lambda: "never")
    spinner.hide()
    spinner.show(lambda: "你好" * 20)
    out.wait("…")
    spinner.hide()
    assert out.getvalue() == f"\r\x1b[K{'你好' * 4}你…\r\x1b[K"


def test_seconds_are_counted():
    out = Line()
    spinner = Spinner(out, lambda: 80)
    spinner.show(lambda: "thinking")
    out.wait("thinking … 1 s")
    spinner.hide()
    assert all(a != b for a, b in pairwise(out.getvalue().split("\r\x1b[K")[1:])), "drawn only when it changes"


def test_a_person_sees_that_the_model_is_loaded_first_and_then_only_the_answer(program, server, terminal):
    program.use(server)
    server.play(script.Silence(0.8, script.reply("# Hello\n\n**there**")))
    shell = terminal().wait_prompt().enter("hi").wait("loading qwen3:8b …").type("and").wait("there").wait("❯ and")
    assert "❯ hi\nHello\n\nthere\n\n❯ and" in shell.text
    assert b"\x1b[1mHello\x1b[m" in shell.raw


def test_without_colours_the_answer_is_as_it_was_written(program, server, terminal):
    server.play(script.reply("# Hello\n\n**there**"))
    program.use(server)
    shell = terminal(NO_COLOR="1").wait_prompt().enter("hi").wait("Hello\n\nthere\n\n❯")
    assert b"\x1b[1mthere" in shell.raw
    assert not re.search(rb"\x1b\[(?:\d;)*3[0-7]m", shell.raw)


def test_a_long_wait_for_the_model_says_what_to_do():
    out, seconds, drawn_twice = io.StringIO(), iter([0.0, 3.0]), threading.Event()

    def now():
        second = next(seconds, 61.0)
        if second > 60:
            drawn_twice.set()
        return second

    spinner = Spinner(out, lambda: 80, now)
    spinner.show(lambda: "waiting for qwen3:8b", "Ctrl-C stops it")
    assert drawn_twice.wait(5)
    spinner.hide()
    assert "waiting for qwen3:8b … 3 s\r" in out.getvalue()
    assert "waiting for qwen3:8b … 61 s · Ctrl-C stops it" in out.getvalue()
