"""Reads another program's SQLite file. Nothing is written to it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw

from agent_cli.errors import StoreError


class ForeignFile:
    """A read-only connection; `tables` gives each table's columns. Raises StoreError when it is not an SQLite file."""

    def __init__(self, file: Path):
        self._file = file
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        try:
            how = "mode=ro&immutable=1" if _is_closed_wal(file) else "mode=ro"
            self._connection = apsw.Connection(f"file:{quote(str(file.absolute()))}?{how}", flags=flags)
            self.tables = {
                name: {column[1] for column in self._connection.execute("select * from pragma_table_info(?)", (name,))}
                for (name,) in self._connection.execute(
                    "select name from sqlite_schema where type = 'table'"
                ).fetchall()
            }
        except (apsw.Error, OSError) as error:
            raise StoreError(f"{file} cannot be read: it is not an SQLite file, or you may not read it") from error

    def rows(self, sql: str, values: Any = ()) -> Iterator[tuple[Any, ...]]:
        """The rows, one at a time. Raises StoreError when the file is damaged."""
        try:
            yield from self._connection.execute(sql, values)
        except (apsw.Error, UnicodeDecodeError) as error:  # SQLite stores any bytes as text
            raise StoreError(f"{self._file} cannot be read to its end: {error}") from error

    def close(self) -> None:
        self._connection.close()


def _is_closed_wal(file: Path) -> bool:
    """Whether the file is in WAL mode (bytes 18 and 19) and nobody has it open.

    To read such a file SQLite would create a WAL file and leave it behind, unless it is opened as immutable.
    """
    with file.open("rb") as opened:
        return opened.read(20)[18:] == b"\2\2" and not file.with_name(f"{file.name}-wal").exists()
