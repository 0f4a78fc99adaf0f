"""Which indexes were found damaged when something was written to them, until they have been made anew.

A damaged index never stops a write: what it could not take in is there again when it is made anew from the passages.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from agent_cli.store import meta
from agent_cli.store.db import Database, IndexDamaged, TransactionLost

_KEY = "damaged "


@contextmanager
def tolerate(db: Database, index: str) -> Iterator[None]:
    """Change an index, all or nothing; when it is damaged that is noted, and the caller's transaction goes on.

    Raises TransactionLost when SQLite has undone that transaction too: it can be begun anew, without this index.
    """
    in_transaction = db.in_transaction
    try:
        with db.index_access(), db.write():
            yield
            with db.write():
                pass  # a step within a step: FTS5 writes now what it has kept back, while this can still be undone
    except IndexDamaged as error:
        lost = in_transaction and not db.in_transaction
        note(db, index)
        if lost:
            raise TransactionLost(f"{db.path}: an index is damaged; nothing was written, try again") from error


def note(db: Database, index: str) -> None:
    """The index is damaged."""
    meta.put(db, _KEY + index, "")


def damaged(db: Database) -> list[str]:
    """The indexes that wait to be made anew."""
    return meta.keys(db, _KEY)


def clear(db: Database, index: str) -> None:
    """The index is whole again."""
    meta.drop(db, _KEY + index)
