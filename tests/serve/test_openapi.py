"""The server against its own description (schemathesis), and against whatever else is sent to it."""

from dataclasses import replace

import pytest

from agent_cli.serve import http
from tests import hostile
from tests.serving import FREE, listening, opened

CASES = 2  # of each operation, good and bad; benchmarks/serve.py tries more
HOSTILE = 300


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    limits = replace(FREE, streams=0, read_seconds=0.3)  # a stream of events has no end
    with listening(opened(tmp_path_factory.mktemp("openapi"), AGENT_MODEL="offline"), limits) as (address, house):
        yield address, house


@pytest.fixture(scope="module")
def bot(running):
    return running[1].caller("bot")


def test_server_does_what_its_description_says(running, bot):
    address, house = running
    api = http.application(house.house).openapi()

    tried = hostile.against_description(api, address, bot.headers, CASES)

    assert set(tried) == {f"{method.upper()} {path}" for path, told in api["paths"].items() for method in told}


def test_whatever_is_sent_is_no_fault_of_the_server(running, bot):
    address, house = running
    sender = hostile.Sender(address, [*[bot.token] * 5, house.caller("reader", writes=False).token, "wrong"], 7)
    try:
        got = [sender.send() for _ in range(HOSTILE)]
    finally:
        sender.close()

    assert [each for each in got if each[1] >= 500] == []
    assert {200, 401, 404, 405, 421, 422} <= {status for _, status in got}
