"""Backups of the database, made while others write, verified, and restored; and what is saved of a damaged file.

A backup is a snapshot, written under a temporary name beside its target, verified there, and moved into place in one
step. Its path is stored in the database, because forgetting must name every file that still holds a text.

A damaged file is only read: a range of ids that cannot be read is halved until the rows are left that are lost. Bytes
that are no text are replaced by marks. Derived data is not copied: the new file makes it again.
"""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

import apsw

from agent_cli import atomic_file, kinds
from agent_cli.errors import StoreBusy, StoreError, UsageError
from agent_cli.store import events, file, file_check, holder, keyed_hash, schema, sealing
from agent_cli.store.db import APPLICATION_ID, Database, Row, key_of
from agent_cli.values import frozen

_ROWS = 500  # read at once
_MOST = 1 << 24  # ids looked at in a table, whose last id may be damaged too
_HOPELESS = 10_000  # reads that fail one after another: then the beginning of the table itself is damaged
_KEPT_META = """key not in ('schema', 'shape', 'merged', 'checked', 'file passages') and not key glob 'index *'
    and not key glob 'damaged *' and not key glob 'vector*' and not key glob 'embedded *'"""  # not about this very file
_LOST_SESSION = """insert or ignore into "{}"
    (id, uid, owner, place, title, started_at, utc_offset, last_at, closed_at)
    select session_id, 'salvaged ' || session_id, owner, place, 'salvaged', at, utc_offset, at, at
    from message where id = ?"""


@frozen
class Salvaged:
    """What became of the rows of a table. `lost`: None when it is not known how many there were."""

    table: str
    copied: int
    mended: int  # of them with marks in place of bytes that were no text
    lost: int | None


def salvage(damaged: Path, path: Path, now: datetime) -> list[Salvaged]:
    """Copy what can be read into a new file, which is there when it is whole. Raises StoreError."""
    with _beside(path) as part:
        with (
            file.open_damaged(damaged, checked=False) as source,
            file.open_file(part, now, lambda _: None, key=source.key) as target,
        ):
            canonical = [table for table in file_check.tables(source) if not file_check.is_derived(table)]
            tables = [table for table in canonical if table != "migration"]
            unclear = schema.damaged_tables(source)
            target.execute("pragma foreign_keys = off")
            with target.write():
                copied = {table: _copy_table(source, target, table) for table in tables if table not in unclear}
                dropped = _mend_references(target)
                events.append(target, lambda: now, "file salvaged", "", actor="person")
            target.execute("pragma foreign_keys = on")
            target.truncate_journal()
            found = []
            for table in tables:
                saved, mended = copied.get(table, (0, 0))
                saved, count, where = saved - dropped[table], None, _KEPT_META if table == "meta" else "true"
                with suppress(StoreError):  # by the smallest index that can be read
                    count = int(source.value(f'select count(*) from "{table}" where {where}'))
                found.append(Salvaged(table, saved, mended, None if count is None else max(0, count - saved)))
        _move_into_place(part, path)
    # Each knows of the other; in a damaged file nothing is written.
    for one, other in ((damaged, path), (path, damaged)):
        with suppress(StoreError), Database(one, busy_timeout=_BUSY_TIMEOUT) as db:
            if not _damage(db):
                file.record_copy(db, other)
    return found


def _copy_table(source: Database, target: Database, table: str) -> tuple[int, int]:
    """Copy the rows of a table that can be read: how many, and how many of them were mended."""
    there = {name for name, _, _ in file_check.columns(source, table)}
    columns = [(name, type_) for name, type_, _ in file_check.columns(target, table) if name in there]
    columns = [each for each in columns if (table, each[0]) != ("event", "link")]  # what came over is linked anew
    names = ", ".join(f'"{name}"' for name, _ in columns)
    insert = f'insert or ignore into "{table}" ({names}) values ({", ".join("?" * len(columns))})'
    copied = mended = 0
    for row in _readable_rows(source, table, columns):
        values = [
            value.decode("utf-8", "replace") if isinstance(value, bytes) and type_ == "TEXT" else value
            for value, (_, type_) in zip(row, columns, strict=True)
        ]
        with suppress(apsw.ConstraintError):  # not even the type is right
            if target.execute(insert, values):
                copied += 1
                mended += any(
                    isinstance(value, str) and before != value.encode()
                    for before, value in zip(row, values, strict=True)
                )
    return copied, mended


def _readable_rows(source: Database, table: str, columns: list[tuple[str, str]]) -> Iterator[Row]:
    """The rows that can be read, texts as bytes. Those without ids may come twice."""
    select = f'select {", ".join(file_check.text_as_bytes(name) for name, _ in columns)} from "{table}"'
    if any(name == "id" for name, _ in columns):
        yield from _by_ids(source, select, _last_id(source, table))
        return
    where = f" where {_KEPT_META}" if table == "meta" else ""
    for order in ("", " order by 1 desc"):  # up to what is damaged, from the beginning and from the end
        try:
            yield from source.each(select + where + order)
            return
        except StoreError:
            continue


def _by_ids(source: Database, select: str, last: int) -> Iterator[Row]:
    """The rows up to an id; where they cannot be read, those of each half, as long as anything can be read."""
    ranges = [(start, min(start + _ROWS - 1, last)) for start in range(0, last + 1, _ROWS)][::-1]
    failed = 0  # reads since one that did not fail
    while ranges:
        start, end = ranges.pop()
        try:
            found = source.rows(f"{select} where id between ? and ?", (start, end))
        except StoreError:
            failed += 1
            middle = (start + end) // 2
            if start < end and failed < _HOPELESS:
                ranges += [(middle + 1, end), (start, middle)]
            continue
        failed = 0
        yield from found


def _last_id(source: Database, table: str) -> int:
    """The last id by the counter of ids, else by the table; the highest that is looked at where neither tells it."""
    with suppress(StoreError, ValueError):
        if last := int(source.value("select seq from sqlite_sequence where name = ?", (table,)) or 0):
            return min(last, _MOST)
    with suppress(StoreError, ValueError):
        return min(int(source.value(f'select max(id) from "{table}"') or 0), _MOST)
    return _MOST


def _mend_references(target: Database) -> Counter[str]:
    """Clear references to lost rows, and make lost sessions again, empty; returns the rows dropped besides."""
    dropped: Counter[str] = Counter()
    while broken := target.rows('select "table", rowid, parent, fkid from pragma_foreign_key_check'):
        for table, row, parent, number in broken:
            column, needed = target.rows(
                """select k."from", c."notnull" or c.pk from pragma_foreign_key_list(?1) k
                   join pragma_table_info(?1) c on c.name = k."from" where k.id = ?2""",
                (table, number),
            )[0]
            if row is not None and not needed:
                target.execute(f'update "{table}" set "{column}" = null where rowid = ?', (row,))
            elif table == "message" and parent == "session" and target.execute(_LOST_SESSION.format(parent), (row,)):
                pass
            else:
                dropped[table] += target.execute(
                    f'delete from "{table}" where "{column}" not in (select id from "{parent}")'
                )
    return dropped


COUNTED_TABLES = tuple(kind.name for kind in kinds.KINDS if kind.counted)
_PAGES_PER_STEP = 1000
_BUSY_TIMEOUT = 1.0  # seconds to wait while another process uses the file


@frozen
class Backup:
    path: Path
    size: int
    rows: dict[str, int]


@frozen
class RestoreResult:
    former: Path | None  # the former database; None: there was none
    rows: dict[str, int]
    revives_erased: bool  # whether the copy may hold something that was erased since
    sealed: bool = False  # whether the copy was not sealed, and is now


def create(
    db: Database, path: Path, *, force: bool = False, progress: Callable[[int], None] = lambda left: None
) -> Backup:
    """Copy the database to a file. Raises UsageError when the file exists, StoreError when the copy is incomplete."""
    path = path.expanduser().absolute()
    _refuse_target(Path(db.path), path, force)
    if not db.read_only:
        file.record_copy(db, path)
    with _beside(path) as part:
        with db.another_connection() as source:
            rows = _copy(source, part, progress)
        _move_into_place(part, path)
    return Backup(path, path.stat().st_size, rows)


def restore(current: Path, path: Path, now: datetime, notice: Callable[[str], None]) -> RestoreResult:
    """Replace the database with a copy; the former database is kept under a dated name. Raises UsageError or
    StoreError, with nothing changed, also while another process has the database open."""
    current, path = current.resolve(), path.expanduser().absolute()
    if not path.is_file():
        raise UsageError(f"there is no file {path}; name one that `agent db backup` wrote")
    if current.exists() and current.samefile(path):
        raise UsageError(f"{path} is the database itself; name a copy of it")
    with _disk_errors(current):
        atomic_file.make_folder(current.parent)
    with _beside(current) as part:
        rows, erased_before = _stage(path, part, key_of(current))
        if not current.exists():
            _migrate(part, [str(path)], now, notice)
            _move_into_place(part, current)
            return RestoreResult(None, rows, False)
        stem = f"{current.stem}-before-{now:%Y-%m-%d-%H%M%S}"
        names = (f"{stem}{f'-{n}' if n else ''}{current.suffix}" for n in range(1000))
        former = next(each for each in map(current.with_name, names) if not each.exists())
        with _exclusive(current) as (known, erased):
            _migrate(part, [*known, str(path), str(former)], now, notice)
            with _set_aside(current, former):
                _move_into_place(part, current)
    sealed = bool(sealing.head_of(current) and not sealing.head_of(path))
    return RestoreResult(former, rows, bool(erased - erased_before), sealed)


def reseal(path: Path, key: bytes | None, key_folder: Path) -> bool:
    """Give a file another key, or none: it is replaced by a whole copy in one step. False where it has that key
    already. Raises StoreError; the file is then as it was, also while another process has it open."""
    if sealing.head_of(path) == (key[-16:] if key else None):
        return False
    size, room = path.stat().st_size, shutil.disk_usage(path.parent).free
    if room < size:
        raise StoreError(
            f"{path}: this needs {size / 1e6:.0f} MB free and there are {room / 1e6:.0f}; make room first, "
            "nothing was changed"
        )
    with _beside(path) as part, Database(path, busy_timeout=_BUSY_TIMEOUT) as db:
        schema.check(db)
        db.execute("pragma locking_mode = exclusive")  # which outlasts the transaction: there is no copying within one
        _lock(db)
        db.execute("commit")
        db.copy_to(part, key)
        with Database(part, key=key, key_folder=key_folder) as copy:
            if "meta" in file_check.tables(copy):
                keyed_hash.settle(copy)
            if _damage(copy) or counts(copy) != counts(db):
                raise StoreError(
                    f"{part}: the copy differs from the file; `agent db check` says whether that is damaged"
                )
        with path.open("r+b") as former, _disk_errors(path):
            is_single = os.fstat(former.fileno()).st_nlink == 1
            _move_into_place(part, path)
            if is_single:
                _overwrite(former, size)
    return True


def _overwrite(former: BinaryIO, size: int) -> None:
    """Clear a file that has lost its name: its words go, and a process that waits to open it does not write there."""
    while (left := size - former.tell()) > 0:
        former.write(bytes(min(left, 1 << 20)))
    former.flush()
    os.fsync(former.fileno())


def at_hand(db: Database) -> list[tuple[str, datetime]]:
    """The backups that are still where they were written, with their times, the newest first."""
    try:
        known = [Path(each) for each in file.known_copies(db)]
    except StoreError:
        return []  # the list of them is damaged
    found = [(str(each), datetime.fromtimestamp(each.stat().st_mtime).astimezone()) for each in known if each.is_file()]
    return sorted(found, key=lambda each: each[1], reverse=True)


def counts(db: Database) -> dict[str, int]:
    tables = set(db.column("select name from sqlite_schema where type = 'table'"))
    return {table: int(db.value(f"select count(*) from {table}")) for table in COUNTED_TABLES if table in tables}


def _copy(source: Database, part: Path, progress: Callable[[int], None]) -> dict[str, int]:
    """Copy a snapshot of the source and verify it; returns its counts of rows."""
    with Database(part, "delete", key=source.key) as copy:
        with source.snapshot():  # without WAL it locks writers out, as a copy in one step would
            rows = counts(source)
            for left in source.copy_into(copy, _PAGES_PER_STEP):
                progress(left)
        copy.value("pragma journal_mode = delete")  # a single file, without a journal beside it
        if problem := _damage(copy):
            raise StoreError(
                f"{source.path}: the database is damaged ({problem}) and was not copied; "
                "`agent db check` says where, `agent db salvage FILE` saves what can be read"
            )
        if counts(copy) != rows:
            raise StoreError(f"{part}: the copy differs from the database; check the disk and try again")
    return rows


def _damage(copy: Database) -> str:
    """The first thing that is damaged, or why that cannot be told; empty when the copy is whole."""
    try:
        return next(iter(file_check.damaged_pages(copy)), "")
    except StoreError as error:
        return str(error.__cause__)


def _stage(path: Path, part: Path, key: bytes | None) -> tuple[dict[str, int], set[str]]:
    """Copy a backup, with this key or with its own, and verify the copy; returns its counts of rows, and the hashes of
    what was erased."""
    with Database(path, busy_timeout=_BUSY_TIMEOUT) as source, ExitStack() as opened:
        schema.check(source)
        key = key or source.key
        if key != source.key:
            source.copy_to(part, key)
        copy = opened.enter_context(Database(part, "delete", key=key))
        for _ in source.copy_into(copy) if key == source.key else ():
            pass
        copy.value("pragma journal_mode = delete")
        if copy.value("pragma application_id") != APPLICATION_ID:
            raise StoreError(f"{path}: this is not a database of agent; name a file that `agent db backup` wrote")
        if problems := file_check.damaged_pages(copy):
            raise StoreError(f"{path}: the copy is damaged ({problems[0]}); use another one")
        return counts(copy), _erased_hashes(copy)


def _migrate(part: Path, known: list[str], now: datetime, notice: Callable[[str], None]) -> None:
    """Bring the copy up to this program's schema, and store the known copies in it."""
    with file.open_file(part, now, notice) as db:
        for each in known:
            file.record_copy(db, Path(each))


@contextmanager
def _exclusive(path: Path) -> Iterator[tuple[list[str], set[str]]]:
    """Lock the file, or raise StoreBusy; yields the copies it knows of and the hashes of erased rows."""
    known: list[str] = []
    erased: set[str] = set()
    with Database(path, busy_timeout=_BUSY_TIMEOUT) as db:
        try:
            _lock(db)
            known = file.known_copies(db)
            erased = _erased_hashes(db)
        except StoreBusy:
            raise
        except StoreError:
            pass
        yield known, erased


def _lock(db: Database) -> None:
    """Begin a transaction that nobody else can read beside, with nothing left in a journal. Raises StoreBusy."""
    try:
        has_sessions = db.value("select 1 from sqlite_schema where name = 'session'")
        held = "select distinct holder from session where holder is not null"
        for held_by in db.column(held) if has_sessions else ():  # without WAL an idle process holds no lock
            if held_by != holder.this_process() and holder.is_alive(held_by):
                raise _busy(db.path, f" (process {held_by.split('/')[1]})")
        if db.value("pragma journal_mode = delete") != "delete":
            raise _busy(db.path)
        db.execute("begin exclusive")
    except StoreBusy as error:
        raise error if error.__cause__ is None else _busy(db.path) from error


def _busy(path: str, who: str = "") -> StoreBusy:
    return StoreBusy(
        f"{path}: another process has the database open{who}; leave it there (/exit), then do this again; "
        "nothing was changed"
    )


def _erased_hashes(db: Database) -> set[str]:
    exists = db.value("select 1 from sqlite_schema where name = 'forgotten'")
    return set(db.column("select hash from forgotten")) if exists else set()


@contextmanager
def _set_aside(current: Path, former: Path) -> Iterator[None]:
    """Link the database to a second name while its first is replaced, so that a file always has that name."""
    wal, former_wal = (each.with_name(f"{each.name}-wal") for each in (current, former))

    def unlink_second_name() -> None:
        if former.exists() and current.exists() and former.samefile(current):
            former.unlink()

    with _disk_errors(current), ExitStack() as undo:
        undo.callback(unlink_second_name)
        try:
            os.link(current, former)
        except OSError:  # a file system without links
            shutil.copyfile(current, former)
            former.chmod(0o600)
        if wal.exists():  # of a damaged file: it must not be applied to the new one
            os.replace(wal, former_wal)
            undo.callback(os.replace, former_wal, wal)
        current.with_name(f"{current.name}-shm").unlink(missing_ok=True)
        yield
        undo.pop_all()


def _refuse_target(db: Path, path: Path, force: bool) -> None:
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it, as in {path / 'memory-backup.db'}")
    if path.resolve() in file.with_journals(db.resolve()):
        raise UsageError(f"{path} is the database itself; name another file")
    if path.exists() and not force:
        raise UsageError(f"{path} exists already; name another file, or say --force to write over it")


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """Create an empty file beside the target, which only the owner can read; what is left of it is deleted in the end,
    and first what an earlier process has left."""
    file.remove_leftovers_of(path)
    part = file.temporary_path(path)
    try:
        part.unlink(missing_ok=True)
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise StoreError(f"{part.parent}: no file can be written there ({error.strerror})") from error
    try:
        yield part
    finally:
        for each in file.with_journals(part):
            with suppress(OSError):  # it is removed at the next start
                each.unlink(missing_ok=True)


def _move_into_place(part: Path, path: Path) -> None:
    """Rename the finished file to its target, durably. Raises StoreError; the target is unchanged then."""
    with _disk_errors(path):
        atomic_file.move(part, path)


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path}: the disk refused to write it ({error.strerror}); nothing was replaced") from error


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
        "sealed": sealing.kind_of(db.key[-16:]) if db.key else "no",
        "sqlite": db.value("select sqlite_version()"),
        "rows": counts(db),
        "backups": [each for each in file.known_copies(db) if Path(each).is_file()],
    }


def compact(db: Database, busy_timeout: float = 2.0) -> tuple[int, int]:
    """Rewrite the file without its free pages; returns its size in bytes before and after. While another process reads
    the former state, the new pages stay in the journal. Raises StoreError."""
    path = Path(db.path)
    db.truncate_journal(busy_timeout)  # so that the size before is that of all
    before = path.stat().st_size
    room = shutil.disk_usage(path.parent).free
    if room < 2 * before:  # SQLite writes a copy, and the copy again into the journal
        raise StoreError(
            f"{path}: compacting needs {2 * before / 1e6:.0f} MB free and there are {room / 1e6:.0f}; make room first"
        )
    db.execute("vacuum")
    db.truncate_journal(busy_timeout)
    return before, path.stat().st_size
