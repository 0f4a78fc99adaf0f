"""Checks the whole file: its pages, its schema, its rows, and the indexes against what they index."""

import re
from collections.abc import Iterator

from agent_cli import text
from agent_cli.errors import StoreBusy, StoreError
from agent_cli.store import events, schema
from agent_cli.store.db import Database, IndexDamaged
from agent_cli.store.maintenance import row_check
from agent_cli.values import frozen

_MAX_PROBLEMS = 5  # of each kind

Problem = tuple[str, bool]
"""What is wrong, and whether that is derived data."""


@frozen
class CheckResult:
    """Problems of canonical data, and of derived data, which can be rebuilt.

    `mismatched`: indexes that do not hold what their texts say; either may be damaged.
    """

    canonical: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    mismatched: tuple[str, ...] = ()


def check(db: Database) -> CheckResult:
    """Check all pages, the schema, foreign keys, the texts of rows, and the word indexes against what they index.

    What cannot even be checked is a problem too. Raises StoreBusy.
    """
    canonical: list[str] = []
    derived: list[str] = []
    mismatched: list[str] = []
    for part in (_integrity, _schema, _foreign_keys, _rows, _events):
        try:
            for problem, is_derived in part(db):
                (derived if is_derived else canonical).append(text.one_line(problem, 200))
        except StoreBusy:
            raise
        except StoreError as error:
            canonical.append(f"the {part.__name__[1:].replace('_', ' ')} cannot be checked: {error.__cause__ or error}")
    for name in _word_tables(db) if not db.read_only else ():
        try:
            with db.index_access(), db.write():
                db.execute(f"insert into {name} ({name}, rank) values ('integrity-check', 1)")
        except IndexDamaged:
            mismatched.append(name)
        except StoreBusy:
            raise
        except StoreError as error:
            canonical.append(f"the index {name} cannot be checked: {error.__cause__ or error}")
    return CheckResult(tuple(canonical), tuple(derived), tuple(mismatched))


def damaged_pages(db: Database) -> list[str]:
    """What SQLite finds damaged of canonical data."""
    return [problem for problem, is_derived in _integrity(db) if not is_derived]


def _integrity(db: Database) -> Iterator[Problem]:
    objects = db.rows("select name, tbl_name, rootpage from sqlite_schema")
    owners: dict[str, str] = {name: table for name, table, _ in objects}
    roots: dict[str, str] = {str(page): name for name, _, page in objects if page}
    for (row,) in db.rows(f"pragma integrity_check({_MAX_PROBLEMS})"):
        if row == "ok":
            continue
        tree = re.match(r"Tree (\d+) ", row)
        named = [roots.get(tree[1], "")] if tree else re.findall(r"\w+", row)
        tables = {owners[name] for name in named if name in owners}
        yield f"{'/'.join(named)}: {row}" if tree else row, bool(tables) and all(map(row_check.is_derived, tables))


def _schema(db: Database) -> Iterator[Problem]:
    for each in schema.differences(db):
        yield f"{each} is missing or was changed", row_check.is_derived(each.split()[-1].partition(".")[0])


def _foreign_keys(db: Database) -> Iterator[Problem]:
    for table, row, parent, _ in db.rows("pragma foreign_key_check")[:_MAX_PROBLEMS]:
        yield f"{table} {row} refers to a {parent} that does not exist", row_check.is_derived(table)


def _rows(db: Database) -> Iterator[Problem]:
    for each in row_check.damaged_rows(db):
        yield f"{each.row}: {each.why}", row_check.is_derived(each.table)


def _events(db: Database) -> Iterator[Problem]:
    if broken := events.broken_link(db):
        yield f"{broken}: an event was changed, removed or added here: the chain of the log is broken", False


def _word_tables(db: Database) -> list[str]:
    try:
        return [name for (name,) in db.rows("select name from sqlite_schema where sql like '%using fts5%'")]
    except StoreError:
        return []  # told already
