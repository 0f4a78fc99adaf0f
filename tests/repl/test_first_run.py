"""The first conversation at a server that has nothing to talk to."""

import pytest

from agent_cli.agent.events import Noticed, Progressed
from agent_cli.app.app import open_app
from agent_cli.llm import local
from agent_cli.llm.model import Cancel
from agent_cli.repl.greeting import ModelOffer
from tests.conftest import CHAT, EMBEDDER
from tests.ollama_server import script
from tests.ollama_server.registry import Model
from tests.ollama_server.server import OllamaServer
from tests.terminal import CTRL_C

SMALL = Model("qwen3:4b", ("completion", "tools"), size=2_497_293_918)
SAID = """The server at {} has no model that can chat. These would do:
  1  qwen3:4b    2.5 GB to fetch, about 4 GB of memory
  2  qwen3:1.7b  1.4 GB to fetch, about 3 GB of memory
  3  qwen3:8b    5.2 GB to fetch, about 7 GB of memory
Type y and Enter to fetch qwen3:4b now, or the number of another one. Notes, facts and search work without a model."""


@pytest.fixture
def server():
    with OllamaServer(models=[EMBEDDER], library=[SMALL, CHAT]) as running:
        yield running


@pytest.fixture
def offer(program, server):
    """Looked for at this server, with these settings."""
    opened = []

    def check(**flags):
        app = open_app({"db": str(program.db), "host": server.host, **flags}, lambda text: None, environ=program.env)
        opened.append(app)
        return ModelOffer(app)

    yield check
    for app in opened:
        app.db.close()


def fetched(work):
    return list(work(Cancel(), lambda call: False))


def test_a_server_without_a_chat_model_is_told_and_one_fetched_on_a_typed_y(offer, server):
    offered = offer()
    assert offered.accept("y") is None  # nothing was offered
    assert offered.check() == SAID.format(server.url)
    assert not [request for request in server.requests if request.path == "/api/pull"]
    events = fetched(offered.accept(" Y "))
    assert events[-1] == Noticed("qwen3:4b is here and answers from now on")
    steps = [event.step for event in events if isinstance(event, Progressed) and event.step]
    assert steps[1:-3] == [f"pulling {SMALL.digest[:12]} {percent} %" for percent in (0, 20, 50, 70, 100)]
    assert offered.check() == ""


def test_another_is_fetched_by_its_number_also_after_a_line_that_no_model_answered(offer, monkeypatch):
    offered = offer()
    offered.check()
    assert offered.accept("what now?") is None
    with monkeypatch.context() as patch:
        patch.setattr(offered._app, "model", object())
        assert offered.accept("y") is None  # that answers the model by now
    assert fetched(offered.accept("3"))[-1] == Noticed("qwen3:8b is here and answers from now on")


def test_the_model_of_the_settings_is_offered_first(offer):
    assert offer(model="tiny:1b").check().splitlines()[1:4] == [
        "  1  tiny:1b",
        "  2  qwen3:4b    2.5 GB to fetch, about 4 GB of memory",
        "  3  qwen3:1.7b  1.4 GB to fetch, about 3 GB of memory",
    ]
    assert [offer(model=name).check() for name in ("offline", "scripted:x")] == ["", ""]


def test_a_start_without_a_server_says_how_to_start_it(offer):
    told = "no model server at http://127.0.0.1:9: start it with `ollama serve`; notes, facts and search work without"
    offered = offer(host="127.0.0.1:9")
    assert offered.check().splitlines()[0] == told
    assert offered.absence_known()
    asked_first = offer(host="127.0.0.1:9")
    assert not asked_first.absence_known(), "nothing has been said yet"
    assert told not in asked_first.check()


@pytest.mark.skipif(not local.is_small_ready(), reason="the small model is not installed")
def test_without_a_server_the_small_model_can_be_tried_on_a_typed_y(offer):
    offered = offer(host="127.0.0.1:9")
    assert offered.check().splitlines()[1] == (
        "Type y and Enter to try SmolLM2-135M now, a very small model on this machine: it shows how everything works, "
        "but answers badly."
    )
    assert fetched(offered.accept("y")) == [
        Noticed(
            "smollm2:135m answers in this session; /set engine local keeps it, and /set model FILE.gguf takes a "
            "better one"
        )
    ]
    assert offered.check() == ""
    later = offer(host="127.0.0.1:9")
    assert later.check().splitlines()[1].startswith("Type y and Enter to try SmolLM2-135M now")
    assert later.accept("y")
    assert len(offer(host="127.0.0.1:9", model="qwen3:8b").check().splitlines()) == 1, "a model was named"


@pytest.mark.usefixtures("no_database")
def test_a_first_run_from_nothing_to_an_answer(program, server, terminal):
    program.env["OLLAMA_HOST"] = server.host
    shell = terminal().wait("y and Enter to fetch qwen3:4b now").wait_prompt()
    shell.enter("/note buy milk").wait("saved n1").wait_prompt()
    server.pull_held = SMALL.size // 2
    shell.enter("y").wait("50 % · 1.2 GB of 2.5 GB").type(CTRL_C)
    shell.wait("what has arrived is kept, and `agent models pull qwen3:4b` in a shell goes on").wait_prompt()
    server.pull_held = 0
    server.play(script.reply("Hello."))
    shell.enter("hi").wait("y and Enter to fetch qwen3:4b now", times=2).wait_prompt()
    shell.enter("y").wait("qwen3:4b is here and answers from now on").wait_prompt()
    shell.enter("hi again").wait("Hello.").wait_prompt()
    assert "%" not in shell.text.rsplit("is here", 1)[1]
