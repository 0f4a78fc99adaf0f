"""Chat with a model of a /v1 server.

Servers differ in which fields of a request they accept: a field that the server names as unknown is left out from then
on. The context is what the server was started with; no request can change it.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from agent_cli.llm.model import Cancel, Chunk
from agent_cli.llm.openai import faults
from agent_cli.llm.openai.replies import EventParser
from agent_cli.llm.server import retries, wire
from agent_cli.llm.server.address import Address
from agent_cli.llm.server.faults import ServerFault
from agent_cli.llm.template_tokens import broken
from agent_cli.messages import Message
from agent_cli.text import map_texts

_OPTIONAL = ("stream_options", "chat_template_kwargs", "reasoning_effort", "response_format")
_NAMES = {"num_predict": "max_tokens"}  # of options, where Ollama's differ


class OpenAIModel:
    """A ChatModel that remembers which fields its server does not accept.

    `answer_tokens`: the most tokens of a reply, thinking included; 0: as many as fit the context.
    """

    def __init__(
        self,
        name: str,
        address: Address,
        num_ctx: int = 0,
        *,
        options: Mapping[str, Any] | None = None,
        answer_tokens: int = 0,
        busy_timeout: float = retries.BUSY_TIMEOUT,
    ):
        self.name = name
        self._address = address
        self._num_ctx = num_ctx
        limit = {"max_tokens": answer_tokens} if answer_tokens else {}
        self._options = limit | {_NAMES.get(key, key): value for key, value in (options or {}).items()}
        self._busy_timeout = busy_timeout
        self._left_out: set[str] = set()  # names of fields

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
        used_ids = {call.id for message in messages for call in message.calls}
        body: dict[str, Any] = {}

        def send() -> tuple[EventParser, Iterator[Chunk]]:
            nonlocal body
            body = self._body(messages, tools, think, format, limit)
            parser = EventParser(self.name, tools if "tools" in body else (), used_ids)
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
            "stream_options": {"include_usage": True},
            **self._options,
        }
        if limit is not None:
            body["max_tokens"] = limit
        if tools:
            body["tools"] = [{"type": "function", "function": map_texts(tool, broken)} for tool in tools]
        if isinstance(think, bool):
            body["chat_template_kwargs"] = {"enable_thinking": think}
        elif think:
            body["reasoning_effort"] = think
        if format is not None:
            schema = {"name": "answer", "schema": format, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return {name: value for name, value in body.items() if name not in self._left_out}

    def _read(self, body: Mapping[str, Any], parser: EventParser, cancel: Cancel) -> Iterator[Chunk]:
        with closing(wire.stream_lines(self._address, "/chat/completions", body, cancel=cancel)) as lines:
            for line in lines:
                yield from parser.feed(line)
                if parser.done:
                    return
        yield from parser.end()

    def _leave_out(self, fault: ServerFault, body: Mapping[str, Any]) -> str | bool:
        """Leave out from now on what the fault names, and return a sentence for it, or True for nothing to tell."""
        if "tools" in body and _names_tools(fault):
            self._left_out.add("tools")
            return f"the model {self.name!r} cannot use tools; asked again without them"
        named = {name for name in _OPTIONAL if name in body and name in fault.message}
        if named and fault.status in (400, 422, 501):
            self._left_out |= named
            return True
        return False


def _names_tools(fault: ServerFault) -> bool:
    """Whether the server refuses tools: Ollama's sentence, and what llama.cpp and vLLM must be started with."""
    return fault.kind == "no tools" or bool(re.search(r"tool.*(--jinja|--enable-auto-tool-choice)", fault.message))


def message_json(message: Message) -> dict[str, Any]:
    """A message in the server's JSON, without tokens that would end or begin a role."""
    result: dict[str, Any] = {"role": message.role, "content": broken(message.content)}
    if message.calls:
        result["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(map_texts(call.arguments, broken))},
            }
            for call in message.calls
        ]
        if message.thinking:  # a model continues from it after its calls, and needs it nowhere else
            result["reasoning_content"] = broken(message.thinking)
    if message.role == "tool":
        result |= {"name": message.tool_name, "tool_call_id": message.call_id}
    return result
