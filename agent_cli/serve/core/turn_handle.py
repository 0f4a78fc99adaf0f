"""The turn of one request: enqueued, waited for, read as events, abandoned when the caller disconnects."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Hashable
from typing import Any

from starlette.requests import Request

from agent_cli.agent.transcript import JsonObject
from agent_cli.serve.core import refusals, run_turn, streaming
from agent_cli.serve.core.refusals import Refused
from agent_cli.serve.core.run_turn import TurnRequest
from agent_cli.serve.core.state import ServerState


class TurnHandle:
    """The turn of one request. With a `key` it is not cut when the caller disconnects: the same request comes again."""

    def __init__(
        self, state: ServerState, request: Request, turn_request: TurnRequest, lock_key: Hashable | None, key: str = ""
    ):
        owner_key = (
            (turn_request.caller.owner, lock_key) if lock_key else None
        )  # or the wait would tell when another is answered
        self.turn = state.turns.begin(run_turn.make_work(state, turn_request), owner_key, turn_request.caller.id)
        self._request, self._stays = request, bool(key)
        place = (turn_request.caller.id, key)
        if key:
            state.turns_by_key[place] = self.turn

        def on_done(_: object) -> None:
            state.metrics.time("agent_turn_waited_seconds", turn_request.caller.name, self.turn.waited)
            if state.turns_by_key.get(place) is self.turn:
                del state.turns_by_key[place]

        if self.turn.task:
            self.turn.task.add_done_callback(on_done)

    async def answer(self) -> JsonObject:
        """The whole answer as a JSON object. Raises Refused, with what had arrived."""
        await self._wait_for(self.turn.answered.wait())
        self._raise_error()
        return response_body(self.turn.outcome or {})

    @property
    def timing(self) -> dict[str, str]:
        """How long the turn took, by part, in milliseconds, as a header."""
        parts = (self.turn.outcome or {}).get("took", {}) | {"line": self.turn.waited}
        return {"Server-Timing": ", ".join(f"{name};dur={1000 * seconds:.1f}" for name, seconds in parts.items())}

    async def first_event(self) -> JsonObject:
        """The first event, waited for so that a turn that cannot begin gets its own status. Raises Refused."""
        await self._wait_for(self.turn.started.wait())
        event = await self.turn.next_event()
        if event is None:
            self._raise_error()
            raise refusals.busy("the turn ended without an answer: ask again")
        return event

    async def remaining_events(self) -> AsyncIterator[JsonObject | None]:
        """The events after the first, None after each silence of a heartbeat; an error event ends a failed turn."""
        while True:
            try:
                async with asyncio.timeout(streaming.HEARTBEAT_SECONDS):
                    event = await self.turn.next_event()
            except TimeoutError:
                yield None
                continue
            if event is None:
                break
            yield {key: value for key, value in event.items() if key != "took"}
            if event["type"] == "end":
                return
        try:
            self._raise_error()
        except Refused as refused:
            yield {"type": "error", **refused.body}

    def abandon(self) -> None:
        """Called when the caller reads no more."""
        if not self._stays and not self.turn.answered.is_set():
            self.turn.abandon()

    async def _wait_for(self, ready: Coroutine[Any, Any, Any]) -> None:
        if not await streaming.unless_disconnected(self._request.receive, asyncio.ensure_future(ready)):
            self.abandon()
            raise Refused(499, "gone", "the caller has disconnected")  # nobody reads it

    def _raise_error(self) -> None:
        try:
            self.turn.raise_error()
        except Refused as refused:
            refused.partial_answer = response_body(self.turn.outcome or {})
            raise


def response_body(event: JsonObject) -> JsonObject:
    """A whole answer as a response body: without the fields for streams (type, schema) and the header (took)."""
    return {key: value for key, value in event.items() if key not in ("type", "schema", "took")}
