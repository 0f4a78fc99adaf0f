"""/tasks over HTTP: kept, listed and done, each caller its own."""

import pytest

from tests.serving import opened, served, wait_until


@pytest.fixture
def house(tmp_path):
    with served(opened(tmp_path, AGENT_MODEL="offline")) as running:
        yield running


def test_task_is_kept_listed_and_done(house):
    bot = house.caller("bot")
    made = bot.post("/tasks", {"text": "call the dentist", "when": "every monday 9:00"})
    plain = bot.post("/tasks", {"text": "buy milk"}).json()
    assert made.status_code == 201
    assert (made.json()["id"], made.json()["repeats"], plain["due_at"]) == ("t1", "FREQ=WEEKLY;BYDAY=MO", None)
    assert [each["id"] for each in bot.get("/tasks").json()["tasks"]] == ["t1", "t2"]
    assert bot.post("/tasks/t2/done", None).json()["state"] == "done"
    assert bot.post("/tasks/t2/done", None).status_code == 409
    assert [each["id"] for each in bot.get("/tasks?state=done").json()["tasks"]] == ["t2"]
    assert house.db.rows("select owner, origin from task") == [("caller:bot", "http")] * 2
    assert bot.post("/tasks", {"text": "x", "when": "no such time at all"}).status_code == 422


def test_tasks_of_another_are_not_there(house):
    bot, other = house.caller("bot"), house.caller("other")
    reader = house.caller("reader", writes=False)
    bot.post("/tasks", {"text": "call the dentist"})
    assert other.get("/tasks?state=all").json() == {"tasks": []}
    assert other.post("/tasks/t1/done", None).status_code == 404
    assert reader.post("/tasks", {"text": "x"}).status_code == 403
    assert reader.post("/tasks/t1/done", None).status_code == 403


def test_a_reminder_of_a_caller_is_an_event_stands_in_its_tasks_and_comes_with_its_next_answer(house):
    bot, mine = house.caller("bot"), house.caller("mine", mine=True)
    bot.post("/tasks", {"text": "call the dentist", "when": "tomorrow 9:00"})
    mine.post("/tasks", {"text": "water the plants", "when": "tomorrow 9:00"})
    assert bot.chat("hello").json()["notices"] == []
    house.db.execute("update task set due_at = '2020-01-01T08:00:00.000Z'")
    wait_until(lambda: bot.get("/tasks").json()["tasks"][0]["reminded_at"])
    assert house.db.rows("select subject from event where kind = 'task reminded'") == [("t1",)]
    assert mine.get("/tasks").json()["tasks"][0]["reminded_at"] is None  # the person's comes up where the person is
    assert mine.chat("hello").json()["notices"] == []
    assert [each.partition(" (")[0] for each in bot.chat("hello").json()["notices"]] == [
        "reminder t1: call the dentist"
    ]
    assert bot.chat("hello").json()["notices"] == []


def test_a_reminder_that_comes_up_while_an_answer_is_made_comes_with_the_next(house):
    bot = house.caller("bot")
    bot.post("/tasks", {"text": "call the dentist", "when": "tomorrow 9:00"})
    assert bot.chat("hello").json()["notices"] == []
    asked = house.db.value("select at from message where role = 'user'")
    house.db.execute("update session set last_at = '2999-01-01T00:00:00.000Z'")  # the answer took long
    house.db.execute("update task set due_at = '2020-01-01T08:00:00.000Z', reminded = 1, reminded_at = ?", (asked,))
    assert [each.partition(" (")[0] for each in bot.chat("hello").json()["notices"]] == [
        "reminder t1: call the dentist"
    ]
