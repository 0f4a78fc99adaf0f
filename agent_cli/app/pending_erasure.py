"""Finishes an erasure later: erased data stays in the journal for as long as another process reads it."""

from collections.abc import Callable

from agent_cli import clock
from agent_cli.memory import tombstones
from agent_cli.store import jobs
from agent_cli.store.db import Database


def finish(db: Database, time: clock.Clock, notice: Callable[[str], None], patience: float = 0.1) -> bool:
    """Remove erased data from the journal if an erasure is pending; returns whether one was finished."""
    if not jobs.is_pending(db, tombstones.JOB):
        return False
    from agent_cli.memory.forgetting import forget  # takes 6 ms, and an erasure is rarely pending

    if not forget.empty_journal(db, time, patience):
        return False
    notice("the data you had forgotten has now been removed from the journal too")
    return True
