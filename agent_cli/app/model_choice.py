"""Chooses the model that answers, by its name in the settings."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from agent_cli.errors import ModelUnavailable
from agent_cli.llm import offline
from agent_cli.llm.engine import AUTO, Engine, Tag, embeds, find
from agent_cli.llm.model import ChatModel, Chunk, Notice
from agent_cli.llm.offline import OfflineModel, SearchMemories
from agent_cli.llm.ollama import SUGGESTED
from agent_cli.messages import FromMemory
from agent_cli.values import frozen


@frozen
class Suggestion:
    """A model that can chat and use tools. `memory`: with a context of 8192 tokens."""

    name: str
    download: str
    memory: str


SUGGESTIONS = (
    Suggestion(SUGGESTED, "2.5 GB", "about 4 GB"),
    Suggestion("qwen3:1.7b", "1.4 GB", "about 3 GB"),
    Suggestion("qwen3:8b", "5.2 GB", "about 7 GB"),
)

_FROM_MEMORY = "answering from memory only"
_SCRIPT = "scripted:"


def chat_model(
    name: str,
    engine: Engine,
    *,
    search: SearchMemories = lambda question, limit: ("", ()),
    default: str = "",
    role: offline.ModelRole = "chat",
) -> tuple[ChatModel, str]:
    """The model named "auto", "offline", "scripted:FILE" or as the engine knows it, and a notice or an empty string.

    Raises ModelMissing and ConfigError. When no server answers, "auto" gives the offline model; a model that was named
    raises ModelUnavailable only when it is asked.
    """
    if name == "offline":
        return OfflineModel(search), ""
    if name.startswith(_SCRIPT):
        return offline.load_script(name.removeprefix(_SCRIPT), role), ""
    if name != AUTO:
        return engine.chat(name), ""
    try:
        name, notice = pick(engine, engine.listing(), default)
    except ModelUnavailable:
        return OfflineModel(search), FromMemory(f"no model server at {engine.url}; {_FROM_MEMORY} ({engine.start})")
    model = engine.chat(name)
    return (_Auto(model, OfflineModel(search)) if role == "chat" else model), notice


def needs_engine(name: str) -> bool:
    """Whether a model of this name is run by an engine; the others answer by themselves."""
    return name != "offline" and not name.startswith(_SCRIPT)


class _Auto:
    """The model of a server while that answers, else the offline model."""

    def __init__(self, model: ChatModel, offline: OfflineModel):
        self._model, self._offline = model, offline
        self.name = model.name

    def reply(self, *args: Any, **kwargs: Any) -> Iterator[Chunk]:
        begun = False
        try:
            for chunk in self._model.reply(*args, **kwargs):
                begun = True
                yield chunk
        except ModelUnavailable as error:
            if begun:
                raise
            yield Notice(FromMemory(f"{error}; {_FROM_MEMORY}"))
            yield from self._offline.reply(*args, **kwargs)


def pick(engine: Engine, tags: list[Tag], default: str) -> tuple[str, str]:
    """The name of the default model, else of the newest with a notice if there were several. Raises ModelMissing."""
    chat_models = [tag for tag in tags if chats(tag)]
    if not chat_models:
        raise engine.missing()
    known = find(default, chat_models) if default else None
    if known:
        return known.name, ""
    newest = max(chat_models, key=lambda tag: _parse_time(tag.modified_at))
    return newest.name, f"using {newest.name}; -m or /model chooses another" if len(chat_models) > 1 else ""


def chats(tag: Tag) -> bool:
    """Whether a model runs on the server itself and can chat; without listed capabilities, judged by its name."""
    if tag.elsewhere:
        return False
    return "completion" in tag.capabilities if tag.capabilities else not embeds(tag)


def _parse_time(stamp: str) -> datetime:
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
