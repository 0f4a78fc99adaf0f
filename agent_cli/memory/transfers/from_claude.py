"""Reads the exports of Claude as sessions.

A message has its text twice, plain and as blocks; the blocks are newer and complete. Text files are in the export and
become parts of the message; other files leave a mark. When messages know their parents, the branch last shown is read.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent_cli.memory.transfers import export_files
from agent_cli.memory.transfers.transfer import ExternalSession
from agent_cli.text import without_surrogates

_OTHERS = {"mapping": "chatgpt"}
_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}


def read_sessions(file: Path) -> Iterator[ExternalSession]:
    """Raises UsageError when the file is not an export of Claude."""
    return export_files.read_sessions(file, session_row, "chat_messages", "Claude", _OTHERS)


def session_row(conversation: dict[str, Any]) -> dict[str, Any] | None:
    """The conversation as `transfer.export_session` gives it; None when it is empty. Raises ValueError."""
    chat_messages = conversation.get("chat_messages")
    if not isinstance(chat_messages, list):
        raise ValueError("it has no messages (chat_messages)")
    started = at = export_files.parse_time(conversation.get("created_at"))
    messages = []
    for chat_message in _shown(conversation, [each for each in chat_messages if isinstance(each, dict)]):
        message = _message(chat_message)
        if message:
            at = export_files.parse_time(chat_message.get("created_at")) or at
            messages.append(message | {"at": at.isoformat() if at else ""})
    if not messages:
        return None
    return {
        "id": without_surrogates(str(conversation.get("uuid") or "")),
        "title": without_surrogates(str(conversation.get("name") or "")),
        "started_at": started.isoformat() if started else "",
        "messages": messages,
    }


def _shown(conversation: dict[str, Any], messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages of the branch shown, or all when the export does not say which."""
    leaf = conversation.get("current_leaf_message_uuid")
    by_id = {each.get("uuid"): each for each in messages}
    if not isinstance(leaf, str) or leaf not in by_id:
        return messages
    return [by_id[id] for id in export_files.path_to({id: _parent(each) for id, each in by_id.items()}, leaf)]  # type: ignore[misc]


def _parent(message: dict[str, Any]) -> Any:
    return message.get("parent_message_uuid")


def _message(chat_message: dict[str, Any]) -> dict[str, Any] | None:
    """None when it is empty."""
    sender = chat_message.get("sender")
    role = _ROLES.get(sender) if isinstance(sender, str) else None
    if role is None:
        raise ValueError(f"a message is from {sender!r}, neither human nor assistant")
    content, thinking = _blocks(chat_message.get("content"))
    pieces = [(content or str(chat_message.get("text") or ""), ""), *_files(chat_message)]
    pieces = [(without_surrogates(words), name) for words, name in pieces if words.strip()]
    if not pieces:
        return None
    ends = [*["\n\n"] * (len(pieces) - 1), ""]
    return {
        "id": without_surrogates(str(chat_message.get("uuid") or "")),
        "role": role,
        "content": "".join(words + end for (words, _), end in zip(pieces, ends, strict=True)),
        "origin": [
            ["import", len(words + end), *([without_surrogates(name)] if name else [])]
            for (words, name), end in zip(pieces, ends, strict=True)
        ],
        "thinking": without_surrogates(thinking),
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


def _files(chat_message: dict[str, Any]) -> Iterator[tuple[str, str]]:
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
