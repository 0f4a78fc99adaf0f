import pytest

from agent_cli.memory import closing, jottings, log, sessions, summaries
from agent_cli.messages import Part
from agent_cli.store import events, jobs
from tests.conftest import HERE, NOON, noon


@pytest.fixture
def spoken(db, session):
    log.say(db, session, HERE, [Part("My cat is Mia.", "typed")], NOON)
    jottings.add(db, session, "the cat", NOON)
    return session


def after(db, session):
    """Whether it is closed and held, what it jotted down, its jobs and its events."""
    row = db.row("select closed_at is not null, holder from session where id = ?", (session,))
    waiting = [(job["kind"], job["subject"]) for job in jobs.listing(db, 9)]
    told = [(event["kind"], event["actor"], event["subject"]) for event in events.recent(db)]
    return row, jottings.of(db, session), waiting, told


def test_a_session_that_is_left_is_closed_and_its_summary_queued(db, spoken):
    closing.close(db, spoken, noon)

    assert after(db, spoken) == ((1, None), [], [("summary", "s1")], [("session closed", "person", "s1")])
    assert summaries.of(db, spoken) is None


def test_one_that_is_closed_with_its_summary_queues_nothing(db, spoken):
    closing.close_with(db, spoken, "The cat is Mia.", "model", "m", noon)

    assert after(db, spoken) == ((1, None), [], [], [("session closed", "person", "s1")])
    assert summaries.of(db, spoken).text == "The cat is Mia."


def test_one_in_which_nothing_was_said_gets_no_summary(db, session):
    closing.close(db, session, noon, actor="program")

    assert after(db, session) == ((1, None), [], [], [("session closed", "program", "s1")])


def test_a_one_shot_is_over_without_a_summary(db, spoken):
    closing.end_one_shot(db, spoken, noon)

    assert after(db, spoken) == ((1, None), [], [], [("session closed", "program", "s1")])


def test_closing_is_whole_or_not_at_all(db, spoken):
    db.script("create trigger broken before insert on job begin select raise(abort, 'broken'); end;")
    before = after(db, spoken)

    with pytest.raises(Exception, match="broken"):
        closing.close(db, spoken, noon)

    assert after(db, spoken) == before
    assert before[1] == ["the cat"]


def test_a_session_that_is_closed_taken_up_and_closed_again_waits_once(db, spoken):
    closing.close(db, spoken, noon)
    sessions.reopen(db, spoken, "person")
    closing.close(db, spoken, noon)

    assert after(db, spoken)[2] == [("summary", "s1")]
