from datetime import datetime, timedelta, timezone

import pytest

from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.reports import records
from agent_cli.memory.scope import Scope
from agent_cli.messages import Message, Part
from tests.conftest import HERE, NOON


def add_replies(db, session, at, *usages, scope=HERE):
    log.add_user_message(db, session, scope, [Part("Hello?", "typed")], at)
    for usage in usages:
        id = log.open_reply(db, session, scope, usage.model, at)
        log.close_reply(db, id, Message("assistant", "Yes."), "stop", usage, at)


@pytest.fixture
def talked(db, session):
    add_replies(db, session, NOON, log.Usage("small", 100, 10, 0.5, 1500), log.Usage("small", 200, 20, 0.25, 500))
    other = sessions.start(db, HERE, NOON)
    late = datetime(2026, 1, 2, 23, 30, tzinfo=timezone(timedelta(hours=-3)))  # the 3rd in UTC
    add_replies(db, other, late, log.Usage("large", 1000, 100, 0, 9000))
    stranger = Scope("http", HERE.place)
    add_replies(db, sessions.start(db, stranger, NOON), NOON, log.Usage("large", 7, 7, 7, 7), scope=stranger)
    return db


def rows(db, per, limit=9):
    return [tuple(row.values()) for row in records.token_usage(db, "person", per, limit)]


def test_each_day_is_the_persons_own(talked):
    assert rows(talked, "day") == [("2026-01-02", 3, 1300, 130, 0.75, 11.0)]


def test_answers_are_counted_by_model_session_and_turn(talked):
    small, large = (2, 300, 30, 0.75, 2.0), (1, 1000, 100, 0.0, 9.0)
    assert rows(talked, "model") == [("large", *large), ("small", *small)]
    assert rows(talked, "session") == [("s2", *large), ("s1", *small)]
    assert rows(talked, "turn") == [("m4", *large), ("m1", *small)]
    assert rows(talked, "turn", 1) == [("m4", *large)]


def test_where_nothing_was_answered_nothing_is_counted(db):
    assert rows(db, "day") == []
