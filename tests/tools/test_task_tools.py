"""What the model may do with tasks: it says when in the person's words, and every mistake comes back in words."""

from dataclasses import replace
from datetime import datetime

import pytest

from agent_cli.memory.conversations import log
from agent_cli.memory.planner import tasks
from agent_cli.messages import Part, ToolCall
from agent_cli.tools.registry import BUILT_IN, allowed
from agent_cli.tools.tool import Access
from agent_cli.tools.tool import run as run_tool
from tests.conftest import HERE, noon
from tests.turns import agent, calls, run


@pytest.fixture
def here(context):
    return replace(context, access=Access(zone="Europe/Vienna"))


def called(here, name, **arguments):
    return run_tool(BUILT_IN[name], ToolCall("1", name, arguments), here)


def test_a_reminder_has_a_receipt_that_says_what_was_understood_and_knows_what_asked_for_it(here):
    asked = log.add_user_message(
        here.db, here.session, HERE, [Part("Remind me to call the dentist on Friday at 3pm", "typed")], noon()
    )
    kept = called(here, "create_reminder", text="call the dentist", when="Friday at 3pm")

    receipt = "kept t1 “call the dentist”, Friday 2 Jan 2026, 15:00"
    assert (kept.failed, kept.text, kept.receipt) == (False, receipt.replace("kept", "kept:"), receipt)
    assert here.db.rows("select session_id, message_id, origin, zone from task") == [
        (here.session, asked, "model", "Europe/Vienna")
    ]


@pytest.mark.parametrize(
    ("when", "why"),
    [
        ("yesterday", "is past"),
        ("at the crack of doom", "cannot be understood as a time"),
        ("31 Feb", "there is no 31 Feb"),
    ],
)
def test_a_time_that_cannot_be_is_told_to_the_model_and_nothing_is_kept(here, when, why):
    result = called(here, "create_reminder", text="call the dentist", when=when)
    assert (result.failed, why in result.text) == (True, True)
    assert here.db.rows("select * from task") == []


def test_a_reminder_is_asked_for_first_and_a_no_keeps_nothing(here):
    hired = agent(
        calls(("create_reminder", {"text": "call the dentist", "when": "friday 3pm"})),
        "As you wish.",
        approve=lambda call: False,
    )
    run(hired, here, "Remind me")
    assert here.db.rows("select * from task") == []


def test_what_is_open_is_listed_and_completed(here):
    for text, when in (("call the dentist", "friday 3pm"), ("water the plants", "every monday 9:00")):
        called(here, "create_reminder", text=text, when=when)

    assert called(here, "list_tasks").text == (
        "t1 “call the dentist”, Friday 2 Jan 2026, 15:00\n"
        "t2 “water the plants”, every monday 9:00, next Monday 5 Jan 2026, 09:00"
    )
    assert called(here, "complete_task", task="t1").receipt == "done t1 “call the dentist”"
    assert called(here, "complete_task", task="t2").text == (
        "done: t2; every monday 9:00, next Monday 12 Jan 2026, 09:00"
    )
    for wrong, why in (("t1", "t1 is done already"), ("t9", "there is no task t9"), ("the dentist", "is not a handle")):
        result = called(here, "complete_task", task=wrong)
        assert (result.failed, why in result.text) == (True, True)


def test_where_memory_is_not_read_no_task_is_shown_and_incognito_keeps_none(here):
    assert {"list_tasks", "complete_task"} & set(allowed(reads=False, keeps=True)) == set()
    result = run_tool(
        allowed(reads=False, keeps=False)["create_reminder"], ToolCall("1", "create_reminder", {"text": "a"}), here
    )
    assert (result.failed, "incognito" in result.text) == (True, True)
    assert tasks.listing(here.db, "person") == []


def test_words_that_hide_something_are_shown_without_it(here):
    result = called(here, "create_reminder", text="pay \x1b[31mMallory\u202e now", when="friday 3pm")
    assert result.receipt.startswith("kept t1 “pay [31mMallory now”")
    assert datetime.fromisoformat(tasks.get(here.db, 1, "person").due_at).hour == 14


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (ToolCall("1", "create_reminder", {"text": "a", "when": "friday 3pm"}), "Friday 2 Jan 2026, 15:00"),
        (ToolCall("1", "create_reminder", {"text": "a", "when": "the day the cows come home"}), ""),
        (ToolCall("1", "create_reminder", {"text": "a", "when": "yesterday"}), ""),
        (ToolCall("1", "complete_task", {"task": "t1"}), "t1 “water the plants”"),
        (ToolCall("1", "complete_task", {"task": "t9"}), ""),
    ],
    ids=["a time", "no time", "a time that is past", "a task", "no such task"],
)
def test_a_call_is_checked_before_the_person_is_asked(here, call, shown):
    tasks.add(here.db, HERE, "water the plants", None, noon)
    seen = []
    run(agent(calls((call.name, call.arguments)), "Well.", approve=lambda each: seen.append(each.resolved)), here)
    assert [value for each in seen for value in each.values()] == ([shown] if shown else [])
