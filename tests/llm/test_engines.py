"""What is about a model holds for every engine: the same scripts, over Ollama's API and over /v1."""

import time

import pytest

from agent_cli.errors import Cancelled, ModelFailed, ModelMissing
from agent_cli.llm.model import Cancel, Notice, Text, Thinking
from agent_cli.messages import Message, ToolCall
from tests.conftest import CHAT
from tests.llm.asking import AGAIN, HELLO, NAME, NOW, ask, engine_of, said, stopped_after, until_it_fails
from tests.ollama_server import script
from tests.ollama_server.registry import Model


@pytest.fixture
def server(server):
    server.registry.add(Model("plain:1b"))
    return server


def test_answer_arrives_in_pieces_and_ends_with_the_counts(server):
    server.play(script.reply("Hello <b> ✓ there", prompt_tokens=26, tokens=5))
    *words, done = ask(server)
    assert words == [Text("Hello"), Text(" <b>"), Text(" ✓"), Text(" there")]
    assert (done.finish, done.model, done.tokens_in, done.tokens_out) == ("stop", NAME, 26, 5)


@pytest.mark.parametrize("place", ["line", "done"])
def test_tool_calls_are_read_on_every_line_also_the_last(server, place):
    server.play(script.reply("I look.", calls=[("now", {}), ("weather", {"city": "Paris"})], calls_at=place))
    calls = [chunk for chunk in ask(server, tools=[NOW]) if isinstance(chunk, ToolCall)]
    assert [(call.name, call.arguments) for call in calls] == [("now", {}), ("weather", {"city": "Paris"})]
    assert len({call.id for call in calls}) == 2
    assert all(call.id.startswith("call_") for call in calls)


def test_a_call_that_is_printed_as_text_is_a_call(server):
    server.play(script.reply('{"name": "now", "arguments": {}}'))
    call, _ = ask(server, tools=[NOW])
    assert (call.name, call.arguments) == ("now", {})


def test_text_and_calls_on_one_line_both_arrive(server):
    server.play(script.reply("I look.", "hm", [("now", {})], text_and_calls_on_one_line=True))
    thinking, text, call, done = ask(server, tools=[NOW])
    assert (thinking, text) == (Thinking("hm"), Text("I look."))
    assert (call.name, done.finish) == ("now", "stop")


def test_calls_of_a_server_without_ids_get_their_own(server):
    with type(server)(models=[CHAT], profile="v012_9") as old:
        old.play(script.reply(calls=[("now", {}), ("now", {})]))
        one, other, _ = ask(old, tools=[NOW])
    assert one.id != other.id
    assert one.id.startswith("call_")


def test_lone_surrogates_and_every_script_can_be_asked(server):
    list(ask(server, messages=[Message("user", "Ünïcode 漢字 \ud800 \u0085")]))
    assert server.chats[0]["messages"][0]["content"].startswith("Ünïcode 漢字")


def test_schema_for_the_answer_is_passed_on(server):
    list(ask(server, format={"type": "object"}))
    assert server.chats[0]["format"] == {"type": "object"}


@pytest.mark.parametrize("ending", [script.NO_DONE, script.CUT, script.RESET])
def test_answer_that_breaks_off_is_a_failure_and_keeps_what_arrived(server, ending):
    server.play(script.reply("half an", delay=0.01, then=ending))
    kept, sentence = until_it_fails(ask(server), ModelFailed)
    assert said(kept) == "half an"
    assert sentence.endswith("what arrived is kept")


def test_server_that_hangs_up_without_a_word_is_asked_again_once(server):
    server.play(script.raw_http(), script.reply("Hello"))
    assert list(ask(server))[:2] == [AGAIN, Text("Hello")]


def test_crash_without_a_word_has_a_sentence(server):
    server.play(script.error_text(500, ""), script.error_text(500, ""))
    assert until_it_fails(ask(server), ModelFailed)[1] == "the model server failed: status 500, without a message"


def test_unreadable_tool_call_is_asked_for_again_once(server):
    server.play(script.unparsable_call(), script.reply(calls=[("now", {})]))
    note, call, _ = ask(server, tools=[NOW])
    assert (note, call.name) == (AGAIN, "now")
    server.play(script.unparsable_call(), script.unparsable_call())
    assert "cannot be read" in until_it_fails(ask(server, tools=[NOW]), ModelFailed)[1]


def test_unreadable_call_after_thinking_is_asked_for_again_but_not_after_text(server):
    broken = script.midstream_error("error parsing tool call: raw='{\"a\":', err=unexpected end of JSON input")
    server.play(script.reply(thinking="hm", then=broken), script.reply("Hello"))
    assert said(ask(server, tools=[NOW])) == "Hello"
    server.play(script.reply("I look", then=broken), script.reply("never asked"))
    kept, _ = until_it_fails(ask(server, tools=[NOW]), ModelFailed)
    assert said(kept) == "I look"


def test_a_busy_server_is_asked_again_when_it_says_and_no_later_than_it_is_waited_for(server):
    server.busy, server.retry_after = 1, 1
    began = time.monotonic()
    assert said(ask(server)) == "You said: hello"
    assert 1 <= time.monotonic() - began < 5
    server.queue_full, server.retry_after = True, 3600
    began = time.monotonic()
    until_it_fails(ask(server, patience=0.2), ModelFailed)
    assert 0.2 <= time.monotonic() - began < 5


def test_model_without_tools_is_asked_without_them_and_remembered(server):
    model = engine_of(server).chat("plain:1b")
    first, second = list(model.reply(HELLO, [NOW])), list(model.reply(HELLO, [NOW]))
    assert first[0] == Notice("the model 'plain:1b' cannot use tools; asked again without them")
    assert said(first) == said(second) == "You said: hello"
    assert not any(isinstance(chunk, Notice) for chunk in second)
    assert ["tools" in chat for chat in server.chats] == [True, False, False]


def test_embedder_cannot_chat(server):
    sentence = until_it_fails(ask(server, "nomic-embed-text"), ModelMissing)[1]
    assert sentence == "the model 'nomic-embed-text' cannot chat: choose another with --model"


@pytest.mark.parametrize("name", ["gpt-oss:120b-cloud", "kimi-k2:cloud", "Kimi-K2:CLOUD"])
def test_cloud_name_is_refused_before_anything_is_sent(server, name):
    with pytest.raises(ModelMissing, match="somebody else's machine"):
        ask(server, name)
    assert server.requests == []


def test_talking_model_stops_at_once_and_the_server_notices(server):
    cancel = Cancel()
    server.play(script.reply("word " * 1000, delay=0.01))
    assert stopped_after(ask(server, cancel=cancel), cancel, 0.15) < 3
    server.wait_until(lambda: server.counters.cancelled == 1)


def test_waiting_for_a_busy_server_stops_at_once(server):
    server.queue_full = True
    cancel = Cancel()
    assert stopped_after(ask(server, cancel=cancel), cancel, 0.15) < 3


def test_stopped_before_it_began_nothing_is_asked(server):
    cancel = Cancel()
    cancel()
    with pytest.raises(Cancelled):
        list(ask(server, cancel=cancel))
    assert server.chats == []


def test_dropping_the_reply_closes_the_connection(server):
    server.play(script.reply("word " * 1000, delay=0.01))
    chunks = ask(server)
    next(chunks)
    chunks.close()
    server.wait_until(lambda: server.counters.cancelled == 1)


def test_model_can_be_asked_again_after_stopping(server):
    model, cancel = engine_of(server).chat(NAME), Cancel()
    server.play(script.silence(30, script.reply("late")))
    stopped_after(model.reply(HELLO, cancel=cancel), cancel, 0.1)
    assert said(model.reply(HELLO)) == "You said: hello"
