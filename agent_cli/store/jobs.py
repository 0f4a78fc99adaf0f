"""A durable queue of background jobs. A job runs at least once; its effect and its completion are one transaction,
fenced by the number of the attempt, so that the effect happens once. A running job is leased to a process."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from agent_cli import clock
from agent_cli.errors import UsageError
from agent_cli.store import holder, ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

LEASE = timedelta(minutes=30)  # on a slow machine a model may read a long conversation for a quarter of an hour
ATTEMPTS = 5
_PARKED_PAUSE = timedelta(days=1)
_DONE_RETENTION = timedelta(days=31)
_FIRST_PAUSE = timedelta(seconds=30)  # doubled with each failure


@frozen
class Job:
    id: int
    kind: str
    subject: str
    attempts: int


class LeaseLost(Exception):
    """Another process has taken the job over: its effect must not happen here."""


def add(db: Database, kind: str, subject: str, now: datetime, due: datetime | None = None) -> None:
    """Queue a job, not before `due`; one that waits already is moved forward, a parked one becomes ready again."""
    with db.write():
        db.execute(
            """insert into job (uid, kind, subject, due_at, at, utc_offset) values (?, ?, ?, ?, ?, ?)
               on conflict (kind, subject) where state <> 'done' do update
                  set state = 'ready', attempts = 0, due_at = excluded.due_at, error = ''
                  where state = 'parked' or (state = 'ready' and attempts = 0 and due_at > excluded.due_at)""",
            (ids.new(now), kind, subject, clock.utc(max(now, due or now)), clock.utc(now), clock.offset(now)),
        )


def claim(db: Database, now: datetime, without: Collection[str] = ()) -> Job | None:
    """Lease the job that has waited longest; None when none is due. `without`: kinds that may not run now."""
    with db.write():
        for id, kind, subject, attempts, state, lease, held_by in db.rows(
            """select id, kind, subject, attempts, state, lease_until, holder from job
               where (state = 'ready' and due_at <= ?1) or state = 'running' order by due_at, id""",
            (clock.utc(now),),
        ):
            if kind in without or (state == "running" and not _may_take_over(held_by, lease, now)):
                continue
            if attempts >= ATTEMPTS:
                ended = "the process that ran it ended unexpectedly, five times"
                _change(db, "id = ?", (id,), state="parked", error=ended)
                continue
            leased = {"holder": holder.this_process(), "lease_until": clock.utc(now + LEASE)}
            db.update("job", id, {"state": "running", "attempts": attempts + 1, **leased})
            return Job(id, kind, subject, attempts + 1)
    return None


_CLAIMED = "id = ? and attempts = ? and state = 'running'"


def _change(db: Database, where: str, values: Sequence[Any], **columns: Any) -> int:
    """Change jobs, which nobody holds then; returns how many."""
    changes = ", ".join(f"{name} = ?" for name in columns)
    with db.write():
        return db.execute(
            f"update job set holder = null, lease_until = null, {changes} where {where}", (*columns.values(), *values)
        )


def finish(db: Database, job: Job, now: datetime) -> None:
    """Record that the job is done, in the transaction that holds its effect. Raises LeaseLost."""
    if not _change(db, _CLAIMED, (job.id, job.attempts), state="done", finished_at=clock.utc(now), error=""):
        raise LeaseLost


def release(db: Database, job: Job, due: datetime | None = None) -> None:
    """Return the job to the queue, not before `due`, without counting the attempt: the person needs the model."""
    later = {"due_at": clock.utc(due)} if due else {}
    _change(db, _CLAIMED, (job.id, job.attempts), state="ready", attempts=job.attempts - 1, **later)


def fail(db: Database, job: Job, error: str, now: datetime) -> None:
    """Retry later, each time after twice the pause; after five failures park the job with the error."""
    state = "parked" if job.attempts >= ATTEMPTS else "ready"
    due = now + _FIRST_PAUSE * 2 ** (job.attempts - 1)
    _change(db, _CLAIMED, (job.id, job.attempts), state=state, error=error, due_at=clock.utc(due))


def park(db: Database, job: Job, error: str, subject: str) -> None:
    """Park a job at once with an error, and with what is to be done when it is retried as its subject."""
    claimed = "id = ? and attempts = ?"
    _change(db, claimed, (job.id, job.attempts), state="parked", error=error, subject=subject, finished_at=None)


def unpark(db: Database, kind: str, error: str, now: datetime) -> None:
    parked = "kind = ? and state = 'parked' and error = ?"
    _change(db, parked, (kind, error), state="ready", attempts=0, error="", due_at=clock.utc(now))


def finish_kind(db: Database, kind: str, now: datetime) -> None:
    """Mark all jobs of this kind as done: their work has been done otherwise."""
    _change(db, "kind = ? and state <> 'done'", (kind,), state="done", finished_at=clock.utc(now), error="")


def retry(db: Database, id: int, now: datetime) -> None:
    """Make a waiting or parked job due now, with all its attempts. Raises UsageError."""
    waiting = "id = ? and state in ('ready', 'parked')"
    if not _change(db, waiting, (id,), state="ready", attempts=0, error="", due_at=clock.utc(now)):
        raise UsageError(f"no job j{id} is waiting or parked; `agent jobs list` shows them all")


def is_pending(db: Database, kind: str, subject: str | None = None) -> bool:
    """Whether a job of this kind, with this subject or any, is not done yet; parked jobs count."""
    pending = "select 1 from job where kind = ? and subject = coalesce(?, subject) and state <> 'done' limit 1"
    return bool(db.value(pending, (kind, subject)))


def parked_recently(db: Database, kind: str, subject: str, now: datetime) -> bool:
    """Whether the job was parked less than a day ago, and so should not be queued again yet."""
    parked = "select 1 from job where kind = ? and subject = ? and state = 'parked' and due_at > ?"
    return bool(db.value(parked, (kind, subject, clock.utc(now - _PARKED_PAUSE))))


def prune(db: Database, now: datetime) -> None:
    """Delete jobs that were done more than a month ago: each turn leaves some behind."""
    old = (clock.utc(now - _DONE_RETENTION),)
    if db.value("select 1 from job where state = 'done' and due_at < ?1 and finished_at < ?1 limit 1", old):
        with db.write():
            db.execute("delete from job where state = 'done' and due_at < ?1 and finished_at < ?1", old)


def running_or_due(db: Database, kind: str, now: datetime) -> dict[str, bool]:
    """The subjects of this kind's jobs that run (True) or are due and have not failed yet (False)."""
    query = """select subject, state = 'running' from job where kind = ?
                 and (state = 'running' or (state = 'ready' and attempts = 0 and due_at <= ?)) order by id"""
    rows = db.rows(query, (kind, clock.utc(now)))
    return {subject: bool(running) for subject, running in rows}


def count_by_state(db: Database) -> dict[str, int]:
    return dict(db.rows("select state, count(*) from job group by state order by state"))


def about(db: Database, subjects: Iterable[str]) -> list[tuple[int, str, str]]:
    """Number, kind and subject of each job with one of these subjects, oldest first."""
    return db.rows(
        "select id, kind, subject from job where subject in (select value from json_each(?)) order by id", (subjects,)
    )


def erase(db: Database, found: Iterable[int]) -> None:
    """Delete jobs; a running one loses its lease and has no effect. Runs in the caller's transaction."""
    db.execute("delete from job where id in (select value from json_each(?))", (found,))


_RUNNING = "select holder, lease_until from job where state = 'running'"


def _may_take_over(held_by: str, lease: str, now: datetime) -> bool:
    return lease <= clock.utc(now) or not holder.is_alive(held_by)


def any_due(db: Database, now: datetime) -> bool:
    """Whether a job is due now, or was started by a process that has died."""
    due = db.value("select 1 from job where state = 'ready' and due_at <= ? limit 1", (clock.utc(now),))
    return bool(due) or any(_may_take_over(held_by, lease, now) for held_by, lease in db.rows(_RUNNING))


def are_running(db: Database, now: datetime) -> bool:
    return any(not _may_take_over(held_by, lease, now) for held_by, lease in db.rows(_RUNNING))


def listing(db: Database, limit: int) -> list[dict[str, Any]]:
    """The jobs, unfinished ones first, newest first."""
    query = """select id, kind, subject, state, attempts, due_at, finished_at, error from job
               order by state = 'done', id desc limit ?"""
    return [row | {"id": ids.handle("job", row["id"])} for row in db.records(query, (limit,))]
