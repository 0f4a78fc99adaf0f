"""Chat with a model of a local Ollama.

One explicit `num_ctx`, the same in every request: another one would make the server load the model again. `truncate`
and `shift` are off: by default the server drops messages from the front, in silence, when a conversation grows too
long, and an assistant that forgets must say so. What a model turns out to lack (tools, thinking) is told once and left
out from then on.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from agent_cli.llm.model import Cancel, Chunk, Done, Notice
from agent_cli.llm.ollama import address, faults, tags, wire
from agent_cli.llm.ollama.replies import Reading
from agent_cli.messages import Message

PATIENCE = 30.0
"""Seconds to wait, in all, for a server that says it is busy."""


class OllamaModel:
    """A ChatModel. What it remembers is what the model cannot do, and that it is local."""

    def __init__(
        self,
        name: str,
        host: str,
        num_ctx: int,
        *,
        keep_alive: str | int | None = None,
        options: Mapping[str, Any] | None = None,
        patience: float = PATIENCE,
    ):
        self.name = name
        self._address = address.parse(host)
        self._num_ctx = num_ctx
        self._keep_alive = duration(keep_alive)
        self._options = {**(options or {}), "num_ctx": num_ctx}
        self._patience = patience
        self._lacks: set[str] = set()  # "no tools", "no thinking"
        self._local = False

    def reply(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]] = (),
        *,
        think: bool | str | None = None,
        format: Mapping[str, Any] | None = None,
        cancel: Cancel | None = None,
    ) -> Iterator[Chunk]:
        """Stream one assistant message that ends with Done. Raises AgentError."""
        cancel = Cancel() if cancel is None else cancel
        self._local = self._local or tags.is_local(self._address, self.name, cancel)
        taken = {call.id for message in messages for call in message.calls}
        tries = _Tries(self._patience)
        while True:
            body = self._body(messages, tools, think, format)
            reading = Reading(self.name, tools if "tools" in body else (), taken)
            try:
                yield from self._read(body, reading, cancel)
                return
            except faults.Fault as met:
                fault = met
            note = self._remedy(fault, body) or (not reading.begun and tries.again(fault))
            if not note:
                yield from reading.rest(whole=False)
                raise faults.error(fault, self.name, self._address.url, self._num_ctx) from fault
            if isinstance(note, str):
                yield Notice(note)
            if fault.kind == "busy":
                cancel.wait(tries.pause)

    def _body(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]],
        think: bool | str | None,
        format: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [sent(message) for message in messages],
            "stream": True,
            "truncate": False,
            "shift": False,
            "options": self._options,
        }
        if tools and "no tools" not in self._lacks:
            body["tools"] = [{"type": "function", "function": tool} for tool in tools]
        if think is not None and not (think and "no thinking" in self._lacks):
            body["think"] = think
        if format is not None:
            body["format"] = format
        if self._keep_alive is not None:
            body["keep_alive"] = self._keep_alive
        return body

    def _read(self, body: Mapping[str, Any], reading: Reading, cancel: Cancel) -> Iterator[Chunk]:
        with closing(wire.lines(self._address, "/api/chat", body, cancel=cancel)) as lines:
            for line in lines:
                if not line.strip():
                    continue
                for chunk in reading.take(line):
                    yield chunk
                    if isinstance(chunk, Done):
                        return
        raise faults.Fault("undone")

    def _remedy(self, fault: faults.Fault, body: Mapping[str, Any]) -> str:
        """What is left out from now on, as a note; or nothing that would help."""
        if fault.kind == "no tools" and "tools" in body:
            self._lacks.add(fault.kind)
            return f"the model {self.name!r} cannot use tools; asked again without them"
        if fault.kind == "no thinking" and body.get("think"):
            self._lacks.add(fault.kind)
            return f"the model {self.name!r} has no separate thinking; asked again without it"
        return ""


class _Tries:
    """What may be asked again: a failure once, a busy server for some time."""

    def __init__(self, patience: float):
        self._left, self._next = patience, 0.5
        self._failed = False
        self._busy = False
        self.pause = 0.0

    def again(self, fault: faults.Fault) -> str | bool:
        """A note to tell, True for another try without one, False for none. A busy server gets a `pause` in seconds."""
        if fault.kind == "busy" and self._left > 0:
            self.pause = min(self._next, self._left)
            self._left -= self.pause
            self._next = min(2 * self._next, 8.0)
            told, self._busy = self._busy, True
            return told or "the model server is busy; waiting for it"
        if not self._failed and (fault.kind in ("crash", "call") or (fault.kind == "cut" and fault.status == 0)):
            self._failed = True
            return "the model server failed once; asked again"
        return False


def sent(message: Message) -> dict[str, Any]:
    """The message as the server wants it."""
    told: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        told["tool_calls"] = [
            {"id": call.id, "function": {"index": index, "name": call.name, "arguments": call.arguments}}
            for index, call in enumerate(message.calls)
        ]
        if message.thinking:  # a model goes on from it after its calls, and needs it nowhere else
            told["thinking"] = message.thinking
    if message.role == "tool":
        told |= {"tool_name": message.tool_name, "tool_call_id": message.call_id}
    return told


def duration(told: str | int | None) -> str | int | None:
    """How long to keep the model loaded. A number in quotes is seconds for a person, and an error for the server."""
    if isinstance(told, str):
        told = told.strip()
        return int(told) if re.fullmatch(r"-?\d+", told) else told or None
    return told
