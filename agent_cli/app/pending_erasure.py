"""What is left to do for erasures at a later start.

Erased data stays in the journal for as long as another process reads it; and where the file was moved to another
machine, the key is missing by which erased texts are recognised.
"""

from collections.abc import Callable

from agent_cli import clock
from agent_cli.memory import tombstones
from agent_cli.store import jobs, keyed_hash
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


def renew_missing_key(db: Database, notice: Callable[[str], None]) -> None:
    """Make a new key instead of a missing one, and say what that means when something was erased before."""
    if not keyed_hash.is_missing(db):
        return
    keyed_hash.renew(db)
    if tombstones.any_exist(db):
        notice(
            f"the key of what you had forgotten is not in {db.key_folder}, so an import may bring that back; "
            "a new key was made for what you forget from now on"
        )
