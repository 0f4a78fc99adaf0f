"""Asking a model of either server, and what came of it."""

import socket
import threading
import time
from contextlib import contextmanager

import pytest

from agent_cli.errors import Cancelled
from agent_cli.llm.chat import ChatSettings
from agent_cli.llm.model import Notice, Text
from agent_cli.llm.ollama import OllamaEngine
from agent_cli.llm.openai import OpenAIEngine
from agent_cli.messages import Message, ToolCall
from tests.v1_server import V1Server

NAME = "qwen3:8b"
NOW = {"name": "now", "description": "The time.", "parameters": {"type": "object", "properties": {}}}
HELLO = [Message("user", "hello")]
HISTORY = [
    Message("system", "Be brief."),
    Message("user", "time?"),
    Message("assistant", "", (ToolCall("call_1", "now", {"zone": "UTC"}),), thinking="look it up"),
    Message("tool", "noon", call_id="call_1", tool_name="now"),
]
AGAIN = Notice("the model server failed once; asked again")


def engine_of(server, **settings):
    """The engine that talks to a server."""
    if isinstance(server, V1Server):
        return OpenAIEngine(server.base, server.key, settings=ChatSettings(**settings))
    keep_alive = settings.pop("keep_alive", "")
    return OllamaEngine(server.host, ChatSettings(**{"num_ctx": 4096, **settings}), keep_alive)


def ask(server, name=NAME, messages=HELLO, tools=(), cancel=None, think=None, format=None, **settings):
    """The chunks of a reply."""
    model = engine_of(server, **settings).chat(name)
    return model.reply(messages, tools, cancel=cancel, think=think, format=format)


def said(chunks):
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, Text))


def until_it_fails(chunks, error):
    """The chunks before the error, and its sentence."""
    kept = []
    with pytest.raises(error) as raised:
        kept.extend(chunks)  # keeps what came before the error
    return kept, str(raised.value)


def stopped_after(chunks, cancel, seconds):
    """How long after it was asked to stop the reply did."""
    asked = []
    timer = threading.Timer(seconds, lambda: (asked.append(time.monotonic()), cancel()))
    timer.start()
    with pytest.raises(Cancelled):
        list(chunks)
    timer.join()
    return time.monotonic() - asked[0]


@contextmanager
def nowhere():
    """An address that refuses: taken, so that nobody else gets it, and not listened to."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@contextmanager
def raw_server(answer):
    """A server that hands each connection to `answer` after the request came."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            while True:
                try:
                    sock, _ = listener.accept()
                except OSError:
                    return
                with sock:
                    head = sock.recv(65536)
                    if head:
                        answer(sock, head)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        with socket.socket() as knock:
            knock.connect_ex(listener.getsockname())
        listener.close()


def answering(body):
    """A server that answers anything with this body."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    return raw_server(lambda sock, _: sock.sendall(answer))
