"""A turn as the person sees it."""

import io
import threading

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
from agent_cli.repl.shell.shell import Spinner, TurnRenderer
from tests.ollama_server import script
from tests.tables import for_each

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
    assert told == "\nI \x1b[1msave\x1b[m it.\n\x1b[32m✓\x1b[m saved n1 “milk”\n\nDone.\n\x1b[2m· a notice\x1b[m\n"


NO = "\x1b[31m✗\x1b[m "
DRAWN = {
    "a call that was refused": (
        [ToolFinished(CALL, ToolResult("", True, refused=True))],
        f"{NO}save_note was not allowed\n",
    ),
    "a call that failed": ([ToolFinished(CALL, ToolResult("no room", True))], f"{NO}save_note failed: no room\n"),
    "a call that went well": ([ToolFinished(CALL, ToolResult("fine"))], ""),
    "thinking is one dim line": (
        [QuestionLogged("m1"), ThinkingArrived("hm"), ThinkingArrived(" hm"), TextArrived("Yes."), END],
        "\x1b[2m· thought for 3 s\x1b[m\n\nYes.\n",
    ),
    "thinking that came as text": (
        [TextArrived("hm"), TextWasThinking(), TextArrived("Yes.")],
        "\nhm\n\x1b[2m· (that was the model thinking aloud; it is not kept as the answer)\x1b[m\n\nYes.\n",
    ),
    "a stopped answer ends its line": (
        [TextArrived("So **far"), TurnFailed(Cancelled("stopped"))],
        "\nSo **far\n\x1b[2m· stopped\x1b[m\n",
    ),
    "a turn that was ended": (
        [TurnEnded(Message("assistant", ""), stopped_by="six rounds")],
        f"{NO}the turn was ended: six rounds\n",
    ),
    "an answer that is not whole": (
        [TurnEnded(Message("assistant", ""), "length", stopped_by="it goes on and on")],
        f"{NO}the turn was ended: it goes on and on · /retry asks again\n",
    ),
}


@for_each("name", DRAWN)
def test_what_is_drawn_of_an_event(name):
    events, said = DRAWN[name]
    assert drawn(*events) == said


def test_thinking_is_streamed_dim_when_it_is_asked_for():
    told = drawn(ThinkingArrived("hm **so**\n"), TextArrived("Yes."), END, show_thinking=True)
    assert told == "\x1b[2mhm\x1b[m \x1b[2;1mso\x1b[m\n\x1b[2m· thought for 3 s\x1b[m\n\nYes.\n"


def test_a_failed_turn_shows_what_arrived_and_raises():
    with pytest.raises(ModelFailed):
        drawn(TextArrived("So far"), TurnFailed(ModelFailed("it broke")))


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
    assert (first, last, "\n" in out.getvalue()[:-6]) == ("", "\nYes.\n", False)


def test_a_wait_is_never_wider_than_the_window_and_what_is_short_is_not_told():
    out = Line()
    spinner = Spinner(out, Display(spinner=True, width=lambda: 20))
    spinner.show(lambda: "never")
    spinner.hide()
    spinner.show(lambda: "你好" * 20)
    out.wait("…")
    spinner.hide()
    assert out.getvalue() == f"\r\x1b[K{'你好' * 4}你…\r\x1b[K"


def test_a_person_sees_that_the_model_is_loaded_first_and_then_only_the_answer(program, server, terminal):
    program.use(server)
    server.play(script.Silence(0.8, script.reply("# Hello\n\n**there**")))
    shell = terminal().wait_prompt().enter("hi").wait("loading qwen3:8b …").type("and").wait("there").wait("❯ and")
    assert "❯ hi\n\nHello\n\nthere\n\n❯ and" in shell.text
    assert b"\x1b[1mHello\x1b[m" in shell.raw


def test_a_long_wait_for_the_model_says_what_to_do():
    out, seconds, drawn_twice = io.StringIO(), iter([0.0, 3.0]), threading.Event()

    def now():
        second = next(seconds, 61.0)
        if second > 60:
            drawn_twice.set()
        return second

    spinner = Spinner(out, Display(spinner=True), now)
    spinner.show(lambda: "waiting for qwen3:8b", "Ctrl-C stops it")
    assert drawn_twice.wait(5)
    spinner.hide()
    assert "waiting for qwen3:8b … 3 s\r" in out.getvalue()
    assert "waiting for qwen3:8b … 61 s · Ctrl-C stops it" in out.getvalue()
