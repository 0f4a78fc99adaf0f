"""One process with the small model for all tests that need a real one."""

import os
import signal
from dataclasses import replace

import pytest

from agent_cli.llm.local import process, weights
from agent_cli.llm.local.engine import LocalEngine
from agent_cli.llm.model import Cancel


@pytest.fixture(scope="session")
def engine(runtime):
    if not weights.is_small_ready():
        pytest.skip("the small model is not installed")
    return LocalEngine(runtime, num_ctx=4096, options={"temperature": 0, "seed": 1})


@pytest.fixture
def small(engine):
    return engine.chat(weights.SMALL)


@pytest.fixture
def killed(engine):
    """Kill the process, as the system does when memory is short."""

    def kill():
        launch = engine.launch(weights.SMALL)
        pids = [started.pid for started in process._started if started.poll() is None]
        assert process.running(launch)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        for started in process._started:
            started.wait()

    return kill


@pytest.fixture
def brief(engine):
    """An engine whose processes end soon."""
    return replace(engine, idle=0.5, num_ctx=512)


def address(engine):
    return process.join(engine.launch(weights.SMALL), Cancel())
