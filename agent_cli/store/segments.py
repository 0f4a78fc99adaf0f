"""The folder in which a person's machines exchange what is remembered. Each writes in a folder of its own alone:

    FOLDER/NAME OF THE KEY/MACHINE/FIRST-LAST-SIZE-RANDOM.segment

A segment is a sealed SQLite file of rows that is never changed once it has its name: it stands for the numbers FIRST to
LAST of its machine, and is whole when it has SIZE bytes. Merged ones stand for more than one number.
"""

import json
import os
import re
import secrets
import socket
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from agent_cli import atomic_file
from agent_cli.errors import StoreBusy, StoreError, UsageError
from agent_cli.store import changes, file_check, keyed_hash
from agent_cli.store.changes import FORGOTTEN, Data
from agent_cli.store.db import Database, RowsRefused
from agent_cli.values import frozen

FORMAT = 1
_MOST, _SMALL = 30, 1_000_000  # segments of a machine, of which those of so many bytes are merged
_LATEST = 2**53  # milliseconds: no stamp is as high
_SALT = 16  # bytes with which each sealed file begins
_TABLE = "CREATE TABLE entry (id integer primary key, kind text, uid text, data text) strict"
_UID = re.compile(r"[0-9A-Z]{26}|[0-9a-f]{32}")  # of a row, or a hash
_NAME = re.compile(r"(\d{1,12})-(\d{1,12})-(\d{1,15})-[0-9a-f]{8}\.segment")
_KEY_NAME = re.compile(r"[0-9a-f]{16}")
_MACHINE = re.compile(r"[a-z0-9-]+")

Entry = tuple[str, str, Data | None]
"""(kind, uid, the row or None: it is gone)."""


@frozen
class Segment:
    path: Path
    first: int
    last: int
    size: int

    @property
    def is_whole(self) -> bool:
        with suppress(OSError):
            return self.path.is_file() and self.path.stat().st_size == self.size > 0
        return False


def following(found: Iterable[Segment], number: int) -> Segment | None:
    """The one of these segments that comes after this number, a whole and the largest one where several do."""
    after = [each for each in found if each.first <= number + 1 <= each.last]
    return max(after, key=lambda each: (each.is_whole, each.last), default=None)


@frozen
class Folder:
    """The folder of a person's machines, as one of them sees it."""

    path: Path
    machine: str
    key: bytes  # with which segments are sealed

    @property
    def own_path(self) -> Path:
        return self.path / self.machine

    def machines(self) -> list[str]:
        """All machines that have written, this one included."""
        found = self.path.iterdir() if self.path.is_dir() else ()
        return sorted(each.name for each in found if _MACHINE.fullmatch(each.name) and each.is_dir())

    def segments(self, machine: str) -> list[Segment]:
        found = []
        with suppress(FileNotFoundError, NotADirectoryError):
            for path in (self.path / machine).iterdir():
                if match := _NAME.fullmatch(path.name):
                    found.append(Segment(path, *map(int, match.groups())))
        return sorted(found, key=lambda each: (each.first, -each.last))

    def read(self, segment: Segment) -> list[Entry]:
        """Raises RowsRefused when it cannot be read, a newer program wrote it, or no program of ours."""
        try:
            with Database(segment.path, read_only=True, key=self.key) as db:
                if db.value("pragma user_version") > FORMAT:
                    raise StoreError(f"{segment.path} is of a newer agent, update agent-cli here")
                if db.value("select group_concat(sql) from sqlite_schema") != _TABLE:
                    raise LookupError
                query = "select kind, uid, data from entry where kind in (select value from json_each(?)) order by id"
                return [_checked(*row) for row in db.rows(query, ([*changes.TABLES, FORGOTTEN],))]
        except StoreError as error:
            raise RowsRefused(str(error).partition(";")[0]) from error
        except (LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise RowsRefused(f"{segment.path} holds what no agent writes") from error

    def read_own(self, segment: Segment) -> list[Entry] | None:
        """The rows of a segment of this machine; None: it cannot be read, and is deleted, so that all is sent anew."""
        try:
            return self.read(segment)
        except RowsRefused:
            segment.path.unlink(missing_ok=True)
            return None

    def write(self, first: int, last: int, entries: Iterable[Entry]) -> Segment:
        """Write a segment, whole or not at all. Raises StoreError."""
        part = self.own_path / f".{first}-{last}.{os.getpid()}.part"
        try:
            atomic_file.make_folder(self.own_path)
            for each in self.own_path.glob(".*.part"):
                each.unlink()  # only one process writes here: that of this one has ended
            with Database(part, "delete", key=self.key + os.urandom(_SALT)) as db:
                db.execute(f"pragma journal_mode = off; pragma synchronous = off; pragma user_version = {FORMAT}")
                with db.write():
                    db.execute(_TABLE)
                    rows = ((kind, uid, data and json.dumps(data, ensure_ascii=False)) for kind, uid, data in entries)
                    db.execute_many("insert into entry (kind, uid, data) values (?, ?, ?)", rows)
            size = part.stat().st_size
            path = self.own_path / f"{first:08}-{last:08}-{size}-{secrets.token_hex(4)}.segment"
            atomic_file.move(part, path)
        except OSError as error:
            raise StoreError(f"{self.own_path}: nothing can be written there ({error.strerror})") from error
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)
        return Segment(path, first, last, size)

    def replace(self, former: Iterable[Segment], first: int, last: int, entries: Iterable[Entry]) -> None:
        """Write one segment in place of others."""
        written = self.write(first, last, entries)
        for each in former:
            if each.path != written.path:
                each.path.unlink(missing_ok=True)

    def clean(self, is_dropped: Collection[str]) -> None:
        """Rewrite the segments of this machine without these rows."""
        for segment in self.segments(self.machine):
            entries = self.read_own(segment) or ()
            left = [entry for entry in entries if entry[2] is None or entry[1] not in is_dropped]
            if len(left) < len(entries):
                self.replace([segment], segment.first, segment.last, left)

    def remove_own(self) -> None:
        """Delete all that this machine wrote. Raises StoreError."""
        try:
            for each in self.segments(self.machine):
                each.path.unlink()
            self.own_path.rmdir()
        except FileNotFoundError:
            pass
        except OSError as error:
            raise StoreError(f"{self.own_path} cannot be deleted ({error.strerror})") from error

    def merge(self) -> None:
        """Merge the small segments of this machine when there are many."""
        segments = self.segments(self.machine)
        if len(segments) <= _MOST:
            return
        run: list[Segment] = []
        for each in [*segments, None]:
            if each and each.size <= _SMALL and (not run or each.first == run[-1].last + 1):
                run.append(each)
                continue
            if len(run) > 1:
                rows = [self.read_own(segment) for segment in run]
                if None not in rows:
                    latest = {(kind, uid): data for some in rows for kind, uid, data in some or ()}
                    self.replace(run, run[0].first, run[-1].last, ((*name, data) for name, data in latest.items()))
            run = [each] if each and each.size <= _SMALL else []


def _checked(kind: str, uid: str, text: str | None) -> Entry:
    """A row that an agent may have written; for another one ValueError, TypeError or the like is raised."""
    data: Data | None = json.loads(text, parse_constant=int) if text else None
    uids, times, numbers, valid = [uid], list[str](), list[float](), list[bool]()
    if data and kind == FORGOTTEN:
        times.append(data["at"])
    elif data:
        table = changes.tables()[kind]
        columns = {name: data["columns"][name] for name in table.columns if data["columns"].get(name) is not None}
        uids += [columns[name] for name in table.refs if name in columns]
        numbers += [columns[name] for name in columns.keys() - table.texts]
        valid += [not file_check.fault(kind, name, columns[name].encode()) for name in columns.keys() & table.texts]
        valid += [table.required <= columns.keys(), columns.get("owner", "person") == "person"]
        valid += [0 <= base <= stamp < _LATEST for stamp, base in data["stamps"].values()]
        valid.append(isinstance(data.get("known", ""), str))
        for first, second, third in data.get("sources", ()):
            uids.append(second if kind == "summary" else first)
            times += [] if kind == "summary" else [third]
            numbers += [third] if kind == "summary" else []
            valid.append(first in changes.SOURCES if kind == "summary" else isinstance(second, str))
    valid += [-(2**63) <= each < 2**63 for each in numbers]
    if not all(valid) or not all(map(_UID.fullmatch, uids)) or not all(map(datetime.fromisoformat, times)):
        raise ValueError
    return kind, uid, data


def open_folder(db: Database, root: Path) -> Folder:
    """The folder for the machines with this one's key. Raises UsageError when it is not there, or of other machines."""
    if not root.is_dir():
        raise UsageError(f"there is no folder {root}: connect what it is on, or name another")
    key = keyed_hash.secret(db)
    path = root / keyed_hash.name_of(key)
    others = [each for each in root.iterdir() if each.is_dir() and _KEY_NAME.fullmatch(each.name)]
    if others and path not in others:
        raise UsageError(
            f"other machines exchange in {root}: join them by `agent sync {root} --key KEY`, with the key that "
            "`agent sync --show-key` shows on one of them"
        )
    return Folder(path, machine(db), keyed_hash.derived(key, b"segments"))


def machine(db: Database) -> str:
    """The name of this machine. It lies beside the keys, so that a copied database file is another machine's."""
    if db.key_folder is None:
        raise UsageError("this database is kept in memory only, so it cannot be exchanged")
    path = db.key_folder / "machine"
    try:
        if not path.exists():
            host = re.sub(r"[^a-z0-9]+", "-", socket.gethostname().lower()).strip("-")[:30]
            atomic_file.make_folder(path.parent)
            atomic_file.write(path, f"{host or 'machine'}-{secrets.token_hex(4)}".encode())
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{path} cannot be read or written ({error.strerror})") from error


def drop_name(db: Database) -> None:
    """Let this machine have another name from now on: the others have read what the former one wrote."""
    if db.key_folder:
        (db.key_folder / "machine").unlink(missing_ok=True)


@contextmanager
def locked(db: Database) -> Iterator[None]:
    """Only one process of this machine exchanges at a time. Raises StoreBusy."""
    try:
        import fcntl
    except ImportError:  # Windows: the folder's files are replaced as a whole, so two at once only repeat each other
        yield
        return
    with open((db.key_folder or Path()) / "sync.lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StoreBusy("another agent exchanges with the other machines right now: try again") from None
        yield
