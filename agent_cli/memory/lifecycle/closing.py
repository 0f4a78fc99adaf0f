"""Closes sessions: erases their notes and writes a summary, an extract until a job has made the final one."""

from datetime import datetime, timedelta

from agent_cli import clock
from agent_cli.memory import tombstones
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.scope import Scope
from agent_cli.memory.summaries import period_summaries, summaries
from agent_cli.store import events, ids, jobs
from agent_cli.store.db import Database


def close(
    db: Database, session: int, time: clock.Clock, *, actor: str = "person", silent_since: datetime | None = None
) -> None:
    """Close a session, unless it had a message since `silent_since`, with an extract until its summary is made."""
    rounds, extract = tombstones.erasure_count(db), None
    if not summaries.of_session(db, session):  # outside of the transaction: for thousands of messages it takes a second
        extract = summaries.compose(db, session, "", summaries.EXTRACT, "")
    with db.write():
        if silent_since and session not in sessions.idle(db, silent_since):
            return
        _close(db, session, time, actor)
        if not log.count(db, session) or summaries.is_current(db, session):
            return
        is_whole = tombstones.erasure_count(db) == rounds
        if extract and extract.text and is_whole and not summaries.of_session(db, session):
            summaries.save_session(db, session, extract, time)
        jobs.add(db, summaries.JOB, ids.handle("session", session), time())


def close_with(
    db: Database, session: int, made: summaries.NewSummary | None, time: clock.Clock, rounds: int | None = None
) -> None:
    """Close a session with the summary just made, or have it made anew if the count of erasures is another by now."""
    with db.write():
        if rounds is not None and tombstones.erasure_count(db) != rounds:
            close(db, session, time)
            return
        if made:
            summaries.save_session(db, session, made, time)
        end(db, session, time, "person")


def close_silent(db: Database, time: clock.Clock, silence: timedelta) -> None:
    """Close the sessions without messages for this long, whichever process has them open; none if it is zero."""
    since = time() - silence
    for session in sessions.idle(db, since) if silence else ():
        close(db, session, time, actor="program", silent_since=since)


def close_abandoned(db: Database, time: clock.Clock) -> None:
    """Close the sessions that killed processes left open, as these would have done."""
    for session, kind, scope in sessions.abandoned(db):
        recover(db, session, scope, time)
        if kind in sessions.ONE_SHOTS:
            end(db, session, time)
        else:
            close(db, session, time, actor="program")


def recover(db: Database, session: int, scope: Scope, time: clock.Clock) -> str:
    """Repair a session that no process has open; returns the first message whose replacement was never answered."""
    log.repair(db, session, scope, time())
    unanswered = log.unanswered_replacement(db, session)
    if unanswered is None:
        return ""
    from agent_cli.memory.lifecycle import rewind  # all that is made from messages, for what hardly ever happens

    return rewind.give_back(db, session, scope, unanswered, time)


def _close(db: Database, session: int, time: clock.Clock, actor: str) -> None:
    sessions.change(db, session, closed_at=clock.utc(time()), holder=None)
    log.erase_notes(db, session)
    if jobs.is_pending(db, "reflect", ids.handle("session", session)):  # it need not wait for more
        jobs.add(db, "reflect", ids.handle("session", session), time())
    events.append(db, time, "session closed", ids.handle("session", session), actor=actor, session=session)


def end(db: Database, session: int, time: clock.Clock, actor: str = "program") -> None:
    """Close a session that has its summary, or a one-shot, which gets none of its own."""
    with db.write():
        _close(db, session, time, actor)
        period_summaries.queue_session(db, session, time())
