"""Printing to standard output and standard error. All text passes through `clean` here.

At a terminal it is wrapped and drawn; in a pipe lines stay as they are, since what reads them has no window.
"""

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TextIO, TypeVar

from agent_cli.errors import AgentError
from agent_cli.messages import Failure
from agent_cli.text import clean, map_texts, one_line

if TYPE_CHECKING:
    from agent_cli.render.styles import Display

T = TypeVar("T")

_color: Literal["auto", "always", "never"] = "auto"
_plain = False
_MANY = 20  # notes of one kind
_BAR = 12  # cells
_INTERVAL = 0.1  # seconds between two drawings of the progress line
_ESTIMATE_AFTER = 1.0  # seconds after which a rate says something


def set_look(color: Literal["auto", "always", "never"], *, plain: bool) -> None:
    """How to print from now on, as the options before the command say."""
    global _color, _plain
    _color, _plain = color, plain


def display(stream: TextIO | None = None) -> "Display":
    """How to draw on standard output or another stream."""
    from agent_cli.render import styles  # a pipe needs none of it

    return styles.detect(stream or sys.stdout, os.environ, _color, plain=_plain)


def look(stream: TextIO | None = None) -> "Display | None":
    """The same; None in a pipe, where lines stay as they are."""
    return display(stream) if (stream or sys.stdout).isatty() else None


def say(text: str = "") -> None:
    sys.stdout.write(_formatted(text, sys.stdout) + "\n")


def lines(texts: Iterable[str]) -> None:
    for text in texts:
        say(text)


def fields(rows: Iterable[tuple[str, Any]], width: int, indent: str = "") -> None:
    lines(f"{indent}{name:<{width}} {value}" for name, value in rows)


def note(text: str) -> None:
    """Print a line on standard error: after the sign of its role, in a pipe after the name of the program."""
    if display := look(sys.stderr):
        from agent_cli.render.reply_lines import announced  # a pipe needs none of it

        _write_stderr(announced(text, display))
    else:
        _write_stderr(clean(f"agent: {text}"))


def first_notes(show: Callable[[str], None] = note) -> Callable[[str], None]:
    """Shows the first lines of very many, and then once that there are more."""
    shown = 0

    def each(text: str) -> None:
        nonlocal shown
        shown += 1
        if shown <= _MANY:
            show(text)
        elif shown == _MANY + 1:
            show("the others are counted, but not listed")

    return each


def write_stderr(text: str) -> None:
    """Print lines on standard error, without the name of the program."""
    _write_stderr(_formatted(text, sys.stderr))


def _write_stderr(text: str) -> None:
    sys.stdout.flush()
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _formatted(text: str, stream: TextIO) -> str:
    display = look(stream)
    if display is None:
        return clean(text)
    from agent_cli.render import layout  # a pipe needs none of it

    return layout.formatted(text, display)


def write(text: str) -> None:
    """Print a text on standard output as it is; no line end is added."""
    sys.stdout.write(clean(text))


def put_json(value: Any) -> None:
    """Print a value as indented JSON, its texts cleaned."""
    sys.stdout.write(as_json_text(value) + "\n")


def as_json_text(value: Any) -> str:
    return json.dumps(map_texts(value, clean), ensure_ascii=False, indent=2)


def put_json_line(value: Any) -> None:
    """Print a value as one line of JSON, its texts cleaned, and flush it."""
    sys.stdout.write(json.dumps(map_texts(value, clean), ensure_ascii=False) + "\n")
    sys.stdout.flush()


def note_empty(text: str) -> None:
    """Say at a terminal that there is nothing to show. A program knows it from an output without lines."""
    if sys.stdout.isatty():
        note(text)


def listing(
    found: Iterable[T],
    as_json: bool,
    describe: Callable[[T], Any],
    columns: str,
    row: Callable[[T], Iterable[Any]],
    empty: str,
    optional: str = "",
) -> None:
    """Print a JSON array of what `describe` gives, or a table of these columns of what `row` gives.

    The column `optional` is left out where it is empty in every row; `empty` is said at a terminal alone.
    """
    found = list(found)
    if as_json:
        put_json([describe(each) for each in found])
    elif not found:
        note_empty(empty)
    else:
        names = columns.split()
        rows = [dict(zip(names, row(each), strict=True)) for each in found]
        table(rows, [name for name in names if name != optional or any(each[name] for each in rows)])


def table(rows: Iterable[dict[str, Any]], columns: Sequence[str]) -> None:
    """Print rows by these columns, the last one as wide as it is; the headings are shown at a terminal alone."""
    cells = [
        [" ".join(clean(str(row.get(name) if row.get(name) is not None else "")).split()) for name in columns]
        for row in rows
    ]
    display = look()
    if display and display.wrap:
        from agent_cli.render import layout  # a pipe needs none of it

        print(layout.table([name.replace("_", " ") for name in columns], cells, display))
        return
    widths = [max(len(line[n]) for line in cells) for n in range(len(columns) - 1)]
    for line in cells:
        padded = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        say("  ".join([*padded, line[-1]]).rstrip())


def tree(lines: Sequence[tuple[int, str]]) -> None:
    display = look()
    if lines and display and display.wrap:
        from agent_cli.render import layout  # a pipe needs none of it

        print(layout.tree([(depth, clean(line)) for depth, line in lines], display))
    else:
        for depth, line in lines:
            say("  " * depth + line)


def fail(error: AgentError) -> NoReturn:
    """Print the error, with --json as an object on standard output, and exit with its code."""
    options = sys.argv[: sys.argv.index("--")] if "--" in sys.argv else sys.argv  # the rest are words
    if "--json" in options or "--stream-json" in options:
        kind = {"type": "error"} if "--stream-json" in sys.argv else {}
        put_json_line({"schema": 1, **kind, "error": {"code": error.code, "message": str(error)}})
    else:
        note(Failure(error))
    sys.exit(error.exit_code)


class ProgressLine(AbstractContextManager["ProgressLine"]):
    """One line on standard error that never wraps, overwritten as work goes on; shown at a terminal only."""

    def __init__(self, quiet: bool = False, now: Callable[[], float] = time.monotonic):
        self._shown = False
        self._now = now
        self._label, self._began, self._first, self._drawn = "", 0.0, 0, 0.0
        self.live = sys.stderr.isatty() and not quiet

    def __exit__(self, *error: object) -> None:
        self._erase()

    def show(self, text: str) -> None:
        if not self.live:
            return
        from agent_cli.render.layout import cut  # a pipe needs none of it

        width = shutil.get_terminal_size().columns
        sys.stderr.write(f"\r\x1b[K{cut(one_line(text, width), max(1, width - 1))}")
        sys.stderr.flush()
        self._shown = True

    def step(self, label: str, done: int, total: int | None, unit: str) -> None:
        """Show how many are done, of a total where that is known, how fast it goes and the time left."""
        if not self.live:
            return
        now = self._now()
        if label != self._label:
            self._label, self._began, self._first, self._drawn = label, now, done, 0.0
        if now - self._drawn < _INTERVAL and done != total:
            return
        self._drawn = now
        parts = [f"{label} {done:,} {unit}"]
        if total is not None:
            from agent_cli.render.styles import bar

            parts = [f"{label} {bar(done / max(1, total), _BAR):░<{_BAR}} {done:,} of {total:,} {unit}"]
        seconds, steps = now - self._began, done - self._first
        if seconds >= _ESTIMATE_AFTER and steps > 0:
            rate = steps / seconds
            parts.append(f"{rate:,.0f} a second" if rate >= 1 else f"{60 * rate:,.0f} a minute")
            if total is not None and total > done:
                parts.append(f"{_duration((total - done) / rate)} left")
        self.show(" · ".join(parts))

    def note(self, text: str) -> None:
        self._erase()
        note(text)

    def _erase(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
