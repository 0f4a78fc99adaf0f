"""The tokens of a turn are those of all its requests, and every door tells the same figures."""

import json

import pytest

from agent_cli.app import turns
from agent_cli.llm.model import Cancel
from agent_cli.memory.reports import records
from agent_cli.messages import Part
from tests.ollama_server import script
from tests.serving import events, opened, served

TOTAL = {"tokens_in": 2100, "tokens_out": 15}


def play_a_turn_with_a_tool_call(server):
    server.play(
        script.reply("Let me see.", calls=[("search_notes", {"query": "router"})], prompt_tokens=1000, tokens=10),
        script.reply("In the cellar.", prompt_tokens=1100, tokens=5),
    )


@pytest.mark.parametrize("form", ["--json", "--stream-json"])
def test_ask_counts_all_requests_as_stats_does(program, server, form):
    play_a_turn_with_a_tool_call(server)
    last = program.use(server)("ask", form, "where is the router?").out.splitlines()[-1]
    assert json.loads(last)["usage"] == TOTAL
    (row,) = program("stats", "--per", "turn", "--json").json
    assert {name: row[name] for name in TOTAL} == TOTAL


def test_http_counts_all_requests_in_every_form(tmp_path, server):
    with served(opened(tmp_path, server)) as house:
        bot = house.caller("bot", mine=True)
        for form in ({}, {"stream": True}):
            play_a_turn_with_a_tool_call(server)
            response = bot.post("/chat", {"message": "where is the router?", **form})
            told = events(response)[-1] if form else response.json()
            assert told["usage"] == TOTAL
        question = {"model": "agent", "messages": [{"role": "user", "content": "and the key?"}]}
        usage = {"prompt_tokens": 2100, "completion_tokens": 15, "total_tokens": 2115}
        play_a_turn_with_a_tool_call(server)
        assert bot.post("/v1/chat/completions", question).json()["usage"] == usage
        play_a_turn_with_a_tool_call(server)
        options = {"stream": True, "stream_options": {"include_usage": True}}
        assert events(bot.post("/v1/chat/completions", {**question, **options}))[-1]["usage"] == usage


def test_a_request_that_was_answered_with_nothing_counts_too(tmp_path, server):
    app = opened(tmp_path, server)
    server.play(
        script.reply("", prompt_tokens=1000, tokens=10), script.reply("In the cellar.", prompt_tokens=1100, tokens=5)
    )
    outcome = turns.run_once(app, [Part("where is the router?", "schedule")], "schedule", Cancel())
    assert outcome.transcript.usage == TOTAL
    (row,) = records.token_usage(app.db, "person", "turn", 1)
    assert {name: row[name] for name in TOTAL} == TOTAL
    app.db.close()
