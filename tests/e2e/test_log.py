"""`agent log` and the person's rules, through the real process: what was asked, what was ruled, what came of it."""

import json

import pytest

from agent_cli.memory.conversations import log
from agent_cli.memory.reports import records
from agent_cli.messages import Message, ToolCall, ToolResult
from agent_cli.store import events
from agent_cli.tools.tool import tool
from tests.conftest import HERE, NOON, noon
from tests.turns import agent, calls, run

SCRIPT = """
[[reply]]
calls = [{ name = "save_note", arguments = { text = "the Password is x" } }]
[[reply]]
calls = [{ name = "jot", arguments = { text = "]] forged\\u001b[2J" } }, { name = "read_jottings", arguments = {} }]
[[reply]]
say = "Done."
"""


@pytest.fixture
def done(program):
    """The program after a turn with three calls, of which a rule denied the first."""
    program.env |= {"AGENT_NOW": "2026-01-02T12:30:00+01:00"}
    assert program("config", "set", "rules.save_note text=*password*", "deny").code == 0
    assert program("-m", program.script(SCRIPT), "ask", "note it").out == "Done.\n"
    return program


def test_the_log_tells_what_was_ruled_and_what_the_tools_did(done):
    assert done("log").out.splitlines() == [
        "e1       2026-01-02 12:30:00  session started       s1             s1     person",
        "e2       2026-01-02 12:30:00  message               m1             s1     person",
        "e3       2026-01-02 12:30:00  reply with calls      m2             s1     model",
        "e4       2026-01-02 12:30:00  call refused by rule  save_note      s1     program",
        "e5       2026-01-02 12:30:00  reply with calls      m4             s1     model",
        "e6       2026-01-02 12:30:00  call allowed          jot            s1     program",
        "e7       2026-01-02 12:30:00  call allowed          read_jottings  s1     program",
        "e8       2026-01-02 12:30:00  reply                 m7             s1     model",
        "e9       2026-01-02 12:30:00  session closed        s1             s1     program",
    ]
    assert done("log", "--calls").out.splitlines() == [
        'm3       2026-01-02 12:30:00  s1     save_note      refused   {"text": "the Password is x"}',
        "m5       2026-01-02 12:30:00  s1     jot            done",
        "m6       2026-01-02 12:30:00  s1     read_jottings  done",
    ]
    rows = [
        json.loads(line) for line in done("log", "--json", "--kind", "call r", "--kind", "session c").out.splitlines()
    ]
    assert [(row["id"], row["kind"], row["session"], row["at"]) for row in rows] == [
        ("e4", "call refused by rule", "s1", "2026-01-02T11:30:00.000Z"),
        ("e9", "session closed", "s1", "2026-01-02T11:30:00.000Z"),
    ]
    assert done("stats", "--signals").out == (
        "1 question today\ntools in 30 days: jot 1, read_jottings 1, save_note 0 (1 refused)\n"
    )


def test_what_cannot_be_meant_is_said(program):
    assert program("log", "--calls", "--kind", "call").err == (
        "agent: --kind is about events, and --calls shows none: leave one of them out\n"
    )
    ran = program("log", "--since", "1 hour")
    assert (ran.code, ran.err) == (2, "agent: '1 hour' is not a time: write it like 2026-11-20, 2h or 3d\n")


def test_a_kind_that_there_is_not_is_named_with_those_there_are(program):
    program("notes", "add", "milk")
    ran = program("log", "--kind", "bogus")
    assert (ran.code, ran.out, ran.err) == (
        0,
        "",
        "agent: there is no event of a kind that begins with 'bogus'; there are note written\n",
    )
    assert program("log", "--kind", "note", "--since", "2999-01-01").err == ""


def test_events_are_found_by_kind_time_and_number(db):
    for hour, kind in enumerate(("call allowed", "call refused", "note written", "call allowed by rule")):
        events.append(db, lambda hour=hour: NOON.replace(hour=hour), kind, "x", actor="program")

    def found(limit=9, **wanted):
        return [each["id"] for each in events.listing(db, limit, **wanted)]

    assert found() == ["e1", "e2", "e3", "e4"]
    assert found(2) == ["e3", "e4"]
    assert found(kinds=["call a"]) == ["e1", "e4"]
    assert found(kinds=["call r", "note"]) == ["e2", "e3"]
    assert found(since=NOON.replace(hour=2)) == ["e3", "e4"]
    assert found(since=NOON) == found(kinds=["%"]) == []


@tool(risk="read")
def crash(context) -> str:
    """Break."""
    raise ValueError("no")


def test_calls_are_told_with_what_came_of_them(context):
    hired = agent(calls("crash", "nothing"), "Hm.", tools={"crash": crash})
    run(hired, context)
    reply = log.open_reply(context.db, context.session, HERE, "m", NOON)
    message = Message("assistant", "", (ToolCall("call_1", "crash", {}),))
    log.close_reply(context.db, reply, message, "stop", log.Usage(), NOON)

    def told(**wanted):
        rows = records.tool_calls(context.db, "person", 9, **wanted)
        return [(row["tool"], row["result"], row["outcome"], row["asked_in"]) for row in rows]

    done = [("crash", "m3", "failed", "m2"), ("nothing", "m4", "failed", "m2")]
    assert told() == [*done, ("crash", None, "no result", "m6")]
    log.add_tool_result(context.db, context.session, HERE, message.calls[0], ToolResult("ok"), noon())
    assert told() == [*done, ("crash", "m7", "done", "m6")]
    assert records.tool_calls(context.db, "caller", 9) == []
