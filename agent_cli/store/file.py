"""Opens the database file: its permissions, its journal mode, its schema."""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import apsw

from agent_cli.errors import StoreError
from agent_cli.store import db as database
from agent_cli.store import schema
from agent_cli.store.db import Database

_UNWRITABLE = (apsw.CantOpenError, apsw.IOError, apsw.FullError, apsw.ReadOnlyError)
MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = re.compile(r"nfs\d?|cifs|smb\d?|smbfs|9p|virtiofs|afs|ceph|glusterfs|fuse\.(sshfs|glusterfs|ceph)")


def open_file(
    path: Path,
    now: datetime,
    notice: Callable[[str], None],
    mounts: Path = MOUNTS,
    key_folder: Path | None = None,
) -> Database:
    """Open the file, creating it and its folder when missing, and bring its schema up to date.

    Only the owner can read the file, and a folder that is created. A file of another program or of a newer version is
    left untouched (StoreError). WAL needs shared memory, which a network file system does not have: there a rollback
    journal is used, and `notice` is called with a sentence. On a full or read-only disk the file is opened
    for reading, which `notice` is told too. `key_folder`: where the key of its hashes is kept.
    """
    _create(path)
    try:
        return _open_to_write(path, now, notice, mounts, key_folder)
    except StoreError as error:
        if not isinstance(error.__cause__, _UNWRITABLE) or _journal_holds_data(path):
            raise
        reason = str(error).removeprefix(f"{path}: ")
        notice(f"{path}: {reason.partition(';')[0]}; it is opened for reading only")
        return _open_unwritable(path, reason, key_folder)


def _open_unwritable(path: Path, reason: str, key_folder: Path | None) -> Database:
    """Open the file without any file beside it, which a full disk or one that is read-only does not take."""
    db = Database(path, unwritable=reason, key_folder=key_folder)
    try:
        _check_readable(db)
    except BaseException:
        db.close()
        raise
    return db


def _open_to_write(
    path: Path, now: datetime, notice: Callable[[str], None], mounts: Path, key_folder: Path | None
) -> Database:
    network = network_file_system(path, mounts)
    db = Database(path, "delete" if network else "wal", key_folder=key_folder)
    try:
        schema.check(db)
        _make_private(path)
        if network:
            notice(f"{path} is on a network file system ({network}): journal mode DELETE, one writer at a time")
        db.prepare()
        for each in schema.reconcile(db, now):
            notice(f"{path}: {each} was missing and was created again, without its earlier content")
    except BaseException:
        db.close()
        raise
    return db


def open_in_memory(now: datetime) -> Database:
    """A new database that is never written to a file; other threads use `another_connection`."""
    db = database.open_shared_memory()
    db.prepare()
    schema.reconcile(db, now)
    return db


def open_read_only(path: Path) -> Database:
    """Open the file without ever writing to it. Raises StoreError, also when its schema is not up to date."""
    db = Database(path, read_only=True)
    try:
        _check_readable(db)
    except BaseException:
        db.close()
        raise
    return db


def _check_readable(db: Database) -> None:
    schema.check(db)
    if not schema.is_current(db):
        raise StoreError(f"{db.path}: an older agent wrote this file; run `agent db status` once, then it can be read")
    db.prepare()


def open_damaged(path: Path) -> Database:
    """Open a file that may be damaged, as it is; reads alone are meant. Raises StoreError when SQLite cannot."""
    db = Database(path, read_only=True)
    try:
        schema.check(db)
    except BaseException:
        db.close()
        raise
    return db


def network_file_system(path: Path, mounts: Path = MOUNTS) -> str:
    """The type of the network file system that holds the path, or an empty string."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""  # not Linux
    path = path.resolve()
    found, longest = "", -1
    for line in lines:
        before, _, after = line.partition(" - ")
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), before.split(" ")[4])
        if len(point) >= longest and (path == Path(point) or Path(point) in path.parents):
            found, longest = after.split(" ")[0], len(point)
    return found if _NETWORK.fullmatch(found) else ""


def _create(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except PermissionError:
        if not os.path.exists(path):  # unlike Path.exists, also false when the folder cannot be read
            raise StoreError(f"{path}: the file cannot be created; check the permissions of its folder") from None
    except OSError as error:
        raise StoreError(f"{path}: the file cannot be opened ({error.strerror}); name another with --db") from error


def _journal_holds_data(path: Path) -> bool:
    journals = (path.with_name(f"{path.name}{end}") for end in ("-wal", "-journal"))
    return any(each.exists() and each.stat().st_size for each in journals)


def _make_private(path: Path) -> None:
    """Remove other users' permissions; SQLite gives its journals the same mode."""
    with suppress(OSError):  # another user's file, or a file system without modes
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
