"""What ChatGPT exports, as sessions.

A conversation is a tree of messages: asking again and editing leave branches behind. Taken is the branch that was last
on the screen, the one that leads to `current_node`. Left out are what was hidden there (instructions, what the program
told the model of the person) and the model's thoughts; pictures and files are named where they stood.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent_cli.memory.transfers import export_files
from agent_cli.memory.transfers.transfer import Entry
from agent_cli.text import without_surrogates

_OTHERS = {"chat_messages": "claude"}
_SKIPPED = ("user_editable_context", "model_editable_context", "thoughts", "reasoning_recap")
_FINISHES = {"max_tokens": "length", "interrupted": "cancelled"}


def entries(file: Path) -> Iterator[Entry]:
    """Raises UsageError when the file is no export of ChatGPT."""
    return export_files.entries(file, row, "mapping", "ChatGPT", _OTHERS)


def row(conversation: dict[str, Any]) -> dict[str, Any] | None:
    """The conversation as transfer takes it; None when nothing was said in it. Raises ValueError."""
    nodes = conversation.get("mapping")
    if not isinstance(nodes, dict):
        raise ValueError("it has no messages (mapping)")
    begun = at = export_files.moment(conversation.get("create_time"))
    messages = []
    for id in export_files.branch({id: _of(node, "parent") for id, node in nodes.items()}, _leaf(conversation, nodes)):
        said = _of(nodes[id], "message")
        message = _message(said, without_surrogates(id)) if isinstance(said, dict) else None
        if message:
            at = export_files.moment(said.get("create_time")) or at
            messages.append(message | {"at": at.isoformat() if at else ""})
    if not messages:
        return None
    return {
        "id": without_surrogates(str(conversation.get("conversation_id") or conversation.get("id") or "")),
        "title": without_surrogates(str(conversation.get("title") or "")),
        "started_at": begun.isoformat() if begun else "",
        "messages": messages,
    }


def _of(node: Any, key: str) -> Any:
    return node.get(key) if isinstance(node, dict) else None


def _leaf(conversation: dict[str, Any], nodes: dict[str, Any]) -> str:
    """The end of the branch that was shown; where the export does not say, the last message that has no answer."""
    told = conversation.get("current_node")
    if isinstance(told, str) and told in nodes:
        return told
    ends = [id for id, node in nodes.items() if not _of(node, "children")]
    return ends[-1] if ends else next(reversed(nodes), "")


def _message(said: dict[str, Any], id: str) -> dict[str, Any] | None:
    """None for what nobody saw."""
    author, metadata, content = (said.get(key) or {} for key in ("author", "metadata", "content"))
    role = _of(author, "role")
    hidden = _of(metadata, "is_visually_hidden_from_conversation") or said.get("weight") == 0
    if hidden or role not in ("user", "assistant", "tool") or _of(content, "content_type") in _SKIPPED:
        return None
    words = "\n\n".join(piece for piece in (_words(content), *_files(metadata)) if piece)
    if not words.strip():
        return None
    ending = _of(_of(metadata, "finish_details"), "type")
    return {
        "id": id,
        "role": role,
        "content": without_surrogates(words),
        "tool": without_surrogates(str(_of(author, "name") or "")) if role == "tool" else "",
        "model": without_surrogates(str(_of(metadata, "model_slug") or "")) if role == "assistant" else "",
        "finish": _FINISHES.get(ending, "stop") if isinstance(ending, str) else "stop",
    }


def _words(content: dict[str, Any]) -> str:
    """The words of a message, by its kind."""
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
    kind = str(_of(part, "content_type") or "")
    if kind == "audio_transcription":
        return _text(part, "text")
    if "audio" in kind:
        return ""  # what was said stands beside it
    return f"[{kind.partition('_')[0]} left out]" if kind else ""


def _files(metadata: dict[str, Any]) -> Iterator[str]:
    """The names of the files that came with a message; pictures are named where they stand."""
    files = _of(metadata, "attachments")
    for file in files if isinstance(files, list) else ():
        kind = str(_of(file, "mime_type") or _of(file, "mimeType") or "")
        if not kind.startswith("image/") and _of(file, "name"):
            yield f"[file {_of(file, 'name')} left out]"


def _text(content: dict[str, Any], key: str) -> str:
    found = content.get(key)
    return found if isinstance(found, str) else ""
