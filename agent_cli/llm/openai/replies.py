"""The events of a /v1 response, parsed into the chunks of a reply.

An event is one line, `data: {…}`; lines of other kinds are for keeping the connection open. The pieces of a tool call
arrive one by one and are joined by their index, or by a new id where a server counts every call as the first. The end
is `[DONE]`, which some servers leave out: a reason to finish will do. A server that does not stream sends one object.

The sentences for errors of a /v1 server.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_cli.errors import AgentError, ModelFailed, ModelMissing
from agent_cli.llm.model import Chunk, Done, Notice
from agent_cli.llm.server import faults, reply
from agent_cli.llm.server.address import Address
from agent_cli.llm.server.faults import ServerFault


def missing(model: str, url: str) -> ModelMissing:
    return ModelMissing(f"the model {model!r} is not on the server at {url}: `agent models` lists what it has")


def as_error(fault: ServerFault, model: str, address: Address, num_ctx: int = 0) -> AgentError:
    """The fault as an error with a sentence for the person."""
    match fault.kind:
        case "key" | "host refused":
            return refused_key(fault, address)
        case "missing":
            return missing(model, address.url)
        case "no embedding":
            return ModelMissing(f"the model {model!r} cannot embed: name one that can in embed_model")
    if fault.status == 403:
        return refused_key(fault, address)
    return faults.as_error(fault, model, address, num_ctx)


def refused_key(fault: ServerFault, address: Address) -> ModelFailed:
    given = "refuses the key" if address.key else "wants a key"
    return ModelFailed(
        f"the server at {address.url} {given} ({fault.status}): put the right one into the environment variable that "
        "key_variable names"
    )


_FIELD, _END = b"data:", b"[DONE]"


@dataclass
class _Call:
    """A tool call whose pieces are still arriving."""

    index: Any
    id: str
    name: str
    arguments: str


class EventParser(reply.ReplyParser):
    """Parses one reply, line by line."""

    def __init__(self, model: str, tools: Sequence[Mapping[str, Any]], used_ids: Collection[str]):
        super().__init__(tools, used_ids)
        self._model = model
        self._open_calls: list[_Call] = []
        self._finish = ""
        self._usage: Mapping[str, Any] = {}
        self._unframed = b""  # what arrived outside of events

    def feed(self, line: bytes) -> Iterator[Chunk]:
        line = line.strip()
        if line.startswith(_FIELD):
            data = line.removeprefix(_FIELD).strip()
            if data == _END:
                yield from self.end()
            elif data:
                yield from self._event(reply.read_object(data))
        elif line[:1] in (b"{", b"}", b'"', b"[", b"]") or self._unframed:
            self._unframed += line + b"\n"

    def end(self) -> Iterator[Chunk]:
        if self.done:
            return
        if self._unframed:
            unframed, self._unframed = self._unframed, b""
            yield from self._event(reply.read_object(unframed))
        if not self._finish:
            raise ServerFault("incomplete")
        self.done = True
        if calls := list(self._whole_calls()):
            yield from self.calls(calls)
        yield from self.flush(whole=True)
        if self._finish == "content_filter":
            yield Notice("the server's filter ended the answer")
        finish = "length" if self._finish == "length" else "stop"
        yield Done(finish, self._model, self._count("prompt_tokens"), self._count("completion_tokens"))

    def _event(self, event: Mapping[str, Any]) -> Iterator[Chunk]:
        if isinstance(model := event.get("model"), str) and model:
            self._model = model
        if isinstance(usage := event.get("usage"), dict):
            self._usage = usage
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            yield from self.message(delta.get("reasoning_content") or delta.get("reasoning"), delta.get("content"))
            calls = delta.get("tool_calls")
            for call in calls if isinstance(calls, list) else ():
                self._piece(call)
        self._finish = str(choice.get("finish_reason") or self._finish)

    def _piece(self, piece: Any) -> None:
        function = piece.get("function") if isinstance(piece, dict) else None
        if not isinstance(function, dict):
            return
        index, id, name = piece.get("index"), piece.get("id") or "", function.get("name") or ""
        arguments = function.get("arguments") or ""
        arguments = arguments if isinstance(arguments, str) else json.dumps(arguments)
        last = self._open_calls[-1] if self._open_calls else None
        known = next((call for call in self._open_calls if index is not None and call.index == index), None)
        same = known or (last if index is None else None)
        if same and not (name and id and id != same.id):
            same.arguments += arguments
            same.name = same.name or str(name)
        else:
            if same:  # a server that counts every call as the first: what follows belongs to the new one
                same.index = object()
            self._open_calls.append(_Call(index, str(id), str(name), arguments))

    def _whole_calls(self) -> Iterator[tuple[str, str, Any]]:
        for call in self._open_calls:
            try:
                arguments = json.loads(call.arguments or "{}")
            except (ValueError, RecursionError) as error:
                if self._finish == "length":  # cut off with the answer
                    continue
                raise ServerFault("call", call.arguments[:200]) from error
            if call.name:
                yield call.id, call.name, arguments

    def _count(self, key: str) -> int:
        value = self._usage.get(key)
        return value if isinstance(value, int) else 0
