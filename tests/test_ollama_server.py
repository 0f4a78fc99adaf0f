"""The scripted server is proven here, so that the tests that stand on it prove something.

Every scenario goes through the official client, streamed and whole, and what it makes of it
is written down in one table; the rest is asked with http.client, byte by byte.
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import httpx
import ollama
import pytest

from tests.ollama_server import go, script
from tests.ollama_server.asking import CALL, CHAT, EMBEDDER, HI, MODELS, TOOLS, ask, chat, lines
from tests.ollama_server.server import OllamaServer


@pytest.fixture
def server():
    with OllamaServer(MODELS) as running:
        yield running


@pytest.fixture
def lenient():
    with OllamaServer(MODELS, strict=False) as running:
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


def through_client(server, stream, **chat):
    with ollama.Client(server.url, trust_env=False, verify=False) as client:
        answer = client.chat(stream=stream, **chat)
        return summary(list(answer) if stream else [answer])


def outcome(server, stream, **chat):
    """What comes out of a client: an answer, or what it raises."""
    try:
        return through_client(server, stream, **{"model": CHAT.name, "messages": HI, "tools": TOOLS} | chat)
    except ollama.ResponseError as error:
        return Raised("ResponseError", error.status_code, error.error)
    except Exception as error:
        return Raised(type(error).__name__)


def crashed(status):
    return Raised("ResponseError", status, script.MIDSTREAM_ERROR.error)


LINE = script.line("wörd ✓") + script.line(done=True)
EXCEEDED = script.context_exceeded(42947, 8192)
TEMPLATE = script.template_error()
JSON_ERROR = Raised("JSONDecodeError")

SCENARIOS = {  # script, heard in a stream, heard in one piece
    "S1 text": (script.reply("Hello <b> ✓ there"), Heard("Hello <b> ✓ there")),
    "S2 thinking": (script.reply("42", "Let me see"), Heard("42", "Let me see")),
    "S3a calls": (script.reply(calls=[CALL, ("two", {})]), Heard(calls=(CALL, ("two", {})))),
    "S3b calls when done": (script.reply("so:", calls=[CALL], calls_at="done"), Heard("so:", calls=(CALL,))),
    "S4 budget spent": (script.empty_after_thinking("hmm"), Heard("", "hmm", reason="length")),
    "S5 error midstream": (script.reply("half an an", then=script.MIDSTREAM_ERROR), crashed(-1), crashed(500)),
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
    "S12 many lines at once": (script.raw(LINE), Heard("wörd ✓"), JSON_ERROR),
    "S12 byte by byte": (script.raw(*(bytes([b]) for b in LINE), pause=0.0), Heard("wörd ✓"), JSON_ERROR),
    "S12 long line": (script.reply("x" * 2_000_000), Heard("x" * 2_000_000)),
}


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_official_client_makes_this_of_it(server, name, stream):
    played, *heard = SCENARIOS[name]
    server.play(played)

    assert outcome(server, stream) == heard[0 if stream else -1]


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
    assert placed("gpt-oss:20b") == [([], False), ([f], True)]


def test_whole_answer_is_the_stream_folded(server):
    server.play(script.reply("a b", "hm", [CALL]), script.reply("a", calls=[CALL]))
    call = {"id": next(go.call_ids()), "function": {"index": 0, "name": "now", "arguments": {"zone": "UTC"}}}

    status, answer = chat(server, tools=TOOLS)

    assert (status, list(answer)[:5]) == (200, ["model", "created_at", "message", "done", "done_reason"])
    said = {"role": "assistant", "content": "a b", "thinking": "hm", "tool_calls": [call]}
    assert answer["message"] == said
    assert "tool_calls" not in chat(server)[1]["message"]  # no tools were offered


def test_default_answer_repeats_the_person(server):
    assert chat(server)[1]["message"]["content"] == "You said: hi"

    server.answer = lambda body: script.reply(f"{len(body['messages'])} messages")
    assert chat(server)[1]["message"]["content"] == "1 messages"


def test_thinking_is_played_unless_it_is_switched_off(server):
    server.play(*[script.reply("42", "hm")] * 4)

    assert "thinking" in chat(server)[1]["message"]
    assert "thinking" not in chat(server, think=False)[1]["message"]
    assert "thinking" not in chat(server, "gemma:2b")[1]["message"]
    assert "thinking" in chat(server, "gpt-oss:20b", think=False)[1]["message"]


def test_num_predict_stops_the_script_with_length(server):
    server.play(script.reply("one two three", "hm hm", [CALL]))

    _, answer = chat(server, options={"num_predict": 4}, tools=TOOLS)

    said = {"role": "assistant", "content": "one two", "thinking": "hm hm"}
    assert (answer["message"], answer["done_reason"], answer["eval_count"]) == (said, "length", 4)


REFUSALS = [  # the table of errors: what is asked, status, error
    ({"model": "nope"}, 404, "model 'nope' not found"),
    ({"model": ""}, 400, "model is required"),
    ({"model": "a b"}, 400, "invalid model name"),
    ({"model": 7}, 400, "json: cannot unmarshal number into Go struct field ChatRequest.model of type string"),
    (
        {"messages": "hi"},
        400,
        "json: cannot unmarshal string into Go struct field ChatRequest.messages of type []api.Message",
    ),
    ({"model": "gemma:2b", "tools": TOOLS}, 400, "registry.ollama.ai/library/gemma:2b does not support tools"),
    ({"model": "gemma:2b", "think": True}, 400, '"gemma:2b" does not support thinking'),
    ({"model": "nomic-embed-text"}, 400, '"nomic-embed-text" does not support chat'),
    ({"think": "hi"}, 400, 'invalid think value: "hi" (must be "high", "medium", "low", "max", true, or false)'),
    ({"options": {"num_ctx": "8"}}, 500, 'option "num_ctx" must be of type integer'),
    ({"keep_alive": "600"}, 400, 'time: missing unit in duration "600"'),
    ({"model": "x:cloud"}, 403, "ollama cloud is disabled: remote model is unavailable"),
]


@pytest.mark.parametrize(("body", "status", "error"), REFUSALS, ids=lambda value: str(value)[:40])
def test_chat_is_refused_in_the_servers_words(lenient, body, status, error):
    assert chat(lenient, **body) == (status, {"error": error})


def test_body_that_is_no_object_is_refused_in_go_words(server):
    def refused(raw):
        return ask(server, "POST", "/api/chat", raw)

    def told(words):
        return 400, "application/json; charset=utf-8", go.encode({"error": words})

    assert refused(b"") == told("missing request body")
    assert refused(b"xyz") == told("invalid character 'x' looking for beginning of value")
    assert refused(b'{"model":') == told("unexpected EOF")
    assert refused(b"[]") == told("json: cannot unmarshal array into Go value of type api.ChatRequest")


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
    server.wait_until(lambda: server.requests[0].disconnected_at is not None)

    first, second = server.requests
    assert (first.method, first.path, first.connection, first.lines_sent) == ("POST", "/api/chat", 1, 4)
    assert (second.path, second.connection, second.status) == ("/api/embed", 1, 200)
    assert first.headers["content-type"] == "application/json"
    assert json.loads(first.raw) == first.body == server.chats[0] == server.turns[0]
    assert server.embeds == [second.body]
    assert first.connected_at <= first.received_at <= first.disconnected_at


def test_chunked_request_body_is_read(server):
    def parts():
        yield b'{"model":"qwen3:8b","stream":false,'
        yield b'"messages":[{"role":"user","content":"hi"}]}'

    assert httpx.post(f"{server.url}/api/chat", content=parts(), trust_env=False).status_code == 200


def test_bare_bytes_are_sent_as_they_are(server):
    server.play(script.raw_http(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", b"four"))

    assert outcome(server, False) == Raised("RemoteProtocolError")


def test_server_runs_in_the_foreground():
    command = [sys.executable, "-m", "tests.ollama_server"]
    root = Path(__file__).parent.parent
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        host = process.stdout.readline().strip().removeprefix("OLLAMA_HOST=")
        with ollama.Client(host, trust_env=False, verify=False) as client:
            assert client.chat(CHAT.name, HI).message.content == "You said: hi"
        process.kill()
