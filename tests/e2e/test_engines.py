"""The program as a person meets it, with a model behind Ollama's API and behind /v1: the same words, the same rows."""

import json

import pytest

from tests.conftest import CHAT, Ran
from tests.ollama_server import script

pytestmark = pytest.mark.usefixtures("talking")


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


def test_memory_is_searched_by_the_vectors_of_the_server(program, server):
    program("notes", "add", "the heating engineer comes on Friday")
    assert program("index", "rebuild", "--embedder", server.engine).code == 0
    assert "document" in {each.prefix for each in server.embedded}
    assert "the heating engineer" in program("search", "heating engineer").out
    assert server.embedded[-1].prefix == "query"


def test_the_doctor_and_the_list_name_its_models(program, server):
    assert CHAT.name in program("models", "list").out
    report = program("doctor")
    assert f"ok   model      {CHAT.name}" in report.out, report


def test_vectors_are_made_of_what_no_question_came_after(program, server):
    said = {"id": "1", "messages": [{"id": "1", "role": "user", "content": "the plumber comes on Friday"}]}
    write = {"note": ["notes", "add", "the gardener comes on Monday"], "import": ["sessions", "import", "-"]}
    for words, arguments in write.items():
        assert program(*arguments, stdin=json.dumps(said)).code == 0, words
        assert program("jobs", "run", "--until-idle") == Ran(0, "", "agent: 1 job was run\n")
    (table,) = [name for (name,) in program.rows("select name from sqlite_master where sql like '%e blob not null%'")]
    assert program.rows(f"select count(*) from {table}") == [(2,)]
