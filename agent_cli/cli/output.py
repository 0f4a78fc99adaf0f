"""What goes to standard output and standard error. Everything passes through `clean` here."""

import json
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

from agent_cli.errors import AgentError
from agent_cli.text import clean, clean_value


def say(text: str = "") -> None:
    """A line of the answer to what was asked."""
    sys.stdout.write(clean(text) + "\n")


def note(text: str) -> None:
    """A line beside it."""
    aside(f"agent: {text}")


def aside(text: str) -> None:
    """Lines that were asked for beside the answer."""
    sys.stdout.flush()
    sys.stderr.write(clean(text) + "\n")
    sys.stderr.flush()


def write(text: str) -> None:
    """A text that brings its own line ends."""
    sys.stdout.write(clean(text))


def put(value: Any) -> None:
    """A value as JSON, its texts cleaned."""
    sys.stdout.write(json.dumps(clean_value(value), ensure_ascii=False, indent=2) + "\n")


def put_line(value: Any) -> None:
    """A value as one line of JSON, its texts cleaned, for whoever waits for it."""
    sys.stdout.write(json.dumps(clean_value(value), ensure_ascii=False) + "\n")
    sys.stdout.flush()


def listing(rows: Iterable[dict[str, Any]], columns: Iterable[str], *, as_json: bool) -> None:
    """Rows as lines, the columns side by side (the last may be long), or as one array of objects."""
    rows = list(rows)
    if as_json:
        put(rows)
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
    """One sentence on standard error, or under --json one object on standard output, and the exit code."""
    if as_json():
        last = {"type": "error"} if "--stream-json" in sys.argv else {}
        put_line({"schema": 1, **last, "error": {"code": error.code, "message": str(error)}})
    else:
        note(str(error))
    sys.exit(error.exit_code)


def as_json() -> bool:
    """Whether an error is read by a program. What stands behind `--` is a word."""
    options = sys.argv[: sys.argv.index("--")] if "--" in sys.argv else sys.argv
    return "--json" in options or "--stream-json" in options
