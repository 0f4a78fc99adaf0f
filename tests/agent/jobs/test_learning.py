import json

import pytest

from agent_cli import clock
from agent_cli.agent.jobs import worker
from agent_cli.agent.jobs.job_context import JobContext
from agent_cli.agent.listener import LEARN
from agent_cli.errors import AgentError
from agent_cli.llm.model import Cancel
from agent_cli.memory import tombstones
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.facts import adoption, fact_extraction, facts
from agent_cli.messages import Part
from agent_cli.store import ids, jobs
from tests import turns
from tests.agent.jobs.test_worker import NO_EMBEDDER
from tests.conftest import HERE, NOON, memory_of, noon
from tests.memory.facts.test_fact_extraction import answer, operation
from tests.recalling import reply, say


class Answers(turns.Answers):
    schema = fact_extraction.SCHEMA


def job_context(db, model, **more):
    return JobContext(db, noon, lambda: model, NO_EMBEDDER, 10_000, Cancel(), **more)


def told(db, session, words, answered="Fine."):
    """A finished turn, queued to be read."""
    say(db, session, words)
    reply(db, session, answered)
    jobs.add(db, LEARN, "s1", NOON)


@pytest.fixture
def talked(db, session):
    told(db, session, "I live in Graz. What time is it?", "It is noon.")
    return session


def waiting(db):
    return [(each.statement, each.state, each.operation) for each in facts.listing(db, "person", 99, states=_ALL)]


_ALL = ("pending", "accepted", "rejected", "superseded", "expired")


def states(db):
    return [(row["subject"], row["state"], row["attempts"], row["error"]) for row in jobs.listing(db, 10)]


def read_to(db):
    return db.value("select read_to from session where id = 1")


def test_what_was_said_becomes_a_proposal_and_is_read_once(db, talked):
    model = Answers(answer(operation()))
    assert worker.run_one(job_context(db, model))
    [fact] = facts.pending(db, "person")
    assert (fact.statement, fact.quote, fact.message_id) == ("I live in Graz", "I live in Graz", 1)
    assert (fact.trust, fact.origin) == ("typed", "model")
    assert "PERSON: I live in Graz. What time is it?\nassistant: It is noon." in model.asked[0]
    assert (read_to(db), states(db)) == (2, [("s1", "done", 1, "")])
    jobs.add(db, LEARN, "s1", NOON)
    assert worker.run_one(job_context(db, Answers()))  # there is nothing new: nothing is asked
    assert len(facts.pending(db, "person")) == 1


def test_only_whole_exchanges_are_read(db, talked):
    say(db, talked, "And I like tea.")
    model = Answers(answer())
    worker.run_one(job_context(db, model))
    assert "tea" not in model.asked[0]
    reply(db, talked, "Fine.")
    jobs.add(db, LEARN, "s1", NOON)
    model = Answers(answer())
    worker.run_one(job_context(db, model))
    assert "tea" in model.asked[0]
    assert "Graz" not in model.asked[0]


def test_an_answer_that_cannot_be_read_twice_parks_the_job_and_the_next_turn_is_read(db, talked):
    worker.run_one(job_context(db, Answers("no", "no again")))
    why = "the model's answer could not be read, twice: there is no JSON in it"
    assert (waiting(db), read_to(db)) == ([], 2)
    assert states(db) == [("m1", "parked", 1, f"{why} (1 such in all)")]
    assert not worker.run_one(job_context(db, Answers()))
    told(db, talked, "I like tea.")
    worker.run_one(job_context(db, Answers(answer(operation(statement="I like tea", quote="I like tea")))))
    assert waiting(db) == [("I like tea", "pending", "insert")]
    assert states(db) == [("m1", "parked", 1, f"{why} (1 such in all)"), ("s1", "done", 1, "")]


def test_what_could_not_be_read_is_read_again_when_it_is_retried(db, talked):
    worker.run_one(job_context(db, Answers("no", "no again")))
    told(db, talked, "I like tea.")
    worker.run_one(job_context(db, Answers(answer())))
    parked = jobs.listing(db, 1)[0]["id"]
    jobs.retry(db, ids.number("job", parked), NOON)
    worker.run_one(job_context(db, Answers("no", "no again")))  # still not
    assert (waiting(db), states(db)[0][:2]) == ([], ("m1", "parked"))
    jobs.retry(db, ids.number("job", parked), NOON)
    model = Answers(answer(operation()))
    worker.run_one(job_context(db, model))
    assert "I live in Graz" in model.asked[0]
    assert (waiting(db), read_to(db)) == ([("I live in Graz", "pending", "insert")], 4)
    assert [row[1] for row in states(db)] == ["done", "done"]
    assert not worker.run_one(job_context(db, Answers()))


def test_of_a_long_conversation_each_piece_that_could_not_be_read_can_be_retried(db, session):
    for number in range(3):
        told(db, session, f"I live in Graz {number}. " + "and so on " * 500)
    while worker.run_one(job_context(db, Answers("no", "no again"))):
        pass
    assert sorted(subject for subject, state, *_ in states(db) if state == "parked") == ["m1", "m3", "m5"]


def test_a_retry_reads_nothing_of_a_session_that_was_hidden_or_erased(db, talked):
    worker.run_one(job_context(db, Answers("no", "no again")))
    sessions.change(db, talked, hidden_at=clock.utc(NOON))
    jobs.retry(db, 1, NOON)
    assert worker.run_one(job_context(db, Answers()))
    assert (waiting(db), states(db)) == ([], [("m1", "done", 1, "")])


def test_a_server_that_fails_is_asked_again_later(db, talked):
    worker.run_one(job_context(db, Answers(AgentError("it broke"))))
    assert (waiting(db), read_to(db), states(db)) == ([], 0, [("s1", "ready", 1, "it broke")])
    jobs.retry(db, 1, NOON)
    worker.run_one(job_context(db, Answers("no", answer(operation()))))  # read at the second try
    assert waiting(db) == [("I live in Graz", "pending", "insert")]


def test_without_a_model_it_waits_and_is_read_when_one_answers(db, talked):
    for _ in range(jobs.ATTEMPTS):
        db.execute("update job set due_at = '2000'")
        worker.run_one(job_context(db, None))
    assert states(db) == [("s1", "parked", 5, worker.NO_MODEL_FOR_FACTS)]
    model = job_context(db, Answers(answer(operation())))
    worker.queue_due(model)
    worker.run_one(model)
    assert len(waiting(db)) == 1


@pytest.mark.parametrize(
    ("change", "left"), [("message set text = ''", "ready"), ("session set hidden_at = '2026'", "done")]
)
def test_what_changed_or_was_hidden_meanwhile_gives_nothing(db, talked, change, left):
    def changed():
        db.execute(f"update {change} where id = 1")
        return answer(operation())

    worker.run_one(job_context(db, Answers(changed)))
    assert (waiting(db), read_to(db), states(db)[0][1]) == ([], 0, left)


def test_what_is_known_waits_was_rejected_or_forgotten_does_not_come_again(db, talked):
    known = adoption.add(memory_of(db), adoption.claim("I live in Graz", "typed")).fact
    waits = adoption.propose(memory_of(db), adoption.claim("I like tea", "model"))
    rejected = adoption.propose(memory_of(db), adoption.claim("I like beer", "model"))
    facts.reject(memory_of(db), rejected)
    tombstones.add(db, ["I like gin"], NOON)
    statements = ["I live in Graz", "I like tea", "I like beer", "I like gin"]
    worker.run_one(job_context(db, Answers(answer(*[operation(statement=each) for each in statements]))))
    assert {each.id for each in facts.listing(db, "person", 99, states=_ALL)} == {known.id, waits.id, rejected.id}


def test_a_replacement_waits_and_changes_nothing_by_itself(db, session):
    adoption.add(memory_of(db), adoption.claim("I live in Graz", "typed"))
    told(db, session, "I live in Linz now.")
    model = Answers(
        answer(operation("UPDATE", "I live in Linz", "I live in Linz now", "f1"), operation("DELETE", "", "", "f1"))
    )
    worker.run_one(job_context(db, model))
    assert "f1: I live in Graz" in model.asked[0]
    assert waiting(db) == [
        ("I live in Graz", "pending", "delete"),
        ("I live in Linz", "pending", "update"),
        ("I live in Graz", "accepted", "insert"),
    ]


def test_imported_words_are_not_read(db, session):
    log.add_user_message(db, session, HERE, [Part("I live in Graz", "import")], NOON)
    reply(db, session, "Fine.")
    jobs.add(db, LEARN, "s1", NOON)
    worker.run_one(job_context(db, Answers()))
    assert (waiting(db), states(db)[0][1], read_to(db)) == ([], "done", 2)


def test_a_long_conversation_is_read_in_pieces(db, session):
    for number in range(6):
        told(db, session, f"I own boat {number}. " + "word " * 500)
    model = Answers(*[answer()] * 6)
    while worker.run_one(job_context(db, model)):
        pass
    assert ([text.count("I own boat") for text in model.asked], read_to(db)) == ([2, 2, 2], 12)


def test_switched_off_nothing_is_read(db, talked):
    worker.run_one(job_context(db, Answers(), learns=False))
    assert (waiting(db), states(db)[0][1]) == ([], "done")


def test_no_state_in_an_answer_is_taken_over(db, talked):
    state = {"state": "accepted", "accepted": True, "decided_at": "2026", "origin": "typed", "owner": "x"}
    forged = {"operations": [operation() | state], "state": "accepted", "accept": ["f1"]}
    worker.run_one(job_context(db, Answers(json.dumps(forged))))
    [fact] = facts.pending(db, "person")
    assert (fact.state, fact.origin, fact.owner, fact.decided_at) == ("pending", "model", "person", None)
