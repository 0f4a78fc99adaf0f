"""What a program tries that wants more than it was given: another's words, or the server for itself."""

import socket
import threading
import time
from contextlib import contextmanager

import anyio
import apsw
import pytest

from agent_cli.memory import tombstones
from agent_cli.memory.conversations import callers
from agent_cli.memory.forgetting import forget, selection
from agent_cli.serve import routes
from agent_cli.serve.state import ServerLimits
from tests.ollama_server import script
from tests.serving import asking, listening, opened


def test_stream_of_an_old_token_ends_when_its_caller_is_given_a_new_one(house):
    house.caller("bot")
    caller = callers.get(house.db, "bot")

    async def events():
        stream = routes._log(house.house, caller, 0)
        await anext(stream)
        callers.revoke(house.db, "bot", house.app.time)
        callers.add(house.db, "bot", house.app.time)
        return [event async for event in stream]

    with anyio.from_thread.start_blocking_portal() as portal:
        assert portal.start_task_soon(events).result(10) == []


def test_naming_the_session_of_another_tells_nothing_by_waiting(house, server):
    one, other = house.caller("one"), house.caller("other")
    one.chat("hi")
    go_on = threading.Event()
    server.answer = lambda body: go_on.wait(10) and script.reply("so")
    with asking(lambda: one.chat("and?", "s1")):
        server.wait_for_chats(2)
        began = time.monotonic()
        told = other.chat("hi", "s1")
        waited = time.monotonic() - began
        go_on.set()
    assert told.status_code == 404
    assert waited < 5


def test_what_another_had_erased_cannot_be_found_out_by_proposing_it(house):
    words = "Remember that my boat is called Windrose."
    mine, bot, other = house.caller("mine", mine=True), house.caller("bot"), house.caller("other")
    mine.chat(words)
    bot.chat(words)
    for owner, fact in (("person", "f1"), ("caller:bot", "f2")):
        names = selection.select_by_handle(house.db, owner, [fact])
        forget.erase(house.db, forget.planned(house.db, names), house.app.time)
    told = [" ".join(each.chat(words).json()["notices"]) for each in (mine, bot, other)]
    assert ["waits for your yes" in each for each in told] == [False, False, True]
    assert tombstones.any_exist(house.db)


def test_locked_file_keeps_no_caller_from_reading(house):
    bot = house.caller("bot")
    bot.chat("My boat is called Windrose.")
    house.settle()
    bot.get("/search", params={"q": "Windrose"})
    house.db.execute("update caller set seen_at = null")
    house.db.busy_timeout = 0.1
    with locked(house.app.path):
        told = [bot.get(path) for path in ("/tasks", "/search?q=Windrose")]
        refused = bot.chat("and?")
    assert [each.status_code for each in told] == [200, 200]
    assert "Windrose" in told[1].text
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "database")
    assert "memory.db" not in refused.text


@contextmanager
def locked(path):
    """As another program has it that writes for long."""
    other = apsw.Connection(str(path))
    other.execute("begin immediate")
    yield
    other.close()


@pytest.mark.parametrize("said", [b"", b"GET /health HTTP/1.1\r\nHost: "])
def test_connection_that_asks_nothing_is_closed(tmp_path, said):
    with listening(opened(tmp_path), ServerLimits(read_seconds=0.3)) as (address, _), connected(address) as slow:
        slow.sendall(said)
        while slow.recv(1000):
            pass


def test_connections_are_bounded_and_those_in_use_go_on(tmp_path):
    with listening(opened(tmp_path), ServerLimits(connections=5)) as (address, house):
        assert house.client.get("/health").status_code == 200
        crowd = [connected(address) for _ in range(20)]
        assert house.client.get("/health").status_code == 200
        answered = [is_answered(each) for each in crowd]
        for each in crowd:
            each.close()
    assert answered == [False] * 16 + [True] * 4


def test_connections_that_ask_nothing_keep_nobody_out(tmp_path):
    with listening(opened(tmp_path), ServerLimits(connections=5)) as (address, _):
        crowd = [connected(address) for _ in range(20)]
        with connected(address) as asking:
            assert is_answered(asking)
        for each in crowd:
            each.close()


def test_request_with_a_length_that_is_chunked_too_is_refused_and_its_connection_closed(tmp_path):
    with listening(opened(tmp_path)) as (address, _), connected(address) as asking:
        request = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
        both = request + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        asking.sendall(both + request + b"\r\n")
        answer = b""
        while part := asking.recv(1000):
            answer += part
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1


def connected(address):
    host, port = address.removeprefix("http://").rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=5)


def is_answered(connection):
    """Whether a request is answered on it; else it was closed."""
    try:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = connection.recv(1000)
    except (BrokenPipeError, ConnectionResetError):
        return False
    return answer.startswith(b"HTTP/1.1 200 ")
