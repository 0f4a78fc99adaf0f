"""The scripted server is proven here, so that the tests that stand on it prove something.

Every scenario goes through the official client, and what it makes of it is written down in one table; the rest is asked
with http.client, byte by byte.
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import ollama
import pytest

from tests.ollama_server import script
from tests.ollama_server.asking import CALL, CHAT, EMBEDDER, HI, MODELS, TOOLS, ask, chat, lines
from tests.ollama_server.server import OllamaServer
from tests.tables import for_each


@pytest.fixture
def server():
    with OllamaServer(MODELS, strict=False) as running:  # the client cannot say that nothing may be cut
        yield running


@dataclass(frozen=True)
class Heard:
    text: str = ""
    thinking: str = ""
    calls: tuple = ()
    reason: str | None = "stop"


@dataclass(frozen=True)
class Raised:
    error: str
    status: int | None = None
    text: object = None


def summary(parts):
    messages = [part.message for part in parts]
    return Heard(
        "".join(m.content or "" for m in messages),
        "".join(m.thinking or "" for m in messages),
        tuple((c.function.name, dict(c.function.arguments)) for m in messages for c in m.tool_calls or ()),
        parts[-1].done_reason if parts[-1].done else None,
    )


def outcome(server):
    """What comes out of a client: an answer, or what it raises."""
    try:
        with ollama.Client(server.url, trust_env=False, verify=False) as client:
            return summary(list(client.chat(CHAT.name, HI, tools=TOOLS, stream=True)))
    except ollama.ResponseError as error:
        return Raised("ResponseError", error.status_code, error.error)
    except Exception as error:
        return Raised(type(error).__name__)


def crashed(status):
    return Raised("ResponseError", status, script.MIDSTREAM_ERROR.error)


LINE = script.line("wörd ✓") + script.line(done=True)
EXCEEDED = script.context_exceeded(42947, 8192)
TEMPLATE = script.template_error()

SCENARIOS = {
    "S1 text": (script.reply("Hello <b> ✓ there"), Heard("Hello <b> ✓ there")),
    "S2 thinking": (script.reply("42", "Let me see"), Heard("42", "Let me see")),
    "S3a calls": (script.reply(calls=[CALL, ("two", {})]), Heard(calls=(CALL, ("two", {})))),
    "S3b calls when done": (script.reply("so:", calls=[CALL], calls_at="done"), Heard("so:", calls=(CALL,))),
    "S4 budget spent": (script.empty_after_thinking("hmm"), Heard("", "hmm", reason="length")),
    "S5 error midstream": (script.reply("half an an", then=script.MIDSTREAM_ERROR), crashed(-1)),
    "S5 error at once": (script.reply(then=script.MIDSTREAM_ERROR), crashed(500)),
    "S6 error first": (script.error(500, "it stopped"), Raised("ResponseError", 500, "it stopped")),
    "S6 not JSON": (script.error_text(502, "Bad Gateway"), Raised("ResponseError", 502, "Bad Gateway")),
    "S6 bad call": (script.unparsable_call(), Raised("ResponseError", 500, script.unparsable_call().body["error"])),
    "S7 no done": (script.reply("ha ha", then=script.NO_DONE), Heard("ha ha", reason=None)),
    "S8 cut": (script.reply("half an", then=script.CUT), Raised("RemoteProtocolError")),
    "S8 reset": (script.reply("half an", then=script.RESET), Raised("ReadError")),
    "S9 context": (EXCEEDED, Raised("ResponseError", 400, EXCEEDED.body["error"])),
    "S10 template": (TEMPLATE, Raised("ResponseError", 500, TEMPLATE.body["error"])),
    "S11 slow": (script.silence(0.03, then=script.reply("at last", delay=0.01)), Heard("at last")),
    "S12 many lines at once": (script.raw(LINE), Heard("wörd ✓")),
    "S12 byte by byte": (script.raw(*(bytes([b]) for b in LINE), pause=0.0), Heard("wörd ✓")),
    "S12 long line": (script.reply("x" * 2_000_000), Heard("x" * 2_000_000)),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_official_client_makes_this_of_it(server, name):
    played, heard = SCENARIOS[name]
    server.play(played)
    assert outcome(server) == heard


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


def test_default_answer_repeats_the_person(server):
    assert said_by(server) == ("You said: hi", "")
    server.answer = lambda body: script.reply(f"{len(body['messages'])} messages")
    assert said_by(server) == ("1 messages", "")


def test_thinking_is_played_unless_it_is_switched_off(server):
    server.play(*[script.reply("42", "hm")] * 3)
    assert said_by(server) == ("42", "hm")
    assert said_by(server, think=False) == ("42", "")
    assert said_by(server, "gemma:2b") == ("42", "")


def test_num_predict_stops_the_script_with_length(server):
    server.play(script.reply("one two three", "hm hm", [CALL]))
    *lines, done = chat(server, options={"num_predict": 4}, tools=TOOLS)[1]
    assert [line["message"]["content"] for line in lines] == ["", "", "one", " two"]
    assert (done["done_reason"], done["eval_count"]) == ("length", 4)


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
    assert ask(server, "GET", "/", headers={"Host": "evil.example.com"}) == (403, None, b"")


def test_requests_are_recorded_and_the_connection_is_kept(server):
    with ollama.Client(server.url, trust_env=False, verify=False) as client:
        list(client.chat(CHAT.name, HI, stream=True))
        client.embed(EMBEDDER.name, "a")
    first, second = server.requests
    assert (first.method, first.path, first.lines_sent) == ("POST", "/api/chat", 4)
    assert first.headers["content-type"] == "application/json"
    assert (second.path, second.status, server.counters.connections) == ("/api/embed", 200, 1)
    assert json.loads(first.raw) == first.body == server.chats[0] == server.turns[0]
    assert server.embeds == [second.body]


def test_bare_bytes_are_sent_as_they_are(server):
    server.play(script.raw_http(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", b"four"))
    assert outcome(server) == Raised("RemoteProtocolError")


def test_server_runs_in_the_foreground():
    command = [sys.executable, "-m", "tests.ollama_server"]
    root = Path(__file__).parent.parent
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        host = process.stdout.readline().strip().removeprefix("OLLAMA_HOST=")
        with ollama.Client(host, trust_env=False, verify=False) as client:
            assert summary(list(client.chat(CHAT.name, HI, stream=True))).text == "You said: hi"
        process.kill()
