"""Data migrations. Each has a name, runs once per file, and is recorded in it.

A step runs inside the transaction that creates new tables and columns, before indexes and triggers are created, so it
sees both the old rows and the new columns. In a new file the steps are only recorded.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta

from agent_cli import clock
from agent_cli.store import events, jobs
from agent_cli.store.db import Database

Steps = Mapping[str, Callable[[Database], None]]


def queue_indexing(db: Database) -> None:
    """Queue for indexing all rows that were written before there was an index."""
    db.execute(
        """insert or ignore into stale (kind, row) select 'm', id from message
           where finish is not null and role in ('user', 'assistant') and text <> ''"""
    )
    db.execute("insert or ignore into stale (kind, row) select 'n', id from note")
    db.execute("insert or ignore into stale (kind, row) select 'y', id from summary")


def set_fact_trust(db: Database) -> None:
    """Facts older than the column `trust` get the trust of their origin."""
    db.execute("update fact set trust = origin where trust = ''")


def requeue_secrets(db: Database) -> None:
    """Queue rows that may hold a secret, to be indexed without it, and facts, to be indexed with their query words."""
    long = f"*{'[^ ]' * 16}*"
    for kind, table in (("m", "message"), ("n", "note"), ("y", "summary")):
        db.execute(
            f"""insert or ignore into stale (kind, row) select ?1, t.id from {table} t
                where exists (select 1 from passage where kind = ?1 and row = t.id)
                  and (text glob ?2 or text glob '*[0-9][0-9][0-9]*' or text like '%pass%' or text like '%kennwort%'
                       or text like '%pwd%' or text like '%secret%' or text like '%token%' or text like '%key%'
                       or text like '%phrase%')""",
            (kind, long),
        )
    db.execute("insert or ignore into stale (kind, row) select 'f', id from fact where state = 'accepted'")


def queue_days(db: Database) -> None:
    """Queue summaries of the days with messages that are older than such summaries, the latest day first."""
    now = clock.now()
    for (day,) in db.rows(
        """select distinct date(m.at, m.utc_offset || ' minutes') from message m join session s on s.id = m.session_id
           where s.owner = 'person' and s.source is null and m.role in ('user', 'assistant') and m.text <> ''
             and date(m.at) is not null and m.at >= '0002' and m.at < '9999'
           order by 1 desc"""
    ):
        end = datetime.combine(date.fromisoformat(day) + timedelta(days=1), time(), now.tzinfo)
        jobs.add(db, "grain", day, now, end)


def clamp_future_sessions(db: Database) -> None:
    """Give sessions that an import dated in the future the latest time of the sessions before them."""
    db.execute(
        """update session as s set last_at = coalesce((select max(b.last_at) from session b
             where b.id < s.id and b.last_at <= ?1), ?1), closed_at = min(closed_at, ?1) where last_at > ?1""",
        (clock.utc(clock.now()),),
    )


def keep_default_model(db: Database) -> None:
    """The model that answered last was the default; from now on it is remembered by itself."""
    db.execute(
        """insert or ignore into meta
           select 'default model', m.model from message m join session s on s.id = m.session_id
           where m.owner = 'person' and s.source is null and m.model not in ('', 'offline', 'scripted')
           order by m.id desc limit 1"""
    )


def copy_long_messages(db: Database) -> None:
    """Give the passages of long messages a copy of their text, as `passages.cut` does: to cut one takes too long."""
    for (id,) in db.rows(
        """select id from message m where octet_length(text) > 100000
             and exists (select 1 from passage where kind = 'm' and row = m.id)
             and not exists (select 1 from stale where kind = 'm' and row = m.id)"""
    ):
        text = str(db.value("select text from message where id = ?", (id,)))
        pieces = db.rows("select id, start, length from passage where kind = 'm' and row = ? and masked is null", (id,))
        db.execute_many(
            "update passage set text = ? where id = ?",
            [(text[start : start + length], passage) for passage, start, length in pieces],
        )


def join_fact_ends(db: Database) -> None:
    """Facts have one end: what was the date of expiry of an accepted fact or a proposal."""
    if not db.value("select 1 from pragma_table_info('fact') where name = 'expires_at'"):
        return
    db.execute("update fact set valid_to = expires_at where valid_to is null and expires_at is not null")
    db.execute("update fact set state = 'superseded' where state = 'expired' and valid_to = expires_at")
    db.execute(
        """update fact_version set was = json_set(was, '$.valid_to', was ->> 'expires_at')
           where was ->> 'expires_at' is not null and was ->> 'valid_to' is null"""
    )
    db.execute("drop index if exists fact_expires")
    db.execute("alter table fact drop column expires_at")


def chain_events(db: Database) -> None:
    """Append an event whose link holds all that was logged before there were links."""
    if events.latest_number(db):
        events.append(db, clock.now, "log chained", "", actor="program")


STEPS: Steps = {
    "index all": queue_indexing,
    "trust facts": set_fact_trust,
    "without secrets": requeue_secrets,
    "queue days": queue_days,
    "end future": clamp_future_sessions,
    "default model": keep_default_model,
    "copy long": copy_long_messages,
    "one end": join_fact_ends,
    "chain events": chain_events,
}


def pending(db: Database, steps: Steps) -> list[str]:
    """The names of the steps that have not run in this file, in order."""
    done = {name for (name,) in db.rows("select name from migration")}
    return [name for name in steps if name not in done]


def run(db: Database, now: datetime, steps: Steps, *, fresh: bool) -> None:
    """Run the pending steps; only record them in a `fresh` file. Call it inside a transaction."""
    for name in pending(db, steps):
        if not fresh:
            steps[name](db)
        db.execute("insert into migration values (?, ?)", (name, clock.utc(now)))
