"""Printing to standard output and standard error. All text passes through `clean` here."""

import json
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

from agent_cli.errors import AgentError
from agent_cli.text import clean, clean_value


def say(text: str = "") -> None:
    """Print a line on standard output."""
    sys.stdout.write(clean(text) + "\n")


def note(text: str) -> None:
    """Print a line on standard error, after the name of the program."""
    write_stderr(f"agent: {text}")


def write_stderr(text: str) -> None:
    """Print lines on standard error, without the name of the program."""
    sys.stdout.flush()
    sys.stderr.write(clean(text) + "\n")
    sys.stderr.flush()


def write(text: str) -> None:
    """Print a text on standard output; no line end is added."""
    sys.stdout.write(clean(text))


def put_json(value: Any) -> None:
    """Print a value as indented JSON, its texts cleaned."""
    sys.stdout.write(json.dumps(clean_value(value), ensure_ascii=False, indent=2) + "\n")


def put_json_line(value: Any) -> None:
    """Print a value as one line of JSON, its texts cleaned, and flush it."""
    sys.stdout.write(json.dumps(clean_value(value), ensure_ascii=False) + "\n")
    sys.stdout.flush()


def listing(rows: Iterable[dict[str, Any]], columns: Iterable[str], *, as_json: bool) -> None:
    """Print rows as a table of these columns, the last one as wide as it is, or as one JSON array of objects."""
    rows = list(rows)
    if as_json:
        put_json(rows)
        return
    columns = list(columns)
    table = [
        [" ".join(clean(str(row.get(name) if row.get(name) is not None else "")).split()) for name in columns]
        for row in rows
    ]
    widths = [max((len(line[n]) for line in table), default=0) for n in range(len(columns) - 1)]
    for line in table:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        say("  ".join([*cells, line[-1]]).rstrip())


def fail(error: AgentError) -> NoReturn:
    """Print the error and exit with its code.

    A sentence goes to standard error, or with --json an object to standard output.
    """
    if as_json():
        kind = {"type": "error"} if "--stream-json" in sys.argv else {}
        put_json_line({"schema": 1, **kind, "error": {"code": error.code, "message": str(error)}})
    else:
        note(str(error))
    sys.exit(error.exit_code)


def as_json() -> bool:
    """Whether errors are printed as JSON; arguments after `--` are words, not options."""
    options = sys.argv[: sys.argv.index("--")] if "--" in sys.argv else sys.argv
    return "--json" in options or "--stream-json" in options
