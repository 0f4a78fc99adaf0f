"""News from the background for the line above the prompt: proposals that wait for approval, jobs that failed.

Each is reported once: proposals that waited at the start are reported there, failed jobs once in a session.
"""

from collections.abc import Callable

from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.review import review
from agent_cli.messages import Failure
from agent_cli.store import jobs


class Notices:
    def __init__(self, reviewer: Callable[[], MemoryContext]):
        self._reviewer = reviewer
        self._waiting: frozenset[review.ProposalKey] | None = None
        self._given_up = 0
        self._failure_reported = False
        self._version: object = None

    def news(self) -> list[str]:
        """Lines about what is new since the last call. Takes microseconds while no other connection has written."""
        reviewer = self._reviewer()
        version = reviewer.db.value("pragma data_version")
        if version == self._version:
            return []
        self._version = version
        waiting, given_up = frozenset(review.pending(reviewer)), jobs.count_parked(reviewer.db)
        before, self._waiting = self._waiting, waiting
        failed, self._given_up = given_up - self._given_up, given_up
        if before is None:
            return []
        lines = []
        if waiting - before:
            lines.append(review.waiting_notice(sorted(waiting)))
        if failed > 0 and not self._failure_reported:
            self._failure_reported = True
            lines.append(Failure("some background work failed: /doctor says more"))
        return lines
