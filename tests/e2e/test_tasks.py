"""Reminders through the real program: they come up by themselves, at the right minute, once in all."""

import time

import pytest

from tests.conftest import Ran
from tests.ollama_server.script import reply
from tests.terminal import CTRL_D

VIENNA = {"TZ": "Europe/Vienna"}
SATURDAY, SUNDAY = "2026-03-28T20:00:00+01:00", "2026-03-29T{}+02:00"  # the clocks are put forward between


@pytest.fixture
def program(program):
    program.env |= VIENNA
    return program


def at(moment):
    return {"AGENT_NOW": moment}


def test_one_set_in_a_session_comes_up_in_the_next_at_its_minute_across_the_change_to_summer_time(
    program, server, terminal
):
    program.use(server)
    evening = terminal(AGENT_NOW=SATURDAY).wait_prompt().enter("Remind me tomorrow at 9 to call the dentist")
    evening.wait("kept t1 “call the dentist”, Sunday 29 Mar 2026, 09:00").wait_prompt()
    assert server.chats == []
    evening.type(CTRL_D).ended()
    assert program.rows("select t.due_at, t.zone, m.text from task t join message m on m.id = t.message_id") == [
        ("2026-03-29T07:00:00.000Z", "Europe/Vienna", "Remind me tomorrow at 9 to call the dentist")
    ]
    early = terminal(AGENT_NOW=SUNDAY.format("08:59:59")).wait("today: 09:00 call the dentist (t1)").wait_prompt()
    assert "reminder" not in early.text
    early.type(CTRL_D).ended()
    due = terminal(AGENT_NOW=SUNDAY.format("09:00:00")).wait("reminder t1: call the dentist").wait_prompt()
    due.enter("/tasks done t1").wait("done t1 “call the dentist”")


def test_in_two_open_conversations_one_shows_it_within_seconds_and_a_command_runs_once(program, terminal):
    file = program.home / "notified"
    run = f'["sh", "-c", "echo \\"$1\\" >> {file}", "x"]'
    both = [terminal(AGENT_REMIND_COMMAND=run).wait_prompt() for _ in range(2)]
    assert program("remind", "feed the cat in 1 seconds").code == 0

    def shown():
        for each in both:
            each.read(0.02)
        return [each.text.count("reminder t1: feed the cat") for each in both]

    end = time.monotonic() + 30
    while not sum(shown()) or not file.exists():
        assert time.monotonic() < end, both[0].text
    end = time.monotonic() + 1.5  # in which the other one has looked too
    while time.monotonic() < end:
        assert sum(shown()) == 1
    assert file.read_text() == "feed the cat\n"
    assert program.rows("select reminded from task") == [(1,)]


def test_beside_an_answer_one_line_tells_of_all_and_not_where_programs_read(program, server):
    program.use(server)
    server.answer = lambda body: reply("Hello")
    program("remind", "call the dentist friday 3pm", env=at("2026-03-27T12:00:00+01:00"))
    program("tasks", "add", "feed the cat", "--at", "friday 4pm", env=at("2026-03-27T12:00:00+01:00"))
    late = at("2026-03-28T09:00:00+01:00")
    for unread in (["-q", "ask", "hi"], ["ask", "--json", "hi"], ["--incognito", "ask", "hi"]):
        assert "reminder" not in program(*unread, env=late).err
    told = "agent: reminder t1: call the dentist (due yesterday 15:00) and 1 more: agent tasks\n"
    assert program("ask", "hi", env=late) == Ran(0, "Hello\n", told)
    assert program("ask", "hi", env=late) == Ran(0, "Hello\n", "")
    assert program("ask", "hi", env=at("2026-03-28T10:00:00+01:00")).err == told


def test_tasks_are_kept_listed_and_changed_each_in_a_process_of_its_own(program):
    program.env |= at(SATURDAY)
    assert program("remind", "call", "the", "dentist", "friday", "3pm") == Ran(
        0, "kept t1 “call the dentist”, Friday 3 Apr 2026, 15:00\n", ""
    )
    assert program("remind", stdin="water the plants every sunday 2:30\n").out == (
        "kept t2 “water the plants”, every sunday 2:30, next Sunday 29 Mar 2026, 03:30\n"
    )
    assert program("tasks").out == (
        "t2  tomorrow, 03:30   water the plants (every sunday 2:30)\nt1  Fri 3 Apr, 15:00  call the dentist\n"
    )
    assert program("tasks", "done", "t2").out == (
        "done t2 “water the plants”; every sunday 2:30, next Sunday 5 Apr 2026, 02:30\n"
    )
    assert program("tasks", "snooze", "t1", "next", "monday", "8:00") == Ran(
        2,
        "",
        "agent: t1 comes up on Friday 3 Apr 2026, 15:00 in any case, so nothing was changed "
        "(`agent tasks edit` sets a time)\n",
    )
    assert program("tasks", "snooze", "t1", "4 april 8:00").out.startswith("snoozed t1 ")
    assert program("tasks", "edit", "t1", "call Dr. Berger", "--at", "tomorrow at noon").out == (
        "changed t1 “call Dr. Berger”, Sunday 29 Mar 2026, 12:00\n"
    )
    assert program("tasks", "rm", "t1", "2").out.count("hidden t") == 2
    assert program("tasks", "restore", "t1").out == "restored t1 “call Dr. Berger”\n"
    assert [each["id"] for each in program("tasks", "list", "--hidden", "--json").json] == ["t2"]
    assert program("tasks", "done", "t1", "t9") == Ran(
        2, "", "agent: there is no task t9; `agent tasks list` shows them all\n"
    )
    assert program.rows("select state from task where id = 1") == [("open",)]


def test_a_zone_without_a_name_and_a_time_that_is_past_are_met_with_sense(program):
    program.env |= {**at(SATURDAY), "TZ": "CET-1CEST,M3.5.0,M10.5.0/3"}
    assert program("remind", "call", "at", "21:00").out == "kept t1 “call”, Saturday 28 Mar 2026, 21:00\n"
    kept = "kept t2 “call”, any time (agent tasks edit t2 --at 'friday 3pm' gives it a time)\n"
    assert program("remind", "call").out == kept
    refused = program("remind", "--at", "2020-01-01", "call")
    assert (refused.code, refused.err) == (2, "agent: Wednesday 1 Jan 2020, 09:00 is past: name a time in the future\n")


def due(program):
    """A task whose time has come; gives the time after it."""
    assert program("remind", "call the dentist in 30 minutes", env=at("2026-01-02T12:00:00+00:00")).code == 0
    return at("2026-01-02T12:31:00+00:00")


def test_a_time_that_is_past_keeps_no_task(program, terminal):
    assert program("remind", "call mum yesterday") == Ran(
        2, "", "agent: yesterday is past: name a time in the future\n"
    )
    shell = terminal().wait_prompt().enter("/remind call mum yesterday")
    shell.wait("yesterday is past: name a time in the future").wait_prompt()
    shell.enter("/tasks done t9").wait("there is no task t9; /tasks shows them all").wait_prompt()
    assert program.rows("select * from task") == []


def reminded(program):
    return program.rows("select actor, subject from event where kind = 'task reminded'")


def test_a_reminder_comes_up_once_where_jobs_are_run(program, terminal):
    terminal("jobs", "run", "--until-idle", **due(program)).wait("reminder t1: call the dentist").ended()
    assert reminded(program) == [("program", "t1")]
    assert "reminder" not in program("jobs", "run", "--until-idle", env=due(program)).err


def test_a_reminder_that_nobody_would_see_stays_for_the_next_question(program):
    later = due(program)
    for command in (("-q", "jobs", "run", "--until-idle"), ("jobs", "run", "--until-idle")):
        assert "reminder" not in program(*command, env=later).err
    process = program.start("serve", "--port", "0", "--grace", "0", env=later)
    assert any("serving at" in line for line in process.stderr)
    time.sleep(0.5)  # it would come up at the first look
    process.terminate()
    assert "reminder" not in process.communicate(timeout=20)[1]
    assert reminded(program) == []
    assert "reminder t1: call the dentist" in program("-m", "offline", "ask", "hello", env=later).err


def test_a_reminder_comes_up_once_under_a_server_that_has_a_command_for_it(program):
    assert program("config", "set", "remind_command", '["true"]').code == 0
    process = program.start("serve", "--port", "0", "--grace", "0", env=due(program))
    for line in process.stderr:
        if "reminder t1: call the dentist" in line:
            break
    process.terminate()
    assert "reminder" not in process.communicate(timeout=20)[1]
    assert reminded(program) == [("program", "t1")]
