"""Repairs a session after a crash or an error."""

from agent_cli import clock
from agent_cli.memory.conversations import log
from agent_cli.memory.scope import Scope
from agent_cli.store.db import Database


def recover(db: Database, session: int, scope: Scope, time: clock.Clock) -> str:
    """Repair a session after a crash or an error, and restore messages whose replacement was never answered.

    Returns the handle of the first restored message, or "". Only for a session that no other process has open.
    """
    log.repair(db, session, scope, time())
    unanswered = log.unanswered_replacement(db, session)
    if unanswered is None:
        return ""
    from agent_cli.memory.lifecycle import rewind  # all that is made from messages, for what hardly ever happens

    return rewind.give_back(db, session, scope, unanswered, time)
