"""Which model answers, when the person names one and when they leave it open."""

import socket
import time

import pytest

from agent_cli.app.models import chat_model, pick
from agent_cli.errors import ModelMissing, ModelUnavailable
from agent_cli.llm.chat import ChatSettings
from agent_cli.llm.engine import Tag
from agent_cli.llm.model import Done, Notice, Text
from agent_cli.llm.offline import OfflineModel
from agent_cli.llm.ollama import OllamaEngine
from agent_cli.messages import Message
from tests.ollama_server.registry import Model
from tests.ollama_server.server import OllamaServer
from tests.tables import for_each

OLD = Model("llama3.2:3b", modified_at="2026-01-04T17:37:44.706015396-07:00")
NEW = Model("qwen3:8b", modified_at="2026-05-04T17:37:44.706015396-07:00")
EMBEDDER = Model("nomic-embed-text", ("embedding",), modified_at="2026-07-01T00:00:00Z")
REMOTE = Model("far:1b", modified_at="2026-08-01T00:00:00Z", remote_host="https://ollama.com:443")
HELLO = [Message("user", "hello")]


def auto(*models, profile="modern", **settings):
    with OllamaServer(models=models, profile=profile) as server:
        model, notice = chat_model("auto", OllamaEngine(server.host, ChatSettings(4096)), **settings)
        assert not isinstance(model, OfflineModel)
        return model.name, notice


@pytest.fixture
def nowhere():
    """An address that refuses: taken, so that nobody else gets it, and not listened to."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


CHOSEN = "using qwen3:8b; -m or /model chooses another"


@for_each(
    ("models", "default", "used"),
    [
        ((NEW, EMBEDDER, REMOTE), "", ("qwen3:8b", "")),  # the only one, without a word
        ((OLD, NEW, EMBEDDER), "", ("qwen3:8b", CHOSEN)),
        ((OLD, NEW), "Llama3.2:3B", ("llama3.2:3b", "")),
        ((OLD, NEW), "gone:1b", ("qwen3:8b", CHOSEN)),
        ((NEW, EMBEDDER), "nomic-embed-text", ("qwen3:8b", "")),  # it cannot chat
    ],
)
def test_the_default_model_is_used_else_the_newest_that_can_chat_which_is_named(models, default, used):
    assert auto(*models, default=default) == used


@for_each("name", ["nomic-embed-text", "all-minilm:22m", "bge-m3", "mxbai-embed-large", "my-bert"])
def test_old_server_is_not_asked_to_chat_with_an_embedder(name):
    embedder = Model(name, modified_at="2026-07-01T00:00:00Z")
    assert auto(OLD, embedder, profile="v024") == ("llama3.2:3b", "")


@pytest.mark.parametrize("models", [(), (EMBEDDER,), (REMOTE,)])
def test_server_without_a_chat_model_says_what_to_pull(models):
    with OllamaServer(models=models) as server, pytest.raises(ModelMissing) as raised:
        chat_model("auto", OllamaEngine(server.host, ChatSettings(4096)))
    assert str(raised.value) == (
        f"the server at {server.url} has no model of its own that can chat: run `ollama pull qwen3:4b`"
    )


def test_without_a_server_memory_answers_and_it_is_said(nowhere):
    found = [("m1", "1 Jan 2026", "Friday")]
    start = time.monotonic()
    engine = OllamaEngine(nowhere, ChatSettings(4096))
    model, notice = chat_model("auto", engine, search=lambda question, limit: ("known", found))
    assert time.monotonic() - start < 3  # one, and what a busy machine adds
    assert isinstance(model, OfflineModel)
    assert notice == (f"no model server at http://{nowhere}; answering from memory only (start it with `ollama serve`)")
    assert "Friday" in "".join(chunk.text for chunk in model.reply(HELLO) if isinstance(chunk, Text))


def test_silent_server_is_given_up_within_a_second():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        start = time.monotonic()
        model, _ = chat_model("auto", OllamaEngine(f"127.0.0.1:{silent.getsockname()[1]}", ChatSettings(4096)))
        assert model.name == "offline"
        assert time.monotonic() - start < 3  # one, and what a busy machine adds


def test_named_model_is_taken_at_its_word_without_asking(nowhere):
    model, notice = chat_model("mine:1b", OllamaEngine(nowhere, ChatSettings(4096)))
    assert (model.name, notice) == ("mine:1b", "")


def test_offline_and_scripts_are_chosen_by_name(tmp_path):
    file = tmp_path / "script.toml"
    file.write_text("[[reply]]\nsay = 'a'\n[[reply]]\nrole = 'cheap'\nsay = 'b'\n")
    offline, _ = chat_model("offline", OllamaEngine(""))
    chat, _ = chat_model(f"scripted:{file}", OllamaEngine(""))
    cheap, _ = chat_model(f"scripted:{file}", OllamaEngine(""), role="cheap")
    assert "".join(c.text for c in offline.reply(HELLO) if isinstance(c, Text)) == "No model server answers."
    assert list(chat.reply(HELLO)) == [Text("a"), Done("stop", "scripted")]
    assert list(cheap.reply(HELLO)) == [Text("b"), Done("stop", "scripted")]


def test_model_without_a_date_is_the_oldest():
    tags = [Tag("a", modified_at=""), Tag("b", modified_at="2026-01-01T00:00:00")]
    assert pick(OllamaEngine(""), tags, "")[0] == "b"


def test_a_server_that_goes_away_leaves_memory_to_answer():
    with OllamaServer(models=[NEW]) as server:
        found = "known", [("n1", "2 Jan", "tea")]
        model, _ = chat_model("auto", OllamaEngine(server.host, ChatSettings(4096)), search=lambda *_: found)
    chunks = list(model.reply(HELLO))
    assert isinstance(chunks[0], Notice)
    assert "tea" in "".join(chunk.text for chunk in chunks if isinstance(chunk, Text))
    assert chunks[-1] == Done(model="offline")


def test_the_model_for_summaries_never_answers_from_memory():
    with OllamaServer(models=[NEW]) as server:
        model, _ = chat_model("auto", OllamaEngine(server.host, ChatSettings(4096)), role="cheap")
    with pytest.raises(ModelUnavailable):
        list(model.reply(HELLO))
