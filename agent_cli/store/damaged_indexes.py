"""Which indexes were found damaged by a write, until they are rebuilt.

A damaged index never stops a write: rebuilding it from the passages adds what it missed.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from agent_cli.store import meta
from agent_cli.store.db import Database, IndexDamaged, TransactionLost

_KEY = "damaged "


@contextmanager
def tolerate(db: Database, index: str) -> Iterator[None]:
    """Change an index, all or nothing; damage is noted, and the caller's transaction goes on.

    Raises TransactionLost when SQLite has rolled back that transaction too: it can be retried, without this index.
    """
    in_transaction = db.in_transaction
    try:
        with db.index_access(), db.write():
            yield
            with db.write():
                pass  # a nested savepoint makes FTS5 write its buffer now, while it can still be undone
    except IndexDamaged as error:
        lost = in_transaction and not db.in_transaction
        note(db, index)
        if lost:
            raise TransactionLost(f"{db.path}: an index is damaged; nothing was written, try again") from error


def note(db: Database, index: str) -> None:
    """Record that the index is damaged."""
    meta.put(db, _KEY + index, "")


def damaged(db: Database) -> list[str]:
    """The indexes to be rebuilt."""
    return meta.keys(db, _KEY)


def clear(db: Database, index: str) -> None:
    """Record that the index has been rebuilt."""
    meta.drop(db, _KEY + index)
