"""Work on its own thread, seen as events: a turn, or the summary of a session that closes.

What must not wait (a prompt, a server) starts one and gets its events by a callback; it cancels by closing the model's
connection, and answers what the policy asks. The events end with TurnFailed when an error ended them, so that nothing
is lost between threads.
"""

import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue

from agent_cli.agent.events import ApprovalNeeded, Event, TurnFailed
from agent_cli.agent.policy.policy import Approve
from agent_cli.llm.model import Cancel
from agent_cli.messages import ToolCall

Work = Callable[[Cancel, Approve], Iterator[Event]]
"""Runs on the runner's thread, and opens its own connection there."""


class Runner:
    """Work that runs. `deliver` is called on its thread, once for each event, and with None at the end."""

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
        except BaseException as error:  # a thread has nobody above it: who reads the events raises it again
            self._deliver(TurnFailed(error))
        finally:
            self._deliver(None)

    def _approve(self, call: ToolCall) -> bool:
        answers: SimpleQueue[bool] = SimpleQueue()  # its own: a second yes must not answer the next question
        with self.cancel.on_cancel(lambda: answers.put(False)):
            self._deliver(ApprovalNeeded(call, answers.put))
            return answers.get()
