"""The log of every message, reply, tool call and tool result, written before it is sent or shown; with the notes that
the model makes for a session, and the input history of the prompt. A reply is opened with its first words, updated, and
closed when complete. Text is stored unchanged, and cleaned when shown. After a crash every open call gets the result
"interrupted"; whether a call may run is recorded before it runs, so one without such a record can be asked about
again."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import chain, takewhile
from typing import Any, NamedTuple

from agent_cli import clock
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import sessions
from agent_cli.memory.scope import Scope
from agent_cli.messages import Message, Origin, Part, Role, ToolCall, ToolResult, decode_parts, encode_parts
from agent_cli.store import events, ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

NOTE_TOOLS = ("jot", "read_jottings")
MAX_PROMPTS = 5000  # for each owner; older ones are deleted
ERASED = "(erased)"  # stands for what is cut out of a message
INTERRUPTED = "interrupted"  # the result of a call that a crash left open
_LAST = 50  # messages at the end of a session; one reply has fewer calls
_AT_ONCE = 50  # imported messages in a statement, which begins a journal of its own: a third of the time of one by one
_ORIGIN = ("uid", "session_id", "owner", "place", "at", "utc_offset")  # columns of every message
_CUT_FINISHES = (None, "interrupted", "failed")  # finish of a reply that an error or a crash cut


@frozen
class Usage:
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    duration_ms: int = 0


@frozen
class Entry(ids.Handled):
    kind = "message"
    id: int
    at: str
    utc_offset: int
    message: Message
    finish: str | None
    failed: bool
    author: str
    parts: tuple[Part, ...]
    usage: Usage

    @property
    def is_foreign(self) -> bool:
        """Whether a tool's result may hold words from outside; why a call failed, the program mostly says itself."""
        return not (self.failed and [part.origin for part in self.parts] == ["model"])


class ImportedMessage(NamedTuple):  # made some thousand a second: a dataclass takes three times as long
    """A message that was said elsewhere, with its id there. From `role` to `tokens_out` its columns."""

    external_id: str
    at: datetime
    role: Role
    text: str
    author: str = ""
    parts: str = "[]"  # see messages.encode_parts
    thinking: str = ""
    answers: str = ""
    tool: str = ""
    failed: bool = False
    finish: str = "stop"
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    calls: tuple[ToolCall, ...] = ()


_IMPORTED = (*_ORIGIN, "external_id", *ImportedMessage._fields[2:-1])


def add_user_message(db: Database, session: int, scope: Scope, parts: Sequence[Part], now: datetime) -> int:
    """Log a message of the person with its parts (see messages.join_parts); returns its id."""
    text = "".join(part.text for part in parts)
    with db.write():
        id = _insert(db, session, scope, now, role="user", text=text, parts=encode_parts(parts), finish="stop")
        events.append(db, lambda: now, "message", ids.handle("message", id), actor="person", session=session)
    return id


def open_reply(db: Database, session: int, scope: Scope, model: str, now: datetime) -> int:
    return _insert(db, session, scope, now, role="assistant", text="", model=model)


def update_reply(db: Database, id: int, text: str, thinking: str) -> None:
    with db.write():
        db.execute("update message set text = ?, thinking = ? where id = ?", (text, thinking, id))


def close_reply(db: Database, id: int, message: Message, finish: str, usage: Usage, now: datetime) -> None:
    """Finish a reply with its calls. `finish`: stop, length, repetition (the model repeated itself), stopped (the guard
    ended the turn), cancelled, interrupted, failed or refused."""
    spans = encode_parts([Part(message.text, "model")] if message.text else [])
    with db.write():
        said = {"text": message.text, "parts": spans, "thinking": message.thinking, "finish": finish}
        db.update("message", id, said | vars(usage))
        _insert_calls(db, id, message.calls, now)
        how = " with calls" if message.calls else "" if finish == "stop" else f" {finish}"
        session = session_of(db, id)
        events.append(db, lambda: now, f"reply{how}", ids.handle("message", id), actor="model", session=session)


def add_tool_result(db: Database, session: int, scope: Scope, call: ToolCall, result: ToolResult, now: datetime) -> int:
    origin: Origin = "model" if result.failed and not result.quotes else "tool"
    parts, failed = encode_parts([Part(result.text, origin, call.name)]), int(result.failed)
    answered = {"answers": call.id, "tool": call.name, "failed": failed, "finish": "stop"}
    return _insert(db, session, scope, now, role="tool", text=result.text, parts=parts, **answered)


def append_imported(db: Database, session: int, scope: Scope, messages: Sequence[ImportedMessage]) -> None:
    owned = session, scope.owner, _place(db, session, scope)
    rows = [
        (uid, *owned, clock.utc(each.at), clock.offset(each.at), each.external_id, *each[2:-1])
        for uid, each in zip(ids.several([each.at for each in messages]), messages, strict=True)
    ]
    places = f"({', '.join('?' * len(_IMPORTED))})"
    for first in range(0, len(rows), _AT_ONCE):
        some = rows[first : first + _AT_ONCE]
        query = f"insert into message ({', '.join(_IMPORTED)}) values {', '.join([places] * len(some))}"
        db.execute(query, list(chain.from_iterable(some)))
    for row, each in zip(rows, messages, strict=True):
        if each.calls:
            _insert_calls(db, db.value("select id from message where uid = ?", row[:1]), each.calls, each.at)


def external_ids(db: Database, session: int) -> dict[int, str]:
    return dict(db.rows("select id, coalesce(external_id, uid) from message where session_id = ?", (session,)))


def copied_ids(db: Database, owner: str, source: str, first: str) -> list[str]:
    """The external ids in all sessions of a source that begin with the same message."""
    query = """select other.external_id from session s cross join message m on m.session_id = s.id
               cross join message other on other.session_id = s.id
               where s.owner = ? and s.source = ? and m.external_id = ? and other.external_id is not null"""
    return db.column(query, (owner, source, first))


def repair(db: Database, session: int, scope: Scope, now: datetime) -> int:
    """Mark replies cut by a crash as interrupted, and answer open calls, where no process has the session open."""
    closed = "update message set finish = 'interrupted' where session_id = ? and finish is null returning id"
    with db.write():
        cut = db.column(closed, (session,))
        for id in cut:
            handle = ids.handle("message", id)
            events.append(db, lambda: now, "reply interrupted", handle, actor="program", session=session)
        open_calls = calls_without_result(db, session)
        for id, name in open_calls:
            add_tool_result(db, session, scope, ToolCall(id, name, {}), ToolResult(INTERRUPTED, failed=True), now)
    return len(cut) + len(open_calls)


def calls_without_result(db: Database, session: int) -> list[tuple[str, str]]:
    """(id, name) of the tool calls that have no result: they run, wait for a yes, or a crash left them open."""
    query = """select c.call_id, c.name from tool_call c join said m on m.id = c.message_id
               where m.session_id = ?1 and not exists (
                     select 1 from said a where a.session_id = ?1 and a.role = 'tool' and a.answers = c.call_id
                     and a.id > m.id) order by c.id"""
    return db.rows(query, (session,))


def history(
    db: Database, session: int, last: int | None = None, after: int = 0, before: int | None = None
) -> list[Entry]:
    """The messages of a session in order without undone ones; limited to the last ones, or to a range of ids."""
    query = """select id, at, utc_offset, role, text, thinking, answers, tool, finish, failed, author, parts,
                      model, tokens_in, tokens_out, cost, duration_ms
               from said where session_id = ? and id > ? and id < coalesce(?, id + 1) order by id desc limit ?"""
    rows = db.rows(query, (session, after, before, -1 if last is None else last))
    query = """select c.message_id, c.call_id, c.name, c.arguments from tool_call c
               join message m on m.id = c.message_id where m.session_id = ? and m.id >= ? order by c.id"""
    calls: dict[int, tuple[ToolCall, ...]] = {}
    for message, call, name, arguments in db.rows(query, (session, rows[-1][0] if rows else 0)):
        calls[message] = (*calls.get(message, ()), ToolCall(call, name, json.loads(arguments)))
    entries = []
    for id, at, offset, role, text, thinking, answers, tool, finish, failed, author, parts, *usage in reversed(rows):
        message = Message(role, text, calls.get(id, ()), answers, tool, thinking)
        spans = decode_parts(text, parts)
        entries.append(Entry(id, at, offset, message, finish, bool(failed), author, spans, Usage(*usage)))
    return entries


def nth_last(db: Database, session: int | None, role: Role, n: int) -> Entry | None:
    """The n-th last complete message with text of a role in a session."""
    query = """select id from said where session_id = ? and role = ? and text <> '' and finish is not null
               order by id desc limit 1 offset ?"""
    id = db.value(query, (session, role, n - 1))
    return history(db, session, after=id - 1, before=id + 1)[0] if session and id else None


def session_of(db: Database, id: int) -> int | None:
    session: int | None = db.value("select session_id from message where id = ?", (id,))
    return session


def question_of(db: Database, id: int) -> int | None:
    """The message of the person that a reply answers; of their own message that one."""
    last = "select max(id) from said where session_id = ? and id <= ? and role = 'user'"
    question: int | None = db.value(last, (session_of(db, id), id))
    return question


def context_of(db: Database, owner: str, id: int, before: int, after: int) -> list[Entry]:
    """A message with so many before and after it in its session, which are no results of tools. Raises UsageError."""
    session = db.value("select session_id from said where id = ? and owner = ?", (id, owner))
    if session is None:
        raise UsageError(f"there is no message m{id}")
    entries = history(db, session)
    spoken = [each for each in entries if each.id == id or (each.message.role != "tool" and each.message.text)]
    at = next((n for n, entry in enumerate(spoken) if entry.id >= id), len(spoken))
    return spoken[max(0, at - before) : at + after + 1]


def is_spoken(entry: Entry) -> bool:
    """Whether it is from a person or a model: not a tool, and not the offline model, which only quotes."""
    return entry.message.role in ("user", "assistant") and entry.usage.model != "offline"


def said_by_person(db: Database, session: int) -> list[str]:
    query = "select text from said where session_id = ? and role = 'user' and text <> '' order by id"
    return db.column(query, (session,))


def last_of_person(db: Database, owner: str) -> tuple[int, str]:
    """The last message, and its text; (0, "") before the first."""
    sql = "select id, text from said where owner = ? and role = 'user' order by id desc limit 1"
    return db.row(sql, (owner,)) or (0, "")


def roles(db: Database, messages: Sequence[int]) -> dict[int, str]:
    return dict(db.rows("select id, role from said where id in (select value from json_each(?))", (messages,)))


def count(db: Database, session: int, first: int = 0, *, spoken: bool = False) -> int:
    """The number of messages from one on; `spoken`: of those with text of person and model."""
    which = "role in ('user', 'assistant') and text <> ''" if spoken else "true"
    return int(db.value(f"select count(*) from said where session_id = ? and id >= ? and {which}", (session, first)))


def count_besides(db: Database, session: int, messages: Sequence[int]) -> int:
    """The number of messages of a session, undone ones too, without these."""
    query = "select count(*) from message where session_id = ? and id not in (select value from json_each(?))"
    return int(db.value(query, (session, messages)))


def last_message(db: Database, session: int) -> int:
    return int(db.value("select max(id) from message where session_id = ?", (session,)) or 0)


def undo_from(db: Database, session: int, first: int, now: datetime, by: int | None = None) -> list[int]:
    """Hide a message and all after it from the view `said`; returns their ids. `by`: the message that replaces them."""
    query = """update message set undone_at = ?4, undone_by = ?3
               where session_id = ?1 and id >= ?2 and id < coalesce(?3, id + 1) and undone_at is null returning id"""
    return sorted(db.column(query, (session, first, by, clock.utc(now))))


def unanswered_replacement(db: Database, session: int) -> int | None:
    """The last message of the person that replaced others and got no answer; one that an error cut is none."""
    query = "select role, text <> '', finish, model from said where session_id = ? order by id desc limit 1"
    last = db.row(query, (session,))
    answered = last and last[0] == "assistant" and last[1] and last[2] not in _CUT_FINISHES
    if last is None or (answered and last[3] != "offline"):
        return None
    prompt = db.value("select max(id) from said where session_id = ? and role = 'user'", (session,))
    replaced = db.rows("select role, model from message where session_id = ? and undone_by = ?", (session, prompt))
    by_model = any(role == "assistant" and model != "offline" for role, model in replaced)
    return prompt if replaced and (by_model or not answered) else None


def redo_replaced(db: Database, session: int, by: int) -> list[int]:
    """Restore the messages that this one replaced; returns their ids. Runs in the caller's transaction."""
    restored = """update message set undone_at = null, undone_by = null where session_id = ? and undone_by = ?
                  returning id"""
    return sorted(db.column(restored, (session, by)))


def exchanges(db: Database, found: Iterable[int]) -> list[int]:
    """These messages, and the whole answers that they begin or belong to: all up to the person's next message."""
    query = """with named as (
                  select m.session_id session,
                         coalesce((select max(id) from message where session_id = m.session_id and role = 'user'
                                   and id <= m.id), (select min(id) from message where session_id = m.session_id)) first
                  from json_each(?1) c join message m on m.id = c.value)
               select distinct m.id from named n join message m on m.session_id = n.session and m.id >= n.first
               where (m.role <> 'user' or m.id in (select value from json_each(?1)))
                 and m.id < coalesce((select min(id) from message where session_id = n.session and role = 'user'
                                      and id > n.first), m.id + 1) order by m.id"""
    return db.column(query, (found,))


def erase(db: Database, found: Sequence[int]) -> None:
    """Delete messages with their calls, after all rows that refer to them. Runs in the caller's transaction."""
    db.execute("delete from tool_call where message_id in (select value from json_each(?))", (found,))
    db.execute("delete from message where id in (select value from json_each(?))", (found,))


# What blanks messages of tools and of the offline model, and what replies thought.
BLANK = f"""thinking = '', text = iif(role = 'tool' or model = 'offline', '{ERASED}', text),
    parts = iif(model = 'offline', '{encode_parts([Part(ERASED, "model")])}',
        iif(role = 'tool', '{encode_parts([Part(ERASED, "tool")])}', parts))"""


def cut(db: Database, id: int, spans: Sequence[tuple[int, int]]) -> None:
    """Replace spans of the text of a message, and drop what was thought before it. Runs in the caller's transaction."""
    text, encoded = db.row("select text, parts from message where id = ?", (id,)) or ("", "[]")
    parts, start = list[Part](), 0
    for part in decode_parts(text, encoded):
        end, shorter = start + len(part.text), part.text
        for first, last in reversed(spans):
            if first < end and last > start:  # the mark stands in the part in which the span begins
                before, after = max(0, first - start), last - start
                shorter = shorter[:before] + (ERASED if first >= start else "") + shorter[after:]
        parts.append(Part(shorter, part.origin, part.name))
        start = end
    for first, last in reversed(spans):
        text = text[:first] + ERASED + text[last:]
    db.execute("update message set text = ?, parts = ?, thinking = '' where id = ?", (text, encode_parts(parts), id))


def _insert(db: Database, session: int, scope: Scope, now: datetime, **values: Any) -> int:
    with db.write():
        sessions.touch(db, session, now)
        origin = ids.new(now), session, scope.owner, _place(db, session, scope), clock.utc(now), clock.offset(now)
        return db.insert("message", {**dict(zip(_ORIGIN, origin, strict=True)), **values})


def _place(db: Database, session: int, scope: Scope) -> str:
    """The place of a message: empty when it is that of its session."""
    return "" if scope.place == db.value("select place from session where id = ?", (session,)) else scope.place


def _insert_calls(db: Database, message: int, calls: Sequence[ToolCall], now: datetime) -> None:
    query = "insert into tool_call (uid, message_id, call_id, name, arguments) values (?, ?, ?, ?, ?)"
    for each in calls:
        arguments = json.dumps(each.arguments, ensure_ascii=False)
        db.execute(query, (ids.new(now), message, each.id, each.name, arguments))


def undecided_calls(db: Database, session: int) -> tuple[ToolCall, ...]:
    """The calls of the last reply of a repaired session that were never decided; none once something came after it."""
    results = _results(db, session)
    if not results:
        return ()
    reply = history(db, session, last=1, before=results[0].id)[0]
    decided = Counter(events.subjects_since(db, clock.local(reply.at, reply.utc_offset), "call ", session))
    interrupted = {each.message.call_id for each in results if each.failed and each.message.text == INTERRUPTED}
    found = []
    for call in reply.message.calls:
        decided[call.name] -= 1
        if decided[call.name] < 0 and call.id in interrupted:
            found.append(call)
    return tuple(found)


def reopen_calls(db: Database, session: int, calls: Sequence[ToolCall], time: clock.Clock) -> None:
    """Take back the result "interrupted" of these calls, the last ones of their reply."""
    ids = {call.id for call in calls}
    first = next(each.id for each in _results(db, session) if each.message.call_id in ids)
    with db.write():
        undo_from(db, session, first, time())


def _results(db: Database, session: int) -> list[Entry]:
    """The results at the end of a session, when a reply with calls is in front of them."""
    late = history(db, session, last=_LAST)
    results = list(takewhile(lambda entry: entry.message.role == "tool", reversed(late)))[::-1]
    return results if len(results) < len(late) and late[-len(results) - 1].message.calls else []


def add_note(db: Database, session: int, text: str, now: datetime) -> None:
    values = (ids.new(now), session, text, clock.utc(now), clock.offset(now))
    with db.write():
        db.execute("insert into jotting (uid, session_id, text, at, utc_offset) values (?, ?, ?, ?, ?)", values)


def notes(db: Database, session: int) -> list[str]:
    """The notes of a session, without those written after a message that was undone later."""
    query = """select text from jotting j where session_id = ? and not exists (
                  select 1 from message m where m.session_id = j.session_id and m.at <= j.at and m.undone_at >= j.at)
               order by id"""
    return db.column(query, (session,))


def erase_notes(db: Database, session: int) -> None:
    """Erase the notes of a session, and their words in logged calls and results. Runs in the caller's transaction."""
    db.execute("delete from jotting where session_id = ?", (session,))
    instead = "(erased when the session closed)"
    erased_calls = """update tool_call set arguments = '{}'
                      where name = ? and message_id in (select id from message where session_id = ?)"""
    erased_results = "update message set text = ?, parts = ? where session_id = ? and role = 'tool' and tool = ?"
    for tool in NOTE_TOOLS:
        db.execute(erased_calls, (tool, session))
        db.execute(erased_results, (instead, encode_parts([Part(instead, "tool", tool)]), session, tool))


def add_prompt(
    db: Database, scope: Scope, session: int | None, text: str, now: datetime, pasted: Iterable[str] = ()
) -> None:
    """Add a line with its `pasted` parts, unless it repeats the last one or begins with a space, which keeps it out."""
    if not text.strip() or text.startswith(" "):
        return
    spans = json.dumps([[text.index(piece), len(piece)] for piece in pasted])
    values = (ids.new(now), scope.owner, scope.place, session, text, spans, clock.utc(now))
    added = "insert into prompt (uid, owner, place, session_id, text, pasted, at) values (?, ?, ?, ?, ?, ?, ?)"
    oldest = "select id from prompt where owner = ?1 order by id desc limit 1 offset ?2"
    with db.write():
        if [text] == recent_prompts(db, scope.owner, 1):
            return
        db.execute(added, values)
        db.execute(f"delete from prompt where owner = ?1 and id <= ({oldest})", (scope.owner, MAX_PROMPTS))


def recent_prompts(db: Database, owner: str, limit: int) -> list[str]:
    return db.column("select text from prompt where owner = ? order by id desc limit ?", (owner, limit))


def pasted_prompts(db: Database, owner: str, limit: int) -> dict[str, list[str]]:
    """The pasted parts of those of the newest lines that have any, by the line."""
    rows = db.rows("select text, pasted from prompt where owner = ? order by id desc limit ?", (owner, limit))
    read = ((text, json.loads(spans)) for text, spans in rows)
    return {text: [text[start : start + length] for start, length in spans] for text, spans in read if spans}


def prompts_are_command(db: Database, found: Sequence[int], command: str) -> bool:
    """Whether these lines are all the same command with words behind it."""
    other = "select count(*) from prompt where id in (select value from json_each(?)) and text not like ? || ' %'"
    return not db.value(other, (found, command))
