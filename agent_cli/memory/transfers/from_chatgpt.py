"""Reads the exports of ChatGPT as sessions.

A conversation is a tree of messages: regenerating and editing leave branches behind. The branch last shown is imported,
the one that leads to `current_node`. Hidden messages (instructions, context about the person) and the model's thoughts
are left out; pictures and files leave a mark in their place.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent_cli.memory.transfers import export_files
from agent_cli.memory.transfers.transfer import ExternalSession
from agent_cli.text import without_surrogates

_OTHERS = {"chat_messages": "claude"}
_SKIPPED = ("user_editable_context", "model_editable_context", "thoughts", "reasoning_recap")
_FINISHES = {"max_tokens": "length", "interrupted": "cancelled"}


def read_sessions(file: Path) -> Iterator[ExternalSession]:
    """Raises UsageError when the file is not an export of ChatGPT."""
    return export_files.read_sessions(file, session_row, "mapping", "ChatGPT", _OTHERS)


def session_row(conversation: dict[str, Any]) -> dict[str, Any] | None:
    """The conversation as `transfer.export_session` gives it; None when it is empty. Raises ValueError."""
    nodes = conversation.get("mapping")
    if not isinstance(nodes, dict):
        raise ValueError("it has no messages (mapping)")
    started = at = export_files.parse_time(conversation.get("create_time"))
    messages = []
    for id in export_files.path_to(
        {id: _get(node, "parent") for id, node in nodes.items()}, _leaf(conversation, nodes)
    ):
        node_message = _get(nodes[id], "message")
        message = _message(node_message, without_surrogates(id)) if isinstance(node_message, dict) else None
        if message:
            at = export_files.parse_time(node_message.get("create_time")) or at
            messages.append(message | {"at": at.isoformat() if at else ""})
    if not messages:
        return None
    return {
        "id": without_surrogates(str(conversation.get("conversation_id") or conversation.get("id") or "")),
        "title": without_surrogates(str(conversation.get("title") or "")),
        "started_at": started.isoformat() if started else "",
        "messages": messages,
    }


def _get(node: Any, key: str) -> Any:
    return node.get(key) if isinstance(node, dict) else None


def _leaf(conversation: dict[str, Any], nodes: dict[str, Any]) -> str:
    """The end of the branch shown; when unknown, the last message without an answer."""
    current = conversation.get("current_node")
    if isinstance(current, str) and current in nodes:
        return current
    ends = [id for id, node in nodes.items() if not _get(node, "children")]
    return ends[-1] if ends else next(reversed(nodes), "")


def _message(node_message: dict[str, Any], id: str) -> dict[str, Any] | None:
    """None when it was hidden or empty."""
    author, metadata, content = (node_message.get(key) or {} for key in ("author", "metadata", "content"))
    role = _get(author, "role")
    hidden = _get(metadata, "is_visually_hidden_from_conversation") or node_message.get("weight") == 0
    if hidden or role not in ("user", "assistant", "tool") or _get(content, "content_type") in _SKIPPED:
        return None
    content_text = "\n\n".join(piece for piece in (_words(content), *_files(metadata)) if piece)
    if not content_text.strip():
        return None
    ending = _get(_get(metadata, "finish_details"), "type")
    return {
        "id": id,
        "role": role,
        "content": without_surrogates(content_text),
        "tool": without_surrogates(str(_get(author, "name") or "")) if role == "tool" else "",
        "model": without_surrogates(str(_get(metadata, "model_slug") or "")) if role == "assistant" else "",
        "finish": _FINISHES.get(ending, "stop") if isinstance(ending, str) else "stop",
    }


def _words(content: dict[str, Any]) -> str:
    """The text of a message, by its content type."""
    match content.get("content_type"):
        case "code":
            language = content.get("language")
            name = language if isinstance(language, str) and language != "unknown" else ""
            return f"```{name}\n{_text(content, 'text')}\n```" if _text(content, "text").strip() else ""
        case "tether_quote":
            source = ", ".join(filter(None, (_text(content, "title"), _text(content, "url"))))
            return "\n".join(filter(None, (_text(content, "text"), f"({source})" if source else "")))
        case "tether_browsing_display":
            return _text(content, "result") or _text(content, "summary")
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


def _files(metadata: dict[str, Any]) -> Iterator[str]:
    """A mark for each file attached to a message; pictures have theirs in the text."""
    files = _get(metadata, "attachments")
    for file in files if isinstance(files, list) else ():
        kind = str(_get(file, "mime_type") or _get(file, "mimeType") or "")
        if not kind.startswith("image/") and _get(file, "name"):
            yield f"[file {_get(file, 'name')} left out]"


def _text(content: dict[str, Any], key: str) -> str:
    found = content.get(key)
    return found if isinstance(found, str) else ""
