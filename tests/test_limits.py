"""Parsers within limits: what takes too long, too much memory or goes too deep ends, and says which it was."""

import os
import signal
import time

import pytest

from agent_cli import limits
from agent_cli.limits import LimitExceeded


def endless():
    while True:
        pass


def nested(depth=0):
    return nested(depth + 1)


def failing():
    raise LookupError("not here")


def test_a_parser_within_its_limits_returns_or_raises_what_it_would_here():
    assert limits.run(lambda: "x" * 5_000_000) == "x" * 5_000_000
    with pytest.raises(LookupError, match="not here"):
        limits.run(failing)


@pytest.mark.parametrize(
    ("parse", "seconds", "why"),
    [
        (endless, 0.2, r"it takes more than 0.2 s to be read"),
        (lambda: time.sleep(99), 0.2, r"it takes more than 0.2 s to be read"),
        (lambda: bytearray(2_000_000_000), 99, r"it takes more than 1,000 MB of memory to be read"),
        (nested, 99, "it is nested too deeply"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), 99, "its parser crashed"),
    ],
    ids=["busy", "idle", "memory", "depth", "crash"],
)
def test_a_parser_beyond_a_limit_is_ended_and_the_limit_is_named(parse, seconds, why, monkeypatch):
    fork, children = os.fork, []
    monkeypatch.setattr(os, "fork", lambda: children.append(fork()) or children[-1])
    with pytest.raises(LimitExceeded, match=why):
        limits.run(parse, seconds)
    [child] = children
    with pytest.raises(ChildProcessError):  # it was waited for
        os.waitpid(child, os.WNOHANG)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" * 200_000, "it is nested too deeply"),
        (f"[{'{},' * 5_000_000}0]", "it takes more than 1,000 MB of memory to be read"),
    ],
    ids=["depth", "memory"],
)
def test_json_beyond_a_limit_is_not_read(text, why):
    with pytest.raises(ValueError, match=why):
        limits.load_json(text)
