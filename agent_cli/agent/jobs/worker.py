"""Runs queued jobs. A job's work (a model may take minutes) is done outside any transaction and gives back its effect,
which is written together with the record that the job is done: so it happens once, however often it was begun.
"""

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

from agent_cli.agent.jobs import learner, reflector, summariser
from agent_cli.agent.jobs.job_context import INDEX, MEND, Desk, Effect
from agent_cli.agent.listener import LEARN, REFLECT
from agent_cli.errors import AgentError, Cancelled, StoreBusy
from agent_cli.llm.model import Cancel
from agent_cli.memory import tombstones
from agent_cli.memory.conversations import rolling_summary
from agent_cli.memory.documents import document_sync, documents
from agent_cli.memory.forgetting import forget
from agent_cli.memory.lifecycle import closing, retention
from agent_cli.memory.search import damaged_indexes, index, index_check, vectors
from agent_cli.memory.summaries import period_summaries, session_summary
from agent_cli.store import ids, jobs

_BETWEEN = 0.02  # seconds between batches, so that other programs get their turn to write
LONGEST = 25 * 60  # seconds of one job, less than its lease: a server that says nothing must not hold it for ever
_LEAST_PAUSE = 0.1  # seconds between two looks at an empty queue


def run_one(desk: Desk) -> bool:
    """Run the next job that is due; False when there is none. Raises Cancelled with the job put back."""
    job = jobs.claim(desk.db, desk.time())
    if job is None:
        return False
    late = threading.Event()

    def give_up() -> None:
        late.set()
        desk.cancel()

    timer = threading.Timer(LONGEST, give_up)
    timer.daemon = True
    timer.start()
    try:
        effect = HANDLERS[job.kind](desk, job)
        with desk.db.write():
            jobs.finish(desk.db, job, desk.time())
            effect()
    except jobs.LeaseLost:
        pass  # somebody else does it
    except (Cancelled, KeyboardInterrupt, SystemExit):
        if late.is_set():
            jobs.fail(desk.db, job, f"not done within {LONGEST // 60} minutes", desk.time())
        else:
            jobs.release(desk.db, job)
        raise
    except AgentError as error:
        jobs.fail(desk.db, job, str(error), desk.time())
    except Exception as error:
        jobs.fail(desk.db, job, f"{type(error).__name__}: {error}", desk.time())
        raise
    finally:
        timer.cancel()
    return True


def look_around(desk: Desk) -> None:
    """Close what was left alone; queue what was done without a model when one answers now, and what is due each day."""
    closing.close_silent(desk.db, desk.time, desk.silence)
    jobs.prune(desk.db, desk.time())
    if desk.model() is not None:
        session_summary.queue_extracted(desk.db, desk.time())
        period_summaries.queue_extracted(desk.db, desk.time())
        jobs.unpark(desk.db, LEARN, learner.NO_MODEL, desk.time())
        jobs.unpark(desk.db, REFLECT, reflector.NO_MODEL, desk.time())
    if desk.retention:
        retention.queue(desk.db, desk.time())
    document_sync.queue(desk.db, desk.time())


def fold(desk: Desk, job: jobs.Job) -> Effect:
    """Let the model say what was folded away; without one the extract stays."""
    model = desk.model()
    session = ids.number("session", job.subject)
    made = (
        rolling_summary.ask_model(desk.db, session, desk.characters, summariser.ask_with(model, desk.cancel))
        if model
        else None
    )

    def effect() -> None:
        if made and not rolling_summary.save(desk.db, session, made, desk.time()):
            jobs.add(desk.db, job.kind, job.subject, desk.time())  # more was folded away meanwhile

    return effect


def catch_up(desk: Desk, job: jobs.Job) -> Effect:
    """Index what is new, in words and in meaning, and do what searches are spared: some merging, a look for damage."""
    while index.refresh(desk.db):
        desk.cancel.wait(_BETWEEN)
    if index_check.due(desk.db, desk.time()):
        index_check.check(desk.db, desk.time())
    for name in damaged_indexes.damaged(desk.db):
        jobs.add(desk.db, MEND, name, desk.time())
    index.merge(desk.db)  # before the vectors: their server may be down
    for _ in desk.meaning.fill(desk.db):
        desk.cancel.wait(_BETWEEN)
    return lambda: None


def mend(desk: Desk, job: jobs.Job) -> Effect:
    """Make a damaged index anew."""
    if job.subject == "vectors":
        vectors.recreate(desk.db)
        return lambda: jobs.add(desk.db, INDEX, "all", desk.time())
    index.repair(desk.db, job.subject)
    return lambda: None


def empty_journal(desk: Desk, job: jobs.Job) -> Effect:
    """Let what was erased leave the file. Raises StoreBusy while another process reads what was there before."""
    if not forget.finish(desk.db, desk.time):
        raise StoreBusy("another process reads what was there before something was erased; this is tried again")
    return lambda: None


def retain(desk: Desk, job: jobs.Job) -> Effect:
    """Remove what is old, as far as the person's settings say so."""
    for _ in retention.run(desk.db, retention.policy(desk.retention), desk.time):
        desk.cancel.wait(_BETWEEN)
    return lambda: None


def read_documents(desk: Desk, job: jobs.Job) -> Effect:
    """Look at the folders of documents again. Stopped between two files, it goes on there the next time."""
    tally = document_sync.Tally()
    for owner in documents.owners(desk.db):
        for _ in document_sync.sync(desk.db, owner, desk.time, tally):
            desk.cancel.wait(_BETWEEN)
    return lambda: jobs.add(desk.db, INDEX, "all", desk.time()) if tally.anything else None


HANDLERS: Mapping[str, Callable[[Desk, jobs.Job], Effect]] = {
    session_summary.JOB: summariser.summarise,
    period_summaries.JOB: summariser.summarise_period,
    rolling_summary.JOB: fold,
    LEARN: learner.learn,
    REFLECT: reflector.reflect,
    INDEX: catch_up,
    MEND: mend,
    tombstones.JOB: empty_journal,
    retention.JOB: retain,
    document_sync.JOB: read_documents,
}


class IdleWorker:
    """Runs jobs on a thread of its own when nobody has typed or read an answer for a while, and stops when they do."""

    def __init__(self, open_desk: Callable[[Cancel], Desk], pause: float):
        self._open_desk, self._pause = open_desk, max(_LEAST_PAUSE, pause)
        self._touched = threading.Event()
        self._ended = threading.Event()
        self._busy = False
        self._cancel = Cancel()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)
        self._thread.start()

    def touch(self, *, busy: bool | None = None) -> None:
        """The person does something: stop at once and wait again. While `busy` an answer streams, and nothing runs."""
        with self._lock:
            self._busy = self._busy if busy is None else busy
            self._touched.set()
            cancel = self._cancel
        cancel()

    def end(self, seconds: float) -> None:
        """Stop, and wait at most this long for it."""
        self._ended.set()
        self.touch()
        self._thread.join(seconds)

    def _run(self) -> None:
        while True:
            self._touched.clear()
            if self._ended.is_set():  # looked at after clearing, so that the touch of `end` is never missed
                return
            if self._touched.wait(self._pause) or self._busy:
                continue
            with self._lock:
                if self._touched.is_set():
                    continue
                self._cancel = Cancel()
            self._work(self._cancel)

    def _work(self, cancel: Cancel) -> None:
        with suppress(AgentError):  # the job was put back, or kept with its error: `agent jobs list` shows it
            desk = self._open_desk(cancel)
            try:
                look_around(desk)
                while not cancel and run_one(desk):
                    pass
            finally:
                desk.db.close()
