"""Which conversations a new session may carry over: those of its place, or of all folders, and never hidden ones.

`place`: that of the new session, or None for all folders (see scope.carried_place).
"""

from collections.abc import Sequence
from datetime import date, timedelta

from agent_cli.memory.conversations import sessions
from agent_cli.memory.conversations.sessions import Session
from agent_cli.store.db import Database

CARRIED = """(s.place = :place or :place is null and s.place not glob 'http:*') and s.kind = 'chat'
              and s.hidden_at is null"""  # what a new session may carry over from a place, or from all folders
_DAY = "date(s.last_at, s.utc_offset || ' minutes')"


def latest(db: Database, owner: str, place: str | None, limit: int, besides: int | None) -> list[Session]:
    """The latest conversations with messages that may be carried over, the latest first."""
    rows = db.rows(
        f"""select {sessions.COLUMNS} from session s
            where owner = :owner and {CARRIED} and id is not :besides
              and exists (select 1 from said where session_id = s.id)
            order by last_at desc, id desc limit :limit""",
        {"owner": owner, "place": place, "besides": besides, "limit": limit},
    )
    return [Session(*row) for row in rows]


def last_day_before(db: Database, owner: str, place: str | None, end: date, besides: Sequence[int]) -> date | None:
    """The last local day before `end` of a conversation that may be carried over."""
    day = db.value(
        f"""select {_DAY} from session s
            where owner = :owner and last_at < :late and {CARRIED} and {_DAY} < :end
              and id not in (select value from json_each(:besides))
              and exists (select 1 from summary where session_id = s.id)
            order by last_at desc limit 1""",
        {"owner": owner, "place": place, "end": end.isoformat(), "late": _after(end), "besides": list(besides)},
    )
    return date.fromisoformat(day) if day else None


def on_day(db: Database, owner: str, place: str | None, day: date, besides: Sequence[int]) -> list[int]:
    """The conversations that ended on a local day and may be carried over, in order."""
    rows = db.rows(
        f"""select id from session s
            where owner = :owner and last_at >= :early and last_at < :late and {CARRIED} and {_DAY} = :day
              and id not in (select value from json_each(:besides)) order by last_at, id""",
        {
            "owner": owner,
            "place": place,
            "day": day.isoformat(),
            "early": (day - timedelta(days=1)).isoformat(),
            "late": _after(day),
            "besides": list(besides),
        },
    )
    return [id for (id,) in rows]


def any_not_carried(db: Database, owner: str, place: str | None, first: date, end: date) -> bool:
    """Whether something was said on these days, in whatever kind of session, that is hidden or of another place."""
    return bool(
        db.value(
            f"""select exists (select 1 from session s
                where owner = :owner and last_at >= :early
                  and date(started_at, utc_offset || ' minutes') < :end and {_DAY} >= :first
                  and (hidden_at is not null or (:place is null and place glob 'http:*') or place <> :place))""",
            {
                "owner": owner,
                "place": place,
                "first": first.isoformat(),
                "end": end.isoformat(),
                "early": (first - timedelta(days=1)).isoformat(),
            },
        )
    )


def _after(day: date) -> str:
    """A stored time after the end of a day in every zone."""
    return (day + timedelta(days=2)).isoformat()
