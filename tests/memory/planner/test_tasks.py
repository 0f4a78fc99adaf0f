"""What is to be done: how it comes up, once, and what done, snoozed and hidden mean."""

import threading
from datetime import datetime, timedelta

import pytest

from agent_cli.errors import UsageError
from agent_cli.memory.dates import due_times
from agent_cli.memory.planner import tasks
from agent_cli.memory.scope import Scope
from agent_cli.store import events
from tests.conftest import HERE, empty

ZONE = "Europe/Vienna"
HOUR = timedelta(hours=1)
FRIDAY = datetime.fromisoformat("2026-03-27T12:00:00+01:00")  # before the clocks change on Sunday


class Clock:
    """A clock that is put forward by hand."""

    def __init__(self, now=FRIDAY):
        self.now = now

    def __call__(self):
        return self.now

    def at(self, told):
        self.now = datetime.fromisoformat(told)
        return self


def keep(db, words, when="", time=None, scope=HERE):
    time = time or Clock()
    return tasks.add(db, scope, words, due_times.parse(when, time(), ZONE), time)


def come_up(db, time, again=HOUR, owner="person"):
    """(handle, when it fell due, how many times, whether for the first time) of what comes up now."""
    return [
        (each.task.handle, f"{each.due:%a %H:%M}", each.times, each.first)
        for each in tasks.claim_due(db, owner, time, again)
    ]


def test_what_was_understood_is_told_in_full(db):
    time = Clock()
    kept = [("call the dentist", "friday 3pm"), ("water the plants", "every monday 9:00"), ("read Proust", "sometime")]
    assert [tasks.receipt(keep(db, *each, time), time()) for each in kept] == [
        "t1 “call the dentist”, Friday 27 Mar 2026, 15:00",
        "t2 “water the plants”, every monday 9:00, next Monday 30 Mar 2026, 09:00",
        "t3 “read Proust”, any time",
    ]
    assert [each.id for each in tasks.listing(db, "person")] == [1, 2, 3]
    assert db.rows("select due_at, zone, repeats, starts from task where id = 2") == [
        ("2026-03-30T07:00:00.000Z", ZONE, "FREQ=WEEKLY;BYDAY=MO", "2026-03-30T09:00:00")
    ]


def test_a_reminder_comes_up_at_its_minute_and_again_after_a_while_until_it_is_done(db):
    keep(db, "call the dentist", "friday 3pm")
    time = Clock()
    assert come_up(db, time.at("2026-03-27T14:59:59+01:00")) == []
    assert come_up(db, time.at("2026-03-27T15:00:00+01:00")) == [("t1", "Fri 15:00", 1, True)]
    assert come_up(db, time) == []
    assert come_up(db, time.at("2026-03-27T15:59:00+01:00")) == []
    assert come_up(db, time.at("2026-03-27T16:00:00+01:00")) == [("t1", "Fri 15:00", 1, False)]
    tasks.complete(db, tasks.get(db, 1, "person"), time)
    assert come_up(db, time.at("2026-03-28T16:00:00+01:00")) == []


def test_a_snoozed_one_comes_up_then_and_not_before(db):
    task = keep(db, "call the dentist", "friday 3pm")
    time = Clock().at("2026-03-27T15:00:00+01:00")
    come_up(db, time)
    tasks.snooze(db, task, datetime.fromisoformat("2026-03-29T09:00:00+02:00"), time)
    assert come_up(db, time.at("2026-03-29T08:59:00+02:00")) == []
    keep(db, "call Eve", "saturday 9:00")
    assert [each.handle for each in tasks.listing(db, "person")] == ["t2", "t1"]
    assert come_up(db, time.at("2026-03-29T09:00:00+02:00"))[-1] == ("t1", "Sun 09:00", 1, True)


def test_snoozing_that_changes_nothing_is_refused(db):
    time = Clock()
    task = keep(db, "call the dentist", "friday 3pm")
    for hours in (1, 3):  # before it is due, and when it is due anyway
        with pytest.raises(UsageError, match="t1 comes up on Friday 27 Mar 2026, 15:00 in any case, so"):
            tasks.snooze(db, task, time() + hours * HOUR, time)
    later = tasks.snooze(db, task, time() + 9 * HOUR, time)
    assert tasks.snooze(db, later, time() + HOUR, time).comes_up == task.due_at  # which takes the delay back


def test_snoozing_gives_a_time_to_what_has_none(db):
    time = Clock()
    task = tasks.snooze(db, keep(db, "read Proust"), time() + HOUR, time)
    assert tasks.format_due(task, time()) == "Friday 27 Mar 2026, 13:00"
    assert come_up(db, time.at("2026-03-27T13:00:00+01:00")) == [("t1", "Fri 13:00", 1, True)]


def test_done_means_the_next_time_for_what_repeats_and_the_clock_on_the_wall_stays(db):
    time = Clock()
    task = keep(db, "water the plants", "every day 9:00", time)
    seen = []
    for morning in ("2026-03-28T09:00:00+01:00", "2026-03-29T09:00:00+02:00", "2026-03-30T09:00:00+02:00"):
        seen += come_up(db, time.at(morning))
        task = tasks.complete(db, tasks.get(db, 1, "person"), time)
    assert seen == [("t1", f"{day} 09:00", 1, True) for day in ("Sat", "Sun", "Mon")]
    assert (task.state, task.due_at, task.starts) == ("open", "2026-03-31T07:00:00.000Z", "2026-03-31T09:00:00")


def test_what_is_done_before_its_time_does_not_come_up_at_it(db):
    time = Clock()
    tasks.complete(db, keep(db, "water the plants", "every day 9:00", time), time)
    assert come_up(db, time.at("2026-03-28T12:00:00+01:00")) == []
    assert tasks.get(db, 1, "person").due_at == "2026-03-29T07:00:00.000Z"


def test_what_fell_due_several_times_while_nothing_ran_comes_up_once_with_their_number(db):
    time = Clock()
    keep(db, "water the plants", "every day 9:00", time)
    assert come_up(db, time.at("2026-04-03T10:00:00+02:00")) == [("t1", "Sat 09:00", 7, True)]
    assert come_up(db, time) == []
    assert come_up(db, time.at("2026-04-03T11:00:00+02:00")) == [("t1", "Fri 09:00", 1, False)]
    assert come_up(db, time.at("2026-04-04T09:00:00+02:00")) == [("t1", "Sat 09:00", 1, True)]
    assert come_up(db, time.at("2026-04-06T09:30:00+02:00")) == [("t1", "Sun 09:00", 2, True)]


def test_a_new_time_comes_up_at_its_own_minute_whatever_the_cooldown(db):
    time = Clock()
    keep(db, "breathe", "every hour", time)
    assert come_up(db, time.at("2026-03-27T13:10:00+01:00"), 24 * HOUR) == [("t1", "Fri 13:00", 1, True)]
    assert come_up(db, time.at("2026-03-27T14:00:00+01:00"), 24 * HOUR) == [("t1", "Fri 14:00", 1, True)]


def test_with_two_programs_open_each_reminder_comes_up_in_one_of_them(tmp_path):
    db = empty(tmp_path / "memory.db")
    for number in range(20):
        keep(db, f"task {number}", "friday 3pm")
    time = Clock().at("2026-03-27T15:00:00+01:00")
    seen, barrier = [], threading.Barrier(2)

    def look():
        other = db.another_connection()
        barrier.wait()
        seen.append([handle for handle, *_ in come_up(other, time)])
        other.close()

    both = [threading.Thread(target=look) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert sorted(seen[0] + seen[1]) == sorted(f"t{number}" for number in range(1, 21))
    db.close()


def test_a_clock_that_was_put_back_silences_nothing(db):
    keep(db, "call the dentist", "friday 3pm")
    come_up(db, Clock().at("2030-01-01T00:00:00+01:00"))
    assert come_up(db, Clock().at("2026-03-27T15:00:00+01:00")) == [("t1", "Fri 15:00", 1, False)]


def test_what_is_hidden_comes_up_no_more_until_it_is_restored(db):
    time = Clock()
    task = keep(db, "call the dentist", "friday 3pm", time)
    tasks.hide(db, task, time)
    time.at("2026-03-27T15:00:00+01:00")
    assert (come_up(db, time), tasks.listing(db, "person")) == ([], [])
    tasks.restore(db, tasks.get(db, 1, "person"), time)
    assert come_up(db, time) == [("t1", "Fri 15:00", 1, True)]


def test_nobody_sees_the_tasks_of_another(db):
    time = Clock()
    task = keep(db, "call the dentist", "friday 3pm", time, Scope("caller", "/"))
    time.at("2026-03-27T15:00:00+01:00")
    assert (come_up(db, time), tasks.listing(db, "person")) == ([], [])
    with pytest.raises(UsageError, match="there is no task t1"):
        tasks.get(db, task.id, "person")


def test_lists_hold_what_they_are_asked_for_in_the_order_of_its_time(db):
    time = Clock()
    for words, when in (("c", ""), ("b", "tomorrow"), ("a", "today 15:00"), ("d", ""), ("e", "")):
        keep(db, words, when, time)
    tasks.complete(db, tasks.get(db, 4, "person"), time)
    tasks.hide(db, tasks.get(db, 5, "person"), time)
    told = {
        which: "".join(each.text for each in tasks.listing(db, "person", which))
        for which in ("open", "done", "all", "hidden")
    }
    assert told == {"open": "abc", "done": "d", "all": "abcd", "hidden": "e"}
    assert [each.text for each in tasks.due(db, "person", time(), time() + 4 * HOUR)] == ["a"]


def test_a_task_is_changed_moved_and_opened_again_and_the_log_has_no_words_of_it(db):
    time = Clock()
    task = keep(db, "call the dentist", "every monday 9:00", time)
    task = tasks.edit(db, task, "call  Dr. Berger", time)
    task = tasks.move(db, task, due_times.parse("tomorrow at 8", time(), ZONE), time)
    task = tasks.reopen(db, tasks.complete(db, task, time), time)
    assert (task.text, task.due_words, task.repeats, task.state) == ("call Dr. Berger", "tomorrow at 8", "", "open")
    told = [(each["kind"], each["subject"], each["actor"]) for each in events.listing(db, 100)]
    kinds = ("task added", "task changed", "task moved", "task done", "task reopened")
    assert told == [(kind, "t1", "person") for kind in kinds]
    assert "Berger" not in str(db.rows("select * from event"))


@pytest.mark.parametrize("words", ["", "  ", "x" * 1001])
def test_a_task_that_says_nothing_or_too_much_is_refused(db, words):
    with pytest.raises(UsageError):
        keep(db, words)
    assert db.rows("select * from task") == []


def test_what_is_done_or_hidden_is_not_done_or_snoozed_again(db):
    time = Clock()
    done = tasks.complete(db, keep(db, "a", "", time), time)
    with pytest.raises(UsageError, match="t1 is done already"):
        tasks.complete(db, done, time)
    with pytest.raises(UsageError, match="t1 is done, so it has no reminder"):
        tasks.snooze(db, done, time() + HOUR, time)
    with pytest.raises(UsageError, match="t1 is not hidden"):
        tasks.restore(db, done, time)


def test_ten_years_of_tasks_are_looked_through_in_a_moment(db):
    due = """select * from task where owner = 'person' and state = 'open' and hidden_at is null
             and due_at is not null and due_at <= 'x'"""
    assert "task_due" in str(db.rows(f"explain query plan {due}"))
