"""One process with the small model for all tests that need a real one."""

import json
import os
import signal
import time
from dataclasses import replace

import pytest

from agent_cli.llm import local
from agent_cli.llm.chat import ChatSettings
from agent_cli.llm.local import LocalEngine
from agent_cli.llm.model import Cancel


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
