"""Questions about a relative time, in real processes: what was said on other days comes up without a word of it."""

import json
import shutil
from datetime import datetime, timedelta

import pytest

from tests.conftest import CHAT, EMBEDDER, Program
from tests.ollama_server import script
from tests.ollama_server.server import OllamaServer

NOW = datetime.fromisoformat("2026-11-24T10:00:00+01:00")  # a Tuesday
SAID = {  # days ago: what was told
    25: "I planted three apple trees with my father",
    14: "I repaired the gutter of the shed",
    7: "We bought a blue canoe in Linz",
    6: "My back hurt after the rowing",
    1: "I baked bread with walnuts for Clara",
}
ASKED = {
    "What did I do yesterday?": 1,
    "Was habe ich gestern gemacht?": 1,
    "What happened on Tuesday last week?": 7,
    "Was war am Dienstag letzter Woche?": 7,
    "what did I tell you last week?": 6,
    "Was habe ich dir letzte Woche erzählt?": 6,
    "What did we talk about in the last ten days?": 1,
    "Worüber haben wir in den letzten zehn Tagen gesprochen?": 1,
    "Was war in den letzten zwei Wochen?": 1,
    "What did I do in week 44?": 25,
    "Was war in Kalenderwoche 44 los?": 25,
    "What was I doing last month?": 25,
    "Summarise two weeks ago": 14,
    "last quarter": None,
}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Made once: a file in which it was told."""
    program = Program(tmp_path_factory.mktemp("told")).let_scripts_decide()
    with OllamaServer([CHAT, EMBEDDER]) as server:
        for ago, words in SAID.items():
            server.play(script.reply("Noted."))
            at = (NOW - timedelta(days=ago)).isoformat()
            assert program.use(server)("ask", words, env={"AGENT_NOW": at}).code == 0
    return program.db


@pytest.fixture
def lived(program, server, told):
    shutil.copy(told, program.db)
    program.use(server).env["AGENT_NOW"] = NOW.isoformat()
    return program


def test_a_question_about_a_relative_time_brings_up_what_was_said_then(lived, server):
    for question, ago in ASKED.items():
        server.play(script.reply("Well."))
        assert lived("ask", question).code == 0
        shown = server.turns[-1]["messages"][-1]["content"]
        found = lived("search", question)
        if ago is None:
            assert found.err == "agent: nothing states it, but these lines mention it:\n"  # the question itself
            continue
        assert SAID[ago] in shown, question
        assert "Nothing is kept" not in shown
        assert SAID[ago] in found.out.splitlines()[0], question


def test_words_that_tell_more_than_the_time_decide_within_it(lived, server):
    server.play(script.reply("Noted."))
    lived("ask", "Clara has a red canoe in Wels", env={"AGENT_NOW": "2026-10-20T09:00:00+02:00"})
    for question in ("What did I say about a canoe last week?", "Was habe ich letzte Woche über das canoe gesagt?"):
        server.play(script.reply("A blue one."))
        lived("ask", question)
        shown = [line for line in server.turns[-1]["messages"][-1]["content"].splitlines() if line.startswith("- ")]
        assert SAID[7] in shown[0], question
        assert SAID[6] not in "".join(shown)


def test_the_model_searches_a_time_by_the_names_of_arguments_that_it_likes(lived, server):
    pages = [f"I wrote page {number} of chapter {number}" for number in range(8)]
    rows = [{"id": page, "role": "user", "content": page, "at": "2026-10-20T09:00:00+02:00"} for page in pages]
    lived("sessions", "import", "-", stdin=json.dumps({"id": "1", "messages": rows}))
    calls = [
        {"queryText": "last month", "maxResults": 20},
        {"minimumDaysAgo": 6, "maximumDaysAgo": 7},
        {"min_days_ago": 9, "max_days_ago": 3},
    ]
    server.play(*(script.reply(calls=[("search_memory", each)]) for each in calls), script.reply("There."))
    lived("ask", "What do you know?")
    month, week, wrong = [each["content"] for each in server.turns[-1]["messages"] if each["role"] == "tool"]
    assert [page for page in pages if page not in month] == []
    assert SAID[25] in month
    assert "canoe" in week
    assert "walnuts" not in week
    assert "the least must not exceed the most" in wrong


def test_with_a_half_life_a_fact_counts_half_for_each_of_its_length(program):
    at = {ago: {"AGENT_NOW": (NOW - timedelta(days=ago)).isoformat()} for ago in (60, 0)}
    program.let_scripts_decide()
    program("facts", "add", "My dentist is in the Herrengasse", env=at[60])

    def score():
        return program("search", "dentist", "--kind", "fact", "--json", env=at[0]).json["hits"][0]["score"]

    usual = score()
    assert program("config", "set", "recall.half_life", "30").code == 0
    assert score() == pytest.approx(usual * 0.25 / (0.8 + 0.2 * 0.25), rel=0.01)
    assert program("config", "set", "recall.half_life", "0").code == 2
