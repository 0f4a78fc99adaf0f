"""Chat with a model of a server: asked until it answers, and stopped at once.

What differs from server to server is the request, how its response is read, and what of a request its models may not
support. A reply arrives as thinking, text and tool calls, in any server's format, and is made into chunks.
"""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import field
from typing import Any, ClassVar

from agent_cli import text
from agent_cli.errors import AgentError
from agent_cli.llm import http, repair
from agent_cli.llm.engine import is_small
from agent_cli.llm.http import Address, ServerFault
from agent_cli.llm.model import Cancel, Chunk, Notice, PriorTextWasThinking, Text, Thinking
from agent_cli.llm.repair import ParsedChunk, ThinkingParser
from agent_cli.llm.template_tokens import broken
from agent_cli.messages import Message, ToolCall
from agent_cli.text import map_texts
from agent_cli.values import frozen

_MAX_DEPTH = 50  # levels of nesting in an argument
_NAMED_TOOL = text.Pattern(r"\b(\w+)\(")  # a tool that calls others names them in its description: jot(text)
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


def read_object(line: bytes) -> dict[str, Any]:
    """The JSON object of a line, fit to be stored. Raises ServerFault."""
    try:
        answer = json.loads(line.decode("utf-8", "replace"))
        if b"\\ud" in line.lower():  # a lone surrogate cannot be stored
            answer = json.loads(text.without_surrogates(json.dumps(answer, ensure_ascii=False)))
    except (ValueError, RecursionError) as error:
        raise http.ServerFault("unreadable", line[:200].decode("utf-8", "replace")) from error
    if not isinstance(answer, dict):
        raise http.ServerFault("unreadable", str(answer)[:200])
    if answer.get("error"):
        raise http.from_error(answer)
    return answer


class ReplyParser(ABC):
    """Makes the chunks of one reply. `started`: a text or a call was given out, so the request cannot be repeated."""

    def __init__(self, tools: Sequence[Mapping[str, Any]], used_ids: Collection[str]):
        named = (name for tool in tools for name in _NAMED_TOOL.findall(tool.get("description") or ""))
        self._schemas = {name: {} for name in named} | {tool["name"]: tool.get("parameters") or {} for tool in tools}
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
        if held and not calls:  # a call that was cut is no answer
            yield Thinking(held) if whole and held.lstrip().startswith(repair.OPEN_TAG) else Text(held)

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


class _Retries:
    """Which requests are repeated: one that failed, once; one to a busy server, for some time."""

    def __init__(self, busy_timeout: float):
        self._time_left, self._next_pause = busy_timeout, 0.5
        self._failed = False
        self._busy = False
        self.pause = 0.0

    def decide(self, fault: ServerFault) -> str | bool:
        """A notice to show, True for another try without a notice, False for no more tries. Sets `pause` (seconds)."""
        if fault.kind == "busy" and self._time_left > 0:
            self.pause = min(fault.retry_after or self._next_pause, self._time_left)
            self._time_left -= self.pause
            self._next_pause = min(2 * self._next_pause, 8.0)
            announced, self._busy = self._busy, True
            return announced or "the model server is busy; waiting for it"
        if not self._failed and (fault.kind in ("crash", "call") or (fault.kind == "cut" and fault.status == 0)):
            self._failed = True
            return "the model server failed once; asked again"
        return False


@frozen
class ChatSettings:
    """What holds for every reply of an engine's chat models."""

    num_ctx: int = 8192  # tokens of the context
    options: Mapping[str, Any] = field(default_factory=dict)  # as Ollama names them
    answer_tokens: int = 0  # the most of a reply, thinking included; 0: as many as fit the context
    patience: float = 30.0  # seconds to wait in total for a server that answers that it is busy


@frozen
class Request:
    """What is asked for, in no server's form: the arguments of ChatModel.reply."""

    messages: Sequence[Message]
    tools: Sequence[dict[str, Any]]
    think: bool | str | None
    format: Mapping[str, Any] | None
    limit: int | None


class ServerModel(ABC):
    """A ChatModel. It remembers the fields of a request that are of no use with its model or its server."""

    path: ClassVar[str]

    def __init__(self, name: str, address: Address, settings: ChatSettings):
        self.name = name
        self._address = address
        self._settings = settings
        self._left_out: set[str] = set()  # names of fields

    @abstractmethod
    def _body(self, request: Request) -> dict[str, Any]:
        """The request in the server's form."""

    @abstractmethod
    def _parser(self, tools: Sequence[Mapping[str, Any]], used_ids: Collection[str]) -> ReplyParser: ...

    @abstractmethod
    def _refused(self, fault: ServerFault, body: Mapping[str, Any]) -> tuple[set[str], str]:
        """The fields that the fault names as not supported, and a sentence for the person, who need not know of all."""

    @abstractmethod
    def _as_error(self, fault: ServerFault) -> AgentError: ...

    def reply(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]] = (),
        *,
        think: bool | str | None = None,
        format: Mapping[str, Any] | None = None,
        limit: int | None = None,
        cancel: Cancel | None = None,
    ) -> Iterator[Chunk]:
        """Stream one assistant message that ends with Done. Raises AgentError."""
        cancel = Cancel() if cancel is None else cancel
        request = Request(messages, tools, think, format, limit)
        used_ids = {call.id for message in messages for call in message.calls}
        retries = _Retries(self._settings.patience)
        while True:
            body = {name: value for name, value in self._body(request).items() if name not in self._left_out}
            parser = self._parser(tools if "tools" in body else (), used_ids)
            try:
                yield from self._read(body, parser, cancel)
                return
            except ServerFault as caught:
                fault = caught
            note = self._leave_out(fault, body) or (not parser.started and retries.decide(fault))
            if not note:
                yield from parser.flush(whole=False)
                raise self._as_error(fault) from fault
            if isinstance(note, str):
                yield Notice(note)
            if fault.kind == "busy":
                cancel.wait(retries.pause)

    def _read(self, body: Mapping[str, Any], parser: ReplyParser, cancel: Cancel) -> Iterator[Chunk]:
        with closing(http.stream_lines(self._address, self.path, body, cancel=cancel)) as lines:
            for line in lines:
                yield from parser.feed(line)
                if parser.done:
                    return
        yield from parser.end()

    def _leave_out(self, fault: ServerFault, body: Mapping[str, Any]) -> str | bool:
        """Leave out from now on what the fault names, and return a sentence for it, or True for nothing to tell."""
        fields, sentence = self._refused(fault, body)
        self._left_out |= fields
        return sentence or bool(fields)

    def _without_tools(self) -> tuple[set[str], str]:
        return {"tools"}, f"the model {self.name!r} cannot use tools; asked again without them"


def options_of(model: str, settings: ChatSettings) -> dict[str, Any]:
    """The options for a model; of a small one only the likeliest words make sense."""
    return {**({"temperature": 0} if is_small(model) else {}), **settings.options}


def tool_json(tool: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": unmarked(tool)}


def unmarked(value: Any) -> Any:
    """A JSON value without the tokens of chat templates."""
    return map_texts(value, broken)
