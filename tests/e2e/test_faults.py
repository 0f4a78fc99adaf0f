"""Faults of the disk, through the real process: the short part of `python -m benchmarks faults`."""

import pytest

from benchmarks.faults import injection, shim
from benchmarks.faults.injection import Bench, Outcome

COMMANDS = [
    ("config", "set", "num_ctx", "16384"),
    ("db", "restore", "older.db"),
    ("db", "salvage", "saved.db"),
    ("facts", "export", "--format", "md", "--out", "out"),
]


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    try:
        made = Bench(folder, shim.compiled(folder))
    except shim.Missing as missing:
        pytest.skip(str(missing))
    yield made
    made.close()


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_disk_that_fails_or_loses_power_takes_nothing_that_was_acknowledged(bench, command):
    found = Outcome()
    calls, clean, after = bench.calls(command)
    for how, at in (("broken", len(calls)), ("ENOSPC", len(calls) // 2), ("power", len(calls) + 1)):
        found.add(injection.inject_one(bench, command, how, at, clean, after))
    assert (found.faults, found.lost, found.tracebacks, found.broken) == (3, [], [], [])
