"""What the log records: tokens, cost and time of answers, tool calls, events; what is due, and the day in lines. Of the
events an owner sees those of their own sessions and rows; those of the file and of deleted rows are the person's."""

from collections.abc import Iterator
from datetime import datetime, time, timedelta
from typing import Any, Literal

from agent_cli import clock, kinds, text
from agent_cli.memory.conversations import sessions
from agent_cli.memory.scope import CALLER_PLACE, PERSON
from agent_cli.store import ids
from agent_cli.store.db import Database

Per = Literal["day", "model", "session", "turn"]

# A turn is a message of the person and all answers up to the next.
_KEYS = {
    "day": "date(m.at, m.utc_offset || ' minutes')",
    "model": "m.model",
    "session": "m.session_id",
    "turn": """(select max(id) from message where session_id = m.session_id and role = 'user' and id < m.id)""",
}


def tokens_of_turn(db: Database, session: int, question: int) -> tuple[int, int]:
    """The tokens in and out of all replies to a message of the person."""
    next_question = "select min(id) from message where session_id = ?1 and role = 'user' and id > ?2"
    query = f"""select coalesce(sum(tokens_in), 0), coalesce(sum(tokens_out), 0) from message
                where session_id = ?1 and role = 'assistant' and id > ?2 and coalesce(id < ({next_question}), true)"""
    [(tokens_in, tokens_out)] = db.rows(query, (session, question))
    return tokens_in, tokens_out


def token_usage(db: Database, owner: str, per: Per, limit: int) -> list[dict[str, Any]]:
    """The usage of each day, model, session or turn, the latest first: seconds, and cost by the configured prices."""
    query = f"""select {_KEYS[per]} as {per}, count(*) as answers, sum(m.tokens_in) as tokens_in,
                       sum(m.tokens_out) as tokens_out, round(sum(m.cost), 6) as cost,
                       round(sum(m.duration_ms) / 1000.0, 1) as seconds
                from message m where m.owner = ? and m.role = 'assistant' and m.finish is not null and m.model <> ''
                group by 1 having {_KEYS[per]} is not null order by max(m.id) desc limit ?"""
    kind, rows = "session" if per == "session" else "message", db.records(query, (owner, limit))
    return [row | {per: ids.handle(kind, row[per]) if isinstance(row[per], int) else row[per]} for row in rows]


def tool_calls(db: Database, owner: str, limit: int, since: datetime | None = None) -> list[dict[str, Any]]:
    """The newest calls, newest last. A running one has no result; `asked_in`: the message of the model with it."""
    query = """select m.id, r.id, r.failed, substr(r.text, 1, 9), c.name, c.arguments, m.session_id, m.at, m.utc_offset
                from tool_call c join message m on m.id = c.message_id
                left join message r on r.id = (select min(id) from message where session_id = m.session_id and id > m.id
                                                 and role = 'tool' and answers = c.call_id)
                where m.owner = ? and c.uid >= ? order by c.id desc limit ?"""
    rows = db.rows(query, (owner, ids.lowest(since) if since else "", limit))
    failures = {"refused: ": "refused", "not run: ": "not run"}  # by how the result begins
    found = []
    for message, result, failed, begin, name, arguments, session, at, offset in rows[::-1]:
        outcome = failures.get(begin, "failed") if failed else "done" if result else "no result"
        call = {"result": ids.handle("message", result) if result else None, "tool": name, "outcome": outcome}
        call |= {"arguments": arguments, "asked_in": ids.handle("message", message), "session": session}
        found.append(call | {"at": at, "utc_offset": offset})
    return found


_SUBJECTS = " ".join(
    f"when '{kind.letter}' then (select owner from {kind.name} where id = cast(substr(e.subject, 2) as integer))"
    for kind in kinds.KINDS
    if kind.owned
)
_OWNER = f"""case
    when e.session_id is not null then (select owner from session where id = e.session_id)
    when length(e.subject) between 2 and 19 and substr(e.subject, 2) not glob '*[^0-9]*'
        then case substr(e.subject, 1, 1) {_SUBJECTS} end
    end"""


def events_after(db: Database, owner: str, number: int, limit: int = 500) -> tuple[list[dict[str, Any]], int]:
    """The events of this owner after an id, among the next `limit` events of all, and the id of the last one read."""
    query = f"""select e.id, e.kind, e.actor, e.session_id as session, e.subject, e.hash, e.at, {_OWNER} as owner
                from event e where e.id > ? order by e.id limit ?"""
    rows, seen = db.records(query, (number, limit)), []
    for row in rows:
        if (row.pop("owner") or PERSON) == owner:
            session = ids.handle("session", row["session"]) if row["session"] else None
            seen.append({**row, "id": ids.handle("event", row["id"]), "session": session})
    return seen, rows[-1]["id"] if rows else number


def callers_events(db: Database) -> Iterator[tuple[str, str, str, int, int]]:
    """(kind, subject, name of the caller, tokens in and out) of the calls, replies and failed turns in sessions of
    callers."""
    yield from db.each(
        f"""select e.kind, e.subject, substr(s.place, {len(CALLER_PLACE) + 1}), coalesce(m.tokens_in, 0),
                   coalesce(m.tokens_out, 0)
            from event e join session s on s.id = e.session_id
            left join message m on e.kind like 'reply%' and m.id = cast(substr(e.subject, 2) as integer)
            where s.place like '{CALLER_PLACE}%'
              and (e.kind like 'call %' or e.kind like 'reply%' or e.kind like 'turn %') order by e.id"""
    )


PERIOD = timedelta(days=30)  # in which calls are counted
_TASKS_NAMED = 5  # tasks that are named by their handles
# The person's messages of a day, those of scheduled runs and side questions included.
_ASKED = """from said where owner = :owner and role = 'user' and at >= :since and at < :until and session_id in
            (select id from session where owner = :owner and last_at >= :since and hidden_at is null)"""


def _day(owner: str, now: datetime) -> dict[str, str]:
    begin = datetime.combine(now.date(), time(), now.tzinfo)
    return {"owner": owner, "since": clock.utc(begin), "until": clock.utc(begin + timedelta(days=1))}


def signals(db: Database, owner: str, now: datetime, since: datetime) -> dict[str, Any]:
    """Questions of today, open tasks with the longest overdue first, and the calls of each tool since then."""
    today = _day(owner, now)
    open_tasks = "from task where owner = :owner and state = 'open' and hidden_at is null"
    query = f"select id, due_at < :now {open_tasks} and due_at < :until order by due_at, id"
    due = db.rows(query, today | {"now": clock.utc(now)})
    overdue, later = ([ids.handle("task", id) for id, late in due if late == is_late] for is_late in (True, False))
    turns = db.value(f"select count(*) {_ASKED}", today)
    called = """select e.subject as tool, sum(e.kind like 'call allowed%') as allowed,
                       sum(e.kind like 'call refused%') as refused
                   from event e join session s on s.id = e.session_id
                   where e.uid >= ?1 and e.kind like 'call %' and s.owner = ?2
                         and e.kind not in ('call unknown', 'call invalid')
                   group by e.subject order by allowed desc, e.subject"""
    return {
        "turns_today": turns,
        "due": {"overdue": overdue, "today": later, "open": db.value(f"select count(*) {open_tasks}", today)},
        "calls": db.records(called, (ids.lowest(since), owner)),
    }


def format_signals(found: dict[str, Any]) -> list[str]:
    due, tools = found["due"], list[str]()
    lines = [f"{text.counted(found['turns_today'], 'question')} today"] if found["turns_today"] else []
    if due["open"]:
        parts = [f"{due['open']} open"]
        for name, tasks in ("overdue", due["overdue"]), ("due today", due["today"]):
            named = " ".join(tasks[:_TASKS_NAMED] + ["…"] * (len(tasks) > _TASKS_NAMED))
            parts += [f"{len(tasks)} {name} ({named})"] if tasks else []
        lines.append(f"tasks: {', '.join(parts)}")
    for call in found["calls"]:
        refused = f" ({call['refused']} refused)" if call["refused"] else ""
        tools.append(f"{call['tool']} {call['allowed']}{refused}")
    return lines + ([f"tools in {PERIOD.days} days: {', '.join(tools)}"] if tools else [])


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
    day = _day(owner, now)
    sql = f"select session_id, count(*) {_ASKED} group by session_id order by max(id) desc"
    named = [(sessions.get(db, id, owner), count) for id, count in db.rows(sql, day)]
    found = {
        "said": [
            f"{each.handle} “{text.one_line(sessions.name(db, each), _WIDE)}” ({text.counted(count, 'message')})"
            for each, count in named
        ]
    }
    for name, (kind, query) in _OF_DAY.items():
        found[name] = [
            f"{ids.handle(kind, id)} {text.one_line(words, _WIDE)}{''.join(more)}"
            for id, words, *more in db.rows(query, day)
        ]
    lines = []
    for name, rows in found.items():
        more = [f"and {len(rows) - _MOST} more"] if len(rows) > _MOST else []
        lines += [f"{name}: {'; '.join([*rows[:_MOST], *more])}"] if rows else []
    return "\n".join(lines)
