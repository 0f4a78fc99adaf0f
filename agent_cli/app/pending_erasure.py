"""What was erased while another process was reading stays in the journal until that is done: finishing it later."""

from collections.abc import Callable

from agent_cli import clock
from agent_cli.memory import tombstones
from agent_cli.store import jobs
from agent_cli.store.db import Database


def finish(db: Database, time: clock.Clock, notice: Callable[[str], None], patience: float = 0.1) -> bool:
    """Let what was erased leave the journal, where another process held it up; whether something had waited."""
    if not jobs.is_pending(db, tombstones.JOB):
        return False
    from agent_cli.memory.forgetting import forget  # 6 ms, and hardly ever does something wait

    if not forget.empty_journal(db, time, patience):
        return False
    notice("what you had forgotten has now left the journal too")
    return True
