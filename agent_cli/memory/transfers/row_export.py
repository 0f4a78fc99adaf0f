"""What is remembered, row by row, for other programs: every kind that the registry calls exportable.

What is to be read in again is exported by the commands of its kind (`agent sessions export`, `agent facts export`);
here nothing is left out, so that a person can take everything along.
"""

from collections.abc import Collection, Iterator
from typing import Any

from agent_cli import kinds
from agent_cli.kinds import Kind
from agent_cli.store import ids
from agent_cli.store.db import Database

_PAGE = 500


def export_rows(db: Database, owner: str, names: Collection[str] = ()) -> Iterator[dict[str, Any]]:
    """An owner's rows of the named kinds, or of all, the oldest of each first: `kind`, `id` (the handle) and whatever
    columns hold something."""
    for kind in kinds.KINDS:
        if kind.exportable and (not names or kind.name in names):
            yield from _rows(db, owner, kind)


def _rows(db: Database, owner: str, kind: Kind) -> Iterator[dict[str, Any]]:
    columns = [name for (name,) in db.rows("select name from pragma_table_info(?)", (kind.table,))]
    page = f"select {', '.join(columns)} from {kind.table} where owner = ? and id > ? order by id limit {_PAGE}"
    last = 0
    while found := db.rows(page, (owner, last)):
        for values in found:
            row = {name: value for name, value in zip(columns, values, strict=True) if value not in (None, "")}
            last = row["id"]
            yield {"kind": kind.shown, **row, "id": ids.handle(kind.name, last)}
