"""The person comes first: a job waits for the model while another process does, and is given up when one begins to.

A person's message is committed before the model is asked, so the file tells. In the person's own process the worker is
stopped directly (see idle_worker).
"""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

from agent_cli.agent.jobs.job_context import JobContext
from agent_cli.clock import Clock
from agent_cli.llm.model import Cancel
from agent_cli.memory.conversations import sessions
from agent_cli.store import jobs
from agent_cli.store.db import Database

_LOOK = 0.2  # seconds between two looks at the file; most jobs are done before the first


def wait(context: JobContext) -> None:
    """Wait until no other process waits for the model, if a job is due. Raises Cancelled."""
    while jobs.any_due(context.db, context.time()) and sessions.awaits_model(context.db, context.time()):
        context.cancel.wait(_LOOK)


@contextmanager
def watched(db: Database, time: Clock, given: Cancel) -> Iterator[Cancel]:
    """A token that is set with the given one, and when a person asks something in another process."""
    cancel, ended = Cancel(), threading.Event()
    watch = threading.Thread(target=_watch, args=(db, time, cancel, ended), name="person first", daemon=True)
    with given.on_cancel(cancel):
        watch.start()
        try:
            yield cancel
        finally:
            ended.set()
            watch.join()


def _watch(watched: Database, time: Clock, cancel: Cancel, ended: threading.Event) -> None:
    """Set the token when another process waits for the model; looked up only when the file has changed."""
    if watched.in_memory or ended.wait(_LOOK):
        return
    with closing(watched.another_connection()) as db:
        seen = None
        while True:
            version = db.value("pragma data_version")
            if version != seen and sessions.awaits_model(db, time()):
                cancel()
                return
            seen = version
            if ended.wait(_LOOK):
                return
