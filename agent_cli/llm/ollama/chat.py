"""Chat with a model of an Ollama server.

`num_ctx` is explicit and the same in every request: a change makes the server load the model again. `truncate` and
`shift` are off: by default the server silently drops messages from the front when a conversation grows too long, and
the person must be told.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from agent_cli.errors import AgentError
from agent_cli.llm.model import Cancel, Chunk
from agent_cli.llm.ollama import replies, tags
from agent_cli.llm.ollama.replies import LineParser
from agent_cli.llm.server import address, retries
from agent_cli.llm.server.chat import Request, ServerModel, tool_json, unmarked
from agent_cli.llm.server.faults import ServerFault
from agent_cli.llm.server.reply import ReplyParser
from agent_cli.llm.template_tokens import broken
from agent_cli.messages import Message


class OllamaModel(ServerModel):
    """A ChatModel that remembers that its model is local.

    `answer_tokens`: the most tokens of a reply, thinking included; 0: as many as fit the context.
    """

    path = "/api/chat"

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
        limit = {"num_predict": answer_tokens} if answer_tokens else {}
        options = {**limit, **(options or {}), "num_ctx": num_ctx}
        super().__init__(name, address.parse(host), num_ctx, options, busy_timeout)
        self._keep_alive = parse_keep_alive(keep_alive)
        self._local = False

    def _body(self, request: Request) -> dict[str, Any]:
        limit = {} if request.limit is None else {"num_predict": request.limit}
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [message_json(message) for message in request.messages],
            "stream": True,
            "truncate": False,
            "shift": False,
            "options": {**self._options, **limit},
        }
        if request.tools:
            body["tools"] = [tool_json(tool) for tool in request.tools]
        if request.think is not None:
            body["think"] = request.think
        if request.format is not None:
            body["format"] = request.format
        if self._keep_alive is not None:
            body["keep_alive"] = self._keep_alive
        return body

    def _parser(self, tools: Sequence[Mapping[str, Any]], used_ids: Collection[str]) -> LineParser:
        return LineParser(self.name, tools, used_ids)

    def _read(self, body: Mapping[str, Any], parser: ReplyParser, cancel: Cancel) -> Iterator[Chunk]:
        self._local = self._local or tags.is_local(self._address, self.name, cancel)
        yield from super()._read(body, parser, cancel)

    def _refused(self, fault: ServerFault, body: Mapping[str, Any]) -> tuple[set[str], str]:
        if fault.kind == "no tools" and "tools" in body:
            return self._without_tools()
        if fault.kind == "no thinking" and body.get("think"):
            return {"think"}, f"the model {self.name!r} has no separate thinking; asked again without it"
        return set(), ""

    def _as_error(self, fault: ServerFault) -> AgentError:
        return replies.as_error(fault, self.name, self._address, self._num_ctx)


def message_json(message: Message) -> dict[str, Any]:
    """A message in the server's JSON, without tokens that would end or begin a role."""
    result: dict[str, Any] = {"role": message.role, "content": broken(message.content)}
    if message.calls:
        result["tool_calls"] = [
            {
                "id": broken(call.id),
                "function": {"index": index, **unmarked({"name": call.name, "arguments": call.arguments})},
            }
            for index, call in enumerate(message.calls)
        ]
        if message.thinking:  # a model continues from it after its calls, and needs it nowhere else
            result["thinking"] = broken(message.thinking)
    if message.role == "tool":
        result |= unmarked({"tool_name": message.tool_name, "tool_call_id": message.call_id})
    return result


def parse_keep_alive(value: str | int | None) -> str | int | None:
    """How long to keep the model loaded. A quoted number means seconds to a person and is an error to the server."""
    if isinstance(value, str):
        value = value.strip()
        return int(value) if re.fullmatch(r"-?\d+", value) else value or None
    return value
