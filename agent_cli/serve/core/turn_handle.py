"""A turn between its caller and the line: begun, waited for, told as events, left when the caller goes."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Hashable
from typing import Any

from starlette.requests import Request

from agent_cli.agent.transcript import JsonObject
from agent_cli.serve.core import refusals, run_turn, streaming
from agent_cli.serve.core.refusals import Refused
from agent_cli.serve.core.run_turn import Asking
from agent_cli.serve.core.state import House


class Asked:
    """One turn as a request has it. One that stays (`key`) is not cut when its caller goes: it will come again."""

    def __init__(self, house: House, request: Request, asking: Asking, line: Hashable | None, key: str = ""):
        owned = (asking.caller.owner, line) if line else None  # or the wait would tell when another is answered
        self.turn = house.turns.begin(run_turn.work(house, asking), owned, asking.caller.id)
        self._request, self._stays = request, bool(key)
        place = (asking.caller.id, key)
        if key:
            house.keyed[place] = self.turn

        def over(_: object) -> None:
            house.metrics.time("agent_turn_waited_seconds", asking.caller.name, self.turn.waited)
            if house.keyed.get(place) is self.turn:
                del house.keyed[place]

        if self.turn.task:
            self.turn.task.add_done_callback(over)

    async def whole(self) -> JsonObject:
        """The answer with all that is told beside it. Raises Refused, with what had arrived."""
        await self._until(self.turn.answered.wait())
        self._check()
        return told(self.turn.last or {})

    @property
    def timing(self) -> dict[str, str]:
        """What the turn took and whose time it was, in milliseconds, as a header."""
        parts = (self.turn.last or {}).get("took", {}) | {"line": self.turn.waited}
        return {"Server-Timing": ", ".join(f"{name};dur={1000 * seconds:.1f}" for name, seconds in parts.items())}

    async def first(self) -> JsonObject:
        """The event with which it begins: what cannot begin gets a status of its own. Raises Refused."""
        await self._until(self.turn.started.wait())
        event = await self.turn.next()
        if event is None:
            self._check()
            raise refusals.busy("the turn ended without an answer: ask again")
        return event

    async def rest(self) -> AsyncIterator[JsonObject | None]:
        """The events after it, and None where nothing came for a while. One that went wrong ends with an error."""
        while True:
            try:
                async with asyncio.timeout(streaming.BEAT):
                    event = await self.turn.next()
            except TimeoutError:
                yield None
                continue
            if event is None:
                break
            yield {key: value for key, value in event.items() if key != "took"}
            if event["type"] == "end":
                return
        try:
            self._check()
        except Refused as refused:
            yield {"type": "error", **refused.body}

    def leave(self) -> None:
        """The caller reads no more."""
        if not self._stays and not self.turn.answered.is_set():
            self.turn.leave()

    async def _until(self, ready: Coroutine[Any, Any, Any]) -> None:
        if not await streaming.until_gone(self._request.receive, asyncio.ensure_future(ready)):
            self.leave()
            raise Refused(499, "gone", "the caller has gone")  # nobody reads it

    def _check(self) -> None:
        try:
            self.turn.check()
        except Refused as refused:
            refused.arrived = told(self.turn.last or {})
            raise


def told(event: JsonObject) -> JsonObject:
    """What a whole answer says; the kind of event and its form are for streams, what it took is for a header."""
    return {key: value for key, value in event.items() if key not in ("type", "schema", "took")}
