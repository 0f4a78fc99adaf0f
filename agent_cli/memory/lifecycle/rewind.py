"""Takes back a message and all later ones of its session: they stay in the log, but only forgetting and token counts
still include them. Summaries and proposals made from them are dropped. Accepted facts stay.

A message may replace those taken back. Only its answer makes that final: when the model fails or the program is killed,
`closing.recover` restores them.
"""

from collections.abc import Sequence
from datetime import datetime

from agent_cli import clock
from agent_cli.memory.conversations import digest, log, sessions
from agent_cli.memory.dates import periods
from agent_cli.memory.facts import facts
from agent_cli.memory.planner import tasks
from agent_cli.memory.proposals import EXPIRED, PENDING, MemoryContext
from agent_cli.memory.scope import Scope
from agent_cli.memory.search import index
from agent_cli.memory.skills import skills
from agent_cli.memory.skills.skills import SKILLS
from agent_cli.memory.summaries import period_summaries, summaries
from agent_cli.memory.summaries.summaries import Source
from agent_cli.messages import Part
from agent_cli.store import events, ids
from agent_cli.store.db import Database

_WITHDRAWN = "withdrawn"


def take_back(
    db: Database, session: int, owner: str, first: int, time: clock.Clock, by: int | None = None, actor: str = "person"
) -> list[int]:
    """Take back a message of a session and all later ones, which `by` replaces; returns their ids."""
    with db.write():
        said_at = db.value("select at from said where id = ? and session_id = ?", (first, session))
        if said_at is None:
            return []
        now = time()
        undone = log.undo_from(db, session, first, now, by)
        _hide_reminders(db, owner, undone, now)
        index.erase(db, "m", undone)
        rolling = digest.rolling(db, session)
        if rolling and rolling.up_to >= first:
            digest.erase(db, [session])
        changed = _rebuild_summaries(db, session, owner, said_at, time())
        stale = [ids.handle("session", session), *(ids.handle("summary", each) for each in changed)]
        sessions.drop_openings(db, sessions.opened_with(db, stale))
        memory = MemoryContext(db, Scope(owner, ""), time)
        _withdraw_proposals(memory, undone)
        # A skill is learned from a whole session, so what was proposed since may come from these messages.
        SKILLS.expire(memory, [each for each in skills.pending(db, owner, session=session) if each.at >= said_at])
        events.append(db, time, "taken back", ids.handle("message", first), actor=actor, session=session)
    return undone


def replace(db: Database, session: int, scope: Scope, parts: Sequence[Part], first: int, time: clock.Clock) -> int:
    """Log a message that replaces another and all later ones; returns its id."""
    with db.write():  # both or neither
        message = log.add_user_message(db, session, scope, parts, time())
        take_back(db, session, scope.owner, first, time, message)
    return message


def give_back(db: Database, session: int, scope: Scope, unanswered: int, time: clock.Clock) -> str:
    """Restore the messages whose replacement was never answered; returns the handle of the first."""
    with db.write():
        to_restore = hidden_tasks(db, scope.owner, replaced_messages(db, session))
        restored = log.redo_replaced(db, session, unanswered)
        for each in to_restore:
            tasks.restore(db, each, time, actor="program")
        take_back(db, session, scope.owner, unanswered, time, actor="program")
        _propose_again(MemoryContext(db, scope, time), restored)
        first = ids.handle("message", restored[0])
        events.append(db, time, "given back", first, actor="program", session=session)
    return first


def accepted_facts(db: Database, owner: str, messages: Sequence[int]) -> list[facts.Fact]:
    return [fact for fact in _learned_from(db, owner, messages, "f.state = 'accepted'") if fact.is_accepted]


def _learned_from(db: Database, owner: str, messages: Sequence[int], where: str) -> list[facts.Fact]:
    """The facts f learned from these messages for which a condition in SQL holds."""
    query = "select f.id from json_each(?) c cross join fact f on f.message_id = c.value where {} order by f.id"
    return facts.many(db, db.column(query.format(where), (messages,)), owner)


def _hide_reminders(db: Database, owner: str, messages: Sequence[int], now: datetime) -> None:
    """Hide the tasks made in these messages, at exactly the time when they are taken back (see hidden_tasks)."""
    for id in db.column(
        """select t.id from json_each(?) c join task t on t.message_id = c.value
           where t.state = 'open' and t.hidden_at is null""",
        (messages,),
    ):
        tasks.hide(db, tasks.get(db, id, owner), lambda: now, actor="program")


def replaced_messages(db: Database, session: int) -> list[int]:
    """The messages that the person's last message in a session replaced."""
    last = "(select max(id) from said where session_id = ?1 and role = 'user')"
    return db.column(f"select id from message where session_id = ?1 and undone_by = {last}", (session,))


def hidden_tasks(db: Database, owner: str, messages: Sequence[int]) -> list[tasks.Task]:
    """The tasks hidden together with these messages."""
    query = """select t.id from json_each(?) c join message m on m.id = c.value
                 join task t on t.message_id = m.id and t.hidden_at = m.undone_at order by t.id"""
    return [tasks.get(db, id, owner) for id in db.column(query, (messages,))]


def format_hidden(task: tasks.Task) -> str:
    return f"{task.handle} “{task.name}” is hidden with it (/tasks restore {task.handle})"


def _rebuild_summaries(db: Database, session: int, owner: str, said_at: str, now: datetime) -> list[int]:
    """Drop the summaries made since `said_at` but for sentences that cannot be made again; returns the ids of all."""
    own_summary = summaries.of_session(db, session)
    linked = [summaries.get(db, id, owner) for id in period_summaries.derived_from(db, [Source("session", session)])]
    found = [each for each in (own_summary, *linked) if each and each.at >= said_at]
    for key in period_summaries.period_keys(db, [each.id for each in found]):
        period_summaries.queue(db, owner, periods.parse(key), now)
    remaining = {each.id: summaries.orphaned_sentences(db, each) for each in found}
    erased = [id for id, sentences in remaining.items() if not sentences]
    for id, sentences in remaining.items():
        if sentences:
            summaries.shorten(db, id, sentences)
    summaries.drop_sources(db, [Source("summary", id) for id in erased])
    summaries.erase(db, erased)
    return list(remaining)


def _withdraw_proposals(memory: MemoryContext, messages: Sequence[int]) -> None:
    """Withdraw the proposed facts that were learned from these messages alone."""
    alone = """f.state = 'pending' and not exists (
               select 1 from fact_source o join said m on m.id = o.message_id where o.fact_id = f.id)"""
    memory = memory.in_one_batch()
    for fact in _learned_from(memory.db, memory.scope.owner, messages, alone):
        facts.change(memory, fact, _WITHDRAWN, actor="program", state=EXPIRED, decided_at=clock.utc(memory.time()))


def _propose_again(memory: MemoryContext, messages: Sequence[int]) -> None:
    """Propose again the facts that were withdrawn with these messages."""
    memory = memory.in_one_batch()
    for fact in _learned_from(memory.db, memory.scope.owner, messages, f"f.state = '{EXPIRED}'"):
        if facts.history(memory.db, fact.id)[-1].change == _WITHDRAWN:
            facts.change(memory, fact, "proposed again", actor="program", state=PENDING, decided_at=None)
