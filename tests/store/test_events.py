import os
import sqlite3
from contextlib import closing

import pytest

from agent_cli.memory.conversations import sessions
from agent_cli.memory.planner import notes
from agent_cli.memory.scope import Scope
from agent_cli.store import events, file_check
from tests.conftest import HERE, empty, noon


def test_an_event_tells_who_did_what_to_what(db, session):
    events.append(db, noon, "note written", "n4", actor="model", session=session, content="Buy milk")
    events.append(db, noon, "session closed", "s1", actor="person")
    at = {"at": "2026-01-02T12:00:00.000Z", "utc_offset": 0}
    newest = {
        "id": "e3",
        "kind": "session closed",
        "actor": "person",
        "session": None,
        "subject": "s1",
        "hash": "",
        **at,
    }
    older = {"id": "e2", "kind": "note written", "actor": "model", "session": session, "subject": "n4", **at}
    _, second, third = map(without_place, events.listing(db, 100))
    assert (third, second.pop("hash") != "", second) == (newest, True, older)
    assert list(map(without_place, events.listing(db, 1))) == [newest]


def without_place(event):
    """Without where it was written: the terminal and the processes of this test."""
    return {name: value for name, value in event.items() if name not in ("terminal", "process", "parent")}


def test_an_event_holds_the_process_that_wrote_it_and_who_acts_on_its_connection(db):
    events.append(db, noon, "task done", "t1", actor="person")
    db.person = "http"
    events.append(db, noon, "task done", "t2", actor="person")
    events.append(db, noon, "session closed", "s1", actor="program")
    db.person = "person"
    (http,), (program,) = (
        [each for each in events.listing(db, 100)[::-1] if each["actor"] == who] for who in ("http", "program")
    )
    assert (http["subject"], program["kind"]) == ("t2", "session closed")
    assert (http["process"], http["parent"]) == (os.getpid(), os.getppid())


FORGED = {
    "changed": "update event set actor = 'person' where id = 3",
    "taken out": "delete from event where id = 2",
    "the last one taken out": "delete from event where id = 5",
    "all taken out": "delete from event",
    "put in": "insert into event (uid, kind, actor, at, utc_offset) values ('z', 'fact accepted', 'person', 'x', 0)",
    "moved": "update event set id = case id when 2 then 9 else 2 end where id in (2, 3)",
    "unlinked": "update event set link = '' where id = 4",
}


@pytest.mark.parametrize("way", FORGED)
def test_an_event_that_was_tampered_with_breaks_the_chain_from_there_on(db, way):
    for number in range(5):
        events.append(db, noon, "note written", f"n{number}", actor="model", content=str(number))
    assert events.broken_link(db) == ""
    for trigger in ("event_is_kept", "event_is_append_only"):
        db.execute(f"drop trigger {trigger}")
    db.execute(FORGED[way].replace("id = case", "id = 100 + case"))
    first = {"changed": 3, "taken out": 3, "the last one taken out": 4, "all taken out": 0, "put in": 6, "moved": 4}
    assert events.broken_link(db) == f"e{first.get(way, 4)}"


def test_a_log_without_links_is_chained_from_where_it_stands_and_holds_what_was(db):
    for number in range(3):
        events.append(db, noon, "note written", f"n{number}", actor="model")
    for trigger in ("event_is_kept", "event_is_append_only"):
        db.execute(f"drop trigger {trigger}")
    db.execute("update event set link = ''")
    events.append(db, noon, "file salvaged", "", actor="person")
    assert events.broken_link(db) == ""
    assert [each["kind"] for each in events.listing(db, 1)] == ["file salvaged"]
    db.execute("update event set actor = 'person' where id = 1")
    assert events.broken_link(db) == "e4"


def test_a_whole_file_that_was_tampered_with_is_named_by_its_check(db):
    events.append(db, noon, "note written", "n1", actor="model")
    assert file_check.check(db).canonical == ()
    names = "kind, actor, at, utc_offset"
    db.execute(f"insert into event (uid, {names}) select 'z', {names} from event")
    assert file_check.check(db).canonical == (
        "e2: an event was changed, removed or added here: the chain of the log is broken",
    )


def test_no_column_of_an_event_holds_the_words_or_whose_place_it_is(db, session):
    note = notes.add(db, HERE, "Zanzibar in May", noon, title="Zanzibar", session=session)
    notes.edit(db, note, "Zanzibar in June", "Zanzibar", noon)
    notes.hide(db, note, noon)
    sessions.change(db, session, title="Zanzibar")
    notes.add(db, Scope("person", "/home/zanzibar"), "milk", noon)
    rows = db.rows("select * from event")
    assert len(rows) == 5
    assert not any("zanzibar" in str(value).lower() for row in rows for value in row)


def test_equal_words_have_equal_hashes_in_one_file_and_others_in_another(db):
    def hashes(database):
        for words in ("yes", "yes", "no"):
            events.append(database, noon, "note written", "n1", actor="person", content=words)
        return [event["hash"] for event in events.listing(database, 100)[::-1]][::-1]

    other = empty()
    first, again, different = hashes(db)
    assert first == again != different
    assert not {first, different} & set(hashes(other))


def test_an_event_is_never_changed_or_replaced_by_whatever_program(tmp_path):
    database = empty(tmp_path / "memory.db")
    events.append(database, noon, "note written", "n4", actor="model")
    uid = database.value("select uid from event")
    replace = "insert or replace into event (id, uid, kind, actor, at, utc_offset) values (?, ?, '', '', '', 0)"
    for sql, values in (
        ("update event set actor = 'person'", ()),
        ("delete from event", ()),
        (replace, (1, "other")),
        (replace, (2, uid)),
    ):
        with closing(sqlite3.connect(database.path)) as program, pytest.raises(sqlite3.Error, match="append-only"):
            program.execute(sql, values)
    assert [event["actor"] for event in events.listing(database, 9)] == ["model"]
    database.close()
