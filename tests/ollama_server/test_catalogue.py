"""Embeddings, the catalogue of models, pulling, and how old servers differ."""

import json

import ollama
import pytest

from tests.ollama_server import script
from tests.ollama_server.asking import CALL, CHAT, EMBEDDER, MODELS, TOOLS, ask, chat, post
from tests.ollama_server.registry import Model
from tests.ollama_server.server import OllamaServer


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


def test_pull_makes_a_model_appear_and_resumes():
    library = [Model("tiny", size=400)]
    with OllamaServer(library=library) as server, ollama.Client(server.url, trust_env=False, verify=False) as client:
        server.pull_delay = 0.02
        stream = client.pull("tiny", stream=True)
        seen = [next(stream).completed for _ in range(3)]
        stream.close()
        server.wait_until(lambda: server.counters.cancelled == 1)
        assert (seen, client.list().models) == ([None, None, 100], [])
        server.pull_delay = 0
        again = list(client.pull("tiny", stream=True))
        assert again[1].completed >= 100
        assert [line.status for line in again][-3:] == ["verifying sha256 digest", "writing manifest", "success"]
        assert client.list().models[0].model == "tiny:latest"


def test_pull_of_an_unknown_model_fails_after_the_first_line(server):
    missing = pytest.raises(ollama.ResponseError, match="pull model manifest: file does not exist")
    with ollama.Client(server.url, trust_env=False, verify=False) as client, missing:
        list(client.pull("nope", stream=True))


def test_old_servers_differ_where_they_did():
    with OllamaServer([CHAT], profile="v012_9") as server:
        server.play(script.reply(calls=[CALL]))
        [call] = chat(server, tools=TOOLS)[1][0]["message"]["tool_calls"]
        assert "id" not in call
        assert "capabilities" not in json.loads(ask(server, "GET", "/api/tags")[2])["models"][0]
    with OllamaServer([CHAT]) as server:
        assert ask(server, "GET", "/api/version")[2] == b'{"version":"0.33.0"}'


@pytest.mark.parametrize(
    ("profile", "error"),
    [
        ("modern", "llama-server process has terminated: signal: killed"),
        ("v024", "model requires more system memory (5.5 GiB) than is available (3.9 GiB)"),
    ],
)
def test_model_that_does_not_fit_fails_to_load(profile, error):
    with OllamaServer([Model("huge", too_big=True)], profile=profile) as server:
        assert chat(server, "huge") == (500, [{"error": error}])


def test_cloud_model_is_refused_and_breaks_the_contract():
    with OllamaServer([Model("far", remote_host="https://ollama.com")], strict=False) as server:
        assert [chat(server, name)[0] for name in ("far:cloud", "far")] == [403, 403]
        assert post(server, "/api/show", model="far")[1]["remote_host"] == "https://ollama.com"
        names = ("far:cloud", "far")
        assert server.problems == [f"POST /api/chat: a request names the cloud model {name}" for name in names]
