"""Runs a turn, or the summary of a session that closes, on a thread of its own.

A prompt or a server, which must not block, receives the events by a callback; it can cancel the work, and answers the
ApprovalNeeded events. An error of the work arrives as TurnFailed, so that none is lost between threads.
"""

import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue

from agent_cli.agent.events import ApprovalNeeded, Event, TurnFailed
from agent_cli.agent.policy import Approve
from agent_cli.llm.model import Cancel
from agent_cli.messages import ToolCall

Work = Callable[[Cancel, Approve], Iterator[Event]]
"""Runs on the runner's thread, and opens its own connection there."""


class Runner:
    """Work in progress. `deliver` is called on its thread, once for each event, and with None at the end."""

    def __init__(self, work: Work, deliver: Callable[[Event | None], None]):
        self._work, self._deliver = work, deliver
        self.cancel = Cancel()
        self._thread = threading.Thread(target=self._run, name="turn", daemon=True)
        self._thread.start()

    def join(self, seconds: float | None = None) -> None:
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            for event in self._work(self.cancel, self._approve):
                self._deliver(event)
        except BaseException as error:  # nothing above a thread catches it: the reader of the events raises it again
            self._deliver(TurnFailed(error))
        finally:
            self._deliver(None)

    def _approve(self, call: ToolCall) -> bool:
        answers: SimpleQueue[bool] = SimpleQueue()  # one for each call: a second answer must not approve the next call
        with self.cancel.on_cancel(lambda: answers.put(False)):
            self._deliver(ApprovalNeeded(call, answers.put))
            return answers.get()
