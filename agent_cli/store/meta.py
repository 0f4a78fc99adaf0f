"""Small values of the file itself, by key: the names of its indexes, how far a job has come, when something last ran.

Each function that writes is a transaction of its own, or a step of the caller's.
"""

from datetime import datetime, timedelta

from agent_cli import clock
from agent_cli.store.db import Database


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
    """The keys that begin so, sorted, without the prefix."""
    rows = db.rows("select key from meta where substr(key, 1, ?) = ? order by key", (len(prefix), prefix))
    return [str(key)[len(prefix) :] for (key,) in rows]


def number(db: Database, key: str) -> int:
    """A number, or 0 when there is none."""
    return int(get(db, key) or 0)


def increase(db: Database, key: str) -> int:
    """Count one more; gives the new number."""
    with db.write():
        count = number(db, key) + 1
        put(db, key, str(count))
    return count


def stamp(db: Database, key: str, now: datetime) -> None:
    """Keep that something was done now."""
    put(db, key, clock.utc(now))


def is_due(db: Database, key: str, now: datetime, pause: timedelta) -> bool:
    """Whether the last stamp is as old as the pause, or of the future (the clock was set back), or there is none."""
    last = get(db, key)
    return last is None or not clock.utc(now - pause) < last <= clock.utc(now)
