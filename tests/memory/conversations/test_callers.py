"""Who may come in, with which memory; and by what it knows its sessions."""

import json
from datetime import timedelta

import pytest

from agent_cli import clock
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import callers, log, sessions
from agent_cli.memory.forgetting import forget, selection
from agent_cli.messages import Part
from agent_cli.store import events
from tests.conftest import NOON, noon


def test_each_caller_is_an_owner_of_its_own_and_only_a_grant_reaches_the_persons(db):
    one, token = callers.add(db, "one", noon)
    two, other = callers.add(db, "two", noon, writes=False)
    mine, _ = callers.add(db, "mine", noon, mine=True)
    assert (one.owner, one.may, one.writes, one.mine) == ("caller:one", "read write", True, False)
    assert (two.owner, two.may, two.writes, two.mine) == ("caller:two", "read", False, False)
    assert (mine.owner, mine.may, mine.writes, mine.mine) == ("person", "read write", True, True)
    assert (callers.by_token(db, token), callers.by_token(db, other), callers.by_token(db, "x")) == (one, two, None)
    assert token not in json.dumps(db.rows("select * from caller"))


@pytest.mark.parametrize("name", ["", "Bot", "a b", "-a", "a" * 33, "person:x", "ä"])
def test_name_that_cannot_be_is_refused(db, name):
    with pytest.raises(UsageError, match="is not a valid name of a caller"):
        callers.add(db, name, noon)


def test_revoked_token_opens_nothing_and_a_new_one_reaches_the_same_memory(db):
    _, old = callers.add(db, "bot", noon)
    with pytest.raises(UsageError, match="there is a caller 'bot' already"):
        callers.add(db, "bot", noon)
    callers.revoke(db, "bot", noon)
    assert callers.by_token(db, old) is None
    with pytest.raises(UsageError, match="is revoked already"):
        callers.revoke(db, "bot", noon)
    caller, new = callers.add(db, "bot", noon)
    assert (callers.by_token(db, old), callers.by_token(db, new)) == (None, caller)
    assert caller.owner == "caller:bot"
    assert [row["kind"] for row in events.listing(db, 100)] == ["caller added", "caller revoked", "caller added"]
    assert {row["subject"] for row in events.listing(db, 100)} == {"caller 1"}


def test_that_a_caller_came_is_written_down_once_an_hour(db):
    caller, _ = callers.add(db, "bot", noon)
    callers.record_visit(db, caller, noon)
    for later in (timedelta(minutes=59), timedelta(minutes=61)):
        callers.record_visit(db, callers.get(db, "bot"), lambda later=later: NOON + later)
    assert callers.get(db, "bot").seen_at == clock.utc(NOON + timedelta(minutes=61))


@pytest.fixture
def bot(db):
    return callers.add(db, "bot", noon)[0]


def exchange(db, caller):
    """A message and its answer."""
    session = sessions.start(db, caller.scope, NOON)
    log.add_user_message(db, session, caller.scope, [Part("My boat is called Windrose.", "http")], NOON)
    reply = log.add_user_message(db, session, caller.scope, [Part("Nice.", "http")], NOON)
    callers.record_transcript(db, caller, "all that was said", session, reply, noon)
    return session, reply


def test_session_is_found_by_how_far_it_has_come(db, bot):
    session, reply = exchange(db, bot)
    callers.record_transcript(db, bot, "and more", session, reply, noon)
    assert callers.find_by_transcript(db, bot, "all that was said") is None
    assert callers.find_by_transcript(db, bot, "and more")[0] == session
    assert callers.find_by_transcript(db, callers.add(db, "other", noon)[0], "and more") is None
    assert "said" not in {key.partition("/")[2] for (key,) in db.rows("select key from answered")}


def test_forgetting_a_conversation_forgets_by_what_it_was_known(db, bot):
    exchange(db, bot)
    plan = forget.planned(db, selection.select_by_handle(db, bot.owner, ["s1"]))
    forget.erase(db, plan, noon)
    assert db.rows("select * from answered") == []
