"""Runs queued jobs: which function does a job's work, and the jobs that learn from a conversation.

The work of a job, in which a model may take minutes, is done outside any transaction and returns its effect, which is
written together with the record that the job is done: once, however often the job was begun.

To learn, the model reads new messages, and what it finds is proposed to the person: facts after each turn, a skill a
minute after the last message. The model is asked behind the messages of the conversation, which its server still holds;
what it may not see there, or does not fit, is put into a prompt of its own, which waits for ten minutes of silence
where the server would lose the conversation by it. If a message that was read has changed meanwhile, or anything was
forgotten, the messages are read again. An answer that cannot be parsed parks the job with the first message that it was
about as its subject: retried, it reads again from that message.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent_cli import clock, kinds
from agent_cli.agent.jobs import summariser
from agent_cli.agent.jobs.job_context import INDEX, REPAIR, REST, Effect, JobContext, Postponed, text_of, watched
from agent_cli.agent.listener import LEARN, REFLECT, REFLECT_DELAY
from agent_cli.errors import AgentError, Cancelled, ContextExceeded, ModelUnavailable, StoreBusy, TimedOut
from agent_cli.memory import tombstones
from agent_cli.memory.conversations import digest, log, sessions
from agent_cli.memory.conversations.log import Entry
from agent_cli.memory.documents import documents
from agent_cli.memory.facts import adoption, fact_extraction
from agent_cli.memory.facts.fact_extraction import AskForJson, UnreadableAnswer
from agent_cli.memory.forgetting import forget
from agent_cli.memory.lifecycle import closing, retention
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.scope import PERSON, Scope
from agent_cli.memory.search import index, recall_log, vectors, word_tables
from agent_cli.memory.skills import skill_extraction
from agent_cli.memory.summaries import period_summaries, summaries
from agent_cli.memory.sync import exchange
from agent_cli.messages import Message
from agent_cli.store import events, ids, jobs
from agent_cli.store.db import Database
from agent_cli.text import unfenced
from agent_cli.values import frozen

_BATCH_PAUSE = 0.02  # seconds between batches, in which other processes may write
TIME_LIMIT = 25 * 60  # seconds for one job, less than its lease: a silent server must not block it
NO_MODEL_FOR_FACTS = "no model answers, so what was said was not searched for facts yet; that is done when one answers"
NO_MODEL_FOR_SKILLS = (
    "no model answers, so a conversation was not examined for skills yet; that is done when one answers"
)
_LEAST_EXCHANGES = 2  # fewer, without a tool call, hold no procedure


def run_one(context: JobContext) -> bool:
    """Run the next job that is due; False when there is none, or a person waits for the model in another process, which
    sees to the jobs afterwards. Raises Cancelled, with the job back in the queue."""
    now = context.time()
    if sessions.awaits_model(context.db, now):
        return False
    job = jobs.claim(context.db, now, () if context.is_resting else APART)
    if job is None:
        return False
    limited = context.cancel.limited(TIME_LIMIT, f"not done within {TIME_LIMIT // 60} minutes")
    try:
        with limited, watched(context.db, context.time, context.cancel) as cancel:
            effect = HANDLERS[job.kind](replace(context, cancel=cancel), job)
        with context.db.write():
            jobs.finish(context.db, job, context.time())
            if effect:
                effect()
    except jobs.LeaseLost:
        pass  # another worker runs it
    except TimedOut as late:
        jobs.fail(context.db, job, str(late), context.time())
        raise Cancelled("stopped") from late
    except (Cancelled, KeyboardInterrupt, SystemExit) as error:
        jobs.release(context.db, job)
        if context.cancel or not isinstance(error, Cancelled):
            raise
    except Postponed as postponed:
        jobs.release(context.db, job, postponed.until)
    except Exception as error:  # a bug too: the other jobs go on, and `agent jobs list` shows it
        reason = str(error) if isinstance(error, AgentError) else f"{type(error).__name__}: {error}"
        jobs.fail(context.db, job, reason, context.time())
    return True


def queue_due(context: JobContext) -> None:
    """Close silent sessions; queue work that had to wait for a model if one answers now, and the daily jobs."""
    closing.close_silent(context.db, context.time, context.close_after)
    jobs.prune(context.db, context.time())
    if context.model() is not None:
        period_summaries.queue_extracted(context.db, context.time())
        jobs.unpark(context.db, LEARN, NO_MODEL_FOR_FACTS, context.time())
        jobs.unpark(context.db, REFLECT, NO_MODEL_FOR_SKILLS, context.time())
    if context.sync:
        exchange.queue(context.db, Path(context.sync).expanduser(), context.time())
    if context.retention:
        retention.queue(context.db, context.time())
    documents.queue(context.db, context.time())


def summarise_folded(context: JobContext, job: jobs.Job) -> Effect:
    ask, session = summariser.summariser(context)[0], ids.number("session", job.subject)
    made = digest.ask_model(context.db, session, context.max_characters, ask) if ask else None

    def effect() -> None:
        if made and not digest.save(context.db, session, made, context.time()):
            jobs.add(context.db, job.kind, job.subject, context.time())  # more was folded away meanwhile

    return effect


def update_index(context: JobContext, job: jobs.Job) -> None:
    _step_by_step(context, index.refresh_steps(context.db))
    for name in index.check(context.db):
        jobs.add(context.db, REPAIR, name, context.time())
    word_tables.merge(context.db)  # before the vectors: their server may be down
    _step_by_step(context, context.embedders.fill(context.db))


def repair_index(context: JobContext, job: jobs.Job) -> Effect | None:
    if job.subject != "vectors":
        word_tables.repair(context.db, job.subject)
        return None
    vectors.recreate(context.db)
    return lambda: jobs.add(context.db, INDEX, "all", context.time())


def finish_erasure(context: JobContext, job: jobs.Job) -> None:
    """Remove erased data from the journal. Raises StoreBusy while another process still reads it."""
    if not forget.empty_journal(context.db, context.time):
        raise StoreBusy("another process still reads data that was erased; this is tried again")


def sync_documents(context: JobContext, job: jobs.Job) -> Effect:
    tally = documents.SyncResult()
    for owner in documents.owners(context.db):
        _step_by_step(context, documents.sync(context.db, owner, context.time, tally))
    return lambda: jobs.add(context.db, INDEX, "all", context.time()) if tally.anything else None


def exchange_rows(context: JobContext, job: jobs.Job) -> Effect | None:
    if not context.sync:
        return None
    memory = MemoryContext(context.db, Scope(PERSON, ""), context.time, context.single_valued)
    exchange.run(memory, Path(context.sync).expanduser(), lambda *_: context.cancel.check())
    return lambda: jobs.add(context.db, INDEX, "all", context.time())


def _step_by_step(context: JobContext, steps: Iterable[object]) -> None:
    """Take the steps, with pauses in which other processes may write. Raises Cancelled."""
    for _ in steps:
        context.cancel.wait(_BATCH_PAUSE)


_UNREADABLE = "answer unreadable"  # kind of event


@frozen
class LearningTask:
    no_model_error: str  # the job's error while no model answers
    characters: int  # read at a time: a small model misses half of more
    column: str  # of the session, with the last message read
    reads_tools: bool  # whether the results of tools are read too
    size: Callable[[Entry], int]  # characters of a message in the prompt
    enough: Callable[[Sequence[Entry]], bool]  # whether these exchanges may hold something
    ask: Callable[[JobContext, Scope, int, Sequence[Entry], AskForJson], Effect]  # session, new; returns the proposing


def reflect(context: JobContext, job: jobs.Job) -> Effect | None:
    number, _ = _subject(context.db, job)
    read = sessions.read_position(context.db, number) if context.learns and number else None
    session = sessions.get(context.db, number, read[0].owner) if number and read else None
    if session is None or session.kind != "chat":
        return None
    rested = clock.local(session.last_at, 0) + REFLECT_DELAY
    if session.closed_at is None and context.time() < rested:
        return lambda: jobs.add(context.db, job.kind, job.subject, context.time(), rested)
    return _learn(context, job, _SKILLS)


def _learn(context: JobContext, job: jobs.Job, task: LearningTask) -> Effect | None:
    """Read new messages of a session; the effect writes the proposals. Raises AgentError."""
    db, (session, retried) = context.db, _subject(context.db, job)
    rounds = tombstones.erasure_count(db)
    position = sessions.read_position(db, session, task.column) if session else None
    if session is None or position is None:
        return None
    after = retried - 1 if retried else position[1]
    new = _exchanges(db, session, after, min(context.max_characters, task.characters), task)
    if not new:
        return None
    propose: Effect | None = None
    error = ""
    if any(entry.message.role == "user" for entry in new):  # else all of it was imported, which is not read
        if (model := context.model()) is None:
            raise ModelUnavailable(task.no_model_error)

        def ask(question: str, schema: Mapping[str, Any]) -> Iterator[str]:
            asked = [Message("user", unfenced(question))]
            return text_of(model.reply(asked, think=False, format=schema, cancel=context.cancel))

        try:
            propose = task.ask(context, position[0], session, new, ask)
        except UnreadableAnswer as unreadable:
            error = str(unreadable)

    def effect() -> None:
        if sessions.read_position(db, session, task.column) != position and not retried:
            return
        now = {entry.id: entry.message.text for entry in log.history(db, session, after=new[0].id - 1)}
        changed = any(now.get(entry.id) != entry.message.text for entry in new)
        if changed or tombstones.erasure_count(db) != rounds:
            jobs.add(db, job.kind, job.subject, context.time())
            return
        if propose:
            propose()
        sessions.set_read_position(db, session, new[-1].id, task.column)
        if error:
            session_handle = ids.handle("session", session)
            events.append(db, context.time, _UNREADABLE, session_handle, actor="program", session=session)
            jobs.park(db, job, f"{error} ({events.count(db, _UNREADABLE)} such in all)", new[0].handle)
        if not retried and _exchanges(db, session, new[-1].id, context.max_characters, task):
            jobs.add(db, job.kind, job.subject, context.time())

    return effect


def _subject(db: Database, job: jobs.Job) -> tuple[int | None, int]:
    """The session that a job reads, None when it is gone; and the message from which a parked job reads again, or 0."""
    if not job.subject.startswith(kinds.BY_NAME["message"].letter):
        return ids.number("session", job.subject), 0
    message = ids.number("message", job.subject)
    return log.session_of(db, message), message


def _exchanges(db: Database, session: int, read_to: int, characters: int, task: LearningTask) -> list[Entry]:
    """The next complete exchanges without imports: as many as fit, and more until they are enough; else none yet."""
    entries = log.history(db, session, after=read_to)
    said = [each for each in entries if log.is_spoken(each) or (task.reads_tools and each.message.role == "tool")]
    original = [entry for entry in said if not any(part.origin == "import" for part in entry.parts)]
    chosen, start, taken = list[Entry](), 0, 0
    for end, last in enumerate(original, 1):
        if last.message.role != "assistant" or last.finish is None or last.message.calls:
            continue  # the last reply of an exchange calls no tool
        exchange = original[start:end]
        taken += sum(map(task.size, exchange))
        if taken > characters and task.enough(chosen):
            break
        chosen, start = [*chosen, *exchange], end
    return chosen if task.enough(chosen) else []  # fewer would never be read again


def _ask_for_facts(context: JobContext, scope: Scope, session: int, new: Sequence[Entry], ask: AskForJson) -> Effect:
    db, others = context.db, list[str]()
    known = fact_extraction.related_facts(db, scope.owner, new, context.time())
    ask_after, found = context.ask_after(session, context.cancel), None
    if ask_after and _is_shown(db, session, new):
        with suppress(ContextExceeded):
            instruction = fact_extraction.build_prompt(new, known, shown=True)
            found = fact_extraction.extract(instruction, lambda words, schema: ask_after(words, True))
            read = {entry.id for entry in new}  # nothing of what the model sees besides may be proposed
            others = (sessions.get(db, session, scope.owner).opening or "").split("\n")
            others += [each.text for entry in new for each in recall_log.recalled_for(db, entry.id)]
            others += [each.message.text for each in log.history(db, session) if each.id not in read]
    if found is None:
        if not context.is_resting:
            raise Postponed(context.time() + REST)
        found = fact_extraction.extract(fact_extraction.build_prompt(new, known), ask)

    def propose() -> None:
        for claim in fact_extraction.claims(db, scope.owner, found, new, others):
            adoption.propose(MemoryContext(db, scope, context.time), claim)

    return propose


def _is_shown(db: Database, session: int, new: Sequence[Entry]) -> bool:
    """Whether the conversation, as the model sees it, has the new messages and nothing that is not to be learned."""
    folded = digest.rolling(db, session)
    before = folded.up_to if folded else 0
    imported = any(part.origin == "import" for each in log.history(db, session, after=before) for part in each.parts)
    unlearned = sessions.read_position(db, session, "unlearned_to")
    return new[0].id > before and unlearned is not None and unlearned[1] <= before and not imported


def _can_teach(entries: Sequence[Entry]) -> bool:
    """Whether these exchanges may hold a skill."""
    asked = sum(entry.message.role == "user" for entry in entries)
    return asked >= _LEAST_EXCHANGES or (asked > 0 and any(entry.message.calls for entry in entries))


def _ask_for_skill(context: JobContext, scope: Scope, session: int, new: Sequence[Entry], ask: AskForJson) -> Effect:
    db, owner = context.db, scope.owner
    used = skill_extraction.skills_read(db, owner, log.history(db, session))
    known = skill_extraction.related_skills(db, owner, new, context.time())
    prompt = skill_extraction.build_prompt(new, known, used)
    found = fact_extraction.ask_json(prompt, ask, skill_extraction.SCHEMA, skill_extraction.parse)

    def propose() -> None:
        if found:
            skill_extraction.propose(MemoryContext(db, scope, context.time), session, new, found, used)

    return propose


_FACTS = LearningTask(
    NO_MODEL_FOR_FACTS, 6000, "read_to", False, lambda entry: len(entry.message.text), bool, _ask_for_facts
)
_SKILLS = LearningTask(
    NO_MODEL_FOR_SKILLS, 12_000, "reflected_to", True, skill_extraction.prompt_size, _can_teach, _ask_for_skill
)

HANDLERS: Mapping[str, Callable[[JobContext, jobs.Job], Effect | None]] = {
    summaries.JOB: summariser.summarise,
    period_summaries.JOB: summariser.summarise_period,
    digest.JOB: summarise_folded,
    LEARN: lambda context, job: _learn(context, job, _FACTS) if context.learns else None,
    REFLECT: reflect,
    INDEX: update_index,
    REPAIR: repair_index,
    tombstones.JOB: finish_erasure,
    retention.JOB: lambda context, _: _step_by_step(
        context, retention.run(context.db, retention.policy(context.retention), context.time)
    ),
    documents.JOB: sync_documents,
    exchange.JOB: exchange_rows,
}

APART = (summaries.JOB, period_summaries.JOB, digest.JOB, REFLECT)
"""Kinds of jobs whose prompts begin otherwise than those of the conversation that goes on."""
