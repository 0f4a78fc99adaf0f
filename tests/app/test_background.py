"""A question while a beginning is read ahead: it waits for its own, and ends any other."""

import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest

from agent_cli.agent import policy
from agent_cli.app import models, turns
from agent_cli.app.app import open_app
from agent_cli.app.background import Warmer
from agent_cli.errors import Cancelled
from agent_cli.llm.model import Cancel
from agent_cli.messages import Part
from tests.conftest import CHAT


@pytest.fixture
def server(server):
    server.strict = False
    server.prompts.tokens_a_second = 1000.0  # two thirds of a second
    return server


@contextmanager
def reading(tmp_path, server):
    """An app whose beginning is being read, its warmer, and the request of a question."""
    environ = {
        "AGENT_DB": str(tmp_path / "memory.db"),
        "AGENT_CONFIG": str(tmp_path / "none.toml"),
        "AGENT_MODEL": CHAT.name,
        **server.environ,
    }
    app = open_app({}, print, environ=environ)
    warmer = Warmer(app, lambda: None)
    agent = turns.agent(app, models.planned(app, app.db), policy.no_approver)
    warmer.resume()
    server.wait_until(lambda: server.counters.running == 1)
    yield warmer, turns.preview(app, app.db, agent, None, [Part("How long do eggs boil?", "typed")])
    warmer.end()
    server.wait_until_idle()
    app.db.close()


def test_a_question_waits_until_its_own_beginning_is_read(tmp_path, server):
    with reading(tmp_path, server) as (warmer, request):
        warmer.wait_until_read(CHAT.name, request, Cancel())
        assert (server.ahead[0].finished, server.counters.cancelled) == (True, 0)


@pytest.mark.parametrize("other", ["model", "tools", "instructions"])
def test_a_question_that_begins_otherwise_ends_the_reading_at_once(tmp_path, server, other):
    server.prompts.tokens_a_second = 10.0  # a minute
    with reading(tmp_path, server) as (warmer, request):
        model = "other:1b" if other == "model" else CHAT.name
        if other == "tools":
            request = replace(request, tools=())
        elif other == "instructions":
            system, *rest = request.messages
            request = replace(request, messages=(replace(system, text="Be brief."), *rest))
        warmer.wait_until_read(model, request, Cancel())
        server.wait_until(lambda: server.counters.cancelled == 1)


def test_who_gives_up_waiting_leaves_the_reading_alone(tmp_path, server):
    server.prompts.tokens_a_second, server.prompts.go_on = 0.0, (go_on := threading.Event())
    with reading(tmp_path, server) as (warmer, request):
        cancel = Cancel()
        threading.Timer(0.1, cancel).start()
        with pytest.raises(Cancelled):
            warmer.wait_until_read(CHAT.name, request, cancel)
        go_on.set()
        server.wait_until(lambda: server.ahead[0].finished)
        assert server.counters.cancelled == 0


def test_nothing_is_read_ahead_while_a_turn_runs_and_the_same_is_read_once(tmp_path, server):
    with reading(tmp_path, server) as (warmer, request):
        warmer.wait_until_read(CHAT.name, request, Cancel())
        warmer.resume()
        warmer.pause()
        warmer.begin(force=True)
        time.sleep(0.5)
        assert len(server.ahead) == 1
        warmer.resume()
        server.wait_until(lambda: len(server.ahead) == 2)


@pytest.mark.filterwarnings("default")
def test_a_bug_while_reading_ahead_prints_nothing_over_the_prompt(tmp_path, server, monkeypatch):
    printed, asked = [], threading.Event()
    monkeypatch.setattr(threading, "excepthook", printed.append)
    with reading(tmp_path, server) as (warmer, _):
        warmer._session = lambda: asked.set() or 1 / 0
        warmer.begin(force=True)
        assert asked.wait(5)
        time.sleep(0.2)
    assert printed == []
