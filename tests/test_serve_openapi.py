"""The server against its own description (schemathesis), and against whatever is sent to it."""

import random

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig

from agent_cli.serve import http
from tests import hostile
from tests.serving import opened, served

CASES = 12  # of each operation; benchmarks/serve.py tries more


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    with served(opened(tmp_path_factory.mktemp("openapi"), model="offline")) as running:
        yield running


@pytest.fixture(scope="module")
def bot(house):
    return house.caller("bot")
