"""How a session ends: its jottings are erased and a summary is written, extracted until a job has run."""

from datetime import timedelta

from agent_cli import clock
from agent_cli.memory import tombstones
from agent_cli.memory.conversations import log, session_notes, sessions
from agent_cli.memory.lifecycle import rewind
from agent_cli.memory.search import index_check
from agent_cli.memory.summaries import period_summaries, session_summary, summaries
from agent_cli.memory.summaries.summaries import NewSummary
from agent_cli.store import events, ids, jobs
from agent_cli.store.db import Database


def close(db: Database, session: int, time: clock.Clock, *, actor: str = "person") -> None:
    """Close it now and leave the summary to a job; until then an extract stands for it: the next session may begin now.

    One in which nothing was said gets none.
    """
    rounds, extract = tombstones.rounds(db), _extract(db, session)
    with db.write():
        _end(db, session, time, actor, extract if tombstones.rounds(db) == rounds else None)


def close_with(
    db: Database, session: int, made: NewSummary | None, time: clock.Clock, rounds: int | None = None
) -> None:
    """Close it with the summary that has just been made.

    `rounds`: forgotten.rounds before that. When something was erased meanwhile, the summary is left to a job.
    """
    with db.write():
        if rounds is not None and tombstones.rounds(db) != rounds:
            close(db, session, time)
            return
        _close(db, session, time, "person")
        if made:
            summaries.save_session(db, session, made, time)
        period_summaries.queue_session(db, session, time())


def close_silent(db: Database, time: clock.Clock, silence: timedelta) -> None:
    """Close the conversations in which nothing was said for so long, whoever has them open. No silence: none."""
    if not silence:
        return
    since = time() - silence
    for session in sessions.idle(db, since):
        rounds, extract = tombstones.rounds(db), _extract(db, session)  # of thousands of messages it takes a second
        with db.write():
            if session in sessions.idle(db, since):  # another process may have noticed first
                _end(db, session, time, "program", extract if tombstones.rounds(db) == rounds else None)


def sweep(db: Database, time: clock.Clock) -> None:
    """Close what processes that were killed left open, as they would have done."""
    for session, kind, scope in sessions.abandoned(db):
        index_check.request_check(db)
        rewind.heal(db, session, scope, time)
        if kind == "trial":
            rewind.take_back_all(db, session, scope.owner, time)
        if kind in sessions.ONE_SHOTS:
            end_one_shot(db, session, time)
        else:
            close(db, session, time, actor="program")


def _extract(db: Database, session: int) -> NewSummary | None:
    """What stands for its first summary."""
    return (
        None if summaries.of_session(db, session) else session_summary.compose(db, session, "", summaries.EXTRACT, "")
    )


def _end(db: Database, session: int, time: clock.Clock, actor: str, extract: NewSummary | None) -> None:
    _close(db, session, time, actor)
    if not log.count(db, session) or summaries.is_current(db, session):
        return
    if extract and extract.text and not summaries.of_session(db, session):
        summaries.save_session(db, session, extract, time)
    jobs.add(db, session_summary.JOB, ids.handle("session", session), time())


def _close(db: Database, session: int, time: clock.Clock, actor: str) -> None:
    sessions.mark_closed(db, session, time())
    session_notes.erase(db, session)
    events.append(db, time, "session closed", ids.handle("session", session), actor=actor, session=session)


def end_one_shot(db: Database, session: int, time: clock.Clock) -> None:
    """A one-shot is over when it is answered; it gets no summary of its own."""
    with db.write():
        _close(db, session, time, "program")
        period_summaries.queue_session(db, session, time())
