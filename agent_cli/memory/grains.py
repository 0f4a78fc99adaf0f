"""Summaries of days, weeks, months, quarters and years: each made of the finer one below it."""

from datetime import datetime

from agent_cli.memory import periods
from agent_cli.memory.periods import Period
from agent_cli.memory.scope import PERSON
from agent_cli.store import jobs
from agent_cli.store.db import Database

JOB = "grain"


def queue(db: Database, owner: str, period: Period, now: datetime) -> None:
    """Have the summary of a period made (anew) once it is over. Runs in the caller's transaction."""
    jobs.add(db, JOB, period.key if owner == PERSON else f"{period.key} {owner}", now, period.ends_at(now))


def told(subject: str) -> tuple[str, Period]:
    """The owner and period that a job is about."""
    key, _, owner = subject.partition(" ")
    return owner or PERSON, periods.parse(key)
