"""Damage in rows that SQLite's own check does not see: texts that are not UTF-8, times and JSON that cannot be read."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime

from agent_cli import kinds
from agent_cli.errors import StoreError
from agent_cli.store import ids, schema
from agent_cli.store.db import Database
from agent_cli.values import frozen

DERIVED = ("passage", "speaker", "area", "day", "stale", "fact_mark", "entity", "alias", "relation")
_INDEX_TABLES = ("words_", "trigrams_", "bits_", "vectors_")  # their names begin so
_JSON = {
    "message": ("parts",),
    "tool_call": ("arguments",),
    "fact_version": ("was",),
    "skill_version": ("was",),
    "prompt": ("pasted",),
    "recollection": ("legs",),
}
_ROWS = 500  # read at once
_HANDLES = {kind.table: kind.name for kind in kinds.KINDS}


@frozen
class DamagedRow:
    """`row`: as a person types it, or the table and its key."""

    table: str
    row: str
    why: str


def is_derived(table: str) -> bool:
    """Whether a table can be rebuilt from others."""
    return table in DERIVED or table.startswith(_INDEX_TABLES)


def damaged_rows(db: Database) -> Iterator[DamagedRow]:
    """The rows with a text that is damaged, and the tables that cannot be read to their end."""
    for table in tables(db):
        try:
            yield from _damaged_rows(db, table)
        except StoreError as error:
            yield DamagedRow(table, table, f"cannot be read to its end ({error.__cause__ or error})")


def _damaged_rows(db: Database, table: str) -> Iterator[DamagedRow]:
    texts = [name for name, type_, _ in columns(db, table) if type_ == "TEXT"]
    for key, values in _texts(db, table, texts):
        for column, value in zip(texts, values, strict=True):
            if value is not None and (why := _fault(table, column, value)):
                yield DamagedRow(table, row_name(table, key), why)


def tables(db: Database) -> list[str]:
    """The tables of the schema that are there."""
    there = {name for (name,) in db.rows("select name from sqlite_schema where type = 'table'")}
    return [name for name in schema.TABLES if name in there]


def columns(db: Database, table: str) -> list[tuple[str, str, bool]]:
    """(Name, type, whether it belongs to the key) of each column."""
    return [(row[1], row[2], bool(row[5])) for row in db.rows(f'pragma table_info("{table}")')]


def row_name(table: str, key: Sequence[object]) -> str:
    """A row as a person types it, or its table and key."""
    if table in _HANDLES and len(key) == 1 and isinstance(key[0], int):
        return ids.handle(_HANDLES[table], key[0])
    return f"{table} {' '.join(readable(each) for each in key)}"


def readable(value: object) -> str:
    """A value as text, with marks in place of bytes that are none."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _texts(db: Database, table: str, texts: Sequence[str]) -> Iterator[tuple[list[object], list[bytes | None]]]:
    """(Key, bytes of the texts) of each row."""
    if not texts:
        return
    found = columns(db, table)
    key = [name for name, _, is_key in found if is_key]
    wanted = ", ".join([f'cast("{name}" as blob)' for name in texts])
    if key != ["id"]:  # few rows
        keys = ", ".join(f'iif(typeof("{name}") = \'text\', cast("{name}" as blob), "{name}")' for name in key)
        for row in db.rows(f'select {keys}, {wanted} from "{table}"'):
            yield list(row[: len(key)]), list(row[len(key) :])
        return
    last = None
    while rows := db.rows(
        f'select id, {wanted} from "{table}" where ?1 is null or id > ?1 order by id limit {_ROWS}', (last,)
    ):
        for row in rows:
            yield [row[0]], list(row[1:])
        last = rows[-1][0]


def _fault(table: str, column: str, value: bytes) -> str:
    """What is wrong with a text; empty when nothing is."""
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"byte {error.start + 1} of its {column} is not text"
    if column in _JSON.get(table, ()) and not _is_json(text):
        return f"its {column} cannot be read"
    if (column == "at" or column.endswith("_at")) and text and not _is_time(text):
        return f"its time ({column}) cannot be read: {text[:40]!r}"
    return ""


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
