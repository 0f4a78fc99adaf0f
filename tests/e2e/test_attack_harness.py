"""Attacks on a person's yes, through the real process: the short part of `python -m benchmarks attacks`."""

import sys

import pytest

from benchmarks.attacks import keyboards, processes
from benchmarks.attacks.house import House


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
