"""Runs queued jobs. The work of a job, in which a model may take minutes, is done outside any transaction and returns
its effect, which is written together with the record that the job is done: once, however often the job was begun.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from agent_cli.agent.jobs import learning, summariser
from agent_cli.agent.jobs.job_context import INDEX, REPAIR, Effect, JobContext, Postponed, watched
from agent_cli.agent.listener import LEARN, REFLECT
from agent_cli.errors import AgentError, Cancelled, StoreBusy
from agent_cli.memory import tombstones
from agent_cli.memory.conversations import digest
from agent_cli.memory.documents import document_sync, documents
from agent_cli.memory.forgetting import forget
from agent_cli.memory.lifecycle import closing, retention
from agent_cli.memory.search import index, vectors, word_tables
from agent_cli.memory.summaries import period_summaries, summaries
from agent_cli.store import ids, jobs, meta

_BATCH_PAUSE = 0.02  # seconds between batches, in which other processes may write
TIME_LIMIT = 25 * 60  # seconds for one job, less than its lease: a silent server must not block it


def run_one(context: JobContext) -> bool:
    """Run the next job that is due; False when there is none. Raises Cancelled, with the job back in the queue.

    A job is given up for the next question to the model that any process asks, and runs again when it is answered.
    """
    context.wait_for_person()
    job = jobs.claim(context.db, context.time(), () if context.is_resting else APART)
    if job is None:
        return False
    late = threading.Event()

    def give_up() -> None:
        late.set()
        context.cancel()

    timer = threading.Timer(TIME_LIMIT, give_up)
    timer.daemon = True
    timer.start()
    try:
        with watched(context.db, context.time, context.cancel) as cancel:
            effect = HANDLERS[job.kind](replace(context, cancel=cancel), job)
        with context.db.write():
            jobs.finish(context.db, job, context.time())
            effect()
    except jobs.LeaseLost:
        pass  # another worker runs it
    except (Cancelled, KeyboardInterrupt, SystemExit) as error:
        if late.is_set():
            jobs.fail(context.db, job, f"not done within {TIME_LIMIT // 60} minutes", context.time())
        else:
            jobs.release(context.db, job)
        if late.is_set() or context.cancel or not isinstance(error, Cancelled):
            raise
    except Postponed as postponed:
        jobs.release(context.db, job, postponed.until)
    except Exception as error:  # a bug too: the other jobs go on, and `agent jobs list` shows it
        reason = str(error) if isinstance(error, AgentError) else f"{type(error).__name__}: {error}"
        jobs.fail(context.db, job, reason, context.time())
    finally:
        timer.cancel()
    return True


def queue_due(context: JobContext) -> None:
    """Close silent sessions; queue work that had to wait for a model if one answers now, and the daily jobs."""
    closing.close_silent(context.db, context.time, context.close_after)
    jobs.prune(context.db, context.time())
    if context.model() is not None:
        period_summaries.queue_extracted(context.db, context.time())
        jobs.unpark(context.db, LEARN, learning.NO_MODEL_FOR_FACTS, context.time())
        jobs.unpark(context.db, REFLECT, learning.NO_MODEL_FOR_SKILLS, context.time())
    if context.retention:
        retention.queue(context.db, context.time())
    document_sync.queue(context.db, context.time())


def summarise_folded(context: JobContext, job: jobs.Job) -> Effect:
    """Summarise the folded part of a session with the model; without one the extract stays."""
    ask, session = summariser.summariser(context)[0], ids.number("session", job.subject)
    made = digest.ask_model(context.db, session, context.max_characters, ask) if ask else None

    def effect() -> None:
        if made and not digest.save(context.db, session, made, context.time()):
            jobs.add(context.db, job.kind, job.subject, context.time())  # more was folded away meanwhile

    return effect


def update_index(context: JobContext, job: jobs.Job) -> Effect:
    """Update the word index and the vectors, merge index segments, and check for damage."""
    _step_by_step(context, index.refresh_steps(context.db))
    if index.is_check_due(context.db, context.time()):
        index.check(context.db, context.time())
    for name in meta.damaged_indexes(context.db):
        jobs.add(context.db, REPAIR, name, context.time())
    word_tables.merge(context.db)  # before the vectors: their server may be down
    return _step_by_step(context, context.embedders.fill(context.db))


def repair_index(context: JobContext, job: jobs.Job) -> Effect:
    if job.subject != "vectors":
        word_tables.repair(context.db, job.subject)
        return lambda: None
    vectors.recreate(context.db)
    return lambda: jobs.add(context.db, INDEX, "all", context.time())


def finish_erasure(context: JobContext, job: jobs.Job) -> Effect:
    """Remove erased data from the journal. Raises StoreBusy while another process still reads it."""
    if not forget.empty_journal(context.db, context.time):
        raise StoreBusy("another process still reads data that was erased; this is tried again")
    return lambda: None


def sync_documents(context: JobContext, job: jobs.Job) -> Effect:
    """Sync the document folders. Stopped between two files, it continues there the next time."""
    tally = document_sync.SyncResult()
    for owner in documents.owners(context.db):
        _step_by_step(context, document_sync.sync(context.db, owner, context.time, tally))
    return lambda: jobs.add(context.db, INDEX, "all", context.time()) if tally.anything else None


def _step_by_step(context: JobContext, steps: Iterable[object]) -> Effect:
    """Take the steps, with pauses in which other processes may write. Raises Cancelled."""
    for _ in steps:
        context.cancel.wait(_BATCH_PAUSE)
    return lambda: None


HANDLERS: Mapping[str, Callable[[JobContext, jobs.Job], Effect]] = {
    summaries.JOB: summariser.summarise,
    period_summaries.JOB: summariser.summarise_period,
    digest.JOB: summarise_folded,
    LEARN: learning.learn_facts,
    REFLECT: learning.reflect,
    INDEX: update_index,
    REPAIR: repair_index,
    tombstones.JOB: finish_erasure,
    retention.JOB: lambda context, _: _step_by_step(
        context, retention.run(context.db, retention.policy(context.retention), context.time)
    ),
    document_sync.JOB: sync_documents,
}

APART = (summaries.JOB, period_summaries.JOB, digest.JOB, REFLECT)
"""Kinds of jobs whose prompts begin otherwise than those of the conversation that goes on."""
