"""Session memory: what the model jots down for itself, without asking, until the session closes."""

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
    """Those of a session, but for what was jotted after something that has been taken back since."""
    rows = db.rows(
        """select text from jotting j where session_id = ? and not exists (
              select 1 from message m where m.session_id = j.session_id and m.at <= j.at and m.undone_at >= j.at)
           order by id""",
        (session,),
    )
    return [text for (text,) in rows]


def erase(db: Database, session: int) -> None:
    """Erase them, and their words where the log has them as calls and results. Runs in the caller's transaction."""
    db.execute("delete from jotting where session_id = ?", (session,))
    log.blank_tools(db, session, TOOLS, "(erased when the session closed)")


def erase_some(db: Database, found: Sequence[int]) -> None:
    """Runs in the caller's transaction."""
    db.execute("delete from jotting where id in (select value from json_each(?))", (found,))
