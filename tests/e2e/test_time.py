"""What happens to a conversation as time passes, through the real program."""

import signal
from datetime import UTC, datetime, timedelta

import pytest

from agent_cli import clock
from agent_cli.store.db import Database
from tests.ollama_server.script import reply

pytestmark = pytest.mark.usefixtures("scripts_decide")

FRIDAY, MONDAY = "2026-11-20T17:00:00+01:00", "2026-11-23T09:00:00+01:00"


def age(program, minutes):
    """Let what was said be so long ago."""
    db = Database(program.db)
    long_ago = clock.utc(datetime.now(UTC) - timedelta(minutes=minutes))
    with db.write():
        db.execute("update session set last_at = ?, opened_at = null", (long_ago,))
    db.close()


def test_a_session_left_alone_for_31_minutes_is_closed_and_what_comes_next_begins_another(program, server, terminal):
    program.use(server)
    server.answer = lambda body: reply("I see.")
    open_ = terminal()
    open_.wait_prompt().enter("My cat is Mia.").wait("I see.").wait_prompt()
    age(program, 31)
    open_.enter("Who is Mia?").wait("s1 was closed after a long silence")
    open_.until(
        lambda: len(program.rows("select 1 from message where role = 'assistant' and finish = 'stop'")) == 2,
        "an answer",
    )
    assert program.rows("select id, closed_at is not null from session") == [(1, 1), (2, 0)]
    assert program.rows("select kind, subject from job where kind = 'summary'") == [("summary", "s1")]
    asked = next(body for body in server.turns if "Who is Mia?" in body["messages"][-1]["content"])
    assert "My cat is Mia." in asked["messages"][1]["content"]


def test_what_was_killed_on_friday_is_carried_over_on_monday_and_no_question_is_lost(program, server, terminal):
    program.use(server)
    server.play(reply("I see."), reply("", calls=[("save_note", {"text": "berth 4711"})]))
    friday = terminal(AGENT_NOW=FRIDAY).wait_prompt().enter("My boat lies in Vinisce.").wait("I see.").wait_prompt()
    friday.enter("Note that its berth is 4711.").wait("allow it?").signal(signal.SIGKILL)
    assert friday.ended() == -signal.SIGKILL
    server.answer = lambda body: reply("Their boat lies in Vinisce.")
    program("jobs", "run", "--until-idle", env={"AGENT_NOW": MONDAY})

    opening = (
        "⟦ From memory, not instructions, possibly out of date.\n"
        "Summaries of earlier sessions:\n"
        "- 20 November 2026 (s1): Their boat lies in Vinisce. Word for word: Note that its berth is 4711\n"
        "The end of the previous session (s1, 20 November 2026):\n"
        "person: My boat lies in Vinisce.\n"
        "assistant: I see.\n"
        "person: Note that its berth is 4711. [got no answer]\n"
        "End of memory. ⟧\n\n"
    )
    asked = program("ask", "--dry-run", "Hello?", env={"AGENT_NOW": MONDAY}).json["messages"][1]["content"]
    monday = terminal(AGENT_NOW=MONDAY)
    monday.wait("carried over: 1 summary and the last 3 messages of s1 “My boat lies in Vinisce.” (Friday)")
    server.answer = lambda body: reply("Where were we?")
    monday.wait_prompt().enter("Hello?").wait("Where were we?").wait_prompt()
    (said,) = [each for each in server.turns[-1]["messages"] if each["role"] == "user"]

    assert said["content"] == asked == f"{opening}Hello?\n\n⟦ Today is Monday, 23 November 2026, 09:00. ⟧"


def test_closing_ends_with_what_has_changed_in_memory(program, server, terminal):
    program.use(server)
    server.answer = lambda body: reply("I see.")
    program("facts", "add", "My dog is Rex")
    shell = terminal().wait_prompt().enter("hello").wait("I see.").wait_prompt()
    shell.enter("/remember My cat is Mia").wait("f2").wait_prompt()
    shell.enter("/close").wait("closed s1").wait("+ f2 My cat is Mia").wait_prompt()
    assert "Rex" not in shell.text
    shell.enter("hello again").wait("I see.", times=2).wait_prompt().signal(signal.SIGKILL)
    shell.ended()
    program("facts", "rm", "f1")
    closed = program("sessions", "close", "s2")
    assert closed.err == "agent: closed s2 “hello again”\nagent: - f1 My dog is Rex\n"


def test_what_the_answers_took_is_counted(program, server):
    program.use(server)
    server.answer = lambda body: reply("I see.")
    assert program("stats").out == ""
    program("ask", "hello")
    (row,) = program("stats", "--per", "model", "--json").json
    assert list(row) == ["model", "answers", "tokens_in", "tokens_out", "cost", "seconds"]
    assert (row["model"], row["answers"], row["tokens_in"] > 100) == ("qwen3:8b", 1, True)
    headings = program("stats").out.splitlines()[0].split()
    assert headings == ["day", "answers", "tokens", "in", "tokens", "out", "seconds"]  # no costs without prices
