"""The beginning of the next request is read ahead: what a server with one slot is asked to read, and when."""

import json
from threading import Event

import pytest

from tests import facts
from tests.ollama_server import script

LITTLE = 60  # tokens of a short question with its date
SLOW = 1000.0  # tokens a second: the beginning takes two thirds of one


@pytest.fixture
def talks(program, server):
    program.use(server)
    server.answer = lambda body: script.reply("Fine.")
    return program


def read(server):
    return [request.read_tokens for request in server.requests if request.path == server.chat_path]


def wait_for_ahead(server, count):
    """Wait until the beginning was read so often."""
    server.wait_until(lambda: sum(each.finished for each in server.ahead) >= count)


def test_the_beginning_is_read_while_the_first_question_is_typed(talks, server, terminal):
    shell = terminal().wait_prompt()
    wait_for_ahead(server, 1)
    shell.enter("hello").wait("Fine.").wait_prompt()
    [ahead], [first] = server.ahead, server.turns
    assert ahead.read_tokens > 500
    assert read(server)[0] < LITTLE
    assert {**ahead.body, "messages": [], "options": {}} == {**first, "messages": [], "options": {}}
    assert ahead.body["options"] == {**first["options"], "num_predict": 1}
    assert [each["role"] for each in ahead.body["messages"]] == ["system", "user"]


def test_the_last_answer_and_what_is_carried_over_are_read_too(talks, server, terminal):
    server.answer = lambda body: script.reply("".join(f"Bridge {n} of Graz is on the Mur. " for n in range(12)))
    shell = terminal().wait_prompt()
    shell.enter("where is Graz?").wait("Mur").wait_prompt()
    wait_for_ahead(server, 1)
    shell.enter("/new").wait("is closed and kept").wait_prompt()
    wait_for_ahead(server, 2)
    shell.enter("and Linz?").wait("Mur", times=24).wait_prompt()
    assert "where is Graz?" in json.dumps(server.ahead[-1].body["messages"])
    assert read(server)[-1] < LITTLE


def test_a_question_that_comes_early_waits_until_its_beginning_is_read(talks, server, terminal):
    server.prompts.tokens_a_second = SLOW
    shell = terminal().wait_prompt()
    server.wait_until(lambda: server.counters.running == 1)
    shell.enter("hello").wait("Fine.").wait_prompt()
    assert (server.counters.cancelled, server.counters.peak, len(server.ahead)) == (0, 1, 1)
    assert server.ahead[0].finished
    assert read(server)[0] < LITTLE


def test_ctrl_c_stops_a_question_that_waits_for_its_beginning_and_reading_goes_on(talks, server, terminal):
    server.prompts.go_on = go_on = Event()
    shell = terminal().wait_prompt()
    server.wait_until(lambda: server.counters.running == 1)
    shell.enter("hello").wait("reading the prompt" if server.engine == "ollama" else "waiting for qwen3:8b")
    shell.type("\x03")
    shell.wait("stopped").wait_prompt()
    go_on.set()
    shell.enter("hello again").wait("Fine.").wait_prompt()
    assert (server.counters.cancelled, len(server.turns), server.ahead[0].finished) == (0, 1, True)
    assert read(server)[0] < LITTLE


def test_a_setting_that_changes_the_request_ends_the_reading_and_begins_it_anew(talks, server, terminal):
    server.prompts.go_on = Event()
    shell = terminal().wait_prompt()
    server.wait_until(lambda: server.counters.running == 1)
    shell.enter("/set think off").wait("think = ").wait_prompt()
    server.wait_until(lambda: server.counters.cancelled == 1)
    wait_for_ahead(server, 1)
    assert server.ahead[-1].body["think"] is False


def test_a_question_of_another_process_ends_the_reading(talks, server, terminal):
    server.prompts.go_on = Event()
    terminal().wait_prompt()
    server.wait_until(lambda: server.counters.running == 1)
    assert talks("ask", "hello").out == "Fine.\n"
    server.wait_until(lambda: server.counters.cancelled == 1)


def test_after_work_behind_the_conversation_the_beginning_is_read_again(talks, server, terminal):
    ahead = []  # how often the beginning had been read when facts were asked for

    def answer(body):
        if facts.are_asked_for(body):
            ahead.append(len(server.ahead))
        return script.reply("Fine.")

    server.answer = answer
    shell = terminal(AGENT_IDLE_SECONDS="0.6").wait_prompt()
    shell.enter("we live in Graz").wait("Fine.").wait_prompt()
    server.wait_until(lambda: ahead and any(each.finished for each in server.ahead[ahead[-1] :]))


def test_nothing_is_read_ahead_of_ask_or_where_the_person_says_so(talks, server, terminal):
    shell = terminal(AGENT_WARM="false").wait_prompt()
    shell.enter("hello").wait("Fine.").wait_prompt()
    assert talks("ask", "hello").code == 0
    assert server.ahead == []


def test_after_a_request_that_typing_interrupted_the_beginning_is_read_again(talks, server, terminal):
    server.answer = lambda body: (
        script.silence(20, script.reply("late")) if facts.are_asked_for(body) else script.reply("Fine.")
    )
    shell = terminal(AGENT_IDLE_SECONDS="0.6").wait_prompt()
    shell.enter("we live in Graz").wait("Fine.").wait_prompt()
    server.wait_until(lambda: len(server.turns) == 2 and server.counters.running == 1)
    before = len(server.ahead)
    shell.type("and")
    server.wait_until(lambda: server.counters.cancelled == 1)
    wait_for_ahead(server, before + 1)


def test_all_requests_begin_with_the_same_bytes_whatever_is_kept_called_and_learned(talks, server):
    server.play(
        script.reply(calls=[("create_reminder", {"text": "water the plants"}), ("save_note", {"text": "Milk"})]),
        script.reply("So."),
        script.reply(calls=[("use_tool", {"tool": "list_tasks"}), ("use_tool", {"tool": "jot", "text": "tea"})]),
    )
    env = {"AGENT_RULES": '{ create_reminder = "allow", save_note = "allow" }'}
    assert talks("ask", "remind me of the plants", env=env).code == 0
    assert talks("ask", "-c", "what is to be done?", env=env).code == 0
    assert talks("jobs", "run", "--until-idle").code == 0
    assert talks("ask", "something else", env=env).code == 0
    assert any(facts.are_asked_for(body) for body in server.turns)
    assert talks.rows("select count(*) from task union all select count(*) from note") == [(1,), (1,)]
    apart = "Was something done in the conversation below"  # a closed one is read for a skill in a prompt of its own
    behind = [body for body in server.turns if apart not in body["messages"][-1]["content"]]
    begun = {json.dumps([body.get("tools"), body["messages"][0]]) for body in behind}
    assert (len(behind) >= 7, len(begun)) == (True, 1)
