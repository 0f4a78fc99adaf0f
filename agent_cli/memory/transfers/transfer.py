"""Imports and exports conversations as JSON lines (a session a line), JSON or Markdown; exports the rows of every kind.
Ids are kept as external ids, unique for each source and session, so that importing twice adds nothing."""

import gc
import json
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from agent_cli import clock, kinds, limits, text
from agent_cli.memory import tombstones
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.scope import PERSON, Scope, place_of
from agent_cli.messages import Part, ToolCall, encode_parts
from agent_cli.store import events, ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

_BATCH_MESSAGES = 5000
_LONG = 2000  # characters of a line that count as a message at least, for a batch is held in memory
_ROLES = ("user", "assistant", "tool")
_TEXTS = ("author", "thinking", "answers", "tool", "model")  # of a message, which may be missing
_MALFORMED = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)


Report = Callable[[str], None]


@frozen
class ImportResult:
    sessions: int
    messages: int
    broken: int


@frozen
class ExternalSession:
    """A session to be imported."""

    place: str  # in its file
    size: int  # about how many messages it has
    # As `export_session` gives it, and where known its `folder`, whether the ids of its messages are `unique` among all
    # sessions, and what is `broken`: "LINE: why"; None: empty. Raises one of _MALFORMED
    row: Callable[[], dict[str, Any] | None]


def import_lines(
    db: Database, scope: Scope, lines: Iterable[str], source: str, time: clock.Clock, report_error: Report
) -> ImportResult:
    """Import JSON lines in batches. A broken line is reported with its number, and skipped."""
    entries = (
        ExternalSession(f"line {number}", max(1 + line.count('"content"'), len(line) // _LONG), partial(_row, line))
        for number, line in enumerate(lines, 1)
        if line.strip()
    )
    return import_sessions(db, scope, entries, source, time, report_error)


def import_sessions(
    db: Database,
    scope: Scope,
    entries: Iterable[ExternalSession],
    source: str,
    time: clock.Clock,
    report_error: Report,
    report_progress: Callable[[int, int], None] = lambda sessions_read, new_messages: None,
) -> ImportResult:
    """Import sessions in batches. A broken one is reported with its place, and skipped."""
    gc.freeze()  # else all that is there is searched for garbage again and again: a tenth of the time
    new_sessions = new_messages = broken = seen = 0
    for batch in _batches(entries):
        count, parsed = 0, [_parsed(entry, time()) for entry in batch]  # meanwhile other programs can write
        with db.write():
            for entry, session in zip(batch, parsed, strict=True):
                try:
                    if isinstance(session, Exception):
                        raise session
                    with db.write():  # a session whole or not at all
                        added, fresh = _import_session(db, scope, *session, source, time()) if session else (0, 0)
                    incomplete = [str(line) for line in session[0].get("broken") or ()] if session else []
                except _MALFORMED as error:
                    broken += 1
                    report_error(f"{entry.place} was skipped: {text.one_line(str(error) or type(error).__name__, 120)}")
                    continue
                new_sessions, new_messages, count = new_sessions + added, new_messages + fresh, count + added
                for line in incomplete:
                    broken += 1
                    report_error(f"{entry.place} was read without line {text.one_line(line, 120)}")
            if count:
                events.append(db, time, "sessions imported", str(count), actor="import")
        seen += len(batch)
        report_progress(seen, new_messages)
    return ImportResult(new_sessions, new_messages, broken)


def _batches(entries: Iterable[ExternalSession]) -> Iterator[list[ExternalSession]]:
    batch: list[ExternalSession] = []
    size = 0
    for entry in entries:
        batch.append(entry)
        size += max(1, entry.size)  # an empty one too: a small file may hold millions of them
        if size >= _BATCH_MESSAGES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


_Session = tuple[dict[str, Any], list[log.ImportedMessage]]
"""A session as its entry gives it, and its messages."""


def _parsed(entry: ExternalSession, now: datetime) -> _Session | Exception | None:
    """The session, None when it is empty, or why it cannot be read."""
    try:
        if (row := entry.row()) is None:
            return None
        messages = row.get("messages") or []
        if not isinstance(messages, list):
            raise ValueError("the messages are not a list")
        return row, [_parse_message(message, now) for message in messages]
    except _MALFORMED as error:
        return error


def _row(line: str) -> dict[str, Any]:
    row: Any = limits.load_json(line)
    if not isinstance(row, dict):
        raise ValueError("it is not a JSON object")
    if "\\ud" in line or "\\uD" in line:  # half of a surrogate pair, where another program cut a text
        row = json.loads(text.without_surrogates(json.dumps(row, ensure_ascii=False)))
    return dict(row)


def _id(row: dict[str, Any], what: str) -> str:
    id = row.get("id")
    if isinstance(id, bool) or not isinstance(id, str | int) or id == "":
        raise ValueError(f"a {what} has no id")
    return text.without_surrogates(str(id))


def _parse_message(row: Any, now: datetime) -> log.ImportedMessage:
    if not isinstance(row, dict):
        raise ValueError("a message is not a JSON object")
    role, content = row.get("role"), row.get("content")
    if role not in _ROLES:
        raise ValueError(f"the role of a message is {role!r}, not one of {', '.join(_ROLES)}")
    if not isinstance(content, str):
        raise ValueError("a message has no content")
    content = text.without_surrogates(content)
    author, thinking, answers, tool, model = [text.without_surrogates(str(row.get(name) or "")) for name in _TEXTS]
    tokens = row.get("tokens") or {}
    return log.ImportedMessage(
        _id(row, "message"),
        _parse_time(row["at"], now) if row.get("at") else now,
        role,
        content,
        author,
        encode_parts(_parse_origins(row.get("origin"), content)),
        thinking,
        answers,
        tool,
        bool(row.get("failed")),
        str(row.get("finish") or "stop"),
        model,
        int(tokens.get("in") or 0),
        int(tokens.get("out") or 0),
        tuple([ToolCall(str(c["id"]), str(c["name"]), dict(c["arguments"])) for c in row.get("calls") or ()]),
    )


def _parse_time(value: str, now: datetime) -> datetime:
    """Raises ValueError, also for a time that could not be shown in every zone."""
    found = clock.parse(value, now)
    if not clock.EARLIEST <= found <= clock.LATEST:
        raise ValueError(f"the time {value!r} is out of range")
    return found


def _parse_origins(spans: Any, content: str) -> tuple[Part, ...]:
    """The parts of an exported message, all of origin "import"."""
    if not spans:
        return (Part(content, "import"),) if content else ()
    parts, start = [], 0
    for _, length, *name in spans:
        end = start + max(0, length)
        parts.append(Part(content[start:end], "import", *[text.without_surrogates(str(each)) for each in name]))
        start = end
    if start != len(content):
        raise ValueError("the lengths in a message's origin do not add up to its content")
    return tuple(parts)


def _import_session(
    db: Database, scope: Scope, row: dict[str, Any], messages: list[log.ImportedMessage], source: str, now: datetime
) -> tuple[int, int]:
    """Add the new messages of one session; returns the number of new sessions and messages. Raises one of _MALFORMED"""
    id, kind = _id(row, "session"), row["kind"] if row.get("kind") in sessions.ONE_SHOTS else "chat"
    title, named, folder = [text.without_surrogates(str(row.get(name) or "")) for name in ("title", "source", "folder")]
    started = _parse_time(row["started_at"], now) if row.get("started_at") else messages[0].at if messages else now
    source = named or source
    known = sessions.find_imported(db, scope.owner, source, id)
    known_ids = set(log.external_ids(db, known).values()) if known else set()
    if row.get("unique") and messages:  # it may begin with a copy of another session
        known_ids.update(log.copied_ids(db, scope.owner, source, messages[0].external_id))
    if scope.owner == PERSON and Path(folder).is_absolute():
        scope = Scope(PERSON, place_of(Path(folder)))
    first = {each.external_id: each for each in reversed(messages) if each.external_id not in known_ids}
    wanted = new = list(first.values())[::-1]
    if tombstones.any_exist(db):
        forms = [tombstones.message_form(clock.utc(each.at), each.text) for each in new]
        erased = tombstones.erased_among(db, forms, scope.owner)
        wanted = [each for each, form in zip(new, forms, strict=True) if form not in erased]
    if not wanted and (known or messages):  # nothing new, or everything new was forgotten before
        return 0, 0
    session = known or sessions.add_imported(
        db, scope, started, now, title=title, kind=kind, source=source, external_id=id
    )
    log.append_imported(db, session, scope, wanted)
    if wanted:
        # Messages may be dated in the future, but the session would be the latest for ever.
        sessions.touch(db, session, min(now, max(message.at for message in wanted)))
    return int(not known), len(wanted)


def export_session(db: Database, session: sessions.Session) -> dict[str, Any]:
    """A session as one JSON object, as `import_lines` reads it."""
    names = log.external_ids(db, session.id)
    id, source = sessions.external_id(db, session.id)
    return {
        "id": id,
        **({"source": source} if source else {}),
        "title": session.title,
        "kind": session.kind,
        "started_at": clock.local(session.started_at, session.utc_offset).isoformat(),
        "messages": [_export_message(entry, names[entry.id]) for entry in log.history(db, session.id)],
    }


def _export_message(entry: log.Entry, id: str) -> dict[str, Any]:
    message = entry.message
    row = {
        "id": id,
        "role": message.role,
        "author": entry.author,
        "content": message.text,
        "at": clock.local(entry.at, entry.utc_offset).isoformat(),
        "origin": [[part.origin, len(part.text), *([part.name] if part.name else [])] for part in entry.parts],
        "finish": entry.finish or "interrupted",
        "model": entry.usage.model,
        "tokens": {"in": entry.usage.tokens_in, "out": entry.usage.tokens_out} if entry.usage.tokens_out else None,
        "thinking": message.thinking,
        "calls": [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in message.calls],
        "answers": message.call_id,
        "tool": message.tool_name,
        "failed": entry.failed,
    }
    needed = ("id", "role", "author", "content", "at")
    return {name: value for name, value in row.items() if value or name in needed}


def to_markdown(db: Database, session: sessions.Session) -> str:
    started = clock.local(session.started_at, session.utc_offset)
    title = sessions.name(db, session) or session.handle
    lines = [f"# {title}", "", f"{session.handle}, {started:%d %B %Y, %H:%M}", ""]
    for entry in log.history(db, session.id):
        message, at = entry.message, clock.local(entry.at, entry.utc_offset)
        who = entry.author or {"user": "You", "assistant": "Agent", "tool": f"Tool {message.tool_name}"}[message.role]
        cut = "" if entry.finish == "stop" else f" ({entry.finish or 'unfinished'})"
        lines += [f"## {who}, {at:%H:%M}{cut}", ""]
        lines += [message.text, ""] if message.text else []
        lines += [f"    {call.name}({json.dumps(call.arguments, ensure_ascii=False)})" for call in message.calls]
        lines += [""] if message.calls else []
    return "\n".join(lines)


def export_rows(db: Database, owner: str, names: Collection[str] = ()) -> Iterator[dict[str, Any]]:
    """An owner's rows of the named kinds, or of all, the oldest of each first, with the columns that hold something."""
    for kind in kinds.KINDS:
        if not kind.exportable or (names and kind.name not in names):
            continue
        columns = db.column("select name from pragma_table_info(?)", (kind.name,))
        for values in db.each(f"select {', '.join(columns)} from {kind.name} where owner = ? order by id", (owner,)):
            row = {name: value for name, value in zip(columns, values, strict=True) if value not in (None, "")}
            yield {"kind": kind.shown, **row, "id": ids.handle(kind.name, row["id"])}
