"""A file of daily conversations with all their summaries, made at the midnights at which they would have been."""

from datetime import datetime, time, timedelta, timezone

from agent_cli import clock
from agent_cli.memory.conversations import sessions
from agent_cli.memory.dates import periods
from agent_cli.memory.summaries import summaries
from agent_cli.memory.summaries.summaries import NewSummary, Source
from tests.conftest import HERE
from tests.recalling import reply, say

ZONE = timezone(timedelta(hours=1))


def at(day, hour, minute=0):
    return datetime.combine(day, time(hour, minute), ZONE)


def live(db, first, now):
    """A conversation at ten each day from the first on, a question on Sundays, and every summary that is due by now."""
    made = {}
    with db.write():
        day = first
        while at(day, 10) < now:
            told = [chat(db, day)] + ([ask(db, day)] if day.weekday() == 6 else [])
            day += timedelta(days=1)
            if at(day, 0) <= now:
                dream(db, day, told, made)
    return made


def chat(db, day, words="My {day} begins with 7 km on foot.", hour=10, summary=True):
    """A conversation of two messages, closed and summarised an hour later."""
    session = _said(db, day, words, hour, "chat")
    sessions.change(db, session, closed_at=clock.utc(at(day, hour + 1)), holder=None)
    if summary:
        last = db.value("select max(id) from message")
        sources = (Source("message", last - 1),), (Source("message", last),)
        told = NewSummary(f"Of {day} in s{session}. It was agreed.", f"{day}", "model", "m", sources)
        summaries.save_session(db, session, told, lambda: at(day, hour + 1))
    return session


def ask(db, day, hour=15):
    session = _said(db, day, "How far is it on {day}?", hour, "ask")
    sessions.change(db, session, closed_at=clock.utc(at(day, hour)), holder=None)
    return session


def _said(db, day, words, hour, kind):
    session = sessions.start(db, HERE, at(day, hour), kind)
    say(db, session, words.format(day=day), at(day, hour))
    reply(db, session, f"Noted for {day}.", at(day, hour, 1))
    return session


def dream(db, midnight, told, made):
    """Make what is over at a midnight: the day with these sessions, and what is coarser."""
    last = midnight - timedelta(days=1)
    for grain in periods.UNITS:
        period = periods.containing(last, grain)
        if period.end == midnight:
            finer = [made[each.key] for each in periods.parts(period) if each.key in made]
            whole = (
                [Source("session", id) for id in told] if grain == "day" else [Source("summary", id) for id in finer]
            )
            made[period.key] = keep(db, period, whole, at(midnight, 0, 5))


def keep(db, period, whole, moment):
    told = NewSummary(f"In {period.key} much happened.", period.key, "model", "m", (tuple(whole),), tuple(whole))
    end = at(period.end, 0) - timedelta(seconds=1)
    return summaries.save_period(db, HERE.owner, period, told, end.isoformat(), lambda: moment)
