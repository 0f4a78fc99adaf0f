"""`agent serve` as a process: started, spoken to, stopped and started again."""

import json
import os
import re
import signal
import socket
import time
from contextlib import contextmanager

import httpx
import pytest

from agent_cli.errors import UsageError
from agent_cli.serve import http
from tests.ollama_server import script
from tests.serving import crowd, heard, listening, opened, said, served, wait_until

pytestmark = pytest.mark.usefixtures("scripts_decide")


@contextmanager
def running(program, *options):
    """The server as a process, and its address; it is stopped in the end, if it is not yet."""
    process = program.start("serve", "--port", "0", *options)
    try:
        line = next(line for line in process.stderr if "serving at" in line)
        yield process, re.search(r"http://\S+", line)[0]
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=20)


def token(program, *options):
    ran = program("serve", "callers", "add", *options)
    assert ran.code == 0, ran.err
    return ran.out.strip()


def test_official_client_talks_over_two_processes_and_the_second_knows_the_first(program, server):
    import openai  # half a second, for each process of the tests

    program.use(server)
    server.answer = heard
    key = token(program, "bot")
    talk = [{"role": "user", "content": "I am building a boat."}]

    with running(program) as (process, address):
        client = openai.OpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0)
        assert [model.id for model in client.models.list()] == ["agent"]
        answer = client.chat.completions.create(model="agent", messages=talk)
        assert answer.usage.total_tokens > 0
        for _ in range(20_000):  # two are sent by `timeout`: one may come while another is handled
            os.kill(process.pid, signal.SIGTERM)
        assert (process.wait(20), process.stderr.read()) == (143, "")
    assert program.rows("select closed_at is not null, holder from session") == [(1, None)]

    talk += [{"role": "assistant", "content": answer.choices[0].message.content}, user("What am I building?")]
    with running(program, "--grace", "0.2") as (process, address):
        client = openai.OpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0)
        client.chat.completions.create(model="agent", messages=talk)
        chunks = client.chat.completions.create(model="agent", messages=[user("And a boat?")], stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "heard: And a boat?"
        server.answer = None
        server.play(script.pieces(script.Piece("Well"), script.Piece(" then", delay=60)))
        chunks = iter(client.chat.completions.create(model="agent", messages=[user("Tell me.")], stream=True))
        assert next(chunk for chunk in chunks if chunk.choices[0].delta.content)
        process.send_signal(signal.SIGINT)
        with pytest.raises(openai.APIError, match="stopped"):
            list(chunks)
        assert process.wait(20) == 0

    assert program.rows("select session_id, text, finish from message where id > 2 order by id") == [
        (1, "What am I building?", "stop"),
        (1, "heard: What am I building?", "stop"),
        (2, "And a boat?", "stop"),
        (2, "heard: And a boat?", "stop"),
        (3, "Tell me.", "stop"),
        (3, "Well", "cancelled"),
    ]
    assert program.rows("select count(*) from session where closed_at is null") == [(0,)]
    bodies = [request.body for request in server.requests if request.body and request.body.get("messages")]
    assert said(bodies[1]) == ["I am building a boat.", "What am I building?"]
    assert "The end of the previous session" in str(bodies[2])


def test_signals_that_come_while_it_ends_change_nothing(program):
    with running(program) as (process, _):
        while process.poll() is None:
            process.terminate()
            time.sleep(0.002)
        assert process.returncode in (143, -signal.SIGTERM)  # the latter of an interpreter that is nearly gone
        assert process.stderr.read() == ""


def test_a_message_of_many_blanks_keeps_nobody_waiting(program, server):
    program.use(server)
    server.answer = heard
    headers = {"Authorization": f"Bearer {token(program, 'bot')}"}
    words = f"remember that I{' ' * 100_000}live in Graz"
    with running(program, "--timeout", "10") as (_, address), httpx.Client(headers=headers, timeout=30) as client:
        told = client.post(f"{address}/chat", json={"message": words}).json()
    assert told["receipts"] == ["f1 waits for your yes: “I live in Graz” (agent --as bot facts review)"]


def user(words):
    return {"role": "user", "content": words}


def test_server_without_its_libraries_says_what_to_install(program, tmp_path):
    for library, command, what in (
        ("fastapi", "serve", "the server needs libraries that are not installed: pip install 'agent-cli[serve]'"),
        ("acp", "acp", "this needs a library that is not installed: pip install 'agent-cli[acp]'"),
    ):
        (tmp_path / f"{library}.py").write_text("raise ImportError('not there')")
        ran = program(command, env={"PYTHONPATH": str(tmp_path)})
        assert (ran.code, ran.out, ran.err) == (2, "", f"agent: {what}\n")


def test_server_stays_on_this_machine_unless_told():
    for host in ("0.0.0.0", "::"):
        with pytest.raises(UsageError, match="say --insecure-bind too"):
            http.bound(host, 0, allow_remote=False)
    with http.bound("127.0.0.1", 0, allow_remote=False) as taken, http.bound("0.0.0.0", 0, allow_remote=True):
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} cannot be listened on"):
            http.bound("127.0.0.1", port, allow_remote=False)
    with pytest.raises(UsageError, match="is not an address"):
        http.bound("no.such.host.invalid", 0, allow_remote=False)


def test_own_memory_is_granted_by_a_typed_yes_alone(program, terminal):
    assert program("serve", "callers", "add", "bot", "--mine", stdin="yes\n").code == 2
    assert program("serve", "callers", "add", "bot", env={"AGENT_CHILD": "1"}).code == 2
    assert program.rows("select count(*) from caller") == [(0,)]
    screen = terminal("serve", "callers", "add", "bot", "--mine")
    screen.wait("Type yes:")
    screen.answer("yes")
    screen.wait("reaches your own memory")
    assert program.rows("select name, owner, may from caller") == [("bot", "person", "read write")]


def test_person_works_in_the_memory_of_a_caller_and_decides_on_what_waits_there(program, server):
    server.answer = heard
    with served(opened(program.home, server)) as house:
        told = house.caller("bot").chat("Remember that my boat is called Windrose.").json()
    assert any("agent --as bot facts review" in notice for notice in told["notices"])
    assert program("facts", "review", "--check").out == "0\n"
    assert program("--as", "bot", "facts", "review", "--check").out == "1\n"
    assert program("--as", "bot", "facts", "approve", "f1", "--yes").code == 0
    assert program.rows("select owner, state from fact") == [("caller:bot", "accepted")]
    assert program("--as", "bot", "forget", "s1", "--yes").code == 0
    assert program.rows("select count(*) from message") == [(0,)]
    assert program("--as", "nobody", "facts", "list").code == 2


def test_client_that_goes_away_cuts_its_turn_and_frees_its_place(tmp_path, server):
    server.play(script.held("Well"), script.reply("so"))
    with listening(opened(tmp_path, server)) as (address, house):
        bot = house.caller("bot")
        headers = "".join(f"{name}: {value}\r\n" for name, value in bot.headers.items())
        body = json.dumps({"message": "hi"})
        host, _, port = address.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port))) as client:
            head = f"POST /chat HTTP/1.1\r\nHost: {host}\r\n{headers}Content-Type: application/json\r\n"
            client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
            wait_until(lambda: house.db.value("select text from message where role = 'assistant'"))
        wait_until(lambda: house.house.turns.running == 0)
        assert house.db.rows("select text, finish from message order by id") == [("hi", "stop"), ("Well ", "cancelled")]
        assert bot.chat("again", "s1").json()["answer"] == "so"


def test_stream_of_events_tells_at_once_what_happens(tmp_path, server):
    server.answer = heard
    with listening(opened(tmp_path, server)) as (address, house):
        bot = house.caller("bot")
        with httpx.stream("GET", f"{address}/events", headers=bot.headers, timeout=10, trust_env=False) as stream:
            lines = stream.iter_lines()
            assert next(lines).startswith(":")
            bot.chat("Remember that my boat is called Windrose.")
            assert next(line for line in lines if line.startswith("id: ")) == "id: e2"


def test_crowd_of_chats_is_neither_mixed_up_nor_lost(tmp_path, server):
    server.answer = heard
    with listening(opened(tmp_path, server)) as (address, house):
        wrong = crowd(address, [house.caller("bot").token, house.caller("other").token], chats=6, turns=3)
        assert wrong == []
        assert house.db.value("select count(*) from message") == 6 * 3 * 2
