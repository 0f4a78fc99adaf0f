"""Where requests go and what stands in each: no server, a proxy in the way, and the promises kept on the wire."""

import pytest

from tests.conftest import CHAT, EMBEDDER, Ran
from tests.ollama_server import script
from tests.ollama_server.registry import Model
from tests.ollama_server.server import OllamaServer

LOG = "select role, text, finish, model from message order by id"
NOBODY = "no model server at http://127.0.0.1:9; answering from memory only (start it with `ollama serve`)"
DEAD = "http://127.0.0.1:9"


def test_without_a_server_a_named_model_is_an_error_that_says_what_was_tried(program):
    said = (
        "agent: no model server answers at http://127.0.0.1:9 (connection refused): start it with `ollama serve`, "
        "or set OLLAMA_HOST to where it runs\n"
    )
    assert program("-m", "qwen3:8b", "ask", "hi") == Ran(3, "", said)
    assert program("ask", "hi", env={"AGENT_MODEL": "qwen3:8b"}) == Ran(3, "", said)
    assert program.rows(LOG) == [("user", "hi", "stop", "")] * 2


def test_without_a_server_memory_answers_and_one_line_says_so(program):
    nothing = "No model server answers, and nothing in memory matches your message."
    assert program("ask", "where", "is", "the", "key") == Ran(3, f"{nothing}\n", f"agent: {NOBODY}\n")
    assert program.rows(LOG) == [("user", "where is the key", "stop", ""), ("assistant", nothing, "stop", "offline")]
    assert program("ask", "summarise this", stdin="The plumber came on Tuesday.\n").out == f"{nothing}\n"


def test_without_a_server_memory_quotes_what_it_holds(program):
    program("notes", "add", "The key is under the pot", env={"AGENT_NOW": "2026-01-02T12:00:00+00:00"})
    quoted = "No model server answers; these are the words in memory that match your message:\n\n"
    answer = f"{quoted}- 02 Jan 2026 (n1): “The key is under the pot”"
    assert program("ask", "where is the key").out == f"{answer}\n"
    assert program("-q", "ask", "where is the pot") == Ran(3, f"{answer}\n", "")


def test_without_a_server_a_request_for_advice_brings_the_wish_that_was_just_accepted(program, scripts_decide):
    program("facts", "add", "I am vegetarian")
    assert "(f1): “I am vegetarian”" in program("ask", "what shall I cook tonight?").out


def test_without_a_server_what_waits_for_a_yes_is_not_called_a_question(program):
    ran = program("ask", "Remember that I live in Graz.", env={"AGENT_NOW": "2026-01-02T12:00:00+00:00"})
    assert ran.out == "No model server answers; this waits for your yes:\n\n- 02 Jan 2026 (f1): “I live in Graz”\n"
    ran = program("ask", "Forget that I live in Graz.")
    assert ran.out == "No model server answers.\n"


def test_without_a_server_what_was_kept_is_said_and_no_model_is_missed(program, terminal):
    shell = (
        terminal("-m", "offline").wait_prompt().enter("Remember that I live in Graz.").wait("/undo f1").wait_prompt()
    )
    assert "No model server answers" not in shell.text, "none was asked"
    shell.enter("Remember that I like tea. Where do I live?").wait("/undo f2").wait_prompt()
    assert "No model server answers" in shell.text
    shell.enter("thank you").wait("No model server answers.").wait_prompt()
    shell.enter("Remember that I moved to Linz.").wait("in place of f1").wait_prompt()
    shell.enter("Where do I live?").wait(" (m1): “Remember that I live in Graz.”").wait_prompt()
    assert ", no longer true since " in shell.text


def test_without_a_server_json_names_the_offline_model_and_the_code_is_as_is_wished(program):
    ran = program("ask", "--json", "hi")
    assert (ran.code, ran.json["model"], ran.json["finish"]) == (3, "offline", "stop")
    assert ran.err == f"agent: {NOBODY}\n"
    assert program("ask", "--offline-ok", "hi").code == program("-m", "offline", "ask", "hi").code == 0


def test_a_host_that_does_not_exist_and_an_address_that_cannot_be_one_are_said(program):
    program.env["OLLAMA_HOST"] = "no-such-host.invalid:11434"
    ran = program("-m", "qwen3:8b", "ask", "hi")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("agent: no model server answers at http://no-such-host.invalid:11434 (")
    auto = program("ask", "hi")
    assert (auto.code, auto.err) == (3, f"agent: {NOBODY.replace('127.0.0.1:9', 'no-such-host.invalid:11434')}\n")
    said = (
        "agent: the address of the model server is 'ftp://x': write it like 127.0.0.1:11434 or http://my-server:11434 "
        "(in OLLAMA_HOST, or as host in the settings)\n"
    )
    assert program("-m", "qwen3:8b", "ask", "hi", env={"OLLAMA_HOST": "ftp://x"}) == Ran(2, "", said)


PROXIES = dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy"), DEAD)


@pytest.mark.parametrize("proxies", [PROXIES, {**PROXIES, "ALL_PROXY": "socks5://127.0.0.1:9"}], ids=["http", "socks"])
def test_a_proxy_in_the_environment_never_gets_a_request(program, proxies):
    with OllamaServer(models=[CHAT, EMBEDDER], library=[Model("tiny:1b")]) as server:
        program.env |= {"OLLAMA_HOST": server.host, "OLLAMA_API_KEY": "secret", **proxies}
        server.play(script.reply("Hello"))
        assert program("ask", "hi") == Ran(0, "Hello\n", "")
        assert program("models", "list").code == 0
        assert program("models", "pull", "tiny:1b").code == 0
        assert program("doctor").code == 0
        assert not any("authorization" in request.headers for request in server.requests)


def test_every_request_has_the_same_context_one_system_message_and_forgets_nothing_in_silence(program, server):
    program.use(server)
    server.play(script.reply("Saved.", calls=[("search_notes", {"query": "tea"})]), script.reply("None."))
    assert program("ask", "any notes on tea?").code == 0
    assert program("ask", "--session", "s1", "-s", "Be brief.", "and on milk?").code == 0
    assert program("sessions", "close", "s1").code == 0
    assert len(server.turns) == 4
    for body in server.turns:
        assert {key: body[key] for key in ("model", "stream", "truncate", "shift")} == {
            "model": "qwen3:8b",
            "stream": True,
            "truncate": False,
            "shift": False,
        }
        assert body["options"] == {"num_predict": 8192, "num_ctx": 8192}
    roles = [[message["role"] for message in body["messages"]] for body in server.turns]
    assert roles == [
        ["system", "user"],
        ["system", "user", "assistant", "tool"],
        ["system", "user", "assistant", "tool", "assistant", "user"],
        ["system", "user", "assistant", "tool", "assistant", "user", "assistant", "user"],  # the summary
    ]
    assert server.problems == []
