"""Session notes: what the model writes down for itself, until the session closes."""

from collections.abc import Sequence
from datetime import datetime

from agent_cli import clock
from agent_cli.memory.conversations import log
from agent_cli.store import ids
from agent_cli.store.db import Database

TOOLS = ("jot", "read_jottings")


def add(db: Database, session: int, text: str, now: datetime) -> None:
    with db.write():
        db.execute(
            "insert into jotting (uid, session_id, text, at, utc_offset) values (?, ?, ?, ?, ?)",
            (ids.new(now), session, text, clock.utc(now), clock.offset(now)),
        )


def listed(db: Database, session: int) -> list[str]:
    """The notes of a session, without those written after a message that was undone later."""
    rows = db.rows(
        """select text from jotting j where session_id = ? and not exists (
              select 1 from message m where m.session_id = j.session_id and m.at <= j.at and m.undone_at >= j.at)
           order by id""",
        (session,),
    )
    return [text for (text,) in rows]


def erase(db: Database, session: int) -> None:
    """Erase the notes of a session, and their words in logged calls and results. Runs in the caller's transaction."""
    db.execute("delete from jotting where session_id = ?", (session,))
    log.blank_tools(db, session, TOOLS, "(erased when the session closed)")


def erase_some(db: Database, found: Sequence[int]) -> None:
    db.execute("delete from jotting where id in (select value from json_each(?))", (found,))
