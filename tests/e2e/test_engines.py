"""The program as a person meets it, with a model behind Ollama's API and behind /v1: the same words, the same rows."""

import signal
from subprocess import DEVNULL

import pytest

from tests import facts
from tests.conftest import CHAT, Ran
from tests.memory.facts.test_fact_extraction import answer, operation
from tests.ollama_server import script

LOG = "select role, finish from message order by id"


@pytest.fixture
def program(program, server):
    return program.use(server)


CALCULATE = ("use_tool", {"tool": "calculate", "arguments": {"sum": "6*7"}})


def test_a_conversation_with_a_tool_and_thinking(program, server):
    server.play(script.reply("I look.", "what is it?", calls=[CALCULATE]), script.reply("It is 42."))
    assert program("ask", "what is 6*7?") == Ran(0, "I look.\n\nIt is 42.\n", "")
    roles = [message["role"] for message in server.turns[1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool"]
    call, result = server.turns[1]["messages"][2:]
    assert call["tool_calls"][0]["function"] == {"index": 0, "name": CALCULATE[0], "arguments": CALCULATE[1]}
    assert (call["thinking"], result["content"]) == ("what is it?", "6*7 = 42")
    assert server.turns[0]["tools"] == server.turns[1]["tools"]


def test_what_is_counted_and_how_it_ended_stands_in_the_json(program, server):
    server.play(script.reply("Hello", prompt_tokens=26, tokens=5))
    assert program("ask", "--json", "hi").json["finish"] == "stop"
    assert program.rows("select model, tokens_in, tokens_out from message where role = 'assistant'") == [
        (CHAT.name, 26, 5)
    ]


def test_the_second_question_is_asked_behind_the_first(program, server):
    program("ask", "I am Ada")
    program("ask", "-c", "who am I?")
    first, second = server.turns
    assert second["messages"][: len(first["messages"])] == first["messages"]


def test_what_was_said_is_learned_and_waits_for_a_yes(program, server):
    found = answer(operation(quote="we live in Graz", triple=("person", "lives_in", "Graz")))
    server.answer = lambda body: script.reply(found if facts.are_asked_for(body) else "Fine.")
    program("ask", "we live in Graz. What is a good bakery?")
    assert program("jobs", "run", "--until-idle").code == 0
    assert program.rows("select statement, state from fact") == [("I live in Graz", "pending")]


def test_a_session_is_closed_with_a_summary(program, server):
    program("ask", "the boiler lost pressure")
    server.answer = lambda body: script.reply("The boiler lost pressure.")
    assert program("sessions", "close", "s1").code == 0
    program("jobs", "run", "--until-idle")
    assert program.rows("select count(*) from summary") == [(1,)]


def test_memory_is_searched_by_the_vectors_of_the_server(program, server):
    program("notes", "add", "the heating engineer comes on Friday")
    assert program("index", "rebuild", "--embedder", server.engine).code == 0
    assert "document" in {each.prefix for each in server.embedded}
    assert "the heating engineer" in program("search", "heating engineer").out
    assert server.embedded[-1].prefix == "query"


def test_ctrl_c_keeps_what_came_and_closes_the_connection(program, server):
    server.play(script.reply("one two three " * 100, delay=0.05))
    process = program.start("ask", "hi", stdin=DEVNULL)
    while process.stdout.read(1) != " ":
        pass
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "agent: stopped\n")
    server.wait_until(lambda: server.counters.cancelled == 1)
    assert program.rows(LOG) == [("user", "stop"), ("assistant", "cancelled")]


@pytest.mark.parametrize(
    ("played", "code", "words"),
    [
        (script.reply("half an", then=script.RESET, delay=0.01), 1, "what arrived is kept"),
        (script.context_exceeded(42947, 8192), 5, "it has 42947 tokens"),
        (script.template_error(), 1, "refuses the conversation"),
    ],
    ids=["cut", "too long", "template"],
)
def test_what_goes_wrong_is_told_in_a_sentence(program, server, played, code, words):
    server.play(played)
    ran = program("ask", "hi")
    assert (ran.code, ran.err.count("\n"), words in ran.err) == (code, 1, True), ran


def test_without_the_server_memory_answers(program, server):
    program("notes", "add", "the boiler is from 1998")
    nobody = {"AGENT_MODEL": "auto", "OLLAMA_HOST": "127.0.0.1:9", "AGENT_HOST": "127.0.0.1:9"}
    ran = program("ask", "how old is the boiler?", env=nobody)
    assert (ran.code, "1998" in ran.out, "answering from memory only" in ran.err) == (3, True, True), ran


def test_the_doctor_and_the_list_name_its_models(program, server):
    assert CHAT.name in program("models", "list").out
    report = program("doctor")
    assert f"ok   model      {CHAT.name}" in report.out, report
