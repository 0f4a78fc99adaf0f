"""What is finished and stands still, drawn with `rich` at a terminal: tables, trees and bars.

Answers are not drawn with it: they arrive word by word and are only appended. Importing it takes 50 to 100 ms, so it is
imported by the command that draws, never before the first prompt and never for a pipe.
"""

import re
from collections.abc import Iterable, Sequence
from io import StringIO

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from agent_cli.render.layout import cell_width, wrap
from agent_cli.render.styles import BOLD, DIM, Display

_GAP = 2  # blanks between two columns
_MIN_LAST = 24  # cells that the last column needs beside the others
_NUMBER = re.compile(r"-?[\d,.]*")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], display: Display) -> str:
    """Rows below their headings, numbers to the right, the last column wrapped; where that is too narrow, one value
    below the other."""
    filled = [n for n in range(len(columns)) if any(row[n] for row in rows)]
    columns, rows = [columns[n] for n in filled], [[row[n] for n in filled] for row in rows]
    widths = [max(map(cell_width, [name, *(row[n] for row in rows)])) for n, name in enumerate(columns)]
    left = display.width() - sum(widths[:-1]) - _GAP * (len(widths) - 1)
    longest = max((cell_width(word) for row in rows for word in row[-1:] for word in word.split()), default=0)
    if left < min(widths[-1], max(_MIN_LAST, longest)):
        return _stacked(columns, rows, display)
    drawn = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_edge=False)
    for n, name in enumerate(columns):
        numbers = n < len(columns) - 1 and all(_NUMBER.fullmatch(row[n]) for row in rows)
        drawn.add_column(
            _text(name, BOLD, display), no_wrap=n < len(columns) - 1, justify="right" if numbers else "left"
        )
    for row in rows:
        drawn.add_row(*map(Text, row))
    return _printed(drawn, display)


def tree(lines: Iterable[tuple[int, str]], display: Display) -> str:
    """Trees of (depth, line); the lines at depth 0 are the roots."""
    roots: list[Tree] = []
    path: list[Tree] = []
    for depth, line in lines:
        if depth == 0:
            roots.append(Tree(_text(line, BOLD, display)))
            path = roots[-1:]
        else:
            path = [*path[:depth], path[depth - 1].add(Text(line))]
    return "\n".join(_printed(each, display) for each in roots)


def _stacked(columns: Sequence[str], rows: Sequence[Sequence[str]], display: Display) -> str:
    """Each row in lines of its own: the first value alone, the others with their names below it."""
    names = max(map(len, columns[1:]), default=0)
    lines = []
    for row in rows:
        lines.append(display.styled(row[0], BOLD))
        lines += [
            wrap(f"  {name:<{names}}  {value}", display.width())
            for name, value in zip(columns[1:], row[1:], strict=True)
            if value
        ]
    return "\n".join(lines)


def _text(text: str, style: str, display: Display) -> Text:
    return Text.from_ansi(display.styled(text, style))


def _printed(drawing: RenderableType, display: Display) -> str:
    """The drawing as lines without blanks at their ends."""
    styled = bool(display.shown(DIM))
    console = Console(
        file=StringIO(),
        width=display.width(),
        color_system="standard" if styled else None,
        force_terminal=styled,
        no_color=not display.colour,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    with console.capture() as drawn:
        console.print(drawing)
    return "\n".join(line.rstrip() for line in drawn.get().rstrip("\n").split("\n"))
