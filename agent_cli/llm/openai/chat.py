"""Chat with a model of a /v1 server.

Servers differ in which fields of a request they accept: a field that the server names as unknown is left out from then
on. The context is what the server was started with; no request can change it.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from agent_cli.errors import AgentError
from agent_cli.llm.openai import replies
from agent_cli.llm.openai.replies import EventParser
from agent_cli.llm.server import retries
from agent_cli.llm.server.address import Address
from agent_cli.llm.server.chat import Request, ServerModel, tool_json, unmarked
from agent_cli.llm.server.faults import ServerFault
from agent_cli.llm.template_tokens import broken
from agent_cli.messages import Message

_OPTIONAL = ("stream_options", "chat_template_kwargs", "reasoning_effort", "response_format")
_NAMES = {"num_predict": "max_tokens"}  # of options, where Ollama's differ


class OpenAIModel(ServerModel):
    """A ChatModel. `answer_tokens`: the most tokens of a reply, thinking included; 0: as many as fit the context."""

    path = "/chat/completions"

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
        limit = {"max_tokens": answer_tokens} if answer_tokens else {}
        options = limit | {_NAMES.get(key, key): value for key, value in (options or {}).items()}
        super().__init__(name, address, num_ctx, options, busy_timeout)

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [message_json(message) for message in request.messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            **self._options,
        }
        if request.limit is not None:
            body["max_tokens"] = request.limit
        if request.tools:
            body["tools"] = [tool_json(tool) for tool in request.tools]
        if isinstance(request.think, bool):
            body["chat_template_kwargs"] = {"enable_thinking": request.think}
        elif request.think:
            body["reasoning_effort"] = request.think
        if request.format is not None:
            schema = {"name": "answer", "schema": request.format, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def _parser(self, tools: Sequence[Mapping[str, Any]], used_ids: Collection[str]) -> EventParser:
        return EventParser(self.name, tools, used_ids)

    def _refused(self, fault: ServerFault, body: Mapping[str, Any]) -> tuple[set[str], str]:
        if "tools" in body and _names_tools(fault):
            return self._without_tools()
        named = {name for name in _OPTIONAL if name in body and name in fault.message}
        return (named if fault.status in (400, 422, 501) else set()), ""

    def _as_error(self, fault: ServerFault) -> AgentError:
        return replies.as_error(fault, self.name, self._address, self._num_ctx)


def _names_tools(fault: ServerFault) -> bool:
    """Whether the server refuses tools: Ollama's sentence, and what llama.cpp and vLLM must be started with."""
    return fault.kind == "no tools" or bool(
        re.search(r"--jinja|--enable-auto-tool-choice", fault.message.partition("tool")[2])
    )


def message_json(message: Message) -> dict[str, Any]:
    """A message in the server's JSON, without tokens that would end or begin a role."""
    result: dict[str, Any] = {"role": message.role, "content": broken(message.content)}
    if message.calls:
        result["tool_calls"] = [
            {
                "id": broken(call.id),
                "type": "function",
                "function": {"name": broken(call.name), "arguments": json.dumps(unmarked(call.arguments))},
            }
            for call in message.calls
        ]
        if message.thinking:  # a model continues from it after its calls, and needs it nowhere else
            result["reasoning_content"] = broken(message.thinking)
    if message.role == "tool":
        result |= unmarked({"name": message.tool_name, "tool_call_id": message.call_id})
    return result
