"""Whether somebody talks with the model at this moment, in any process, as far as the log tells."""

from datetime import datetime, timedelta

from agent_cli import clock
from agent_cli.store import holder
from agent_cli.store.db import Database

_PATIENCE = timedelta(minutes=5)  # for a question without an answer: its turn may have failed


def goes_on(db: Database, since: datetime) -> bool:
    """Whether a conversation that a running process has open had a message since then."""
    rows = db.rows(
        """select holder from session
           where kind = 'chat' and closed_at is null and holder is not null and last_at >= ?""",
        (clock.utc(since),),
    )
    return any(holder.is_alive(held_by) for (held_by,) in rows)


def awaits_model(db: Database, now: datetime) -> bool:
    """Whether another running process waits for a reply of the model, or is getting one."""
    rows = db.rows(
        """select s.holder, m.role, m.finish, m.at from session s
             join message m on m.id = (select max(id) from message where session_id = s.id)
           where s.closed_at is null and s.holder is not null and s.holder <> ?""",
        (holder.this_process(),),
    )
    patience = clock.utc(now - _PATIENCE)
    return any(
        (finish is None if role == "assistant" else at >= patience) and holder.is_alive(held_by)
        for held_by, role, finish, at in rows
    )
