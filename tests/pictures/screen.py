"""A screen that also knows faint text, which pyte does not: it is kept as blinking, which nothing uses."""

import io
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pyte

COLUMNS, ROWS = 80, 24
_FAINT, _NOT_FAINT = 2, 22
_BLINKS, _STANDS = 5, 25


class Run(NamedTuple):
    """Characters that stand beside each other and look alike."""

    column: int
    text: str
    looks: tuple[str, ...]  # bold, faint, italics, underscore, reverse, and the name of a colour


Frame = tuple[tuple[Run, ...], ...]  # the rows of a screen


class PictureScreen(pyte.Screen):
    def __init__(self, columns: int = COLUMNS, rows: int = ROWS) -> None:
        super().__init__(columns, rows)
        self.reply: Callable[[str], object] = str  # gets the answer to a question, such as where the cursor is

    def select_graphic_rendition(self, *codes: int, **options: Any) -> None:
        swapped = [_BLINKS if code == _FAINT else code for code in codes]
        if _NOT_FAINT in codes:
            swapped.insert(swapped.index(_NOT_FAINT) + 1, _STANDS)
        super().select_graphic_rendition(*swapped, **options)

    def write_process_input(self, data: str) -> None:
        self.reply(data)

    def frame(self) -> Frame:
        """What stands there now, without blanks at the ends of rows and empty rows at the end."""
        rows = [self._runs(number) for number in range(self.lines)]
        while rows and not rows[-1]:
            rows.pop()
        return tuple(rows)

    def _runs(self, number: int) -> tuple[Run, ...]:
        runs: list[Run] = []
        cells = self.buffer.get(number, {})
        for column in range(max(cells, default=-1) + 1):
            cell = cells[column]
            looks = _looks(cell)
            if runs and runs[-1].looks == looks:
                runs[-1] = runs[-1]._replace(text=runs[-1].text + cell.data)
            else:
                runs.append(Run(column, cell.data, looks))
        while runs and not runs[-1].text.strip():
            runs.pop()
        return tuple([*runs[:-1], runs[-1]._replace(text=runs[-1].text.rstrip())] if runs else [])


def _looks(cell: Any) -> tuple[str, ...]:
    if not cell.data.strip():
        return ()
    named = {
        "bold": cell.bold,
        "faint": cell.blink,
        "italics": cell.italics,
        "underscore": cell.underscore,
        "reverse": cell.reverse,
    }
    colour = [] if cell.fg == "default" else [cell.fg]
    return tuple([name for name, shown in named.items() if shown] + colour)


class Window(io.StringIO):
    """A terminal: what is written is drawn at once."""

    def __init__(self, columns: int, rows: int) -> None:
        super().__init__()
        self._screen = PictureScreen(columns, rows)
        self._stream = pyte.Stream(self._screen)

    def write(self, text: str) -> int:
        self._stream.feed(text.replace("\r\n", "\n").replace("\n", "\r\n"))
        return len(text)

    def shown(self) -> str:
        """What stands there, with the names of its looks: `⟨bold⟩which line?⟨⟩ and so on`."""
        return "".join(f"{_with_looks(runs)}\n" for runs in self._screen.frame())


def _with_looks(runs: Sequence[Run]) -> str:
    """A row; blanks between words that look alike look like them."""
    row, before = "", ()
    for n, run in enumerate(runs):
        looks = before if not run.text.strip() and n + 1 < len(runs) and runs[n + 1].looks == before else run.looks
        row += (
            f"{'⟨⟩' * bool(before)}⟨{' '.join(looks)}⟩{run.text}"
            if looks != before and looks
            else (f"⟨⟩{run.text}" if looks != before else run.text)
        )
        before = looks
    return row + "⟨⟩" * bool(before)


def text(frame: Frame) -> str:
    """The words of a frame."""
    rows = []
    for runs in frame:
        row = ""
        for run in runs:
            row = row.ljust(run.column) + run.text
        rows.append(row)
    return "\n".join(rows)
