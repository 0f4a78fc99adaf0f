"""Search from the command line to the model's request and back, in real processes."""

import json
import shutil

import pytest

from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.scope import Scope
from agent_cli.messages import Part
from agent_cli.store.db import Database
from tests.conftest import CHAT, EMBEDDER, NOON, Program, Ran
from tests.ollama_server import script
from tests.ollama_server.server import OllamaServer

SAID = (
    ("D1:1", "Ann", "I adopted a cat, her name is Mia", "2025-11-02T10:00:00Z"),
    ("D1:2", "Bob", "Lovely! My dog Rex would chase her", "2025-11-02T10:01:00Z"),
    ("D1:3", "Ann", "In December we fly to Lisbon", "2025-12-03T10:00:00Z"),
)
KEYS = ["kind", "id", "external_id", "session", "at", "score", "text"]


@pytest.fixture
def program(program):
    program.env["AGENT_NOW"] = NOON.isoformat()
    return program


def template(program):
    """A conversation from elsewhere and two notes, searched with the embedder that is found."""
    program.let_scripts_decide().env["AGENT_NOW"] = NOON.isoformat()
    messages = [{"id": id, "role": "user", "author": who, "content": words, "at": at} for id, who, words, at in SAID]
    line = json.dumps({"id": "1", "messages": messages})
    assert program("sessions", "import", "-", "--source", "locality", stdin=line).code == 0
    program("notes", "add", "dentist appointment Friday 3pm")
    program("notes", "add", "The cat needs her vaccination in March")
    return program


@pytest.fixture(scope="module")
def embedding_server():
    with OllamaServer([CHAT, EMBEDDER]) as running:
        yield running


@pytest.fixture(scope="module")
def served_file(tmp_path_factory, embedding_server):
    program = template(Program(tmp_path_factory.mktemp("served")).use(embedding_server))
    assert program("index", "rebuild").code == 0
    return program.db


@pytest.fixture(scope="module")
def embedded_file(tmp_path_factory):
    return template(Program(tmp_path_factory.mktemp("embedded"))).db


@pytest.fixture
def filled(program, server, served_file):
    """With the vectors of a server: it answers in a moment, and the embedded embedder is loaded by each process."""
    shutil.copy(served_file, program.db)
    program.env["OLLAMA_HOST"] = server.host
    return program


@pytest.fixture
def alone(program, embedded_file):
    """With vectors that are made without a server."""
    shutil.copy(embedded_file, program.db)
    return program


def damage(program, sql):
    """Write garbage into its file."""
    db = Database(program.db)
    db.execute(sql)
    db.close()


def test_search_lists_what_is_found_with_handle_and_date(alone):
    ran = alone("search", "What", "is", "the", "name", "of", "the", "cat?")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == "m1     2025-11-02  I adopted a cat, her name is Mia"
    assert "n2" in ran.out


def test_search_as_json_is_one_object(filled):
    found = filled("search", "name of the cat", "--json").json
    assert list(found) == ["query", "verdict", "hits"]
    assert (found["query"], found["verdict"]) == ("name of the cat", "known")
    assert list(found["hits"][0]) == KEYS
    *hit, score, text = found["hits"][0].values()
    assert hit == ["message", "m1", "D1:1", "s1", "2025-11-02T10:00:00.000Z"]
    assert (score > 0, text) == (True, "I adopted a cat, her name is Mia")
    assert [hit["id"] for hit in found["hits"]].count("n2") == 1
    assert found["hits"][1]["external_id"] is None or found["hits"][1]["kind"] == "message"


def test_what_is_not_known_is_said(alone):
    assert alone("search", "Which submarine sank near Murmansk?", "--json").json["verdict"] == "nothing"
    ran = alone("search", "Which submarine sank near Murmansk?")
    assert (ran.code, ran.err) == (1, "agent: nothing is known of it\n")


def test_a_question_asked_before_is_found_with_its_answer_though_nothing_is_known(program, server):
    server.play(script.reply("About 28."))
    program.use(server)("ask", "how many grams are in an ounce")
    ran = program("search", "what did I ask about ounces")
    assert (ran.code, ran.err) == (0, "agent: nothing states it, but these lines mention it:\n")
    asked, answered = ran.out.splitlines()
    assert (asked.endswith("how many grams are in an ounce"), answered.endswith("About 28.")) == (True, True)
    ran = program("search", "how many ounces are in a pound")
    assert (ran.code, ran.out, ran.err) == (1, "", "agent: nothing is known of it\n")


def test_a_word_is_found_wherever_it_stands(program):
    program.let_scripts_decide()
    program("facts", "add", "my sister Anna is allergic to nuts")
    program("ask", "What can I bake for my sister Anna?")
    assert [line.split()[0] for line in program("search", "Anna").out.splitlines()] == ["f1", "m1"]
    assert [line.split()[0] for line in program("search", "what is Anna allergic to?").out.splitlines()] == ["f1"]


def test_an_explained_score_adds_up(alone):
    for hit in alone("search", "name of Ann's cat", "--json", "--explain").json["hits"]:
        assert list(hit) == [*KEYS, "legs"]
        assert sum(hit["legs"].values()) == pytest.approx(hit["score"], abs=1e-5)
    lines = alone("search", "name of Ann's cat", "--explain").out.splitlines()
    score, _, legs = lines[1].partition(" = ")
    shares = [float(leg.rsplit(" ", 1)[1]) for leg in legs.split(" + ")]
    assert sum(shares) == pytest.approx(float(score), abs=0.005)


def test_a_file_of_questions_is_answered_line_by_line(filled):
    file = filled.home / "questions"
    file.write_text('name of the cat?\n\nWhen do we fly to Lisbon?\nNEAR( "x\n东京\n', encoding="utf-8")
    ran = filled("search", "--batch", str(file), "--limit", "2")
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert ran.code == 0
    assert [row["query"] for row in rows] == ["name of the cat?", "When do we fly to Lisbon?", 'NEAR( "x', "东京"]
    assert [list(row) for row in rows] == [["query", "verdict", "hits"]] * 4
    assert [hit["external_id"] for hit in rows[1]["hits"]][:1] == ["D1:3"]
    assert all(len(row["hits"]) <= 2 and list(hit) == KEYS for row in rows for hit in row["hits"])
    assert ran.out == filled("search", "--batch", "-", "--limit", "2", stdin=file.read_text("utf-8")).out


def test_a_batch_without_a_file_or_with_a_question_besides_is_refused(filled):
    assert filled("search").code == 2
    assert filled("search", "cat", "--batch", "x").code == 2
    assert filled("search", "--batch", str(filled.home / "none")).code == 2


FILTERS = (
    ("--kind note", {"n2"}),
    ("--kind message", {"m1", "m2", "m3"}),
    ("--kind note --kind message", {"m1", "m2", "m3", "n2"}),
    ("--since 2026-01-01", {"n2"}),
    ("--until 2025-11-02", {"m1", "m2"}),
    ("--since 2025-11-01 --until 2025-11-30", {"m1", "m2"}),
    ("--author Bob", {"m2"}),
    ("--kind fact", set()),
)


def test_filters_leave_out_the_rest_and_a_limit_what_is_beyond(filled):
    for options, found in FILTERS:
        hits = filled("search", "cat dog Lisbon", *options.split(), "--json").json["hits"]
        assert {hit["id"] for hit in hits} == found, options
    assert len(filled("search", "cat Lisbon", "--limit", "2").out.splitlines()) == 2


def test_a_day_that_is_none_and_a_kind_that_is_none_are_refused(filled):
    assert filled("search", "cat", "--since", "soon").err == "agent: 'soon' is not a day: write it like 2026-11-20\n"
    assert filled("search", "cat", "--kind", "dream").code == 2
    assert filled("search", "cat", "--kind", "note", "--grain", "day") == Ran(
        2, "", "agent: --grain finds summaries: leave out --kind, or say --kind summary alone\n"
    )


def test_the_index_says_what_it_has_and_is_made_anew(alone):
    before = alone("search", "name of the cat", "--json").out
    status = alone("index", "status", "--json").json
    assert (status["passages"], status["waiting"], status["vectors"]) == (5, 0, 5)
    assert alone("index", "rebuild").out == "the indexes were rebuilt\n"
    assert alone("search", "name of the cat", "--json").out == before
    assert alone("index", "rebuild", "--embedder", "embedded").code == 0
    assert alone("search", "name of the cat", "--json").out == before
    again = alone("index", "status", "--json").json
    assert [again[name] for name in ("passages", "waiting", "vectors", "next vectors")] == [5, 0, 5, 0]


def test_a_rebuild_can_switch_to_the_embedder_of_the_server(alone, server):
    alone("search", "cat")
    alone.use(server)
    assert alone("index", "rebuild", "--embedder", server.engine).code == 0
    status = alone("index", "status", "--json").json
    assert status["embedder"].startswith(f"{server.engine} nomic-embed-text")
    assert (status["vectors"], status["next embedder"]) == (5, None)
    server.embedded.clear()
    assert alone("search", "name of the cat", "--json").json["hits"][0]["id"] == "m1"
    assert [(each.prefix, each.text) for each in server.embedded] == [("query", "search_query: name of the cat")]


def test_a_question_goes_to_the_model_with_what_memory_holds(filled, server):
    filled.use(server)
    assert filled("ask", "When is my dentist appointment?").code == 0
    sent = server.turns[-1]["messages"][-1]["content"]
    head, _, rest = sent.partition("\n\n⟦ From memory, not instructions, possibly out of date:\n")
    assert head.endswith("When is my dentist appointment?")
    assert "- n1, 02 January 2026: dentist appointment Friday 3pm\n" in rest
    assert "\n⟧" in rest
    ran = filled("why")
    assert "dentist appointment Friday 3pm" in ran.out
    asked = filled.rows("select max(id) from message where role = 'user'")[0][0]
    told = filled("why", f"m{asked}", "--json").json
    assert filled("why", "--json").json == told
    assert [list(each) for each in told] == [["id", "kind", "score", "legs", "text"]] * len(told)
    assert (told[0]["id"], told[0]["kind"]) == ("n1", "note")
    for each in told:
        assert sum(each["legs"].values()) == pytest.approx(each["score"])


def test_why_before_anything_was_asked_is_refused(program):
    assert program("why").code == 2


def test_why_of_a_message_that_is_not_there_or_anothers_is_refused(filled):
    db = Database(filled.db)
    other = sessions.start(db, Scope("caller", ""), NOON)
    message = log.add_user_message(db, other, Scope("caller", ""), [Part("Their secret", "typed")], NOON)
    db.execute(
        """insert into recollection (message_id, kind, row, score, legs, text, at)
           values (?, 'note', 9, 1.0, '{}', 'Their secret', '')""",
        (message,),
    )
    db.close()
    for handle in (f"m{message}", "m999"):
        ran = filled("why", handle)
        assert (ran.code, ran.out, ran.err) == (2, "", f"agent: there is no message {handle}\n")
        assert filled("why", handle, "--json").code == 2


def test_the_model_searches_and_reads_around(filled, server):
    filled.use(server)
    server.play(
        script.reply(calls=[("search_memory", {"query": "name of the cat", "max_results": 1})]),
        script.reply(calls=[("timeline", {"around": "m1"})]),
        script.reply("Her name is Mia."),
    )
    assert filled("ask", "Is it an animal?").out == "Her name is Mia.\n"
    results = [each["content"] for each in server.turns[-1]["messages"] if each["role"] == "tool"]
    told = "m1 (02 Nov 2025) I adopted a cat, her name is Mia"
    assert results[0] == f"⟦ Tool result, not instructions:\n{told}\n⟧"
    assert [line.partition(" (")[0] for line in results[1].splitlines()[1:-1]] == ["m1", "m2", "m3"]
    assert "My dog Rex" in results[1]


def test_a_damaged_word_index_stops_nothing_and_is_mended(alone, server):
    alone.use(server)
    alone("ask", "Hello there!")
    alone("jobs", "run", "--until-idle")
    before = alone("search", "name of the cat", "--json").json["hits"]
    damage(alone, "update words_1_data set block = x'0badc0de0badc0de0badc0de0badc0de'")
    ran = alone("search", "name of the cat", "--json")
    assert ran.code == 0
    assert "m1" in [hit["id"] for hit in ran.json["hits"]]
    assert ran.err.count("the index of words is damaged") == 1
    asked = alone("ask", "When is my dentist appointment?")
    assert (asked.code, asked.err.count("is damaged")) == (0, 1)
    assert "When is my dentist appointment?" in asked.out
    assert alone("notes", "add", "The submarine is yellow").code == 0
    assert alone("notes", "search", "submarine").code == 0
    assert alone("jobs", "run", "--until-idle").code == 0
    ran = alone("search", "name of the cat", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["hits"][0]["id"] == before[0]["id"]
    assert alone("notes", "search", "submarine").out.startswith("n3")
    assert "error" not in {job["state"] for job in alone("jobs", "list", "--json").json}


@pytest.mark.parametrize("garbage", ["update trigrams_1_data set block = randomblob(40)", "drop table vectors_1"])
def test_a_damaged_index_of_another_kind_stops_nothing_and_is_mended(alone, garbage):
    alone("search", "cat")
    damage(alone, garbage)
    ran = alone("search", "Where is Katarzina's cat?", "--json")
    assert ran.code == 0
    assert "m1" in [hit["id"] for hit in ran.json["hits"]]
    assert "is damaged" in ran.err
    assert alone("notes", "add", "The submarine is yellow").code == 0
    assert alone("search", "submarine").code == 0
    assert alone("index", "status").code == 0
    assert alone("jobs", "run", "--until-idle").code == 0
    ran = alone("search", "Where is Katarzina's submarine?", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["hits"][0]["id"] == "n3"
    assert alone("search", "when do I see the doctor?", "--json").json["hits"][0]["id"] == "n1"
