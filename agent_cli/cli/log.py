"""`agent log` and `agent stats`: what has happened, and what the answers took."""

import re
import select
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, NoReturn

import typer

from agent_cli import clock, text
from agent_cli.app.app import App
from agent_cli.cli import output
from agent_cli.cli.invocation import AsJson, Invocation, LimitOption, parse_moment
from agent_cli.errors import UsageError
from agent_cli.memory.reports import records, signals
from agent_cli.store import events, ids
from agent_cli.values import frozen

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_DEFAULT_LIMIT = 50  # rows, without --since, --after and --limit
_ALL = 1 << 60
_PAGE = 1000
_PAUSE = 0.3  # seconds between checks for new rows
_AGE = re.compile(r"(\d{1,6}) ?(min|h|d|w)")
_UNITS = {"min": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_ARGUMENTS_WIDTH = 100  # characters shown
_STOPPED, _OUTPUT_CLOSED = 130, 141  # exit codes

LogRow = dict[str, Any]


@frozen
class _Log:
    """One of the two logs. `read(after, limit)`: the first rows after a number; without a number the newest ones."""

    read: Callable[[int | None, int], list[LogRow]]
    number: Callable[[LogRow], int]  # by which rows are ordered
    format: Callable[[LogRow], str]
    after: int | None  # show the first rows after this number; None: the newest ones
    start: int | None  # the number before the first row that may be shown
    latest: Callable[[], int]
    default_limit: int = _DEFAULT_LIMIT


@app.command()
def log(
    context: typer.Context,
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", help="Only kinds that begin so, as in call; may be given again."),
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", help="A day or a time, or how long ago: 30min, 2h, 3d, 1w.")
    ] = None,
    after: Annotated[str | None, typer.Option("--after", help="Only what came after this one, as in e120.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Show at most this many.")] = None,
    calls: Annotated[
        bool, typer.Option("--calls", help="What the tools were asked to do, and what came of it.")
    ] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Keep printing what is new, until Ctrl-C.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on each line.")] = False,
) -> None:
    """Show what has happened, newest last: what was allowed, written, decided, forgotten."""
    if calls and kind:
        raise UsageError("--kind is about events, and --calls shows none: leave one of them out")
    app_: App = context.obj.app()
    start = _since(since, app_.time()) if since else None
    source = _calls(app_, start, after) if calls else _events(app_, kind or [], start, after)
    last = source.start
    for row in _selected(source, limit):
        _print(source, row, as_json=as_json)
        last = max(last or 0, source.number(row))
    if last == source.start and not follow:
        _note_unknown_kinds(context.obj, app_, kind or [])
        if not as_json:
            limited = kind or since or after or calls
            output.note_empty("there are no such events" if limited else "there are no events")
    if follow:
        _follow(app_, source, source.latest() if last is None else last, as_json=as_json)


def _note_unknown_kinds(invocation: Invocation, app_: App, wanted: list[str]) -> None:
    """For a kind that no event has, list the kinds there are."""
    known = events.kinds(app_.db)
    for each in wanted:
        if known and not any(kind.startswith(each) for kind in known):
            invocation.note(f"there is no event of a kind that begins with {each!r}; there are {', '.join(known)}")


def _events(app_: App, kinds: list[str], since: datetime | None, after: str | None) -> _Log:
    number = ids.number("event", after) if after else None
    first = events.last_before(app_.db, since) if since else None
    return _Log(
        lambda past, most: events.listing(app_.db, most, kinds, since, past),
        lambda row: ids.number("event", row["id"]),
        events.format_line,
        number,
        max((each for each in (number, first) if each is not None), default=None),
        lambda: events.latest_number(app_.db),
    )


def _calls(app_: App, since: datetime | None, after: str | None) -> _Log:
    number = ids.number("message", after) if after else None
    return _Log(
        lambda past, most: records.tool_calls(app_.db, app_.scope.owner, most, since, past),
        lambda row: ids.number("message", row["result"] or row["asked_in"]),
        _call_line,
        number,
        number,
        lambda: records.newest_message(app_.db),
        _ALL if since else _DEFAULT_LIMIT,
    )


def _selected(source: _Log, limit: int | None) -> Iterator[LogRow]:
    """The newest rows, or all from a time or number on, read page by page so that a long log fits in memory."""
    if limit or source.start is None:
        yield from source.read(source.after, limit or source.default_limit)
        return
    last = source.start
    while rows := source.read(last, _PAGE):
        yield from rows
        last = max(map(source.number, rows))


def _follow(app_: App, source: _Log, last: int, *, as_json: bool) -> NoReturn:
    """Print new rows, of this and other processes, until the output is closed or Ctrl-C."""
    reader = select.poll()
    reader.register(sys.stdout, 0)  # reports only that the reader has gone
    seen = None
    try:
        while True:
            sys.stdout.flush()
            if seen != (seen := app_.db.change_counter()):
                while rows := source.read(last, _PAGE):
                    for row in rows:
                        _print(source, row, as_json=as_json)
                        last = max(last, source.number(row))
                continue
            if any(state & (select.POLLERR | select.POLLHUP) for _, state in reader.poll(0)):
                sys.exit(_OUTPUT_CLOSED)
            time.sleep(_PAUSE)
    except KeyboardInterrupt:
        sys.exit(_STOPPED)


def _print(source: _Log, row: LogRow, *, as_json: bool) -> None:
    if not as_json:
        output.say(source.format(row))
        return
    shown = {name: value for name, value in row.items() if name != "utc_offset"}
    output.put_json_line({**shown, "session": _session(row) or None})


def _call_line(row: LogRow) -> str:
    arguments = "" if row["arguments"] == "{}" else text.one_line(row["arguments"], _ARGUMENTS_WIDTH)
    head = f"{row['result'] or '-':>7}  {_when(row)}  {_session(row):<6} {row['tool']:<14} {row['outcome']:<9} "
    return f"{head}{arguments}".rstrip()


def _when(row: LogRow) -> str:
    return f"{clock.local(row['at'], row['utc_offset']):%Y-%m-%d %H:%M:%S}"


def _session(row: LogRow) -> str:
    return ids.handle("session", row["session"]) if row["session"] else ""


def _since(typed: str, now: datetime) -> datetime:
    age = _AGE.fullmatch(typed.strip())
    if age is None:
        try:
            return parse_moment(typed, now)
        except UsageError as error:
            raise UsageError(f"{typed!r} is not a time: write it like 2026-11-20, 2h or 3d") from error
    try:
        return max(now - timedelta(**{_UNITS[age[2]]: int(age[1])}), datetime(1970, 1, 2, tzinfo=now.tzinfo))
    except OverflowError as error:
        raise UsageError(f"{typed!r} is too long ago") from error


stats_app = typer.Typer(add_completion=False, rich_markup_mode=None)

_COLUMNS = ("answers", "tokens_in", "tokens_out", "seconds", "cost")
_BARS = " "  # the heading of the bars
_BAR = 16  # cells


class GroupBy(StrEnum):
    day = "day"
    model = "model"
    session = "session"
    turn = "turn"


@stats_app.command()
def stats(
    context: typer.Context,
    per: Annotated[GroupBy, typer.Option("--per", help="What to count by.")] = GroupBy.day,
    days: Annotated[
        bool, typer.Option("--signals", help="Only what is due, days in a row, and what the tools did.")
    ] = False,
    limit: LimitOption = 30,
    as_json: AsJson = False,
) -> None:
    """Count tokens, time and cost of the answers, by day, model, session or turn; say what is due."""
    app_ = context.obj.app()
    owner, now = app_.scope.owner, app_.time()
    if not days:
        at_terminal = output.look(sys.stdout)
        rows = records.token_usage(app_.db, owner, per.value, limit)
        columns: tuple[str, ...] = (per.value, *_COLUMNS)
        heading = (
            [{name: name.replace("_", " ") for name in columns}] if rows and not as_json and not at_terminal else []
        )
        if at_terminal and not at_terminal.screen_reader:
            rows, columns = _with_bars(rows), (*columns, _BARS)
        output.listing([*heading, *rows], columns, as_json=as_json, empty="there are no answers to count")
        if as_json:
            return
    found = signals.read(app_.db, owner, now, now - signals.PERIOD)
    if as_json:
        due = {name: [ids.handle("task", id) for id in getattr(found.due, name)] for name in ("overdue", "today")}
        output.put_json({**asdict(found), "due": {**due, "open": found.due.open}})
    else:
        lines = signals.format_lines(found)
        for line in ["", *lines] if lines and not days else lines:
            output.say(line)


def _with_bars(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with a bar each: its tokens beside those of the row that took most."""
    from agent_cli.render.styles import bar  # a pipe needs none of it

    tokens = [row["tokens_in"] + row["tokens_out"] for row in rows]
    most = max([1, *tokens])
    return [{**row, _BARS: bar(count / most, _BAR)} for row, count in zip(rows, tokens, strict=True)]
