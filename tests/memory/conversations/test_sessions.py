import os
from datetime import timedelta

import pytest

from agent_cli import clock
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.scope import Scope
from agent_cli.messages import Part
from agent_cli.store import holder
from tests.conftest import HERE, NOON


def talk(db, words, scope=HERE, now=NOON, kind="chat"):
    id = sessions.start(db, scope, now, kind)
    log.add_user_message(db, id, scope, [Part(words, "typed")], now)
    return id


def test_a_session_begins_open_empty_and_held(db, session):
    got = sessions.get(db, session, "person")
    at = "2026-01-02T12:00:00.000Z"
    assert got == sessions.Session(1, "person", HERE.place, "chat", "", at, 0, at, None, None, None, None)
    assert (got.handle, sessions.is_open_elsewhere(db, session)) == ("s1", False)


def test_nobody_sees_the_session_of_another_owner(db):
    talk(db, "My secret", Scope("somebody else", HERE.place))
    for see in (lambda: sessions.get(db, 1, "person"), lambda: sessions.resolve(db, "secret", "person")):
        with pytest.raises(UsageError):
            see()
    seen = sessions.latest(db, "person"), sessions.listing(db, "person", 9), sessions.all_of(db, "person")
    assert seen == (None, [], [])


def test_the_latest_is_the_one_last_spoken_in_here(db):
    first = talk(db, "first", now=NOON)
    talk(db, "second", now=NOON + timedelta(hours=1))
    talk(db, "elsewhere", Scope("person", "/elsewhere"), NOON + timedelta(hours=2))
    talk(db, "once", kind="ask", now=NOON + timedelta(hours=3))
    hidden = talk(db, "hidden", now=NOON + timedelta(hours=4))
    sessions.change(db, hidden, hidden_at=clock.utc(NOON))
    sessions.start(db, HERE, NOON + timedelta(hours=5))
    log.add_user_message(db, first, HERE, [Part("again", "typed")], NOON + timedelta(minutes=90))
    assert sessions.latest(db, "person").id == 3
    assert [each.id for each in sessions.latest_carried(db, "person", HERE.place, 9, None)] == [1, 2]
    assert [each.id for each in sessions.latest_carried(db, "person", None, 9, 1)] == [3, 2]


def test_the_list_has_what_was_spoken_in_newest_first(db):
    talk(db, "Plan a trip\nto Trogir")
    sessions.change(db, talk(db, "second", now=NOON + timedelta(hours=1)), title="Garden")
    sessions.start(db, HERE, NOON + timedelta(hours=2))
    newest, oldest = sessions.listing(db, "person", 9)
    assert [row["title"] for row in (newest, oldest)] == ["Garden", "Plan a trip to Trogir"]
    at = "2026-01-02T12:00:00.000Z"
    shown = {"id": "s1", "title": "Plan a trip to Trogir", "kind": "chat", "place": HERE.place, "started_at": at}
    shown |= {"last_at": at, "day": "2026-01-02", "closed_at": None, "turns": 1, "model": ""}
    assert list(oldest.items()) == list(shown.items())
    assert sessions.listing(db, "person", 1) == [newest]


def test_a_hidden_session_is_listed_apart_until_it_is_restored(db):
    id = talk(db, "hidden")
    sessions.change(db, id, hidden_at=clock.utc(NOON))
    assert (sessions.listing(db, "person", 9), sessions.all_of(db, "person")) == ([], [])
    assert [row["id"] for row in sessions.listing(db, "person", 9, hidden=True)] == ["s1"]
    sessions.change(db, id, hidden_at=None)
    assert [row["id"] for row in sessions.listing(db, "person", 9)] == ["s1"]


def test_a_session_is_named_by_handle_or_by_words_in_it(db):
    sessions.change(db, talk(db, "A trip to TROGIR"), title="Übung in der STRASSE")
    talk(db, "something else")
    for told in ("s1", "S1", "1", "trogir", "Übung", "übung", "ÜBUNG", "straße"):
        assert sessions.resolve(db, told, "person").id == 1, told


def test_a_name_that_means_none_or_several_is_told(db):
    talk(db, "Trip to Trogir")
    sessions.change(db, talk(db, "Trip to Trieste"), title="Trieste")
    with pytest.raises(UsageError, match="there is no session s9; `agent sessions list` shows them all"):
        sessions.resolve(db, "s9", "person")
    with pytest.raises(UsageError, match="no session mentions '%'; `agent sessions list` shows them all"):
        sessions.resolve(db, "%", "person")
    with pytest.raises(UsageError) as several:
        sessions.resolve(db, "trip", "person")
    assert str(several.value) == (
        "several sessions mention 'trip'; name one by its handle:\n  s2  Trieste\n  s1  Trip to Trogir"
    )


def test_a_session_open_in_another_terminal_is_free_when_that_was_killed(db, session):
    other = holder._identity(os.getppid())
    db.execute("update session set holder = ?", (other,))
    with pytest.raises(UsageError, match="s1 is open in another terminal; close it there, or start a new session"):
        sessions.reopen(db, session, "person", NOON)
    db.execute("update session set holder = ?", (f"{other}0",))  # another process had that number, and has ended
    assert sessions.reopen(db, session, "person", NOON).closed_at is None


def test_taking_up_a_closed_one_shot_makes_it_a_conversation_with_what_it_was_told(db):
    id = talk(db, "once", kind="ask")
    sessions.change(db, id, closed_at=clock.utc(NOON), holder=None, opening="⟦ From memory ]]")
    taken = sessions.reopen(db, id, "person", NOON)
    assert (taken.kind, taken.closed_at, taken.opening) == ("chat", None, "⟦ From memory ]]")


def test_a_released_session_is_held_by_nobody(db, session):
    sessions.release(db, session)
    assert db.value("select holder from session") is None
    assert not sessions.is_open_elsewhere(db, session)
