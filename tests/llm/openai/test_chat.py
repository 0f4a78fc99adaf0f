"""What is special about /v1: the form of a request, keys, events that servers write differently, and the internet."""

import json

import pytest

from agent_cli.errors import ConfigError, ModelFailed, ModelMissing, ModelUnavailable
from agent_cli.llm import http
from agent_cli.llm.engine import ServerEmbedder
from agent_cli.llm.http import ServerFault
from agent_cli.llm.model import Done, Notice, Text, Thinking
from agent_cli.llm.ollama import OllamaEngine
from agent_cli.llm.openai import EventParser, OpenAIEngine
from agent_cli.messages import Message, ToolCall
from tests.llm.asking import HELLO, HISTORY, NAME, NOW, ask, engine_of, said, until_it_fails
from tests.ollama_server import script
from tests.ollama_server.registry import Model
from tests.tables import for_each
from tests.v1_server import V1Server

MODELS = (
    Model(NAME, capabilities=("completion", "tools", "thinking")),
    Model("nomic-embed-text", capabilities=("embedding",), embedding_length=768),
)


@pytest.fixture
def server():
    with V1Server(models=MODELS) as running:
        yield running


def events(*values):
    lines = [b"data: " + (value if isinstance(value, bytes) else json.dumps(value).encode()) for value in values]
    return b"\n\n".join(lines) + b"\n\n"


def delta(finish=None, **said):
    return {"choices": [{"index": 0, "delta": said, "finish_reason": finish}]}


def call_piece(index=0, id=None, name=None, arguments=""):
    function = {"arguments": arguments, **({"name": name} if name else {})}
    return delta(tool_calls=[{"index": index, **({"id": id} if id else {}), "function": function}])


def calls_of(server, *values):
    server.play(script.raw(events(*values, delta("tool_calls"), b"[DONE]")))
    return [(c.name, c.arguments) for c in ask(server, tools=[NOW]) if isinstance(c, ToolCall)]


def test_request_holds_what_a_server_needs_and_nothing_else(server):
    options = {"temperature": 0.5, "num_predict": 9}
    list(ask(server, messages=HISTORY, tools=[NOW], think=False, format={"type": "object"}, options=options))
    call = {"id": "call_1", "type": "function", "function": {"name": "now", "arguments": '{"zone": "UTC"}'}}
    assert server.requests[-1].sent == {
        "model": NAME,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "time?"},
            {"role": "assistant", "content": "", "tool_calls": [call], "reasoning_content": "look it up"},
            {"role": "tool", "content": "noon", "name": "now", "tool_call_id": "call_1"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "max_tokens": 9,
        "tools": [{"type": "function", "function": NOW}],
        "chat_template_kwargs": {"enable_thinking": False},
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": True},
        },
    }


def test_a_level_of_thinking_is_sent_as_effort(server):
    list(ask(server, think="low"))
    assert server.requests[-1].sent["reasoning_effort"] == "low"


def test_fields_that_a_server_does_not_know_are_left_out_from_then_on(server):
    server.unknown_fields = ("stream_options", "chat_template_kwargs")
    model = engine_of(server).chat(NAME)
    first, second = list(model.reply(HELLO, think=False)), list(model.reply(HELLO, think=False))
    assert said(first) == said(second) == "You said: hello"
    assert not any(isinstance(chunk, Notice) for chunk in first)
    assert len(server.chats) == 4


def test_tokens_of_chat_templates_are_broken(server):
    list(ask(server, messages=[Message("user", "hi<|im_end|>")], tools=[{**NOW, "description": "<|im_start|>"}]))
    assert "<|im_" not in server.requests[-1].raw.decode()


# Keys.


def test_the_key_is_sent_and_a_wrong_one_is_told_without_showing_it():
    with V1Server(models=MODELS, key="right") as server:
        assert said(OpenAIEngine(server.base, "right").chat(NAME).reply(HELLO)) == "You said: hello"
        wrong = OpenAIEngine(server.base, "wrong-key")
        sentence = until_it_fails(wrong.chat(NAME).reply(HELLO), ModelFailed)[1]
        with pytest.raises(ModelFailed, match="wants a key"):
            OpenAIEngine(server.base).listing()
    assert sentence == (
        f"the server at {server.base} refuses the key (401): put the right one into the environment variable that "
        "key_variable names"
    )
    assert "wrong-key" not in repr(wrong) + repr(wrong.address)


# The internet.


@for_each("host", ["8.8.8.8", "https://1.1.1.1/v1", "[2606:4700::1111]:80", "[::ffff:8.8.8.8]:80"])
def test_an_address_on_the_internet_is_refused_before_anything_is_sent(host):
    for engine in (OpenAIEngine(host), OllamaEngine(host)):
        with pytest.raises(ConfigError, match="words_leave_machine"):
            list(engine.chat(NAME).reply(HELLO))


def test_an_address_in_the_own_network_needs_no_word():
    hosts = ("127.0.0.1", "10.255.255.1", "192.168.0.7", "100.64.0.1", "::1", "fd00::1")
    assert [http.private_host(OpenAIEngine(host).address) for host in hosts] == list(hosts)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
        ("http://box:8000/v1/", "http://box:8000/v1"),
        ("https://box/openai/v1", "https://box:443/openai/v1"),
    ],
)
def test_the_address_ends_in_v1_unless_it_has_a_path(host, url):
    assert OpenAIEngine(host).address.url == url


def test_without_an_address_it_is_asked_for():
    with pytest.raises(ConfigError, match="agent config set host http"):
        OpenAIEngine("").listing()


def test_no_server_says_what_was_tried():
    sentence = until_it_fails(OpenAIEngine("127.0.0.1:9").chat(NAME).reply(HELLO), ModelUnavailable)[1]
    assert sentence == (
        "no model server answers at http://127.0.0.1:9/v1 (connection refused): start it, or set the setting host to "
        "where it runs"
    )


# Faults.


def test_a_model_that_is_not_there_is_named(server):
    sentence = until_it_fails(ask(server, "nope"), ModelMissing)[1]
    assert sentence == f"the model 'nope' is not on the server at {server.base}: `agent models` lists what it has"


def test_another_server_under_the_address_is_named():
    with V1Server(models=MODELS) as server:
        sentence = until_it_fails(OpenAIEngine(f"{server.url}/elsewhere").chat(NAME).reply(HELLO), ModelUnavailable)[1]
        with pytest.raises(ModelUnavailable, match="is not a server that speaks /v1"):
            OpenAIEngine(f"{server.url}/elsewhere").listing()
    assert "is not a server that speaks /v1" in sentence


def test_a_server_that_refuses_tools_is_asked_without_them(server):
    server.play(script.error(500, "tools param requires --jinja flag"))
    note, *rest = ask(server, tools=[NOW])
    assert note == Notice(f"the model '{NAME}' cannot use tools; asked again without them")
    assert said(rest) == "You said: hello"


# Events.


def test_a_stream_may_end_without_done_if_it_said_how(server):
    server.play(script.raw(events(delta(content="fine"), delta("stop"))))
    assert list(ask(server)) == [Text("fine"), Done("stop", NAME)]
    server.play(script.raw(events(delta(content="half"))))
    assert said(until_it_fails(ask(server), ModelFailed)[0]) == "half"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thinking_is_read_from_either_field(server, field):
    server.play(script.raw(events(delta(**{field: "hm"}), delta("stop", content="42"), b"[DONE]")))
    assert list(ask(server))[:2] == [Thinking("hm"), Text("42")]


def test_a_call_in_pieces_is_put_together(server):
    pieces = [
        call_piece(id="a", name="now", arguments='{"zo'),
        call_piece(arguments='ne": "U'),
        call_piece(arguments='TC"}'),
    ]
    assert calls_of(server, *pieces) == [("now", {"zone": "UTC"})]


def test_calls_are_told_apart_by_index_and_by_id(server):
    woven = [
        call_piece(0, "a", "now", '{"a":'),
        call_piece(1, "b", "later", '{"b":'),
        call_piece(0, arguments="1}"),
        call_piece(1, arguments="2}"),
    ]
    assert calls_of(server, *woven) == [("now", {"a": 1}), ("later", {"b": 2})]
    all_the_first = [
        call_piece(0, "a", "now", '{"a":1}'),
        call_piece(0, "b", "later", '{"b":'),
        call_piece(0, arguments="2}"),
    ]
    assert calls_of(server, *all_the_first) == [("now", {"a": 1}), ("later", {"b": 2})]


def test_arguments_that_are_no_json_are_asked_for_once_more(server):
    server.play(script.raw(events(call_piece(id="a", name="now", arguments='{"a":'), delta("tool_calls"), b"[DONE]")))
    note, text, *_ = ask(server, tools=[NOW])
    assert (note, text) == (Notice("the model server failed once; asked again"), Text("You"))


def test_a_call_that_was_cut_off_with_the_answer_is_left_out(server):
    server.play(
        script.raw(
            events(
                delta(content="I look"), call_piece(id="a", name="now", arguments='{"a":'), delta("length"), b"[DONE]"
            )
        )
    )
    assert list(ask(server, tools=[NOW])) == [Text("I look"), Done("length", NAME)]


@for_each(
    "odd",
    [
        b": ping",
        b"event: x",
        b"",
        b"data:",
        b'data: {"choices": []}',
        b'data: {"choices": [5]}',
        b'data: {"choices": [{"delta": {"tool_calls": [5, {"function": 3}]}}]}',
        b'data: {"choices": [{"delta": null}]}',
    ],
)
def test_lines_without_a_message_are_passed_over(odd):
    parser = EventParser(NAME, [], ())
    assert list(parser.feed(odd)) == []


@pytest.mark.parametrize("line", [b"data: <html>", b"data: [1]", b'data: {"error": {"message": "deep", "code": 5}}'])
def test_events_out_of_contract_are_faults(line):
    with pytest.raises(ServerFault):
        list(EventParser(NAME, [], ()).feed(line))


# Models and embeddings.


def test_models_are_listed(server):
    assert {tag.name for tag in engine_of(server).listing()} == {NAME, "nomic-embed-text:latest"}


def test_vectors_come_in_the_order_of_the_texts_and_with_length_1(server):
    server.embed = lambda model, text: [3.0, 4.0] if "tea" in text else [0.0, 2.0]
    embedder = ServerEmbedder(engine_of(server), "nomic-embed-text")
    assert embedder.embed_documents(["tea", "", "time"]) == [pytest.approx([0.6, 0.8]), None, [0.0, 1.0]]
    assert server.embedded[0].prefix == "document"
    assert embedder.identity() == "nomic-embed-text 2 'search_document: ' 'search_query: '"
