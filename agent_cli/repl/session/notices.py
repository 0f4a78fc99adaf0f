"""What happened behind the prompt and is worth a line above it: something waits for a yes, a job was given up.

Told once, and only what is new: what waited at the start is told there. That work failed is told once in a session.
"""

from collections.abc import Callable

from agent_cli.memory.review import review
from agent_cli.memory.review.proposals import Reviewer
from agent_cli.store import jobs


class Notices:
    def __init__(self, reviewer: Callable[[], Reviewer]):
        self._reviewer = reviewer
        self._waiting: frozenset[review.Ticket] | None = None
        self._given_up = 0
        self._failure_told = False
        self._version: object = None

    def look(self) -> list[str]:
        """What is new since the last look. Costs microseconds while no other connection has written."""
        reviewer = self._reviewer()
        version = reviewer.db.value("pragma data_version")
        if version == self._version:
            return []
        self._version = version
        waiting, given_up = frozenset(review.waiting(reviewer)), jobs.count_parked(reviewer.db)
        before, self._waiting = self._waiting, waiting
        failed, self._given_up = given_up - self._given_up, given_up
        if before is None:
            return []
        told = []
        if waiting - before:
            count = len(waiting)
            told.append(f"{count} {'memory waits' if count == 1 else 'memories wait'} for your yes: /review")
        if failed > 0 and not self._failure_told:
            self._failure_told = True
            told.append("some work behind the conversation could not be done: /doctor says more")
        return told
