"""The sources of the summary of a period.

For a day: its conversations (the summary of one wholly on that day, else the messages of the day), single questions,
and facts learned. For longer periods: the summaries of their parts that exist, and nothing else.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta

from agent_cli import clock
from agent_cli.memory.conversations import digest, log
from agent_cli.memory.dates import periods
from agent_cli.memory.dates.periods import Period
from agent_cli.memory.language import keywords
from agent_cli.memory.summaries import summaries
from agent_cli.memory.summaries.summaries import Source
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

_DETAILS = 300  # characters, of one conversation
_FACTS = 50  # of one day, the newest; more came from a file
_DAY = timedelta(days=1)
_ONE_SHOTS = {"ask": "single questions", "schedule": "what a schedule ran"}

_HAS_WORDS = """m.role in ('user', 'assistant') and m.model <> 'offline' and m.text <> '' and m.finish is not null
    and date(m.at) is not null and m.at >= '0002' and m.at < '9999'"""  # years with a day before and after
_SAYS = f"{_HAS_WORDS} and m.undone_at is null"
_ON = "date(m.at, m.utc_offset || ' minutes')"  # local day of the message


@frozen
class Item:
    """One source of a summary."""

    source: Source
    title: str  # its heading for the model
    text: str
    details: str
    at: str  # when it last changed
    last_at: str  # the last moment it covers
    spoken: bool = False  # whether its lines begin with their speaker

    @property
    def words(self) -> str:
        """Its text without the speakers."""
        return "\n".join(line.partition(": ")[2] for line in self.text.splitlines()) if self.spoken else self.text


def collect(db: Database, owner: str, period: Period, characters: int) -> list[Item]:
    """The present sources of a period in order, each conversation at most so many characters."""
    if period.unit != "day":
        found = [summaries.of_period(db, owner, each.key) for each in periods.parts(period)]
        return [_summary(each, each.period, each.started_at) for each in found if each]
    by_kind = _sessions(db, owner, period.first, characters)
    chats = [item for kind, item in by_kind if kind == "chat"]
    one_shots = [item for kind, item in by_kind if kind != "chat"]
    return [*chats, *_without_messages(db, owner, period.first), *one_shots, *_facts(db, owner, period.first)]


def days(db: Database, owner: str, first: date, end: date) -> list[date]:
    """The days from `first` up to `end` (exclusive) with messages that are not hidden."""
    rows = db.rows(
        f"""select distinct {_ON} from message m cross join session s on s.id = m.session_id
            where m.uid >= ? and m.uid < ? and s.owner = ? and s.hidden_at is null and {_SAYS} order by 1""",
        (*_between(first, end), owner),
    )
    return [day for (day_text,) in rows if first <= (day := date.fromisoformat(day_text)) < end]


def days_of_session(db: Database, session: int, *, undone: bool = False) -> list[tuple[str, date]]:
    """(owner, day) of each day with messages in a session. `undone`: count undone messages too."""
    rows = db.rows(
        f"""select distinct s.owner, {_ON} from message m join session s on s.id = m.session_id
            where m.session_id = ? and {_HAS_WORDS if undone else _SAYS} order by 2""",
        (session,),
    )
    return [(owner, date.fromisoformat(day)) for owner, day in rows]


def expired_sessions(db: Database, period: Period, sources: Sequence[Source]) -> set[Source]:
    """The sessions among these whose messages of that day were removed by retention, not hidden."""
    sessions = {each.row for each in sources if each.kind == "session"}
    hidden = {id for id in sessions if db.value("select 1 from session where id = ? and hidden_at is not null", (id,))}
    left = {
        id for id in sessions - hidden if any(day == period.first for _, day in days_of_session(db, id, undone=True))
    }
    return {Source("session", id) for id in sessions - hidden - left}


def _sessions(db: Database, owner: str, day: date, characters: int) -> list[tuple[str, Item]]:
    """(kind of session, its messages of that day), in the order in which they began."""
    rows = db.rows(
        f"""select m.session_id, s.kind, min(m.id), max(m.at), count(*), min(m.at), m.utc_offset
            from message m cross join session s on s.id = m.session_id
            where m.uid >= ? and m.uid < ? and s.owner = ? and s.hidden_at is null and {_SAYS} and {_ON} = ?
            group by m.session_id order by min(m.at), m.session_id""",
        (*_between(day, day + _DAY), owner, day.isoformat()),
    )
    return [(row[1], _session(db, day, row, characters)) for row in rows]


def _session(db: Database, day: date, row: tuple[int, str, int, str, int, str, int], characters: int) -> Item:
    session, kind, first, last_at, count, began, offset = row
    title = _ONE_SHOTS.get(kind) or f"{clock.local(began, offset):%H:%M}, a conversation"
    summary = summaries.of_session(db, session) if kind == "chat" else None
    whole = db.value(f"select count(*) from message m where m.session_id = ? and {_SAYS}", (session,)) == count
    if summary and whole and summary.at >= last_at:
        return Item(Source("session", session), title, summary.text, summary.details, summary.at, last_at)
    entries = [
        entry
        for entry in log.history(db, session, after=first - 1)
        if log.is_spoken(entry) and entry.finish and periods.day_of(entry.at, entry.utc_offset) == day
    ]
    extracted = keywords.newest_details((entry.message.text for entry in entries), _DETAILS)
    lines = digest.transcript(entries, characters)
    return Item(Source("session", session), title, lines, extracted, last_at, last_at, spoken=True)


def _without_messages(db: Database, owner: str, day: date) -> list[Item]:
    """The summaries of conversations whose messages were removed by retention."""
    start, end = (clock.utc(_midnight(each)) for each in (day - _DAY, day + 2 * _DAY))
    rows = db.rows(
        """select s.id, s.last_at from session s
           where s.owner = ? and s.last_at >= ? and s.last_at < ? and s.hidden_at is null
             and date(s.last_at, s.utc_offset || ' minutes') = ?
             and not exists (select 1 from message where session_id = s.id) order by s.started_at, s.id""",
        (owner, start, end, day.isoformat()),
    )
    found = [(id, last_at, summaries.of_session(db, id)) for id, last_at in rows]
    return [
        Item(Source("session", id), "a conversation", each.text, each.details, each.at, last_at)
        for id, last_at, each in found
        if each
    ]


def _facts(db: Database, owner: str, day: date) -> list[Item]:
    """The facts learned that day that were true afterwards and have not been replaced."""
    rows = db.rows(
        """select id, statement, coalesce(decided_at, learned_at),
                  (select max(at) from fact_version where fact_id = f.id)
           from fact f where owner = ? and state = 'accepted' and hidden_at is null
             and coalesce(valid_to > coalesce(decided_at, learned_at), true)
             and session_id is null and operation <> 'delete'
             and date(coalesce(decided_at, learned_at), utc_offset || ' minutes') = ? order by id desc limit ?""",
        (owner, day.isoformat(), _FACTS),
    )
    return [
        Item(Source("fact", id), "learned about the person", words, "", max(at, changed or at), at)
        for id, words, at, changed in reversed(rows)
    ]


def _summary(summary: summaries.Summary, title: str, last_at: str) -> Item:
    return Item(Source("summary", summary.id), title, summary.text, summary.details, summary.at, last_at)


def _between(first: date, end: date) -> tuple[str, str]:
    """The range of uids (which sort by time) created on these days in any time zone."""
    early = max(first, date(1970, 1, 3)) - _DAY
    return ids.lowest(_midnight(early)), ids.lowest(_midnight(max(end, early) + _DAY))


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
