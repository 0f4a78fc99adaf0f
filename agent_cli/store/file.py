"""Opens SQLite files: the database, with its permissions, journal mode and schema; others, only to be read.

Backups and restores that were killed leave a whole database in `.NAME.PID.part`, which goes at the next start. That of
a backup may be anywhere, so its path is stored with those of the copies before it is written.
"""

import errno
import glob
import json
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import apsw

from agent_cli import atomic_file, text
from agent_cli.errors import StoreError
from agent_cli.store import db as database
from agent_cli.store import meta, schema
from agent_cli.store.db import Database, FileBytes

_COPIES = "backups"  # in meta: their paths
_NAME = re.compile(r"\..+\.(\d+)\.part(?:-journal|-wal|-shm)?")
_OLD = 24 * 3600  # seconds; no backup takes longer, and the number of its process may be another one's by then


def temporary_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def record_copy(db: Database, path: Path) -> None:
    copy = text.without_surrogates(str(path))
    with db.write():
        meta.put(db, _COPIES, json.dumps([*(each for each in known_copies(db) if each != copy), copy]))


def known_copies(db: Database) -> list[str]:
    try:
        return [str(each) for each in json.loads(meta.get(db, _COPIES) or "[]")]
    except ValueError as error:
        raise StoreError(f"{db.path}: the list of its backups is damaged") from error


def remove_leftovers(db: Database) -> None:
    """Delete what a killed restore left beside the database, and a killed backup where the last was written."""
    for path in [db.path, *known_copies(db)[-1:]]:
        remove_leftovers_of(Path(path))


def remove_leftovers_of(path: Path) -> None:
    """Delete the temporary files of a file that was to be written, whose process has ended."""
    for each in leftovers(path):
        if (match := _NAME.fullmatch(each.name)) and time.time() - each.stat().st_mtime <= _OLD:
            with suppress(ProcessLookupError, OverflowError):
                with suppress(PermissionError):
                    os.kill(int(match[1]), 0)
                continue  # its process may still run
        with suppress(OSError):  # it is searched and named with each erasure
            each.unlink()


def with_journals(part: Path) -> list[Path]:
    """The file and the journals that SQLite may have put beside it."""
    return [part.with_name(part.name + end) for end in ("", "-journal", "-wal", "-shm")]


def leftovers(path: Path) -> list[Path]:
    """The temporary files beside a file, also of processes that still run."""
    return [each for each in path.parent.glob(f".{glob.escape(path.name)}.*.part*") if _NAME.fullmatch(each.name)]


_UNWRITABLE = (apsw.CantOpenError, apsw.IOError, apsw.FullError, apsw.ReadOnlyError)
MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = re.compile(r"nfs\d?|cifs|smb\d?|smbfs|9p|virtiofs|afs|ceph|glusterfs|fuse\.(sshfs|glusterfs|ceph)")


def open_file(
    path: Path,
    now: datetime,
    notice: Callable[[str], None],
    mounts: Path = MOUNTS,
    key_folder: Path | None = None,
    key: bytes | None = None,
) -> Database:
    """Open the file, created when missing, and bring its schema up to date. Raises StoreError. `notice` is told of a
    network file system (no WAL there), and of a disk that is full or read-only: then the file is opened for reading."""
    try:
        atomic_file.touch(path)
    except PermissionError:
        if not os.path.exists(path):  # unlike Path.exists, also false when the folder cannot be read
            raise StoreError(f"{path}: the file cannot be created; check the permissions of its folder") from None
    except OSError as error:
        if error.errno != errno.EROFS or not path.is_file():  # else it can be read
            raise StoreError(f"{path}: the file cannot be opened ({error.strerror}); name another with --db") from error
    network = network_file_system(path, mounts)

    def prepare(db: Database) -> None:
        schema.check(db)
        with suppress(OSError):  # another user's file, or a file system without modes
            if path.stat().st_mode & 0o077:  # SQLite gives its journals the same mode
                path.chmod(0o600)
        if network:
            notice(f"{path} is on a network file system ({network}): journal mode DELETE, one writer at a time")
        db.prepare()
        for each in schema.reconcile(db, now):
            notice(f"{path}: {each} was missing and was created again, without its earlier content")

    try:
        return _checked(Database(path, "delete" if network else "wal", key_folder=key_folder, key=key), prepare)
    except StoreError as error:
        journals = (path.with_name(f"{path.name}{end}") for end in ("-wal", "-journal"))
        holds_data = any(each.exists() and each.stat().st_size for each in journals)
        if holds_data or not isinstance(error.__cause__, _UNWRITABLE):
            raise
        reason = str(error).removeprefix(f"{path}: ")
        notice(f"{path}: {reason.partition(';')[0]}; it is opened for reading only")
        # Without any file beside it, which a full disk or one that is read-only does not take.
        return _checked(Database(path, unwritable=reason, key_folder=key_folder, key=key), _prepare_to_read)


def _checked(db: Database, check: Callable[[Database], None]) -> Database:
    """The database after this check; it is closed when that raises."""
    try:
        check(db)
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
    return _checked(Database(path, read_only=True), _prepare_to_read)


def _prepare_to_read(db: Database) -> None:
    schema.check(db)
    if not schema.is_current(db):
        raise StoreError(f"{db.path}: an older agent wrote this file; run `agent db status` once, then it can be read")
    db.prepare()


def open_damaged(path: Path, *, checked: bool = True) -> Database:
    """Open a file that may be damaged, as it is; reads alone are meant. Raises StoreError when SQLite cannot. Not
    `checked`: what the checksums of a sealed file find damaged is read too."""
    return _checked(Database(path, read_only=True, checked=checked), schema.check)


def open_bytes(path: Path) -> FileBytes:
    """Open a file to read its bytes, those of a sealed one decrypted. Raises OSError and StoreError."""
    return FileBytes(path, database.key_of(path))


def open_foreign(path: Path) -> Database:
    """Open a file of another program as it is, for reading. One in WAL mode (bytes 18 and 19) that nobody has open is
    opened as immutable, or SQLite would create a file beside it."""
    try:
        with path.open("rb") as opened:
            is_closed = opened.read(20)[18:] == b"\2\2" and not path.with_name(f"{path.name}-wal").exists()
    except OSError as error:
        raise StoreError(f"{path}: the file cannot be read") from error
    return Database(path, read_only=True, unwritable="it belongs to another program" if is_closed else "")


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
