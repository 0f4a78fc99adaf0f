import socket
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from agent_cli.errors import UsageError
from agent_cli.memory.lineage import ErasureRequest, Walk
from agent_cli.memory.planner import schedules
from agent_cli.memory.scope import Scope
from agent_cli.store import events
from tests.conftest import HERE, NOON, noon
from tests.tables import for_each

VIENNA = "Europe/Vienna"  # on 29 March 2026 two becomes three, on 25 October three becomes two again
DEAD = "nowhere-else/1/2"


def at(told, fold=0):
    """A moment by the clocks of Vienna."""
    return datetime.fromisoformat(told).replace(tzinfo=ZoneInfo(VIENNA), fold=fold)


def times(cron, start, count, zone=VIENNA):
    """The next times by the clocks of the zone, with what they are off from UTC."""
    found, now = [], start
    for _ in range(count):
        now = schedules.next_time(cron, zone, now)
        found.append(f"{now.astimezone(ZoneInfo(zone)):%d %H:%M %z}")
    return found


def add(db, cron="0 7 * * *", time=noon, **told):
    return schedules.add(db, HERE, cron, time, zone="UTC", **({"prompt": "Good morning?"} | told))


def run(db, now, error=""):
    """Run one that is due; its handle, or None."""
    claimed = schedules.claim(db, "person", now)
    if claimed:
        schedules.finish(db, claimed, lambda: now, session=None, error=error)
    return claimed and claimed.handle


def died(db):
    """The process that has claimed one is no more."""
    db.execute("update schedule set holder = ? where holder is not null", (f"{socket.gethostname()}/999999999/1",))


TIMES = [("0 7 * * *", "0 7 * * *"), ("  0  7 * *   MON-FRI ", "0 7 * * MON-FRI"), ("@daily", "0 0 * * *")]
TIMES += [("@Hourly", "0 * * * *"), ("*/5 * L * *", "*/5 * L * *")]


@for_each(("told", "fields"), TIMES)
def test_a_time_is_five_fields_or_a_name(told, fields):
    assert schedules.normalize(told) == fields


@for_each(
    "told",
    ["", "7", "0 25 * * *", "* * * * * *", "@reboot", "0 0 31 4,6 *", "a b c d e", "0 7 * *", "9" * 5000 + " * * * *"],
)
def test_what_is_no_time_is_refused_with_a_sentence(told):
    with pytest.raises(UsageError, match=r"is not a (known )?time"):
        schedules.normalize(told)


@for_each(
    ("cron", "start", "found"),
    [
        # Seven stays seven across summer time.
        ("0 7 * * *", at("2026-03-27 12:00"), "28 07:00 +0100, 29 07:00 +0200, 30 07:00 +0200"),
        ("0 7 * * *", at("2026-10-23 12:00"), "24 07:00 +0200, 25 07:00 +0100, 26 07:00 +0100"),
        # What falls into the hour left out runs once when the clocks go on.
        ("30 2 * * *", at("2026-03-28 12:00"), "29 03:00 +0200, 30 02:30 +0200"),
        ("0,30 2 * * *", at("2026-03-28 12:00"), "29 03:00 +0200, 30 02:00 +0200, 30 02:30 +0200"),
        # What falls into the hour that comes twice runs once, also a late run; what runs all the time runs in both.
        ("30 2 * * *", at("2026-10-24 12:00"), "25 02:30 +0200, 26 02:30 +0100"),
        ("30 2 * * *", at("2026-10-25 02:10", fold=1), "26 02:30 +0100"),
        ("30 2 * * *", at("2026-10-25 02:45", fold=1), "26 02:30 +0100"),
        ("*/30 * * * *", at("2026-10-25 01:45"), "25 02:00 +0200, 25 02:30 +0200, 25 02:00 +0100, 25 02:30 +0100"),
    ],
)
def test_a_schedule_runs_once_at_its_time_when_the_clocks_change(cron, start, found):
    assert ", ".join(times(cron, start, found.count(",") + 1)) == found


def test_a_schedule_is_kept_with_all_that_was_said_of_it(db):
    added = add(db, "@daily", skill="", model="qwen3:8b", target="command", target_path='["/bin/cat", "-n"]')
    described = added.describe()
    empty = " ".join(name for name, value in described.items() if not value)
    assert empty == "skill file last_at last_session error running paused_at hidden_at"
    assert [value for value in described.values() if value] == [
        *("c1", "0 0 * * *", "UTC", "Good morning?", "qwen3:8b", "command", ["/bin/cat", "-n"], HERE.place),
        *("2026-01-03T00:00:00.000Z", "2026-01-02T12:00:00.000Z"),
    ]
    assert [(each["kind"], each["subject"]) for each in events.listing(db, 100)[::-1]] == [("schedule added", "c1")]


@pytest.mark.parametrize("told", [{"prompt": ""}, {"prompt": "  "}, {"skill": "briefing"}])
def test_a_schedule_has_a_prompt_or_a_skill(db, told):
    with pytest.raises(UsageError, match="either --prompt"):
        add(db, **told)


def test_it_is_due_at_its_time_and_then_at_the_next(db):
    add(db)
    ran = [run(db, NOON + timedelta(hours=hours)) for hours in (0, 18, 19, 19, 42, 43)]
    assert ran == [None, None, "c1", None, None, "c1"]


def test_what_was_missed_for_three_days_is_made_up_once(db):
    add(db, "0 * * * *")
    later = NOON + timedelta(days=3, minutes=20)
    assert [run(db, later), run(db, later), run(db, later + timedelta(minutes=40))] == ["c1", None, "c1"]


def test_the_one_that_waits_longest_comes_first(db):
    add(db, "0 8 * * *")
    add(db, "0 7 * * *")
    assert [run(db, NOON + timedelta(days=1)) for _ in range(3)] == ["c2", "c1", None]


def test_what_one_process_runs_no_other_runs(db):
    add(db)
    morning = NOON + timedelta(hours=19)
    claimed = schedules.claim(db, "person", morning)
    assert (claimed.running, claimed.last_at) == (True, "2026-01-03T07:00:00.000Z")
    assert [schedules.claim(db, "person", morning), schedules.claim(db, "person", morning, claimed.id)] == [None, None]


def test_a_run_whose_process_died_is_made_up(db):
    add(db)
    morning = NOON + timedelta(hours=19)
    first = schedules.claim(db, "person", morning)
    died(db)
    assert not schedules.get(db, 1, "person").running
    second = schedules.claim(db, "person", morning + timedelta(minutes=1))
    assert second.handle == "c1"
    with pytest.raises(schedules.LostRun):
        schedules.finish(db, first, noon, session=None)
    assert [schedules.is_held(db, each) for each in (first, second)] == [False, True]


def test_a_run_that_ends_its_process_five_times_waits_for_its_next_time(db):
    add(db)
    morning = NOON + timedelta(hours=19)
    for _ in range(5):
        assert schedules.claim(db, "person", morning).handle == "c1"
        died(db)
    assert schedules.claim(db, "person", morning) is None
    given_up = schedules.get(db, 1, "person")
    assert (given_up.error, given_up.next_at) == (
        "the process that ran it ended unexpectedly, 5 times",
        "2026-01-04T07:00:00.000Z",
    )
    assert run(db, morning + timedelta(days=1)) == "c1"


def test_what_another_machine_has_claimed_for_too_long_is_free(db):
    add(db)
    morning = NOON + timedelta(hours=19)
    schedules.claim(db, "person", morning)
    db.execute("update schedule set holder = ?", (DEAD,))
    assert schedules.claim(db, "person", morning + timedelta(minutes=29)) is None
    assert schedules.claim(db, "person", morning + timedelta(minutes=31)).handle == "c1"


def test_a_run_that_was_stopped_is_made_up(db):
    add(db)
    morning = NOON + timedelta(hours=19)
    schedules.unclaim(db, schedules.claim(db, "person", morning), noon)
    assert run(db, morning) == "c1"


def test_an_error_is_kept_until_it_goes_well(db):
    add(db)
    run(db, NOON + timedelta(days=1), "no model server answers\n")
    assert schedules.get(db, 1, "person").error == "no model server answers"
    assert events.listing(db, 1)[0]["kind"] == "schedule failed"
    run(db, NOON + timedelta(days=2))
    assert (schedules.get(db, 1, "person").error, events.listing(db, 1)[0]["kind"]) == ("", "schedule run")


@pytest.mark.parametrize(("rest", "wake"), [("paused", "resumed"), ("hidden", "restored")])
def test_what_rests_does_not_run_and_makes_up_nothing(db, rest, wake):
    added = add(db)
    schedules.change(db, added, rest, noon)
    assert bool(schedules.claim(db, "person", NOON, 1)) == (rest == "paused")  # which may still be run at once
    db.execute("update schedule set holder = null, running_since = null")
    later = NOON + timedelta(days=3)
    assert run(db, later) is None
    back = schedules.change(db, schedules.get(db, 1, "person"), wake, lambda: later)
    assert (back.paused_at, back.hidden_at, back.next_at) == (None, None, "2026-01-06T07:00:00.000Z")
    assert run(db, later) is None


def test_no_owner_runs_or_sees_anothers(db):
    schedules.add(db, Scope("caller", "/x"), "@daily", noon, zone="UTC", prompt="theirs")
    assert (schedules.listing(db, "person"), schedules.claim(db, "person", NOON + timedelta(days=2))) == ([], None)
    with pytest.raises(UsageError, match="there is no schedule c1"):
        schedules.get(db, 1, "person")


def test_it_follows_the_machine_into_another_zone_and_makes_up_what_was_missed_on_the_way(db):
    add(db)
    schedules.change_zone(db, "person", VIENNA, NOON)
    moved = schedules.get(db, 1, "person")
    assert (moved.zone, moved.next_at) == (VIENNA, "2026-01-03T06:00:00.000Z")
    schedules.change_zone(db, "person", "UTC", NOON + timedelta(days=1))
    assert run(db, NOON + timedelta(days=1)) == "c1"


def test_when_a_runner_last_looked_is_kept_once_a_minute(db):
    assert schedules.last_look(db) is None
    for seconds in (0, 30, 59):
        schedules.record_look(db, NOON + timedelta(seconds=seconds))
    assert schedules.last_look(db) == NOON
    schedules.record_look(db, NOON + timedelta(seconds=60))
    assert schedules.last_look(db) == NOON + timedelta(minutes=1)


def test_an_erased_schedule_is_gone_and_what_it_was_running_lands_nowhere(db):
    add(db)
    claimed = schedules.claim(db, "person", NOON, 1)
    schedules.LINEAGE.erase(db, Walk(ErasureRequest({}), {"schedule": (1,)}), noon)
    assert schedules.listing(db, "person") == []
    with pytest.raises(schedules.LostRun):
        schedules.finish(db, claimed, noon, session=None)
