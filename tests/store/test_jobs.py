"""Jobs wait, are run by one process that holds them, and are due by their stamps."""

import os
import socket
import subprocess
import sys
from datetime import timedelta

import pytest

from agent_cli.errors import UsageError
from agent_cli.store import holder, jobs, meta
from agent_cli.store.jobs import Job
from tests import warm
from tests.conftest import NOON, empty

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


@pytest.fixture
def file(path):
    database = empty(path)
    yield database
    database.close()


def states(db):
    return [(row["id"], row["state"], row["attempts"], row["error"]) for row in jobs.listing(db, 10)]


def test_one_job_waits_for_each_kind_and_subject_the_longest_waiting_comes_first_and_each_is_had_once(db):
    for _ in range(2):
        jobs.add(db, "summary", "s1", NOON)
        jobs.add(db, "summary", "s2", NOON - HOUR)
        jobs.add(db, "summary", "s3", NOON + MINUTE)
    assert [row["subject"] for row in jobs.listing(db, 10)] == ["s3", "s2", "s1"]
    first = jobs.claim(db, NOON)
    assert [first, jobs.claim(db, NOON), jobs.claim(db, NOON)] == [
        Job(2, "summary", "s2", 1),
        Job(1, "summary", "s1", 1),
        None,
    ]
    assert (jobs.any_due(db, NOON), jobs.any_due(db, NOON + MINUTE)) == (False, True)
    jobs.finish(db, first, NOON)
    jobs.add(db, "summary", "s2", NOON)  # what is done may be queued again
    assert [(row["subject"], row["state"]) for row in jobs.listing(db, 10)] == [
        ("s2", "ready"),
        ("s3", "ready"),
        ("s1", "running"),
        ("s2", "done"),
    ]


CLAIM = """
import sys
from agent_cli.store import jobs
from agent_cli.store.db import Database
from datetime import datetime
noon = datetime.fromisoformat(sys.argv[2])
db = Database(sys.argv[1])
db.prepare()
sys.stdin.readline()
got = []
while job := jobs.claim(db, noon):
    got.append(job.id)
print(*got, flush=True)
sys.stdin.readline()
"""


def go(process):
    process.stdin.write("go\n")
    process.stdin.flush()


def test_two_processes_never_hold_one_job_and_those_of_a_killed_one_are_free_at_once(file, path):
    for number in range(20):
        jobs.add(file, "summary", f"s{number}", NOON)
    both = [warm.python(CLAIM, path, NOON.isoformat()) for _ in range(2)]
    for process in both:
        go(process)
    first, second = ([int(id) for id in process.stdout.readline().split()] for process in both)
    assert sorted(first + second) == list(range(1, 21))
    assert jobs.claim(file, NOON) is None
    both[0].kill()
    both[0].communicate()
    freed = [job.id for job in iter(lambda: jobs.claim(file, NOON), None)]
    both[1].communicate("end\n")
    assert freed == first


def test_a_lease_ends_with_its_time_or_its_process(db):
    jobs.add(db, "summary", "s1", NOON)
    jobs.claim(db, NOON)
    assert jobs.claim(db, NOON + jobs.LEASE - MINUTE) is None
    assert not jobs.any_due(db, NOON)
    assert jobs.claim(db, NOON + jobs.LEASE) == Job(1, "summary", "s1", 2)
    db.execute("update job set holder = ?", (f"{socket.gethostname()}/999999999/1",))
    assert jobs.any_due(db, NOON)  # at once where the process has died


def test_somebody_who_finishes_late_is_told_and_the_effect_does_not_happen(db):
    jobs.add(db, "summary", "s1", NOON)
    late = jobs.claim(db, NOON)
    later = NOON + jobs.LEASE
    other = jobs.claim(db, later)

    def finish(job, effect):
        with db.write():
            db.execute("insert into meta values ('effect', ?)", (effect,))
            jobs.finish(db, job, later)

    with pytest.raises(jobs.LeaseLost):
        finish(late, "late")
    jobs.fail(db, late, "too late", later)
    jobs.release(db, late)
    assert states(db) == [("j1", "running", 2, "")]
    finish(other, "once")
    with pytest.raises(jobs.LeaseLost):
        jobs.finish(db, other, later)
    assert db.value("select value from meta where key = 'effect'") == "once"
    assert states(db) == [("j1", "done", 2, "")]


def test_each_failure_doubles_the_pause_and_the_fifth_parks_it_with_the_error(db):
    jobs.add(db, "summary", "s1", NOON)
    now, pauses = NOON, []
    for number in range(1, 6):
        job = jobs.claim(db, now)
        jobs.fail(db, job, f"failure {number}", now)
        began = now
        while number < 5 and not jobs.any_due(db, now):
            now += timedelta(seconds=10)
        pauses.append((now - began).total_seconds())
    assert pauses == [30, 60, 120, 240, 0]
    assert states(db) == [("j1", "parked", 5, "failure 5")]
    assert (jobs.any_due(db, NOON + 100 * HOUR), jobs.claim(db, NOON + 100 * HOUR)) == (False, None)


@pytest.mark.parametrize("again", ["retried", "queued anew"])
def test_a_parked_job_that_is_retried_or_queued_anew_has_all_its_attempts_again(db, again):
    jobs.add(db, "summary", "s1", NOON)
    for number in range(5):
        jobs.fail(db, jobs.claim(db, NOON + number * HOUR), "no", NOON)
    later = NOON + 9 * HOUR
    if again == "retried":
        jobs.retry(db, 1, later)
    else:
        jobs.add(db, "summary", "s1", later)
    assert states(db) == [("j1", "ready", 0, "")]
    for _ in range(9):  # nor does one that is put back lose any
        job = jobs.claim(db, later)
        assert job == Job(1, "summary", "s1", 1)
        jobs.release(db, job)


def test_only_what_waits_or_is_parked_can_be_retried(db):
    def refused():
        with pytest.raises(UsageError, match="no job j1 is waiting or parked; `agent jobs list` shows them all"):
            jobs.retry(db, 1, NOON)

    refused()
    jobs.add(db, "summary", "s1", NOON)
    job = jobs.claim(db, NOON)
    refused()
    jobs.finish(db, job, NOON)
    refused()


def test_a_job_whose_process_died_five_times_is_parked(db):
    jobs.add(db, "summary", "s1", NOON)
    for number in range(5):
        assert jobs.claim(db, NOON + number * jobs.LEASE).attempts == number + 1
    assert jobs.claim(db, NOON + 5 * jobs.LEASE) is None
    assert states(db) == [("j1", "parked", 5, "the process that ran it ended unexpectedly, five times")]


def test_the_list_has_what_is_not_done_first(db):
    for subject in ("s1", "s2", "s3"):
        jobs.add(db, "summary", subject, NOON)
    jobs.finish(db, jobs.claim(db, NOON), NOON + MINUTE)
    assert [(row["id"], row["state"]) for row in jobs.listing(db, 2)] == [("j3", "ready"), ("j2", "ready")]
    assert jobs.listing(db, 10)[2] == {
        "id": "j1",
        "kind": "summary",
        "subject": "s1",
        "state": "done",
        "attempts": 1,
        "due_at": "2026-01-02T12:00:00.000Z",
        "finished_at": "2026-01-02T12:01:00.000Z",
        "error": "",
    }


def test_what_was_done_long_ago_is_not_kept(db):
    for subject in ("s1", "s2"):
        jobs.add(db, "summary", subject, NOON)
    job = jobs.claim(db, NOON)
    with db.write():
        jobs.finish(db, job, NOON)
    jobs.prune(db, NOON + timedelta(days=30))
    assert len(jobs.listing(db, 9)) == 2
    jobs.prune(db, NOON + timedelta(days=32))
    assert [(each["subject"], each["state"]) for each in jobs.listing(db, 9)] == [("s2", "ready")]


ME = "from agent_cli.store import holder; print(holder.this_process(), flush=True); input()"


def started():
    return subprocess.Popen([sys.executable, "-c", ME], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_this_process_lives_one_with_its_number_does_not_and_that_of_another_machine_is_taken_to():
    host, pid, ticks = holder.this_process().rsplit("/", 2)
    assert (host, int(pid)) == (socket.gethostname(), os.getpid())
    alive = [holder.this_process(), f"{host}/{pid}/{int(ticks) - 1}", "elsewhere/1/2"]
    assert [holder.is_alive(each) for each in alive] == [True, False, True]


def test_a_process_lives_until_it_is_killed_and_a_zombie_does_not():
    process = started()
    name = process.stdout.readline().strip()
    assert holder.is_alive(name)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody has fetched it
    assert not holder.is_alive(name)
    process.communicate()
    assert not holder.is_alive(name)


def test_a_child_is_not_taken_for_its_parent():
    script = (
        "import os; from agent_cli.store.holder import this_process; this_process(); "
        "os.fork(); os.write(1, f'{this_process()}\\n'.encode())"
    )
    names = subprocess.check_output([sys.executable, "-c", script], text=True).split()
    assert len(set(names)) == 2


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
