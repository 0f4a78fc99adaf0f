"""Reminders as they come up in a conversation, in lines."""

import time
from datetime import timedelta

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from agent_cli.memory.dates import due_times
from agent_cli.memory.planner import tasks
from agent_cli.memory.scope import Scope
from agent_cli.render.styles import Display
from agent_cli.repl import reminders
from agent_cli.repl.commands import commands
from agent_cli.repl.commands.commands import Page
from agent_cli.repl.conversation import Conversation
from agent_cli.repl.reminders import Reminders
from agent_cli.repl.shell.prompt_input import PromptCompleter
from tests.conftest import noon


class Clock:
    def __init__(self):
        self.now = noon()

    def __call__(self):
        return self.now

    def on(self, **much):
        self.now += timedelta(**much)


@pytest.fixture
def environ():
    return {"AGENT_REMIND_AGAIN": "60"}


@pytest.fixture
def app(app):
    app.time = Clock()
    yield app
    commands_ended()


def commands_ended():
    """Wait for what reminders have started."""
    for each in reminders._started:
        each.wait(20)


def keep(app, words, when, db=None):
    return tasks.add(db or app.db, app.scope, words, due_times.parse(when, app.time(), "UTC"), app.time)


def said(app, line):
    found = commands.find(line)
    result = commands.run(Conversation(app), *found)
    return result.draw(Display()) if isinstance(result, Page) else result


def test_a_reminder_comes_up_once_and_says_what_to_do_with_it(app):
    shown = Reminders(app)
    keep(app, "call the dentist", "in 5 minutes")
    assert shown.due_lines() == []
    app.time.on(minutes=5)
    assert shown.due_lines() == ["reminder t1: call the dentist · /tasks done t1 · /tasks snooze t1 1 hour"]
    assert (shown.due_lines(), Reminders(app).start_lines()) == ([], [])
    app.time.on(minutes=61)
    assert shown.due_lines() == ["reminder t1: call the dentist (due 12:05)"]


def test_one_made_in_another_program_comes_up_too_and_in_one_of_two(app):
    one, two = Reminders(app), Reminders(app)
    other = app.db.another_connection()
    assert (one.due_lines(), two.due_lines()) == ([], [])
    keep(app, "call the dentist", "in 5 minutes", other)
    other.close()
    app.time.on(minutes=5)
    assert [len(each.due_lines()) for each in (two, one)] == [1, 0]


def test_many_are_summed_up_and_the_days_that_passed_are_told(app):
    for number in range(7):
        keep(app, f"task {number}", "in 5 minutes")
    keep(app, "water the plants", "every day 9:00")
    keep(app, "later today", "in 2 days at 23:00")
    app.time.on(days=2)
    assert Reminders(app).start_lines() == [
        "reminder t1: task 0 (due Friday 12:05) · /tasks done t1 · /tasks snooze t1 1 hour",
        "reminder t2: task 1 (due Friday 12:05)",
        "reminder t3: task 2 (due Friday 12:05)",
        "and 5 more: /tasks",
        "today: 23:00 later today (t9)",
    ]
    app.time.on(days=1)
    for number in range(1, 8):
        tasks.complete(app.db, tasks.get(app.db, number, "person"), app.time)
    assert reminders.due_line(app) == "reminder t8: water the plants (due 09:00) and 1 more: agent tasks"


def test_a_repeated_one_that_was_missed_says_how_often(app):
    keep(app, "water the plants", "every day 9:00")
    app.time.on(days=2)
    assert Reminders(app).due_lines()[0].startswith("reminder t1: water the plants (2 times since yesterday 09:00)")


def test_a_look_while_nothing_happens_costs_next_to_nothing(app):
    shown = Reminders(app)
    keep(app, "call the dentist", "tomorrow")
    shown.due_lines()
    began = time.process_time()
    for _ in range(1000):
        shown.due_lines()
    assert time.process_time() - began < 0.5  # a thousand seconds


def test_a_command_is_run_once_for_each_time_with_the_words_as_one_argument(app, tmp_path):
    file = tmp_path / "notified"
    app.change_setting("remind_command", f'["sh", "-c", "printf %s.%s\\\\\\\\n \\"$#\\" \\"$1\\" >> {file}", "x"]')
    keep(app, "-x $(touch /tmp/no); 'call'", "in 5 minutes")
    keep(app, "second", "in 5 minutes")
    app.time.on(minutes=5)
    Reminders(app).due_lines()
    commands_ended()
    assert sorted(file.read_text().splitlines()) == ["1. -x $(touch /tmp/no); 'call'", "1.second"]
    file.unlink()
    app.time.on(minutes=61)
    assert len(Reminders(app).due_lines()) == 2  # again after a while: shown, not run
    commands_ended()
    assert not file.exists()


def test_a_command_that_is_not_there_is_told(app):
    app.change_setting("remind_command", '["no-such-program"]')
    keep(app, "call the dentist", "in 5 minutes")
    app.time.on(minutes=5)
    assert Reminders(app).due_lines()[1:] == [
        "remind_command cannot be run: there is no 'no-such-program' (agent config set remind_command)"
    ]


def test_slash_commands_keep_list_and_change_what_is_to_be_done(app, monkeypatch):
    assert said(app, "/tasks") == "there are no open tasks; /remind TEXT WHEN adds one"
    assert said(app, "/remind call the dentist in 2 hours").startswith(
        "kept t1 “call the dentist”, Friday 2 Jan 2026, "
    )
    assert said(app, "/remind read Proust") == "kept t2 “read Proust”, any time (/tasks rm t2 takes it back)"
    assert said(app, "/tasks").splitlines() == ["t1  today, 14:00  call the dentist", "t2  any time      read Proust"]
    assert said(app, "/tasks snooze t1 2 days").startswith("snoozed t1 “call the dentist”, ")
    assert said(app, "/tasks done t1 t2") == "done t1 “call the dentist”\ndone t2 “read Proust”"
    assert said(app, "/tasks rm t1") == "hidden t1 “call the dentist” (/tasks restore t1)"
    assert said(app, "/tasks restore 1") == "restored t1 “call the dentist”"
    assert said(app, "/tasks reopen t2") == "open again: t2 “read Proust”, any time"
    assert app.db.rows("select distinct origin from task") == [("typed",)]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("/remind", "say what and when"),
        ("/remind friday 3pm", "say what is to be done"),
        ("/tasks dnoe t1", "takes done, snooze, rm, restore, reopen, not 'dnoe'"),
        ("/tasks done", "name a task, as in /tasks done t4"),
        ("/tasks done t9", "there is no task t9"),
        ("/tasks done t1 t9", "there is no task t9"),
        ("/tasks snooze t1", "say until when"),
        ("/tasks snooze t1 every day", "say until when"),
        ("/tasks snooze tomorrow", "write the task and until when"),
    ],
)
def test_a_slash_command_that_cannot_be_changes_nothing(app, line, why):
    tasks.add(app.db, Scope("person", "/"), "read Proust", None, app.time)
    with pytest.raises(commands.UsageError) as refused:
        said(app, line)
    assert why in str(refused.value)
    assert app.db.rows("select text, state, hidden_at from task") == [("read Proust", "open", None)]


def test_tab_offers_what_can_be_done_with_tasks_and_their_handles(app):
    tasks.add(app.db, app.scope, "read Proust", None, app.time)

    def offered(before):
        return [each.text for each in PromptCompleter(app).get_completions(Document(before), CompleteEvent())]

    assert offered("/tasks s") == ["snooze"]
    assert offered("/tasks done t") == ["t1"]
    assert offered("/tasks done Prou") == ["t1"]
