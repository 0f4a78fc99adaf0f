import pytest

from agent_cli.memory.conversations import log, sessions
from agent_cli.messages import Message, Part, ToolCall, ToolResult
from agent_cli.store import schema
from agent_cli.store.db import Database
from tests.conftest import HERE, NOON

JOT = ToolCall("call_1", "jot", {"text": "swordfish"})
READ = ToolCall("call_2", "read_jottings", {})
NOTE = ToolCall("call_3", "save_note", {"text": "milk"})


def jot(db, session):
    """A session in which the model jotted something down, read it, and saved a note."""
    log.add_user_message(db, session, HERE, [Part("Keep this.", "typed")], NOON)
    reply = log.open_reply(db, session, HERE, "m", NOON)
    log.close_reply(db, reply, Message("assistant", "", (JOT, READ, NOTE)), "stop", log.Usage(), NOON)
    log.add_note(db, session, "swordfish", NOON)
    for call, words in ((JOT, "kept"), (READ, "swordfish"), (NOTE, "saved as n1")):
        log.add_tool_result(db, session, HERE, call, ToolResult(words), NOON)


def test_they_are_read_in_order_and_only_in_their_session(db, session):
    other = sessions.start(db, HERE, NOON)
    for number in range(3):
        log.add_note(db, session, f"thing {number}", NOON)
    log.add_note(db, other, "another", NOON)

    assert log.notes(db, session) == ["thing 0", "thing 1", "thing 2"]
    assert log.notes(db, other) == ["another"]


def test_erasing_leaves_nothing_of_them_in_any_row_and_the_rest_of_the_log_alone(db, session):
    other = sessions.start(db, HERE, NOON)
    jot(db, session)
    jot(db, other)

    with db.write():
        log.erase_notes(db, session)

    erased = "(erased when the session closed)"
    said, called, *results = log.history(db, session)
    assert said.message.text == "Keep this."
    assert [call.arguments for call in called.message.calls] == [{}, {}, {"text": "milk"}]
    assert [(entry.message.text, entry.parts) for entry in results] == [
        (erased, (Part(erased, "tool", "jot"),)),
        (erased, (Part(erased, "tool", "read_jottings"),)),
        ("saved as n1", (Part("saved as n1", "tool", "save_note"),)),
    ]
    assert (log.notes(db, session), log.notes(db, other)) == ([], ["swordfish"])
    assert log.history(db, other)[1].message.calls == (JOT, READ, NOTE)


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_after_a_truncating_checkpoint_the_files_have_no_trace_of_them(tmp_path, journal):
    db = Database(tmp_path / "memory.db", journal)
    db.prepare()
    schema.reconcile(db, NOON)
    session = sessions.start(db, HERE, NOON)
    jot(db, session)

    with db.write():
        log.erase_notes(db, session)
    db.execute("pragma wal_checkpoint(truncate)")

    assert [each.name for each in tmp_path.iterdir() if b"swordfish" in each.read_bytes()] == []
    db.close()
