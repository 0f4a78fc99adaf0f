"""Whether the file is whole, how large it is, and making it smaller."""

import shutil
from pathlib import Path
from typing import Any

from agent_cli import text
from agent_cli.errors import StoreError
from agent_cli.store import backup
from agent_cli.store.db import Database, IndexDamaged
from agent_cli.values import frozen

_MAX_PROBLEMS = 5  # problems of a kind


@frozen
class CheckResult:
    """What is wrong with what cannot be made anew, and with what can."""

    canonical: tuple[str, ...]
    derived: tuple[str, ...]


def check(db: Database) -> CheckResult:
    """Read everything: pages, references between rows, and the indexes of words against what they index."""
    found = [str(row[0]) for row in db.rows(f"pragma integrity_check({_MAX_PROBLEMS})")]
    words = [name for (name,) in db.rows("select name from sqlite_schema where sql like '%using fts5%'")]
    derived = [each for each in found if "FTS5" in each or "fts5" in each]
    canonical = [text.one_line(each, 200) for each in found if each != "ok" and each not in derived]
    canonical += [
        f"{table} {row} names a {parent} that is not there"
        for table, row, parent, _ in db.rows("pragma foreign_key_check")[:_MAX_PROBLEMS]
    ]
    derived += [f"the index {name} does not fit its texts" for name in words if not _matches_texts(db, name)]
    return CheckResult(tuple(canonical), tuple(derived))


def _matches_texts(db: Database, name: str) -> bool:
    try:
        with db.index_access(), db.write():
            db.execute(f"insert into {name} ({name}, rank) values ('integrity-check', 1)")
    except IndexDamaged:
        return False
    return True


def status(db: Database) -> dict[str, Any]:
    """Sizes in bytes, rows of each kind, and how the file is set."""
    path = Path(db.path)
    size, free = (int(db.value(f"pragma {name}")) for name in ("page_size", "freelist_count"))
    wal = path.with_name(f"{path.name}-wal")
    return {
        "path": str(path),
        "size": path.stat().st_size,
        "wal": wal.stat().st_size if wal.exists() else 0,
        "free": free * size,
        "format": db.value("pragma user_version"),
        "journal": db.value("pragma journal_mode"),
        "sqlite": db.value("select sqlite_version()"),
        "rows": backup.counts(db),
        "backups": backup.known_copies(db),
    }


def compact(db: Database, busy_timeout: float = 2.0) -> tuple[int, int]:
    """Write the file anew without its free pages; gives its bytes before and after.

    While another process reads what was there before, the file keeps its size, and the new one stands in the journal.
    Little `patience` (seconds) is had with it: whoever waits to empty the journal lets nobody write.

    Raises StoreError when there is no room for it: SQLite writes a copy, and that into the journal once more.
    """
    path = Path(db.path)
    before = path.stat().st_size
    room = shutil.disk_usage(path.parent).free
    if room < 2 * before:
        raise StoreError(
            f"{path}: compacting needs {2 * before / 1e6:.0f} MB free and there are {room / 1e6:.0f}; make room first"
        )
    db.truncate_journal(busy_timeout)
    db.execute("vacuum")
    db.truncate_journal(busy_timeout)
    return before, path.stat().st_size
