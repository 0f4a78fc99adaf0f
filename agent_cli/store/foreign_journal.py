"""Notices a journal that belongs to another database, before SQLite applies it.

A journal that was copied here, or left when its file was replaced, is whole to SQLite: its pages would take the place
of those of the file, for good. A file without events, or a damaged one, tells nothing.

`-wal`: the log of events only grows, so the newest event of the file alone must stand in what the file and its journal
are together. `-journal`, which SQLite plays back at the first read: each change raises the counter on the first page,
so the first page as it was has the counter of the file or the one before; and beside a file with a `-wal` only a change
of the journal's mode, which touches that page alone, makes one.
"""

import struct
from contextlib import closing
from pathlib import Path

from agent_cli.errors import FileRefused, StoreError
from agent_cli.store import db, events, schema
from agent_cli.store.db import Database
from agent_cli.values import frozen

_MAGIC = bytes.fromhex("d9d505f920a163d7")  # of a rollback journal: https://www.sqlite.org/fileformat2.html
_COUNTER, _APPLICATION, _WAL = slice(24, 28), slice(68, 72), b"\2\2"
_READ = 10_000  # page numbers of a journal that are looked at


@frozen
class _Rollback:
    """A rollback journal: its header, the size of the file before in bytes, its first pages, and page 1 as it was."""

    header: bytes
    size: int
    pages: int
    first_page: bytes


def refuse(path: Path) -> None:
    """Raise FileRefused when a journal beside the file is another one's. Nothing is written."""
    if str(path) in db.LOCKS:
        return  # to close a file drops the locks of all connections that this process has to it
    rollback, wal = (path.with_name(f"{path.name}{end}") for end in ("-journal", "-wal"))
    if _holds_data(rollback) and not _is_rollback_of(rollback, path):
        raise _refused(rollback, path, "it")
    if _holds_data(wal) and not _is_wal_of(path):
        raise _refused(wal, path, f"it and {path.name}-shm")


def _refused(journal: Path, path: Path, what: str) -> FileRefused:
    return FileRefused(
        f"{journal} is the journal of another database, or of another state of this one, so it was not applied: "
        f"move {what} to another folder to open {path} without it"
    )


def _holds_data(journal: Path) -> bool:
    return journal.exists() and journal.stat().st_size > 0


def _is_wal_of(path: Path) -> bool:
    try:
        with closing(Database(path, unwritable="to look at it without its journal")) as alone:
            newest = events.newest_link(alone) if schema.is_current(alone) else None
        with closing(Database(path, read_only=True)) as together:
            return newest is None or not schema.is_current(together) or events.has_link(together, *newest)
    except StoreError:
        return True  # of a damaged file nothing can be told


def _is_rollback_of(journal: Path, path: Path) -> bool:
    try:
        found = _read(journal)
        with path.open("rb") as file:
            page, size = file.read(len(found.first_page) if found else 0), path.stat().st_size
        if found is None or not page or found.header != _header(journal):
            return True  # nothing is played back, or another process has just ended its change
    except OSError:
        return True
    if not found.pages:
        return found.size == size  # the file is only cut to the size that it had
    if page[18:20] == _WAL:
        return found.pages == 1 and _same_but_for_mode(found.first_page, page)
    before, now = (int.from_bytes(each[_COUNTER]) for each in (found.first_page, page))
    same = found.first_page[_APPLICATION] == page[_APPLICATION] and now - before in (0, 1)
    return same or not any(found.first_page)  # page 1 is not in it: nothing can be told


def _same_but_for_mode(one: bytes, other: bytes) -> bool:
    """Whether two first pages differ in the mode of the journal and the counters of changes alone."""
    return all(one[part] == other[part] for part in (slice(0, 18), slice(20, 24), slice(28, 92), slice(96, None)))


def _header(journal: Path) -> bytes:
    with journal.open("rb") as file:
        return file.read(28)


def _read(journal: Path) -> _Rollback | None:
    """A rollback journal that SQLite would play back."""
    header = _header(journal)
    if len(header) < 28 or header[:8] != _MAGIC:
        return None
    count, _, pages, sector, size = struct.unpack(">5I", header[8:])
    if not 512 <= size <= 65536 or sector > 65536:
        return None
    held = (journal.stat().st_size - sector) // (size + 8)
    count = min(held if count == 0xFFFFFFFF else count, held)
    first = bytes(size)
    with journal.open("rb") as file:
        for number in range(min(count, _READ)):
            file.seek(sector + number * (size + 8))
            if int.from_bytes(file.read(4)) == 1:
                first = file.read(size)
                break
    return _Rollback(header, pages * size, count, first)
