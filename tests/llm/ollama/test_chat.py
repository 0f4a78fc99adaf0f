"""Chat and pulls over a real socket against the scripted server: what a caller sees of each thing a server can do."""

import json
import os
import socket
import subprocess
import sys
import threading

import pytest

from agent_cli.errors import Cancelled, ConfigError, ContextExceeded, ModelFailed, ModelMissing, ModelUnavailable
from agent_cli.llm import ollama
from agent_cli.llm.chat import ChatSettings
from agent_cli.llm.engine import Tag
from agent_cli.llm.model import Cancel, Done, Notice, Text
from agent_cli.llm.ollama import LineParser, OllamaEngine
from agent_cli.messages import Message, ToolCall
from tests.llm.asking import (
    HELLO,
    HISTORY,
    NAME,
    NOW,
    answering,
    ask,
    nowhere,
    raw_server,
    said,
    stopped_after,
    until_it_fails,
)
from tests.ollama_server import script
from tests.ollama_server.registry import Model
from tests.ollama_server.server import OllamaServer
from tests.tables import for_each

ABLE = Model(NAME, capabilities=("completion", "tools", "thinking"))


@pytest.fixture
def server():
    with OllamaServer(models=[ABLE, Model("plain:1b")], library=[Model("qwen3:4b")]) as it:
        yield it


# What a reply is made of.


def test_call_with_an_id_from_earlier_gets_a_new_one(server):
    earlier = [
        *HELLO,
        Message("assistant", calls=(ToolCall("call_0", "now", {}),)),
        Message("tool", "noon", call_id="call_0", tool_name="now"),
    ]
    call = {"id": "call_0", "function": {"name": "now", "arguments": {}}}
    server.play(script.raw(script.line(tool_calls=[call]), script.line(done=True)))
    again, _ = ask(server, messages=earlier, tools=[NOW])
    assert again.id != "call_0"


def test_lines_split_anywhere_arrive_whole(server):
    line = script.line("Grüße\u0085 aus Ö\u2028 und weiter") + script.line(done=True)
    server.play(script.raw(*[line[at : at + 7] for at in range(0, len(line), 7)], pause=0.0005))
    assert said(ask(server)) == "Grüße\u0085 aus Ö\u2028 und weiter"
    server.play(script.raw(script.line("a") + script.line("b") + b"\n" + script.line("c", done=True)))
    assert said(ask(server)) == "abc"


@pytest.mark.parametrize("depth", [51, 400, 900])
def test_arguments_nested_without_end_are_left_out_of_a_call(depth):
    """They could be read here, and neither be kept, nor asked about, nor ever be read again."""
    nested = b'{"a":' * depth + b"1" + b"}" * depth
    line = b'{"message":{"tool_calls":[{"id":"1","function":{"name":"calculate","arguments":%s}}]}}' % nested
    assert list(LineParser("llama", [], ()).feed(line)) == [ToolCall("1", "calculate", {})]


def test_what_an_argument_holds_otherwise_is_taken():
    line = b'{"message":{"tool_calls":[{"id":"1","function":{"name":"x","arguments":{"a":[{"b":[1]}]}}}]}}'
    assert list(LineParser("llama", [], ()).feed(line)) == [ToolCall("1", "x", {"a": [{"b": [1]}]})]


# What is sent.


def test_request_holds_what_the_server_needs_and_nothing_else(server):
    list(ask(server, messages=HISTORY, tools=[NOW], think=False, keep_alive="600", options={"temperature": 0.5}))
    call = {"id": "call_1", "function": {"index": 0, "name": "now", "arguments": {"zone": "UTC"}}}
    assert server.chats == [
        {
            "model": NAME,
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "time?"},
                {"role": "assistant", "content": "", "tool_calls": [call], "thinking": "look it up"},
                {"role": "tool", "content": "noon", "tool_name": "now", "tool_call_id": "call_1"},
            ],
            "stream": True,
            "truncate": False,
            "shift": False,
            "options": {"temperature": 0.5, "num_ctx": 4096},
            "tools": [{"type": "function", "function": NOW}],
            "think": False,
            "keep_alive": 600,
        }
    ]


def test_what_is_not_asked_for_is_not_sent(server):
    list(ask(server))
    assert set(server.chats[0]) == {"model", "messages", "stream", "truncate", "shift", "options"}


def test_an_answer_ends_at_its_limit_and_the_limit_of_one_reply_comes_first(server):
    model = OllamaEngine(server.host, ChatSettings(8192, answer_tokens=3)).chat(NAME)
    server.answer = lambda body: script.reply("One two three four five")
    *words, done = model.reply(HELLO)
    assert (said(words).strip(), done.finish, done.tokens_out) == ("One two three", "length", 3)
    assert said(model.reply(HELLO, limit=2)).strip() == "One two"
    assert [chat["options"]["num_predict"] for chat in server.chats] == [3, 2]
    own = OllamaEngine(server.host, ChatSettings(8192, answer_tokens=3, options={"num_predict": 4})).chat(NAME)
    assert said(own.reply(HELLO)).strip() == "One two three four"


def test_neither_a_proxy_nor_a_key_is_used(server, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("OLLAMA_API_KEY", "secret")
    list(ask(server))
    assert all("authorization" not in request.headers for request in server.requests)


# What goes wrong.


def test_model_without_thinking_is_asked_without_it_and_remembered(server):
    model = OllamaEngine(server.host, ChatSettings(4096)).chat("plain:1b")
    first, second = list(model.reply(HELLO, think=True)), list(model.reply(HELLO, think="high"))
    assert first[0] == Notice("the model 'plain:1b' has no separate thinking; asked again without it")
    assert not any(isinstance(chunk, Notice) for chunk in second)
    assert [chat.get("think") for chat in server.chats] == [True, None, None]


@pytest.mark.parametrize("mode", ["parser", "native"])
def test_conversation_that_does_not_fit_says_what_to_do(mode):
    long = [Message("user", "word " * 8000)]
    with OllamaServer(models=[Model(NAME, mode=mode)]) as server:
        sentence = until_it_fails(ask(server, messages=long), ContextExceeded)[1]
    assert "4096" in sentence
    assert "/new" in sentence
    assert "num_ctx" in sentence
    assert ("10001 tokens" in sentence) == (mode == "native")


def test_older_words_for_a_full_context_are_understood(server):
    for words in (
        "the input length exceeds the context length",
        "input length exceeds maximum context length",
        "the request exceeds the available context size. try increasing the context size",
    ):
        server.play(script.error(400, words))
        until_it_fails(ask(server), ContextExceeded)


def test_refused_setting_is_named(server):
    sentence = until_it_fails(ask(server, options={"temperature": "hot"}), ModelFailed)[1]
    assert sentence == (
        'the model server refuses a setting: option "temperature" must be of type float32; '
        "check keep_alive and the options in the settings"
    )


def test_model_too_big_for_the_machine_is_not_asked_twice():
    with OllamaServer(models=[Model(NAME, too_big=True)], profile="v024") as server:
        kept, sentence = until_it_fails(ask(server), ModelFailed)
    assert kept == []
    assert "does not fit into memory" in sentence


def test_answer_from_a_remote_host_is_refused(server):
    line = json.loads(script.line("hi")) | {"remote_host": "https://ollama.com:443"}
    server.play(script.raw(json.dumps(line).encode() + b"\n"))
    assert until_it_fails(ask(server), ModelMissing)[0] == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"<html>proxy</html>\n", "<html>proxy</html>"),
        (b"[1, 2]\n", "[1, 2]"),
        (b'{"error":{"message":"deep","code":5}}\n', "deep"),
        (b'{"error":"{\\"error\\":{\\"message\\":\\"deeper\\"}}"}\n', "deeper"),
    ],
)
def test_line_out_of_contract_is_a_failure_in_a_sentence(server, line, words):
    server.play(script.pieces(script.Piece("so far"), line))
    kept, sentence = until_it_fails(ask(server), ModelFailed)
    assert said(kept) == "so far"
    assert words in sentence


def test_lines_without_a_message_or_with_odd_fields_are_passed_over(server):
    odd = [
        b'{"done":false}\n',
        b"\n",
        b'{"message":null,"done":false}\n',
        b'{"message":{"content":7,"tool_calls":[null,{"function":5},{"function":{"name":3}}]}}\n',
        b'{"message":{"content":"fine"},"done":true,"eval_count":"many"}\n',
    ]
    server.play(script.raw(*odd))
    assert list(ask(server)) == [Text("fine"), Done("stop", NAME)]


def test_server_that_is_not_ollama_is_named_as_such():
    def html(sock, _):
        sock.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 18\r\n\r\n404 page not found")

    with raw_server(html) as host:
        sentence = until_it_fails(OllamaEngine(host, ChatSettings(4096)).chat(NAME).reply(HELLO), ModelUnavailable)[1]
    assert "is not Ollama" in sentence


def test_redirect_is_never_followed(server):
    def elsewhere(sock, _):
        sock.sendall(f"HTTP/1.1 307 Go\r\nLocation: {server.url}/api/chat\r\nContent-Length: 0\r\n\r\n".encode())

    with raw_server(elsewhere) as host:
        until_it_fails(OllamaEngine(host, ChatSettings(4096)).chat(NAME).reply(HELLO), ModelUnavailable)
    assert server.requests == []


def test_what_is_not_http_is_a_failure_in_a_sentence():
    with raw_server(lambda sock, _: sock.sendall(b"SSH-2.0-OpenSSH\r\n")) as host:
        until_it_fails(OllamaEngine(host, ChatSettings(4096)).chat(NAME).reply(HELLO), ModelFailed)


def test_refused_host_name_says_which_to_use(server):
    server.play(script.error_text(403, ""))
    assert "127.0.0.1" in until_it_fails(ask(server), ModelUnavailable)[1]


def test_no_server_says_what_was_tried_and_what_to_do():
    with nowhere() as host:
        sentence = until_it_fails(OllamaEngine(host, ChatSettings(4096)).chat(NAME).reply(HELLO), ModelUnavailable)[1]
    assert sentence == (
        f"no model server answers at http://{host} (connection refused): "
        "start it with `ollama serve`, or set OLLAMA_HOST to where it runs"
    )


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a..b"])
def test_name_that_leads_nowhere_is_no_server(host):
    assert host in until_it_fails(OllamaEngine(host, ChatSettings(4096)).chat(NAME).reply(HELLO), ModelUnavailable)[1]


def test_bad_host_is_a_wrong_setting():
    with pytest.raises(ConfigError):
        OllamaEngine("localhost:port", ChatSettings(4096)).chat(NAME)


# Stopping.


@pytest.mark.parametrize("delay", [0.0, 30.0])
def test_silent_or_loading_model_stops_at_once(delay):
    cancel = Cancel()
    with OllamaServer(models=[Model(NAME, load_delay=delay)]) as server:
        server.play(script.silence(30, script.reply("late")))
        assert stopped_after(ask(server, cancel=cancel), cancel, 0.15) < 3
        server.wait_until(lambda: server.counters.cancelled == 1)


def test_connecting_stops_at_once():
    cancel = Cancel()
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, socket.socket() as one, socket.socket() as two:
        for sock in (one, two):  # its queue is full: further ones wait
            sock.setblocking(False)
            sock.connect_ex(full.getsockname())
        model = OllamaEngine(f"127.0.0.1:{full.getsockname()[1]}", ChatSettings(4096)).chat(NAME)
        assert stopped_after(model.reply(HELLO, cancel=cancel), cancel, 0.15) < 3


# The list of models.


def test_models_are_listed_with_what_they_can_do(server):
    server.registry.add(Model("far:1b", remote_host="https://ollama.com:443"))
    found = {tag.name: tag for tag in OllamaEngine(server.host).listing()}
    assert found[NAME] == Tag(
        name=NAME,
        size=ABLE.size,
        digest=ABLE.digest,
        capabilities=("completion", "tools", "thinking"),
        modified_at="2026-05-04T17:37:44.706015396-07:00",
        context_length=40960,
        family="qwen3",
    )
    assert found["far:1b"].remote == "https://ollama.com:443"


def test_old_server_lists_models_without_what_they_can_do():
    with OllamaServer(models=[ABLE], profile="v024") as old:
        assert [(tag.capabilities, tag.context_length) for tag in OllamaEngine(old.host).listing()] == [((), 0)]


def test_silent_server_is_no_server_after_the_time_given():
    given_up = threading.Event()
    with raw_server(lambda sock, _: given_up.wait(20)) as host:
        with pytest.raises(ModelUnavailable, match=r"silent for 0\.2 s"):
            OllamaEngine(host).listing(0.2)
        given_up.set()


@for_each("body", [b"<html>", b"[]", b"{}x", b'{"models": 5}', b"5"])
def test_something_else_under_the_address_is_no_server(body):
    with answering(body) as host, pytest.raises(ModelUnavailable, match="is not Ollama"):
        OllamaEngine(host).listing()


@pytest.mark.parametrize("body", [b'{"models":null}', b'{"models":[]}', b'{"models":[5]}'])
def test_server_may_have_no_models(body):
    with answering(body) as host:
        assert OllamaEngine(host).listing() == []


def test_what_the_program_puts_around_the_words_is_sent_with_them(server):
    asked = Message("user", "hello", before="⟦ memory ⟧", after="⟦ today ⟧")
    list(OllamaEngine(server.host, ChatSettings(4096)).chat(NAME).reply([asked]))
    assert server.turns[-1]["messages"] == [{"role": "user", "content": "⟦ memory ⟧\n\nhello\n\n⟦ today ⟧"}]


# Pulls, through the official package.


def test_pulling_tells_how_far_it_is(server):
    steps = list(ollama.pull(server.host, "qwen3:4b"))
    assert (steps[0].status, steps[-1].status) == ("pulling manifest", "success")
    assert any(0 < step.completed <= step.total for step in steps)
    assert "qwen3:4b" in [each.name for each in ollama.OllamaEngine(server.host).listing()]


def test_pulling_what_the_library_lacks_is_missing(server):
    steps = ollama.pull(server.host, "nope")
    assert next(steps).status == "pulling manifest"
    with pytest.raises(ModelMissing, match="there is no model 'nope' to fetch"):
        next(steps)


def test_cloud_model_is_never_pulled(server):
    with pytest.raises(ModelMissing):
        list(ollama.pull(server.host, "kimi-k2:cloud"))
    assert server.requests == []


def test_pulling_stops_at_once(server):
    server.pull_held = 1  # nothing more arrives
    cancel = Cancel()
    steps = ollama.pull(server.host, "qwen3:4b", cancel)
    while not next(steps).completed:
        pass
    threading.Timer(0.1, cancel).start()
    with pytest.raises(Cancelled):
        next(steps)


def test_dropped_pull_closes_the_connection(server):
    server.pull_delay = 0.05
    steps = ollama.pull(server.host, "qwen3:4b")
    next(steps)
    steps.close()
    server.wait_until_idle()
    assert "qwen3:4b" not in [each.name for each in ollama.OllamaEngine(server.host).listing()]


def test_no_server_is_said():
    with nowhere() as host, pytest.raises(ModelUnavailable, match="start it with `ollama serve`"):
        list(ollama.pull(host, "a"))


@for_each("body", [b"<html>", b"[]", b"5"])
def test_answer_that_cannot_be_read_is_a_failure(body):
    with answering(body) as host, pytest.raises(ModelFailed):
        list(ollama.pull(host, "a"))


def test_neither_key_nor_proxy_nor_a_quoted_host_gets_in_the_way(server):
    strange = {
        "OLLAMA_HOST": '"::1"',
        "OLLAMA_API_KEY": "secret",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "ALL_PROXY": "socks5://127.0.0.1:9",
    }
    code = (
        "import sys, os; from agent_cli.llm import ollama\n"
        "last = [*ollama.pull(sys.argv[1], 'qwen3:4b')][-1]\n"
        "print(last.status, os.environ['OLLAMA_HOST'], 'ALL_PROXY' in os.environ)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, server.host], env=os.environ | strange, capture_output=True, text=True
    )
    assert (ran.stdout.strip(), ran.stderr) == ('success "::1" True', "")
    assert all("authorization" not in request.headers for request in server.requests)


def test_package_is_loaded_only_when_it_is_used():
    code = "import sys, agent_cli.llm.ollama; print([m for m in ('ollama', 'httpx', 'pydantic') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_servers_since_0_30_keep_a_prompt_when_they_read_another():
    for profile, keeps in (("modern", True), ("v024", False)):
        with OllamaServer(profile=profile) as server:
            assert ollama.keeps_prompts(server.url) == keeps
    assert not ollama.keeps_prompts(server.url)  # it does not answer
