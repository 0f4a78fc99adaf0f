"""What is to be done: overdue first, each with its time in the words of a calendar."""

from collections.abc import Sequence
from datetime import datetime

from agent_cli import clock
from agent_cli.memory.dates import zones
from agent_cli.memory.planner.tasks import Task
from agent_cli.render.layout import cell_width, wrap
from agent_cli.render.styles import DIM, NEEDS_YOU, Display
from agent_cli.text import clean, one_line

_NARROW = 24  # cells beside the times below which a task stands below its time


def page(tasks: Sequence[Task], now: datetime, display: Display) -> str:
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
