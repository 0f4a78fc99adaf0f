"""Tasks: what is to be done, and when the person is reminded of it. They come up by themselves: see `claim_due`.

A reminder comes up when it falls due, and again after a while until it is done or snoozed. With several programs open
each comes up in one of them: whoever marks it in the file shows it. What repeats stands at one time, the next one; when
that has passed, done means moved to the one after. Times it missed while nothing ran come up once, with their number.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Any, Literal

from agent_cli import clock, text
from agent_cli.errors import UsageError
from agent_cli.memory.dates import recurrence, zones
from agent_cli.memory.dates.due_times import DueTime, format_moment
from agent_cli.memory.scope import Scope
from agent_cli.messages import Origin
from agent_cli.store import events, ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

LONGEST = 1000  # characters: more is a note

_COLUMNS = """id, text, told, due_at, zone, repeats, starts, state, snoozed_to, reminded_at, reminded, done_at, origin,
              at, utc_offset, hidden_at"""
_OPEN = "owner = :owner and state = 'open' and hidden_at is null"
_COMES_UP = f"{_OPEN} and due_at is not null and due_at <= :now and coalesce(snoozed_to, '') <= :now"


@frozen
class Task:
    id: int
    text: str
    told: str
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
    def handle(self) -> str:
        return ids.handle("task", self.id)

    @property
    def name(self) -> str:
        return text.one_line(text.visible(self.text), 100)

    @property
    def comes_up(self) -> str | None:
        """When it is next wanted, as stored; before it was reminded of."""
        return max(self.due_at, self.snoozed_to or "") if self.due_at else None

    def described(self) -> dict[str, Any]:
        return {
            "id": self.handle,
            "text": self.text,
            "when": self.told,
            "due_at": self.due_at,
            "zone": self.zone,
            "repeats": self.repeats,
            "state": self.state,
            "snoozed_to": self.snoozed_to,
            "done_at": self.done_at,
            "origin": self.origin,
            "at": self.at,
            "hidden": self.hidden_at is not None,
        }


@frozen
class Reminder:
    """A task that comes up now: when it fell due, how many times in all, and whether for the first time."""

    task: Task
    due: datetime
    times: int
    first: bool


def add(
    db: Database,
    scope: Scope,
    words: str,
    occasion: DueTime | None,
    time: clock.Clock,
    *,
    origin: Origin = "typed",
    session: int | None = None,
    message: int | None = None,
) -> Task:
    """Keep what is to be done; without an occasion at no certain time. Raises UsageError when it says nothing."""
    words = _checked(words)
    now = time()
    moment = clock.utc(now)
    with db.write():
        id = db.insert(
            """insert into task (uid, owner, place, session_id, message_id, origin, text, told, due_at, zone, repeats,
                                 starts, at, utc_offset, changed_at)
               values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            (
                ids.new(now),
                scope.owner,
                scope.place,
                session,
                message,
                origin,
                words,
                *_stored(occasion),
                moment,
                clock.offset(now),
                moment,
            ),
        )
        actor = "model" if origin == "model" else "person"
        events.append(db, time, "task added", ids.handle("task", id), actor=actor, session=session, content=words)
    return get(db, id, scope.owner)


def get(db: Database, id: int, owner: str) -> Task:
    """Raises UsageError when this owner has no such task."""
    row = db.row(f"select {_COLUMNS} from task where id = ? and owner = ?", (id, owner))
    if row is None:
        raise UsageError(f"there is no task t{id}; `agent tasks list` shows them all")
    return Task(*row)


def listing(
    db: Database, owner: str, which: Literal["open", "done", "all", "hidden"] = "open", limit: int = -1
) -> list[Task]:
    """Open ones by their time, those without one last; done ones, the latest first; all: the open ones, then those."""
    order = "state = 'done', iif(state = 'done', null, due_at is null), iif(state = 'done', null, due_at), done_at desc"
    wanted = {"open": "state = 'open'", "done": "state = 'done'"}.get(which, "1")
    rows = db.rows(
        f"""select {_COLUMNS} from task where owner = ? and {wanted} and (hidden_at is not null) = ?
            order by {order}, id limit ?""",
        (owner, which == "hidden", limit),
    )
    return [Task(*row) for row in rows]


def due(db: Database, owner: str, now: datetime, until: datetime | None = None) -> list[Task]:
    """Those open that have fallen due, or will until then, and are not snoozed beyond; the earliest first."""
    rows = db.rows(
        f"select {_COLUMNS} from task where {_COMES_UP} order by max(due_at, coalesce(snoozed_to, '')), id",
        {"owner": owner, "now": clock.utc(until or now)},
    )
    return [Task(*row) for row in rows]


def any_open(db: Database, owner: str) -> bool:
    return bool(db.value(f"select exists (select 1 from task where {_OPEN})", {"owner": owner}))


def next_moment(db: Database, owner: str, now: datetime, again: timedelta) -> datetime | None:
    """When the next one comes up, which may be past; None when none will."""
    found = [at for each in due(db, owner, now) if (at := _wanted(each, now, again))]
    later = db.value(
        f"select min(max(due_at, coalesce(snoozed_to, ''))) from task where {_OPEN} and due_at is not null"
        " and max(due_at, coalesce(snoozed_to, '')) > :now",
        {"owner": owner, "now": clock.utc(now)},
    )
    if later:
        found.append(datetime.fromisoformat(later))
    return min(found, default=None)


def claim_due(db: Database, owner: str, time: clock.Clock, again: timedelta) -> list[Reminder]:
    """What must come up now, marked as having come up: no other program shows it. The earliest first."""
    now = time()
    if not _ready(db, owner, now, again):
        return []  # without waiting for who writes
    with db.write():
        return [_marked(db, each, time, now) for each in _ready(db, owner, now, again)]


def complete(db: Database, task: Task, time: clock.Clock, *, actor: str = "person") -> Task:
    """Done; one that repeats moves to its next time. Raises UsageError when it is done or hidden already."""
    if task.state == "done" or task.hidden_at:
        raise UsageError(f"{task.handle} is {'done' if task.state == 'done' else 'hidden'} already")
    now = time()
    following = _following(task, now)
    with db.write():
        if following:
            _move(db, task, following[0], following[1], now)
        else:
            db.execute("update task set state = 'done' where id = ?", (task.id,))
        db.execute("update task set done_at = :now, changed_at = :now where id = :id", _at(now, task))
        events.append(db, time, "task done", task.handle, actor=actor)
    return _again(db, task)


def reopen(db: Database, task: Task, time: clock.Clock) -> Task:
    """Raises UsageError when it is open."""
    if task.state == "open":
        raise UsageError(f"{task.handle} is open already")
    with db.write():
        db.execute(
            "update task set state = 'open', done_at = null, reminded = 0, reminded_at = null, changed_at = :now"
            " where id = :id",
            _at(time(), task),
        )
        events.append(db, time, "task reopened", task.handle, actor="person")
    return _again(db, task)


def snooze(db: Database, task: Task, until: datetime, time: clock.Clock) -> Task:
    """Let it come up then and not before; one without a time has this one from now on."""
    if task.state == "done" or task.hidden_at:
        raise UsageError(f"{task.handle} is {'done' if task.state == 'done' else 'hidden'}: nothing of it comes up")
    moment = clock.utc(until)
    with db.write():
        db.execute(
            """update task set snoozed_to = :until, due_at = coalesce(due_at, :until), reminded = 0, reminded_at = null,
                   changed_at = :now where id = :id""",
            {**_at(time(), task), "until": moment},
        )
        events.append(db, time, "task snoozed", task.handle, actor="person")
    return _again(db, task)


def edit(db: Database, task: Task, words: str, time: clock.Clock) -> Task:
    """Put it in other words. Raises UsageError when nothing would be left."""
    words = _checked(words)
    with db.write():
        db.execute(
            "update task set text = :text, changed_at = :now where id = :id", {**_at(time(), task), "text": words}
        )
        events.append(db, time, "task changed", task.handle, actor="person", content=words)
    return _again(db, task)


def move(db: Database, task: Task, occasion: DueTime | None, time: clock.Clock) -> Task:
    """Give it another time, or none."""
    with db.write():
        db.execute(
            """update task set told = ?, due_at = ?, zone = ?, repeats = ?, starts = ?, snoozed_to = null, reminded = 0,
                   reminded_at = null, changed_at = ? where id = ?""",
            (*_stored(occasion), clock.utc(time()), task.id),
        )
        events.append(db, time, "task moved", task.handle, actor="person")
    return _again(db, task)


def hide(db: Database, task: Task, time: clock.Clock, *, actor: str = "person") -> None:
    """Put it out of lists, and let it not come up, until `restore`."""
    with db.write():
        db.execute("update task set hidden_at = :now, changed_at = :now where id = :id", _at(time(), task))
        events.append(db, time, "task hidden", task.handle, actor=actor)


def restore(db: Database, task: Task, time: clock.Clock, *, actor: str = "person") -> None:
    """Raises UsageError when it is not hidden."""
    if task.hidden_at is None:
        raise UsageError(f"{task.handle} is not hidden")
    with db.write():
        db.execute("update task set hidden_at = null, changed_at = :now where id = :id", _at(time(), task))
        events.append(db, time, "task restored", task.handle, actor=actor)


def erase(db: Database, found: Iterable[int]) -> None:
    """Delete tasks; no index holds them. Runs in the caller's transaction."""
    db.execute("delete from task where id in (select value from json_each(?))", (found,))


def leave(db: Database, sessions: Sequence[int], messages: Sequence[int] = ()) -> None:
    """Tasks stay when what they came from goes. Runs in the caller's transaction."""
    for column, gone in (("session_id", sessions), ("message_id", messages)):
        if gone:
            db.execute(
                f"update task set {column} = null where {column} in (select value from json_each(?))",
                (gone,),
            )


def when(task: Task, now: datetime) -> str:
    """Its time in full, in its zone: what was understood; empty where it has none."""
    if task.due_at is None:
        return ""
    rules = zones.get(task.zone, now)
    told = format_moment(_local(task.due_at, rules), now)
    again = "due" if task.due_at <= clock.utc(now) else "next"
    repeats = f"{text.one_line(task.told, 60)}, {again} " if task.repeats else ""
    snoozed = task.snoozed_to if (task.snoozed_to or "") > max(task.due_at, clock.utc(now)) else None
    later = f" (snoozed until {format_moment(_local(snoozed, rules), now)})" if snoozed else ""
    return f"{repeats}{told}{later}"


def receipt(task: Task, now: datetime) -> str:
    """As in t4 “call the dentist”, Friday 27 Nov 2026, 15:00."""
    return ", ".join(filter(None, (f"{task.handle} “{task.name}”", when(task, now) or "at no certain time")))


def line(task: Task, now: datetime) -> str:
    """Of a list: its handle, its time, its words."""
    late = task.state == "open" and task.comes_up is not None and task.comes_up <= clock.utc(now)
    at = "done" if task.state == "done" else when(task, now) or "at no certain time"
    return f"{task.handle:<5} {at}{' (overdue)' if late else ''}  {task.name}"


def told_done(task: Task, now: datetime) -> str:
    """What is said of one just completed."""
    return f"done {task.handle} “{task.name}”{f'; {when(task, now)}' if task.state == 'open' else ''}"


def _checked(words: str) -> str:
    words = " ".join(words.split())
    if not words:
        raise UsageError("say what is to be done, as in: call the dentist friday 3pm")
    if len(words) > LONGEST:
        raise UsageError(f"a task has at most {LONGEST} characters; keep the rest as a note")
    return words


def _stored(occasion: DueTime | None) -> tuple[str, str | None, str, str, str]:
    """told, due_at, zone, repeats, starts."""
    if occasion is None:
        return "", None, "", "", ""
    return occasion.words, clock.utc(occasion.due), occasion.zone, occasion.repeats, occasion.starts


def _at(now: datetime, task: Task) -> dict[str, Any]:
    return {"now": clock.utc(now), "id": task.id}


def _again(db: Database, task: Task) -> Task:
    return Task(*(db.row(f"select {_COLUMNS} from task where id = ?", (task.id,)) or ()))


def _local(stored: str, rules: tzinfo) -> datetime:
    return datetime.fromisoformat(stored).astimezone(rules)


def _ready(db: Database, owner: str, now: datetime, again: timedelta) -> list[Task]:
    return [each for each in due(db, owner, now) if (_wanted(each, now, again) or now) <= now]


def _wanted(task: Task, now: datetime, again: timedelta) -> datetime | None:
    """When one that has fallen due comes up: at once, or after a while; one that repeats at its next time before."""
    at = datetime.fromisoformat(task.comes_up or "")
    if task.reminded_at is None:
        return at
    reminded = datetime.fromisoformat(task.reminded_at)
    if reminded > now:  # the clock was put back: it would not come up for as long
        return now
    following = _after(task, reminded)
    return min(reminded + again, following) if following else reminded + again


def _after(task: Task, moment: datetime) -> datetime | None:
    if not task.repeats:
        return None
    found = recurrence.next_after(task.repeats, task.starts, zones.get(task.zone, moment), moment)
    return found.moment if found else None


def _following(task: Task, now: datetime) -> tuple[datetime, str] | None:
    """The time after this one that is still to come, and where the rule stands then."""
    if not task.repeats or task.due_at is None:
        return None
    since = max(now, datetime.fromisoformat(task.due_at))
    found = recurrence.next_after(task.repeats, task.starts, zones.get(task.zone, now), since)
    return (found.moment, found.wall.isoformat()) if found else None


def _move(db: Database, task: Task, due: datetime, starts: str, now: datetime) -> None:
    db.execute(
        """update task set due_at = ?, starts = ?, snoozed_to = null, reminded = 0, reminded_at = null, changed_at = ?
           where id = ?""",
        (clock.utc(due), starts, clock.utc(now), task.id),
    )


def _marked(db: Database, task: Task, time: clock.Clock, now: datetime) -> Reminder:
    """What is shown of it; of what repeats the latest time stands in the file from now on."""
    rules = zones.get(task.zone, now)
    since, times, renewed = _local(task.comes_up or "", rules), 1, False
    if task.repeats:
        passed = recurrence.past(task.repeats, task.starts, rules, now)
        if len(passed) > 1:
            renewed, times = True, len(passed) - (1 if task.reminded else 0)
            since = passed[1 if task.reminded else 0].moment.astimezone(rules)
            _move(db, task, passed[-1].moment, passed[-1].wall.isoformat(), now)
    first = renewed or task.reminded == 0
    db.execute(
        "update task set reminded_at = ?, reminded = iif(?, 1, reminded + 1) where id = ?",
        (clock.utc(now), first, task.id),
    )
    events.append(db, time, "task reminded", task.handle, actor="program")
    return Reminder(_again(db, task), since, times, first)
