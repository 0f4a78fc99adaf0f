import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from agent_cli import clock
from agent_cli.errors import ConfigError
from tests.tables import for_each

OSLO = timezone(timedelta(hours=1))
EVENING = datetime(2026, 11, 20, 18, 30, tzinfo=OSLO)


def test_the_clock_can_be_stopped(monkeypatch):
    monkeypatch.setenv("AGENT_NOW", "2026-11-20T18:30:00+01:00")
    assert clock.now() == EVENING
    assert clock.now().utcoffset() == timedelta(hours=1)
    monkeypatch.setenv("AGENT_NOW", "2026-11-20T18:30")
    assert clock.now() == datetime(2026, 11, 20, 18, 30).astimezone()


@pytest.mark.parametrize("value", ["", None])
def test_otherwise_it_is_now_with_the_local_offset(monkeypatch, value):
    if value is None:
        monkeypatch.delenv("AGENT_NOW", raising=False)
    else:
        monkeypatch.setenv("AGENT_NOW", value)
    before = datetime.now(UTC)
    moment = clock.now()
    assert before <= moment <= datetime.now(UTC)
    assert moment.utcoffset() is not None


@pytest.mark.parametrize("value", ["tomorrow", "18:30", "2026-13-01", "2026-11-20T25:00"])
def test_a_time_that_cannot_be_read_is_told(monkeypatch, value):
    monkeypatch.setenv("AGENT_NOW", value)
    with pytest.raises(ConfigError, match=rf"AGENT_NOW is '{value}': write it like 2026-11-20T18:30:00\+01:00"):
        clock.now()


@for_each(
    ("moment", "stored", "minutes"),
    [
        (EVENING, "2026-11-20T17:30:00.000Z", 60),
        (EVENING.replace(microsecond=123_999), "2026-11-20T17:30:00.123Z", 60),
        (datetime(2026, 1, 1, tzinfo=timezone(-timedelta(hours=3, minutes=30))), "2026-01-01T03:30:00.000Z", -210),
        (datetime(999, 1, 1, tzinfo=UTC), "0999-01-01T00:00:00.000Z", 0),
    ],
)
def test_a_moment_is_stored_as_utc_with_its_offset_and_comes_back_as_it_was(moment, stored, minutes):
    assert (clock.utc(moment), clock.offset(moment)) == (stored, minutes)
    back = clock.local(stored, minutes)
    assert back == moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    assert back.utcoffset() == moment.utcoffset()


@for_each("minutes", [-840, 0, 840])
@for_each(
    ("stored", "shown"), [("0001-01-01T00:00:00.000Z", clock.EARLIEST), ("9999-12-31T23:59:59.999Z", clock.LATEST)]
)
def test_a_time_at_an_end_of_the_calendar_is_shown_as_the_last_that_every_clock_can_show(stored, shown, minutes):
    found = clock.local(stored, minutes)
    assert (found, found.utcoffset()) == (shown, timedelta(minutes=minutes))
    assert clock.utc(found + timedelta(days=1)) > clock.utc(found - timedelta(days=1))


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "America/Los_Angeles"])
def test_any_number_of_seconds_is_shown(monkeypatch, zone):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        shown = [
            clock.from_timestamp(seconds)
            for seconds in (-1e18, -62135596800, 0, EVENING.timestamp(), 253402300799, 1e18)
        ]
    finally:
        monkeypatch.undo()
        time.tzset()
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert shown == [clock.EARLIEST, clock.EARLIEST, epoch, EVENING, clock.LATEST, clock.LATEST]


def test_stored_times_sort_as_they_follow():
    moments = [EVENING + timedelta(milliseconds=7 * number) for number in range(300)]
    assert sorted(map(clock.utc, moments)) == [clock.utc(moment) for moment in moments]


@for_each(
    ("value", "moment"),
    [
        ("2026-11-20T18:30:00+01:00", EVENING),
        ("2026-11-20T17:30:00Z", EVENING),
        ("2026-11-20T18:30", EVENING),
        ("2026-11-20", EVENING.replace(hour=0, minute=0)),
        ("20261120T183000", EVENING),
    ],
)
def test_a_time_from_outside_takes_the_offset_it_lacks(value, moment):
    assert clock.parse(value, EVENING) == moment


@for_each("value", ["", "soon", "0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00"])
def test_a_time_from_outside_that_cannot_be_kept_is_refused(value):
    with pytest.raises(ValueError, match=r"Invalid isoformat string|is out of range"):
        clock.parse(value, EVENING)


@for_each(
    ("minutes", "said"),
    [
        *[(0, "just now"), (1, "1 minute ago"), (59, "59 minutes ago"), (60, "1 hour ago"), (47 * 60, "1 day ago")],
        *[(100 * 1440, "100 days ago"), (-5, "just now")],
    ],
)
def test_the_age_of_what_was_said(minutes, said):
    assert clock.ago((EVENING - timedelta(minutes=minutes)).isoformat(), EVENING) == said
