from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as some

from agent_cli.errors import UsageError
from agent_cli.memory.dates import periods
from agent_cli.memory.dates.periods import UNITS
from tests.conftest import NOON
from tests.tables import for_each

DAYS = some.dates(date(1990, 1, 1), date(2090, 12, 31))


@for_each(
    ("day", "keys"),
    [
        (date(2026, 11, 20), ["2026-11-20", "2026-W47", "2026-11", "2026-Q4", "2026"]),
        (date(2027, 1, 1), ["2027-01-01", "2026-W53", "2027-01", "2027-Q1", "2027"]),
        (date(2024, 12, 30), ["2024-12-30", "2025-W01", "2024-12", "2024-Q4", "2024"]),
        (date(2024, 2, 29), ["2024-02-29", "2024-W09", "2024-02", "2024-Q1", "2024"]),
    ],
)
def test_each_day_lies_in_one_period_of_each_grain(day, keys):
    found = [periods.containing(day, grain) for grain in UNITS]
    assert [each.key for each in found] == keys
    assert all(each.first <= day < each.end for each in found)
    assert [periods.parse(key) for key in keys] == found


@given(day=DAYS, grain=some.sampled_from(UNITS[1:]))
def test_a_period_is_made_of_finer_ones_without_a_gap_or_a_day_told_twice(day, grain):
    whole = periods.containing(day, grain)
    parts = periods.parts(whole)
    assert [part.first for part in parts] == [whole.first, *(part.end for part in parts[:-1])]
    assert parts[-1].end == whole.end
    assert all(whole in periods.enclosing(part) for part in parts)


@for_each("told", ["", "2026-13", "2026-02-30", "2025-W53", "2026-Q5", "26", "0000", "9999", "2026-W00", "last"])
def test_what_is_no_period_is_refused_in_words(told):
    with pytest.raises(UsageError):
        periods.parse(told)


def test_the_present_one_of_a_grain_can_be_named():
    keys = [periods.from_words(told, NOON).key for told in ("today", "yesterday", "week", "Month", "2025-q3")]
    assert keys == ["2026-01-02", "2026-01-01", "2026-W01", "2026-01", "2025-Q3"]


def test_a_day_is_over_when_the_clock_of_the_person_says_so():
    day = periods.parse("2026-06-30")
    tokyo, lima = timezone(timedelta(hours=9)), timezone(timedelta(hours=-5))
    moment = datetime(2026, 6, 30, 18, tzinfo=UTC)
    assert [day.has_ended(moment.astimezone(zone)) for zone in (tokyo, lima)] == [True, False]
    assert day.ends_at(moment.astimezone(lima)).isoformat() == "2026-07-01T00:00:00-05:00"
