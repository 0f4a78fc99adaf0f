"""Taking back what was said: from a message of the person on, it stays in the log and counts no more.

It is shown, sent, found, summarised and learned from by nobody any longer; only what forgets and what counts tokens
still knows it. What was made from it goes, to be made anew without it. A fact that was accepted stays: the person's yes
stands for itself. A reminder that a model made is hidden, or what is asked anew would be reminded of twice.

What is asked anew takes the place of what was asked before, and only an answer makes that final: where none comes, be
it that the model fails or the program is killed, `heal` has what was there stand again.
"""

from collections.abc import Sequence
from datetime import datetime

from agent_cli import clock
from agent_cli.memory import versions
from agent_cli.memory.conversations import log, rolling_summary, sessions
from agent_cli.memory.dates import periods
from agent_cli.memory.facts import facts
from agent_cli.memory.facts.facts import EXPIRED, PENDING, Fact
from agent_cli.memory.planner import tasks
from agent_cli.memory.planner.tasks import Task
from agent_cli.memory.scope import Scope
from agent_cli.memory.search import index
from agent_cli.memory.skills import skill_adoption, skills
from agent_cli.memory.summaries import lineage, period_summaries, summaries
from agent_cli.memory.summaries.summaries import Source
from agent_cli.messages import Part
from agent_cli.store import events, ids
from agent_cli.store.db import Database

_WITHDRAWN = "withdrawn"


def take_back(
    db: Database, session: int, owner: str, since: int, time: clock.Clock, by: int | None = None, actor: str = "person"
) -> list[int]:
    """Take back a message of a session and all that came after it; returns their numbers.

    `by`: what was said in their place, which stays. Only for a session that no other process has open.
    """
    with db.write():
        said = db.value("select at from said where id = ? and session_id = ?", (since, session))
        if said is None:
            return []
        now = time()
        undone = log.undo_from(db, session, since, now, by)
        _hide_reminders(db, owner, undone, now)
        index.erase_many(db, "m", undone)
        rolling = rolling_summary.get(db, session)
        if rolling and rolling.up_to >= since:
            rolling_summary.erase(db, [session])
        _rebuild_summaries(db, session, owner, said, time())
        sessions.drop_openings(db, sessions.opened_with(db, [session]))
        _withdraw_proposals(db, owner, undone, time)
        # A skill is learned from a session at large: what was proposed since may be from there.
        skill_adoption.withdraw(db, [each for each in skills.pending(db, owner, session) if each.at >= said], time)
        events.append(db, time, "taken back", ids.handle("message", since), actor=actor, session=session)
    return undone


def take_back_all(db: Database, session: int, owner: str, time: clock.Clock) -> None:
    """Take back whatever was said in a session that was to count for nothing."""
    if first := db.value("select min(id) from said where session_id = ?", (session,)):
        take_back(db, session, owner, first, time, actor="program")


def replace(db: Database, session: int, scope: Scope, parts: Sequence[Part], since: int, time: clock.Clock) -> int:
    """Log what the person says in place of a message and all after it; returns its number."""
    with db.write():  # no moment in which the old is taken back and the new is not there
        message = log.add_user_message(db, session, scope, parts, time())
        take_back(db, session, scope.owner, since, time, message)
    return message


def recover(db: Database, session: int, scope: Scope, time: clock.Clock) -> str:
    """Make a session fit to go on: what a crash or an error cut is closed, and what was replaced in vain stands again.

    Returns the handle of the message from which on it does, mostly none. Only for a session that no other process has
    open.
    """
    log.repair(db, session, scope, time())
    unanswered = log.unanswered_replacement(db, session)
    if unanswered is None:
        return ""
    with db.write():
        to_restore = [each for each in hidden_tasks(db, scope.owner, replaced_messages(db, session)) if each.origin == "model"]
        restored = log.redo_replaced(db, session, unanswered)
        for each in to_restore:
            tasks.restore(db, each, time, actor="program")
        take_back(db, session, scope.owner, unanswered, time, actor="program")
        _propose_again(db, scope.owner, restored, time)
        first = ids.handle("message", restored[0])
        events.append(db, time, "given back", first, actor="program", session=session)
    return first


def accepted_facts(db: Database, owner: str, messages: Sequence[int]) -> list[Fact]:
    """The accepted facts that were learned from these messages."""
    found = db.rows(
        "select f.id from json_each(?) c cross join fact f on f.message_id = c.value order by f.id", (messages,)
    )
    return [fact for fact in facts.many(db, [id for (id,) in found], owner) if fact.current]


def _hide_reminders(db: Database, owner: str, messages: Sequence[int], now: datetime) -> None:
    """Hide what a model made when these messages asked for it.

    At the very moment at which they are taken back: by that it is told apart from what the person has hidden.
    """
    rows = db.rows(
        """select t.id from json_each(?) c join task t on t.message_id = c.value
           where t.origin = 'model' and t.state = 'open' and t.hidden_at is null""",
        (messages,),
    )
    for (id,) in rows:
        tasks.hide(db, tasks.get(db, id, owner), lambda: now, actor="program")


def replaced_messages(db: Database, session: int) -> list[int]:
    """The messages in whose place the person's last one in a session was said."""
    last = "(select max(id) from said where session_id = ?1 and role = 'user')"
    return [id for (id,) in db.rows(f"select id from message where session_id = ?1 and undone_by = {last}", (session,))]


def hidden_tasks(db: Database, owner: str, messages: Sequence[int]) -> list[Task]:
    """The tasks that were hidden with these messages."""
    found = db.rows(
        """select t.id from json_each(?) c join message m on m.id = c.value
             join task t on t.message_id = m.id and t.hidden_at = m.undone_at order by t.id""",
        (messages,),
    )
    return [tasks.get(db, id, owner) for (id,) in found]


def format_hidden(task: Task) -> str:
    """What is said of one that was hidden."""
    return f"{task.handle} “{task.name}” is hidden with it (/tasks restore {task.handle})"


def _rebuild_summaries(db: Database, session: int, owner: str, said: str, now: datetime) -> None:
    """Drop the summaries that may tell of it, and have those of periods made again; its session's is when it closes.

    Sentences stay that come from what retention has taken: nothing else says them any more.
    """
    own_summary = summaries.of_session(db, session)
    linked = [summaries.get(db, id, owner) for id in lineage.derived_from(db, [Source("session", session)])]
    found = [each for each in (own_summary, *linked) if each and each.at >= said]
    for key in lineage.period_keys(db, [each.id for each in found]):
        period_summaries.queue(db, owner, periods.parse(key), now)
    remaining = {each.id: summaries.orphaned_sentences(db, each) for each in found}
    erased = [id for id, sentences in remaining.items() if not sentences]
    for id, sentences in remaining.items():
        if sentences:
            summaries.shorten(db, id, sentences)
    summaries.drop_sources(db, [Source("summary", id) for id in erased])
    summaries.erase(db, erased)


def _withdraw_proposals(db: Database, owner: str, messages: Sequence[int], time: clock.Clock) -> None:
    """Let go of proposals that were learned from these messages and from no other."""
    found = db.rows(
        """select f.id from json_each(?) c cross join fact f on f.message_id = c.value
           where f.state = 'pending' and not exists (
                 select 1 from fact_source o join said m on m.id = o.message_id where o.fact_id = f.id)""",
        (messages,),
    )
    batch = ids.new(time())
    for fact in facts.many(db, [id for (id,) in found], owner):
        facts.change(
            db, fact, _WITHDRAWN, time, actor="program", batch=batch, state=EXPIRED, decided_at=clock.utc(time())
        )


def _propose_again(db: Database, owner: str, messages: Sequence[int], time: clock.Clock) -> None:
    """Have proposals wait again that were let go of with these messages."""
    found = db.rows(
        "select f.id from json_each(?) c cross join fact f on f.message_id = c.value where f.state = ? order by f.id",
        (messages, EXPIRED),
    )
    batch = ids.new(time())
    for fact in facts.many(db, [id for (id,) in found], owner):
        if versions.history(db, "fact", fact.id)[-1].change == _WITHDRAWN:
            facts.change(db, fact, "proposed again", time, actor="program", batch=batch, state=PENDING, decided_at=None)
