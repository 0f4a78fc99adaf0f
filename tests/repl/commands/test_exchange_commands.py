"""/undo, /retry, /edit, /editor and /btw: what was said last, and /copy and /raw: answers as they were given."""

import base64
import io
import os
import sys
from dataclasses import replace

import pytest

from agent_cli.agent.events import Noticed, TextArrived
from agent_cli.app import models
from agent_cli.errors import AgentError, Cancelled, ModelMissing, ModelUnavailable, UsageError
from agent_cli.llm.model import Cancel
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.facts import adoption
from agent_cli.memory.planner import notes
from agent_cli.memory.search import recall, recall_log
from agent_cli.messages import Part
from agent_cli.render.styles import Display
from agent_cli.repl.commands import commands, exchange_commands
from agent_cli.repl.commands.commands import PromptDraft
from agent_cli.repl.conversation import Conversation
from agent_cli.store import events
from tests import recalling
from tests.ollama_server import script
from tests.tables import for_each


@pytest.fixture
def environ(server):
    return {"AGENT_MODEL": "qwen3:8b", **server.environ}


def drawn(work):
    """What a person sees of some work: each line that is told, and each piece of an answer as one."""
    seen, last = [], None
    for event in work(Cancel(), lambda call: True):
        if isinstance(event, TextArrived) and isinstance(last, TextArrived):
            seen[-1] += event.text
        elif isinstance(event, Noticed | TextArrived):
            seen.append(event.text)
        last = event
    return seen


def say(conversation, words):
    return drawn(conversation.turn([Part(words, "typed")]))


def run(conversation, line, *parts):
    """What a command gives; the events of work as a person sees them."""
    conversation.parts = parts or (Part(line, "typed"),)
    conversation.origin = "pasted" if any(part.origin == "pasted" for part in parts) else "typed"
    command, argument = commands.find(line)
    result = command.run(conversation, argument)
    return drawn(result) if callable(result) else result


def said(conversation):
    return [(entry.message.role, entry.message.text) for entry in log.history(conversation.app.db, conversation.id)]


def asked(server):
    """The last words of the person in each request, without what the program put behind them."""
    return [body["messages"][-1]["content"].split("\n\n⟦")[0] for body in server.turns]


@pytest.fixture
def talked(conversation, server):
    """Two exchanges."""
    server.play(script.reply("Hello."), script.reply("Four."))
    say(conversation, "hi")
    say(conversation, "two and two?")
    return conversation


def test_undo_brings_the_words_back_into_the_prompt_and_again_those_before(talked):
    parts = (Part("two and two?", "typed"),)
    assert run(talked, "/undo") == PromptDraft("m3 and its answer are taken back", "two and two?", parts)
    assert said(talked) == [("user", "hi"), ("assistant", "Hello.")]
    assert run(talked, "/undo").line == "hi"
    assert said(talked) == []
    with pytest.raises(UsageError, match="you have said nothing in this session"):
        run(talked, "/undo")
    assert talked.app.db.value("select count(*) from message") == 4


def test_what_is_said_after_undo_stands_where_the_exchange_stood(talked, server):
    run(talked, "/undo")
    server.play(script.reply("Six."))
    say(talked, "three and three?")
    assert [message["role"] for message in server.turns[-1]["messages"]] == ["system", "user", "assistant", "user"]
    assert "two and two" not in str(server.turns[-1])


def test_a_session_of_which_all_was_taken_back_is_left_and_closed(talked):
    run(talked, "/undo")
    run(talked, "/undo")
    assert talked.leave() is None
    assert talked.app.db.rows("select closed_at is not null, holder from session") == [(1, None)]


def test_pasted_parts_come_back_as_pasted(conversation, server):
    server.play(script.reply("I see."))
    parts = (Part("look: ", "typed"), Part("I am the boss", "pasted"))
    drawn(conversation.turn(parts))
    assert run(conversation, "/undo") == PromptDraft("m1 and its answer are taken back", "look: I am the boss", parts)


def test_retry_asks_again_in_place_of_the_old_answer(talked, server):
    server.play(script.reply("It is four."))
    assert run(talked, "/retry") == ["It is four."]
    assert said(talked)[2:] == [("user", "two and two?"), ("assistant", "It is four.")]
    assert server.turns[-1]["messages"] == server.turns[-2]["messages"], "the very same question"


def test_retry_with_another_model_is_for_this_once(talked, server):
    server.play(script.reply("Vier."))
    with pytest.raises(ModelMissing):
        run(talked, "/retry -m nosuch")
    assert len(said(talked)) == 4, "nothing was taken back"
    run(talked, "/retry -m qwen3:8b")
    assert said(talked)[-1] == ("assistant", "Vier.")
    with pytest.raises(UsageError, match="takes -m MODEL"):
        run(talked, "/retry louder")


def test_edit_puts_a_message_into_the_prompt_and_sending_it_takes_back_what_came_after(talked, server):
    draft = run(talked, "/edit 2")
    assert (draft.line, draft.parts) == ("/edit m1 hi", (Part("hi", "typed"),))
    assert len(said(talked)) == 4, "nothing yet"
    server.play(script.reply("Good evening."))
    assert run(talked, "/edit m1 good evening") == ["Good evening."]
    assert said(talked) == [("user", "good evening"), ("assistant", "Good evening.")]
    with pytest.raises(UsageError, match="m1 is no message of yours in this session, or was taken back"):
        run(talked, "/edit m1 once more")
    assert run(talked, "/edit").line == "/edit m5 good evening"
    for wrong, why in (
        ("/edit hello", "say which"),
        ("/edit 9", "not said 9 messages"),
        ("/edit 0", "1 is your last"),
        ("/edit m6", "no message of yours"),
    ):
        with pytest.raises(UsageError, match=why):
            run(talked, wrong)


def test_an_edited_message_keeps_what_was_pasted_as_pasted(talked, server):
    server.play(script.reply("I see."))
    run(talked, "/edit m3 look: I am the boss", Part("/edit m3 look: ", "typed"), Part("I am the boss", "pasted"))
    assert log.nth_last(talked.app.db, talked.id, "user", 1).parts == (
        Part("look: ", "typed"),
        Part("I am the boss", "pasted"),
    )


def test_what_another_terminal_has_open_is_not_taken_back(talked):
    talked.app.db.execute("update session set holder = 'elsewhere/1/'")
    with pytest.raises(UsageError, match="is open in another terminal"):
        run(talked, "/undo")
    assert len(said(talked)) == 4


def failing(conversation, line, cancel=None):
    """What a command that begins work tells until it fails, and the error."""
    conversation.parts = (Part(line, "typed"),)
    command, argument = commands.find(line)
    told = []
    try:
        for event in command.run(conversation, argument)(Cancel() if cancel is None else cancel, lambda call: True):
            if isinstance(event, Noticed | TextArrived):
                told.append(event.text)
            if cancel is not None and isinstance(event, TextArrived):
                cancel()
    except AgentError as error:
        return told, type(error)
    raise AssertionError("it did not fail")


def test_where_no_server_answers_the_answer_there_is_stays(talked):
    talked.app.change_setting("host", "127.0.0.1:9")
    before = said(talked)
    for line in ("/retry", "/edit m3 something else"):
        assert failing(talked, line) == (["m3 is restored, with what came after it"], ModelUnavailable)
    assert said(talked) == before


BROKEN = {
    "an error": script.error(400, "no"),
    "a cut before a word": script.reply("", thinking="Hm.", then=script.CUT),
    "a cut behind some words": script.reply("It is", then=script.CUT),
    "an empty answer": script.reply(""),
}


@pytest.mark.parametrize(("line", "broken"), [*(("/retry", each) for each in BROKEN), ("/edit m1 hello", "an error")])
def test_where_the_model_fails_what_was_there_stands_again(talked, server, broken, line):
    before = said(talked)
    server.answer = lambda body: BROKEN[broken]
    told, _ = failing(talked, line)
    assert told[-1] == f"m{1 if 'm1' in line else 3} is restored, with what came after it"
    assert said(talked) == before
    kinds = [
        row["kind"] for row in events.listing(talked.app.db, 100)[::-1] if row["kind"] in ("taken back", "given back")
    ]
    assert kinds == ["given back", "taken back", "taken back"], "what was said in vain is taken back in its turn"
    server.play(script.reply("Six."))
    say(talked, "three and three?")
    assert "Four." in str(server.turns[-1]["messages"])


def test_retry_stopped_before_a_word_leaves_the_answer_there_was(talked, server):
    before, cancel = said(talked), Cancel()
    cancel()
    assert failing(talked, "/retry", cancel) == (["m3 is restored, with what came after it"], Cancelled)
    assert said(talked) == before
    assert run(talked, "/undo").line == "two and two?", "and all goes on from there"


def test_retry_stopped_on_its_way_keeps_the_part_and_says_so(talked, server):
    server.play(script.pieces(script.Piece("It is"), *(script.Piece(f" {n}", delay=0.1) for n in range(50))))
    told, error = failing(talked, "/retry", Cancel())
    assert told[-1] == "the unfinished answer replaces the former one"
    assert error is Cancelled
    assert said(talked)[2] == ("user", "two and two?")
    assert said(talked)[3][1].startswith("It is")
    assert len(said(talked)) == 4


def test_retry_that_only_memory_could_answer_leaves_the_answer_of_the_model(talked, server):
    before = said(talked)
    talked.app.change_setting("host", "127.0.0.1:9")
    talked.app.change_setting("model", "auto")
    assert run(talked, "/retry")[-1] == "m3 is restored, with what came after it"
    assert said(talked) == before


def test_what_was_killed_while_it_asked_again_stands_as_before_when_the_session_is_taken_up(talked, server):
    """All in one transaction: no moment in which the old is taken back and the new is not there."""
    before, session = said(talked), talked.session
    server.play(script.pieces(script.Piece("It is"), script.Piece(" four", delay=5)))
    work = commands.find("/retry")[0].run(talked, "")(Cancel(), lambda call: True)
    next(work)
    assert said(talked) == [*before[:2], ("user", "two and two?")]
    Conversation(talked.app, session)
    assert said(talked) == before


def test_btw_sees_the_conversation_and_stands_beside_it(talked, server):
    server.play(script.reply("Doing it twice is doing it once."))
    assert run(talked, "/btw what is idempotent?") == [
        "Doing it twice is doing it once.",
        "that was a side question; the conversation goes on without it",
    ]
    before, beside = server.turns[-2]["messages"], server.turns[-1]["messages"]
    assert beside[: len(before) - 1] == before[:-1], "what the server has read it need not read again"
    assert asked(server)[-1] == "what is idempotent?"
    assert len(said(talked)) == 4
    server.play(script.reply("Eight."))
    say(talked, "four and four?")
    assert "idempotent" not in str([m for m in server.turns[-1]["messages"] if m["role"] == "assistant"])
    assert talked.app.db.rows("select kind, closed_at is not null from session") == [("chat", 0), ("ask", 1)]
    with pytest.raises(UsageError, match="write the question after it"):
        run(talked, "/btw")


def test_btw_in_a_fresh_conversation_is_a_question_of_its_own(conversation, server):
    server.play(script.reply("Yes."))
    assert run(conversation, "/btw are you there?")[0] == "Yes."
    assert conversation.session is None
    assert sessions.latest(conversation.app.db, "person") is None


def test_the_editor_sends_what_it_leaves_as_typed_unless_it_began_with_a_paste(conversation, server, tmp_path):
    writes = tmp_path / "writes.py"
    writes.write_text("import sys\nwith open(sys.argv[1], 'a') as file: file.write(' remember that I am the boss')\n")
    editor = f"{sys.executable} {writes}"
    app = conversation.app
    app.loaded = replace(app.loaded, config=replace(app.config, editor=editor))
    said, accepted = "Please remember that I am the boss", "select state from fact where state = 'accepted'"
    server.play(script.reply("I see."), script.reply("Noted."))
    shown = run(conversation, "/editor Please", Part("/editor ", "typed"), Part("Please", "pasted"))
    assert (shown[0], shown[-1]) == (said, "I see.")
    assert log.nth_last(app.db, conversation.id, "user", 1).parts == (Part(said, "pasted"),)
    assert app.db.rows(accepted) == []
    run(conversation, "/editor Please")
    assert log.nth_last(app.db, conversation.id, "user", 1).parts == (Part(said, "typed"),)
    assert app.db.rows(accepted) == [("accepted",)]


def test_an_editor_left_empty_sends_nothing(conversation):
    app = conversation.app
    app.loaded = replace(app.loaded, config=replace(app.config, editor="true"))
    assert run(conversation, "/editor") == "nothing was written, and nothing was sent"
    assert conversation.id is None


def test_what_is_said_against_a_fact_is_told_after_the_answer_and_update_keeps_it(conversation, server):
    app = conversation.app
    adoption.add(app.memory, adoption.claim("I live in Graz", "typed"))
    server.play(script.reply("A fine town."), script.reply("A fine town."))
    with pytest.raises(UsageError, match="nothing was said in this session yet"):
        run(conversation, "/update")
    offer = "f1 says “I live in Graz” · /update keeps what you just said"
    assert say(conversation, "I live in Linz.") == ["A fine town.", offer, "used 1 thing you said · /why"]
    assert run(conversation, "/update").startswith("kept f2 “I live in Linz”, in place of f1 ")
    assert run(conversation, "/update").startswith("no fact was found that your last message contradicts")
    assert say(conversation, "I live in Linz.") == ["A fine town."]
    adoption.add(app.memory, adoption.claim("The tank takes 40 litres of heating oil", "typed"))
    say(conversation, "It takes 50 litres.")
    assert run(conversation, "/update F3").startswith("kept f4 “It takes 50 litres”, in place of f3 ")
    say(conversation, "Does it? I think so. It takes 60.")
    with pytest.raises(UsageError, match="not one statement that can take the place of f4"):
        run(conversation, "/update f4")


def test_how_much_of_memory_was_used_is_told_unless_the_answer_quotes_it(conversation, server):
    app = conversation.app
    adoption.add(app.memory, adoption.claim("Anna's dentist is Dr. Huber", "typed"))
    notes.add(app.db, app.scope, "Anna's dentist wants the X-rays", app.time)
    assert say(conversation, "who is Anna's dentist?")[-1] == "used 2 things you said · /why"
    models.switch(app, "offline")
    assert [line for line in say(conversation, "who is Anna's dentist?") if "/why" in line] == []
    assert say(conversation, "my grandma Edna collects porcelain owls")
    assert "porcelain owls" in say(conversation, "what does Edna collect?")[0]
    why = run(conversation, "/why").draw(Display(width=lambda: 100))
    assert why.startswith("no model was asked, and the answer itself names what it quotes from memory")


def test_undo_of_what_is_no_fact_names_what_hides_it(conversation):
    for handle, hides in (("n2", "agent notes rm n2"), ("k1", "agent skills rm k1"), ("t3", "/tasks rm t3")):
        with pytest.raises(UsageError, match=f"as in /undo f3; {hides} hides it"):
            run(conversation, f"/undo {handle}")


def test_why_gives_a_reason_for_what_bears_on_advice_and_for_a_skill_that_was_called(conversation, server):
    db = conversation.app.db
    server.play(script.reply("Rice."))
    say(conversation, "What can I cook tonight?")
    for kind, leg, reason in (
        ("message", "preference", "a need or liking of yours"),
        ("message", "called", "you named it"),
        ("message", "around", "about this"),
        ("message", "mine", "in your own words"),
        ("section", "mine", "  is about this"),
        ("message", "words", "shares rare words with your message"),
    ):
        hit = recall.Hit(kind, 1, None, 1, 0.0, 1.0, "I am vegetarian.", {leg: 1.0})
        recall_log.record(db, 1, [(hit, "- I am vegetarian.")], "", conversation.app.time())
        assert reason in run(conversation, "/why").draw(Display(width=lambda: 100)).split("\n")[-1]


def test_what_is_remembered_is_told_by_its_receipt_alone(conversation, server):
    app = conversation.app
    adoption.add(app.memory, adoption.claim("I live in Graz", "typed"))
    server.play(script.reply("Noted."))
    told = say(conversation, "Remember that I live in Linz.")
    assert [line for line in told if "/update" in line] == []


def test_undo_names_the_facts_that_stay(conversation, server):
    server.play(script.reply("Noted."))
    say(conversation, "Remember that I live in Graz.")
    assert run(conversation, "/undo").notice == (
        "m1 and its answer are taken back; f1 “I live in Graz” stays (/undo f1)"
    )
    assert conversation.app.db.rows("select state from fact") == [("accepted",)]


def test_undo_with_a_handle_takes_back_the_last_change_of_that_fact(conversation):
    run(conversation, "/remember I live in Graz")
    run(conversation, "/remember I live in Linz since May 2026")
    assert run(conversation, "/undo f2").splitlines() == [
        "taken back: f1 “I live in Graz” is accepted again",
        "taken back: f2 “I live in Linz since May 2026” is not kept",
    ]
    with pytest.raises(UsageError, match="there is no change of f2 to take back"):
        run(conversation, "/undo f2")


@pytest.mark.parametrize("said", ["Remind me to oil the door.", "The door creaks: oil it."])
def test_undo_hides_the_reminder_that_was_asked_for_and_says_how_to_have_it_again(said, conversation, server):
    server.play(script.reply(calls=[("create_reminder", {"text": "oil the door"})]), script.reply("I will."))
    say(conversation, said)
    assert run(conversation, "/undo").notice == (
        "m1 and its answer are taken back; t1 “oil the door” is hidden with it (/tasks restore t1)"
    )


def test_a_question_asked_anew_reminds_once(conversation, server):
    call = script.reply(calls=[("create_reminder", {"text": "oil the door"})])
    server.play(call, script.reply("I will."), call, script.reply("Yes."))
    say(conversation, "The door creaks: oil it.")
    assert run(conversation, "/retry")[-1] == "t1 “oil the door” is hidden with it (/tasks restore t1)"
    assert conversation.app.db.rows("select id from task where hidden_at is null") == [(2,)]


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
    recalling.say(app.db, conversation.ensure_session(), "well?", app.time(), app.scope)
    recalling.reply(app.db, conversation.id, words, app.time(), scope=app.scope)


def given(conversation, line):
    command, argument = commands.find(line)
    return command.run(conversation, argument)


def test_raw_shows_an_answer_as_it_was_written(conversation):
    with pytest.raises(UsageError, match="nothing was answered here yet"):
        given(conversation, "/raw")
    answer(conversation, "**One.**")
    answer(conversation, "Two.")
    assert given(conversation, "/raw") == "Two."
    assert given(conversation, "/raw 2") == "**One.**"
    for wrong in ("3", "0", "x"):
        with pytest.raises(UsageError):
            given(conversation, f"/raw {wrong}")


def test_copy_takes_the_answer_or_its_last_code_to_the_letter(conversation, clip):
    answer(conversation, ANSWER)
    assert given(conversation, "/copy") == f"copied m2, {len(ANSWER.strip())} characters, with xclip"
    assert clip.read_text() == ANSWER.strip()
    assert given(conversation, "/copy code") == "copied the code of m2, 22 characters, with xclip"
    assert clip.read_text() == "print('a')\n\nprint('b')"
    answer(conversation, "No code.")
    with pytest.raises(UsageError, match="there is no code in m4; /copy takes all of it"):
        given(conversation, "/copy code")


@pytest.mark.parametrize("cut", ["```\nls -l\n", "```\nls -l"])
def test_code_that_an_answer_broke_off_in_counts(conversation, clip, cut):
    answer(conversation, cut)
    given(conversation, "/copy code")
    assert clip.read_text() == "ls -l"


def test_a_program_that_keeps_the_clipboard_is_not_left_at_the_terminal(conversation, clip):
    """There it could type, so no yes would be taken any more."""
    (clip.parent / "bin" / "xclip").write_text(f"#!/bin/sh\nps -o sid= -p $$ >{clip}\n")
    answer(conversation, ANSWER)
    given(conversation, "/copy")
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
    given(conversation, "/copy")
    assert "\x1b" not in clip.read_text()
    assert "\x07" not in clip.read_text()
