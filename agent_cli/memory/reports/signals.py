"""The person's days: figures (tasks due, streaks of days, tool calls), and the present day in lines.

Past days have summaries. Each figure is a query without stored counts, so none needs a model, and all include the last
message. They stay fast with a million rows, because ids sort by time and are indexed. A day is that of the local clock
at the time of the row.
"""

from datetime import UTC, date, datetime, time, timedelta

from agent_cli import clock, text
from agent_cli.memory.conversations import sessions
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.text import one_line
from agent_cli.values import frozen

PERIOD = timedelta(days=30)  # in which calls are counted
_TASKS_NAMED = 5  # tasks that are named by their handles
_FURTHEST = timedelta(hours=14)  # the largest offset from UTC

# Of a day: messages of the person, and completed tasks that are not erased.
_SAID = """from said where uid >= ?1 and uid < ?2 and date(at, utc_offset || ' minutes') = ?3 and owner = ?4
    and role = 'user'"""
_DONE = """from event e join task t on t.id = cast(substr(e.subject, 2) as integer)
    where e.uid >= ?1 and e.uid < ?2 and date(e.at, e.utc_offset || ' minutes') = ?3 and t.owner = ?4
    and e.kind = 'task done'"""


@frozen
class Due:
    """Ids of open tasks that are overdue or due later today, the longest overdue first, and the number of all."""

    overdue: tuple[int, ...]
    today: tuple[int, ...]
    open: int


@frozen
class Calls:
    """How often a tool was called; the most used comes first."""

    tool: str
    allowed: int
    refused: int


@frozen
class Signals:
    turns_today: int
    days_said: int  # consecutive days with a message of the person
    days_done: int  # consecutive days with a completed task
    due: Due
    calls: tuple[Calls, ...]


def read(db: Database, owner: str, now: datetime, since: datetime) -> Signals:
    """All figures. `since`: the start of the time in which calls are counted."""
    today = now.date()
    night = datetime.combine(today + timedelta(days=1), time(), now.tzinfo)
    open_tasks = "from task where owner = ?1 and state = 'open' and hidden_at is null"
    due = db.rows(
        f"""select id, due_at < ?2 {open_tasks} and due_at is not null and due_at < ?3 order by due_at, id""",
        (owner, clock.utc(now), clock.utc(night)),
    )
    calls = db.rows(
        """select e.subject, sum(e.kind like 'call allowed%') as allowed, sum(e.kind like 'call refused%')
           from event e join session s on s.id = e.session_id
           where e.uid >= ?1 and e.kind like 'call %' and s.owner = ?2
                 and e.kind not in ('call unknown', 'call invalid')
           group by e.subject order by allowed desc, e.subject""",
        (ids.lowest(since), owner),
    )
    overdue, later = (tuple(id for id, late in due if bool(late) is is_late) for is_late in (True, False))
    return Signals(
        db.value(f"select count(*) {_SAID}", (*_day_bounds(today), owner)),
        _streak(db, _SAID, owner, today),
        _streak(db, _DONE, owner, today),
        Due(overdue, later, db.value(f"select count(*) {open_tasks}", (owner,))),
        tuple(Calls(*row) for row in calls),
    )


def _day_bounds(day: date) -> tuple[str, str, str]:
    """The lowest and highest id of a day in any time zone, and the day itself."""
    begins = datetime.combine(day, time(), UTC)
    return ids.lowest(begins - _FURTHEST), ids.lowest(begins + timedelta(days=1) + _FURTHEST), day.isoformat()


def _streak(db: Database, rows: str, owner: str, today: date) -> int:
    """The number of consecutive days with rows, up to today, or up to yesterday while nothing has happened today."""

    def has_some(day: date) -> bool:
        return bool(db.value(f"select 1 {rows} limit 1", (*_day_bounds(day), owner)))

    last = day = today if has_some(today) else today - timedelta(days=1)
    while has_some(day):
        day -= timedelta(days=1)
    return (last - day).days


def format_lines(found: Signals) -> list[str]:
    def in_a_row(days: int) -> str:
        return f"{text.counted(days, 'day')} in a row"

    lines = []
    if found.days_said:
        lines.append(f"{text.counted(found.turns_today, 'question')} today; in use {in_a_row(found.days_said)}")
    if found.due.open:
        parts = [f"{found.due.open} open"]
        for name, tasks in ("overdue", found.due.overdue), ("due today", found.due.today):
            named = [ids.handle("task", id) for id in tasks[:_TASKS_NAMED]] + ["…"] * (len(tasks) > _TASKS_NAMED)
            parts += [f"{len(tasks)} {name} ({' '.join(named)})"] if tasks else []
        lines.append(f"tasks: {', '.join(parts)}")
    if found.days_done:
        lines.append(f"a task was done {in_a_row(found.days_done)}")
    if found.calls:
        tools = [
            f"{each.tool} {each.allowed}" + f" ({each.refused} refused)" * bool(each.refused) for each in found.calls
        ]
        lines.append(f"tools in {PERIOD.days} days: {', '.join(tools)}")
    return lines


_MOST = 12  # lines of a kind
_WIDE = 120  # characters of a line

# What is told of a day beside the sessions: the kind of row, and (id, words) of each, the newest first.
_OF_DAY = {
    "noted": (
        "note",
        """select id, iif(title = '', text, title) from note where owner = :owner and hidden_at is null
           and changed_at >= :since and changed_at < :until order by changed_at desc, id desc""",
    ),
    "learned": (
        "fact",
        """select id, statement from fact where owner = :owner and state = 'accepted' and hidden_at is null
           and decided_at >= :since and decided_at < :until order by id desc""",
    ),
    "done": (
        "task",
        """select id, text from task where owner = :owner and hidden_at is null
           and done_at >= :since and done_at < :until order by done_at desc""",
    ),
    "due": (  # by the end of the day, the longest overdue first
        "task",
        """select id, text, iif(due_at < :since, ' (overdue)', '') from task
           where owner = :owner and state = 'open' and hidden_at is null and due_at < :until order by due_at""",
    ),
    "planned": (  # made today, and not due today
        "task",
        """select id, text from task where owner = :owner and state = 'open' and hidden_at is null
           and at >= :since and at < :until and (due_at is null or due_at >= :until) order by id desc""",
    ),
}


def format_day(db: Database, owner: str, now: datetime) -> str:
    """The lines of the day, the newest of each kind first; empty when nothing happened."""
    begin = datetime.combine(now.date(), time(), now.tzinfo)
    day = {"owner": owner, "since": clock.utc(begin), "until": clock.utc(begin + timedelta(days=1))}
    # Each session with its name and number of messages, scheduled runs and side questions included.
    spoken = db.rows(
        """select session_id, count(*) from said
           where owner = :owner and role = 'user' and at >= :since and at < :until
             and session_id in (select id from session where owner = :owner and last_at >= :since and hidden_at is null)
           group by session_id order by max(id) desc""",
        day,
    )
    named = [(sessions.get(db, id, owner), count) for id, count in spoken]
    found = {
        "said": [
            f"{each.handle} “{one_line(sessions.name(db, each), _WIDE)}” ({text.counted(count, 'message')})"
            for each, count in named
        ]
    }
    for name, (kind, query) in _OF_DAY.items():
        found[name] = [
            f"{ids.handle(kind, id)} {one_line(words, _WIDE)}{''.join(more)}"
            for id, words, *more in db.rows(query, day)
        ]
    lines = []
    for name, rows in found.items():
        more = [f"and {len(rows) - _MOST} more"] if len(rows) > _MOST else []
        lines += [f"{name}: {'; '.join([*rows[:_MOST], *more])}"] if rows else []
    return "\n".join(lines)
