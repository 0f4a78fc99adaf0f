"""What is due, days in a row, what the tools did: counted from the log."""

from datetime import datetime, timedelta, timezone

import pytest

from agent_cli import clock
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.reports import signals
from agent_cli.memory.reports.signals import Calls, Due, Signals
from agent_cli.memory.scope import Scope
from agent_cli.messages import Part
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
        return db.insert(f"insert into task ({', '.join(values)}) values (:{', :'.join(values)})", values)


def test_nothing_is_told_of_an_empty_file(db):
    assert signals.read(db, "person", NOW, NOW - DAY) == Signals(0, 0, 0, Due((), (), 0), ())


def test_days_in_a_row_reach_to_today_or_yesterday_and_end_at_the_first_gap(db, session):
    for days in (1, 2, 3, 5):
        say(db, session, NOW - days * DAY)
    assert signals.read(db, "person", NOW, NOW).days_said == 3
    say(db, session, NOW)
    assert signals.read(db, "person", NOW, NOW).days_said == 4
    assert signals.read(db, "person", NOW + 2 * DAY, NOW).days_said == 0


def test_a_day_is_that_of_the_clock_at_which_it_was_said(db, session):
    say(db, session, datetime(2026, 1, 2, 0, 30, tzinfo=VIENNA))
    say(db, session, datetime(2026, 1, 1, 23, 30, tzinfo=timezone(timedelta(hours=-8))))
    assert [signals.read(db, "person", NOW - days * DAY, NOW).turns_today for days in (0, 1)] == [1, 1]


def test_what_was_taken_back_or_said_by_others_is_not_counted(db, session):
    first = say(db, session, NOW)
    say(db, sessions.start(db, Scope("caller", "/"), NOW), NOW, scope=Scope("caller", "/"))
    with db.write():
        log.undo_from(db, session, first, NOW)
    read = signals.read(db, "person", NOW, NOW)
    assert (read.turns_today, read.days_said) == (0, 0)


def test_what_is_due_is_told_the_longest_overdue_first(db):
    evening = NOW.replace(hour=23, minute=59)
    late, later = task(db, NOW - timedelta(hours=1)), task(db, NOW - DAY)
    today = task(db, evening)
    task(db, evening + timedelta(minutes=2))
    task(db)
    task(db, NOW - DAY, state="done")
    task(db, NOW - DAY, hidden_at=clock.utc(NOW))
    task(db, NOW - DAY, owner="caller")
    assert signals.read(db, "person", NOW, NOW).due == Due((later, late), (today,), 5)


def test_tasks_done_on_days_in_a_row_are_told_from_the_events(db):
    mine, others = task(db, state="done"), task(db, owner="caller")
    for id, days in ((mine, 0), (mine, 1), (others, 2)):
        events.append(db, lambda days=days: NOW - days * DAY, "task done", ids.handle("task", id), actor="person")
    assert signals.read(db, "person", NOW, NOW).days_done == 2


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
    assert signals.read(db, "person", NOW, NOW - 2 * DAY).calls == (Calls("jot", 2, 1), Calls("save_note", 0, 1))
    assert signals.read(db, "caller", NOW, NOW - 2 * DAY).calls == ()


@pytest.mark.parametrize(
    "query", ["from said where uid >= ?1 and uid < ?2 and owner = ?3", "from event where uid >= ?1"]
)
def test_a_day_is_found_by_an_index_however_long_the_log_is(db, query):
    (plan,) = db.rows(f"explain query plan select 1 {query}", ("a", "b", "c")[: query.count("?")])
    assert "SEARCH" in plan[3]
    assert "uid>?" in plan[3]
