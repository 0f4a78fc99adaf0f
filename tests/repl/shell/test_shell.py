"""A person at the prompt: what they see, on a real terminal."""

import asyncio
import re
import signal
import time
from threading import Event

import pytest

from agent_cli.render.styles import Display
from agent_cli.repl.shell.shell import Shell
from agent_cli.store.db import Database
from tests.ollama_server import script
from tests.repl.shell.test_prompt_input import until, with_keyboard
from tests.terminal import CTRL_C, CTRL_D, ENTER, ESC

HALF = " ".join(f"word{number}" for number in range(12))
SAVE = ("save_note", {"text": "buy milk"})


@pytest.fixture
def talked(program, server):
    return program.use(server)


def begin_only(server, words=HALF):
    """The answer begins with these words and does not go on."""
    server.play(script.held(words))


def pause(server, words, rest):
    """The answer begins with these words, and goes on when the returned event is set."""
    server.play(script.held(words, rest, go_on := Event()))
    return go_on


def log(program):
    return program.rows("select role, text, finish from message order by id")


def asked(server):
    """The last words of the person in each request, without what the program put behind them."""
    return [body["messages"][-1]["content"].split("\n\n⟦")[0] for body in server.turns]


@pytest.mark.usefixtures("no_database")
def test_a_first_session(talked, server, terminal):
    server.play(script.reply("The answer is forty two."))
    shell = terminal().wait("Nothing is remembered without your yes").wait_prompt()
    shell.enter("what is it?").wait("The answer is forty two.").wait_prompt()
    shell.enter("/note buy milk").wait("saved n1 “buy milk”").wait_prompt()
    shell.enter("/notes").wait("n1 ").wait_prompt()
    server.play(script.reply("They asked what it is. It is forty two."))
    shell.enter("/close").wait("It is forty two.").wait("closed s1 · resume: /resume s1").wait_prompt()
    shell.enter("/sessions").wait("1 turn  what is it?").wait_prompt()
    shell.enter("/resume s1").wait("s1 “what is it?” goes on: the model sees all of it (2 messages)").wait_prompt()
    shell.enter("/exit").wait("resume: agent -r s1")
    assert shell.ended() == 0
    assert asked(server)[0] == "what is it?"
    assert log(talked) == [("user", "what is it?", "stop"), ("assistant", "The answer is forty two.", "stop")]
    below = {*re.findall(r"\n\n(\S+)", shell.text)}
    assert below == {"❯", "The", "They"}, "an empty line before each prompt and each text of the model, nowhere else"
    again = terminal().wait("carried over: 1 summary and the last 2 messages of s1 “what is it?” (today)").wait_prompt()
    assert "Nothing is remembered" not in again.text


@pytest.mark.parametrize("key", [CTRL_C, ESC], ids=["Ctrl-C", "Esc"])
def test_a_key_stops_the_answer_and_keeps_the_part(talked, server, terminal, key):
    begin_only(server)
    shell = terminal().wait_prompt().enter("go on").wait("word3")
    shell.type(key).wait("· stopped").wait_prompt()
    server.wait_until(lambda: server.counters.cancelled == 1)
    server.play(script.reply("Still here."))
    shell.enter("are you?").wait("Still here.").wait_prompt()
    [_, (_, part, finish), *_] = log(talked)
    assert (part.strip(), finish) == (HALF, "cancelled")
    assert "".join(part.split()) in "".join(shell.text.split())  # a blank at the end of a line is not to be seen
    assert server.turns[-1]["messages"][2]["content"] == f"{part} ⟦ cut off here: cancelled ⟧"


def test_a_server_that_dies_in_an_answer_names_the_command_that_asks_again(talked, server, terminal):
    server.play(script.reply("word3", then=script.CUT), script.reply("Whole."))
    shell = terminal().wait_prompt().enter("go on").wait("what arrived is kept ·").wait("/retry asks again")
    shell.wait_prompt().enter("/retry").wait("Whole.").wait_prompt()


def test_the_ctrl_c_that_stopped_an_answer_is_not_the_first_of_two(talked, server, terminal):
    begin_only(server)
    shell = terminal().wait_prompt().enter("go on").wait("word3").type(CTRL_C).wait("· stopped").wait_prompt()
    shell.type(CTRL_C).wait("press Ctrl-C again to leave")
    shell.type(CTRL_C)
    assert shell.ended() == 0


def test_two_lines_typed_during_an_answer_are_two_messages(talked, server, terminal):
    answer = pause(server, "one two and", "three.")
    server.play(script.reply("Eleven."), script.reply("Twelve."))
    shell = terminal().wait_prompt().enter("count").wait("one two")
    shell.type("more" + ENTER).type("and more" + ENTER + "/exit" + ENTER).wait("/exit ⏎")
    answer.set()
    shell.wait("resume: agent -r s1")
    assert shell.ended() == 0
    assert asked(server) == ["count", "more", "and more"]


def origins(program):
    return program.rows("select text, json_extract(parts, '$[0][0]') from message where role = 'user' order by id")


def test_what_is_typed_by_hand_during_an_answer_is_typed(talked, server, terminal):
    begin_only(server)
    shell = terminal().wait_prompt().enter("go on").wait("word3").by_hand("remember that I row" + ENTER)
    shell.wait("sent after the answer").type(CTRL_C).wait("stopped").wait_for_line("❯ remember that I row").type(ENTER)
    shell.wait("kept f1 “I row”").wait_prompt()
    assert origins(talked)[1:] == [("remember that I row", "typed")]


@pytest.mark.parametrize("paste", ["\x1b[200~remember that I row\x1b[201~", "remember that I row"])
def test_what_is_pasted_during_an_answer_is_pasted(talked, server, terminal, paste):
    begin_only(server)
    shell = terminal().wait_prompt().enter("go on").wait("word3")
    assert shell.raw.rfind(b"\x1b[?2004h") > shell.raw.rfind(b"\x1b[?2004l"), "pastes are not marked"
    shell.type(paste).by_hand(ENTER)
    shell.wait("sent after the answer").type(CTRL_C).wait("stopped").wait_for_line("❯ remember that I row").type(ENTER)
    shell.wait("You said: remember that I row").wait_prompt()
    assert origins(talked)[1:] == [("remember that I row", "pasted")]
    assert talked.rows("select count(*) from fact where state = 'accepted'") == [(0,)]


def test_alt_enter_typed_during_an_answer_does_not_stop_it(talked, server, terminal):
    answer = pause(server, "one two and", "three.")
    server.play(script.reply("Eleven."))
    shell = terminal().wait_prompt().enter("count").wait("one two").type("a" + ESC + ENTER + "b" + ENTER).wait("b ⏎")
    answer.set()
    shell.wait("Eleven.").wait_prompt()
    assert asked(server) == ["count", "a\nb"]


@pytest.mark.parametrize(
    ("answer", "saved"),
    [("y", 1), *((no, 0) for no in ("n", ENTER, ESC, CTRL_D, f"yes please\0{ENTER}", f"\x1b[200~y\x1b[201~\0{ENTER}"))],
    ids=["y", "n", "Enter", "Esc", "Ctrl-D", "something else", "a paste"],
)
def test_a_call_that_needs_a_yes(talked, server, terminal, answer, saved):
    server.play(script.reply("", calls=[SAVE]), script.reply("Well then."))
    shell = terminal().wait_prompt().enter("save it")
    shell.wait("The model wants to call save_note").wait("text  buy milk").wait("anything else no:")
    together, _, alone = answer.rpartition("\x00")
    if together:
        shell.type(together).wait("nothing; press")
    shell.type(alone).wait("Well then.").wait_prompt()
    assert talked.rows("select count(*) from note") == [(saved,)]
    assert server.turns[-1]["messages"][-1]["role"] == "tool"
    assert ("refused" in server.turns[-1]["messages"][-1]["content"]) is not saved
    assert ("save_note was not allowed" in shell.text, "refused" in shell.text) == (not saved, False)


def test_ctrl_c_at_the_question_refuses_the_call_and_ends_the_turn(talked, server, terminal):
    server.play(script.reply("", calls=[SAVE]), script.reply("Well then."))
    shell = terminal().wait_prompt().enter("save it").wait("anything else no:").type(CTRL_C)
    shell.wait("stopped").wait_prompt()
    assert (len(server.turns), talked.rows("select count(*) from note")) == (1, [(0,)])
    shell.enter("and now?").wait("Well then.")
    told = [each["content"] for each in server.turns[-1]["messages"] if each["role"] == "tool"]
    assert told == ["interrupted"]


def test_a_call_allowed_for_the_session_is_not_asked_again_in_it(talked, server, terminal):
    saved, other = script.reply("", calls=[SAVE]), script.reply("", calls=[("save_note", {"text": "buy bread"})])
    server.play(saved, other, script.reply("Both are saved."), saved, script.reply("Not again."))
    shell = terminal().wait_prompt().enter("save them").wait("anything else no:")
    shell.type("2").wait("Both are saved.").wait_prompt()  # as a
    assert shell.text.count("anything else no:") == 1
    shell.enter("/new").wait("s1 is closed and kept").wait_prompt()
    shell.enter("save it").wait("anything else no:", times=2)
    shell.type("n").wait("Not again.")
    assert talked.rows("select text from note order by id") == [("buy milk",), ("buy bread",)]


def test_a_yes_typed_before_something_is_to_be_erased_is_no_answer_to_it(talked, server, terminal):
    talked("notes", "add", "buy milk")
    answer = pause(server, "one two and", "three.")
    shell = terminal().wait_prompt().enter("count").wait("two")
    shell.type(f"/forget n1{ENTER}yes{ENTER}{ENTER}").wait("⏎ ⏎")
    answer.set()
    shell.wait("type yes:").type(ENTER).wait("nothing was erased")
    assert talked.rows("select count(*) from note") == [(1,)]


def test_a_pasted_command_is_run_by_a_second_enter_and_an_unknown_one_goes_nowhere(talked, server, terminal):
    for end in ("", "\n"):  # the second run knows it from the history
        shell = terminal().wait_prompt().type(f"\x1b[200~/note tea{end}\x1b[201~").wait_for_line("❯ /note tea")
        shell.type(ENTER).wait("Enter again runs it").wait_for_line("❯ /note tea").type(ENTER).wait("“tea”")
        shell.wait_prompt().enter("/nosuch thing").wait("there is no /nosuch; ").wait_prompt()
        assert server.turns == []
    shell.type("\x1b[200~/nosuch\x1b[201~").wait_for_line("❯ /nosuch").type(ENTER).wait("You said: /nosuch")
    shell.wait_prompt()
    assert talked.rows("select text, parts from message where role = 'user'") == [("/nosuch", '[["pasted", 7]]')]


def test_what_is_to_be_done_is_suggested_as_a_task_and_typing_takes_its_place(talked, terminal):
    shell, suggested = terminal().wait_prompt(), "❯ /remind buy milk (Tab takes it)"
    shell.enter("remember to buy milk").wait_for_line(suggested).enter("/notes").wait("no notes").wait_prompt()
    shell.enter("remember to buy milk").wait_for_line(suggested).type(ENTER).wait("❯\n\n❯").wait_prompt()
    assert talked.rows("select text from task") == []
    shell.enter("remember to buy milk").wait_for_line(suggested).type("\t").wait_for_line("❯ /remind buy milk")
    shell.type(ENTER).wait("kept t1 “buy milk”").wait_prompt()
    assert talked.rows("select text, origin from task") == [("buy milk", "typed")]


def test_a_pasted_exit_is_text_and_a_pasted_note_is_known_as_one(talked, terminal):
    shell = terminal().wait_prompt().type("\x1b[200~exit\x1b[201~").wait_for_line("❯ exit").type(ENTER)
    shell.wait("You said: exit").wait_prompt().type("/note ").wait_for_line("❯ /note")
    shell.type("\x1b[200~buy milk\x1b[201~").wait_for_line("❯ /note buy milk").type(ENTER).wait(
        "saved n1"
    ).wait_prompt()
    assert talked.rows("select text, origin from note") == [("buy milk", "pasted")]


def test_a_line_that_meets_a_busy_file_is_put_back(app, capsys):
    app.db.busy_timeout = 0.1
    other = app.db.another_connection()

    async def person(keyboard):
        shell = Shell(app, None, Display())
        running, buffer = asyncio.create_task(shell.run()), shell._prompt.buffer
        with other.write():
            for key in "/note ", "\x1b[200~milk\x1b[201~", "\r":
                keyboard.send_text(key)
                await until(lambda key=key: key == "\r" or buffer.text.startswith("/note"))
                await asyncio.sleep(0.05)
            await until(lambda: "keeps the database busy" in capsys.readouterr().out)
            await until(lambda: buffer.text == "/note milk")
        keyboard.send_text("\r")
        await until(lambda: app.db.value("select count(*) from note"))
        keyboard.send_text("\x04")
        assert await running == 0

    with_keyboard(person)
    assert app.db.rows("select text, origin from note") == [("milk", "pasted")]
    other.close()


def test_a_busy_file_does_not_keep_anybody_from_leaving(talked, terminal):
    shell = terminal().wait_prompt().enter("hello").wait("You said: hello").wait_prompt()
    other = Database(talked.db)
    with other.write():
        begun = time.monotonic()
        shell.enter("/exit").wait("what was said is kept, and agent -c goes on with it")
        assert shell.ended() == 0
        assert time.monotonic() - begun < 8  # 1 s, and what a busy machine adds; not the 15 s of a write
    other.close()


@pytest.mark.parametrize(
    ("number", "code", "when"),
    [
        (signal.SIGTERM, 143, "at the prompt"),
        (signal.SIGHUP, 129, "during an answer"),
        (signal.SIGTERM, 143, "during a question"),
    ],
    ids=["TERM", "HUP", "TERM at a question"],
)
def test_a_signal_gives_the_terminal_back(talked, server, terminal, number, code, when):
    shell = terminal()
    before = shell.settings()
    shell.wait_prompt()
    if when == "during an answer":
        begin_only(server)
        shell.enter("go on").wait("word9")
    if when == "during a question":
        server.play(script.reply("Shall I?", calls=[SAVE]))
        shell.enter("go on").wait("anything else no:")
    shell.signal(number)
    shell.until(lambda: not shell.read(0.05), "the end")
    after = shell.settings()
    assert shell.ended() == code
    assert after == before
    assert shell.raw.rfind(b"\x1b[?2004l") >= shell.raw.rfind(b"\x1b[?2004h"), "bracketed paste stays on"
    assert shell.raw.rfind(b"\x1b[?25h") >= shell.raw.rfind(b"\x1b[?25l"), "the cursor stays hidden"
    if when == "during an answer":
        [_, (_, part, finish)] = log(talked)
        assert (part.strip(), finish) == (HALF, "cancelled")
    if when == "during a question":
        assert [finish for _, _, finish in log(talked)] == ["stop", "stop", "stop"]
    if when != "at the prompt":
        assert "resume: agent -r s1" in shell.text


def test_a_terminal_that_is_closed_ends_the_program_in_order(talked, server, terminal):
    begin_only(server)
    shell = terminal().wait_prompt().enter("go on").wait("word9")
    assert shell.hang_up() == 129
    [_, (_, part, finish)] = log(talked)
    assert (part.strip(), finish) == (HALF, "cancelled")


def test_without_a_server_it_says_so_and_goes_on(program, terminal):
    shell = terminal().wait_prompt().enter("/note the NAS is at 192.168.1.20").wait("saved n1").wait_prompt()
    shell.enter("where is the NAS?").wait("no model server at").wait("n1").wait_prompt()
    shell.enter("and the router?").wait("No model server answers", times=2).wait_prompt()
    assert shell.text.count("no model server at") == 1
    shell.enter("/exit")
    assert shell.ended() == 0


def test_a_model_that_is_not_there_is_told_with_the_way_to_another(talked, terminal):
    shell = terminal(AGENT_MODEL="nosuch").wait_prompt().enter("hello").wait("NAME chooses another")
    shell.wait_prompt().enter("/model x:cloud").wait("/model NAME chooses another").wait_prompt()


def test_a_server_that_was_named_and_is_gone_is_told_in_a_sentence(program, terminal):
    shell = terminal(AGENT_MODEL="qwen3:8b").wait_prompt().enter("hello").wait("127.0.0.1:9").wait_prompt()
    shell.enter("/note buy milk").wait("saved n1").wait_prompt()
    assert log(program) == [("user", "hello", "stop")]


def test_queued_work_runs_when_nobody_types(talked, server, terminal):
    shell = terminal(AGENT_IDLE_SECONDS="0.3", AGENT_LEARN="off").wait_prompt()
    shell.enter("hello").wait("You said: hello").wait_prompt()
    server.play(script.reply("They said hello."))
    shell.enter("/new").wait("s1 is closed and kept").wait_prompt()
    shell.until(lambda: talked.rows("select text from summary") == [("They said hello.",)], "the summary")
    assert shell.text.count("They said hello.") == 0


def test_queued_work_stops_when_somebody_types(talked, server, terminal):
    shell = terminal(AGENT_IDLE_SECONDS="0.3", AGENT_LEARN="off").wait_prompt()
    shell.enter("hello").wait("You said: hello").wait_prompt()
    server.answer = lambda body: script.held(HALF)  # as often as it is begun
    shell.enter("/new").wait("s1 is closed and kept")
    server.wait_for_chats(2)
    shell.type("h")
    server.wait_until(lambda: server.counters.cancelled)
    shell.wait_for_line("❯ h")

    def put_back():
        shell.type("h")  # or it would begin again after the pause
        return talked.rows("select state, attempts from job where kind = 'summary'") == [("ready", 0)]

    shell.until(put_back, "the job put back untried")


def test_a_session_that_is_open_in_another_terminal(talked, terminal):
    first = terminal().wait_prompt().enter("hello").wait("You said: hello").wait_prompt()
    told = "s1 is open in another terminal; close it there, or start a new session"
    second = terminal("-c").wait(told)
    assert second.ended() == 2
    third = terminal().wait_prompt().enter("/resume s1").wait(told).wait_prompt()
    third.enter("/exit")
    first.enter("/exit").wait("resume: agent -r s1")
    assert (first.ended(), third.ended()) == (0, 0)
    terminal("-c").wait("s1 “hello” goes on")


def test_resuming_shows_the_last_exchange_and_that_its_answer_was_cut(talked, server, terminal):
    begin_only(server)
    shell = terminal().wait_prompt().enter("tell me a story").wait("word9").signal(signal.SIGKILL)
    assert shell.ended() == -signal.SIGKILL
    again = terminal("-c").wait("the answer was cut off there: /retry asks again")
    assert "❯ tell me a story" in again.wait_prompt().text
    [_, (_, part, finish)] = log(talked)
    assert (part.strip(), finish) == (HALF, "interrupted")
    server.play(script.reply("Once upon a time."))
    again.enter("/retry").wait("Once upon a time.").wait_prompt().enter("/exit")
    assert again.ended() == 0
    other = terminal().wait_prompt().enter("/resume s1").wait("Once upon a time.").wait_prompt()
    assert ("❯ tell me a story" in other.text, "cut off" in other.text) == (True, False)


@pytest.mark.parametrize(("how", "answer", "notes"), [("-c", "y", 1), ("/resume s1", "n", 0)])
def test_what_was_asked_when_the_program_was_killed_is_asked_again(talked, server, terminal, how, answer, notes):
    server.play(script.reply("", calls=[("save_note", {"text": "the key is under the mat"})]))
    shell = terminal().wait_prompt().enter("note where the key is").wait("allow it?").signal(signal.SIGKILL)
    assert shell.ended() == -signal.SIGKILL
    server.play(script.reply("Then so be it."))
    again = terminal("-c") if how == "-c" else terminal().wait_prompt().enter(how)
    again.wait("this was asked when the program ended").wait("the key is under the mat").wait("allow it?")
    again.type(answer).wait("Then so be it.").wait_prompt()
    assert talked.rows("select text from note") == [("the key is under the mat",)] * notes
    roles = [message["role"] for message in server.turns[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool"]
    again.enter("/exit")
    assert again.ended() == 0
    assert "asked when" not in terminal("-c").wait_prompt().text


def test_a_call_that_was_allowed_before_the_program_was_killed_is_not_asked_again(talked, server, terminal):
    server.play(script.reply("", calls=[("save_note", {"text": "the key is under the mat"})]))
    server.answer = lambda body: script.held(HALF)
    shell = terminal().wait_prompt().enter("note where the key is").wait("allow it?").type("y").wait("word9")
    assert shell.signal(signal.SIGKILL).ended() == -signal.SIGKILL
    again = terminal("-c").wait_prompt()
    assert ("asked when" in again.text, "cut off there" in again.text) == (False, True)
    assert talked.rows("select count(*) from note") == [(1,)]
