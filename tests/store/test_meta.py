from datetime import timedelta

from agent_cli.store import meta
from tests.conftest import NOON


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
