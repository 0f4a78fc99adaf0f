"""Reads the log of the program llm (logs.db) as sessions.

One file may hold two schemas: `responses`, a row for each prompt and its answer; and since version 0.32 `turns`, which
point into chains of `messages` made of `parts`. A row of either becomes the same messages with the same ids, so that
nothing is imported twice after an update. SQLite stores any bytes as text: an invalid one costs its own conversation.
"""

import json
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from agent_cli.errors import UsageError
from agent_cli.memory.transfers import export_files
from agent_cli.memory.transfers.transfer import ExternalSession
from agent_cli.store.file import ForeignFile
from agent_cli.text import one_line, without_surrogates

_Turn = tuple[Any, ...]
"""Conversation and its name, id, time, model, prompt, response, thinking, tokens in and out; texts as bytes."""


def read_sessions(file: Path) -> Iterator[ExternalSession]:
    """Raises UsageError when the file is no log of llm, StoreError when it cannot be read."""
    if not file.is_file():
        raise UsageError(f"{file} cannot be read: there is no such file (`llm logs path` names it)")
    log = ForeignFile(file)
    try:
        if not {"responses", "turns"} & log.tables.keys():
            raise UsageError(f"{file} is not a log of llm 0.4 or newer: `llm logs path` names the file")
        number = 0
        for turns in (_responses(log), _turns(log)):
            for _, group in groupby(turns, lambda turn: turn[0]):
                number += 1
                conversation = list(group)
                place = f"conversation {number} (“{one_line(_text(conversation[0][1], 'replace'), 40)}”)"
                yield ExternalSession(place, 2 * len(conversation), partial(_session_row, conversation))
    finally:
        log.close()


def _session_row(turns: list[_Turn]) -> dict[str, Any] | None:
    """A conversation as `transfer.export_session` gives it; None when it is empty. Raises ValueError."""
    messages: list[dict[str, Any]] = []
    for _, _, id, at, *texts, tokens_in, tokens_out in turns:
        id, model, prompt, response, thinking = map(_text, (id, *texts))
        moment = export_files.parse_time(_text(at) if isinstance(at, bytes) else at)
        both = {"at": moment.isoformat() if moment else ""}
        used_in, used_out = (each if isinstance(each, int) else 0 for each in (tokens_in, tokens_out))
        if prompt.strip():
            messages.append({"id": f"{id} prompt", "role": "user", "content": prompt, **both})
        if response.strip():
            used = {"model": model, "tokens": {"in": used_in, "out": used_out}}
            words = {"content": response, "thinking": thinking}
            messages.append({"id": id, "role": "assistant", **words, **both, **used})
    conversation, title = (_text(each, "replace") for each in turns[0][:2])
    return {"id": conversation, "title": title, "started_at": "", "messages": messages} if messages else None


def _responses(log: ForeignFile) -> Iterator[_Turn]:
    """The older schema; a column that a version did not have is empty."""
    columns = log.tables.get("responses", set())
    if not columns:
        return

    def column(name: str, instead: str) -> str:
        return f"coalesce(r.{name}, {instead})" if name in columns else instead

    named = "conversation_id" in columns and {"id", "name"} <= log.tables.get("conversations", set())
    join = "left join conversations c on c.id = r.conversation_id" if named else ""
    texts = [
        *(column("conversation_id", "r.id"), "coalesce(c.name, '')" if join else "''", "r.id"),
        *(column("datetime_utc", "''"), column("resolved_model", column("model", "''"))),
        *(column(name, "''") for name in ("prompt", "response", "reasoning")),
    ]
    rows = log.rows(
        f"""select {", ".join(map(_bytes, texts))}, {column("input_tokens", "0")}, {column("output_tokens", "0")}
            from responses r {join} order by 1, 4, r.rowid"""
    )
    queries = _attachment_marks(log)
    for conversation, name, id, at, model, prompt, *rest in rows:
        left_out = [(kind, file) for kind, sql in queries.items() for (file,) in log.rows(sql, (_text(id, "replace"),))]
        marks = [f"[{' '.join(filter(None, (kind, _text(file, 'replace'))))} left out]" for kind, file in left_out]
        said = prompt if isinstance(prompt, bytes) else str(prompt or "").encode()
        yield (conversation, name, id, at, model, _join([said, *(mark.encode() for mark in marks)]), *rest)


def _bytes(sql: str) -> str:
    """SQL for a text as bytes, and any other value unchanged."""
    return f"case typeof({sql}) when 'text' then cast({sql} as blob) else {sql} end"


def _text(value: Any, errors: str = "strict") -> str:
    try:
        return value.decode(errors=errors) if isinstance(value, bytes) else str(value or "")
    except UnicodeDecodeError as error:
        raise ValueError(f"it holds bytes that are not text ({error.reason})") from error


def _attachment_marks(log: ForeignFile) -> dict[str, str]:
    """The queries for the names of what a response has beside its words and is not imported, by what it is."""
    marks = {}
    if {"response_id", "fragment_id"} <= log.tables.get("prompt_fragments", set()):
        source = "coalesce(f.source, '')" if "source" in log.tables.get("fragments", set()) else "''"
        marks["fragment"] = f"{_bytes(source)} from prompt_fragments p join fragments f on f.id = p.fragment_id"
    if {"response_id", "attachment_id"} <= log.tables.get("prompt_attachments", set()):
        name = _bytes("coalesce(f.path, f.url, '')")
        marks["file"] = f"{name} from prompt_attachments p join attachments f on f.id = p.attachment_id"
    return {each: f"select {sql} where p.response_id = ?" for each, sql in marks.items()}


def _turns(log: ForeignFile) -> Iterator[_Turn]:
    """The newer schema: a turn ends at `tip_message_hash`; its prompt is the user messages before it."""
    if not {"turns", "threads", "messages", "parts"} <= log.tables.keys():
        return
    rows = log.rows(
        f"""select {_bytes("coalesce(t.thread_id, t.id)")}, {_bytes("coalesce(h.name, '')")}, {_bytes("t.id")},
                  {_bytes("t.datetime_utc")}, {_bytes("coalesce(t.resolved_model, t.model, '')")},
                  t.parent_message_hash, t.tip_message_hash,
                  coalesce(t.input_tokens, 0), coalesce(t.output_tokens, 0)
           from turns t left join threads h on h.id = t.thread_id order by 1, t.datetime_utc, t.rowid"""
    )
    for conversation, name, id, at, model, parent, tip, tokens_in, tokens_out in rows:
        answers = [each for each in _chain(log, tip, parent) if each[0] == "assistant"]
        prompt = _join(words for role, words, _ in _chain(log, parent, None, until="assistant") if role == "user")
        response, thinking = _join(words for _, words, _ in answers), _join(thoughts for *_, thoughts in answers)
        yield (conversation, name, id, at, model, prompt, response, thinking, tokens_in, tokens_out)


def _join(texts: Iterable[bytes]) -> bytes:
    return b"\n\n".join(filter(None, texts))


def _chain(log: ForeignFile, tip: str | None, end: str | None, until: str = "") -> Iterator[tuple[str, bytes, bytes]]:
    """(role, text, thinking) of the messages leading to `tip`, after `end` or the last message of role `until`."""
    path: list[tuple[str, str]] = []
    seen = {end}
    while tip and tip not in seen:
        seen.add(tip)
        found = next(log.rows("select role, parent_hash from messages where hash = ?", (tip,)), None)
        if found is None or found[0] == until:
            break
        path.append((tip, str(found[0])))
        tip = found[1]
    for hash, role in reversed(path):
        yield role, *_parts(log, hash)


def _parts(log: ForeignFile, hash: str) -> tuple[bytes, bytes]:
    texts: list[bytes] = []
    thoughts: list[bytes] = []
    for kind, words, payload in log.rows(
        """select type, cast(text as blob), cast(payload as blob) from parts
           where message_hash = ? order by position""",
        (hash,),
    ):
        match kind:
            case "text":
                texts.append(words if words is not None else without_surrogates(_text_with_marks(payload)).encode())
            case "reasoning" if words:
                thoughts.append(words)
            case "attachment":
                texts.append(b"[file left out]")
    return _join(texts), _join(thoughts)


def _text_with_marks(payload: Any) -> str:
    """A text that refers to fragments: its own words, with a mark for each fragment."""
    try:
        pieces = json.loads(payload or "{}").get("text_ref") or ()
        return "".join(str(piece.get("literal") or "[fragment left out]") for piece in pieces)
    except (ValueError, AttributeError, TypeError):
        return ""
