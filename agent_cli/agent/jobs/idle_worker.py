"""Runs queued jobs while the person is idle."""

import threading
from collections.abc import Callable
from contextlib import suppress

from agent_cli.agent.jobs.job_context import JobContext
from agent_cli.llm.model import Cancel

_LEAST_PAUSE = 0.1  # seconds between two looks at an empty queue


class IdleWorker:
    """Runs jobs on its own thread while the person is idle, and stops as soon as they do something."""

    def __init__(
        self, open_context: Callable[[Cancel], JobContext], pause: float, after: Callable[[], None] = lambda: None
    ):
        """`after` is called when jobs have run, or one was given up."""
        self._open_context, self._pause, self._after = open_context, max(_LEAST_PAUSE, pause), after
        self._touched = threading.Event()
        self._ended = threading.Event()
        self._busy = False
        self._cancel = Cancel()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)
        self._thread.start()

    def touch(self, *, busy: bool | None = None) -> None:
        """The person did something: stop at once and wait again. `busy`: an answer streams, and no job runs."""
        with self._lock:
            self._busy = self._busy if busy is None else busy
            self._touched.set()
            cancel = self._cancel
        cancel()

    def end(self, seconds: float) -> None:
        """Stop, and wait at most this long for the thread."""
        self._ended.set()
        self.touch()
        self._thread.join(seconds)

    def _run(self) -> None:
        while True:
            self._touched.clear()
            if self._ended.is_set():  # read after clearing, so that the touch of `end` is never missed
                return
            if self._touched.wait(self._pause) or self._busy:
                continue
            with self._lock:
                if self._touched.is_set():
                    continue
                self._cancel = Cancel()
            self._work(self._cancel)

    def _work(self, cancel: Cancel) -> None:
        from agent_cli.agent.jobs import worker  # what jobs need is a quarter of the program: not before the prompt

        with suppress(Exception):  # the job has its error, which `agent jobs list` shows; the next round tries again
            context, ran = self._open_context(cancel), False
            try:
                worker.queue_due(context)
                while not cancel and worker.run_one(context):
                    ran = True
            finally:
                context.db.close()
                if ran or cancel:
                    self._after()
