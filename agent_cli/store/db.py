"""One connection to the SQLite file.

Reads are plain; every write is inside `with db.write():`. Values are bound; several ids or names as one JSON array, for
`in (select value from json_each(?))`. A connection belongs to one thread; another opens its own with
`db.another_connection()`. Writers of one process queue on a lock, writers of several on SQLite's, where they retry
after a random 1-20 ms for up to 15 s: longer pauses make the slowest wait four times as long.
"""

import errno
import json
import shutil
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import apsw

from agent_cli.errors import FileSealed, StoreBusy, StoreError
from agent_cli.store import sealing

T = TypeVar("T")


Row = tuple[Any, ...]


class IndexDamaged(StoreError):
    """A derived table cannot be read or written. It can be rebuilt; nothing canonical is lost."""


class RowsRefused(StoreError):
    """Rows of another file are none that this one can hold."""


class TransactionLost(StoreError):
    """SQLite rolled back a whole transaction by itself, for instance out of memory because of a damaged index."""


BUSY_TIMEOUT = 15.0
_ROOM = 64 * 1024  # bytes: less cannot hold the index of a journal
_FULL = "the disk is full; nothing of this step was written, make room and try again"
APPLICATION_ID = 0x41474E54  # "AGNT" in the file's header identifies this program's files
_PAGE = 4096  # bytes, of a sealed file
_TRIED = 100  # its first pages

# Of each file that this process has open: a lock is dropped with the last connection to its file.
LOCKS: "weakref.WeakValueDictionary[str, threading.RLock]" = weakref.WeakValueDictionary()
_SHARED_PREFIX = "file:/agent-"  # prefix of the names of databases in memory
_shared_numbers = count(1)


class Database:
    """A connection. Failures of the file are raised as StoreError, a sentence with the file's name."""

    def __init__(
        self,
        path: Path | str = ":memory:",
        journal: str = "wal",
        busy_timeout: float = BUSY_TIMEOUT,
        *,
        read_only: bool = False,
        unwritable: str = "",
        key_folder: Path | None = None,
        key: bytes | None = None,
        checked: bool = True,
    ):
        """`key`: of a sealed file, see sealing.py; None: it is looked for. `checked`: whether the checksums of a sealed
        file count; without them it gives what it has, as other files do."""
        self.path = str(path)
        self.journal = journal
        self.busy_timeout = busy_timeout  # seconds to wait while another process writes
        self.read_only = read_only or bool(unwritable)
        self.unwritable = unwritable  # why nothing can be written; then SQLite creates no files and takes no locks
        self.key_folder = key_folder  # where the key of its hashes is; None: in the database
        self.hash_key: bytes | None = None  # once it is known
        self.person = "person"  # who acts where the program says that the person does: another program, over HTTP, say
        self.in_memory = self.path == ":memory:" or self.path.startswith(_SHARED_PREFIX)
        self.key = key or (None if self.in_memory else key_of(Path(path)))
        self._lock = threading.RLock() if self.path == ":memory:" else LOCKS.setdefault(self.path, threading.RLock())
        self._waiting_since = 0.0
        settings: dict[str, Any] = {"read_only": read_only, "unwritable": unwritable, "key_folder": key_folder}
        self._open_again = partial(Database, path, journal, key=self.key, **settings)
        name = f"file:{quote(self.path)}?immutable=1" if unwritable else self.path
        reads = apsw.SQLITE_OPEN_READONLY if self.read_only else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        with self._translate_errors():
            self._connection = apsw.Connection(name, reads | apsw.SQLITE_OPEN_URI)
            self.read_only = self._connection.readonly("main")  # also where the file, or its disk, takes no writes
            if self.key:
                _set_key(self._connection, self.key, checked=checked)
            self._connection.set_busy_handler(self._wait)
            self._connection.convert_binding = _array
            self._connection.create_scalar_function("fold", _fold, 1, deterministic=True)
        self._load_vectors()

    def prepare(self) -> None:
        """Set the pragmas that writers rely on, and read each back: SQLite ignores a refused pragma silently."""
        in_memory = self.in_memory or self.read_only or self.key
        self._pragma("temp_store", 2 if in_memory else 1)  # a temporary file would hold text that is sorted
        self._pragma("cache_size", -32 * 1024)  # KiB; with SQLite's 2,000 a search reads most pages again
        if self.read_only:
            return
        self._set_journal("memory" if self.in_memory else self.journal)
        self._pragma("synchronous", 2)
        self._pragma("fullfsync", 1)  # macOS: only this flushes the disk's cache; elsewhere it has no effect
        self._pragma("secure_delete", 1)
        self._pragma("foreign_keys", 1)
        self._pragma("recursive_triggers", 1)

    def another_connection(self) -> "Database":
        db = self._open_again(busy_timeout=self.busy_timeout)
        db.person = self.person
        db.prepare()
        return db

    def read_in_background(self, read: Callable[["Database"], T]) -> Callable[[], T]:
        """Begin a read on another thread and connection; where that would not see the same data, read when asked."""
        if self.in_memory or self._connection.in_transaction:
            return partial(read, self)
        from concurrent.futures import ThreadPoolExecutor  # for imports alone

        def read_on_another() -> T:
            with self.another_connection() as db:
                return read(db)

        executor = ThreadPoolExecutor(1)
        begun = executor.submit(read_on_another)
        executor.shutdown(wait=False)
        return begun.result

    def copy_into(self, other: "Database", pages: int = -1) -> Iterator[int]:
        """Copy the whole file into another, so many pages at a time; yields how many pages are left."""
        with self._translate_errors(), other._connection.backup("main", self._connection, "main") as copying:
            while not copying.done:
                copying.step(pages)
                yield copying.remaining

    def copy_to(self, path: Path, key: bytes | None) -> None:
        """Write the whole file anew, to one that is empty, with another key or with none. Raises StoreError."""
        try:
            self.execute("vacuum into ?", (f"file:{quote(str(path))}?key={f'raw:{key.hex()}' if key else ''}",))
        except StoreError as error:  # what caused it names the key
            raise type(error)(str(error)) from None

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All reads within see the same state; others may write meanwhile (in WAL mode)."""
        self.execute("begin")
        try:
            self.value("select 1 from sqlite_schema")  # the snapshot is taken by the first read
            yield
        finally:
            if self._connection.in_transaction:  # some damage of an index ends it
                self.execute("rollback")

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with self._translate_errors():
            self._connection.close()

    def execute(self, sql: str, values: Any = ()) -> int:
        """Run statements and return how many rows the last one changed."""
        with self._translate_errors():
            self._connection.execute(sql, values).fetchall()  # apsw runs them only as far as rows are read
            return self._connection.changes()

    def execute_many(self, sql: str, rows: Iterable[Any]) -> None:
        with self._translate_errors():
            self._connection.executemany(sql, rows).fetchall()

    def rows(self, sql: str, values: Any = ()) -> list[Row]:
        with self._translate_errors():
            return self._connection.execute(sql, values).fetchall()

    def records(self, sql: str, values: Any = ()) -> list[dict[str, Any]]:
        """The rows, each by the names of its columns."""
        cursor = self._connection.cursor()
        cursor.row_trace = lambda at, row: dict(zip([name for name, _ in at.get_description()], row, strict=True))
        with self._translate_errors():
            return cursor.execute(sql, values).fetchall()  # type: ignore[return-value]  # as the trace gives them

    def each(self, sql: str, values: Any = ()) -> Iterator[Row]:
        """The rows one by one: those before a damaged one are given before the error is raised."""
        with self._translate_errors():
            yield from self._connection.execute(sql, values)

    def row(self, sql: str, values: Any = ()) -> Row | None:
        return next(iter(self.rows(sql, values)), None)

    def column(self, sql: str, values: Any = ()) -> list[Any]:
        """The first column of all rows."""
        return [row[0] for row in self.rows(sql, values)]

    def value(self, sql: str, values: Any = ()) -> Any:
        """The first column of the first row, or None."""
        row = self.row(sql, values)
        return row[0] if row else None

    def insert(self, table: str, row: Mapping[str, Any]) -> int:
        """Add a row, given by its columns; returns its id."""
        sql = f"insert into {table} ({', '.join(row)}) values ({', '.join('?' * len(row))})"
        with self._translate_errors():
            self._connection.execute(sql, tuple(row.values())).fetchall()
            return self._connection.last_insert_rowid()

    def update(self, table: str, id: int, columns: Mapping[str, Any]) -> None:
        """Write these columns of a row."""
        assignments = ", ".join(f"{name} = ?" for name in columns)
        self.execute(f"update {table} set {assignments} where id = ?", (*columns.values(), id))

    @contextmanager
    def index_access(self) -> Iterator[None]:
        """For statements on an index: damage is raised as IndexDamaged. FTS5 runs out of memory when a stored size is
        garbage; sqlite-vec raises ConstraintError for an unexpected row."""
        try:
            yield
        except (apsw.SQLError, apsw.NoMemError, apsw.ConstraintError) as error:
            raise IndexDamaged(f"{self.path}: an index is damaged ({error})") from error
        except StoreError as error:
            if isinstance(error.__cause__, apsw.CorruptError):
                raise IndexDamaged(f"{self.path}: an index is damaged ({error.__cause__})") from error
            raise

    @contextmanager
    def foreign_rows(self, path: Path) -> Iterator[None]:
        """For rows of another file: where this one cannot hold them, RowsRefused is raised."""
        try:
            yield
        except apsw.ConstraintError as error:
            raise RowsRefused(f"{path} holds what no agent writes ({error})") from error

    def tokens(self, text: str) -> list[str]:
        """The stemmed words of a text, as in the word index."""
        return self.tokens_of([text])[0]

    def tokens_of(self, texts: Iterable[str]) -> list[list[str]]:
        """The stemmed words of several texts, in half the time."""
        # Not cached: it would keep the connection open at the end, and the journal would stay beside the file.
        tokenize = self._connection.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])
        bare = {"include_offsets": False, "include_colocated": False}  # a quarter of the time
        documents = (text.encode("utf-8", "replace") for text in texts)
        return [tokenize(each, apsw.FTS5_TOKENIZE_DOCUMENT, None, **bare) for each in documents]  # type: ignore[misc]

    @contextmanager
    def write(self) -> Iterator[None]:
        """A transaction; nested, a savepoint of the outer one."""
        with self._lock:
            nested = self._connection.in_transaction
            self.execute("savepoint step" if nested else "begin immediate")
            try:
                yield
                if not self.in_transaction:
                    raise TransactionLost(
                        f"{self.path}: an index is damaged; nothing of this step was written, try again"
                    )
                self.execute("release step" if nested else "commit")
            except BaseException:
                if self._connection.in_transaction:  # when the disk is full, SQLite has rolled back itself
                    self.execute("rollback to step; release step" if nested else "rollback")
                raise

    @contextmanager
    def patience(self, seconds: float) -> Iterator[None]:
        previous, self.busy_timeout = self.busy_timeout, min(self.busy_timeout, seconds)
        try:
            yield
        finally:
            self.busy_timeout = previous

    def truncate_journal(self, busy_timeout: float = 2.0) -> bool:
        """Move the journal's contents into the file and empty it; False when a reader of an older state prevents it."""
        if self.in_memory or self.journal != "wal":
            return True
        if self._connection.in_transaction:
            raise StoreError(f"{self.path}: the journal cannot be emptied in the middle of a transaction")
        try:
            with self.patience(busy_timeout), self._lock:
                return bool(self.value("pragma wal_checkpoint(truncate)") == 0)
        except StoreBusy:
            return False

    def change_counter(self) -> tuple[int, int]:
        """A value that differs after each write, by this connection or by another."""
        return int(self.value("pragma data_version")), self._connection.total_changes()

    @property
    def in_transaction(self) -> bool:
        return bool(self._connection.in_transaction)

    def _disk_is_full(self) -> bool:
        """SQLite says so of data alone, and not where a journal or an index of it cannot be made."""
        folder, opened = Path(self.path).parent, getattr(self, "_connection", None)
        is_full = bool(opened and opened.system_errno == errno.ENOSPC)
        return is_full or (folder.is_dir() and shutil.disk_usage(folder).free < _ROOM)

    def _set_journal(self, mode: str) -> None:
        """Retry while busy: programs may create the same file at once, and SQLite does not wait for a mode change."""
        since = time.monotonic()
        while True:
            try:
                return self._pragma("journal_mode", mode)
            except StoreError as error:
                busy = isinstance(error.__cause__, apsw.BusyError)
                if not busy or time.monotonic() - since > self.busy_timeout:
                    raise
            _pause()

    def _pragma(self, name: str, wanted: str | int) -> None:
        with self._translate_errors():
            got = self._connection.pragma(name, wanted)
            if got is None:
                got = self._connection.pragma(name)
        if got != wanted:
            raise StoreError(f"{self.path}: SQLite would not set {name} to {wanted} (it is {got}); nothing was written")

    def _wait(self, attempts: int) -> bool:
        if attempts == 0:
            self._waiting_since = time.monotonic()
        _pause()
        return time.monotonic() - self._waiting_since < self.busy_timeout

    def _load_vectors(self) -> None:
        # Importing sqlite_vec imports NumPy when that is there, for the path of one file.
        spec = find_spec("sqlite_vec")
        if spec is None or spec.origin is None:
            raise StoreError("the package sqlite-vec is missing: install agent-cli again")
        with self._translate_errors():
            self._connection.enable_load_extension(True)
            self._connection.load_extension(str(Path(spec.origin).with_name("vec0")))
            self._connection.enable_load_extension(False)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError as error:  # SQLite gives back as text whatever bytes are there
            raise StoreError(f"{self.path}: a text is damaged; `agent db check` says which") from error
        except apsw.Error as error:
            sentence = _error_message(error)
            if isinstance(error, apsw.CantOpenError | apsw.IOError) and self._disk_is_full():
                sentence = _FULL
            if isinstance(error, apsw.ReadOnlyError) and self.unwritable:
                sentence = self.unwritable
            kind = StoreBusy if isinstance(error, apsw.BusyError | apsw.LockedError) else StoreError
            if isinstance(error, apsw.NotADBError) and self.key:
                if _is_key_of(Path(self.path), self.key):
                    sentence = _DAMAGED
                else:
                    kind, sentence = FileSealed, "the database is sealed, and this key does not open it"
            if sentence is None:
                raise
            raise kind(f"{self.path}: {sentence}") from error


class FileBytes:
    """The bytes of a file without its journal, those of a sealed one decrypted; to be read in any order."""

    def __init__(self, path: Path, key: bytes | None, *, checked: bool = False):
        self._at, opened = 0, list[apsw.VFSFile]()
        if key is None:
            self._file = sealing.open_to_read(path)
            self._close = self._file.xClose
            return

        class Remembered(apsw.VFS):
            def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
                opened.append(apsw.VFSFile("", name, flags))
                return opened[-1]

        self._vfs = Remembered("agent", "")  # registered as long as it is referred to
        connection = apsw.Connection(str(path), apsw.SQLITE_OPEN_READONLY, vfs="agent")
        _set_key(connection, key, checked=checked)
        self._file, self._close = opened[0], connection.close

    def __enter__(self) -> "FileBytes":
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def seek(self, position: int) -> None:
        self._at = position

    def read(self, size: int) -> bytes:
        size = min(size, self._file.xFileSize() - self._at)
        with sealing.os_errors():
            found = self._file.xRead(size, self._at) if size > 0 else b""
        self._at += len(found)
        return found


def key_of(path: Path) -> bytes | None:
    """The key of a sealed file; None for another. Raises FileSealed where it is not to be found."""
    return sealing.KEYS.of(path, partial(_is_key_of, path))


def _set_key(connection: apsw.Connection, key: bytes, *, checked: bool = True) -> None:
    """Decrypt what is read from now on, and encrypt what is written: pages and journals, not temporary files."""
    if not hasattr(apsw, "mc_version"):  # it would take the pragma, and encrypt nothing
        raise StoreError(
            "the package apsw has taken the place of apsw-sqlite3mc, and it cannot encrypt: uninstall both, then "
            "install agent-cli again"
        )
    connection.pragma("hmac_check", int(checked))
    connection.pragma("key", f"raw:{key.hex()}")


def _is_key_of(path: Path, key: bytes) -> bool:
    """Whether one of its pages is sealed with this key: any may be damaged, or be whole in the journal alone."""
    with FileBytes(path, key, checked=True) as file:
        for number in range(_TRIED):
            file.seek(number * _PAGE)
            with suppress(OSError):
                if len(file.read(_PAGE)) == _PAGE:
                    return True
    return False


def open_shared_memory() -> Database:
    """A new database in memory that other threads can connect to; it is dropped with its last connection."""
    return Database(f"{_SHARED_PREFIX}{next(_shared_numbers)}?vfs=memdb")


def _pause() -> None:
    import random  # rarely needed

    time.sleep(random.uniform(0.001, 0.02))


def _fold(*texts: Any) -> str:
    """Case folded; SQLite's own lower() knows only ASCII."""
    return str(texts[0]).casefold()


def _array(cursor: apsw.Cursor, number: int, value: Any) -> str:
    """Several ids or names in one parameter: a JSON array, which SQL reads with `json_each(?)`."""
    if isinstance(value, Mapping) or not isinstance(value, Iterable):
        raise TypeError(f"a value of type {type(value).__name__} cannot be bound")
    return json.dumps(list(value))


_DISK = "the disk refused to read or write ({}); nothing of this step was written"
_DAMAGED = "the database is damaged; `agent db check` says where and what to do"
_SENTENCES = (
    ((apsw.BusyError, apsw.LockedError), "another program keeps the database busy; nothing was written, try again"),
    (apsw.FullError, _FULL),
    (
        (apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError),
        "the database cannot be written; check the permissions of the file and its folder",
    ),
    (apsw.CantOpenError, "the database cannot be opened; check that its folder exists and may be written"),
    (apsw.NotADBError, "this is not an SQLite database; name another file with --db"),
    (apsw.CorruptError, _DAMAGED),
    (apsw.IOError, _DISK),
    (apsw.ExtensionLoadingError, "sqlite-vec cannot be loaded ({}); install agent-cli again"),
)


def _error_message(error: apsw.Error) -> str | None:
    """A sentence for a failure of the file; None for a bug of ours."""
    if isinstance(error, apsw.SQLError) and str(error).endswith(("disk I/O error", "disk is full")):  # of sqlite-vec
        return _DISK.format(error)
    return next((sentence.format(error) for kinds, sentence in _SENTENCES if isinstance(error, kinds)), None)
