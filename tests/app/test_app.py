"""What is joined in one place: what a turn leaves to be done later, and nothing when nothing waits."""

import json

import pytest

from agent_cli.agent.jobs import worker
from agent_cli.app import background, models, turns, upkeep
from agent_cli.app.app import open_app
from agent_cli.llm.model import Cancel
from agent_cli.memory.facts import adoption
from agent_cli.memory.search import index, recall, vectors
from agent_cli.memory.search.candidates import Filter
from agent_cli.memory.transfers import transfer
from agent_cli.store import jobs
from tests.recalling import say, session_of


@pytest.fixture
def app(tmp_path):
    environ = {"HOME": str(tmp_path), "AGENT_DB": str(tmp_path / "memory.db"), "OLLAMA_HOST": "127.0.0.1:9"}
    opened = open_app({}, print, config_file=tmp_path / "config.toml", environ=environ)
    yield opened
    opened.db.close()


def left(app):
    """Whether a turn that has ended now leaves a job."""
    upkeep.after_turn(app, app.db)
    return jobs.any_due(app.db, app.time())


def run_jobs(app):
    while worker.run_one(background.job_context(app, app.db, Cancel())):
        pass


def test_what_was_said_first_has_its_embedder_chosen_by_a_job(app):
    say(app.db, session_of(app.db), "My cat is called Mia")
    assert left(app)
    run_jobs(app)
    assert vectors.count(app.db, vectors.current(app.db)) == 1


def test_a_turn_leaves_a_job_only_where_vectors_are_missing(app):
    session = session_of(app.db)
    say(app.db, session, "My cat is called Mia")
    left(app)
    run_jobs(app)
    assert not left(app)
    say(app.db, session, "My dog is called Rex")
    upkeep.prepare_search(app, app.db)
    assert not left(app)
    say(app.db, session, "My horse is called Max")
    assert left(app)


def test_a_set_that_waits_to_be_swapped_in_leaves_a_job(app):
    say(app.db, session_of(app.db), "My cat is called Mia")
    upkeep.prepare_search(app, app.db)
    app.embedders.switch(app.db, "embedded")
    assert left(app)
    run_jobs(app)
    assert (vectors.being_filled(app.db), left(app)) == (None, False)


def test_many_imported_messages_are_found_by_words_at_once_and_their_vectors_are_made_by_a_job(app):
    messages = [{"id": number, "role": "user", "content": f"word{number} of the text"} for number in range(3001)]
    transfer.import_lines(app.db, app.scope, [json.dumps({"id": "s", "messages": messages})], "x", app.time, print)
    upkeep.index_all(app, app.db)
    found = recall.find(app.db, "word2999", Filter("person"), app.time(), 5, upkeep.prepare_search(app, app.db))
    assert (found.hits[0].external_id, found.verdict) == ("2999", "known")
    assert (index.count_stale(app.db), vectors.count_missing(app.db, vectors.current(app.db))) == (0, 3001)
    run_jobs(app)
    assert vectors.count_missing(app.db, vectors.current(app.db)) == 0


def test_more_than_a_turn_can_index_is_left_to_a_job(app):
    session = session_of(app.db)
    with app.db.write():
        for number in range(600):
            say(app.db, session, f"word {number}")
    assert left(app)
    assert index.count_stale(app.db) == 100
    run_jobs(app)
    assert index.count_stale(app.db) == 0


def test_indexes_are_merged_when_enough_was_written(app):
    session = session_of(app.db)
    left_jobs = []
    for number in range(26):
        say(app.db, session, f"word {number}")
        upkeep.prepare_search(app, app.db)
        left_jobs.append(left(app))
        run_jobs(app)
    assert [number for number, is_left in enumerate(left_jobs) if is_left] == [11, 23]


def test_tools_search_by_meaning_once_an_embedder_was_chosen(app):
    session = session_of(app.db)
    assert turns.tool_context(app, app.db, session).embedder is None
    say(app.db, session, "My cat is called Mia")
    upkeep.prepare_search(app, app.db)
    assert turns.tool_context(app, app.db, session).embedder.embed_query("cat")


def test_without_a_server_a_fact_is_quoted_and_not_the_message_that_says_the_same(app):
    session = session_of(app.db)
    for words in ("Please remember that I live in Linz.", "I live in Linz since May, near the river, with my sister"):
        say(app.db, session, words)
    adoption.add(app.memory, adoption.claim("I live in Linz.", "typed"))
    assert sorted(handle for handle, _, _ in models.find_memories(app, "where do I live", 3)[1]) == ["f1", "m2"]
