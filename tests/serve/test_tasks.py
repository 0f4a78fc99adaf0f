"""/tasks over HTTP: kept, listed and done, each caller its own."""

import pytest

from tests.serving import opened, served


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
