"""One reply of a model in any server's format: thinking, text and tool calls as they arrive, made into chunks."""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from agent_cli import text
from agent_cli.llm import repair
from agent_cli.llm.model import Chunk, PriorTextWasThinking, Text, Thinking
from agent_cli.llm.server import faults
from agent_cli.llm.thinking_tags import ParsedChunk, ThinkingParser
from agent_cli.messages import ToolCall

_MAX_DEPTH = 50  # levels of nesting in an argument
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


def read_object(line: bytes) -> dict[str, Any]:
    """The JSON object of a line, fit to be stored. Raises ServerFault."""
    try:
        answer = json.loads(line.decode("utf-8", "replace"))
        if b"\\ud" in line.lower():  # a lone surrogate cannot be stored
            answer = json.loads(text.without_surrogates(json.dumps(answer, ensure_ascii=False)))
    except (ValueError, RecursionError) as error:
        raise faults.ServerFault("unreadable", line[:200].decode("utf-8", "replace")) from error
    if not isinstance(answer, dict):
        raise faults.ServerFault("unreadable", str(answer)[:200])
    if answer.get("error"):
        raise faults.from_error(answer)
    return answer


class ReplyParser(ABC):
    """Makes the chunks of one reply. `started`: a text or a call was given out, so the request cannot be repeated."""

    def __init__(self, tools: Sequence[Mapping[str, Any]], used_ids: Collection[str]):
        self._schemas = {tool["name"]: tool.get("parameters") or {} for tool in tools}
        self._ids = set(used_ids)
        self._thinking = ThinkingParser()
        self._printed_calls = repair.PrintedCallDetector(self._schemas)
        self._has_calls = False
        self.started = self.done = False

    @abstractmethod
    def feed(self, line: bytes) -> Iterator[Chunk]:
        """The chunks of one line of the response; with the last of a whole reply it is `done`. Raises ServerFault."""

    @abstractmethod
    def end(self) -> Iterator[Chunk]:
        """The chunks that the end of the response makes. Raises ServerFault when the reply is not whole."""

    def message(self, thinking: Any, content: Any) -> Iterator[Chunk]:
        """The chunks of what arrived; anything but a text is ignored."""
        if isinstance(thinking, str) and thinking:
            self._thinking.ignore_tags()
            yield Thinking(thinking)
        if isinstance(content, str) and content:
            yield from self._without_printed_calls(self._thinking.feed(content))

    def calls(self, calls: Sequence[tuple[Any, str, Any]]) -> Iterator[Chunk]:
        """Tool calls: (the server's id, name, arguments)."""
        yield from self._without_printed_calls(self._thinking.flush())
        yield from self._text(self._printed_calls.flush())
        for id, name, arguments in calls:
            yield self._make_call(id, name, repair.coerce_arguments(arguments, self._schemas.get(name, {})))

    def flush(self, whole: bool) -> Iterator[Chunk]:
        """The chunks held back. Only in a `whole` reply can the text turn out to be calls."""
        yield from self._without_printed_calls(self._thinking.flush())
        calls = self._printed_calls.calls() if whole and not self._has_calls else []
        for name, arguments in calls:
            yield self._make_call("", name, arguments)
        held = self._printed_calls.flush()
        if held and not calls:
            yield Text(held)

    def _without_printed_calls(self, chunks: Sequence[ParsedChunk]) -> Iterator[Chunk]:
        for chunk in chunks:
            match chunk:
                case Text(text):
                    yield from self._text(self._printed_calls.feed(text))
                case PriorTextWasThinking():
                    yield from self._text(self._printed_calls.flush())
                    self._printed_calls.reset()
                    yield chunk
                case _:
                    yield chunk

    def _text(self, text: str) -> Iterator[Chunk]:
        if text:
            self.started = True
            yield Text(text)

    def _make_call(self, server_id: Any, name: str, arguments: dict[str, Any]) -> ToolCall:
        """A call with the server's id, or with a new one when that is empty or already used."""
        self.started = self._has_calls = True
        id = server_id if isinstance(server_id, str) else ""
        while not id or id in self._ids:
            id = "call_" + "".join(_LETTERS[byte % len(_LETTERS)] for byte in os.urandom(8))
        self._ids.add(id)
        return ToolCall(id, name, arguments if _is_shallow(arguments) else {})


def _is_shallow(value: Any) -> bool:
    """Whether the value has at most _MAX_DEPTH levels: deeper ones can be parsed but not serialized again."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each if isinstance(each, list) else ())
        ]
        if not level:
            return True
    return False
