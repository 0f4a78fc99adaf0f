"""One reply of a model, from the lines of the answer to chunks."""

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from agent_cli import text
from agent_cli.llm import repair
from agent_cli.llm.model import Chunk, Done, PriorTextWasThinking, Text, Thinking
from agent_cli.llm.ollama import faults
from agent_cli.llm.thinking_tags import ParsedChunk, ThinkingParser
from agent_cli.messages import ToolCall

_DEEPEST = 50  # lists in lists in lists of an argument
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


class Reading:
    """What has come of one reply. `begun` once a text or a call was given out: it cannot be asked for again then."""

    def __init__(self, model: str, tools: Sequence[Mapping[str, Any]], taken: Collection[str]):
        self._model = model
        self._schemas = {tool["name"]: tool.get("parameters") or {} for tool in tools}
        self._ids = set(taken)
        self._thoughts = ThinkingParser()
        self._printed = repair.PrintedCallDetector(self._schemas)
        self._called = False
        self.begun = False

    def take(self, line: bytes) -> Iterator[Chunk]:
        """The chunks of one line; the last one gives Done. Raises Fault and ModelMissing."""
        told = self._read(line)
        message = told.get("message")
        if isinstance(message, dict):
            yield from self._message(message)
        if told.get("done"):
            yield from self.rest(whole=True)
            yield self._done(told)

    def rest(self, whole: bool) -> Iterator[Chunk]:
        """What was held back. Only of a whole reply it may turn out to be a call."""
        yield from self._shown(self._thoughts.rest())
        calls = self._printed.calls() if whole and not self._called else []
        for name, arguments in calls:
            yield self._call("", name, arguments)
        held = self._printed.flush()
        if held and not calls:
            yield Text(held)

    def _read(self, line: bytes) -> dict[str, Any]:
        try:
            told = json.loads(line.decode("utf-8", "replace"))
            if b"\\ud" in line.lower():  # half a character may stand there, which no file can hold
                told = json.loads(text.without_surrogates(json.dumps(told, ensure_ascii=False)))
        except (ValueError, RecursionError) as error:
            raise faults.Fault("unreadable", line[:200].decode("utf-8", "replace")) from error
        if not isinstance(told, dict):
            raise faults.Fault("unreadable", str(told)[:200])
        if told.get("error"):
            raise faults.found(told)
        if told.get("remote_host"):
            raise faults.cloud(self._model)
        return told

    def _message(self, message: Mapping[str, Any]) -> Iterator[Chunk]:
        thinking, content = message.get("thinking"), message.get("content")
        if isinstance(thinking, str) and thinking:
            self._thoughts.ignore_tags()
            yield Thinking(thinking)
        if isinstance(content, str) and content:
            yield from self._shown(self._thoughts.feed(content))
        calls = message.get("tool_calls")
        if isinstance(calls, list) and calls:
            yield from self._shown(self._thoughts.rest())
            yield from self._text(self._printed.flush())
            yield from (chunk for call in calls if (chunk := self._given(call)))

    def _shown(self, told: Sequence[ParsedChunk]) -> Iterator[Chunk]:
        for chunk in told:
            match chunk:
                case Text(text):
                    yield from self._text(self._printed.feed(text))
                case PriorTextWasThinking():
                    yield from self._text(self._printed.flush())
                    self._printed.reset()
                    yield chunk
                case _:
                    yield chunk

    def _text(self, text: str) -> Iterator[Chunk]:
        if text:
            self.begun = True
            yield Text(text)

    def _given(self, call: Any) -> ToolCall | None:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            return None
        name = function["name"]
        arguments = repair.coerce_arguments(function.get("arguments"), self._schemas.get(name, {}))
        return self._call(call.get("id"), name, arguments)

    def _call(self, given: Any, name: str, arguments: dict[str, Any]) -> ToolCall:
        """The call under the server's id, or one of our own where it is empty or used before."""
        self.begun = self._called = True
        own = given if isinstance(given, str) else ""
        while not own or own in self._ids:
            own = "call_" + "".join(_LETTERS[byte % len(_LETTERS)] for byte in os.urandom(8))
        self._ids.add(own)
        return ToolCall(own, name, arguments if _shallow(arguments) else {})

    def _done(self, told: Mapping[str, Any]) -> Done:
        def count(key: str) -> int:
            value = told.get(key)
            return int(value) if isinstance(value, int | float) else 0

        return Done(
            finish=str(told.get("done_reason") or "stop"),
            model=str(told.get("model") or self._model),
            tokens_in=count("prompt_eval_count"),
            tokens_out=count("eval_count"),
            load_ms=count("load_duration") // 1_000_000,
        )


def _shallow(value: Any) -> bool:
    """Whether it is nested no deeper than anything that is meant: deeper, it can be read here and not be written."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each if isinstance(each, list) else ())
        ]
        if not level:
            return True
    return False
