"""The short parts of the benchmarks faults and attacks, through the real process."""

import sys

import pytest

from benchmarks.attacks import keyboards, processes
from benchmarks.attacks.house import House
from benchmarks.faults import injection, shim
from benchmarks.faults.injection import Bench, Outcome
from tests.conftest import Ran

COMMANDS = [
    ("config", "set", "num_ctx", "16384"),
    ("db", "restore", "older.db"),
    ("db", "salvage", "saved.db"),
    ("skills", "export", "--to", "out"),
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


@pytest.mark.parametrize("command", [("notes", "list"), ("search", "harbour"), ("db", "check")], ids=" ".join)
def test_on_a_full_disk_what_is_kept_can_be_read(bench, command):
    bench.put_back()
    db = bench.program.db
    ran = bench.program.faulty(*command, how="ENOSPC", at="1")
    assert (ran.code, ran.err) == (0, f"agent: {db}: the disk is full; it is opened for reading only\n")
    assert ran.out


def test_on_a_full_disk_a_command_that_writes_says_so(bench):
    bench.put_back()
    db = bench.program.db
    sentence = f"agent: {db}: the disk is full; nothing of this step was written, make room and try again\n"
    assert bench.program.faulty("-q", "notes", "add", "milk", how="ENOSPC", at="1") == Ran(6, "", sentence)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_disk_that_fails_or_loses_power_takes_nothing_that_was_acknowledged(bench, command):
    found = Outcome()
    calls, clean, after = bench.calls(command)
    for how, at in (("broken", len(calls)), ("ENOSPC", len(calls) // 2), ("power", len(calls) + 1)):
        found.add(injection.inject_one(bench, command, how, at, clean, after))
    assert (found.faults, found.lost, found.tracebacks, found.broken) == (3, [], [], [])


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    made = House(tmp_path_factory.mktemp("attacks"))
    del made.program.env["PYTHONPATH"]  # with which each process would start from nothing, as in the benchmark
    return made


@pytest.mark.parametrize("family", [keyboards, processes], ids=["keys", "processes"])
def test_no_attack_is_accepted_and_the_control_is(house, family):
    if family is processes and sys.platform != "linux":
        pytest.skip("setsid is a program of Linux")
    assert family.control(house).decided
    assert [each for each in family.attacks(house, short=True) if each.decided or each.failed] == []
