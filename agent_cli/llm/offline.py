"""Models that need no server: one quotes memory, and one replays a script.

A script is a TOML file of replies, each played for one question, in order:

    [[reply]]
    wait = 0.5               # seconds of silence first
    think = "They greet me."
    say = "Hello there."     # streamed by the word
    pace = 0.05              # seconds between words
    calls = [{ name = "now", arguments = {} }]
    fail = "broken"          # how it breaks off: "broken", "unavailable", "missing" or "context"
    finish = "stop"          # or "length"
    role = "cheap"           # kept for the cheap model
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

from agent_cli import limits, text
from agent_cli.errors import AgentError, ConfigError, ContextExceeded, ModelFailed, ModelMissing, ModelUnavailable
from agent_cli.llm.model import Cancel, Chunk, Done, Text, Thinking
from agent_cli.messages import Message, ToolCall
from agent_cli.values import frozen

_WORD = re.compile(r"\S+\s*|\s+")


def stream_words(text: str, cancel: Cancel, pace: float = 0.0) -> Iterator[Text]:
    """The text in words, `pace` seconds between them. Raises Cancelled."""
    for index, word in enumerate(_WORD.findall(text)):
        cancel.wait(pace if index else 0.0)
        yield Text(word)


ModelRole = Literal["chat", "cheap"]

FAILURES: Mapping[str, AgentError] = {
    "broken": ModelFailed("the script ends the answer here; what arrived is kept"),
    "unavailable": ModelUnavailable("the script says that no model server answers"),
    "missing": ModelMissing("the script says that the server has no such model"),
    "context": ContextExceeded("the script says that the conversation does not fit the model's context"),
}

_TYPES: Mapping[str, tuple[type, ...]] = {"wait": (int, float), "pace": (int, float), "calls": (list,)}
_CHOICES: Mapping[str, Collection[str]] = {"fail": FAILURES, "finish": ("stop", "length"), "role": ("chat", "cheap")}


@frozen
class Reply:
    wait: float = 0.0
    think: str = ""
    say: str = ""
    pace: float = 0.0
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()  # name, arguments
    fail: str = ""
    finish: str = "stop"
    role: ModelRole = "chat"


class ScriptedModel:
    """A ChatModel that plays the replies of its role in order and keeps the messages of each request."""

    name = "scripted"

    def __init__(self, replies: Iterable[Reply], role: ModelRole = "chat", source: str = ""):
        self._replies = iter([reply for reply in replies if reply.role == role])
        self._source = source
        self.requests: list[list[Message]] = []

    def reply(
        self, messages: Sequence[Message], tools: object = (), *, cancel: Cancel | None = None, **_: Any
    ) -> Iterator[Chunk]:
        """Play the next reply. Raises AgentError when none is left."""
        cancel = Cancel() if cancel is None else cancel
        self.requests.append(list(messages))
        reply = next(self._replies, None)
        if reply is None:
            raise AgentError(f"the script {self._source} has no more replies".replace("  ", " "))
        cancel.wait(reply.wait)
        if reply.think:
            yield Thinking(reply.think)
        yield from stream_words(reply.say, cancel, reply.pace)
        used_ids = {call.id for message in messages for call in message.calls}
        for name, arguments in reply.calls:
            ids = (f"call_{number}" for number in range(1, len(used_ids) + 2))
            call = ToolCall(next(id for id in ids if id not in used_ids), name, arguments)
            used_ids.add(call.id)
            yield call
        if reply.fail:
            raise type(FAILURES[reply.fail])(str(FAILURES[reply.fail]))
        yield Done(reply.finish, self.name)


def load_script(path: Path | str, role: ModelRole = "chat") -> ScriptedModel:
    """A model that plays the script's replies for this role. Raises ConfigError."""
    file = Path(path).expanduser()
    try:
        document = limits.load_toml(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"the script {file} cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # not UTF-8, or not TOML
        raise ConfigError(f"the script {file} is not TOML: {error}") from error
    tables = document.get("reply")
    if set(document) != {"reply"} or not isinstance(tables, list):
        raise ConfigError(f"the script {file} must be a list of [[reply]] tables and nothing else")
    replies = [_read_reply(table, f"{file}, reply {n}") for n, table in enumerate(tables, 1)]
    return ScriptedModel(replies, role, str(file))


def _read_reply(table: Any, where: str) -> Reply:
    if not isinstance(table, dict):
        raise ConfigError(f"{where}: write it as a [[reply]] table")
    known = [field.name for field in fields(Reply)]
    for key, value in table.items():
        if key not in known:
            raise ConfigError(f"{where}: there is no {key!r}; a reply has {', '.join(known)}")
        if not isinstance(value, _TYPES.get(key, (str,))) or isinstance(value, bool):
            raise ConfigError(f"{where}: {key} = {value!r} has the wrong type")
        if key in _CHOICES and value not in _CHOICES[key]:
            raise ConfigError(f"{where}: {key} = {value!r} must be one of {', '.join(_CHOICES[key])}")
    calls = table.get("calls", ())
    for call in calls:
        named = isinstance(call, dict) and isinstance(call.get("name"), str) and not set(call) - {"name", "arguments"}
        if not named or not isinstance(call.get("arguments", {}), dict):
            raise ConfigError(f'{where}: a call is written {{ name = "now", arguments = {{}} }}, not {call!r}')
    return Reply(**{**table, "calls": tuple((call["name"], call.get("arguments", {})) for call in calls)})


SearchMemories = Callable[[str, int], tuple[str, Sequence[tuple[str, str, str]]]]
"""Takes a message and a limit; returns the verdict on it and memories, best first: (handle, formatted date, text). The
verdict on a question: known, maybe, nothing; on a request to remember: kept or waiting; empty: nothing was searched."""

MAX_QUOTES, MAX_QUOTE_CHARS = 3, 400


class OfflineModel:
    """A ChatModel that answers with up to three memories and their dates. Never calls tools."""

    name = "offline"

    def __init__(self, search: SearchMemories):
        self._search = search

    def reply(
        self, messages: Sequence[Message], tools: object = (), *, cancel: Cancel | None = None, **asked: Any
    ) -> Iterator[Chunk]:
        """Quote memories for the last question. Raises ModelUnavailable when asked for JSON, which needs a model."""
        if asked.get("format") is not None:
            why = "no model server answers, and this needs one: start it with `ollama serve`"
            raise ModelUnavailable(why, absent=True)
        question = next((message.text for message in reversed(messages) if message.role == "user"), "").strip()
        verdict, found = self._search(question, MAX_QUOTES) if question else ("", ())
        yield from stream_words(_answer(verdict, found[:MAX_QUOTES]), Cancel() if cancel is None else cancel)
        yield Done(model=self.name)


_INTRODUCTIONS = {
    "maybe": "perhaps these words help, but none holds most of your message",
    "kept": "this is kept",
    "waiting": "this waits for your yes",
}


def _answer(verdict: str, found: Sequence[tuple[str, str, str]]) -> str:
    if not found:
        return f"No model server answers{', and nothing in memory matches your message' if verdict else ''}."
    quotes = [f"- {date} ({handle}): “{text.one_line(words, MAX_QUOTE_CHARS)}”" for handle, date, words in found]
    introduction = _INTRODUCTIONS.get(verdict, "these are the words in memory that match your message")
    return "\n".join([f"No model server answers; {introduction}:", "", *quotes])
