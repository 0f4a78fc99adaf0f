import socket
from datetime import timedelta

import pytest

from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.lifecycle import closing
from agent_cli.memory.summaries import summaries
from agent_cli.messages import Message, Part
from agent_cli.store import events, jobs
from tests.conftest import HERE, NOON, noon
from tests.turns import close_with


@pytest.fixture
def spoken(db, session):
    log.add_user_message(db, session, HERE, [Part("My cat is Mia.", "typed")], NOON)
    log.add_note(db, session, "the cat", NOON)
    return session


def after(db, session):
    """Whether it is closed and held, what it jotted down, its jobs and its events."""
    row = db.row("select closed_at is not null, holder from session where id = ?", (session,))
    waiting = [(job["kind"], job["subject"]) for job in jobs.listing(db, 9)]
    told = [(event["kind"], event["actor"], event["subject"]) for event in events.listing(db, 9, ["session closed"])]
    return row, log.notes(db, session), waiting, told


@pytest.mark.parametrize(
    ("end", "actor", "queued"),
    [
        (lambda db, id: closing.close(db, id, noon), "person", [("summary", "s1")]),
        (lambda db, id: close_with(db, id, "The cat is Mia."), "person", [("grain", "2026-01-02")]),
        (lambda db, id: closing.end(db, id, noon), "program", [("grain", "2026-01-02")]),
        (lambda db, id: [log.erase(db, [1]), closing.close(db, id, noon, actor="program")], "program", []),
    ],
    ids=["left", "closed with its summary", "a single question", "nothing was said"],
)
def test_a_session_ends_without_its_jottings_and_queues_what_is_to_be_made_of_it(db, spoken, end, actor, queued):
    end(db, spoken)
    assert after(db, spoken) == ((1, None), [], queued, [("session closed", actor, "s1")])


def test_a_session_that_is_left_has_an_extract_until_its_summary_is_made(db, spoken):
    closing.close(db, spoken, noon)
    made = summaries.of_session(db, spoken)
    assert (made.text, made.method) == ("My cat is Mia.", "extract")


def test_closing_is_whole_or_not_at_all(db, spoken):
    db.execute("create trigger broken before insert on job begin select raise(abort, 'broken'); end;")
    before = after(db, spoken)
    with pytest.raises(Exception, match="broken"):
        closing.close(db, spoken, noon)
    assert after(db, spoken) == before
    assert before[1] == ["the cat"]


def test_a_session_that_is_closed_taken_up_and_closed_again_waits_once(db, spoken):
    closing.close(db, spoken, noon)
    sessions.reopen(db, spoken, "person", NOON)
    closing.close(db, spoken, noon)
    assert after(db, spoken)[2] == [("summary", "s1")]


def killed(db, kind):
    """A session whose process did not live to close it, in the middle of an answer."""
    id = sessions.start(db, HERE, NOON, kind)
    log.add_user_message(db, id, HERE, [Part("I like tea", "typed")], NOON)
    log.open_reply(db, id, HERE, "m", NOON)
    db.execute("update session set holder = 'gone/1/1' where id = ?", (id,))
    db.execute("update session set holder = ? where id = ?", (f"{socket.gethostname()}/999999999/1", id))
    return id


def test_what_a_killed_process_left_open_is_closed_and_gets_its_summary(db):
    chat, once = killed(db, "chat"), killed(db, "ask")
    lives = sessions.start(db, HERE, NOON)
    closing.close_abandoned(db, noon)
    assert sessions.get(db, lives, HERE.owner).closed_at is None
    assert [sessions.get(db, id, HERE.owner).closed_at is not None for id in (chat, once)] == [True, True]
    assert [entry.finish for entry in log.history(db, chat)] == ["stop", "interrupted"]
    queued = {(row["kind"], row["subject"]) for row in jobs.listing(db, 9)}
    assert queued == {("summary", f"s{chat}"), ("grain", "2026-01-02")}


def test_a_session_to_which_nothing_was_added_is_not_summarised_again(db, session):
    log.add_user_message(db, session, HERE, [Part("I like tea", "typed")], NOON)
    close_with(db, session, "They like tea.")
    sessions.reopen(db, session, HERE.owner, NOON)
    closing.close(db, session, noon)
    assert [row["subject"] for row in jobs.listing(db, 9)] == ["2026-01-02"]


def test_what_the_offline_model_quoted_is_not_summarised(db, session):
    log.add_user_message(db, session, HERE, [Part("When is tea", "typed")], NOON)
    reply = log.open_reply(db, session, HERE, "offline", NOON)
    log.close_reply(db, reply, Message("assistant", "No server answers"), "stop", log.Usage("offline"), NOON)
    close_with(db, session, "")
    assert summaries.of_session(db, session).text == "When is tea."


LATER = timedelta(minutes=30)


def at(minutes):
    return lambda: NOON + timedelta(minutes=minutes)


def answered(db, session):
    id = log.open_reply(db, session, HERE, "m", NOON)
    log.close_reply(db, id, Message("assistant", "I see."), "stop", log.Usage(), NOON)


def test_a_session_left_alone_is_closed_and_summarised_once_whoever_notices_first(db, spoken):
    answered(db, spoken)
    closing.close_silent(db, at(10**6), timedelta())  # without a limit
    closing.close_silent(db, at(29), LATER)
    assert after(db, spoken)[2:] == ([], [])
    closing.close_silent(db, at(31), LATER)
    closing.close_silent(db, at(32), LATER)
    assert after(db, spoken) == ((1, None), [], [("summary", "s1")], [("session closed", "program", "s1")])


def test_one_taken_up_again_is_not_closed_because_it_is_old(db, spoken):
    answered(db, spoken)
    closing.close_silent(db, at(31), LATER)
    sessions.reopen(db, spoken, "person", at(40)())
    closing.close_silent(db, at(69), LATER)
    assert sessions.get(db, spoken, "person").closed_at is None
    closing.close_silent(db, at(71), LATER)
    assert sessions.get(db, spoken, "person").closed_at is not None


def test_one_whose_question_still_waits_for_its_answer_is_closed_only_when_its_process_has_died(db, spoken):
    reply = log.open_reply(db, spoken, HERE, "m", NOON)
    closing.close_silent(db, at(300), LATER)
    log.erase(db, [reply])
    closing.close_silent(db, at(300), LATER)
    assert sessions.get(db, spoken, "person").closed_at is None
    db.execute("update session set holder = ?", (f"{socket.gethostname()}/999999999/1",))
    closing.close_silent(db, at(301), LATER)
    assert sessions.get(db, spoken, "person").closed_at is not None
