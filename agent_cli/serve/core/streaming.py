"""Server-sent events: a response that ends when its client disconnects, with heartbeats in silence."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

HEARTBEAT_SECONDS = (
    15.0  # seconds of silence after which a comment is sent, so that nothing on the way takes it for dead
)
EVENT_STREAM: dict[int | str, dict[str, Any]] = {  # of each event, in a description
    200: {
        "content": {
            "text/event-stream": {
                "schema": {
                    "type": "object",
                    "properties": {name: {"type": "string"} for name in ("id", "event", "data")},
                    "required": ["data"],
                }
            }
        }
    }
}
HEARTBEAT = ": still here\n\n"


class EventStream(Response):
    """`pieces` are sent as they come; when the last is sent or the client has gone, they are closed, and `closed` is
    called, also where not one was sent."""

    media_type = "text/event-stream"

    def __init__(
        self,
        pieces: AsyncGenerator[str, None],
        headers: Mapping[str, str] | None = None,
        *,
        closed: Callable[[], None] = lambda: None,
    ):
        self._pieces, self._closed = pieces, closed
        self.status_code, self.background = 200, None
        self.init_headers({"Cache-Control": "no-store", "X-Accel-Buffering": "no", **(headers or {})})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.ensure_future(self._send(send))
        disconnected = asyncio.ensure_future(_disconnected(receive))
        try:
            await asyncio.wait((sending, disconnected), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, disconnected):
                task.cancel()
            with suppress(asyncio.CancelledError, OSError):  # the client went while something was sent
                await sending
            await self._pieces.aclose()
            self._closed()

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async for piece in self._pieces:
            await send({"type": "http.response.body", "body": piece.encode(), "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def unless_disconnected(receive: Receive, work: "asyncio.Future[Any]") -> bool:
    """Wait for something, or until the client has gone; whether it is there still."""
    disconnected = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait((work, disconnected), return_when=asyncio.FIRST_COMPLETED)
        return work.done()
    finally:
        disconnected.cancel()
        work.cancel()


def encode_event(data: Any, *, event: str = "", id: str = "") -> str:
    """One event. JSON has no line breaks of its own, so one line holds it."""
    lines = [f"id: {id}"] if id else []
    lines += [f"event: {event}"] if event else []
    return "".join(f"{line}\n" for line in [*lines, f"data: {json.dumps(data, ensure_ascii=False)}"]) + "\n"
