"""Work that may wait: a durable queue in the file.

A job names what it is about and holds no text. It runs at least once; its effect and the record that it is done are
one transaction, fenced by the number of the attempt, so that the effect happens once however often it was begun. A
running job is leased to a process and free again when the lease ends or that process has died.
"""

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from agent_cli import clock
from agent_cli.errors import UsageError
from agent_cli.store import holder, ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

LEASE = timedelta(minutes=30)  # a slow machine may read a long conversation for a quarter of an hour, in silence
ATTEMPTS = 5
_PARKED_PAUSE = timedelta(days=1)
_DONE_RETENTION = timedelta(days=31)  # of a job that is done
_FIRST_PAUSE = timedelta(seconds=30)  # doubled with each failure


@frozen
class Job:
    id: int
    kind: str
    subject: str
    attempts: int


class LeaseLost(Exception):
    """Somebody else has taken the job over: its effect must not happen here."""


def add(db: Database, kind: str, subject: str, now: datetime, due: datetime | None = None) -> None:
    """Queue a job, unless one of this kind and subject is waiting already; one given up has a new reason to run.

    `due`: not before this. One that waits for a later time comes forward, as after a clock was set back.
    """
    with db.write():
        db.execute(
            """insert into job (uid, kind, subject, due_at, at, utc_offset) values (?, ?, ?, ?, ?, ?)
               on conflict (kind, subject) where state <> 'done' do update
                  set state = 'ready', attempts = 0, due_at = excluded.due_at, error = ''
                  where state = 'parked' or (state = 'ready' and attempts = 0 and due_at > excluded.due_at)""",
            (ids.new(now), kind, subject, clock.utc(max(now, due or now)), clock.utc(now), clock.offset(now)),
        )


def claim(db: Database, now: datetime) -> Job | None:
    """Take the job that has waited longest, or None."""
    with db.write():
        for id, kind, subject, attempts, state, lease, held_by in db.rows(
            """select id, kind, subject, attempts, state, lease_until, holder from job
               where (state = 'ready' and due_at <= ?1) or state = 'running' order by due_at, id""",
            (clock.utc(now),),
        ):
            if state == "running" and not _may_take_over(held_by, lease, now):
                continue
            if attempts >= ATTEMPTS:
                _park(db, id, "the process that ran it died, five times")
                continue
            db.execute(
                "update job set state = 'running', attempts = ?, holder = ?, lease_until = ? where id = ?",
                (attempts + 1, holder.this_process(), clock.utc(now + LEASE), id),
            )
            return Job(id, kind, subject, attempts + 1)
    return None


def finish(db: Database, job: Job, now: datetime) -> None:
    """Record that the job is done, in the transaction that holds its effect. Raises LeaseLost."""
    done = db.execute(
        """update job set state = 'done', finished_at = ?, holder = null, lease_until = null, error = ''
           where id = ? and attempts = ? and state = 'running'""",
        (clock.utc(now), job.id, job.attempts),
    )
    if not done:
        raise LeaseLost


def release(db: Database, job: Job) -> None:
    """Give the job back untried: the person came first."""
    with db.write():
        db.execute(
            """update job set state = 'ready', attempts = attempts - 1, holder = null, lease_until = null
               where id = ? and attempts = ? and state = 'running'""",
            (job.id, job.attempts),
        )


def fail(db: Database, job: Job, error: str, now: datetime) -> None:
    """Try again later, each time after twice the pause; after five failures park it with the error."""
    state = "parked" if job.attempts >= ATTEMPTS else "ready"
    due = now + _FIRST_PAUSE * 2 ** (job.attempts - 1)
    with db.write():
        db.execute(
            """update job set state = ?, error = ?, due_at = ?, holder = null, lease_until = null
               where id = ? and attempts = ? and state = 'running'""",
            (state, error, clock.utc(due), job.id, job.attempts),
        )


def park(db: Database, job: Job, error: str) -> None:
    """Give a job up at once, with a sentence: to try it again would not help. Runs in the caller's transaction."""
    db.execute(
        """update job set state = 'parked', error = ?, finished_at = null, holder = null, lease_until = null
           where id = ? and attempts = ?""",
        (error, job.id, job.attempts),
    )


def unpark(db: Database, kind: str, error: str, now: datetime) -> None:
    """Let jobs of a kind that were given up for this reason run again: it holds no more."""
    with db.write():
        db.execute(
            """update job set state = 'ready', attempts = 0, error = '', due_at = ?
               where kind = ? and state = 'parked' and error = ?""",
            (clock.utc(now), kind, error),
        )


def is_pending(db: Database, kind: str, subject: str | None = None) -> bool:
    """Whether a job of this kind, about this or anything, is not done yet; parked ones count."""
    return bool(
        db.value(
            "select 1 from job where kind = ? and subject = coalesce(?, subject) and state <> 'done' limit 1",
            (kind, subject),
        )
    )


def parked_recently(db: Database, kind: str, subject: str, now: datetime) -> bool:
    """Whether it was given up less than a day ago: without a new reason it is not tried again so soon."""
    return bool(
        db.value(
            "select 1 from job where kind = ? and subject = ? and state = 'parked' and due_at > ?",
            (kind, subject, clock.utc(now - _PARKED_PAUSE)),
        )
    )


def prune(db: Database, now: datetime) -> None:
    """Delete what was done more than a month ago: each turn leaves some behind."""
    old = (clock.utc(now - _DONE_RETENTION),)
    if db.value("select 1 from job where state = 'done' and due_at < ?1 and finished_at < ?1 limit 1", old):
        with db.write():
            db.execute("delete from job where state = 'done' and due_at < ?1 and finished_at < ?1", old)


def running_or_due(db: Database, kind: str, now: datetime) -> dict[str, bool]:
    """What the jobs of this kind are about that run (true) or are due and have not failed yet."""
    rows = db.rows(
        """select subject, state = 'running' from job where kind = ?
             and (state = 'running' or (state = 'ready' and attempts = 0 and due_at <= ?)) order by id""",
        (kind, clock.utc(now)),
    )
    return {subject: bool(running) for subject, running in rows}


def count_parked(db: Database) -> int:
    """How many were given up."""
    return int(db.value("select count(*) from job where state = 'parked'"))


def count_by_state(db: Database) -> dict[str, int]:
    """How many there are in each state."""
    return dict(db.rows("select state, count(*) from job group by state order by state"))


def finish_kind(db: Database, kind: str, now: datetime) -> None:
    """What the jobs of this kind were to do has been done without them."""
    with db.write():
        db.execute(
            """update job set state = 'done', finished_at = ?, holder = null, lease_until = null, error = ''
               where kind = ? and state <> 'done'""",
            (clock.utc(now), kind),
        )


def about(db: Database, subjects: Iterable[str]) -> list[tuple[int, str, str]]:
    """Number, kind and subject of each job about one of these, the oldest first."""
    rows = db.rows(
        "select id, kind, subject from job where subject in (select value from json_each(?)) order by id",
        (json.dumps(list(subjects)),),
    )
    return [(id, kind, subject) for id, kind, subject in rows]


def erase(db: Database, found: Iterable[int]) -> None:
    """Delete jobs; one that runs loses its lease, and its effect does not happen. Runs in the caller's transaction."""
    db.execute("delete from job where id in (select value from json_each(?))", (json.dumps(list(found)),))


def blank_errors(db: Database, found: Iterable[int]) -> None:
    """Runs in the caller's transaction."""
    db.execute("update job set error = '' where id in (select value from json_each(?))", (json.dumps(list(found)),))


def _may_take_over(held_by: str, lease: str, now: datetime) -> bool:
    """Whether a running job may be taken over."""
    return lease <= clock.utc(now) or not holder.is_alive(held_by)


def _park(db: Database, id: int, error: str) -> None:
    db.execute(
        "update job set state = 'parked', error = ?, holder = null, lease_until = null where id = ?", (error, id)
    )


def any_due(db: Database, now: datetime) -> bool:
    """Whether something is waiting to be run now, or was begun by a process that has died."""
    rows = db.rows(
        "select state, holder, lease_until from job where (state = 'ready' and due_at <= ?) or state = 'running'",
        (clock.utc(now),),
    )
    return any(state == "ready" or _may_take_over(held_by, lease, now) for state, held_by, lease in rows)


def retry(db: Database, id: int, now: datetime) -> None:
    """Let a job that waits or is parked run now, with all its attempts. Raises UsageError."""
    with db.write():
        found = db.execute(
            """update job set state = 'ready', attempts = 0, error = '', due_at = ?
               where id = ? and state in ('ready', 'parked')""",
            (clock.utc(now), id),
        )
    if not found:
        raise UsageError(f"no job j{id} is waiting or parked; `agent jobs list` shows them all")


def listing(db: Database, limit: int) -> list[dict[str, Any]]:
    """The jobs, those not done first, newest first."""
    rows = db.rows(
        """select id, kind, subject, state, attempts, due_at, finished_at, error from job
           order by state = 'done', id desc limit ?""",
        (limit,),
    )
    names = ("id", "kind", "subject", "state", "attempts", "due_at", "finished_at", "error")
    return [{**dict(zip(names, row, strict=True)), "id": ids.handle("job", row[0])} for row in rows]
