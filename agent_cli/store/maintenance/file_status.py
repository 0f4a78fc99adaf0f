"""How large the file is and what it holds, and its compaction."""

import shutil
from pathlib import Path
from typing import Any

from agent_cli.errors import StoreError
from agent_cli.store.db import Database
from agent_cli.store.maintenance import backup


def status(db: Database) -> dict[str, Any]:
    """Sizes in bytes, counts of rows, known backups and the file's settings."""
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
    """Rewrite the file without its free pages; returns its size in bytes before and after.

    While another process reads the former state, the file keeps its size and the new pages stay in the journal.
    `busy_timeout` (seconds) is short because nobody can write while the journal is waited for.

    Raises StoreError when the disk is too full: SQLite writes a copy, and the copy again into the journal.
    """
    path = Path(db.path)
    db.truncate_journal(busy_timeout)  # so that the size before is that of all
    before = path.stat().st_size
    room = shutil.disk_usage(path.parent).free
    if room < 2 * before:
        raise StoreError(
            f"{path}: compacting needs {2 * before / 1e6:.0f} MB free and there are {room / 1e6:.0f}; make room first"
        )
    db.execute("vacuum")
    db.truncate_journal(busy_timeout)
    return before, path.stat().st_size
