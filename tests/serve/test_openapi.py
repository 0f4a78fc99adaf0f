"""The server against its own description (schemathesis), and against whatever else is sent to it."""

import pytest

from agent_cli.serve import http
from agent_cli.serve.state import ServerLimits
from tests import hostile
from tests.serving import listening, opened

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
