"""Chat with a model of a server: asked until it answers, and stopped at once.

What differs from server to server is the request, how its response is read, and what of a request its models may not
support.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, ClassVar

from agent_cli.errors import AgentError
from agent_cli.llm.model import Cancel, Chunk
from agent_cli.llm.server import retries, wire
from agent_cli.llm.server.address import Address
from agent_cli.llm.server.faults import ServerFault
from agent_cli.llm.server.reply import ReplyParser
from agent_cli.llm.template_tokens import broken
from agent_cli.messages import Message
from agent_cli.text import map_texts
from agent_cli.values import frozen


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

    def __init__(self, name: str, address: Address, num_ctx: int, options: Mapping[str, Any], busy_timeout: float):
        self.name = name
        self._address = address
        self._num_ctx = num_ctx
        self._options = options
        self._busy_timeout = busy_timeout
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
        body: dict[str, Any] = {}

        def send() -> tuple[ReplyParser, Iterator[Chunk]]:
            nonlocal body
            body = {name: value for name, value in self._body(request).items() if name not in self._left_out}
            parser = self._parser(tools if "tools" in body else (), used_ids)
            return parser, self._read(body, parser, cancel)

        yield from retries.ask(
            send, lambda fault: self._leave_out(fault, body), self._as_error, cancel, self._busy_timeout
        )

    def _read(self, body: Mapping[str, Any], parser: ReplyParser, cancel: Cancel) -> Iterator[Chunk]:
        with closing(wire.stream_lines(self._address, self.path, body, cancel=cancel)) as lines:
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


def tool_json(tool: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": unmarked(tool)}


def unmarked(value: Any) -> Any:
    """A JSON value without the tokens of chat templates."""
    return map_texts(value, broken)
