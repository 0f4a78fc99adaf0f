from datetime import timedelta

import pytest

from agent_cli.memory.conversations import log, sessions
from agent_cli.messages import Message, Part, ToolCall, ToolResult, join_parts
from agent_cli.store import schema
from agent_cli.store.db import Database
from tests.conftest import HERE, NOON
from tests.recalling import STRANGER

CALL = ToolCall("call_1", "jot", {"text": "Grüße"})


def say(db, session, *parts, now=NOON):
    return log.add_user_message(db, session, HERE, parts or [Part("Hello", "typed")], now)


def reply(db, session, message, finish="stop", usage=None, close=True):
    id = log.open_reply(db, session, HERE, "m", NOON)
    if close:
        log.close_reply(db, id, message, finish, usage or log.Usage(), NOON)
    return id


def test_a_conversation_comes_back_as_it_was(db, session):
    say(db, session)
    answer = Message("assistant", "Wait.", (CALL, ToolCall("call_2", "now", {})), thinking="Hm.")
    usage = log.Usage("m", 10, 5, 0.25, 900)
    reply(db, session, answer, usage=usage)
    log.add_tool_result(db, session, HERE, CALL, ToolResult("no", failed=True), NOON)
    at = "2026-01-02T12:00:00.000Z"
    said, answered, result = log.history(db, session)
    parts = (Part("Hello", "typed"),)
    assert said == log.Entry(1, at, 0, Message("user", "Hello"), "stop", False, "", parts, log.Usage())
    assert answered == log.Entry(2, at, 0, answer, "stop", False, "", (Part("Wait.", "model"),), usage)
    message = Message("tool", "no", call_id="call_1", tool_name="jot")
    assert result == log.Entry(3, at, 0, message, "stop", True, "", (Part("no", "model", "jot"),), log.Usage())
    assert (said.handle, log.count(db, session)) == ("m1", 3)


def test_parts_of_several_origins_come_back_apart(db, session):
    parts = join_parts([Part("Look at this:", "typed"), Part("ätsch 👋\n", "file", "a b.txt"), Part("", "piped")])
    say(db, session, *parts)
    (entry,) = log.history(db, session)
    assert entry.message.text == "Look at this:\n\nätsch 👋\n\n\n"
    assert entry.parts == parts


def test_a_reply_is_on_disk_while_it_grows(db, session):
    id = reply(db, session, None, close=False)
    log.update_reply(db, id, "Half a", "Hm.")
    (entry,) = log.history(db, session)
    assert (entry.message, entry.finish) == (Message("assistant", "Half a", thinking="Hm."), None)


def test_only_the_last_messages_come_when_asked_for_with_their_calls(db, session):
    reply(db, session, Message("assistant", "", (CALL,)))
    log.add_tool_result(db, session, HERE, CALL, ToolResult("kept"), NOON)
    reply(db, session, Message("assistant", "", (ToolCall("call_2", "now", {}),)))
    say(db, session)
    calls = [entry.message.calls for entry in log.history(db, session, 2)]
    assert calls == [(ToolCall("call_2", "now", {}),), ()]
    assert log.history(db, session, 0) == []


def test_what_is_said_is_the_last_that_happened_in_the_session(db, session):
    say(db, session, now=NOON + timedelta(hours=1))
    say(db, session, now=NOON)  # the clock was put back
    assert sessions.get(db, session, "person").last_at == "2026-01-02T13:00:00.000Z"


def test_what_a_crash_cut_is_marked_and_open_calls_are_answered_once(db, session):
    reply(db, session, Message("assistant", "", (CALL, ToolCall("call_2", "now", {}))))
    log.add_tool_result(db, session, HERE, CALL, ToolResult("kept"), NOON)
    log.update_reply(db, reply(db, session, None, close=False), "Half", "")
    assert log.repair(db, session, HERE, NOON) == 2
    assert log.repair(db, session, HERE, NOON) == 0
    healed = log.history(db, session)[2:]
    assert [(entry.message, entry.finish, entry.failed) for entry in healed] == [
        (Message("assistant", "Half"), "interrupted", False),
        (Message("tool", "interrupted", call_id="call_2", tool_name="now"), "stop", True),
    ]


def test_healing_one_session_leaves_the_others_alone(db, session):
    other = sessions.start(db, HERE, NOON)
    reply(db, other, Message("assistant", "", (CALL,)))
    reply(db, other, None, close=False)
    assert log.repair(db, session, HERE, NOON) == 0
    assert log.history(db, other)[-1].finish is None


@pytest.mark.parametrize("words", ["", "\x00\x1b[2J\u202e", "👨‍👩‍👧", "a" * 1_000_000, "'; drop table message; --"])
def test_the_log_keeps_what_came_as_it_came(db, session, words):
    say(db, session, Part(words, "pasted"))
    reply(db, session, Message("assistant", words, (ToolCall("1", "jot", {words[:9]: [words[:9], None, 1.5]}),)))
    said, answered = log.history(db, session)
    assert (said.message.text, answered.message.text) == (words, words)
    assert answered.message.calls[0].arguments == {words[:9]: [words[:9], None, 1.5]}


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


def typed(db, *lines, scope=HERE):
    for line in lines:
        log.add_prompt(db, scope, None, line, NOON + timedelta(seconds=1))


def test_lines_are_kept_whole_the_newest_first(db):
    typed(db, "one", "two\nlines", "drei")
    assert log.recent_prompts(db, "person", 2) == ["drei", "two\nlines"]


@pytest.mark.parametrize(
    ("lines", "kept"), [(["a", "a", "b", "a"], ["a", "b", "a"]), ([" secret"], []), (["", "  ", "\n"], [])]
)
def test_the_same_again_and_what_begins_with_a_space_is_not_kept(db, lines, kept):
    typed(db, *lines)
    assert log.recent_prompts(db, "person", 9) == kept


def test_nobody_sees_anothers(db):
    typed(db, "mine")
    typed(db, "theirs", scope=STRANGER)
    assert log.recent_prompts(db, "person", 9) == ["mine"]
    typed(db, "mine")
    assert log.recent_prompts(db, "person", 9) == ["mine"]


def test_what_was_pasted_is_known_by_its_place(db):
    log.add_prompt(db, HERE, None, "see this text", NOON, ["this text"])
    typed(db, "typed")
    assert log.pasted_prompts(db, "person", 9) == {"see this text": ["this text"]}
    assert db.value("select pasted from prompt") == "[[4, 9]]"


def test_the_oldest_are_dropped(db, monkeypatch):
    monkeypatch.setattr(log, "MAX_PROMPTS", 3)
    typed(db, "theirs", scope=STRANGER)
    typed(db, "one", "two", "three", "four", "five")
    assert db.rows("select text from prompt order by id") == [("theirs",), ("three",), ("four",), ("five",)]
