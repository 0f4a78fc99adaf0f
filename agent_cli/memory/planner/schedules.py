"""Schedules: prompts and skills that run at set times, and which process runs one now. Only the next time is stored,
and a schedule stays due until a run has finished: one makes up for all that were missed. Times are local: one skipped
by summer time is moved to the change of the clocks, an ambiguous one is the first."""

import glob
import json
import re
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from pathlib import Path
from typing import Any, Literal

from agent_cli import clock, text
from agent_cli.errors import UsageError
from agent_cli.memory import lineage
from agent_cli.memory.dates import moments
from agent_cli.memory.planner import rows
from agent_cli.memory.scope import Scope
from agent_cli.store import events, holder, ids, meta
from agent_cli.store.db import Database
from agent_cli.values import frozen

Target = Literal["note", "file", "command"]
Change = Literal["hidden", "restored", "paused", "resumed"]

LEASE = timedelta(minutes=30)  # longer than any run may take: an older claim has been abandoned
_ATTEMPTS = 5
_LAST_LOOK = "schedules looked at"
_OF_ERASED = "files of erased schedules"
_DATE = re.compile(r"%[-0^#]?[A-Za-z]")  # in the name of a file
_NAMES = {"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0"}
_NAMES |= {"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *"}


@frozen
class Schedule(ids.Handled):
    kind = "schedule"
    id: int
    owner: str
    place: str
    cron: str
    zone: str
    prompt: str
    skill: str
    model: str
    target: Target
    target_path: str
    next_at: str
    running_since: str | None
    holder: str | None
    last_at: str | None
    last_session: int | None
    error: str
    paused_at: str | None
    at: str
    utc_offset: int
    hidden_at: str | None

    @property
    def name(self) -> str:
        return self.skill or text.one_line(self.prompt, 60)

    @property
    def command(self) -> list[str]:
        """The arguments of the command that gets the answer."""
        return [str(word) for word in json.loads(self.target_path)] if self.target == "command" else []

    @property
    def running(self) -> bool:
        return bool(self.holder and holder.is_alive(self.holder))

    def describe(self) -> dict[str, Any]:
        names = """id cron zone prompt skill model target file command place next_at last_at last_session error running
            paused_at at hidden_at"""
        shown = {name: getattr(self, name, None) for name in names.split()}
        session = ids.handle("session", self.last_session) if self.last_session else None
        file = self.target_path if self.target == "file" else ""
        return shown | {"id": self.handle, "file": file, "last_session": session}


_COLUMNS = ", ".join(Schedule.__annotations__)


class LostRun(Exception):
    """Another process has taken over the run, so its result must be dropped."""


def from_words(words: str, now: datetime) -> str:
    """The cron fields of "every day at 7"; what says no repetition stays as it is. Raises UsageError."""
    from agent_cli.memory.dates import due_times  # only needed for words

    if not any(word.isalpha() for word in words.split()[:1]):
        return words
    due = due_times.parse(words, now, moments.local_zone())
    if due is None or not due.repeats:
        raise UsageError(f'{words!r} happens once: a schedule repeats, as in "every day at 7"')
    return moments.cron(due.repeats, datetime.fromisoformat(due.starts).time())


def normalize(cron: str) -> str:
    """The five cron fields of an expression, or of a name such as @daily. Raises UsageError."""
    from cronsim import CronSim, CronSimError  # only needed to compute times

    name = cron.strip().lower()
    fields = _NAMES.get(name, " ".join(cron.split()))
    if name.startswith("@") and name not in _NAMES:
        raise UsageError(f"{cron!r} is not a known time; there are {', '.join(_NAMES)}, or five fields of cron")
    try:
        if len(fields.split()) != 5:
            raise CronSimError("five fields are needed")
        CronSim(fields, datetime(2026, 1, 1))
    except (CronSimError, ValueError) as error:  # a number of thousands of digits
        raise UsageError(
            f"{cron!r} is not a time for a schedule ({str(error).lower()}): write minute, hour, day, month and weekday "
            'as cron does, as in "0 7 * * *" for every day at 7:00, or a name as @daily'
        ) from error
    return fields


def explain(cron: str) -> str:
    from cronsim import CronSim

    return CronSim(cron, datetime(2026, 1, 1)).explain()


def next_time(cron: str, zone: str, now: datetime) -> datetime:
    """The first time after `now`. Raises UsageError when there is none in fifty years."""
    from cronsim import CronSim

    for each in CronSim(cron, now.astimezone(_zone(zone))):
        moment = each.astimezone(UTC)
        if moment > now:  # in the ambiguous hour cronsim repeats the first one
            return moment
    raise UsageError(f"{cron!r} never occurs: choose a day that the month has")


def to_zone(stored: str, zone: str) -> datetime:
    return datetime.fromisoformat(stored).astimezone(_zone(zone))


def _zone(name: str) -> tzinfo | None:
    from zoneinfo import ZoneInfo

    return ZoneInfo(name) if name else None  # None: as the machine has it, whose zone has no name


def add(
    db: Database,
    scope: Scope,
    cron: str,
    time: clock.Clock,
    *,
    zone: str,
    prompt: str = "",
    skill: str = "",
    model: str = "",
    target: Target = "note",
    target_path: str = "",
) -> Schedule:
    """Add a schedule. Raises UsageError for an invalid time, or without a prompt or skill."""
    if bool(prompt.strip()) == bool(skill):
        raise UsageError("say what is to be run: either --prompt with words, or --skill with the name of a skill")
    now, cron = time(), normalize(cron)
    next_at = clock.utc(next_time(cron, zone, now))
    what = {"cron": cron, "zone": zone, "prompt": prompt.strip(), "skill": skill, "model": model, "next_at": next_at}
    where = {"target": target, "target_path": target_path}
    id = rows.insert(db, "schedule", scope, now, "added", prompt or skill, actor="person", **what, **where)
    return get(db, id, scope.owner)


def get(db: Database, id: int, owner: str) -> Schedule:
    return Schedule(*rows.get(db, "schedule", _COLUMNS, id, owner))


def listing(db: Database, owner: str, *, hidden: bool = False) -> list[Schedule]:
    """The next one first, paused ones last."""
    order = "paused_at is not null, next_at, id"
    query = f"select {_COLUMNS} from schedule where owner = ? and (hidden_at is not null) = ? order by {order}"
    return [Schedule(*row) for row in db.rows(query, (owner, hidden))]


def change(db: Database, schedule: Schedule, to: Change, time: clock.Clock) -> Schedule:
    """Hide or pause it, or bring it back: missed runs are not made up then, because it was stopped on purpose."""
    now, column = time(), "hidden_at" if to in ("hidden", "restored") else "paused_at"
    stopped = to in ("hidden", "paused")
    columns = {column: clock.utc(now)} if stopped else {column: None, "next_at": _next(schedule, now)}
    rows.change(db, "schedule", schedule.id, time, to, **columns)
    return get(db, schedule.id, schedule.owner)


def _next(schedule: Schedule, now: datetime) -> str:
    return clock.utc(next_time(schedule.cron, schedule.zone, now))


def claim(db: Database, owner: str, now: datetime, only: int | None = None) -> Schedule | None:
    """Claim the schedule that has been due longest, or `only` this one, due or not; None when there is none. A claim of
    a process that died is free again; after five deaths the schedule waits for its next time."""
    moment = clock.utc(now)
    wanted = "next_at <= ? and paused_at is null" if only is None else "id = ?"
    where = f"owner = ? and hidden_at is null and {wanted} order by next_at, id"
    with db.write():
        for row in db.rows(f"select {_COLUMNS} from schedule where {where}", (owner, only or moment)):
            found = Schedule(*row)
            if found.running and (found.running_since or "") > clock.utc(now - LEASE):
                continue
            record = partial(rows.change, db, "schedule", found.id, lambda: now, actor="program")
            ended = "select kind from event where subject = ? order by id desc limit ?"
            last = db.rows(ended, (found.handle, _ATTEMPTS))
            if only is None and found.holder and last == [("schedule begun",)] * _ATTEMPTS:  # none of them ended
                why = f"the process that ran it ended unexpectedly, {_ATTEMPTS} times"
                record("failed", running_since=None, holder=None, error=why, next_at=_next(found, now))
                continue
            record("begun", running_since=moment, last_at=moment, holder=holder.this_process())
            return get(db, found.id, owner)
    return None


def finish(db: Database, run: Schedule, time: clock.Clock, *, session: int | None, error: str = "") -> None:
    """Record how a claimed run ended, and when it is due next. Raises Lost. Runs in the caller's transaction."""
    result = {"last_session": session, "error": text.one_line(error, 1000), "next_at": _next(run, time())}
    if not _release(db, run, result):
        raise LostRun
    events.append(db, time, f"schedule {'failed' if error else 'run'}", run.handle, actor="program", session=session)


def unclaim(db: Database, run: Schedule, time: clock.Clock) -> None:
    """Release a claimed run unfinished: it stays due."""
    with db.write():
        _release(db, run, {})
        events.append(db, time, "schedule stopped", run.handle, actor="program")


def _release(db: Database, run: Schedule, columns: dict[str, Any]) -> int:
    assignments = "".join(f", {name} = :{name}" for name in columns)
    query = f"""update schedule set running_since = null, holder = null{assignments}
                where id = :run and holder = :holder and running_since = :since"""
    return db.execute(query, {**columns, "run": run.id, "holder": run.holder, "since": run.running_since})


def is_held(db: Database, run: Schedule) -> bool:
    now = db.row("select holder, running_since from schedule where id = ?", (run.id,))
    return now == (run.holder, run.running_since)


def change_zone(db: Database, owner: str, zone: str, now: datetime) -> None:
    """Recompute times that are not due yet in another zone, after the machine has moved."""
    later = "owner = ? and zone <> ? and next_at > ? and running_since is null"
    query = f"select id, cron, next_at from schedule where {later}"
    for id, cron, stored in db.rows(query, (owner, zone, clock.utc(now))):
        with db.write():
            values = (zone, clock.utc(next_time(cron, zone, now)), id, stored)
            db.execute("update schedule set zone = ?, next_at = ? where id = ? and next_at = ?", values)


def next_due(db: Database, owner: str) -> datetime | None:
    waiting = "owner = ? and hidden_at is null and paused_at is null"
    found = db.value(f"select min(next_at) from schedule where {waiting}", (owner,))
    return datetime.fromisoformat(found) if found else None


def record_look(db: Database, now: datetime) -> None:
    """Record that a runner looked for due schedules, at most once a minute."""
    if meta.is_due(db, _LAST_LOOK, now, timedelta(minutes=1)):
        meta.stamp(db, _LAST_LOOK, now)


def last_look(db: Database) -> datetime | None:
    stored = meta.get(db, _LAST_LOOK)
    return datetime.fromisoformat(stored) if stored else None


def remember_outputs(db: Database) -> None:
    """Keep the paths of the files with answers that there are, whatever becomes of their schedules."""
    meta.put(db, _OF_ERASED, json.dumps([str(path) for path in outputs(db)]))


def outputs(db: Database) -> list[Path]:
    """The files with answers of all schedules, erased ones included, and, where their names have dates, of all days."""
    patterns = db.column("select distinct target_path from schedule where target = 'file' order by target_path")
    names = [_DATE.sub("*", glob.escape(str(Path(pattern).expanduser()))) for pattern in patterns]
    paths = [Path(each) for name in names for each in sorted(glob.glob(name.replace("%%", "%")))]
    remembered = [Path(each) for each in json.loads(meta.get(db, _OF_ERASED) or "[]")]
    return [path for path in dict.fromkeys([*paths, *remembered]) if path.is_file()]


LINEAGE = rows.owner(
    lineage.Table(
        "schedule",
        line="cron || '  ' || iif(skill = '', prompt, skill)",
        mentions=lineage.mentions_topic("prompt", "skill", "target_path"),
        stated_text=lineage.joined("prompt", "skill", "target_path"),
        personal_texts=(
            "prompt, iif(target = 'command', '', target_path)",
            "select value from schedule, json_each(target_path) where target = 'command' and schedule.id {ids}",
        ),
        other_texts=("skill, error",),
    ),
    {"session": "last_session"},
    before=lambda db, found: remember_outputs(db),
)
