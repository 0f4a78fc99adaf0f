"""Calls of tools that the end of the program left undecided, so that they can be asked about again.

A crash is repaired by giving every open call the result "interrupted" (log.repair). Whether a call may run is recorded
before it runs, so one without such a record did not run.
"""

from collections.abc import Sequence
from itertools import takewhile

from agent_cli import clock
from agent_cli.memory.conversations import log
from agent_cli.messages import ToolCall
from agent_cli.store import events
from agent_cli.store.db import Database

_READ = 50  # messages at the end of a session; one reply has fewer calls


def find(db: Database, session: int) -> tuple[ToolCall, ...]:
    """The calls of the last reply of a repaired session that were never decided; none once something came after it."""
    results = _results(db, session)
    if not results:
        return ()
    reply = log.history(db, session, last=1, before=results[0].id)[0]
    decided = events.subjects_since(db, clock.local(reply.at, reply.utc_offset), "call ", session)
    found = []
    for call in reply.message.calls:
        if call.name in decided:
            decided.remove(call.name)
        else:
            found.append(call)
    interrupted = {each.message.call_id for each in results if each.failed and each.message.text == log.INTERRUPTED}
    return tuple(call for call in found if call.id in interrupted)


def reopen(db: Database, session: int, calls: Sequence[ToolCall], time: clock.Clock) -> None:
    """Take back the result "interrupted" of these calls, the last ones of their reply."""
    ids = {call.id for call in calls}
    first = next(each.id for each in _results(db, session) if each.message.call_id in ids)
    with db.write():
        log.undo_from(db, session, first, time())


def _results(db: Database, session: int) -> list[log.Entry]:
    """The results at the end of a session, when a reply with calls is in front of them."""
    late = log.history(db, session, last=_READ)
    results = list(takewhile(lambda entry: entry.message.role == "tool", reversed(late)))[::-1]
    return results if len(results) < len(late) and late[-len(results) - 1].message.calls else []
