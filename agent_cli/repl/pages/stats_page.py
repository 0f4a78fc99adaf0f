"""Tokens, time and cost of answers, as a table with bars."""

from collections.abc import Sequence
from typing import Any

from agent_cli.render.display import Display
from agent_cli.render.marking import bar

_BAR = 16  # cells


def page(rows: Sequence[dict[str, Any]], display: Display) -> str:
    """The rows of records.token_usage, each with a bar: its tokens beside those of the row that took most."""
    from agent_cli.render import drawing  # imports rich, which the first prompt must not wait for

    names = [*rows[0]]
    if display.screen_reader:
        return drawing.table(_headings(names), [[str(row[name]) for name in names] for row in rows], display)
    tokens = [row["tokens_in"] + row["tokens_out"] for row in rows]
    most = max([1, *tokens])
    cells = [
        [*(str(row[name]) for name in names), bar(count / most, _BAR)] for row, count in zip(rows, tokens, strict=True)
    ]
    return drawing.table([*_headings(names), " "], cells, display)


def _headings(names: Sequence[str]) -> list[str]:
    return [name.replace("_", " ") for name in names]
