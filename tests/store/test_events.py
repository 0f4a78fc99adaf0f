from contextlib import suppress

import pytest

from agent_cli.memory.conversations import sessions
from agent_cli.memory.planner import notes
from agent_cli.memory.scope import Scope
from agent_cli.store import events
from agent_cli.store.db import Database
from tests.conftest import HERE, NOON, noon


def test_an_event_tells_who_did_what_to_what(db, session):
    events.append(db, noon, "note written", "n4", actor="model", session=session, content="Buy milk")
    events.append(db, noon, "session closed", "s1", actor="person")

    newest, oldest = events.recent(db)
    assert newest == {
        "id": "e2",
        "kind": "session closed",
        "actor": "person",
        "session": None,
        "subject": "s1",
        "hash": "",
        "at": "2026-01-02T12:00:00.000Z",
        "utc_offset": 0,
    }
    assert {**oldest, "hash": ""} == {
        "id": "e1",
        "kind": "note written",
        "actor": "model",
        "session": session,
        "subject": "n4",
        "hash": "",
        "at": "2026-01-02T12:00:00.000Z",
        "utc_offset": 0,
    }
    assert events.recent(db, 1) == [newest]


def test_no_column_of_an_event_holds_the_words(db, session):
    note = notes.add(db, HERE, "Zanzibar in May", noon, title="Zanzibar", session=session)
    notes.edit(db, note, "Zanzibar in June", "Zanzibar", noon)
    notes.hide(db, note, noon)
    sessions.rename(db, session, "Zanzibar")

    rows = db.rows("select * from event")
    assert len(rows) == 3
    assert not any("zanzibar" in str(value).lower() for row in rows for value in row)


def test_equal_words_have_equal_hashes_in_one_file_and_others_in_another(db):
    def hashes(database):
        for words in ("yes", "yes", "no"):
            events.append(database, noon, "note written", "n1", actor="person", content=words)
        return [event["hash"] for event in events.recent(database)][::-1]

    other = Database()
    other.script(
        "".join(
            sql + ";"
            for (sql,) in db.rows("select sql from sqlite_schema where sql is not null")
            if "sqlite_sequence" not in sql
        )
    )
    first, again, different = hashes(db)

    assert first == again != different
    assert not {first, different} & set(hashes(other))


def test_an_event_is_never_changed(db):
    events.append(db, noon, "note written", "n4", actor="model")

    with pytest.raises(Exception, match="the event log is append-only"):
        db.execute("update event set actor = 'person'")

    assert [event["actor"] for event in events.recent(db)] == ["model"]


def test_an_event_goes_with_the_write_it_tells_of(db):
    with suppress(ZeroDivisionError), db.write():
        events.append(db, noon, "note written", "n4", actor="model", content="words")
        raise ZeroDivisionError

    assert events.recent(db) == []


def test_whose_place_it_is_stands_in_no_event(db):
    notes.add(db, Scope("person", "/home/zanzibar"), "milk", noon)

    assert not any("zanzibar" in str(row) for row in db.rows("select * from event"))
    assert NOON.year == 2026
