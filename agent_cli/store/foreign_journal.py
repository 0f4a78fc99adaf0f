"""Notices a journal that belongs to another database, before SQLite applies it.

A journal that was copied here, or left when its file was replaced, is whole to SQLite: its pages would take the place
of those of the file, for good. The log of events only grows, so the newest event of the file alone must stand in what
the file and its journal are together. A file without events, or a journal that leaves them as they are, tells nothing.
"""

from contextlib import closing
from pathlib import Path

from agent_cli.errors import FileRefused, StoreError
from agent_cli.store import db, events, schema
from agent_cli.store.db import Database


def refuse(path: Path) -> None:
    """Raise FileRefused when the journal beside the file is another one's. Nothing is written."""
    journal = path.with_name(f"{path.name}-wal")
    if str(path) in db.LOCKS or not journal.exists() or not journal.stat().st_size:
        return  # to close a file drops the locks of all connections that this process has to it
    try:
        with closing(Database(path, unwritable="to look at it without its journal")) as alone:
            newest = events.newest_link(alone) if schema.is_current(alone) else None
        with closing(Database(path, read_only=True)) as together:
            belongs = newest is None or not schema.is_current(together) or events.has_link(together, *newest)
    except StoreError:
        return  # of a damaged file nothing can be told
    if not belongs:
        raise FileRefused(
            f"{journal} is the journal of another database, or of another state of this one, "
            f"and not applied; move it and {path.name}-shm to another folder, and {path} is as it was without them"
        )
