"""Temporary files of backups and restores that were killed: each holds a whole database, and goes at the next start.

They are named `.NAME.PID.part`. A backup may be anywhere, so its temporary file is recorded in the database while it is
written; that of a restore is beside the database.
"""

import glob
import json
import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from agent_cli.store import meta
from agent_cli.store.db import Database

_KEY = "backup in progress"
_NAME = re.compile(r"\..+\.(\d+)\.part(?:-journal|-wal|-shm)?")
_OLD = 24 * 3600  # seconds; no backup takes longer, and the number of its process may be another one's by then


def temporary_path(path: Path) -> Path:
    """Where a file is written before it gets its name."""
    return path.with_name(f".{path.name}.{os.getpid()}.part")


@contextmanager
def recorded(db: Database, part: Path) -> Iterator[None]:
    """Record a temporary file of a backup while it is written."""
    meta.put(db, _KEY, json.dumps([*_recorded(db), str(part)]))
    try:
        yield
    finally:
        _keep(db, [each for each in _recorded(db) if each != str(part)])


def found(db: Database) -> list[Path]:
    """The temporary files that exist, also of processes that still run."""
    if db.in_memory:
        return []
    return [
        *_beside(Path(db.path)),
        *(path for each in _recorded(db) for path in with_journals(Path(each)) if path.is_file()),
    ]


def remove(db: Database) -> None:
    """Delete those whose process has ended."""
    _remove(found(db))
    recorded_paths = _recorded(db)
    if recorded_paths:
        _keep(db, [each for each in recorded_paths if Path(each).exists()])


def remove_beside(path: Path) -> None:
    """Delete those of a file that was to be written, whose process has ended."""
    _remove(_beside(path))


def _beside(path: Path) -> list[Path]:
    return [each for each in path.parent.glob(f".{glob.escape(path.name)}.*.part*") if _NAME.fullmatch(each.name)]


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        if not _in_use(path):
            with suppress(OSError):  # it is searched and named with each erasure
                path.unlink()


def _recorded(db: Database) -> list[str]:
    return [str(each) for each in json.loads(meta.get(db, _KEY) or "[]")]


def _keep(db: Database, paths: list[str]) -> None:
    if paths:
        meta.put(db, _KEY, json.dumps(paths))
    else:
        meta.drop(db, _KEY)


def with_journals(part: Path) -> list[Path]:
    """The file and the journals that SQLite may have put beside it."""
    return [part.with_name(part.name + end) for end in ("", "-journal", "-wal", "-shm")]


def _in_use(path: Path) -> bool:
    match = _NAME.fullmatch(path.name)
    if match is None or time.time() - path.stat().st_mtime > _OLD:
        return False
    try:
        os.kill(int(match[1]), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True
