"""Models are pulled through the official package, with its errors in our words."""

import os
import subprocess
import sys
import threading

import pytest

from agent_cli.errors import Cancelled, ModelFailed, ModelMissing, ModelUnavailable
from agent_cli.llm import ollama
from agent_cli.llm.model import Cancel
from tests.llm.asking import answering, nowhere
from tests.ollama_server.registry import Model
from tests.ollama_server.server import OllamaServer
from tests.tables import for_each

CHAT = Model("qwen3:8b", ("completion", "tools"), num_ctx=8192)
EMBEDDER = Model("nomic-embed-text", ("embedding",), modified_at="2026-01-04T17:37:44.706015396-07:00")
REMOTE = Model("far:1b", remote_host="https://ollama.com:443", modified_at="2025-01-04T17:37:44Z")


@pytest.fixture
def server():
    with OllamaServer(models=[CHAT, EMBEDDER, REMOTE], library=[Model("qwen3:4b")]) as it:
        yield it


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
