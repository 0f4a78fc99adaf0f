"""What is due, what the tools did, and the tokens of answers: counted from the log."""

from datetime import datetime, timedelta, timezone

import pytest

from agent_cli import clock
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.reports import records
from agent_cli.memory.scope import Scope
from agent_cli.messages import Message, Part
from agent_cli.store import events, ids
from tests.conftest import HERE, NOON

VIENNA = timezone(timedelta(hours=1))
NOW = NOON.astimezone(VIENNA)
DAY = timedelta(days=1)


def say(db, session, at, words="hello", scope=HERE):
    return log.add_user_message(db, session, scope, [Part(words, "typed")], at)


def task(db, due=None, owner="person", **columns):
    values = {
        "uid": ids.new(NOW),
        "owner": owner,
        "place": "",
        "origin": "typed",
        "text": "milk",
        "at": clock.utc(NOW),
        "due_at": due and clock.utc(due),
        "utc_offset": 60,
        "changed_at": clock.utc(NOW),
        **columns,
    }
    with db.write():
        return db.insert("task", values)


def test_nothing_is_told_of_an_empty_file(db):
    assert records.signals(db, "person", NOW, NOW - DAY) == {
        "turns_today": 0,
        "due": {"overdue": [], "today": [], "open": 0},
        "calls": [],
    }


def test_a_day_begins_and_ends_at_midnight_here(db, session):
    say(db, session, datetime(2026, 1, 2, 0, 30, tzinfo=VIENNA))
    say(db, session, datetime(2026, 1, 1, 23, 30, tzinfo=VIENNA))
    assert [records.signals(db, "person", NOW - days * DAY, NOW)["turns_today"] for days in (0, 1)] == [1, 1]


def test_what_was_taken_back_or_said_by_others_is_not_counted(db, session):
    first = say(db, session, NOW)
    say(db, sessions.start(db, Scope("caller", "/"), NOW), NOW, scope=Scope("caller", "/"))
    with db.write():
        log.undo_from(db, session, first, NOW)
    assert records.signals(db, "person", NOW, NOW)["turns_today"] == 0


def test_what_is_due_is_told_the_longest_overdue_first(db):
    evening = NOW.replace(hour=23, minute=59)
    late, later = task(db, NOW - timedelta(hours=1)), task(db, NOW - DAY)
    today = task(db, evening)
    task(db, evening + timedelta(minutes=2))
    task(db)
    task(db, NOW - DAY, state="done")
    task(db, NOW - DAY, hidden_at=clock.utc(NOW))
    task(db, NOW - DAY, owner="caller")
    assert records.signals(db, "person", NOW, NOW)["due"] == {
        "overdue": [f"t{later}", f"t{late}"],
        "today": [f"t{today}"],
        "open": 5,
    }


def test_calls_are_counted_by_tool_and_those_refused_apart(db, session):
    for days, kind, name in (
        (0, "call allowed", "jot"),
        (0, "call allowed by rule", "jot"),
        (0, "call refused", "save_note"),
        (1, "call refused by rule", "jot"),
        (9, "call allowed", "jot"),
        (0, "note written", "n1"),
    ):
        events.append(db, lambda days=days: NOW - days * DAY, kind, name, actor="program", session=session)
    assert [tuple(each.values()) for each in records.signals(db, "person", NOW, NOW - 2 * DAY)["calls"]] == [
        ("jot", 2, 1),
        ("save_note", 0, 1),
    ]
    assert records.signals(db, "caller", NOW, NOW - 2 * DAY)["calls"] == []


@pytest.mark.parametrize(
    "query", ["from said where uid >= ?1 and uid < ?2 and owner = ?3", "from event where uid >= ?1"]
)
def test_a_day_is_found_by_an_index_however_long_the_log_is(db, query):
    (plan,) = db.rows(f"explain query plan select 1 {query}", ("a", "b", "c")[: query.count("?")])
    assert "SEARCH" in plan[3]
    assert "uid>?" in plan[3]


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
