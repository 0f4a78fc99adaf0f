"""Small values of the file itself, by key: names of its indexes, positions of jobs, times of last runs, and damage: a
damaged index never stops a write; it is noted, and rebuilding it adds what it missed."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from agent_cli import clock
from agent_cli.store.db import Database, IndexDamaged, TransactionLost

_DAMAGED_INDEX = "damaged "


@contextmanager
def tolerate_damage(db: Database, index: str) -> Iterator[None]:
    """Change an index, all or nothing; damage is noted, and the caller's transaction goes on, or is lost with it
    (TransactionLost): it can be retried, without this index."""
    in_transaction = db.in_transaction
    try:
        with db.index_access(), db.write():
            yield
            with db.write():
                pass  # a nested savepoint makes FTS5 write its buffer now, while it can still be undone
    except IndexDamaged as error:
        lost = in_transaction and not db.in_transaction
        note_damaged(db, index)
        if lost:
            raise TransactionLost(f"{db.path}: an index is damaged; nothing was written, try again") from error


def note_damaged(db: Database, index: str) -> None:
    put(db, _DAMAGED_INDEX + index, "")


def damaged_indexes(db: Database) -> list[str]:
    return keys(db, _DAMAGED_INDEX)


def clear_damaged(db: Database, index: str) -> None:
    drop(db, _DAMAGED_INDEX + index)


def get(db: Database, key: str) -> str | None:
    value = db.value("select value from meta where key = ?", (key,))
    return None if value is None else str(value)


def put(db: Database, key: str, value: str) -> None:
    with db.write():
        db.execute("insert into meta values (?, ?) on conflict do update set value = excluded.value", (key, value))


def drop(db: Database, key: str) -> None:
    with db.write():
        db.execute("delete from meta where key = ?", (key,))


def keys(db: Database, prefix: str) -> list[str]:
    """The keys with this prefix, sorted, without it."""
    query = "select substr(key, ?1 + 1) from meta where substr(key, 1, ?1) = ?2 order by key"
    return db.column(query, (len(prefix), prefix))


def number(db: Database, key: str) -> int:
    return int(get(db, key) or 0)


def increase(db: Database, key: str) -> int:
    """Add one to a number; returns the new number."""
    with db.write():
        count = number(db, key) + 1
        put(db, key, str(count))
    return count


def stamp(db: Database, key: str, now: datetime) -> None:
    put(db, key, clock.utc(now))


def is_due(db: Database, key: str, now: datetime, pause: timedelta) -> bool:
    """Whether the last stamp is missing, at least `pause` old, or in the future (after the clock was set back)."""
    last = get(db, key)
    return last is None or not clock.utc(now - pause) < last <= clock.utc(now)
