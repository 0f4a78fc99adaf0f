"""The scripted server is proven here, so that the tests that stand on it prove something."""

import contextlib
import http.client
import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import ollama
import pytest

from tests.ollama_server import script
from tests.ollama_server.registry import Model
from tests.ollama_server.server import OllamaServer
from tests.tables import for_each

CHAT = Model("qwen3:8b", capabilities=("completion", "tools", "thinking"))
EMBEDDER = Model("nomic-embed-text", capabilities=("embedding",), embedding_length=768)
PLAIN = Model("gemma:2b")
NATIVE = Model("own:1b", capabilities=("completion", "tools"), mode="native")
MODELS = (CHAT, EMBEDDER, PLAIN, NATIVE)

HI = [{"role": "user", "content": "hi"}]
TOOLS = [{"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}]
UNCUT = {"truncate": False, "shift": False}


def ask(server, method, path, body=None, headers=None):
    """Status, content type and body."""
    connection = http.client.HTTPConnection(server.host, timeout=5)
    with contextlib.closing(connection):
        raw = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, raw, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read()


def post(server, path, **body):
    """Status and parsed body."""
    status, _, answer = ask(server, "POST", path, body)
    return status, json.loads(answer)


def chat(server, model=CHAT.name, messages=HI, **more):
    """Status and parsed lines."""
    body = {"model": model, "messages": messages, **UNCUT} | more
    status, _, answer = ask(server, "POST", "/api/chat", body)
    return status, [json.loads(line) for line in answer.splitlines()]


def lines(server, **body):
    _, kind, answer = ask(server, "POST", "/api/chat", {"model": CHAT.name, "messages": HI, **UNCUT} | body)
    assert kind == "application/x-ndjson"
    return answer.decode().splitlines()


@contextlib.contextmanager
def open_chat(server, model=CHAT.name, **more):
    """A socket on which a chat was asked for and nothing is read."""
    body = json.dumps({"model": model, "messages": HI, **UNCUT} | more).encode()
    with socket.create_connection(("127.0.0.1", int(server.host.partition(":")[2]))) as sock:
        sock.sendall(b"POST /api/chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        yield sock


@pytest.fixture
def server():
    with OllamaServer(MODELS) as running:
        yield running


@pytest.fixture
def lenient():
    with OllamaServer(MODELS, strict=False) as running:
        yield running


# Byte by byte.


def test_stream_is_written_as_go_writes_it(server):
    server.play(script.reply("Hel lo<b>✓", tokens=5, prompt_tokens=26))
    head = '{"model":"qwen3:8b","created_at":"2026-01-01T00:00:00.123456789Z","message":{"role":"assistant",'
    assert lines(server) == [
        head + '"content":"Hel"},"done":false}',
        head + '"content":" lo\\u003cb\\u003e✓"},"done":false}',
        head + '"content":""},"done":true,"done_reason":"stop","total_duration":910000000,"load_duration":50000000,'
        '"prompt_eval_count":26,"prompt_eval_duration":130000000,"eval_count":5,"eval_duration":240000000}',
    ]


def test_calls_stand_where_the_mode_puts_them(server):
    def placed(model):
        server.play(script.reply("so", calls=[("f", {"n": 5.0}), ("g", {})]))
        return [
            ([(c["id"][:5], *c["function"].values()) for c in m.get("tool_calls", ())], line["done"])
            for line in map(json.loads, lines(server, model=model, tools=TOOLS))
            for m in [line["message"]]
        ]

    f, g = ("call_", 0, "f", {"n": 5}), ("call_", 1, "g", {})
    assert placed("qwen3:8b") == [([], False), ([f], False), ([g], False), ([], True)]
    assert placed("own:1b") == [([], False), ([f, g], True)]


def said_by(server, model=CHAT.name, **more):
    messages = [line["message"] for line in chat(server, model, **more)[1]]
    return "".join(each["content"] for each in messages), "".join(each.get("thinking", "") for each in messages)


def test_thinking_is_played_unless_it_is_switched_off(server):
    server.play(*[script.reply("42", "hm")] * 3)
    assert said_by(server) == ("42", "hm")
    assert said_by(server, think=False) == ("42", "")
    assert said_by(server, "gemma:2b") == ("42", "")


REFUSALS = [  # the table of errors: what is asked, status, error
    ({"model": "nope"}, 404, "model 'nope' not found"),
    ({"model": ""}, 400, "model is required"),
    ({"model": "a b"}, 400, "invalid model name"),
    ({"model": "gemma:2b", "tools": TOOLS}, 400, "registry.ollama.ai/library/gemma:2b does not support tools"),
    ({"model": "gemma:2b", "think": True}, 400, '"gemma:2b" does not support thinking'),
    ({"model": "nomic-embed-text"}, 400, '"nomic-embed-text" does not support chat'),
    ({"options": {"num_ctx": "8"}}, 500, 'option "num_ctx" must be of type integer'),
    ({"model": "x:cloud"}, 403, "ollama cloud is disabled: remote model is unavailable"),
]


@for_each(("body", "status", "error"), REFUSALS)
def test_chat_is_refused_in_the_servers_words(body, status, error):
    with OllamaServer(MODELS, strict=False) as server:
        assert chat(server, **body) == (status, [{"error": error}])


def test_paths_and_methods_are_answered_as_gin_does(server):
    assert ask(server, "GET", "/") == (200, "text/plain; charset=utf-8", b"Ollama is running")
    assert ask(server, "HEAD", "/")[2] == b""
    assert ask(server, "GET", "/nope") == (404, "text/plain", b"404 page not found")
    assert ask(server, "GET", "/api/chat") == (405, "text/plain", b"405 method not allowed")


def test_server_runs_in_the_foreground():
    command = [sys.executable, "-m", "tests.ollama_server"]
    root = Path(__file__).parents[1]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        host = process.stdout.readline().strip().removeprefix("OLLAMA_HOST=")
        with ollama.Client(host, trust_env=False, verify=False) as client:
            assert next(client.chat(CHAT.name, HI, stream=True)).message.content == "You"
        process.kill()


MADE = {"role": "assistant", "tool_calls": [{"id": "call_1", "function": {"name": "now", "arguments": {}}}]}
RESULT = {"role": "tool", "tool_name": "now", "tool_call_id": "call_1", "content": "noon"}
SYSTEM = {"role": "system", "content": "be brief"}

BREACHES = [
    ({"messages": [SYSTEM, *HI, MADE, RESULT]}, []),
    ({"messages": [SYSTEM, SYSTEM, *HI]}, ["there is more than one system message"]),
    ({"messages": [*HI, SYSTEM]}, ["the system message is not the first"]),
    ({"messages": [*HI, {"role": "assistant", "content": "so"}]}, ["the last message is the assistant's"]),
    ({"messages": [*HI, RESULT]}, ["message 2 is a tool result without a call before it"]),
    ({"messages": [*HI, MADE, *HI]}, ["message 3 comes before the result of now"]),
    (
        {"messages": [*HI, MADE, RESULT | {"tool_call_id": "other"}, *HI]},
        ["message 3 is a tool result without a call before it", "message 4 comes before the result of now"],
    ),
    ({"options": {"num_ctx": 8192, "colour": 1}}, ["the option colour is unknown to the server"]),
    ({"stream": False}, ["it is not streamed"]),
    ({"shift": True}, ["messages may be dropped in silence"]),
    ({"model": "x-cloud"}, ["a request names the cloud model x-cloud"]),
]


@pytest.mark.parametrize(("body", "problems"), BREACHES, ids=lambda value: str(value)[:60])
def test_breach_of_the_contract_is_written_down(lenient, body, problems):
    chat(lenient, **body)
    assert lenient.problems == [f"POST /api/chat: {problem}" for problem in problems]


def test_string_arguments_are_refused_and_written_down(lenient):
    made = {"role": "assistant", "tool_calls": [{"function": {"name": "now", "arguments": "{}"}}]}
    status, answer = chat(lenient, messages=[*HI, made, RESULT])
    assert (status, answer[0]["error"]) == (400, "Value looks like object, but can't find closing '}' symbol")
    assert lenient.problems == ["POST /api/chat: the arguments of a call to now are a string"]


def test_key_sent_to_a_local_server_is_written_down(lenient):
    ask(lenient, "GET", "/api/tags", headers={"Authorization": "Bearer secret"})
    assert lenient.problems == ["GET /api/tags: an Authorization header was sent to a local server"]


def test_a_change_of_the_context_is_written_down(lenient):
    chat(lenient, options={"num_ctx": 8192})
    chat(lenient)
    lenient.expect_stable = False
    chat(lenient, options={"num_ctx": 2048})
    assert lenient.problems == ["POST /api/chat: num_ctx of qwen3:8b changed from 8192 to 4096, which reloads it"]


def test_strict_server_fails_the_test():
    def run():
        with OllamaServer(MODELS) as server:
            chat(server, messages=[*HI, RESULT])

    with pytest.raises(AssertionError, match="message 2 is a tool result without a call"):
        run()


def test_crash_of_an_answer_is_told_and_looks_like_a_panic(lenient):
    lenient.answer = lambda body: 1 / 0
    assert ask(lenient, "POST", "/api/chat", {"model": CHAT.name, "messages": HI})[::2] == (500, b"")
    assert "ZeroDivisionError" in lenient.problems[-1]


# A real server, if one is offered: OLLAMA_TEST_HOST, and the names of a chat and an embedding model there.


def shapes(url, model, embedder):
    """What must be the same in the real server and here: status, content type, keys in order, errors."""
    here = SimpleNamespace(host=url.removeprefix("http://").rstrip("/"))
    asked = {"model": model, "messages": HI, "truncate": False, "shift": False, "options": {"num_predict": 2}}

    def shape(method, path, **body):
        status, kind, answer = ask(here, method, path, body or None)
        last = json.loads(answer.splitlines()[-1]) if "json" in (kind or "") else answer
        return status, kind, last if status >= 400 else list(last) if isinstance(last, dict) else last

    return {
        "root": shape("GET", "/"),
        "no page": shape("GET", "/nope"),
        "method": shape("GET", "/api/chat"),
        "version": shape("GET", "/api/version"),
        "tags": shape("GET", "/api/tags"),
        "chat": shape("POST", "/api/chat", **asked),
        "missing": shape("POST", "/api/chat", **asked | {"model": "nope"}),
        "no model": shape("POST", "/api/chat", **asked | {"model": ""}),
        "bad option": shape("POST", "/api/chat", **asked | {"options": {"num_ctx": "8"}}),
        "embed": shape("POST", "/api/embed", model=embedder, input="a"),
        "embed number": shape("POST", "/api/embed", model=embedder, input=[1]),
        "embed missing": shape("POST", "/api/embed", model="nope", input="a"),
        "show missing": shape("POST", "/api/show", model="nope"),
    }


@pytest.mark.skipif("OLLAMA_TEST_HOST" not in os.environ, reason="needs a real server: OLLAMA_TEST_HOST")
def test_real_server_has_the_same_shapes(lenient):
    model = os.environ.get("OLLAMA_TEST_MODEL", "qwen3:8b")
    embedder = os.environ.get("OLLAMA_TEST_EMBEDDER", "nomic-embed-text")
    lenient.registry.add(Model(model))
    lenient.registry.add(Model(embedder, capabilities=("embedding",)))
    assert shapes(lenient.host, model, embedder) == shapes(os.environ["OLLAMA_TEST_HOST"], model, embedder)


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def test_vectors_of_texts_that_share_words_are_near(server):
    with ollama.Client(server.url, trust_env=False, verify=False) as client:
        one, two, far = client.embed(
            EMBEDDER.name, ["the cat sat", "search_query: a cat sat", "stock prices"]
        ).embeddings
    assert len(one) == 768
    assert cosine(one, one) == pytest.approx(1, abs=1e-6)
    assert cosine(one, two) > 0.5 > 0.2 > cosine(one, far)
    assert [seen.prefix for seen in server.embedded] == ["none", "query", "none"]


def test_embed_answers_in_the_servers_shape(server):
    server.embed = lambda model, text: [3.0, 4.0] if text == "a" else [1.0, 0.0]
    _, _, answer = ask(server, "POST", "/api/embed", {"model": EMBEDDER.name, "input": ["a", "b"]})
    assert answer == (
        b'{"model":"nomic-embed-text","embeddings":[[0.6,0.8],[1,0]],'
        b'"total_duration":14143917,"load_duration":1019500,"prompt_eval_count":2}'
    )


def test_embed_is_refused_in_the_servers_words(server):
    def refused(model=EMBEDDER.name, text="a"):
        status, answer = post(server, "/api/embed", model=model, input=text)
        return status, answer.get("error")

    server.embed = lambda model, text: [float("nan")] if text == "nan" else [1.0]
    server.play_embed(script.error(500, "it stopped"))
    assert refused() == (500, "it stopped")
    assert refused(text=[1]) == (400, "invalid input type")
    assert refused(text=["a", "nan"]) == (400, "embedding contains NaN or Inf values")
    assert refused(text="x" * 9000) == (200, None)
    assert server.embedded[-1].text == "x" * 8192
    assert refused("nope") == (404, 'model "nope" not found, try pulling it first')
    assert refused("gemma:2b")[0] == 501


# Catalogue and pulling.


def test_official_client_reads_the_catalogue(server):
    chat(server)
    with ollama.Client(server.url, trust_env=False, verify=False) as client:
        assert {model.model for model in client.list().models} == {m.full_name for m in MODELS}
        assert client.ps().models[0].context_length == 4096
        shown = client.show("nomic-embed-text")
        with pytest.raises(ollama.ResponseError, match="model 'nope:latest' not found"):
            client.show("nope")
    assert shown.capabilities == ["embedding"]
    assert (shown.modelinfo["bert.context_length"], shown.modelinfo["bert.embedding_length"]) == (2048, 768)


def test_tags_are_in_the_servers_key_order(server):
    [first, *_] = json.loads(ask(server, "GET", "/api/tags")[2])["models"]
    assert list(first) == ["name", "model", "modified_at", "size", "digest", "details", "capabilities"]
    assert list(first["details"])[-2:] == ["context_length", "embedding_length"]


def test_other_num_ctx_reloads_the_model():
    with OllamaServer(MODELS) as server:
        server.expect_stable = False
        for size in (8192, 8192, 4096):
            chat(server, options={"num_ctx": size})
        chat(server)  # the default is 4096
        assert (server.counters.loads, server.counters.reloads) == ({"qwen3:8b": 2}, 1)


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
