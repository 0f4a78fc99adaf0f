from datetime import timedelta

import pytest

from agent_cli.errors import UsageError
from agent_cli.memory.planner import notes
from agent_cli.memory.scope import Scope
from agent_cli.store import events
from tests.conftest import HERE, NOON, noon

AT = "2026-01-02T12:00:00.000Z"


def later(hours):
    return lambda: NOON + timedelta(hours=hours)


def test_a_note_comes_back_as_it_was_written(db):
    note = notes.add(db, HERE, "Buy milk\nand bread", noon, title="Shopping")
    assert note == notes.Note(1, "Shopping", "Buy milk\nand bread", "typed", HERE.place, AT, 0, AT, None)
    assert notes.get(db, 1, "person") == note
    assert (note.handle, note.name) == ("n1", "Shopping")
    columns = ("title", "text", "origin", "place", "at", "changed_at")
    assert note.describe() == {"id": "n1", "tags": []} | {name: getattr(note, name) for name in columns}


def test_a_note_without_title_is_called_by_its_words():
    assert notes.Note(1, "", "Buy \x1bmilk\nand " + "bread " * 30, "", "", "", 0, "", None).name == (
        "Buy milk and bread bread bread bread bread bread bread brea…"
    )


@pytest.mark.parametrize("body", ["", " ", "\n\t"])
def test_an_empty_note_is_not_written(db, body):
    with pytest.raises(UsageError, match="an empty note cannot be kept; write some words"):
        notes.add(db, HERE, body, noon)
    assert (notes.listing(db, "person", 9), events.listing(db, 100)[::-1]) == ([], [])


def test_notes_are_listed_by_their_last_change(db):
    first = notes.add(db, HERE, "first", later(0))
    second = notes.add(db, HERE, "second", later(1))
    third = notes.add(db, HERE, "third", later(1))
    changed = notes.edit(db, first, "first again", "", later(2))
    assert notes.listing(db, "person", 9) == [changed, third, second]
    assert notes.listing(db, "person", 1) == [changed]


def test_a_changed_note_keeps_its_handle_and_its_day(db):
    note = notes.add(db, HERE, "Buy milk", noon)
    changed = notes.edit(db, note, "Buy beer", "Shopping", later(1))
    assert changed == notes.get(db, 1, "person")
    assert (changed.text, changed.title) == ("Buy beer", "Shopping")
    assert (changed.at, changed.changed_at) == (AT, "2026-01-02T13:00:00.000Z")


def test_a_note_cannot_be_changed_into_nothing(db):
    note = notes.add(db, HERE, "Buy milk", noon)
    with pytest.raises(UsageError, match=r"n1 was left as it is: an empty note cannot be kept"):
        notes.edit(db, note, " ", "", noon)
    assert notes.get(db, 1, "person") == note


def test_a_hidden_note_is_not_found_until_it_is_restored(db):
    note = notes.add(db, HERE, "Buy milk", noon)
    notes.hide(db, note, noon)
    assert (notes.listing(db, "person", 9), notes.search(db, "person", "milk", 9, NOON)) == ([], [])
    assert [hidden.handle for hidden in notes.listing(db, "person", 9, hidden=True)] == ["n1"]
    notes.restore(db, note, noon)
    assert notes.search(db, "person", "milk", 9, NOON) == [note] == notes.listing(db, "person", 9)


def test_nobody_sees_the_note_of_another_owner(db):
    notes.add(db, Scope("somebody else", HERE.place), "Buy milk", noon)
    assert (notes.listing(db, "person", 9), notes.search(db, "person", "milk", 9, NOON)) == ([], [])
    with pytest.raises(UsageError, match="there is no note n1; `agent notes list` shows them all"):
        notes.get(db, 1, "person")


def test_every_change_is_in_the_audit_log(db):
    note = notes.add(db, HERE, "Buy milk", noon, origin="model")
    notes.edit(db, note, "Buy beer", "", noon)
    notes.hide(db, note, noon)
    notes.restore(db, note, noon)
    made = [(event["kind"], event["actor"], event["subject"]) for event in events.listing(db, 100)]
    assert made[0] == ("note written", "model", "n1")
    assert made[1:] == [(f"note {what}", "person", "n1") for what in ("changed", "hidden", "restored")]
