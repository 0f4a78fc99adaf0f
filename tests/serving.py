"""The server in the test's own process: its event loop on a thread, requests through its ASGI door, gate included."""

import json
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import httpx
import uvicorn
from starlette.testclient import TestClient

from agent_cli.app.app import App, open_app
from agent_cli.memory.conversations import callers
from agent_cli.serve import http
from agent_cli.serve.state import ServerLimits, ServerState
from tests.conftest import CHAT, place
from tests.ollama_server import script
from tests.ollama_server.server import OllamaServer

LIMITS = ServerLimits()


def opened(folder: Path, server: OllamaServer | None = None, **settings: str) -> App:
    """An app with the chat model of a server, else with nothing that answers."""
    environ = {"HOME": str(folder), "AGENT_DB": str(folder / "memory.db"), "OLLAMA_HOST": "127.0.0.1:9"}
    if server:
        environ |= {"AGENT_MODEL": CHAT.name, **server.environ}
    environ |= settings
    if not (folder / "memory.db").exists():
        place(folder / "memory.db")
    return open_app({}, lambda _: None, config_file=folder / "none.toml", environ=environ)


class Caller:
    """A program that was let in."""

    def __init__(self, client: TestClient, token: str, settle=lambda: None):
        self.client, self.token, self._settle = client, token, settle
        self.headers = {"Authorization": f"Bearer {token}"}

    def get(self, path: str, **options) -> httpx.Response:
        self._settle()
        return self.client.get(path, headers={**self.headers, **options.pop("headers", {})}, **options)

    def post(self, path: str, told, **options) -> httpx.Response:
        return self.client.post(path, json=told, headers={**self.headers, **options.pop("headers", {})}, **options)

    def chat(self, message: str, session: str | None = None, **options) -> httpx.Response:
        return self.post("/chat", {"message": message, "session": session}, **options)


class Served:
    def __init__(self, app: App, client: TestClient, house: ServerState):
        self.app, self.client, self.house = app, client, house

    @property
    def db(self):
        return self.app.db

    def caller(self, name: str, *, mine: bool = False, writes: bool = True) -> Caller:
        _, token = callers.add(self.app.db, name, self.app.time, mine=mine, writes=writes)
        return Caller(self.client, token, self.settle)

    def settle(self) -> None:
        """Wait for what is done after an answer: it is indexed, and counted."""
        while self.house.turns.running:
            time.sleep(0.005)


@contextmanager
def served(app: App, limits: ServerLimits = LIMITS):
    """A server that runs while the block does; then it is ended in order, and the file closed."""
    house = ServerState(app, limits)
    with TestClient(http.Gate(house), base_url="http://localhost", raise_server_exceptions=True) as client:
        yield Served(app, client, house)
    app.db.close()


@contextmanager
def asking(*asks: Callable[[], httpx.Response]):
    """Ask all this at once, each on a thread, while the block runs; gives the answers that are there."""
    got: list[httpx.Response] = []
    threads = [threading.Thread(target=lambda ask=ask: got.append(ask())) for ask in asks]
    for thread in threads:
        thread.start()
    yield got
    for thread in threads:
        thread.join(20)


def wait_until(holds: Callable[[], object]) -> None:
    for _ in range(3000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come to hold in time")


def heard(body: dict) -> script.Script:
    """A model that says what was said last, without what memory put around it."""
    return script.reply(f"heard: {said(body)[-1]}")


def last_chat(server) -> dict:
    """The last request for an answer; a server may be asked for its models behind it."""
    return [each.body for each in server.requests if isinstance(each.body, dict) and "messages" in each.body][-1]


def said(body: dict) -> list[str]:
    """The words of the person in a request to the model."""
    told = [message["content"] for message in body["messages"] if message["role"] == "user"]
    return ["\n\n".join(piece for piece in words.split("\n\n") if not piece.startswith("⟦")) for words in told]


def events(response: httpx.Response) -> list[dict]:
    """What a stream of server-sent events told, without comments."""
    return [json.loads(line[6:]) for line in response.text.split("\n") if line.startswith("data: {")]


@contextmanager
def listening(app: App, limits: ServerLimits = LIMITS):
    """A server that listens on a port of this machine, on a thread; gives its address and what `served` gives."""
    house = ServerState(app, limits)
    settings = uvicorn.Config(
        http.Gate(house),
        log_config=None,
        access_log=False,
        ws="none",
        lifespan="on",
        http=http.limited_protocol(limits),
    )
    server = uvicorn.Server(settings)
    sock = http.bound("127.0.0.1", 0, allow_remote=False)
    thread = threading.Thread(target=server.run, args=([sock],), daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{sock.getsockname()[1]}"
    with httpx.Client(base_url=address, timeout=30, trust_env=False) as client:
        while not server.started:
            time.sleep(0.01)
        yield address, Served(app, client, house)
    house.stopping.set()
    server.should_exit = True
    thread.join(30)
    app.db.close()


def crowd(address: str, tokens: list[str], *, chats: int, turns: int) -> list[str]:
    """So many conversations at once, half of them by OpenAI's form; what was mixed up or lost, in sentences."""
    wrong: list[str] = []

    def talk(number: int) -> None:
        headers = {"Authorization": f"Bearer {tokens[number % len(tokens)]}"}
        session, told = None, []
        with httpx.Client(base_url=address, headers=headers, timeout=120, trust_env=False) as client:
            for turn in range(turns):
                words = f"chat {number} turn {turn}"
                if number % 2:
                    got = client.post("/chat", json={"message": words, "session": session}).json()
                    answer, where = got.get("answer"), got.get("session")
                else:
                    told.append({"role": "user", "content": words})
                    response = client.post("/v1/chat/completions", json={"model": "agent", "messages": told})
                    got = response.json()
                    where = got.get("agent", {}).get("session")
                    answer = (got.get("choices") or [{"message": {}}])[0]["message"].get("content")
                    told.append({"role": "assistant", "content": answer or ""})
                if answer != f"heard: {words}" or (session and where != session):
                    wrong.append(f"{words}: {answer!r} in {where}, not {session}")
                session = where

    threads = [threading.Thread(target=talk, args=(number,)) for number in range(chats)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong
