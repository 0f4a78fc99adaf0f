import json
from datetime import timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some

from agent_cli import clock
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.planner import notes
from agent_cli.memory.scope import Scope
from agent_cli.memory.transfers import transfer
from agent_cli.messages import Message, Part, ToolCall, ToolResult
from agent_cli.store import file, meta
from agent_cli.store.db import Database
from agent_cli.text import one_line
from tests.conftest import HERE, NOON, empty, noon

FAILED = ToolResult("no such day", failed=True)


@pytest.fixture
def other():
    database = empty()
    yield database
    database.close()


def read(db, *rows, source="elsewhere", scope=HERE):
    """What an import did: (sessions, messages) and what it complained of."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    said = []
    done = transfer.import_lines(db, scope, lines, source, noon, said.append)
    assert done.broken == len(said)
    return (done.sessions, done.messages), said


def exported(db):
    return [transfer.export_session(db, session) for session in sessions.all_of(db, "person")]


def chat(id="1", *messages, **more):
    said = [{"id": str(n), "role": "user", "content": words} for n, words in enumerate(messages or ("Hello",))]
    return {"id": id, "messages": said, **more}


@pytest.fixture
def talk(db, session):
    """A session with a bit of everything."""
    call = ToolCall("call_1", "now", {"zone": "Ä"})
    log.add_user_message(db, session, HERE, [Part("Look:\n\n", "typed"), Part("ä 👋", "file", "a b.txt")], NOON)
    id = log.open_reply(db, session, HERE, "m", NOON)
    log.close_reply(db, id, Message("assistant", "", (call,), thinking="Hm."), "stop", log.Usage("m", 9, 5), NOON)
    log.add_tool_result(db, session, HERE, call, FAILED, NOON)
    id = log.open_reply(db, session, HERE, "m", NOON)
    log.close_reply(db, id, Message("assistant", "Half"), "cancelled", log.Usage("m"), NOON)
    sessions.change(db, session, title="Lööking")
    return session


def test_what_is_exported_and_imported_elsewhere_is_the_same(db, other, talk):
    (row,) = exported(db)
    assert read(other, row) == ((1, 4), [])
    (again,) = exported(other)
    typed = row["messages"][0].pop("origin"), again["messages"][0].pop("origin")
    assert typed == ([["typed", 7], ["file", 3, "a b.txt"]], [["import", 7], ["import", 3, "a b.txt"]])
    for message in (*row["messages"], *again["messages"]):
        message.pop("origin", None)  # whoever wrote it there, here it is imported
    assert again == {**row, "source": "elsewhere"}
    assert [entry.message for entry in log.history(other, 1)] == [entry.message for entry in log.history(db, talk)]
    assert [e.parts for e in log.history(other, 1)][1] == ()


def test_importing_twice_adds_nothing_and_a_session_that_grew_gets_only_what_is_new(db):
    rows = [chat("1", "a", "b"), chat("2", "c")]
    assert [read(db, *rows), read(db, *rows)] == [((2, 3), []), ((0, 0), [])]
    assert read(db, chat("1", "a", "b", "d")) == ((0, 1), [])
    assert [entry.message.text for entry in log.history(db, 1)] == ["a", "b", "d"]


def test_importing_here_what_was_exported_here_adds_nothing(db, talk):
    read(db, chat("7", "From elsewhere"), source="old program")
    assert read(db, *exported(db), source="import") == ((0, 0), [])
    assert len(exported(db)) == 2


def test_a_file_that_went_there_and_back_adds_only_what_was_said_there(db, other, talk):
    read(other, *exported(db))
    log.add_user_message(other, 1, HERE, [Part("And now?", "typed")], NOON)
    assert read(db, *exported(other)) == ((0, 1), [])
    assert log.history(db, talk)[-1].message.text == "And now?"
    assert read(db, *exported(other)) == ((0, 0), [])


def test_what_is_dated_in_the_future_keeps_its_date_and_is_not_the_latest_for_ever(db, session):
    later = "2036-05-01T10:00:00.000Z"
    said = {"id": "0", "role": "user", "content": "From a wrong clock", "at": later}
    assert read(db, {"id": "1", "started_at": later, "messages": [said]}) == ((1, 1), [])
    assert read(db, {"id": "1", "messages": [said, {**said, "id": "1"}]}) == ((0, 1), [])
    imported = sessions.get(db, 2, "person")
    now = clock.utc(NOON)
    assert (imported.started_at, imported.last_at, imported.closed_at) == (later, now, now)
    assert [entry.at for entry in log.history(db, 2)] == [later, later]
    log.add_user_message(db, session, HERE, [Part("Hello", "typed")], NOON + timedelta(minutes=1))
    assert sessions.latest(db, "person").id == session
    assert [row["id"] for row in sessions.listing(db, "person", 9)] == ["s1", "s2"]


def test_ids_are_unique_for_each_source_and_session_and_owner(db):
    assert read(db, chat("1", "a"), source="one") == ((1, 1), [])
    assert read(db, chat("1", "a"), source="two") == ((1, 1), [])
    assert read(db, chat("1", "a"), source="one", scope=Scope("somebody else", "/")) == ((1, 1), [])
    assert read(db, chat("2", "a"), chat("2", "a"), chat(2, "a"), source="one") == ((1, 1), [])


def test_others_can_write_while_what_is_imported_is_read(tmp_path):
    db = file.open_file(tmp_path / "memory.db", NOON, print)
    other = Database(tmp_path / "memory.db", busy_timeout=0)

    def row():
        meta.put(other, "written", "meanwhile")
        return chat()

    done = transfer.import_sessions(db, HERE, [transfer.ExternalSession("here", 1, row)], "there", noon, print)
    other.close()
    assert (done.sessions, meta.get(db, "written")) == (1, "meanwhile")
    db.close()


BROKEN = {
    "": None,  # a blank line is none
    "{": "it is not JSON from character 2 on",
    "[]": "it is not a JSON object",
    "7": "it is not a JSON object",
    '{"messages": []}': "a session has no id",
    '{"id": null}': "a session has no id",
    '{"id": ""}': "a session has no id",
    '{"id": [1]}': "a session has no id",
    '{"id": 1, "messages": {"role": "user"}}': "the messages are not a list",
    '{"id": 1, "messages": ["Hello"]}': "a message is not a JSON object",
    '{"id": 1, "messages": [{"id": 1, "content": "x"}]}': "the role of a message is None, not one of user",
    '{"id": 1, "messages": [{"id": 1, "role": "system", "content": "x"}]}': "the role of a message is 'system'",
    '{"id": 1, "messages": [{"id": 1, "role": ["user"], "content": "x"}]}': "the role of a message is ['user']",
    '{"id": 1, "messages": [{"id": 1, "role": "user"}]}': "a message has no content",
    '{"id": 1, "messages": [{"id": 1, "role": "user", "content": ["x"]}]}': "a message has no content",
    '{"id": 1, "messages": [{"role": "user", "content": "x"}]}': "a message has no id",
    '{"id": 1, "messages": [{"id": 1, "role": "user", "content": "x", "at": "soon"}]}': "Invalid isoformat string",
    '{"id": 1, "messages": [{"id": 1, "role": "user", "content": "x", "at": 5}]}': "fromisoformat: argument must be",
    '{"id": 1, "started_at": "0001-01-01T00:00:00+09:00"}': "the time '0001-01-01T00:00:00+09:00' is out of range",
    '{"id": 1, "started_at": "9999-12-31T12:00:00+00:00"}': "the time '9999-12-31T12:00:00+00:00' is out of range",
    '{"id": 1, "messages": [{"id": 1, "role": "user", "content": "x", "at": "0001-01-01T12:00:00+00:00"}]}': "the time",
    '{"id": 1, "messages": [{"id": 1, "role": "user", "content": "x", "origin": [["typed", 2]]}]}': "the lengths in a",
    '{"id": 1, "messages": [{"id": 1, "role": "user", "content": "abc", "origin": [["t", 5], ["t", -2]]}]}': "the len",
    '{"id": 1, "messages": [{"id": 1, "role": "user", "content": "x", "origin": "typed"}]}': "not enough values",
    '{"id": 1, "messages": [{"id": 1, "role": "assistant", "content": "", "calls": [{"id": 1}]}]}': "'name'",
    '{"id": 1, "messages": [{"id": 1, "role": "user", "content": "x", "tokens": {"in": 1e999}}]}': "cannot convert",
    '{"id": 1, "messages": [{"id": 1, "role": "user", "content": "x", "tokens": {"in": 9223372036854775808}}]}': "",
    "[" * 9000: "it is nested too deeply",
}


def test_broken_lines_are_told_by_number_and_skipped_and_the_others_imported(db):
    lines = [json.dumps(chat("first")), *BROKEN, json.dumps(chat("last"))]
    done, said = read(db, *lines)
    numbered = [(number, why) for number, why in enumerate(BROKEN.values(), 2) if why is not None]
    assert len(said) == len(numbered)
    for line, (number, why) in zip(said, numbered, strict=True):
        assert line.startswith(f"line {number} was skipped: {why}")
        assert line == one_line(line, 200)
    assert done == (2, 2)
    assert [row["id"] for row in exported(db)] == ["first", "last"]


def test_a_line_that_breaks_late_leaves_no_half_of_a_session(db):
    good = {"id": "1", "role": "user", "content": "Hello"}
    bad = {**good, "id": "2", "tokens": {"in": 2**63}}
    done, said = read(db, {"id": "1", "messages": [good, bad]})
    assert (done, len(said), db.value("select count(*) from session")) == ((0, 0), 1, 0)


def test_of_messages_with_one_id_the_first_counts_half_a_character_is_replaced_and_nothing_is_typed(db):
    row = {"id": "1", "messages": [{"id": 1, "role": "user", "content": words} for words in ("cut \ud83d", "second")]}
    row["messages"][0]["origin"] = [["typed", 5]]
    assert read(db, row) == ((1, 1), [])
    assert [entry.parts for entry in log.history(db, 1)] == [(Part("cut �", "import"),)]


def test_times_without_offset_are_local_and_missing_ones_now(db):
    said = [
        {"id": 1, "role": "user", "content": "a", "at": "2020-05-01T08:00:00+02:00"},
        {"id": 2, "role": "user", "content": "b"},
    ]
    read(db, {"id": 1, "messages": said}, {"id": 2, "started_at": "2020-05-01", "messages": said})
    starts = [(session.started_at, session.utc_offset) for session in sessions.all_of(db, "person")]
    assert starts == [("2020-05-01T00:00:00.000Z", 0), ("2020-05-01T06:00:00.000Z", 120)]
    assert sessions.get(db, 1, "person").last_at == "2026-01-02T12:00:00.000Z"


json_values = some.recursive(
    some.none()
    | some.booleans()
    | some.integers()
    | some.floats()
    | some.text(max_size=5)
    | some.sampled_from(["user", "assistant", "tool", "2026-01-02", "\ud800"]),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
call = some.fixed_dictionaries({}, optional=dict.fromkeys(("id", "name", "arguments"), json_values))
message = some.fixed_dictionaries(
    {"role": some.sampled_from(["user", "assistant", "tool", "robot"]), "content": some.text(max_size=9) | json_values},
    optional={"calls": some.lists(call, max_size=2) | json_values}
    | dict.fromkeys(("id", "at", "origin", "finish", "tokens", "thinking", "author", "tool", "failed"), json_values),
)
line = some.fixed_dictionaries(
    {"id": json_values, "messages": some.lists(message, max_size=4) | json_values},
    optional=dict.fromkeys(("title", "kind", "started_at", "source"), json_values),
)
anything = some.text(max_size=20) | line.map(json.dumps) | json_values.map(json.dumps)


@settings(max_examples=50)
@given(some.lists(anything, max_size=4))
@example(['{"id": 1, "messages": [{"id": 1, "role": "user", "content": "\\u0000"}]}'])
def test_whatever_stands_in_the_file_is_imported_or_told(lines):
    db = empty()
    lines = [each.replace("\n", " ").encode("utf-8", "replace").decode() for each in lines]
    (_, messages), _ = read(db, *lines)
    assert db.value("select count(*) from message") == messages
    for session in sessions.all_of(db, "person"):
        transfer.to_markdown(db, session)
    assert read(db, *map(json.dumps, exported(db))) == ((0, 0), [])
    db.close()


def test_markdown_is_for_reading(db, talk):
    assert transfer.to_markdown(db, sessions.get(db, talk, "person")).split("\n\n") == [
        "# Lööking",
        "s1, 02 January 2026, 12:00",
        "## You, 12:00",
        "Look:",
        "ä 👋",
        "## Agent, 12:00",
        '    now({"zone": "Ä"})',
        "## Tool now, 12:00",
        "no such day",
        "## Agent, 12:00 (cancelled)",
        "Half\n",
    ]


def test_every_row_of_an_owner_is_exported_in_order_with_its_handle_and_what_it_holds(db):
    with db.write():
        notes.add(db, HERE, "The boat is blue", noon, title="Boat")
        notes.add(db, Scope("caller:bot", HERE.place), "The berth is free", noon)
        for number in range(3, 1203):  # more than a page
            notes.add(db, HERE, f"Note {number}", noon)
    row, *others = transfer.export_rows(db, HERE.owner)
    assert (row["kind"], row["id"], row["title"], row["text"]) == ("note", "n1", "Boat", "The boat is blue")
    assert "hidden_at" not in row
    assert [row["id"] for row in others] == [f"n{number}" for number in range(3, 1203)]
    assert list(transfer.export_rows(db, HERE.owner, ["fact"])) == []
