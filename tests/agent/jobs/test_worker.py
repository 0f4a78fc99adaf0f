import threading
import time
from dataclasses import replace

import pytest

from agent_cli.agent.embedder_selection import EmbedderSelection
from agent_cli.agent.jobs import worker
from agent_cli.agent.jobs.job_context import JobContext
from agent_cli.app.background import IdleWorker
from agent_cli.errors import Cancelled, StoreError
from agent_cli.llm.model import Cancel
from agent_cli.llm.offline import Reply, ScriptedModel
from agent_cli.llm.ollama import OllamaEngine
from agent_cli.memory import tombstones
from agent_cli.memory.conversations import digest, log, sessions
from agent_cli.memory.forgetting import forget
from agent_cli.memory.lifecycle import closing
from agent_cli.memory.summaries import summaries
from agent_cli.messages import Part
from agent_cli.store import jobs
from agent_cli.store.db import Database
from tests.conftest import HERE, NOON, empty, noon
from tests.turns import summarise

NO_EMBEDDER = EmbedderSelection(OllamaEngine("127.0.0.1:9"), "nomic-embed-text")  # not asked: no job here makes vectors


def model(*replies):
    return ScriptedModel([Reply(say=reply) if isinstance(reply, str) else reply for reply in replies])


def job_context(db, answers=None, cancel=None):
    return JobContext(db, noon, lambda: answers, NO_EMBEDDER, 10_000, Cancel() if cancel is None else cancel)


@pytest.fixture
def closed(db, session):
    """A session that was left, its summary queued."""
    log.add_user_message(db, session, HERE, [Part("My cat is called Mia.", "typed")], NOON)
    closing.close(db, session, noon)
    return session


def states(db):
    """All jobs but those of days, which are due when the day is over."""
    listed = [row for row in jobs.listing(db, 10) if row["kind"] != "grain"]
    return [(row["subject"], row["state"], row["attempts"], row["error"]) for row in listed]


def test_a_closed_session_gets_its_summary_from_the_model(db, closed):
    answers = model("The cat is Mia.")
    assert worker.run_one(job_context(db, answers))
    assert not worker.run_one(job_context(db, answers))
    made = summaries.of_session(db, closed)
    assert (made.text, made.method) == ("The cat is Mia.", "model")
    assert "person: My cat is called Mia." in answers.requests[0][0].content
    assert states(db) == [("s1", "done", 1, "")]


def test_without_a_model_sentences_are_extracted_and_made_again_when_one_answers(db, closed):
    worker.run_one(job_context(db))
    made = summaries.of_session(db, closed)
    assert (made.text, made.method) == ("My cat is called Mia.", "extract")
    worker.queue_due(job_context(db))
    assert not worker.run_one(job_context(db))
    with_model = job_context(db, model("The cat is Mia."))
    worker.queue_due(with_model)
    worker.run_one(with_model)
    made = summaries.of_session(db, closed)
    assert (made.text, made.method) == ("The cat is Mia.", "model")


def test_a_session_taken_up_again_gets_no_summary_yet(db, closed):
    sessions.reopen(db, closed, "person", NOON)
    assert worker.run_one(job_context(db, model("Never.")))
    assert (summaries.of_session(db, closed).method, states(db)) == ("extract", [("s1", "done", 1, "")])


def test_a_model_that_fails_is_tried_again_later(db, closed):
    assert worker.run_one(job_context(db, model(Reply(say="The cat", fail="broken"))))
    why = "the script ends the answer here; what arrived is kept"
    assert (summaries.of_session(db, closed).method, states(db)) == ("extract", [("s1", "ready", 1, why)])


def test_a_cancelled_job_is_put_back_untried(db, closed):
    cancel = Cancel()
    cancel()
    with pytest.raises(Cancelled):
        worker.run_one(job_context(db, model("Never."), cancel))
    assert states(db) == [("s1", "ready", 0, "")]


class Slow:
    """A model during whose answer something else happens."""

    name = "slow"

    def __init__(self, meanwhile):
        self.meanwhile = meanwhile

    def reply(self, messages, tools=(), *, think=None, format=None, limit=None, cancel=None):
        self.meanwhile()
        yield from model("Too late.").reply(messages)


def test_a_summary_that_comes_after_its_lease_does_not_happen(db, closed):
    def somebody_else():
        later = NOON + jobs.LEASE
        job = jobs.claim(db, later)
        with db.write():
            summarise(db, closed, "In time.")
            jobs.finish(db, job, later)

    assert worker.run_one(job_context(db, Slow(somebody_else)))
    assert summaries.of_session(db, closed).text == "In time."
    assert states(db) == [("s1", "done", 2, "")]


def test_a_session_that_went_on_while_it_was_summarised_is_summarised_again(db, closed):
    def go_on():
        sessions.reopen(db, closed, "person", NOON)
        log.add_user_message(db, closed, HERE, [Part("And my dog is Rex.", "typed")], NOON)
        closing.close(db, closed, noon)

    worker.run_one(job_context(db, Slow(go_on)))
    assert summaries.of_session(db, closed).method == "extract"
    answers = model("The cat is Mia, the dog is Rex.")
    worker.run_one(job_context(db, answers))
    assert "dog is Rex" in answers.requests[0][0].content
    assert summaries.of_session(db, closed).text == "The cat is Mia, the dog is Rex."


@pytest.fixture
def file(tmp_path):
    database = empty(tmp_path / "memory.db")
    for _ in range(2):
        session = sessions.start(database, HERE, NOON)
        log.add_user_message(database, session, HERE, [Part("My cat is called Mia.", "typed")], NOON)
        closing.close(database, session, noon)
    yield database
    database.close()


def until(true, seconds=20.0):
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    return true()


def test_somebody_who_types_stops_them_at_once_and_they_go_on_later(file):
    begun = threading.Event()
    answers = model(Reply(wait=4), "One.", "Two.")

    def open_context(cancel):
        begun.set()
        return job_context(file.another_connection(), answers, cancel)

    idle = IdleWorker(open_context, 0.1)
    assert begun.wait(5)
    assert until(lambda: ("s1", "running", 1, "") in states(file))
    idle.touch(busy=True)
    assert until(lambda: states(file) == [("s2", "ready", 0, ""), ("s1", "ready", 0, "")])
    time.sleep(0.15)
    assert states(file) == [("s2", "ready", 0, ""), ("s1", "ready", 0, "")]  # an answer streams: they wait
    idle.touch(busy=False)
    assert until(lambda: [state for _, state, *_ in states(file)] == ["done", "done"])
    idle.end(5)


def test_it_ends_at_once(file):
    for _ in range(20):
        idle = IdleWorker(lambda cancel: job_context(file.another_connection(), None, cancel), 30)
        began = time.monotonic()
        idle.end(20)
        assert time.monotonic() - began < 5


@pytest.mark.parametrize("error", [StoreError("busy"), ZeroDivisionError("a bug")])
def test_jobs_that_cannot_begin_are_tried_again(file, error):
    tries = []

    def open_context(cancel):
        tries.append(1)
        if len(tries) == 1:
            raise error
        return job_context(file.another_connection(), model("One.", Reply(fail="broken")), cancel)

    idle = IdleWorker(open_context, 0.1)
    assert until(lambda: states(file)[1][:2] == ("s1", "done"))
    idle.end(5)


def test_jobs_go_on_after_a_bug_in_one_of_them(file):
    answers = [lambda: 1 / 0, lambda: None]
    slow = Slow(lambda: answers.pop(0)())
    idle = IdleWorker(lambda cancel: job_context(file.another_connection(), slow, cancel), 0.1)
    assert until(lambda: [state for _, state, *_ in states(file)] == ["ready", "done"])
    assert states(file)[0][3] == "ZeroDivisionError: division by zero"
    idle.end(5)


def test_a_job_that_is_soon_done_does_not_look_who_else_asks_and_a_long_one_looks_a_few_times(file, monkeypatch):
    looks, opened = [], []
    value, another = Database.value, Database.another_connection
    monkeypatch.setattr(Database, "value", lambda db, sql, *rest: looks.append(sql) or value(db, sql, *rest))
    monkeypatch.setattr(Database, "another_connection", lambda db: opened.append(db) or another(db))
    worker.run_one(job_context(file, model("One.")))
    assert opened == []
    worker.run_one(job_context(file, Slow(lambda: time.sleep(1))))
    assert len(opened) == 1
    assert 1 <= looks.count("pragma data_version") <= 5


def test_the_job_of_forgetting_waits_for_a_reader_and_then_empties_the_journal(tmp_path):
    database = empty(tmp_path / "memory.db")
    reader = database.another_connection()
    reader.execute("begin; select * from note")
    jobs.add(database, tombstones.JOB, "all", NOON)
    worker.run_one(job_context(database))
    why = "another process still reads data that was erased; this is tried again"
    assert states(database) == [("all", "ready", 1, why)]
    reader.execute("rollback")
    jobs.retry(database, 1, NOON)
    worker.run_one(job_context(database))
    assert states(database) == [("all", "done", 1, "")]
    assert not forget.is_pending(database)
    reader.close()
    database.close()


def test_what_was_folded_while_the_model_wrote_is_told_in_its_words_later(db, session):
    one, two = (
        log.add_user_message(db, session, HERE, [Part(f"My {pet} is called Mia.", "typed")], NOON)
        for pet in ("cat", "dog")
    )
    digest.fold(db, session, one, NOON)
    job = jobs.claim(db, NOON)
    effect = worker.summarise_folded(job_context(db, model("A cat.")), job)
    digest.fold(db, session, two, NOON)
    with db.write():
        jobs.finish(db, job, NOON)
        effect()
    assert digest.rolling(db, session).method == "extract"
    assert worker.run_one(job_context(db, model("A cat and a dog.")))
    assert (digest.rolling(db, session).text, digest.rolling(db, session).up_to) == ("A cat and a dog.", two)


@pytest.mark.parametrize(("holds_one", "runs"), [(True, False), (False, True)])
def test_an_open_conversation_is_summarised_in_a_pause_where_the_server_keeps_its_beginning(
    db, session, holds_one, runs
):
    up_to = log.add_user_message(db, session, HERE, [Part("My cat is called Mia.", "typed")], NOON)
    digest.fold(db, session, up_to, NOON)
    given = replace(job_context(db, model("A cat, Mia.")), holds_one_prompt=lambda: holds_one)
    assert worker.run_one(given) == runs
    assert (digest.rolling(db, session).method == "model") == runs
