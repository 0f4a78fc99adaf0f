"""How a request is refused: a status, and one form of error for all routes, which clients of OpenAI read too."""

import math
from typing import Any

from agent_cli.errors import (
    AgentError,
    Cancelled,
    ContextExceeded,
    ModelFailed,
    ModelMissing,
    ModelUnavailable,
    StoreError,
    TimedOut,
    UsageError,
)
from agent_cli.text import clean

_STATUS: tuple[tuple[type[AgentError], int], ...] = (
    (ContextExceeded, 400),
    (ModelFailed, 502),
    (ModelMissing, 503),
    (ModelUnavailable, 503),
    (StoreError, 503),
    (Cancelled, 503),
    (TimedOut, 504),
    (UsageError, 422),
)
_RETRY_SECONDS = 5  # seconds after which a busy server is asked again


class Refused(Exception):
    """Ends a request. Its text is a sentence: what is wrong and what to do."""

    def __init__(self, status: int, code: str, sentence: str, headers: dict[str, str] | None = None):
        super().__init__(sentence)
        self.status, self.code, self.headers = status, code, headers or {}
        self.partial_answer: dict[str, Any] = {}  # of an answer that was cut

    @property
    def body(self) -> dict[str, Any]:
        return {**body(self.status, self.code, str(self)), **self.partial_answer}


def busy(sentence: str, seconds: float = _RETRY_SECONDS) -> Refused:
    """There is no room now."""
    return Refused(503, "busy", sentence, {"Retry-After": str(math.ceil(seconds))})


def from_error(error: AgentError) -> Refused:
    """What an error of ours means to a client."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 502)
    headers = {"Retry-After": str(_RETRY_SECONDS)} if status == 503 else {}
    sentence = str(error)
    if isinstance(error, StoreError):
        sentence = sentence.partition(": ")[2] or sentence  # where the file lies is nobody's business
    return Refused(status, error.code, clean(sentence), headers)


def body(status: int, code: str, sentence: str) -> dict[str, Any]:
    kind = "server_error" if status >= 500 else "rate_limit_error" if status == 429 else "invalid_request_error"
    return {"error": {"message": sentence, "type": kind, "param": None, "code": code}}
