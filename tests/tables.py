"""Tests of a table: one test runs every row of it, for rows that cost less than a test of their own would."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import pytest


def for_each(names: str | Sequence[str], rows: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test that needs no fixture with each row, as `parametrize` does; in the end, every row that failed is told.
    Raises ValueError for a table without rows, whose test could not fail."""
    table = [{names: row} if isinstance(names, str) else dict(zip(names, row, strict=True)) for row in rows]
    if not table:
        raise ValueError(f"no rows of {names}")

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def run(**given: Any) -> None:
            failed = [error for row in table if (error := _failure(test, {**given, **row}))]
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(table)} rows", failed)

        del run.__wrapped__  # type: ignore[attr-defined]  # whose parameters would be taken for fixtures
        return run

    return decorate


def listed(words: str) -> list[str]:
    """The rows of a table with one column, which stand between bars and line ends."""
    return [row for each in re.split(r"[|\n]", words) if (row := each.strip())]


def columns(words: str) -> list[list[str]]:
    """The rows of a table with several columns, which stand between arrows."""
    return [[each.strip() for each in row.split("→")] for row in listed(words)]


def _failure(test: Callable[..., None], row: dict[str, Any]) -> BaseException | None:
    try:
        test(**row)
    except (Exception, pytest.fail.Exception) as error:
        error.add_note(f"in the row {row!r}")
        return error
    return None
