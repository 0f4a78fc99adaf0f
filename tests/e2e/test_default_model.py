"""Which model answers by default: one run with another changes nothing."""

import pytest

from tests.ollama_server.registry import Model
from tests.ollama_server.script import reply
from tests.ollama_server.server import OllamaServer

OLD = Model("llama3.2:3b", modified_at="2026-01-04T17:37:44Z")
NEW = Model("qwen3:8b", modified_at="2026-05-04T17:37:44Z")
NEWER = Model("gemma3:4b", modified_at="2026-06-04T17:37:44Z")


@pytest.fixture
def two(program):
    """A server with two models, of which none is named in the settings."""
    with OllamaServer(models=[OLD, NEW]) as server:
        server.answer = lambda body: reply("Fine.")
        program.env["OLLAMA_HOST"] = server.host
        yield server


def answering(program):
    return program("ask", "--json", "how are you?").json["model"]


def test_a_model_named_for_one_run_answers_that_run_alone_and_the_newest_the_others(program, two):
    assert program("-m", OLD.name, "ask", "--json", "hello").json["model"] == OLD.name
    assert program("-v", "ask", "hi").err.startswith(f"agent: using {NEW.name}; -m or /model chooses another\n")
    assert answering(program) == NEW.name
    assert program("-m", OLD.name, "ask", "-c", "--json", "hello").json["model"] == OLD.name
    assert answering(program) == NEW.name


def test_a_model_that_is_fetched_later_does_not_become_the_default(program, two):
    assert answering(program) == NEW.name
    with OllamaServer(models=[OLD, NEW, NEWER]) as later:
        later.answer = two.answer
        program.env["OLLAMA_HOST"] = later.host
        assert answering(program) == NEW.name


def test_the_model_chosen_at_the_prompt_answers_from_then_on(program, two, terminal):
    shell = (
        terminal().wait_prompt().enter(f"/model {OLD.name}").wait(f"{OLD.name} answers").wait_prompt().enter("/exit")
    )
    assert shell.ended() == 0
    assert answering(program) == OLD.name
    shell = terminal("-m", NEW.name).wait_prompt().enter("hello").wait("Fine.").wait_prompt().enter("/exit")
    assert shell.ended() == 0
    assert answering(program) == OLD.name


def test_the_model_of_the_settings_is_the_default(program, two):
    assert answering(program) == NEW.name
    assert program("models", "use", OLD.name).code == 0
    assert answering(program) == OLD.name
