"""A real model, the smallest there is: what it says is nonsense, so the program is judged and not the words."""

import json
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from agent_cli.errors import Cancelled, ContextExceeded, ModelFailed, ModelMissing
from agent_cli.llm import local
from agent_cli.llm.chat import ChatSettings
from agent_cli.llm.local import LocalEngine
from agent_cli.llm.model import Cancel, Text
from agent_cli.llm.openai import OpenAIEngine
from agent_cli.messages import Message, ToolCall


@pytest.fixture(scope="session")
def engine(runtime):
    if not local.is_small_ready():
        pytest.skip("the small model is not installed")
    return LocalEngine(runtime, settings=ChatSettings(4096, {"temperature": 0, "seed": 1}))


@pytest.fixture
def small(engine):
    return engine.chat(local.SMALL)


@pytest.fixture
def killed(engine):
    """Kill the process, as the system does when memory is short."""

    def kill():
        launch = engine.launch(local.SMALL)
        assert local.running(launch)
        os.kill(json.loads(launch.file("json").read_text())["pid"], signal.SIGKILL)
        while local.is_alive(launch):
            time.sleep(0.01)

    return kill


@pytest.fixture
def brief(engine):
    """An engine whose processes end soon."""
    return replace(engine, idle=0.5, settings=replace(engine.settings, num_ctx=512))


def address(engine):
    return local.join(engine.launch(local.SMALL), Cancel())


HELLO = [Message("user", "Say hello.")]
NOW = {"name": "now", "description": "The time.", "parameters": {"type": "object", "properties": {}}}


def text_of(chunks):
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, Text))


def test_it_answers_in_pieces_with_counts(small):
    *words, done = small.reply(HELLO, limit=6)
    assert all(isinstance(word, Text) for word in words)
    assert (len(words) > 1, done.finish, 0 < done.tokens_out <= 6, done.tokens_in > 5) == (True, "length", True, True)


def processor_seconds(engine):
    """What the process of the model has taken so far."""
    pid = json.loads(engine.launch(local.SMALL).file("json").read_text())["pid"]
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(sys.platform != "linux", reason="what another process has taken is read from /proc")
def test_what_was_read_before_is_not_read_again(engine, small):
    list(small.reply(HELLO, limit=1))  # it runs
    long = Message("system", "You know these words: " + " ".join(map(str, range(80))))
    took = []
    for question in ("One?", "Two?"):
        began = processor_seconds(engine)
        list(small.reply([long, Message("user", question)], limit=1))
        took.append(processor_seconds(engine) - began)
    assert took[1] < took[0] / 2, took


def test_it_is_cancelled_and_is_free_at_once(small):
    cancel = Cancel()
    threading.Timer(0.3, cancel).start()
    with pytest.raises(Cancelled):
        list(small.reply([Message("user", "Tell a very long story.")], cancel=cancel))
    began = time.monotonic()
    assert text_of(small.reply(HELLO, limit=2))
    assert time.monotonic() - began < 10  # not behind a whole story


def test_a_call_that_it_writes_is_a_call(engine):
    """Its template knows no tools; what it must write is a call all the same."""
    nothing = {"type": "object", "additionalProperties": False}
    fields = {"name": {"const": "now"}, "arguments": nothing}
    call = {**nothing, "properties": fields, "required": list(fields)}
    wanted = {"type": "json_schema", "json_schema": {"name": "call", "schema": call}}
    settings = replace(engine.settings, options={"temperature": 0, "response_format": wanted})
    model = replace(engine, settings=settings).chat(local.SMALL)
    *_, called, done = model.reply([Message("user", "What time is it?")], [NOW], limit=100)
    assert isinstance(called, ToolCall)
    assert (called.name, called.arguments, done.finish) == ("now", {}, "stop")


def test_a_prompt_that_does_not_fit_is_told_with_both_numbers(small):
    with pytest.raises(ContextExceeded, match=r"it has \d+ tokens, and the model's context holds 4096"):
        list(small.reply([Message("user", "word " * 6000)]))


# The process.


def test_of_three_that_start_at_once_one_process_serves_all(brief):
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: address(brief), range(3)))
    assert len(set(found)) == 1
    launch = brief.launch(local.SMALL)
    end = time.monotonic() + 30
    while local.is_alive(launch) and time.monotonic() < end:
        time.sleep(0.05)
    assert (local.is_alive(launch), launch.file("json").exists()) == (False, False)  # nobody needed it any more


def test_a_process_that_ends_answers_first_who_asked(brief):
    model = brief.chat(local.SMALL)
    reply = model.reply(HELLO, limit=20)
    next(reply)
    launch = brief.launch(local.SMALL)
    launch.file("json").unlink()  # nobody can find it any more
    assert list(reply)[-1].tokens_out == 20
    end = time.monotonic() + 30
    while local.is_alive(launch) and time.monotonic() < end:
        time.sleep(0.05)
    assert not local.is_alive(launch)


def test_after_a_kill_the_next_question_starts_another(small, killed, engine):
    before = address(engine)
    killed()
    assert engine.loaded([local.SMALL]) == []
    assert text_of(small.reply(HELLO, limit=2))
    assert address(engine) != before


def test_it_asks_for_its_key_and_the_record_is_for_its_owner_alone(engine):
    launch, found = engine.launch(local.SMALL), address(engine)
    with pytest.raises(Exception, match="wants a key"):
        OpenAIEngine(found.url).listing()
    assert (launch.file("json").stat().st_mode & 0o777, launch.folder.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.parametrize(
    ("name", "words"), [("qwen3:8b", "is not a GGUF file"), ("/nowhere/x.gguf", "there is no file /nowhere/x.gguf")]
)
def test_a_model_that_is_no_file_is_named(tmp_path, name, words):
    with pytest.raises(ModelMissing, match=words):
        list(LocalEngine(tmp_path).chat(name).reply(HELLO))


@pytest.mark.skipif(not local.is_installed(), reason="llama.cpp is not installed")
def test_a_file_that_is_not_weights_is_refused_with_the_reason(tmp_path):
    file = tmp_path / "a b.gguf"
    file.write_bytes(b"nonsense")
    engine = LocalEngine(tmp_path / "run", named=(str(file),))
    with pytest.raises(ModelFailed, match=r"cannot be run: .*see .*\.log"):
        list(engine.chat(str(file)).reply(HELLO))
    assert engine.find(str(file)).size == 8


def test_a_record_without_a_process_is_not_believed(tmp_path):
    file = tmp_path / "x.gguf"
    file.write_bytes(b"x")
    launch = LocalEngine(tmp_path).launch(str(file))
    launch.file("json").write_text('{"url": "http://127.0.0.1:9", "key": "old", "pid": 1}')
    launch.file("lock").touch()
    assert local.running(launch) is None


def test_a_file_that_is_made_to_embed_is_known_by_its_metadata(tmp_path):
    file = tmp_path / "x.gguf"
    for metadata, embeds in ((b"GGUF bert.pooling_type", True), (b"GGUF llama.context_length", False)):
        file.write_bytes(metadata)
        assert local.is_made_to_embed(file) is embeds
