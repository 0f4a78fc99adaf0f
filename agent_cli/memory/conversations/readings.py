"""What was read in a turn: a file, a pipe, words over HTTP, a tool's result, or what memory kept of one. What is
proposed then may be the idea of that text: it is trusted no further than what was read before it, and names that. What
the person has approved, facts and skills, is not counted. Also where quotes stand, and how far they can be trusted."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import PurePath
from typing import Any, get_args

from agent_cli import clock
from agent_cli.memory.conversations import log
from agent_cli.memory.language import terms
from agent_cli.messages import Origin, Part
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.text import one_line
from agent_cli.values import frozen

_TRUSTED: tuple[Origin, ...] = get_args(Origin)
ORIGINS: tuple[Origin, ...] = ("file", "piped", "http", "editor", "tool")
# Tools whose results are the program's own text, and those whose results the person has approved.
PROGRAM_WORDED = ("jot", "save_note", "propose_fact", "create_reminder", "complete_task", "draft_message", "calculate")
_APPROVED = ("read_skill",)
_CARRIED = re.compile(r"\(([sy])(\d+)(?=[),])")  # handles of the sessions and summaries that an opening tells of
_NOTE = "a note"
_MAX_QUESTIONS = 50  # whose recalled memories are followed
_QUOTED = range(4, 601)  # characters of a meaningful quote


@frozen
class Quote:
    message: int
    text: str  # exactly as in the message
    trust: Origin  # the least trusted origin of its parts
    at: datetime  # when it was said


def least_trusted(origins: Iterable[Origin]) -> Origin:
    """The least trusted of these origins; "model" when there are none."""
    return max(origins, key=_TRUSTED.index, default="model")


def trust(parts: Sequence[Part], start: int, end: int) -> Origin:
    """The least trusted origin of the characters from `start` to `end`."""
    touched, at = list[Origin](), 0
    for part in parts:
        if part.text[max(0, start - at) : max(0, end - at)].strip():
            touched.append(part.origin)
        at += len(part.text)
    return least_trusted(touched)


def find(entries: Iterable[log.Entry], quote: str) -> Quote | None:
    """The quote in the first message of the person that contains it, ignoring differences in blanks; else None."""
    words = quote.strip().strip('"“”„«»').split()
    if len("".join(words)) not in _QUOTED:
        return None
    pattern = re.compile(r"\s+".join(map(re.escape, words)))
    for entry in entries:
        match = pattern.search(entry.message.text) if entry.message.role == "user" else None
        if match:
            origin = trust(entry.parts, match.start(), match.end())
            return Quote(entry.id, match[0], origin, clock.local(entry.at, entry.utc_offset))
    return None


@frozen
class Reading:
    """What was read in a turn and does not come from the person: whatever is proposed in it may be its idea."""

    message: int  # in which it stands, or for which it was recalled
    origin: Origin
    name: str  # of the file, or the tool
    row: str = ""  # the handle of what was recalled

    @property
    def handle(self) -> str:
        return self.row or ids.handle("message", self.message)


def after(db: Database, message: int) -> Reading | None:
    """What was read in the turn that a message of the person began, or else recalled for it."""
    return _read_in_turn(db, message) or _least_trusted(_recalled(db, message))


def before_proposal(db: Database, message: int, statement: str, quote: Quote | None) -> Reading | None:
    """What was read in the turn, recalled for it, or, unless the statement was typed, carried along in the session."""
    read = after(db, message)
    if read or (quote and quote.trust == "typed" and terms.is_similar(statement, quote.text)):
        return read
    session = log.session_of(db, message) or 0
    opening = str(db.value("select opening from session where id = ?", (session,)) or "")
    carried = _CARRIED.findall(opening)
    summaries, sessions = ([int(number) for kind, number in carried if kind == letter] for letter in "ys")
    return _read_in_sessions(db, [session, *sessions, *_summarised(db, summaries)], message)


def describe(db: Database, messages: Sequence[int]) -> tuple[str, int | None]:
    """What was read in the last of these messages that has any, as `fetch_feed weather, m313`, and its id."""
    for message in reversed(messages):
        recalled = (each for each in _recalled(db, message) if each and each.row)
        if found := _read_in_turn(db, message, alone=True) or _least_trusted(recalled):
            return _description(db, found), message
    return "", None


def describe_in_session(db: Database, session: int | None, until: str) -> tuple[str, int | None]:
    last = db.value("select max(id) from said where session_id = ? and at <= ?", (session, until)) or 0
    found = _read_in_sessions(db, [session], last + 1) if session else None
    return (_description(db, found), found.message) if found else ("", None)


def claim_sources(quote: Quote | None, reading: Reading | None, message: int | None) -> dict[str, Any]:
    """What a claim says of its sources: it is trusted as its quote, and no further than what was read in its turn."""
    trust = least_trusted([each for each in (reading and reading.origin, quote and quote.trust) if each])
    read_in = reading.message if reading else None
    said = {"quote": quote.text if quote else "", "inferred": quote is None}
    return said | {"message": message, "trust": trust, "read_in": read_in}


def _description(db: Database, read: Reading) -> str:
    """What was read, the arguments of the call that it answers, and the handle."""
    query = """select c.arguments from said r join said q on q.session_id = r.session_id and q.id < r.id
               join tool_call c on c.message_id = q.id and c.call_id = r.answers
               where r.id = ? order by q.id desc limit 1"""
    arguments = db.value(query, (read.message,)) if read.origin == "tool" and not read.row else None
    words = " ".join(map(str, json.loads(arguments or "{}").values()))
    named = {"http": "what came over HTTP", "editor": "what came from an editor", "piped": "what was piped in"}
    named["file"] = f"the file {read.name}".strip()
    what = read.name if read.name == _NOTE else named.get(read.origin, read.name)
    return f"{one_line(f'{what} {words}', 80)}, {read.handle}"


def _least_trusted(found: Iterable[Reading | None]) -> Reading | None:
    """The least trusted of these, the latest of its kind."""
    return max(filter(None, found), key=lambda each: (_TRUSTED.index(each.origin), each.message), default=None)


def _read_in_turn(db: Database, message: int, *, alone: bool = False) -> Reading | None:
    """The least trusted of what was read in the turn that a message begins; `alone`: of what it holds itself."""
    session = log.session_of(db, message) or 0
    next_question = "select min(id) from said where session_id = ? and id > ? and role = 'user'"
    end = message + 1 if alone else db.value(next_question, (session, message))
    return _least_trusted(_read(db, [session], message, end))


def _recalled(db: Database, message: int) -> Iterator[Reading | None]:
    """What memory kept of files, pipes and tools, and the model was shown with a message; and with the replies it was
    shown, each question once and the nearest only, since replies rest on earlier replies without end."""
    questions = [message]
    for asked in questions:
        for kind, row in db.rows("select kind, row from recollection where message_id = ? order by id", (asked,)):
            if kind != "message":
                yield _kept_in(db, kind, row, asked)
            elif row < asked and (before := log.question_of(db, row)):
                read = _read_in_turn(db, before, alone=before == row)
                yield read
                if read is None and before not in questions and len(questions) < _MAX_QUESTIONS:
                    questions.append(before)


def _kept_in(db: Database, kind: str, row: int, message: int) -> Reading | None:
    """The file, pipe or tool that a row of memory, recalled for this message, comes from."""
    if kind == "summary":
        return _read_in_sessions(db, _summarised(db, [row]), message)
    if kind == "section":
        query = "select d.path from section s join document d on d.id = s.document_id where s.id = ?"
        return Reading(message, "file", PurePath(db.value(query, (row,)) or "").name, ids.handle(kind, row))
    origin = db.value("select origin from note where id = ?", (row,)) if kind == "note" else None
    origin = "tool" if origin == "mcp" else origin
    return Reading(message, origin, _NOTE, ids.handle(kind, row)) if origin in ORIGINS else None


def _summarised(db: Database, summaries: Sequence[int]) -> list[int]:
    """The sessions that summaries tell of, also those that they take from other summaries."""
    query = """with recursive part (kind, row) as (
                  select 'summary', value from json_each(?)
                  union select s.kind, s.row from part p join summary_source s on s.summary_id = p.row
                  where p.kind = 'summary')
               select row from part where kind = 'session'
               union select session_id from summary where session_id is not null
                 and id in (select row from part where kind = 'summary')"""
    return db.column(query, (summaries,))


def _read_in_sessions(db: Database, sessions: Sequence[int], before: int) -> Reading | None:
    """The least trusted of what was read in these sessions before a message, or recalled there."""
    query = """select c.kind, c.row, c.message_id from recollection c join said s on s.id = c.message_id
               where s.session_id in (select value from json_each(?)) and s.id < ? and c.kind in ('section', 'note')"""
    recalled = [_kept_in(db, *row) for row in db.rows(query, (sessions, before))]
    return _least_trusted([*_read(db, sessions, 0, before), *recalled])


def _read(db: Database, sessions: Sequence[int], first: int, end: int | None) -> list[Reading]:
    """What was read in these sessions from message `first` until before message `end`."""
    query = """with seen as (select * from said where session_id in (select value from json_each(?1))
                             and id >= ?2 and id < coalesce(?3, id + 1))
               select id, 'tool', tool from seen
               where role = 'tool' and (not failed or coalesce(parts ->> '$[0][0]', '') <> 'model')
                 and tool not in (select value from json_each(?4))
               union all select s.id, p.value ->> 0, coalesce(p.value ->> 2, '') from seen s, json_each(s.parts) p
               where s.role = 'user' and p.value ->> 0 in (select value from json_each(?5))"""
    rows = db.rows(query, (sessions, first, end, [*PROGRAM_WORDED, *_APPROVED], ORIGINS))
    return [Reading(*row) for row in rows]
