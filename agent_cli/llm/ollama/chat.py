"""Chat with a model of an Ollama server.

`num_ctx` is explicit and the same in every request: a change makes the server load the model again. `truncate` and
`shift` are off: by default the server silently drops messages from the front when a conversation grows too long, and
the person must be told. What a model turns out not to support (tools, thinking) is reported once and then left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from agent_cli.llm.model import Cancel, Chunk, Done
from agent_cli.llm.ollama import faults, tags
from agent_cli.llm.ollama.replies import ReplyParser
from agent_cli.llm.server import address, retries, wire
from agent_cli.llm.server.faults import ServerFault
from agent_cli.llm.template_tokens import broken
from agent_cli.messages import Message
from agent_cli.text import map_texts


class OllamaModel:
    """A ChatModel that remembers what the model does not support, and that it is local.

    `answer_tokens`: the most tokens of a reply, thinking included; 0: as many as fit the context.
    """

    def __init__(
        self,
        name: str,
        host: str,
        num_ctx: int,
        *,
        keep_alive: str | int | None = None,
        options: Mapping[str, Any] | None = None,
        answer_tokens: int = 0,
        busy_timeout: float = retries.BUSY_TIMEOUT,
    ):
        self.name = name
        self._address = address.parse(host)
        self._num_ctx = num_ctx
        self._keep_alive = parse_keep_alive(keep_alive)
        limit = {"num_predict": answer_tokens} if answer_tokens else {}
        self._options = {**limit, **(options or {}), "num_ctx": num_ctx}
        self._busy_timeout = busy_timeout
        self._unsupported: set[str] = set()  # "no tools", "no thinking"
        self._local = False

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
        self._local = self._local or tags.is_local(self._address, self.name, cancel)
        used_ids = {call.id for message in messages for call in message.calls}
        body: dict[str, Any] = {}

        def send() -> tuple[ReplyParser, Iterator[Chunk]]:
            nonlocal body
            body = self._body(messages, tools, think, format, limit)
            parser = ReplyParser(self.name, tools if "tools" in body else (), used_ids)
            return parser, self._read(body, parser, cancel)

        yield from retries.ask(
            send,
            lambda fault: self._leave_out(fault, body),
            lambda fault: faults.as_error(fault, self.name, self._address, self._num_ctx),
            cancel,
            self._busy_timeout,
        )

    def _body(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]],
        think: bool | str | None,
        format: Mapping[str, Any] | None,
        limit: int | None,
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [message_json(message) for message in messages],
            "stream": True,
            "truncate": False,
            "shift": False,
            "options": self._options if limit is None else {**self._options, "num_predict": limit},
        }
        if tools and "no tools" not in self._unsupported:
            body["tools"] = [{"type": "function", "function": _unmarked(tool)} for tool in tools]
        if think is not None and not (think and "no thinking" in self._unsupported):
            body["think"] = think
        if format is not None:
            body["format"] = format
        if self._keep_alive is not None:
            body["keep_alive"] = self._keep_alive
        return body

    def _read(self, body: Mapping[str, Any], parser: ReplyParser, cancel: Cancel) -> Iterator[Chunk]:
        with closing(wire.stream_lines(self._address, "/api/chat", body, cancel=cancel)) as lines:
            for line in lines:
                if not line.strip():
                    continue
                for chunk in parser.feed(line):
                    yield chunk
                    if isinstance(chunk, Done):
                        return
        raise ServerFault("incomplete")

    def _leave_out(self, fault: ServerFault, body: Mapping[str, Any]) -> str:
        """Leave out from now on what the fault names, and return a sentence for it; empty when that would not help."""
        if fault.kind == "no tools" and "tools" in body:
            self._unsupported.add(fault.kind)
            return f"the model {self.name!r} cannot use tools; asked again without them"
        if fault.kind == "no thinking" and body.get("think"):
            self._unsupported.add(fault.kind)
            return f"the model {self.name!r} has no separate thinking; asked again without it"
        return ""


def message_json(message: Message) -> dict[str, Any]:
    """A message in the server's JSON, without tokens that would end or begin a role."""
    result: dict[str, Any] = {"role": message.role, "content": broken(message.content)}
    if message.calls:
        result["tool_calls"] = [
            {"id": call.id, "function": {"index": index, "name": call.name, "arguments": _unmarked(call.arguments)}}
            for index, call in enumerate(message.calls)
        ]
        if message.thinking:  # a model continues from it after its calls, and needs it nowhere else
            result["thinking"] = broken(message.thinking)
    if message.role == "tool":
        result |= {"tool_name": message.tool_name, "tool_call_id": message.call_id}
    return result


def _unmarked(value: Any) -> Any:
    """A JSON value without the tokens of chat templates."""
    return map_texts(value, broken)


def parse_keep_alive(value: str | int | None) -> str | int | None:
    """How long to keep the model loaded. A quoted number means seconds to a person and is an error to the server."""
    if isinstance(value, str):
        value = value.strip()
        return int(value) if re.fullmatch(r"-?\d+", value) else value or None
    return value
