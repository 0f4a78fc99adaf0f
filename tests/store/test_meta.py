from datetime import timedelta

from agent_cli.store import meta
from tests.conftest import NOON


def test_value_is_replaced_and_dropped(db):
    meta.put(db, "colour", "green")
    meta.put(db, "colour", "blue")
    assert meta.get(db, "colour") == "blue"
    meta.drop(db, "colour")
    assert meta.get(db, "colour") is None


def test_number_begins_at_zero(db):
    assert [meta.number(db, "rounds"), meta.increase(db, "rounds"), meta.increase(db, "rounds")] == [0, 1, 2]


def test_keys_of_a_prefix_come_without_it(db):
    for key in ("damaged words", "damaged trigrams", "damage", "index words"):
        meta.put(db, key, "")
    assert meta.keys(db, "damaged ") == ["trigrams", "words"]


def test_what_was_stamped_is_due_after_the_pause_or_when_the_clock_was_set_back(db):
    hour = timedelta(hours=1)
    assert meta.is_due(db, "check", NOON, hour)
    meta.stamp(db, "check", NOON)
    assert [meta.is_due(db, "check", NOON + wait, hour) for wait in (0 * hour, hour / 2, hour, -hour)] == [
        False,
        False,
        True,
        True,
    ]
