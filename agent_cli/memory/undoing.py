"""Taking back what was said: from a message of the person on, it stays in the log and counts no more.

It is shown, sent, found, summarised and learned from by nobody any longer; only what forgets and what counts tokens
still knows it. What was made from it goes, to be made anew without it. A fact that was accepted stays: the person's yes
stands for itself.
"""

import json
from collections.abc import Sequence
from datetime import datetime

from agent_cli import clock
from agent_cli.memory import facts, grains, index, jottings, log, periods, rolling, sessions, skills, summaries, upward
from agent_cli.memory.facts import EXPIRED, Fact
from agent_cli.memory.summaries import Source
from agent_cli.store import events, ids
from agent_cli.store.db import Database


def take_back(db: Database, session: int, owner: str, since: int, time: clock.Clock) -> list[int]:
    """Take back a message of a session and all that came after it; returns their numbers.

    Only for a session that no other process has open.
    """
    with db.write():
        said = db.value("select at from said where id = ? and session_id = ?", (since, session))
        if said is None:
            return []
        gone = log.take_back(db, session, since, time())
        index.erase_many(db, "m", gone)
        jottings.erase_since(db, session, said)
        folded = rolling.of(db, session)
        if folded and folded.up_to >= since:
            rolling.erase(db, [session])
        _summarise_anew(db, session, owner, said, time())
        sessions.drop_openings(db, sessions.opened_with(db, [session]))
        _withdraw(db, owner, gone, time)
        # A skill is learned from a session at large: what was proposed since may be from there.
        skills.withdraw(db, [each for each in skills.pending(db, owner, session) if each.at >= said], time)
        events.append(db, time, "taken back", ids.handle("message", since), actor="person", session=session)
    return gone


def staying(db: Database, owner: str, gone: Sequence[int]) -> list[Fact]:
    """The accepted facts that were learned from these messages."""
    found = db.rows(
        "select f.id from json_each(?) c cross join fact f on f.message_id = c.value order by f.id", (json.dumps(gone),)
    )
    return [fact for fact in facts.many(db, [id for (id,) in found], owner) if fact.current]


def _summarise_anew(db: Database, session: int, owner: str, said: str, now: datetime) -> None:
    """Drop the summaries that may tell of it, and have those of periods made again; its session's is when it closes.

    Sentences stay that come from what retention has taken: nothing else says them any more.
    """
    own = summaries.of(db, session)
    linked = [summaries.get(db, id, owner) for id in upward.linked(db, [Source("session", session)])]
    found = [each for each in (own, *linked) if each and each.at >= said]
    for key in upward.keys(db, [each.id for each in found]):
        grains.queue(db, owner, periods.parse(key), now)
    kept = {each.id: summaries.outlived(db, each) for each in found}
    erased = [id for id, sentences in kept.items() if not sentences]
    for id, sentences in kept.items():
        if sentences:
            summaries.shorten(db, id, sentences)
    summaries.drop_sources(db, [Source("summary", id) for id in erased])
    summaries.erase(db, erased)


def _withdraw(db: Database, owner: str, gone: Sequence[int], time: clock.Clock) -> None:
    """Let go of proposals that were learned from these messages and from no other."""
    found = db.rows(
        """select f.id from json_each(?) c cross join fact f on f.message_id = c.value
           where f.state = 'pending' and not exists (
                 select 1 from fact_source o join said m on m.id = o.message_id where o.fact_id = f.id)""",
        (json.dumps(gone),),
    )
    batch = ids.new(time())
    for fact in facts.many(db, [id for (id,) in found], owner):
        facts.change(
            db, fact, "withdrawn", time, actor="program", batch=batch, state=EXPIRED, decided_at=clock.utc(time())
        )
