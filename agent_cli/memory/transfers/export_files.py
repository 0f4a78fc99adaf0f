"""Reads the exports of ChatGPT and Claude (the archive, the unpacked folder or the file), and the log of the program
llm, as sessions. Of an array that is too large for memory (ten years are a gigabyte) one conversation is read at a
time.

Of the branches that regenerating and editing leave behind, the one last shown is imported. Of ChatGPT, hidden messages
and the model's thoughts are left out; pictures and files leave a mark. A message of Claude has its text twice, plain
and as blocks, which are newer and complete; text files in the export become parts of it.

The log of llm has `responses`, a row for each prompt and its answer, or since version 0.32 `turns`, which point into
chains of `messages` made of `parts`. Both become the same messages with the same ids.
"""

import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import IO, Any

from agent_cli import clock, limits
from agent_cli.errors import StoreError, UsageError
from agent_cli.memory.transfers.transfer import ExternalSession
from agent_cli.store import file as store_file
from agent_cli.store.db import Database
from agent_cli.text import one_line, without_surrogates

_NAME = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
_MAX_UNPACKED = 20_000_000_000  # bytes of an archive: a small one may hold a thousand times its size
_ENCRYPTED = RuntimeError
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, _ENCRYPTED, NotImplementedError)


def chatgpt(file: Path) -> Iterator[ExternalSession]:
    return _read_sessions(file, _chatgpt_row, "mapping", "ChatGPT", {"chat_messages": "claude"})


def claude(file: Path) -> Iterator[ExternalSession]:
    return _read_sessions(file, _claude_row, "chat_messages", "Claude", {"mapping": "chatgpt"})


def _read_sessions(
    file: Path, row: Callable[[dict[str, Any]], dict[str, Any] | None], key: str, program: str, others: dict[str, str]
) -> Iterator[ExternalSession]:
    """The sessions in an export of `program`, whose messages are under `key`; `others`: keys and commands of others."""
    number = 0
    for name, conversations in _open_files(file):
        try:
            for conversation in conversations:
                number += 1
                place = f"conversation {number}"
                if not isinstance(conversation, dict):
                    yield ExternalSession(place, 1, partial(_fail, "it is not a JSON object"))
                    continue
                for theirs, command in others.items() if number == 1 and key not in conversation else ():
                    if theirs in conversation:
                        raise UsageError(f"{file} is not an export of {program}; try `agent import {command} {file}`")
                title = conversation.get("title") or conversation.get("name")
                place += f" (“{one_line(title, 40)}”)" if isinstance(title, str) else ""
                messages = conversation.get(key)
                size = len(messages) if isinstance(messages, dict | list) else 1
                yield ExternalSession(place, size, partial(row, conversation))
        except BrokenElement as error:
            if not number:
                raise UsageError(f"{name} is not an export of {program}: {error}") from error
            yield ExternalSession(f"what follows conversation {number} in {name}", 1, partial(_fail, str(error)))


def parse_time(value: Any) -> datetime | None:
    """A time of an export (seconds since 1970 or ISO 8601) in UTC; None when missing or impossible."""
    try:
        if isinstance(value, str) and value:
            found = clock.parse(value, clock.LATEST).astimezone(UTC)
        elif isinstance(value, int | float) and value > 0:
            found = datetime.fromtimestamp(value, UTC)
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    return found if clock.EARLIEST <= found <= clock.LATEST else None


def to_row(
    id: Any, title: Any, started: Any, messages: Sequence[tuple[Any, dict[str, Any] | None]]
) -> dict[str, Any] | None:
    """A conversation as `export_session` gives it; None when empty. A message without a time has that of the last."""
    begin = at = parse_time(started)
    timed = []
    for said_at, message in messages:
        if message:
            at = parse_time(said_at) or at
            timed.append(message | {"at": at.isoformat() if at else ""})
    start = begin.isoformat() if begin else ""
    return {"id": str(id or ""), "title": str(title or ""), "started_at": start, "messages": timed} if timed else None


def _fail(why: str) -> dict[str, Any]:
    raise ValueError(why)


def _path_to(parents: dict[str, Any], leaf: str) -> list[str]:
    """The ids from the first message to the leaf; `parents`: the parent id of each message."""
    path: dict[str, None] = {}
    at: Any = leaf
    while isinstance(at, str) and at in parents and at not in path:
        path[at] = None
        at = parents[at]
    return list(path)[::-1]


def _open_files(file: Path) -> Iterator[tuple[str, Iterator[Any]]]:
    """(name, conversations) of each file. Raises UsageError."""
    opening: dict[str, Callable[[], Any]]
    with ExitStack() as opened:
        try:
            if file.is_dir():
                found = sorted(path for path in file.iterdir() if _NAME.fullmatch(path.name))
                opening = {path.name: partial(path.open, "rb") for path in found}
            elif zipfile.is_zipfile(file):
                archive = opened.enter_context(zipfile.ZipFile(file))
                names = sorted(name for name in archive.namelist() if _NAME.fullmatch(name))
                if sum(archive.getinfo(name).file_size for name in names) > _MAX_UNPACKED:
                    raise UsageError(f"{file} holds more than {_MAX_UNPACKED / 1e9:g} GB of conversations")
                opening = {name: partial(archive.open, name) for name in names}
            else:
                opening = {file.name: partial(file.open, "rb")}
            for name, open_ in opening.items():
                yield name, _conversations(opened, open_())
        except _DAMAGED as error:
            raise UsageError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if not opening:
        raise UsageError(f"there is no conversations.json in {file}: give the archive as it came, or that file")


def _conversations(opened: ExitStack, raw: IO[bytes]) -> Iterator[Any]:
    file = opened.enter_context(io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace"))

    def read(count: int) -> str:
        try:
            return file.read(count)
        except _DAMAGED as error:
            raise BrokenElement(f"it is damaged: {error}") from error

    return elements(read)


_CHUNK = 1 << 20
_ARRAY_START = re.compile(r'\s*(?:\{\s*"conversations"\s*:\s*)?\[\s*')  # some exports wrap the array in an object
_SEPARATOR = re.compile(r"[\s,]*")
_TAIL = 16  # characters at the end of the buffer that may be half a token or escape
_decode = json.JSONDecoder().raw_decode


class BrokenElement(ValueError):
    """An element that cannot be read, and so nothing after it."""


def elements(read: Callable[[int], str]) -> Iterator[Any]:
    """The elements; `read` gives so many characters, fewer only at the end. Raises BrokenElement."""
    buffer, at_end = read(_CHUNK), False
    begin = _ARRAY_START.match(buffer)
    if begin is None:
        raise BrokenElement("it is not a JSON array of conversations")
    at = begin.end()
    while True:
        at = _SEPARATOR.match(buffer, at).end()  # type: ignore[union-attr]  # matches nothing, too
        if buffer.startswith("]", at):
            return
        try:
            element, end = _decode(buffer, at)
        except json.JSONDecodeError as error:
            # Where the error is before the end of the buffer, to read more would not help.
            if error.pos < len(buffer) - _TAIL and not error.msg.startswith("Unterminated string"):
                raise BrokenElement(f"it is not JSON ({error.msg})") from error
            if at_end:
                raise BrokenElement("the file ends in the middle of it") from error
            buffer, at = buffer[at:], 0
            if len(buffer) >= limits.MAX_LINE:
                raise BrokenElement(f"it has more than {limits.MAX_LINE:,} characters") from error
            if 2 * limits.json_memory(buffer) > limits.MEMORY:  # it is tried next with twice as much
                raise BrokenElement(limits.TOO_MUCH_MEMORY) from error
            more = read(max(_CHUNK, len(buffer)))
            buffer, at_end = buffer + more, not more
            continue
        except (ValueError, RecursionError) as error:
            deep = isinstance(error, RecursionError)
            raise BrokenElement(limits.TOO_DEEP if deep else "it holds a number of thousands of digits") from error
        yield element
        buffer, at = (buffer[end:], 0) if end > _CHUNK else (buffer, end)


_SKIPPED = ("user_editable_context", "model_editable_context", "thoughts", "reasoning_recap")
_FINISHES = {"max_tokens": "length", "interrupted": "cancelled"}


def _chatgpt_row(conversation: dict[str, Any]) -> dict[str, Any] | None:
    nodes = conversation.get("mapping")
    if not isinstance(nodes, dict):
        raise ValueError("it has no messages (mapping)")
    current = conversation.get("current_node")
    leaf = current if isinstance(current, str) and current in nodes else next(reversed(nodes), "")
    path = _path_to({id: _get(node, "parent") for id, node in nodes.items()}, leaf)
    found = [(id, _get(nodes[id], "message")) for id in path]
    messages = [(each.get("create_time"), _chatgpt_message(each, id)) for id, each in found if isinstance(each, dict)]
    id = conversation.get("conversation_id") or conversation.get("id")
    return to_row(id, conversation.get("title"), conversation.get("create_time"), messages)


def _get(node: Any, key: str) -> Any:
    return node.get(key) if isinstance(node, dict) else None


def _chatgpt_message(node_message: dict[str, Any], id: str) -> dict[str, Any] | None:
    """None when it was hidden or empty."""
    author, metadata, content = (node_message.get(key) or {} for key in ("author", "metadata", "content"))
    role = _get(author, "role")
    hidden = _get(metadata, "is_visually_hidden_from_conversation") or node_message.get("weight") == 0
    if hidden or role not in ("user", "assistant", "tool") or _get(content, "content_type") in _SKIPPED:
        return None
    content_text = "\n\n".join(piece for piece in (_words(content), *_chatgpt_files(metadata)) if piece)
    if not content_text.strip():
        return None
    ending = _get(_get(metadata, "finish_details"), "type")
    return {
        "id": id,
        "role": role,
        "content": content_text,
        "tool": str(_get(author, "name") or "") if role == "tool" else "",
        "model": str(_get(metadata, "model_slug") or "") if role == "assistant" else "",
        "finish": _FINISHES.get(ending, "stop") if isinstance(ending, str) else "stop",
    }


def _words(content: dict[str, Any]) -> str:
    if content.get("content_type") == "code":
        language = content.get("language")
        name = language if isinstance(language, str) and language != "unknown" else ""
        return f"```{name}\n{_text(content, 'text')}\n```" if _text(content, "text").strip() else ""
    parts = content.get("parts")
    if isinstance(parts, list):
        return "\n\n".join(filter(None, map(_part, parts)))
    return _text(content, "text") or _text(content, "result")


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    kind = str(_get(part, "content_type") or "")
    if kind == "audio_transcription":
        return _text(part, "text")
    if "audio" in kind:
        return ""  # its transcription is another part
    return f"[{kind.partition('_')[0]} left out]" if kind else ""


def _chatgpt_files(metadata: dict[str, Any]) -> Iterator[str]:
    """A mark for each file attached to a message; pictures have theirs in the text."""
    files = _get(metadata, "attachments")
    for file in files if isinstance(files, list) else ():
        kind = str(_get(file, "mime_type") or _get(file, "mimeType") or "")
        if not kind.startswith("image/") and _get(file, "name"):
            yield f"[file {_get(file, 'name')} left out]"


def _text(content: dict[str, Any], key: str) -> str:
    found = content.get(key)
    return found if isinstance(found, str) else ""


_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}


def _claude_row(conversation: dict[str, Any]) -> dict[str, Any] | None:
    messages = conversation.get("chat_messages")
    if not isinstance(messages, list):
        raise ValueError("it has no messages (chat_messages)")
    shown = [each for each in messages if isinstance(each, dict)]
    by_id, leaf = {each.get("uuid"): each for each in shown}, conversation.get("current_leaf_message_uuid")
    if isinstance(leaf, str) and leaf in by_id:
        path = _path_to({str(id): each.get("parent_message_uuid") for id, each in by_id.items()}, leaf)
        shown = [by_id[id] for id in path]
    rows = [(each.get("created_at"), _claude_message(each)) for each in shown]
    return to_row(conversation.get("uuid"), conversation.get("name"), conversation.get("created_at"), rows)


def _claude_message(chat_message: dict[str, Any]) -> dict[str, Any] | None:
    """None when it is empty."""
    sender = chat_message.get("sender")
    role = _ROLES.get(sender) if isinstance(sender, str) else None
    if role is None:
        raise ValueError(f"a message is from {sender!r}, neither human nor assistant")
    content, thinking = _blocks(chat_message.get("content"))
    pieces = [(content or str(chat_message.get("text") or ""), ""), *_claude_files(chat_message)]
    pieces = [(words, name) for words, name in pieces if words.strip()]
    if not pieces:
        return None
    texts = [*(words + "\n\n" for words, _ in pieces[:-1]), pieces[-1][0]]
    names = [[name] if name else [] for _, name in pieces]
    return {
        "id": str(chat_message.get("uuid") or ""),
        "role": role,
        "content": "".join(texts),
        "origin": [["import", len(words), *name] for words, name in zip(texts, names, strict=True)],
        "thinking": thinking,
    }


def _blocks(content: Any) -> tuple[str, str]:
    """(text, thinking) of the blocks of a message."""
    texts, thoughts = [], []
    for block in content if isinstance(content, list) else ():
        match block:
            case {"type": "text", "text": str(words)}:
                texts.append(words)
            case {"type": "thinking", "thinking": str(words)}:
                thoughts.append(words)
            case {"type": "tool_use", "input": {"content": str(words), **more}}:  # an artifact
                title = more.get("title")
                texts.append(f"{title if isinstance(title, str) else 'artifact'}:\n\n```\n{words}\n```")
    return "\n\n".join(filter(None, texts)), "\n\n".join(thoughts)


def _claude_files(chat_message: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(text, name) of each attached file; a mark and no name for one that is not in the export."""
    for key in ("attachments", "files"):
        files = chat_message.get(key)
        for file in files if isinstance(files, list) else ():
            name = str(file.get("file_name") or "") if isinstance(file, dict) else ""
            words = file.get("extracted_content") if isinstance(file, dict) else None
            if isinstance(words, str) and words.strip():
                yield words, name or "attachment"
            elif name:
                yield f"[file {name} left out]", ""


_Turn = tuple[Any, ...]
"""Of llm: a conversation and its name, id, time, model, prompt, response, thinking, tokens in and out."""


def llm(file: Path) -> Iterator[ExternalSession]:
    """Raises UsageError when the file is no log of llm, StoreError when it cannot be read."""
    if not file.is_file():
        raise UsageError(f"{file} cannot be read: there is no such file (`llm logs path` names it)")
    try:
        with store_file.open_foreign(file) as log:
            names = log.column("select name from sqlite_schema where type = 'table'")
            tables = {name: {row[1] for row in log.rows(f'pragma table_info("{name}")')} for name in names}
            if not {"responses", "turns"} & tables.keys():
                raise UsageError(f"{file} is not a log of llm 0.4 or newer: `llm logs path` names the file")
            number = 0
            for turns in (_responses(log, tables), _turns(log, tables)):
                for _, group in groupby(turns, lambda turn: turn[0]):
                    number += 1
                    conversation = list(group)
                    place = f"conversation {number} (“{one_line(conversation[0][1], 40)}”)"
                    yield ExternalSession(place, 2 * len(conversation), partial(_llm_row, conversation))
    except StoreError as error:
        why = f"it is damaged, or no SQLite file, or you may not read it ({error.__cause__})"
        raise StoreError(f"{file} cannot be read: {why}") from error


def _llm_row(turns: list[_Turn]) -> dict[str, Any] | None:
    messages: list[tuple[Any, dict[str, Any]]] = []
    for _, _, id, at, model, prompt, response, thinking, tokens_in, tokens_out in turns:
        if prompt.strip():
            messages.append((at, {"id": f"{id} prompt", "role": "user", "content": prompt}))
        if response.strip():
            used = {"model": model, "tokens": {"in": tokens_in, "out": tokens_out}}
            answer = {"id": id, "role": "assistant", "content": response, "thinking": thinking, **used}
            messages.append((at, answer))
    conversation, name = turns[0][:2]
    return to_row(conversation, name, "", messages)


def _texts(*columns: str) -> str:
    return ", ".join(f"cast(coalesce({each}, '') as text)" for each in columns)


def _responses(log: Database, tables: dict[str, set[str]]) -> Iterator[_Turn]:
    """The older schema; a column that a version did not have is empty."""
    columns = tables.get("responses", set())
    if not columns:
        return

    def of(*names: str) -> str:
        there = [f"r.{name}" for name in names if name in columns]
        return f"coalesce({', '.join(there)}, '')" if there else "''"

    is_named = "conversation_id" in columns and {"id", "name"} <= tables.get("conversations", set())
    join = "left join conversations c on c.id = r.conversation_id" if is_named else ""
    texts = [of("conversation_id", "id"), "c.name" if join else "''", "r.id", of("datetime_utc")]
    texts += [of("resolved_model", "model"), of("prompt"), of("response"), of("reasoning")]
    tokens = ", ".join(f"cast({of(name)} as integer)" for name in ("input_tokens", "output_tokens"))
    yield from log.each(f"select {_texts(*texts)}, {tokens} from responses r {join} order by 1, 4, r.rowid")


def _turns(log: Database, tables: dict[str, set[str]]) -> Iterator[_Turn]:
    """The newer schema: a turn ends at `tip_message_hash`; its prompt is the user messages before it."""
    if not {"turns", "threads", "messages", "parts"} <= tables.keys():
        return
    texts = ("coalesce(t.thread_id, t.id)", "h.name", "t.id", "t.datetime_utc", "coalesce(t.resolved_model, t.model)")
    for *head, parent, tip, tokens_in, tokens_out in log.each(
        f"""select {_texts(*texts)}, t.parent_message_hash, t.tip_message_hash,
                   cast(coalesce(t.input_tokens, 0) as integer), cast(coalesce(t.output_tokens, 0) as integer)
            from turns t left join threads h on h.id = t.thread_id order by 1, 4, t.rowid"""
    ):
        answers = [_parts(log, hash) for role, hash in _chain(log, tip, parent) if role == "assistant"]
        asked = [hash for role, hash in _chain(log, parent, None, until="assistant") if role == "user"]
        prompt = _joined(_parts(log, hash)[0] for hash in asked)
        response, thinking = _joined(words for words, _ in answers), _joined(thoughts for _, thoughts in answers)
        yield (*head, prompt, response, thinking, tokens_in, tokens_out)


def _joined(texts: Iterable[str]) -> str:
    return "\n\n".join(filter(None, texts))


def _chain(log: Database, tip: str | None, end: str | None, until: str = "") -> list[tuple[str, str]]:
    """(role, hash) of the messages leading to `tip`, after `end` or the last message of role `until`."""
    path: dict[str | None, tuple[str, str]] = {}
    while tip and tip != end and tip not in path:
        role, parent = log.row("select role, parent_hash from messages where hash = ?", (tip,)) or (until, None)
        if role == until:
            break
        path[tip] = role, tip
        tip = parent
    return [*path.values()][::-1]


def _parts(log: Database, hash: str) -> tuple[str, str]:
    """The text and the thinking of a message."""
    texts, thoughts = [], []
    query = f"select type, text, {_texts('payload')} from parts where message_hash = ? order by position"
    for kind, words, payload in log.rows(query, (hash,)):
        match kind:
            case "text":
                texts.append(words if words is not None else without_surrogates(_text_with_marks(payload)))
            case "reasoning" if words:
                thoughts.append(words)
            case "attachment":
                texts.append("[file left out]")
    return _joined(texts), _joined(thoughts)


def _text_with_marks(payload: str) -> str:
    """A text that refers to fragments: its own words, with a mark for each fragment."""
    try:
        pieces = json.loads(payload or "{}").get("text_ref") or ()
        return "".join(str(piece.get("literal") or "[fragment left out]") for piece in pieces)
    except (ValueError, AttributeError, TypeError):
        return ""
