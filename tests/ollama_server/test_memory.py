"""Models come into memory and leave it; prompts are longer than the context."""

import contextlib
import json
import select
import threading
import time

import pytest

from tests.ollama_server import script
from tests.ollama_server.asking import CHAT, MODELS, ask, chat, open_chat
from tests.ollama_server.server import OllamaServer


def test_other_num_ctx_reloads_the_model():
    with OllamaServer(MODELS) as server:
        server.expect_stable = False
        for size in (8192, 8192, 4096):
            chat(server, options={"num_ctx": size})
        chat(server)  # the default is 4096
        assert (server.counters.loads, server.counters.reloads) == ({"qwen3:8b": 2}, 1)


def test_ps_tells_the_context(server):
    chat(server, options={"num_ctx": 8192})
    [running] = json.loads(ask(server, "GET", "/api/ps")[2])["models"]
    assert (running["name"], running["context_length"], running["size_vram"]) == ("qwen3:8b", 8192, 0)


def test_one_request_runs_at_a_time_per_model(server):
    go_on = threading.Event()

    def answer(body):
        assert body["model"] != CHAT.name or go_on.wait(5)
        return script.reply("so")

    server.answer = answer
    with open_chat(server) as first, open_chat(server) as second:
        server.wait_until(lambda: (server.counters.running, server.counters.waiting) == (1, 1))
        assert chat(server, "gemma:2b")[0] == 200  # another model is free
        assert select.select([first, second], [], [], 0) == ([], [], [])  # not even a status line
        go_on.set()
        server.wait_until_idle()
        assert b"so" in first.recv(9999)
        assert b"so" in second.recv(9999)
    assert (server.counters.peak, server.counters.cancelled) == (2, 0)


def test_hanging_up_stops_the_script_at_once(server):
    server.play(script.reply("one"), script.silence(60, then=script.reply("late")))
    chat(server)
    with open_chat(server):
        server.wait_for_chats(2)
    gone = time.monotonic()
    server.wait_until(lambda: server.counters.cancelled == 1)
    assert time.monotonic() - gone < 3
    assert (server.requests[1].cancelled, server.requests[1].lines_sent, server.counters.running) == (True, 0, 0)


def test_who_waits_in_line_may_leave(server):
    server.play(script.silence(60, then=script.reply("late")))
    with open_chat(server):
        server.wait_until(lambda: server.counters.running == 1)
        with open_chat(server):
            server.wait_until(lambda: server.counters.waiting == 1)
        server.wait_until(lambda: server.counters.cancelled == 1)
        assert (server.counters.running, server.counters.waiting) == (1, 0)


@pytest.mark.parametrize("delay", [0, 60])
def test_server_stops_at_once_with_a_client_connected(delay):
    with contextlib.ExitStack() as clients:
        with OllamaServer(MODELS) as server:
            server.play(script.reply("x" * 3_000_000, delay=delay))  # more than the socket holds
            clients.enter_context(open_chat(server))
            server.wait_until(lambda: server.counters.running == 1)
            leaving = time.monotonic()
        assert time.monotonic() - leaving < 5
    assert not [thread for thread in threading.enumerate() if thread.name == "ollama-server"]


def test_prompt_that_does_not_fit_is_refused(server):
    huge = {"messages": [{"role": "user", "content": "x" * 3996}], "options": {"num_ctx": 100}}
    status, answer = chat(server, **huge)
    assert (status, answer[0]["error"][:58]) == (400, "the prompt is longer than the context length currently ava")
    assert chat(server, "own:1b", **huge) == (400, [script.context_exceeded(1000, 100).body])


# The prompt cache.


def said(*words):
    roles = ("user", "assistant") * len(words)
    return [{"role": role, "content": text} for role, text in zip(roles, words, strict=False)]


def test_only_what_differs_from_the_last_prompt_is_read(server):
    server.play(script.reply("b" * 400))
    chat(server, messages=said("a" * 400))
    chat(server, messages=said("a" * 400, "b" * 400, "c" * 400))
    chat(server, messages=said("something else"))
    chat(server, messages=said("a" * 400, "b" * 400, "c" * 400))
    first, second, other, again = [request.read_tokens for request in server.requests]
    assert first > 100
    assert 100 < second < 110
    assert other < 10
    assert again > 300


def test_reading_takes_time_and_who_hangs_up_leaves_what_was_read(server):
    server.prompts.tokens_a_second = 1000
    began = time.monotonic()
    with open_chat(server, messages=said("a" * 4000)):
        server.wait_until(lambda: server.counters.running == 1)
        time.sleep(0.3)
    server.wait_until_idle()
    at_most = 1000 * (time.monotonic() - began)  # tokens that may have been read, however slow the machine is
    chat(server, messages=said("a" * 4000))
    assert time.monotonic() - began > 1
    assert 1000 - at_most < server.requests[1].read_tokens < 950
