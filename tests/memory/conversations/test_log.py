from datetime import timedelta

import pytest

from agent_cli.memory.conversations import log, sessions
from agent_cli.messages import Message, Part, ToolCall, ToolResult, join_parts
from tests.conftest import HERE, NOON

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
    assert said == log.Entry(
        1, at, 0, Message("user", "Hello"), "stop", False, "", (Part("Hello", "typed"),), log.Usage()
    )
    assert answered == log.Entry(2, at, 0, answer, "stop", False, "", (Part("Wait.", "model"),), usage)
    assert result == log.Entry(
        3,
        at,
        0,
        Message("tool", "no", call_id="call_1", tool_name="jot"),
        "stop",
        True,
        "",
        (Part("no", "model", "jot"),),
        log.Usage(),
    )
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
