"""Facts, sessions, tasks, events and the tokens of answers, as lists for a terminal."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from agent_cli import clock
from agent_cli.memory.conversations.sessions import ONE_SHOTS
from agent_cli.memory.dates import zones
from agent_cli.memory.facts.facts import Fact
from agent_cli.memory.planner.tasks import Task
from agent_cli.render.layout import cell_width, wrap
from agent_cli.render.styles import BOLD, DIM, NEEDS_YOU, Display, bar
from agent_cli.store import ids
from agent_cli.text import clean, counted, one_line

_YOU = "You"
_PERSON = ("", "person")  # subjects of facts about the person


def facts_page(rows: Sequence[tuple[Fact, str]], display: Display) -> str:
    """Facts with their words as shown, under their subjects; in each the order stays."""
    lines: list[str] = []
    handles = max((len(fact.handle) for fact, _ in rows), default=0)
    for subject, group in _by_subject(rows):
        lines += ["", display.styled(clean(subject), BOLD)]
        for fact, words in group:
            indent = 2 + handles + 2 + len(fact.day) + 2
            first, *rest = wrap(clean(words), max(20, display.width() - 2 - indent)).split("\n")
            lines.append(f"  {fact.handle:<{handles}}  {display.styled(fact.day, DIM)}  {first}")
            lines += [" " * indent + line for line in rest]
    return "\n".join(lines[1:])


def _by_subject(rows: Sequence[tuple[Fact, str]]) -> Iterable[tuple[str, list[tuple[Fact, str]]]]:
    """(subject, its facts): the person first, then in the order of their first facts."""
    place: dict[str, int] = {_YOU: -1}
    for n, (fact, _) in enumerate(rows):
        place.setdefault(_subject(fact), n)
    ordered = sorted(rows, key=lambda row: place[_subject(row[0])])
    return [(subject, list(group)) for subject, group in groupby(ordered, lambda row: _subject(row[0]))]


def _subject(fact: Fact) -> str:
    return _YOU if fact.subject in _PERSON else fact.subject


_APART = {"ask": "Asked on their own", "schedule": "Run by a schedule", "trial": "Tried"}


def sessions_page(rows: Sequence[Mapping[str, Any]], now: datetime) -> str:
    """Rows of `sessions.listing`, aligned, below a heading for each kind that is no conversation."""
    width = max((len(last_said(row, now)) for row in rows), default=0)
    lines = [session_line(row, now, width) for row in rows if row["kind"] not in ONE_SHOTS]
    for kind in ONE_SHOTS:
        apart = [session_line(row, now, width) for row in rows if row["kind"] == kind]
        lines += [*([""] if lines and apart else []), *([f"{_APART[kind]}:"] if apart else []), *apart]
    return "\n".join(lines)


def session_line(row: Mapping[str, Any], now: datetime, width: int = 0) -> str:
    """`s4     today, 14:05   3 turns  Router in the attic`."""
    return f"{row['id']:<6} {last_said(row, now):<{width}}  {counted(row['turns'], 'turn'):>8}  {row['title']}"


def last_said(row: Mapping[str, Any], now: datetime) -> str:
    """When something was last said: `today, 14:05`, `Fri 20 Nov, 15:00`, with the year where it is another one."""
    at = clock.local(row["last_at"], clock.offset(now))
    near = {-1: "yesterday", 0: "today"}.get((at.date() - now.date()).days)
    day = near or f"{at:%a} {at.day} {at:%b}{f' {at.year}' if at.year != now.year else ''}"
    return f"{day}, {at:%H:%M}"


_NARROW = 24  # cells beside the times below which a task stands below its time


def tasks_page(tasks: Sequence[Task], now: datetime, display: Display) -> str:
    """The tasks in aligned lines, those that are overdue before the others."""
    ordered = sorted(tasks, key=lambda task: not _is_overdue(task, now))
    times = [_time(task, now) for task in ordered]
    handles, width = max(len(task.handle) for task in ordered), max(map(cell_width, times))
    lines: list[str] = []
    for task, time in zip(ordered, times, strict=True):
        style = NEEDS_YOU.style if _is_overdue(task, now) else DIM
        lead = f"{task.handle:<{handles}}  {display.styled(time, style)}"
        indent = handles + 2 + width + 2
        if display.width() - 2 - indent < _NARROW:
            lines, indent = [*lines, lead], 4
            lead = ""
        else:
            lead += " " * (width - cell_width(time) + 2)
        first, *rest = wrap(_text(task), display.width() - 2 - indent).split("\n")
        lines += [(lead or " " * indent) + first, *(" " * indent + line for line in rest)]
    return "\n".join(lines)


def _is_overdue(task: Task, now: datetime) -> bool:
    return task.state == "open" and task.comes_up is not None and task.comes_up <= clock.utc(now)


def _time(task: Task, now: datetime) -> str:
    """When it comes up, without seconds: `overdue since Friday, 15:00`, `today, 15:00`, `Fri 27 Nov, 15:00`."""
    if task.state == "done":
        return "done"
    if task.comes_up is None:
        return "any time"
    at = datetime.fromisoformat(task.comes_up).astimezone(zones.get(task.zone, now))
    days = (at.date() - now.date()).days
    near = {-1: "yesterday", 0: "today", 1: "tomorrow"}.get(days)
    day = near or f"{at:%a} {at.day} {at:%b}{f' {at.year}' if at.year != now.year else ''}"
    return f"{'overdue: ' if _is_overdue(task, now) else ''}{day}, {at:%H:%M}"


def _text(task: Task) -> str:
    repeats = f" ({one_line(task.due_words, 60)})" if task.repeats else ""
    return clean(f"{task.name}{repeats}")


_COLUMNS = ("id", "when", "what", "which", "by")


def log_page(rows: Sequence[Mapping[str, Any]], display: Display) -> str:
    """Rows of `events.listing`; the year is shown where they are of several."""
    from agent_cli.render import drawing  # imports rich, which the first prompt must not wait for

    times = [clock.local(row["at"], row["utc_offset"]) for row in rows]
    form = "%m-%d %H:%M" if len({at.year for at in times}) == 1 else "%Y-%m-%d %H:%M"
    cells = [
        (row["id"], f"{at:{form}}", row["kind"], _which(row), row["actor"]) for row, at in zip(rows, times, strict=True)
    ]
    return drawing.table(_COLUMNS, cells, display)


def _which(row: Mapping[str, Any]) -> str:
    session = ids.handle("session", row["session"]) if row["session"] else ""
    return row["subject"] if session in ("", row["subject"]) else f"{row['subject']} in {session}".strip()


_BAR = 16  # cells


def stats_page(rows: Sequence[dict[str, Any]], display: Display) -> str:
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
