"""Asking a server until it answers: which requests are repeated, and what a model cannot do is left out."""

from collections.abc import Callable, Iterator

from agent_cli.errors import AgentError
from agent_cli.llm.model import Cancel, Chunk, Notice
from agent_cli.llm.server.faults import ServerFault
from agent_cli.llm.server.reply import ReplyParser

BUSY_TIMEOUT = 30.0
"""Seconds to wait in total for a server that answers that it is busy."""


def ask(
    send: Callable[[], tuple[ReplyParser, Iterator[Chunk]]],
    leave_out: Callable[[ServerFault], str | bool],
    as_error: Callable[[ServerFault], AgentError],
    cancel: Cancel,
    busy_timeout: float,
) -> Iterator[Chunk]:
    """The chunks of the first request that does not fail. Raises what `as_error` makes of the last fault.

    `send` begins a request. `leave_out` leaves out of the next one what the fault names: it gives a sentence for the
    person, or True; an empty value where that would not help.
    """
    retries = _Retries(busy_timeout)
    while True:
        reply, chunks = send()
        try:
            yield from chunks
            return
        except ServerFault as caught:
            fault = caught
        note = leave_out(fault) or (not reply.started and retries.decide(fault))
        if not note:
            yield from reply.flush(whole=False)
            raise as_error(fault) from fault
        if isinstance(note, str):
            yield Notice(note)
        if fault.kind == "busy":
            cancel.wait(retries.pause)


class _Retries:
    """Which requests are repeated: one that failed, once; one to a busy server, for some time."""

    def __init__(self, busy_timeout: float):
        self._time_left, self._next_pause = busy_timeout, 0.5
        self._failed = False
        self._busy = False
        self.pause = 0.0

    def decide(self, fault: ServerFault) -> str | bool:
        """A notice to show, True for another try without a notice, False for no more tries. Sets `pause` (seconds)."""
        if fault.kind == "busy" and self._time_left > 0:
            self.pause = min(fault.retry_after or self._next_pause, self._time_left)
            self._time_left -= self.pause
            self._next_pause = min(2 * self._next_pause, 8.0)
            announced, self._busy = self._busy, True
            return announced or "the model server is busy; waiting for it"
        if not self._failed and (fault.kind in ("crash", "call") or (fault.kind == "cut" and fault.status == 0)):
            self._failed = True
            return "the model server failed once; asked again"
        return False
