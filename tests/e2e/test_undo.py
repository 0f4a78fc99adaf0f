"""Taking back, editing and going incognito, on a real terminal."""

import signal

from tests.ollama_server import script
from tests.terminal import CTRL_C

SECRET = "zq8-heliotrope-9931-marmot"


def test_what_is_undone_stands_in_the_prompt_again_and_can_be_said_otherwise(program, server, terminal):
    program.use(server)
    server.play(script.reply("Four."), script.reply("Five."), script.reply("Six."))
    shell = terminal().wait_prompt().enter("two and two?").wait("Four.").wait_prompt()
    shell.enter("/undo").wait("m1 and its answer are taken back").wait("❯ two and two?", times=2)
    shell.enter(" or three").wait("Five.").wait_prompt()
    shell.enter("/edit").wait("❯ /edit m3 two and two? or three")
    shell.enter("?").wait("Six.").wait_prompt().enter("/exit")
    assert shell.ended() == 0
    assert program.rows("select id, text, undone_at is null from message order by id") == [
        (1, "two and two?", 0),
        (2, "Four.", 0),
        (3, "two and two? or three", 0),
        (4, "Five.", 0),
        (5, "two and two? or three?", 1),
        (6, "Six.", 1),
    ]
    assert program("sessions", "show", "s1").out.count("Four.") == 0


def test_an_answer_asked_for_again_is_not_lost_when_that_is_stopped_or_killed(program, server, terminal):
    program.use(server)
    server.play(script.reply("Four."), script.silence(60, script.reply("Five.")), script.silence(60, script.reply("")))
    shell = terminal().wait_prompt().enter("two and two?").wait("Four.").wait_prompt().enter("/retry")
    server.wait_for_chats(2)
    shell.type(CTRL_C).wait("m1 is restored, with what came after it").wait("· stopped").wait_prompt().enter("/retry")
    server.wait_for_chats(3)
    shell.signal(signal.SIGKILL).ended()
    server.play(script.reply("Seven."))
    assert program("ask", "--session", "s1", "and three?").out == "Seven.\n"
    assert [message["content"].split("\n\n")[0] for message in server.turns[-1]["messages"][1:]] == [
        "two and two?",
        "Four.",
        "and three?",
    ]


def test_incognito_begins_a_conversation_of_which_nothing_is_left(program, server, terminal):
    program.use(server)
    server.play(script.reply("Hello."), script.reply(f"I see, {SECRET}."))
    shell = terminal().wait_prompt().enter("hi").wait("Hello.").wait_prompt()
    shell.enter("/incognito").wait("resume: agent -r s1").wait("nothing is written").wait_prompt()
    shell.enter(f"my word is {SECRET}").wait(f"I see, {SECRET}.").wait_prompt()
    shell.enter("/incognito").wait("incognito already").wait_prompt().enter("/exit")
    assert shell.ended() == 0
    assert [text for (text,) in program.rows("select text from message order by id")] == ["hi", "Hello."]
    held = [file for file in program.home.rglob("*") if file.is_file() and SECRET.encode() in file.read_bytes()]
    assert held == []
