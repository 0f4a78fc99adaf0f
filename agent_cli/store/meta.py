"""Small values of the file itself, by key: names of its indexes, positions of jobs, times of last runs.

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
    """The keys with this prefix, sorted, without it."""
    rows = db.rows("select key from meta where substr(key, 1, ?) = ? order by key", (len(prefix), prefix))
    return [str(key)[len(prefix) :] for (key,) in rows]


def number(db: Database, key: str) -> int:
    """The value as a number; 0 when there is none."""
    return int(get(db, key) or 0)


def increase(db: Database, key: str) -> int:
    """Add one to a number; returns the new number."""
    with db.write():
        count = number(db, key) + 1
        put(db, key, str(count))
    return count


def stamp(db: Database, key: str, now: datetime) -> None:
    """Store the present time."""
    put(db, key, clock.utc(now))


def is_due(db: Database, key: str, now: datetime, pause: timedelta) -> bool:
    """Whether the last stamp is missing, at least `pause` old, or in the future (after the clock was set back)."""
    last = get(db, key)
    return last is None or not clock.utc(now - pause) < last <= clock.utc(now)
