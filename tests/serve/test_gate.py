"""The gate before all routes, the description of the server, and whatever else is sent to it."""

import json

import pytest

from agent_cli.memory.conversations import callers
from agent_cli.serve import http
from agent_cli.serve.state import ServerLimits
from tests import hostile
from tests.conftest import CHAT
from tests.serving import listening, opened, served


@pytest.fixture
def house(tmp_path):
    with served(opened(tmp_path, AGENT_MODEL="offline")) as running:
        yield running


def routes(house):
    """(method, path) of every route, from the server's own table."""
    found = set()
    for route in http.application(house.house).routes:
        for method in getattr(route, "methods", None) or ():
            found.add((method, route.path.replace("{task}", "t1")))
        for inner in getattr(getattr(route, "original_router", None), "routes", ()):
            found |= {(method, inner.path) for method in inner.methods}
    return found | {
        (method.upper(), path)
        for path, told in http.application(house.house).openapi()["paths"].items()
        for method in told
    }


def test_without_a_token_there_is_nothing_but_health(house):
    house.caller("bot")
    there = routes(house)
    named = "/health /chat /search /metrics /events /openapi.json /v1/models /v1/chat/completions"
    assert {path for _, path in there} >= set(named.split())
    got = {}
    for method, path in [*there, ("GET", "/nothing"), ("OPTIONS", "/chat"), ("GET", "/health/"), ("GET", "//health")]:
        for headers in ({}, {"Authorization": "Bearer nonsense"}, {"Authorization": "Basic Og=="}):
            response = house.client.request(method, path, headers=headers)
            got[method, path] = response.status_code
            assert response.headers.get("access-control-allow-origin") is None
    assert {place for place, status in got.items() if status != 401} == {("GET", "/health")}
    assert house.client.get("/health").json() == {"ok": True, "version": http.__version__}


def test_deep_look_at_the_health_names_database_disk_and_model(tmp_path, server):
    well = {"ok": True, "version": http.__version__, "database": "ok", "disk": "ok", "model": "ok"}
    with served(opened(tmp_path, server)) as house:
        assert house.client.get("/health?deep").json() == well
        assert house.client.get("/health").json() == {"ok": True, "version": http.__version__}
    (tmp_path / "without").mkdir()
    with served(opened(tmp_path / "without", AGENT_MODEL=CHAT.name)) as house:
        found = house.client.get("/health?deep")
    assert (found.status_code, found.json()) == (503, {**well, "ok": False, "model": "no model server answers"})


def test_token_counts_until_it_is_revoked(house):
    bot = house.caller("bot")
    assert bot.get("/v1/models").status_code == 200
    callers.revoke(house.db, "bot", house.app.time)
    assert bot.get("/v1/models").status_code == 401
    assert bot.get("/v1/models").headers["www-authenticate"] == "Bearer"


def test_new_token_of_a_revoked_caller_reaches_its_memory_and_the_old_one_nothing(house):
    old = house.caller("bot")
    old.chat("My boat is called Windrose.")
    callers.revoke(house.db, "bot", house.app.time)
    new = house.caller("bot")
    assert new.chat("and?", "s1").status_code == 200
    assert old.chat("and?", "s1").status_code == 401


def test_only_the_hash_of_a_token_is_kept(house):
    bot = house.caller("bot")
    assert house.db.value("select length(hash) from caller") == 64
    assert bot.token.encode() not in (house.app.path).read_bytes()


@pytest.mark.parametrize(
    "name", ["evil.example", "evil.example:8177", "", "localhost.evil.example", "127.0.0.1.nip.io"]
)
def test_request_under_another_name_is_turned_away(house, name):
    bot = house.caller("bot")
    assert bot.get("/v1/models", headers={"Host": name}).status_code == 421
    assert house.client.get("/health", headers={"Host": name}).status_code == 421


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST:8177", "127.0.0.1", "127.0.0.1:9", "[::1]", "[::1]:8177"])
def test_request_to_this_machine_is_let_in(house, name):
    assert house.client.get("/health", headers={"Host": name}).status_code == 200


def test_too_large_a_request_is_refused_before_it_is_read(tmp_path):
    with served(opened(tmp_path, AGENT_MODEL="offline"), ServerLimits(body_bytes=1000)) as house:
        bot = house.caller("bot")
        assert bot.chat("x" * 2000).status_code == 413
        chunks = (b"x" * 100 for _ in range(100))
        assert house.client.post("/chat", content=chunks, headers=bot.headers).status_code == 413
        assert bot.chat("hi").status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"null", b"[]", b'"x"', b"{", b"[" * 100_000, b'{"message": 1}', b'{"message": NaN}', b"\xff\xfe"),
        b'{"message": "\\ud800"}',
        b'{"message": ' + b"9" * 5000 + b"}",
        b'{"message": "a", "session": "s99999999999999999999"}',
    ],
    ids=lambda body: body[:20],
)
def test_malformed_body_is_told_what_is_wrong(house, body):
    headers = {**house.caller("bot").headers, "Content-Type": "application/json"}
    for path in ("/chat", "/v1/chat/completions"):
        response = house.client.post(path, content=body, headers=headers)
        assert response.status_code in (400, 422)
        assert set(response.json()["error"]) == {"message", "type", "param", "code"}


def test_error_never_repeats_what_was_sent(house):
    response = house.caller("bot").post("/chat", {"message": ["canary"], "more": "canary"})
    assert response.status_code == 422
    assert "canary" not in json.dumps(response.json())


CASES = 1  # of each operation, good and bad; benchmarks/serve.py tries more
HOSTILE = 300


@pytest.fixture
def running(tmp_path):
    """How one listens for heads of requests that come within so many seconds."""
    return lambda seconds: listening(opened(tmp_path, AGENT_MODEL="offline"), ServerLimits(read_seconds=seconds))


def test_server_does_what_its_description_says(running):
    with running(30) as (address, house):
        api = http.application(house.house).openapi()
        api["paths"].pop("/events")  # it has no end
        tried = hostile.against_description(api, address, house.caller("bot").headers, CASES)
    assert set(tried) == {f"{method.upper()} {path}" for path, told in api["paths"].items() for method in told}


def test_whatever_is_sent_is_no_fault_of_the_server(running):
    with running(0.3) as (address, house):
        bot, reader = house.caller("bot"), house.caller("reader", writes=False)
        sender = hostile.Sender(address, [*[bot.token] * 5, reader.token, "wrong"], 7)
        try:
            got = [sender.send() for _ in range(HOSTILE)]
        finally:
            sender.close()
    assert [each for each in got if each[1] >= 500] == []
    assert {200, 401, 404, 405, 421, 422} <= {status for _, status in got}
