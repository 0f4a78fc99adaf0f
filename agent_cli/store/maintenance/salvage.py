"""Saves what can be read of a damaged file into a new one. The damaged file is only read.

Rows are read by their ids: a range that cannot be read is halved until the rows are left that are lost. Bytes that are
no text are replaced by marks. Derived data is not copied: the new file makes it again.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import apsw

from agent_cli.errors import StoreError
from agent_cli.store import events, file, schema
from agent_cli.store.db import Database, Row
from agent_cli.store.maintenance import backup, leftovers, row_check, schema_repair
from agent_cli.values import frozen

_ROWS = 500  # read at once
_MOST = 1 << 24  # ids looked at in a table, whose last id may be damaged too
_HOPELESS = 10_000  # reads that fail one after another: then the beginning of the table itself is damaged
_OF_THE_FILE = (
    "key in ('schema', 'shape', 'merged', 'checked', 'file passages') or key glob 'index *' or key glob 'damaged *'"
)
_VECTORS = "key glob 'vector*' or key glob 'embedded *'"
_LOST_SESSION = """insert or ignore into "{}"
    (id, uid, owner, place, title, started_at, utc_offset, last_at, closed_at)
    select session_id, 'salvaged ' || session_id, owner, place, 'salvaged', at, utc_offset, at, at
    from message where id = ?"""


class _SchemaDamaged(Exception):
    """The schema can be read, and does not say what is in the rows."""


@frozen
class Salvaged:
    """What became of the rows of a table. `lost`: None when it is not known how many there were."""

    table: str
    copied: int
    mended: int  # of them with marks in place of bytes that were no text
    lost: int | None


def readable(db: Database) -> list[Salvaged]:
    """What a salvage would save of the rows that are counted. Nothing is written."""
    there = set(row_check.tables(db))
    return [_read(db, table) for table in backup.COUNTED_TABLES if table in there]


def _read(db: Database, table: str) -> Salvaged:
    columns = [(name, type_) for name, type_, _ in row_check.columns(db, table)]
    found = len({row[0] for row in _rows(db, table, columns)})
    count = _count(db, table)
    return Salvaged(table, found, 0, None if count is None else max(0, count - found))


def salvage(damaged: Path, path: Path, now: datetime) -> list[Salvaged]:
    """Copy what can be read into a new file, which is there when it is whole. Raises StoreError."""
    leftovers.remove_beside(path)
    part = leftovers.temporary_path(path)
    with backup.temporary_file(part):
        try:
            saved = _salvage(damaged, part, now)
        except _SchemaDamaged:
            saved = _salvage_without_schema(damaged, part, now)
        except StoreError as error:
            if not isinstance(error.__cause__, apsw.CorruptError):
                raise
            try:
                saved = _salvage_without_schema(damaged, part, now)
            except StoreError:
                raise error from error.__cause__
        backup.move_into_place(part, path)
    backup.record_salvaged(damaged, path)
    return saved


def _salvage_without_schema(damaged: Path, path: Path, now: datetime) -> list[Salvaged]:
    copy = path.with_name(f".{path.name}.copy")
    with backup.temporary_file(copy):
        schema_repair.readable_copy(damaged, copy)
        return _salvage(copy, path, now)


def _salvage(damaged: Path, path: Path, now: datetime) -> list[Salvaged]:
    source = file.open_damaged(damaged)
    try:
        if schema.has_hidden_columns(source):
            raise _SchemaDamaged
        target = file.open_file(path, now, lambda notice: None)
        try:
            target.execute("pragma foreign_keys = off")
            with target.write():
                found = [_copy(source, target, table) for table in row_check.tables(source) if _is_copied(table)]
                orphans = _mend_references(target)
                events.append(target, lambda: now, "file salvaged", "", actor="person")
            target.execute("pragma foreign_keys = on")
            target.truncate_journal()
        finally:
            target.close()
    finally:
        source.close()
    return [
        Salvaged(each.table, each.copied - dropped, each.mended, None if each.lost is None else each.lost + dropped)
        for each in found
        for dropped in (orphans.get(each.table, 0),)
    ]


def _is_copied(table: str) -> bool:
    return table != "migration" and not row_check.is_derived(table)


def _copy(source: Database, target: Database, table: str) -> Salvaged:
    """Copy the rows of a table that can be read."""
    there = {name: type_ for name, type_, _ in row_check.columns(source, table)}
    columns = [(name, type_) for name, type_, _ in row_check.columns(target, table) if name in there]
    columns = [each for each in columns if (table, each[0]) != ("event", "link")]  # what came over is linked anew
    names = ", ".join(f'"{name}"' for name, _ in columns)
    insert = f'insert or ignore into "{table}" ({names}) values ({", ".join("?" * len(columns))})'
    copied = mended = 0
    for row in _rows(source, table, columns):
        values = [_decoded(value, type_) for value, (_, type_) in zip(row, columns, strict=True)]
        try:
            done = bool(target.execute(insert, [value for value, _ in values]))
        except apsw.ConstraintError:  # not even the type is right
            done = False
        copied += done
        mended += done and any(changed for _, changed in values)
    count = _count(source, table)
    return Salvaged(table, copied, mended, None if count is None else max(0, count - copied))


def _decoded(value: object, type_: str) -> tuple[object, bool]:
    """A value as it is stored, and whether bytes of it had to be replaced."""
    if not isinstance(value, bytes) or type_ != "TEXT":
        return value, False
    try:
        return value.decode("utf-8"), False
    except UnicodeDecodeError:
        return value.decode("utf-8", "replace"), True


def _rows(source: Database, table: str, columns: Sequence[tuple[str, str]]) -> Iterator[Row]:
    names = ", ".join(
        f'iif(typeof("{name}") = \'text\', cast("{name}" as blob), "{name}")' if type_ == "TEXT" else f'"{name}"'
        for name, type_ in columns
    )
    select = f'select {names} from "{table}"'
    if table == "meta":
        select += f" where not ({_OF_THE_FILE} or {_VECTORS})"
    if any(name == "id" for name, _ in columns):
        yield from _by_ids(source, select, 0, _last_id(source, table))
    else:
        yield from _from_both_ends(source, select)


def _by_ids(source: Database, select: str, first: int, last: int) -> Iterator[Row]:
    """The rows with these ids; where they cannot be read, those of each half, as long as anything can be read."""
    ranges = [(start, min(start + _ROWS - 1, last)) for start in range(first, last + 1, _ROWS)][::-1]
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


def _from_both_ends(source: Database, select: str) -> Iterator[Row]:
    """The rows of a table without ids, up to damaged ones, from its beginning and from its end; some come twice."""
    for order in ("", " order by 1 desc"):
        try:
            yield from source.each(select + order)
            return
        except StoreError:
            continue


def _last_id(source: Database, table: str) -> int:
    """The last id, by the counter of ids or else by the table; the highest that is looked at where neither tells it."""
    with suppress(StoreError, ValueError):
        if last := int(source.value("select seq from sqlite_sequence where name = ?", (table,)) or 0):
            return min(last, _MOST)
    try:
        return min(int(source.value(f'select max(id) from "{table}"') or 0), _MOST)
    except (StoreError, ValueError):
        return _MOST


def _count(source: Database, table: str) -> int | None:
    """How many rows there were, by the smallest index that can be read."""
    try:
        where = f" where not ({_OF_THE_FILE} or {_VECTORS})" if table == "meta" else ""
        return int(source.value(f'select count(*) from "{table}"{where}'))
    except StoreError:
        return None


def _mend_references(target: Database) -> dict[str, int]:
    """Clear references to lost rows, and make lost sessions again, empty; returns the rows dropped besides."""
    dropped: dict[str, int] = {}
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
                lost = f'"{column}" not in (select id from "{parent}")'
                dropped[table] = dropped.get(table, 0) + target.execute(f'delete from "{table}" where {lost}')
    return dropped
