"""Saves what can be read of a damaged file into a new one. The damaged file is only read.

Rows are read by their ids: a range that cannot be read is halved until the rows are left that are lost. Bytes that are
no text are replaced by marks. Derived data is not copied: the new file makes it again.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path

import apsw

from agent_cli.errors import StoreError
from agent_cli.store import backup, events, file, file_check, leftovers, schema
from agent_cli.store.db import Database, Row
from agent_cli.values import frozen

_ROWS = 500  # read at once
_MOST = 1 << 24  # ids looked at in a table, whose last id may be damaged too
_HOPELESS = 10_000  # reads that fail one after another: then the beginning of the table itself is damaged
_OF_THE_FILE = (
    "key in ('schema', 'shape', 'merged', 'checked', 'file passages')"
    " or key glob 'index *' or key glob 'damaged *' or key glob 'vector*' or key glob 'embedded *'"
)
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
    leftovers.remove_beside(path)
    part = leftovers.temporary_path(path)
    with backup.temporary_file(part):
        with (
            closing(file.open_damaged(damaged)) as source,
            closing(file.open_file(part, now, lambda _: None)) as target,
        ):
            found = _copy_tables(source, target, now)
        backup.move_into_place(part, path)
    backup.record_salvaged(damaged, path)
    return found


def _copy_tables(source: Database, target: Database, now: datetime) -> list[Salvaged]:
    tables = [each for each in file_check.tables(source) if each != "migration" and not file_check.is_derived(each)]
    unclear = schema.damaged_tables(source)
    target.execute("pragma foreign_keys = off")
    with target.write():
        copied = {table: _copy(source, target, table) for table in tables if table not in unclear}
        dropped = _mend_references(target)
        events.append(target, lambda: now, "file salvaged", "", actor="person")
    target.execute("pragma foreign_keys = on")
    target.truncate_journal()
    found = []
    for table in tables:
        count, (saved, mended) = _count(source, table), copied.get(table, (0, 0))
        saved -= dropped[table]
        found.append(Salvaged(table, saved, mended, None if count is None else max(0, count - saved)))
    return found


def _copy(source: Database, target: Database, table: str) -> tuple[int, int]:
    """Copy the rows of a table that can be read: how many, and how many of them were mended."""
    there = {name for name, _, _ in file_check.columns(source, table)}
    columns = [(name, type_) for name, type_, _ in file_check.columns(target, table) if name in there]
    columns = [each for each in columns if (table, each[0]) != ("event", "link")]  # what came over is linked anew
    names = ", ".join(f'"{name}"' for name, _ in columns)
    insert = f'insert or ignore into "{table}" ({names}) values ({", ".join("?" * len(columns))})'
    copied = mended = 0
    for row in _rows(source, table, columns):
        values = [
            value.decode("utf-8", "replace") if isinstance(value, bytes) and type_ == "TEXT" else value
            for value, (_, type_) in zip(row, columns, strict=True)
        ]
        with suppress(apsw.ConstraintError):  # not even the type is right
            done = bool(target.execute(insert, values))
            copied += done
            mended += done and any(_is_mended(*each) for each in zip(row, values, strict=True))
    return copied, mended


def _is_mended(before: object, after: object) -> bool:
    return isinstance(before, bytes) and isinstance(after, str) and before != after.encode()


def _rows(source: Database, table: str, columns: list[tuple[str, str]]) -> Iterator[Row]:
    """The rows that can be read, texts as bytes. Those without ids may come twice."""
    select = f'select {", ".join(file_check.text_as_bytes(name) for name, _ in columns)} from "{table}"'
    if any(name == "id" for name, _ in columns):
        yield from _by_ids(source, select, _last_id(source, table))
        return
    where = f" where not ({_OF_THE_FILE})" if table == "meta" else ""
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


def _count(source: Database, table: str) -> int | None:
    """How many rows there were, by the smallest index that can be read."""
    try:
        where = f" where not ({_OF_THE_FILE})" if table == "meta" else ""
        return int(source.value(f'select count(*) from "{table}"{where}'))
    except StoreError:
        return None


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
