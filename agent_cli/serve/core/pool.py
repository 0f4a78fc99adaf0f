"""Connections to the file for threads that come and go; each is used by one thread at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, LifoQueue

from agent_cli.store.db import Database

_MAX_IDLE = 8


class ConnectionPool:
    def __init__(self, db: Database):
        self._db = db
        self._free: LifoQueue[Database] = LifoQueue()

    @contextmanager
    def connection(self) -> Iterator[Database]:
        try:
            db = self._free.get_nowait()
        except Empty:
            db = self._db.another_connection()
        try:
            yield db
        finally:
            if self._free.qsize() < _MAX_IDLE and not db.in_transaction:
                self._free.put(db)
            else:
                db.close()

    def close(self) -> None:
        while not self._free.empty():
            self._free.get_nowait().close()
