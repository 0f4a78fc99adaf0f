"""`engine = "openai"`: what only such a server asks of a person: an address, a key, and a word before words leave."""

import pytest

from tests import engines
from tests.conftest import CHAT, EMBEDDER
from tests.ollama_server import script

pytestmark = pytest.mark.usefixtures("talking")


@pytest.fixture
def server():
    with engines.started("openai", [CHAT, EMBEDDER]) as running:
        yield running


def test_the_key_is_sent_and_written_nowhere(program, server):
    server.play(script.error(500, "boom"), script.error(500, "boom"))
    shown = [program("ask", "hi"), program("config", "show"), program("doctor"), program("log", "list")]
    assert server.requests[0].headers["authorization"] == "Bearer a-key-of-mine"
    assert not any("a-key-of-mine" in each.out + each.err for each in shown)
    assert not any(b"a-key-of-mine" in file.read_bytes() for file in program.home.rglob("*") if file.is_file())


def test_another_variable_can_hold_the_key(program, server):
    env = {"AGENT_API_KEY": "", "AGENT_KEY_VARIABLE": "MY_KEY", "MY_KEY": "a-key-of-mine"}
    assert program("ask", "hi", env=env).code == 0


def test_a_wrong_key_is_told_once_and_what_to_do(program, server):
    ran = program("ask", "hi", env={"AGENT_API_KEY": "wrong"})
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        f"agent: the server at {server.base} refuses the key (401): put the right one into the environment variable "
        "that key_variable names\n"
    )


def test_words_go_to_the_internet_only_where_a_setting_says_so(program, server):
    for engine in ("openai", "ollama"):
        ran = program("ask", "hi", env={"AGENT_HOST": "https://8.8.8.8/v1", "AGENT_ENGINE": engine})
        assert (ran.code, "agent config set words_leave_machine true" in ran.err) == (2, True), ran


def test_ollamas_address_is_not_taken_for_it(program, server):
    ran = program("ask", "hi", env={"AGENT_HOST": "", "OLLAMA_HOST": "127.0.0.1:9"})
    assert (ran.code, "agent config set host http://127.0.0.1:8080/v1" in ran.err) == (2, True), ran
    assert program("ask", "hi", env={"AGENT_HOST": "", "OPENAI_BASE_URL": server.base}).code == 0


def test_notes_need_no_address(program):
    assert program("notes", "add", "tea", env={"AGENT_HOST": ""}).code == 0


def test_models_are_pulled_by_ollama_alone(program):
    ran = program("models", "pull", "qwen3:4b")
    assert (ran.code, "agent config set engine ollama" in ran.err) == (2, True)


def test_a_model_of_the_server_is_chosen_at_the_prompt(program, terminal):
    open_ = terminal()
    open_.wait_prompt().enter("/model nope").wait("is not on the server")
    open_.wait_prompt().enter(f"/model {CHAT.name}").wait_prompt().enter("hello").wait("You said: hello")
