"""A server as most of its own tests want it: one that minds the contract, one that only writes it down."""

import pytest

from tests.ollama_server.asking import MODELS
from tests.ollama_server.server import OllamaServer


@pytest.fixture
def server():
    with OllamaServer(MODELS) as running:
        yield running


@pytest.fixture
def lenient():
    with OllamaServer(MODELS, strict=False) as running:
        yield running
