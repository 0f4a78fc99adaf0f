"""POST /chat and /tasks: a conversation by program, remembered; each caller its own."""

import threading
from functools import partial

import pytest
from starlette.testclient import TestClient

from agent_cli.serve import http
from agent_cli.serve.state import ServerLimits
from tests.conftest import CHAT
from tests.ollama_server import script
from tests.serving import asking, events, heard, last_chat, opened, served, wait_until
from tests.tables import listed


def rows(house, sql):
    return house.db.rows(sql)


def test_conversation_goes_on_in_its_session(bot, server):
    first = bot.chat("My boat is called Windrose.").json()
    second = bot.chat("What did I say?", first["session"]).json()
    kept = {"session": "s1", "turn": "m1", "used": [], "notices": [], "receipts": []}
    ended = {"usage": first["usage"], "finish": "stop", "model": CHAT.name}
    assert first == {"answer": "heard: My boat is called Windrose.", **kept, **ended}
    assert (second["session"], second["turn"]) == ("s1", "m3")
    assert first["usage"]["tokens_in"] > 0
    assert "My boat is called Windrose." in str(last_chat(server)["messages"])


def test_stream_tells_the_events_of_ask(bot):
    answer = bot.chat("hi").json()
    stream = bot.post("/chat", {"message": "and this?", "session": "s1", "stream": True})
    told = events(stream)
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert [each["type"] for each in told] == ["start", "used", *["delta"] * (len(told) - 3), "end"]
    assert "".join(each["text"] for each in told if each["type"] == "delta") == "heard: and this?"
    assert {**told[-1], **answer}.keys() == {*answer.keys(), "type", "schema"}
    assert (told[0]["session"], told[-1]["answer"]) == ("s1", "heard: and this?")


def test_what_is_to_be_remembered_only_waits_for_a_yes(house, bot):
    told = bot.chat("Please remember that my boat is called Windrose.").json()
    mine = house.caller("own", mine=True).chat("Remember that I live in Graz.").json()
    assert rows(house, "select owner, state, origin from fact order by id") == [
        ("caller:bot", "pending", "http"),
        ("person", "pending", "http"),
    ]
    assert "waits" in str(told["notices"])
    assert told["receipts"] == told["notices"]
    assert "waits" in str(mine["notices"])


def test_what_needs_asking_is_denied_and_said(house, bot, server):
    server.answer = None
    server.play(script.reply("", calls=[("save_note", {"text": "milk"})]), script.reply("I could not."))
    told = bot.chat("Save a note.").json()
    assert told["answer"] == "I could not."
    assert any("save_note" in notice and "yes" in notice for notice in told["notices"])
    assert rows(house, "select count(*) from note") == [(0,)]
    assert rows(house, "select kind, actor from event where subject = 'save_note'") == [("call refused", "program")]


def test_caller_without_a_session_of_that_name_is_told_so(house, bot):
    other = house.caller("other")
    other.chat("secret words")
    for handle in ("s1", "s99"):
        answer = bot.chat("hi", handle)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "no_session")


def test_session_open_at_a_terminal_is_left_alone(house, bot):
    session = bot.chat("hi").json()["session"]
    house.db.execute("update session set holder = 'elsewhere/1/1' where id = 1")
    assert bot.chat("again", session).status_code == 409


def test_silent_conversation_of_a_caller_is_closed_and_summarised_by_the_server_itself(tmp_path, server):
    server.answer = lambda body: script.reply("Their boat is called Windrose.")
    app = opened(tmp_path, server, AGENT_IDLE_SECONDS="0.1", AGENT_CLOSE_AFTER="0.001")
    with served(app) as house:
        house.caller("bot").chat("My boat is called Windrose.")
        made = "select owner, text, method from summary where grain = 'session'"
        wait_until(lambda: [row for row in house.db.rows(made) if row[2] == "model"])
        assert rows(house, made) == [("caller:bot", "Their boat is called Windrose.", "model")]
        assert rows(house, "select closed_at is not null from session") == [(1,)]


def test_fault_of_the_server_is_told_as_one(tmp_path):
    app = opened(tmp_path, AGENT_MODEL="offline")
    with served(app) as house:
        bot = house.caller("bot")
        house.db.execute("drop table task")
        client = TestClient(http.Gate(house.house), base_url="http://localhost", raise_server_exceptions=False)
        told = client.get("/tasks", headers=bot.headers)
    assert (told.status_code, told.json()["error"]["code"]) == (500, "bug")


def test_turns_of_a_session_come_one_after_the_other(house, bot):
    session = bot.chat("first").json()["session"]
    with asking(*[partial(bot.chat, f"word {n}", session) for n in range(5)]):
        pass
    said = [text for (text,) in rows(house, "select text from message order by id")]
    assert sorted(said[2::2]) == [f"word {n}" for n in range(5)]
    assert [f"heard: {text}" for text in said[0::2]] == said[1::2]


def test_session_that_a_turn_has_just_begun_is_waited_for(house, bot, server):
    go_on = threading.Event()
    server.answer = lambda body: go_on.wait(10) and heard(body)
    with asking(lambda: bot.chat("one")):
        server.wait_for_chats(1)
        with asking(lambda: bot.chat("two", "s1")) as got:
            wait_until(lambda: house.house.turns.waiting == 1)
            go_on.set()
    assert (got[0].status_code, got[0].json()["session"]) == (200, "s1")
    assert [text for (text,) in rows(house, "select text from message order by id")] == listed("""one | heard: one
        two | heard: two""")


def test_turn_that_takes_too_long_ends_with_what_had_arrived(tmp_path, server):
    server.play(script.pieces(script.Piece("Well"), script.Piece(" then", delay=60)))
    with served(opened(tmp_path, server), ServerLimits(turn_seconds=1)) as house:
        told = house.caller("bot").chat("hi")
        assert (told.status_code, told.json()["error"]["code"], told.json()["answer"]) == (504, "timeout", "Well")
        assert rows(house, "select text, finish from message where role = 'assistant'") == [("Well", "cancelled")]


@pytest.mark.parametrize("limits", [{"waiting": 1}, {"waiting_per_caller": 1}])
def test_more_than_can_wait_are_told_to_come_again_and_one_caller_leaves_room_for_others(tmp_path, server, limits):
    go_on = threading.Event()
    server.answer = lambda body: go_on.wait(10) and script.reply("so")
    with served(opened(tmp_path, server), ServerLimits(turns=1, **limits)) as house:
        bot, other, turns = house.caller("bot"), house.caller("other"), house.house.turns
        with asking(lambda: bot.chat("hi")) as first:
            server.wait_for_chats(1)
            with asking(lambda: bot.chat("hi")) as second:
                wait_until(lambda: turns.waiting == 1)
                late = bot.chat("hi")
                with asking(lambda: other.chat("hi")) as others:
                    wait_until(lambda: turns.waiting == 2 or others)
                    go_on.set()
    assert (late.status_code, late.json()["error"]["code"], late.headers["retry-after"]) == (503, "busy", "5")
    assert [each.status_code for each in (*first, *second)] == [200, 200]
    assert others[0].status_code == (503 if "waiting" in limits else 200)


def test_caller_that_only_reads_is_answered_from_memory_and_nothing_is_written(house, bot):
    bot.chat("My boat is called Windrose.")
    reader = house.caller("reader", mine=True, writes=False)
    house.settle()
    before = dump(house.db)
    told = reader.chat("What is called Windrose? Remember that I am rich.").json()
    for path in ("/search?q=Windrose", "/metrics", "/v1/models", "/openapi.json"):
        assert reader.get(path).status_code == 200
    reader.post("/v1/chat/completions", {"model": "agent", "messages": [{"role": "user", "content": "hi"}]})
    assert (told["session"], told["turn"]) == (None, None)
    assert told["answer"].startswith("heard:")
    assert reader.chat("hi", "s1").status_code == 403
    house.settle()
    assert dump(house.db) == before


def dump(db):
    tables = [
        name for (name,) in db.rows("select name from sqlite_schema where type = 'table' and sql like '%strict%'")
    ]
    return {name: db.rows(f"select * from {name}") for name in sorted(tables)}


def test_what_is_sent_wrongly_is_told_in_sentences_that_say_what_to_do(bot):
    plain = bot.client.post("/chat", content=b'{"message": "hi"}', headers=bot.headers)
    broken = bot.post("/chat", None, headers={"Content-Type": "application/json"})
    answers = [plain, broken, bot.chat(" "), bot.post("/chat", {"msg": "hi"}), bot.get("/nowhere"), bot.get("/chat")]
    assert [(each.status_code, each.json()["error"]["message"]) for each in answers] == [
        (422, "the body must be a JSON object, sent with Content-Type: application/json"),
        (422, "the body must be a JSON object, sent with Content-Type: application/json"),
        (422, "body.message: it is empty"),
        (422, "body.message: it is needed; body.msg: there is no such field: GET /openapi.json lists them"),
        (404, "there is no such route: GET /openapi.json lists them"),
        (405, "this route takes another method: see GET /openapi.json"),
    ]


@pytest.fixture
def offline(tmp_path):
    with served(opened(tmp_path, AGENT_MODEL="offline")) as running:
        yield running


def test_task_is_kept_listed_and_done(offline):
    bot = offline.caller("bot")
    made = bot.post("/tasks", {"text": "call the dentist", "when": "every monday 9:00"})
    plain = bot.post("/tasks", {"text": "buy milk"}).json()
    assert made.status_code == 201
    assert (made.json()["id"], made.json()["repeats"], plain["due_at"]) == ("t1", "FREQ=WEEKLY;BYDAY=MO", None)
    assert [each["id"] for each in bot.get("/tasks").json()["tasks"]] == ["t1", "t2"]
    assert bot.post("/tasks/t2/done", None).json()["state"] == "done"
    assert bot.post("/tasks/t2/done", None).status_code == 409
    assert [each["id"] for each in bot.get("/tasks?state=done").json()["tasks"]] == ["t2"]
    assert offline.db.rows("select owner, origin from task") == [("caller:bot", "http")] * 2
    assert bot.post("/tasks", {"text": "x", "when": "no such time at all"}).status_code == 422


def test_tasks_of_another_are_not_there(offline):
    bot, other = offline.caller("bot"), offline.caller("other")
    reader = offline.caller("reader", writes=False)
    bot.post("/tasks", {"text": "call the dentist"})
    assert other.get("/tasks?state=all").json() == {"tasks": []}
    assert other.post("/tasks/t1/done", None).status_code == 404
    assert reader.post("/tasks", {"text": "x"}).status_code == 403
    assert reader.post("/tasks/t1/done", None).status_code == 403


def test_a_reminder_of_a_caller_is_an_event_stands_in_its_tasks_and_comes_with_its_next_answer(offline):
    bot, mine = offline.caller("bot"), offline.caller("mine", mine=True)
    bot.post("/tasks", {"text": "call the dentist", "when": "tomorrow 9:00"})
    mine.post("/tasks", {"text": "water the plants", "when": "tomorrow 9:00"})
    assert bot.chat("hello").json()["notices"] == []
    offline.db.execute("update task set due_at = '2020-01-01T08:00:00.000Z'")
    wait_until(lambda: bot.get("/tasks").json()["tasks"][0]["reminded_at"])
    assert offline.db.rows("select subject from event where kind = 'task reminded'") == [("t1",)]
    assert mine.get("/tasks").json()["tasks"][0]["reminded_at"] is None  # the person's comes up where the person is
    assert mine.chat("hello").json()["notices"] == []
    assert [each.partition(" (")[0] for each in bot.chat("hello").json()["notices"]] == [
        "reminder t1: call the dentist"
    ]
    assert bot.chat("hello").json()["notices"] == []


def test_a_reminder_that_comes_up_while_an_answer_is_made_comes_with_the_next(offline):
    bot = offline.caller("bot")
    bot.post("/tasks", {"text": "call the dentist", "when": "tomorrow 9:00"})
    assert bot.chat("hello").json()["notices"] == []
    asked = offline.db.value("select at from message where role = 'user'")
    offline.db.execute("update session set last_at = '2999-01-01T00:00:00.000Z'")  # the answer took long
    offline.db.execute("update task set due_at = '2020-01-01T08:00:00.000Z', reminded = 1, reminded_at = ?", (asked,))
    assert [each.partition(" (")[0] for each in bot.chat("hello").json()["notices"]] == [
        "reminder t1: call the dentist"
    ]
