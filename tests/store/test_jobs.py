import socket
from datetime import timedelta

import pytest

from agent_cli.errors import UsageError
from agent_cli.store import jobs
from agent_cli.store.jobs import Job
from tests import warm
from tests.conftest import NOON, empty

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory.db"


@pytest.fixture
def file(path):
    database = empty(path)
    yield database
    database.close()


def states(db):
    return [(row["id"], row["state"], row["attempts"], row["error"]) for row in jobs.listing(db, 10)]


def test_one_job_waits_for_each_kind_and_subject(db):
    for _ in range(2):
        jobs.add(db, "summary", "s1", NOON)
        jobs.add(db, "summary", "s2", NOON)

    assert [(row["kind"], row["subject"]) for row in jobs.listing(db, 10)] == [("summary", "s2"), ("summary", "s1")]


def test_a_job_that_is_done_may_be_queued_again(db):
    jobs.add(db, "summary", "s1", NOON)
    jobs.finish(db, jobs.claim(db, NOON), NOON)
    jobs.add(db, "summary", "s1", NOON)

    assert states(db) == [("j2", "ready", 0, ""), ("j1", "done", 1, "")]


def test_the_job_that_waited_longest_comes_first_and_each_is_had_once(db):
    jobs.add(db, "summary", "s1", NOON)
    jobs.add(db, "summary", "s2", NOON - HOUR)

    assert [jobs.claim(db, NOON) for _ in range(3)] == [Job(2, "summary", "s2", 1), Job(1, "summary", "s1", 1), None]


def test_a_job_that_is_not_due_waits(db):
    jobs.add(db, "summary", "s1", NOON + MINUTE)

    assert (jobs.any_due(db, NOON), jobs.claim(db, NOON)) == (False, None)
    assert jobs.any_due(db, NOON + MINUTE)
    assert jobs.claim(db, NOON + MINUTE) == Job(1, "summary", "s1", 1)


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


def test_a_lease_ends(db):
    jobs.add(db, "summary", "s1", NOON)
    jobs.claim(db, NOON)

    assert jobs.claim(db, NOON + jobs.LEASE - MINUTE) is None
    assert jobs.claim(db, NOON + jobs.LEASE) == Job(1, "summary", "s1", 2)


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
    finish(other, "once")
    with pytest.raises(jobs.LeaseLost):
        jobs.finish(db, other, later)

    assert db.value("select value from meta where key = 'effect'") == "once"
    assert states(db) == [("j1", "done", 2, "")]


def test_somebody_who_fails_late_changes_nothing(db):
    jobs.add(db, "summary", "s1", NOON)
    late = jobs.claim(db, NOON)
    jobs.claim(db, NOON + jobs.LEASE)

    jobs.fail(db, late, "too late", NOON + jobs.LEASE)
    jobs.release(db, late)

    assert states(db) == [("j1", "running", 2, "")]


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


def test_a_job_whose_process_died_five_times_is_parked(db):
    jobs.add(db, "summary", "s1", NOON)
    for number in range(5):
        assert jobs.claim(db, NOON + number * jobs.LEASE).attempts == number + 1

    assert jobs.claim(db, NOON + 5 * jobs.LEASE) is None
    assert states(db) == [("j1", "parked", 5, "the process that ran it ended unexpectedly, five times")]


def test_a_job_that_is_put_back_has_lost_no_attempt(db):
    jobs.add(db, "summary", "s1", NOON)
    for _ in range(9):
        jobs.release(db, jobs.claim(db, NOON))

    assert states(db) == [("j1", "ready", 0, "")]


def test_retry_gives_a_parked_job_all_its_attempts_again(db):
    jobs.add(db, "summary", "s1", NOON)
    for number in range(5):
        jobs.fail(db, jobs.claim(db, NOON + number * HOUR), "no", NOON)

    jobs.retry(db, 1, NOON)

    assert states(db) == [("j1", "ready", 0, "")]
    assert jobs.claim(db, NOON) == Job(1, "summary", "s1", 1)


def test_a_job_given_up_runs_again_when_there_is_a_new_reason(db):
    jobs.add(db, "summary", "s1", NOON)
    for n in range(5):
        job = jobs.claim(db, NOON + n * HOUR)
        jobs.fail(db, job, "no", NOON + n * HOUR)

    jobs.add(db, "summary", "s1", NOON + 9 * HOUR)

    assert jobs.claim(db, NOON + 9 * HOUR) == Job(1, "summary", "s1", 1)


@pytest.mark.parametrize("end", ["missing", "running", "done"])
def test_only_what_waits_or_is_parked_can_be_retried(db, end):
    if end != "missing":
        jobs.add(db, "summary", "s1", NOON)
        job = jobs.claim(db, NOON)
    if end == "done":
        jobs.finish(db, job, NOON)

    with pytest.raises(UsageError, match="no job j1 is waiting or parked; `agent jobs list` shows them all"):
        jobs.retry(db, 1, NOON)


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


def test_work_of_a_process_that_died_counts_as_due(db):
    jobs.add(db, "summary", "s1", NOON)
    jobs.claim(db, NOON)
    assert not jobs.any_due(db, NOON)
    db.execute("update job set holder = ?", (f"{socket.gethostname()}/999999999/1",))
    assert jobs.any_due(db, NOON)


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
