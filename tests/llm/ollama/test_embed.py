"""Embeddings: every text gets its vector or None, whatever stands beside it."""

import math
import threading
import time

import pytest

from agent_cli.errors import Cancelled, ModelFailed, ModelMissing, ModelUnavailable
from agent_cli.llm.engine import BATCH_SIZE, TRAITS, ModelTraits, ServerEmbedder, bare_name
from agent_cli.llm.model import Cancel
from agent_cli.llm.ollama import OllamaEngine
from tests.llm.asking import nowhere
from tests.ollama_server import script
from tests.ollama_server.registry import Model
from tests.ollama_server.server import OllamaServer
from tests.tables import for_each

NOMIC = Model("nomic-embed-text", ("embedding",), embedding_length=8)
RETRIEVE = "Given a web search query, retrieve relevant passages that answer the query"
PLAIN = Model("granite-embedding:30m", ("embedding",), embedding_length=4)


@pytest.fixture
def server():
    with OllamaServer(models=[NOMIC, PLAIN, Model("qwen3:8b")]) as it:
        yield it


def embedder_of(server, model="nomic-embed-text"):
    return ServerEmbedder(OllamaEngine(server.host), model)


def test_each_text_gets_a_vector_in_order(server):
    one, two, again = embedder_of(server).embed(["dentist", "garden", "dentist"])
    assert one == again != two
    assert math.isclose(math.hypot(*one), 1, rel_tol=1e-5)
    assert len(one) == 8


def test_documents_and_questions_get_the_prefixes_of_the_model(server):
    embedder = embedder_of(server)
    document, query = embedder.embed_documents(["dentist"])[0], embedder.embed_query("dentist")
    assert document == query  # by the same words: the test server looks through the prefix
    assert [(each.text, each.prefix) for each in server.embedded] == [
        ("search_document: dentist", "document"),
        ("search_query: dentist", "query"),
    ]


@for_each(
    ("model", "prefixes"),
    [
        ("nomic-embed-text", ("search_document: ", "search_query: ")),
        ("library/nomic-embed-text:v1.5", ("search_document: ", "search_query: ")),
        ("nomic-embed-text-v2-moe", ("search_document: ", "search_query: ")),
        ("EmbeddingGemma:300m", ("title: none | text: ", "task: search result | query: ")),
        ("/models/nomic-embed-text-v1.5.Q4_K_M.gguf", ("search_document: ", "search_query: ")),
        ("text-embedding-nomic-embed-text-v1.5@q8_0", ("search_document: ", "search_query: ")),
        ("Snowflake/snowflake-arctic-embed-l-v2.0", ("", "query: ")),
        ("all-minilm", ("", "")),
        ("never-heard-of", ("", "")),
        ("qwen3-embedding:0.6b", ("", f"Instruct: {RETRIEVE}\nQuery:")),
    ],
)
def test_prefixes_are_known_by_the_name(model, prefixes):
    known = TRAITS.get(bare_name(model), ModelTraits())
    assert (known.document, known.query) == prefixes


def test_many_texts_go_in_batches(server):
    vectors = embedder_of(server).embed([f"word{n}" for n in range(BATCH_SIZE * 2 + 1)])
    assert len(vectors) == BATCH_SIZE * 2 + 1
    assert [len(body["input"]) for body in server.embeds] == [BATCH_SIZE, BATCH_SIZE, 1]
    assert all(body["truncate"] is True for body in server.embeds)


def test_empty_texts_are_never_sent(server):
    embedder = embedder_of(server)
    assert embedder.embed(["", " \n"]) == [None, None]
    assert server.embeds == []
    assert [vector is None for vector in embedder.embed_documents(["", "word", " "])] == [True, False, True]
    assert server.embeds[0]["input"] == ["search_document: word"]


def test_bad_text_fails_alone(server):
    server.embed = lambda model, text: [math.nan] * 8 if "bad" in text else [1.0] + [0.0] * 7
    texts = ["good", "good", "bad", "good", "good", "good", "bad", "good"]
    vectors = embedder_of(server).embed(texts)
    assert [vector is None for vector in vectors] == [text == "bad" for text in texts]


def test_long_texts_are_cut_by_characters(server):
    list(embedder_of(server).embed(["x" * 5000]))
    server.registry.add(Model("all-minilm", capabilities=("embedding",)))
    list(embedder_of(server, "all-minilm").embed(["x" * 5000]))
    assert [len(body["input"][0]) for body in server.embeds] == [2000, 1024]


def test_identity_changes_with_whatever_makes_vectors_differ(server):
    identity = embedder_of(server).identity()
    assert identity == f"nomic-embed-text:latest {NOMIC.digest} 8 'search_document: ' 'search_query: '"
    assert embedder_of(server, "granite-embedding:30m").identity().endswith(" 4 '' ''")


def test_what_cannot_embed_is_said(server):
    for model, why in (("nope", "run `agent models pull nope`"), ("qwen3:8b", "cannot embed")):
        with pytest.raises(ModelMissing, match=why):
            embedder_of(server, model).embed(["a"])
    with pytest.raises(ModelMissing, match="run `agent models pull nope`"):
        embedder_of(server, "nope").identity()
    asked = len(server.requests)
    with pytest.raises(ModelMissing):
        embedder_of(server, "nomic:cloud").embed(["a"])
    assert len(server.requests) == asked, "nothing was sent"


def test_no_server_is_said():
    with nowhere() as host, pytest.raises(ModelUnavailable):
        ServerEmbedder(OllamaEngine(host), "nomic-embed-text").embed(["a"])


def test_cloud_embedder_under_an_innocent_name_never_sees_the_words():
    with OllamaServer(models=[Model("mine", ("embedding",), remote_host="https://ollama.com:443")]) as server:
        with pytest.raises(ModelMissing, match="somebody else's machine"):
            embedder_of(server, "mine").embed(["a"])
        assert server.embeds == []


@pytest.mark.parametrize("body", [{"embeddings": []}, {"embeddings": [["a"]]}, {"embeddings": [[]]}, {}, []])
def test_answer_without_vectors_is_a_failure(server, body):
    server.play_embed(script.Failure(200, body))
    with pytest.raises(ModelFailed, match="did not send 1 vectors for 1 texts"):
        embedder_of(server).embed(["a"])


def test_failing_server_is_a_failure_with_its_words(server):
    server.play_embed(script.error(500, "llama-server process has terminated: signal: killed"))
    with pytest.raises(ModelFailed, match="signal: killed"):
        embedder_of(server).embed(["a", "b"])


def test_old_not_a_number_error_halves_the_batch(server):
    nan = script.error(500, "failed to encode response: json: unsupported value: NaN")
    server.play_embed(nan, nan)
    one, two = embedder_of(server).embed(["a", "b"])
    assert one is None
    assert two is not None


def test_embedding_stops_at_once(server):
    server.embed_delay = 30
    cancel = Cancel()
    threading.Timer(0.1, cancel).start()
    start = time.monotonic()
    with pytest.raises(Cancelled):
        embedder_of(server).embed(["a"], cancel)
    assert time.monotonic() - start < 5
