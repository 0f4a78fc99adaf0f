"""Tasks, and the reminders of them: shown when due, by the one program that marks them in the file, and again after an
interval until the task is done or snoozed. Times of a repeating task that were missed are shown once, with their
number."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, tzinfo
from typing import Any, Literal

from agent_cli import clock, text
from agent_cli.errors import UsageError
from agent_cli.memory import lineage
from agent_cli.memory.dates import moments
from agent_cli.memory.language import terms
from agent_cli.memory.planner import rows
from agent_cli.memory.scope import Scope
from agent_cli.messages import Origin
from agent_cli.store import events, ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

MAX_LENGTH = 1000  # characters; a longer text is a note
_ON_TIME = timedelta(minutes=2)  # a later reminder says when it was due
_NOT_REMINDED: dict[str, Any] = {"snoozed_to": None, "reminded": 0, "reminded_at": None}
_AT = "max(due_at, coalesce(snoozed_to, ''))"  # when it comes up
_OPEN = "owner = :owner and state = 'open' and hidden_at is null and due_at is not null"

Verb = Literal["done", "reopen", "rm", "restore"]


@frozen
class Task(ids.Handled):
    kind = "task"
    id: int
    owner: str
    text: str
    due_words: str
    due_at: str | None
    zone: str
    repeats: str
    starts: str
    state: str
    snoozed_to: str | None
    reminded_at: str | None
    reminded: int
    done_at: str | None
    origin: str
    at: str
    utc_offset: int
    hidden_at: str | None

    @property
    def name(self) -> str:
        return text.one_line(text.visible(self.text), 100)

    @property
    def comes_up(self) -> str | None:
        """When it is due, or snoozed to, as stored."""
        return max(self.due_at, self.snoozed_to or "") if self.due_at else None

    def describe(self) -> dict[str, Any]:
        names = ("due_at", "zone", "repeats", "state", "snoozed_to", "done_at", "origin", "at")
        first = {"id": self.handle, "text": self.text, "when": self.due_words}
        return first | {name: getattr(self, name) for name in names} | {"hidden": self.hidden_at is not None}


_COLUMNS = ", ".join(Task.__annotations__).replace("due_words", "told")


@frozen
class Reminder:
    """A reminder to show now: when the task fell due, how many times, and whether for the first time."""

    task: Task
    due: datetime
    times: int
    first: bool


def add(
    db: Database,
    scope: Scope,
    words: str,
    due_time: moments.DueTime | None,
    time: clock.Clock,
    *,
    origin: Origin = "typed",
    session: int | None = None,
    message: int | None = None,
) -> Task:
    """Add a task, with or without a due time. Raises UsageError when it is empty or too long."""
    now, words = time(), _clean_text(words)
    columns = {"session_id": session, "message_id": message, "origin": origin, "text": words, **_stored(due_time)}
    columns["changed_at"] = clock.utc(now)
    id = rows.insert(db, "task", scope, now, "added", words, actor=events.actor_of(origin), **columns)
    return get(db, id, scope.owner)


def get(db: Database, id: int, owner: str) -> Task:
    return Task(*rows.get(db, "task", _COLUMNS, id, owner))


def named(db: Database, owner: str, handles: Iterable[str]) -> list[Task]:
    return [get(db, ids.number("task", each), owner) for each in dict.fromkeys(handles)]


def change(
    db: Database, owner: str, verb: Verb, handles: Iterable[str], time: clock.Clock, command: str
) -> Iterator[str]:
    """Change tasks one by one, each with the line that says so. `command`: what is typed before a verb."""
    for task in named(db, owner, handles):
        match verb:
            case "done":
                done = complete(db, task, time)
                following = f"; {format_due(done, time())}" if done.state == "open" else ""
                yield f"done {task.handle} “{task.name}”{following}"
            case "reopen":
                yield f"open again: {receipt(reopen(db, task, time), time())}"
            case "rm":
                hide(db, task, time)
                yield f"hidden {task.handle} “{task.name}” ({command} restore {task.handle})"
            case "restore":
                restore(db, task, time)
                yield f"restored {task.handle} “{task.name}”"


def listing(
    db: Database, owner: str, which: Literal["open", "done", "all", "hidden"] = "open", limit: int = -1
) -> list[Task]:
    """Open tasks as they come up, those without a time last; done tasks, the latest first; all: open ones first."""
    wanted = {"open": "state = 'open'", "done": "state = 'done'"}.get(which, "1")
    query = f"""select {_COLUMNS} from task where owner = ? and {wanted} and (hidden_at is not null) = ?
                order by state = 'done', iif(state = 'done', null, due_at is null), iif(state = 'done', null, {_AT}),
                  done_at desc, id limit ?"""
    return [Task(*row) for row in db.rows(query, (owner, which == "hidden", limit))]


def same(db: Database, owner: str, words: str, due_time: moments.DueTime | None) -> Task | None:
    """The open task that is due at the same moment and says all of this, or more."""
    said, due_at = {*terms.content_words(words)}, clock.utc(due_time.due) if due_time else None
    found = (each for each in listing(db, owner) if said and each.due_at == due_at)
    return next((each for each in found if said <= {*terms.content_words(each.text)}), None)


def due(db: Database, owner: str, now: datetime, until: datetime | None = None) -> list[Task]:
    """Open tasks due by now, or by `until`, and not snoozed beyond; the earliest first."""
    query = f"select {_COLUMNS} from task where {_OPEN} and due_at <= :now and {_AT} <= :now order by {_AT}, id"
    return [Task(*row) for row in db.rows(query, {"owner": owner, "now": clock.utc(until or now)})]


def claim_due(db: Database, owner: str, time: clock.Clock, interval: timedelta) -> list[Reminder]:
    """The reminders to show now, the earliest first, marked so that no other program shows them."""
    now = time()

    def ready() -> list[Task]:
        return [each for each in due(db, owner, now) if _reminder_time(each, now, interval) <= now]

    if not ready():
        return []  # without waiting for writers
    with db.write():
        return [_mark_reminded(db, each, time, now) for each in ready()]


def reminded_since(db: Database, owner: str, since: str, now: datetime) -> list[Reminder]:
    """The reminders of tasks that are still due and were marked as shown since this moment, as stored."""
    found = [each for each in due(db, owner, now) if (each.reminded_at or "") >= since]
    return [Reminder(each, _local(each.comes_up or "", moments.get_zone(each.zone, now)), 1, True) for each in found]


def complete(db: Database, task: Task, time: clock.Clock, *, actor: str = "person") -> Task:
    """Mark it done, or move a repeating one to its next time. Raises UsageError when it is done or hidden already."""
    if task.state == "done" or task.hidden_at:
        raise UsageError(f"{task.handle} is {'done' if task.state == 'done' else 'hidden'} already")
    now, columns = time(), {"state": "done"}
    if task.repeats and task.due_at:
        rules, since = moments.get_zone(task.zone, now), max(now, datetime.fromisoformat(task.due_at))
        if following := moments.next_after(task.repeats, task.starts, rules, since):
            columns = _moved(following)
    return _change(db, task, "done", time, actor=actor, done_at=clock.utc(now), **columns)


def reopen(db: Database, task: Task, time: clock.Clock) -> Task:
    """Raises UsageError when it is open."""
    if task.state == "open":
        raise UsageError(f"{task.handle} is open already")
    return _change(db, task, "reopened", time, state="open", done_at=None, reminded=0, reminded_at=None)


def snooze(db: Database, task: Task, until: datetime, time: clock.Clock) -> Task:
    """Remind of it at `until` and not before, or raise UsageError; a task without a due time gets this one."""
    if task.state == "done" or task.hidden_at:
        raise UsageError(f"{task.handle} is {'done' if task.state == 'done' else 'hidden'}, so it has no reminder")
    moment = clock.utc(until)
    if task.due_at and max(task.due_at, moment) == task.comes_up:
        due = moments.format_moment(_local(task.comes_up, moments.get_zone(task.zone, time())), time())
        way = "so nothing was changed (`agent tasks edit` sets a time)"
        raise UsageError(f"{task.handle} comes up on {due} in any case, {way}")
    columns: dict[str, Any] = {**_NOT_REMINDED, "snoozed_to": moment} | ({} if task.due_at else {"due_at": moment})
    return _change(db, task, "snoozed", time, **columns)


def edit(db: Database, task: Task, words: str, time: clock.Clock) -> Task:
    words = _clean_text(words)
    return _change(db, task, "changed", time, words=words, text=words)


def move(db: Database, task: Task, due_time: moments.DueTime | None, time: clock.Clock) -> Task:
    return _change(db, task, "moved", time, **_stored(due_time), **_NOT_REMINDED)


def hide(db: Database, task: Task, time: clock.Clock, *, actor: str = "person") -> None:
    """Exclude it from lists and reminders, until `restore`."""
    _change(db, task, "hidden", time, actor=actor, hidden_at=clock.utc(time()))


def restore(db: Database, task: Task, time: clock.Clock, *, actor: str = "person") -> None:
    """Raises UsageError when it is not hidden."""
    if task.hidden_at is None:
        raise UsageError(f"{task.handle} is not hidden")
    _change(db, task, "restored", time, actor=actor, hidden_at=None)


def format_due(task: Task, now: datetime) -> str:
    """Its due time in full, in its zone; empty when it has none."""
    if task.due_at is None:
        return ""
    tz = moments.get_zone(task.zone, now)
    moment = moments.format_moment(_local(task.due_at, tz), now)
    label = "due" if task.due_at <= clock.utc(now) else "next"
    repeats = f"{text.one_line(task.due_words, 60)}, {label} " if task.repeats else ""
    if (task.snoozed_to or "") > max(task.due_at, clock.utc(now)):
        return f"{repeats}{moment} (snoozed until {moments.format_moment(_local(task.snoozed_to or '', tz), now)})"
    return f"{repeats}{moment}"


def receipt(task: Task, now: datetime) -> str:
    """As in t4 “call the dentist”, Friday 27 Nov 2026, 15:00."""
    return ", ".join(filter(None, (f"{task.handle} “{task.name}”", format_due(task, now) or "any time")))


def format_reminder(reminder: Reminder, now: datetime) -> str:
    """As in: reminder t4: call the dentist (due yesterday 15:00)."""
    at, when = reminder.due, ""
    days = (now.astimezone(at.tzinfo).date() - at.date()).days
    if days in (0, 1):
        due = f"{'yesterday ' if days else ''}{at:%H:%M}"
    else:
        due = f"{at:%A %H:%M}" if days < 7 else f"{at.day} {at:%b %Y, %H:%M}"
    if reminder.times > 1 or now - at >= _ON_TIME:
        when = f" ({f'{reminder.times} times since' if reminder.times > 1 else 'due'} {due})"
    return f"reminder {reminder.task.handle}: {reminder.task.name}{when}"


def _clean_text(words: str) -> str:
    words = " ".join(words.split())
    if not words:
        raise UsageError("say what is to be done, as in: call the dentist friday 3pm")
    if len(words) > MAX_LENGTH:
        raise UsageError(f"a task has at most {MAX_LENGTH} characters; keep the rest as a note")
    return words


def _stored(due_time: moments.DueTime | None) -> dict[str, Any]:
    if due_time is None:
        return {"told": "", "due_at": None, "zone": "", "repeats": "", "starts": ""}
    same = {name: getattr(due_time, name) for name in ("zone", "repeats", "starts")}
    return {"told": due_time.words, "due_at": clock.utc(due_time.due), **same}


def _change(
    db: Database, task: Task, what: str, time: clock.Clock, *, actor: str = "person", words: str = "", **columns: Any
) -> Task:
    columns["changed_at"] = clock.utc(time())
    rows.change(db, "task", task.id, time, what, actor=actor, words=words, **columns)
    return get(db, task.id, task.owner)


def _moved(to: moments.Occurrence) -> dict[str, Any]:
    """The columns of a repeating task at another of its times."""
    return {"due_at": clock.utc(to.moment), "starts": to.wall.isoformat(), **_NOT_REMINDED}


def _local(stored: str, rules: tzinfo) -> datetime:
    return datetime.fromisoformat(stored).astimezone(rules)


def _reminder_time(task: Task, now: datetime, interval: timedelta) -> datetime:
    """When to remind of a due task: at once, after the interval, or at the next time of a repeating one if earlier."""
    if task.reminded_at is None:
        return datetime.fromisoformat(task.comes_up or "")
    reminded = datetime.fromisoformat(task.reminded_at)
    if reminded > now:  # the clock was set back
        return now
    repeated = reminded + interval
    if not task.repeats:
        return repeated
    following = moments.next_after(task.repeats, task.starts, moments.get_zone(task.zone, reminded), reminded)
    return min(repeated, following.moment) if following else repeated


def _mark_reminded(db: Database, task: Task, time: clock.Clock, now: datetime) -> Reminder:
    """Mark a task as reminded; a repeating one moves to its latest past time."""
    rules = moments.get_zone(task.zone, now)
    since, times, moved = _local(task.comes_up or "", rules), 1, dict[str, Any]()
    if task.repeats:
        passed = moments.past(task.repeats, task.starts, rules, now)
        if len(passed) > 1:
            shown = 1 if task.reminded else 0
            times, since = len(passed) - shown, passed[shown].moment.astimezone(rules)
            moved = _moved(passed[-1]) | {"changed_at": clock.utc(now)}
    first = bool(moved) or task.reminded == 0
    moved |= {"reminded_at": clock.utc(now), "reminded": 1 if first else task.reminded + 1}
    rows.change(db, "task", task.id, time, "reminded", actor="program", **moved)
    return Reminder(get(db, task.id, task.owner), since, times, first)


LINEAGE = rows.owner(
    lineage.Table(
        "task",
        line="text",
        mentions=lineage.mentions_topic("text", "told"),
        stated_text=lineage.joined("text", "told"),
        personal_texts=("text, told",),
        statements=("text",),
        made_from={  # what a model made in an exchange is erased with it; tasks made by the person are kept
            "message": "origin = 'model' and message_id {ids}",
            "session": "origin = 'model' and message_id is null and session_id {ids}",  # its message went before
        },
    ),
    {"message": "message_id", "session": "session_id"},
)
