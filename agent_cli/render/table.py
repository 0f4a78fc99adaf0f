"""A table, drawn when its last row has come: columns aligned by cells, nothing around them.

One that is wider than the window is not drawn: its rows are printed as they came, which can be read and copied, while a
grid broken by the edge of a window can not.
"""

import re
from collections.abc import Sequence

from agent_cli.render.inline import BOLD, pieces
from agent_cli.render.layout import Piece, cells

_CELL = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r":?-+:?")
_GAP = "  "

Cell = list[Piece]


def is_head(rows: Sequence[str]) -> bool:
    """Whether these rows begin a table: the second one says how its columns are aligned."""
    return len(rows) > 1 and all(_RULE.fullmatch(cell) for cell in _split(rows[1]))


def drawn(rows: Sequence[str], width: int) -> list[Cell]:
    """The lines of a table; empty when it does not fit. `rows` are as they were written."""
    ways = _split(rows[1])
    head, *body = [_split(row) for row in (rows[0], *rows[2:])]
    count = max(len(head), len(ways), *(len(row) for row in body), 1)
    table = [[pieces(cell, BOLD if row is head else "") for cell in _even(row, count)] for row in (head, *body)]
    sizes = [max(3, *(_size(row[n]) for row in table)) for n in range(count)]
    if sum(sizes) + len(_GAP) * (count - 1) > width:
        return []
    ways = _even(ways, count)
    lines = [_line(row, sizes, ways) for row in table]
    return [lines[0], [Piece(_GAP.join("-" * size for size in sizes))], *lines[1:]]


def _split(row: str) -> list[str]:
    inner = row.strip().removeprefix("|")
    inner = inner.removesuffix("|") if not inner.endswith("\\|") else inner
    return [cell.strip() for cell in _CELL.split(inner)]


def _even(row: list[str], count: int) -> list[str]:
    return row + [""] * (count - len(row))


def _size(cell: Cell) -> int:
    return sum(cells(piece.text) for piece in cell)


def _line(row: list[Cell], sizes: list[int], ways: list[str]) -> Cell:
    line: Cell = []
    for n, (cell, size, way) in enumerate(zip(row, sizes, ways, strict=True)):
        left, right = _margins(size - _size(cell), way)
        line += [Piece((_GAP if n else "") + " " * left, kind="space"), *cell, Piece(" " * right, kind="space")]
    while line and not line[-1].text.strip():
        line.pop()
    return line


def _margins(room: int, way: str) -> tuple[int, int]:
    if way.endswith(":"):
        return (room // 2, room - room // 2) if way.startswith(":") else (room, 0)
    return 0, room
