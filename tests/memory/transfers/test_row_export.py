from agent_cli.memory.planner import notes
from agent_cli.memory.scope import Scope
from agent_cli.memory.transfers import transfer
from tests.conftest import HERE, noon


def test_every_row_of_an_owner_is_exported_with_its_handle_and_what_it_holds(db):
    notes.add(db, HERE, "The boat is blue", noon, title="Boat")
    notes.add(db, Scope("caller:bot", HERE.place), "The berth is free", noon)
    (row,) = transfer.export_rows(db, HERE.owner)
    assert (row["kind"], row["id"], row["title"], row["text"]) == ("note", "n1", "Boat", "The boat is blue")
    assert "hidden_at" not in row
    assert list(transfer.export_rows(db, HERE.owner, ["fact"])) == []


def test_more_rows_than_a_page_are_exported_in_order(db):
    with db.write():
        for number in range(1, 1202):
            notes.add(db, HERE, f"Note {number}", noon)
    assert [row["id"] for row in transfer.export_rows(db, HERE.owner)] == [f"n{number}" for number in range(1, 1202)]
