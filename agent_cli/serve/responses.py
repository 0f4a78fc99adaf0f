"""How a request is answered other than by a whole answer: refused, with one form of error for all routes, which clients
of OpenAI read too; or with server-sent events, which have heartbeats in silence."""

import json
from collections.abc import AsyncGenerator, Callable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from agent_cli import errors
from agent_cli.text import clean

_STATUS: dict[int, tuple[type[errors.AgentError], ...]] = {  # of all others 502
    400: (errors.ContextExceeded,),
    422: (errors.UsageError,),
    503: (errors.ModelMissing, errors.ModelUnavailable, errors.StoreError, errors.Cancelled),
    504: (errors.TimedOut,),
}
_LATER = {"Retry-After": "5"}  # seconds after which a busy server is asked again


class Refused(Exception):
    """Ends a request. Its text is a sentence: what is wrong and what to do."""

    def __init__(self, status: int, code: str, sentence: str, headers: dict[str, str] | None = None):
        super().__init__(sentence)
        self.status, self.code, self.headers = status, code, {**(headers or {})}
        self.partial_answer: dict[str, Any] = {}  # of an answer that was cut

    @property
    def body(self) -> dict[str, Any]:
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        return {"error": {"message": str(self), "type": kind, "param": None, "code": self.code}, **self.partial_answer}


def busy(sentence: str) -> Refused:
    return Refused(503, "busy", sentence, _LATER)


def from_error(error: errors.AgentError) -> Refused:
    status = next((status for status, kinds in _STATUS.items() if isinstance(error, kinds)), 502)
    sentence = str(error)
    if isinstance(error, errors.StoreError):
        sentence = sentence.partition(": ")[2] or sentence  # where the file lies is nobody's business
    return Refused(status, error.code, clean(sentence), _LATER if status == 503 else {})


class ErrorDetail(BaseModel):
    """What went wrong and what to do, in one sentence."""

    message: str
    type: Literal["invalid_request_error", "server_error"]
    param: None
    code: str


class ErrorResponse(BaseModel):
    """The error; of an answer that was cut also what had arrived."""

    model_config = ConfigDict(extra="allow")

    error: ErrorDetail


HEARTBEAT_SECONDS = 15.0  # of silence after which a comment is sent, so that nothing on the way takes it for dead
_FIELDS = {name: {"type": "string"} for name in ("id", "event", "data")}
_EVENT = {"type": "object", "properties": _FIELDS, "required": ["data"]}
EVENT_STREAM: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {"schema": _EVENT}}}}
"""Each event, in a description."""
HEARTBEAT = ": still here\n\n"


class EventStream(StreamingResponse):
    """`closed` is called when the last piece is sent or the client has gone, also where not one was sent."""

    media_type = "text/event-stream"

    def __init__(self, pieces: AsyncGenerator[str, None], *, closed: Callable[[], None] = lambda: None):
        super().__init__(pieces, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._closed = closed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._closed()


def encode_event(data: Any, *, event: str = "", id: str = "") -> str:
    """One event. JSON has no line breaks of its own, so one line holds it."""
    lines = [f"id: {id}"] if id else []
    lines += [f"event: {event}"] if event else []
    return "".join(f"{line}\n" for line in [*lines, f"data: {json.dumps(data, ensure_ascii=False)}"]) + "\n"
