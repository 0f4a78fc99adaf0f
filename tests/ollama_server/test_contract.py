"""What a client must not do is written down; and, if one is offered, a real server has the same shapes."""

import json
import os
from types import SimpleNamespace

import pytest

from tests.ollama_server.asking import CHAT, HI, MODELS, ask, chat
from tests.ollama_server.registry import Model
from tests.ollama_server.server import OllamaServer

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
