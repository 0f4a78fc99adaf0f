"""A Markdown table, drawn when its last row has arrived: columns aligned by cells, without borders.

A table wider than the window is not drawn: its rows are printed as they arrived, which can be read and copied, unlike
rows broken at the edge of a window.
"""

import re
from collections.abc import Sequence

from agent_cli.render import inline, styles
from agent_cli.render.layout import StyledText, cell_width

_SEPARATOR = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r":?-+:?")
_GAP = "  "

Cell = list[StyledText]


def has_header(rows: Sequence[str]) -> bool:
    """Whether the rows are a table: the second one gives the alignment of its columns."""
    return len(rows) > 1 and all(_RULE.fullmatch(cell) for cell in _cells(rows[1]))


def layout(rows: Sequence[str], width: int) -> list[list[StyledText]]:
    """The lines of a table in Markdown `rows`; empty when it is wider than `width` cells."""
    alignments = _cells(rows[1])
    head, *body = [_cells(row) for row in (rows[0], *rows[2:])]
    count = max(len(head), len(alignments), *(len(row) for row in body), 1)
    table = [
        [inline.parse(cell, styles.BOLD if row is head else "") for cell in _padded(row, count)]
        for row in (head, *body)
    ]
    widths = [max(3, *(_width(row[n]) for row in table)) for n in range(count)]
    if sum(widths) + len(_GAP) * (count - 1) > width:
        return []
    alignments = _padded(alignments, count)
    lines = [_line(row, widths, alignments) for row in table]
    return [lines[0], [StyledText(_GAP.join("-" * each for each in widths))], *lines[1:]]


def _cells(row: str) -> list[str]:
    inner = row.strip().removeprefix("|")
    inner = inner.removesuffix("|") if not inner.endswith("\\|") else inner
    return [cell.strip() for cell in _SEPARATOR.split(inner)]


def _padded(row: list[str], count: int) -> list[str]:
    return row + [""] * (count - len(row))


def _width(cell: Cell) -> int:
    return sum(cell_width(span.text) for span in cell)


def _line(row: list[Cell], widths: list[int], alignments: list[str]) -> list[StyledText]:
    line: list[StyledText] = []
    for n, (cell, width, alignment) in enumerate(zip(row, widths, alignments, strict=True)):
        left, right = _margins(width - _width(cell), alignment)
        line += [
            StyledText((_GAP if n else "") + " " * left, kind="space"),
            *cell,
            StyledText(" " * right, kind="space"),
        ]
    while line and not line[-1].text.strip():
        line.pop()
    return line


def _margins(room: int, alignment: str) -> tuple[int, int]:
    """The blanks left and right of a cell whose column is `room` wider."""
    if alignment.endswith(":"):
        return (room // 2, room - room // 2) if alignment.startswith(":") else (room, 0)
    return 0, room
