"""When a task is due, and how a moment is said. Apart from due_times.py, which reads words for times."""

from datetime import datetime, timedelta

from agent_cli.values import frozen


@frozen
class DueTime:
    """The first moment, in its zone; for a repetition also the rule and its start in local time."""

    due: datetime
    words: str
    zone: str
    repeats: str = ""
    starts: str = ""


def format_moment(moment: datetime, now: datetime) -> str:
    """As in Friday 27 Nov 2026, 15:00; with seconds when it is less than two minutes away."""
    near = abs(moment - now) < timedelta(minutes=2) and moment.second
    return f"{moment:%A} {moment.day} {moment:%b %Y, %H:%M}{f':{moment.second:02}' if near else ''}"
