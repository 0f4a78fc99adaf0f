"""Printing to standard output and standard error. All text passes through `clean` here.

At a terminal it is wrapped between words, tables are drawn, and notes begin with the sign of their role. In a pipe the
lines stay as they are: what reads them must not depend on a window.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TextIO

from agent_cli.errors import AgentError
from agent_cli.text import clean, clean_value

if TYPE_CHECKING:
    from agent_cli.render.styles import Display, LineRole

_color: Literal["auto", "always", "never"] = "auto"
_plain = False
_MANY = 20  # notes of one kind


def set_look(color: Literal["auto", "always", "never"], *, plain: bool) -> None:
    """How to print from now on, as the options before the command say."""
    global _color, _plain
    _color, _plain = color, plain


def look(stream: TextIO) -> "Display | None":
    """What is drawn on a stream that is a terminal; None in a pipe, where lines stay as they are."""
    if not stream.isatty():
        return None
    from agent_cli.render import styles  # a pipe needs none of it

    return styles.detect(stream, os.environ, _color, plain=_plain)


def say(text: str = "") -> None:
    """Print lines on standard output."""
    sys.stdout.write(_formatted(text, sys.stdout) + "\n")


def note(text: str, role: "LineRole | None" = None) -> None:
    """Print a line on standard error: after the sign of its role, in a pipe after the name of the program."""
    if display := look(sys.stderr):
        from agent_cli.render.reply_lines import announced  # a pipe needs none of it

        _write_stderr(announced(text, display, role))
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
    return json.dumps(clean_value(value), ensure_ascii=False, indent=2)


def put_json_line(value: Any) -> None:
    """Print a value as one line of JSON, its texts cleaned, and flush it."""
    sys.stdout.write(json.dumps(clean_value(value), ensure_ascii=False) + "\n")
    sys.stdout.flush()


def note_empty(text: str) -> None:
    """Say at a terminal that there is nothing to show. A program knows it from an output without lines."""
    if sys.stdout.isatty():
        note(text)


def listing(rows: Iterable[dict[str, Any]], columns: Iterable[str], *, as_json: bool, empty: str) -> None:
    """Print rows as a table of these columns, the last one as wide as it is, or as one JSON array of objects.

    The headings, and `empty` where there are no rows, are shown at a terminal alone.
    """
    rows = list(rows)
    if as_json:
        put_json(rows)
        return
    if not rows:
        note_empty(empty)
        return
    columns = list(columns)
    cells = [
        [" ".join(clean(str(row.get(name) if row.get(name) is not None else "")).split()) for name in columns]
        for row in rows
    ]
    display = look(sys.stdout)
    if display and display.wrap:
        from agent_cli.render import layout

        print(layout.table([name.replace("_", " ") for name in columns], cells, display))
    else:
        for line in _columns(cells):
            say(line)


def tree(lines: Sequence[tuple[int, str]]) -> None:
    """Print (depth, line) as indented lines, at a terminal as a tree."""
    display = look(sys.stdout)
    if lines and display and display.wrap:
        from agent_cli.render import layout

        print(layout.tree([(depth, clean(line)) for depth, line in lines], display))
    else:
        for depth, line in lines:
            say("  " * depth + line)


def _columns(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    widths = [max((len(line[n]) for line in rows), default=0) for n in range(len(rows[0]) - 1)] if rows else []
    for line in rows:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        yield "  ".join([*cells, line[-1]]).rstrip()


def fail(error: AgentError) -> NoReturn:
    """Print the error and exit with its code.

    A sentence goes to standard error, or with --json an object to standard output.
    """
    if as_json():
        kind = {"type": "error"} if "--stream-json" in sys.argv else {}
        put_json_line({"schema": 1, **kind, "error": {"code": error.code, "message": str(error)}})
    else:
        note(str(error), _failed() if sys.stderr.isatty() else None)
    sys.exit(error.exit_code)


def as_json() -> bool:
    """Whether errors are printed as JSON; arguments after `--` are words, not options."""
    options = sys.argv[: sys.argv.index("--")] if "--" in sys.argv else sys.argv
    return "--json" in options or "--stream-json" in options


def _failed() -> "LineRole":
    from agent_cli.render.styles import FAILED  # a pipe needs none of it

    return FAILED
